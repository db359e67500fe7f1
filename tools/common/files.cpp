// Files through cairn.h.
#include "common/files.h"

#include "common/handles.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::tools {

namespace {

bool done(cairn_status status, const CairnBuffer& message, std::string& error) {
  if (status != CAIRN_OK) error = message.view();
  return status == CAIRN_OK;
}

constexpr std::int64_t kLong = 1 << 20, kHead = 32;

// How long a file with this beginning is, or may be (docs/file-formats.md).
std::uint64_t length_in(const std::string& head) {
  constexpr std::string_view module = "\x89"
                                      "CAIRN\r\n",
                             capsule = "\x01"
                                       "CAIRNAP";
  if (head.starts_with(capsule)) return UINT64_MAX;
  std::uint64_t length = 0;
  if (head.starts_with(module)) std::memcpy(&length, head.data() + 16, sizeof length);
  return length;
}

} // namespace

std::uint64_t worth_reading(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return 0;
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  std::string head(kHead, '\0');
  if (unknown || size <= kLong || !std::ifstream(path, std::ios::binary).read(head.data(), kHead)) return unknown ? 0 : size;
  return length_in(head) < size ? kLong : size;
}

bool is_folder(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_directory(path, unknown);
}

bool read_file(const std::string& path, std::string& bytes, std::string& error) {
  if (worth_reading(path) == kLong) {
    bytes.resize(kLong);
    if (std::ifstream(path, std::ios::binary).read(bytes.data(), kLong)) return true;
  }
  CairnBuffer content, message;
  cairn_status status = cairn_file_read(path.c_str(), content.bytes(), content.size(), message.text());
  if (status == CAIRN_OK) bytes.assign(static_cast<const char*>(content.data()), content.length());
  return done(status, message, error);
}

bool read_text(const std::string& path, std::string& text, std::string& error) {
  constexpr std::size_t kLongest = 1 << 16;
  // A pipe would be waited for until somebody writes; one into which somebody does write is read to its end.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  bool read = file >= 0 && fcntl(file, F_SETFL, 0) == 0;
  text.resize(kLongest + 1);
  std::size_t size = 0;
  for (ssize_t got = 1; read && got != 0 && size < text.size();) {
    got = ::read(file, text.data() + size, text.size() - size);
    read = got >= 0 || errno == EINTR;
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  if (!read) error = path + ": cannot be read: " + std::strerror(errno);
  text.resize(size);
  struct stat facts {};
  if (read && size == 0 && fstat(file, &facts) == 0 && S_ISFIFO(facts.st_mode))
    error = path + ": nobody writes into this pipe; start the writer first, or name a file";
  if (file >= 0) close(file);
  if (read && text.size() > kLongest)
    error = path + ": is longer than " + std::to_string(kLongest) + " bytes, which no such file is";
  if (read && text.find('\0') != std::string::npos) error = path + ": is no text";
  return error.empty();
}

bool write_file_atomically(const std::string& path, const void* bytes, std::size_t size, std::string& error) {
  CairnBuffer message;
  return done(cairn_file_write(path.c_str(), bytes, size, message.text()), message, error);
}

} // namespace cairn::tools
