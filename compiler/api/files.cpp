// A reader of files must not be talked into reading others: the kernel resolves paths beneath a folder (openat2), and pipes and
// devices are opened without waiting and not read.
#include "compiler/api/files.h"

#include "compiler/api/border.h"
#include "vm/api/descriptor.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cairn::compiler::api {

using cairn::api::Descriptor;

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

constexpr std::uint64_t kReading = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

} // namespace

int open_each_part(int folder, const char* path) {
  std::string_view rest = path;
  if (rest.starts_with('/')) {
    errno = EXDEV;
    return -1;
  }
  Descriptor at(-1);
  for (;;) {
    std::size_t slash = rest.find('/');
    std::string part(rest.substr(0, slash));
    int from = at ? at.number() : folder;
    if (part == "..") {
      errno = EXDEV;
      return -1;
    }
    if (slash == std::string_view::npos) return openat(from, part.c_str(), static_cast<int>(kReading) | O_NOFOLLOW);
    if (!part.empty() && part != ".") {
      int next = openat(from, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (next < 0) return -1;
      at.replace(next);
    }
    rest.remove_prefix(slash + 1);
  }
}

int open_beneath(int folder, const char* path) {
  open_how how{};
  how.flags = kReading;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (;;) {
    long descriptor = syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (descriptor >= 0) return static_cast<int>(descriptor);
    if (errno == ENOSYS || errno == EPERM) return open_each_part(folder, path); // an old kernel, or a filter of system calls
    if (errno != EAGAIN && errno != EINTR) return -1;                           // EAGAIN: something was renamed meanwhile
  }
}

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
    api::Descriptor root(open(*folder == 0 ? "." : folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) return api::status_of_opening(errno);
    api::Descriptor file(api::open_beneath(root.number(), path));
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
