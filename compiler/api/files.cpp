// A reader of files must not be talked into reading others: paths are resolved beneath a folder, and pipes and devices are not
// read.
#include "compiler/api/files.h"

#include "compiler/api/border.h"
#include "vm/files/beneath.h"
#include "vm/files/descriptor.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::compiler::api {

using cairn::files::Descriptor;

namespace {

// Calls add(bytes, size) with all that can be read until it returns false; false with errno if reading fails.
template <class Add> bool read_all(int descriptor, Add&& add) {
  char buffer[65536];
  for (;;) {
    ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0 || !add(buffer, static_cast<std::size_t>(got))) return true;
  }
}

cairn_status status_of_opening(int fault) {
  switch (fault) {
  case ENOENT:
  case ENOTDIR:
  case EISDIR:
  case ENAMETOOLONG:
    return CAIRN_NO_FILE;
  case EMFILE:
  case ENFILE:
  case ENOMEM:
    return CAIRN_OUT_OF_MEMORY;
  default:
    return CAIRN_BAD_ARGUMENT;
  }
}

} // namespace

Files::Answer ReaderFiles::read(const std::string& folder, const std::string& path, std::string& text, std::string& why) {
  cairn_text given;
  cairn_status status = read_(user_, folder.c_str(), path.c_str(), &given);
  if (given.failure) std::rethrow_exception(given.failure);
  if (status == CAIRN_NO_FILE) return Answer::none;
  if (status == CAIRN_OUT_OF_MEMORY) throw std::bad_alloc();
  if (status != CAIRN_OK) {
    why = "it is outside the folder, no regular file, or not ours to read";
    return Answer::refused;
  }
  text = std::move(given.text);
  return Answer::given;
}

std::string read_program(const char* path) {
  auto refuse = [&](const char* why) { throw NoFile{std::string(path) + ": error: " + why + "\n"}; };
  Descriptor file(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) refuse((std::string("cannot be read: ") + std::strerror(errno)).c_str());
  struct stat facts {};
  if (fstat(file.number(), &facts) == 0 && S_ISDIR(facts.st_mode)) refuse("is a folder, not a file");
  std::string text;
  Charge charge;
  bool good = read_all(file.number(), [&](const char* bytes, std::size_t size) {
    charge.add(2 * size); // a string doubles
    text.append(bytes, size);
    return true;
  });
  if (!good) refuse((std::string("cannot be read: ") + std::strerror(errno)).c_str());
  return text;
}

} // namespace cairn::compiler::api

using namespace cairn::compiler;

cairn_status cairn_text_add(cairn_text* text, const char* bytes, size_t size) {
  if (text == nullptr || (bytes == nullptr && size != 0)) return CAIRN_BAD_ARGUMENT;
  try {
    text->charge.add(2 * size); // a string doubles
    text->text.append(bytes, size);
    return CAIRN_OK;
  } catch (...) {
    text->failure = std::current_exception();
    return CAIRN_OVER_BUDGET;
  }
}

cairn_status cairn_read_beneath(void*, const char* folder, const char* path, cairn_text* text) {
  if (folder == nullptr || path == nullptr || text == nullptr) return CAIRN_BAD_ARGUMENT;
  try {
    cairn::files::Descriptor root(open(*folder == 0 ? "." : folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) return api::status_of_opening(errno);
    cairn::files::Descriptor file(cairn::files::open_beneath(root.number(), path));
    if (!file) return api::status_of_opening(errno);
    struct stat facts {};
    if (fstat(file.number(), &facts) != 0) return CAIRN_BAD_ARGUMENT;
    if (S_ISDIR(facts.st_mode)) return CAIRN_NO_FILE;
    if (!S_ISREG(facts.st_mode)) return CAIRN_BAD_ARGUMENT;
    cairn_status status = CAIRN_OK;
    bool good = api::read_all(file.number(), [&](const char* bytes, std::size_t size) {
      status = cairn_text_add(text, bytes, size);
      return status == CAIRN_OK;
    });
    return good ? status : CAIRN_BAD_ARGUMENT;
  } catch (const std::exception&) {
    return CAIRN_OUT_OF_MEMORY;
  }
}
