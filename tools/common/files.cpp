// Files through cairn.h.
#include "common/files.h"

#include "common/handles.h"

namespace cairn::tools {

namespace {

bool done(cairn_status status, const CairnBuffer& message, std::string& error) {
  if (status != CAIRN_OK) error = message.view();
  return status == CAIRN_OK;
}

} // namespace

bool read_file(const std::string& path, std::string& bytes, std::string& error) {
  CairnBuffer content, message;
  cairn_status status = cairn_file_read(path.c_str(), content.bytes(), content.size(), message.text());
  if (status == CAIRN_OK) bytes.assign(static_cast<const char*>(content.data()), content.length());
  return done(status, message, error);
}

bool write_file_atomically(const std::string& path, const void* bytes, std::size_t size, std::string& error) {
  CairnBuffer message;
  return done(cairn_file_write(path.c_str(), bytes, size, message.text()), message, error);
}

} // namespace cairn::tools
