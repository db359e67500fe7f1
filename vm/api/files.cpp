// Files of cairn.h, by system calls: what went wrong is known exactly. How they are written is in saving.cpp.
#include "vm/api/border.h"
#include "vm/api/descriptor.h"
#include "vm/api/saving.h"
#include "vm/image/reseal.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using cairn::api::copy_out;
using cairn::api::Descriptor;
using cairn::api::guarded;
using cairn::api::Refusal;
using cairn::api::require;

namespace {

[[noreturn]] void refuse(const std::string& path, const char* what) {
  throw Refusal{CAIRN_NO_FILE, path + ": error: " + what + ": " + std::strerror(errno) + "\n"};
}

std::string content_of(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) refuse(path, "cannot be read");
  std::string bytes;
  struct stat facts {};
  const bool known = fstat(file.number(), &facts) == 0;
  if (known && S_ISCHR(facts.st_mode))
    throw Refusal{CAIRN_NO_FILE, path + ": error: is a device, not a file\n"}; // /dev/zero has no end
  if (known && S_ISREG(facts.st_mode)) bytes.reserve(static_cast<std::size_t>(facts.st_size));
  char buffer[65536];
  for (;;) {
    ssize_t got = read(file.number(), buffer, sizeof buffer);
    if (got > 0)
      bytes.append(buffer, static_cast<std::size_t>(got));
    else if (got == 0)
      return bytes;
    else if (errno != EINTR)
      refuse(path, "cannot be read");
  }
}

} // namespace

cairn_status cairn_file_read(const char* path, void** bytes, size_t* size, char** error) {
  return guarded(error, [&] {
    require(path != nullptr && bytes != nullptr && size != nullptr, "cairn_file_read: an argument is NULL");
    *bytes = nullptr;
    *size = 0;
    std::string content = content_of(path);
    *bytes = copy_out(content);
    *size = content.size();
  });
}

cairn_status cairn_file_write(const char* path, const void* bytes, size_t size, char** error) {
  return guarded(error, [&] {
    require(path != nullptr && (bytes != nullptr || size == 0), "cairn_file_write: an argument is NULL");
    cairn::api::FileCalls calls;
    cairn::api::replace_file(path, {static_cast<const std::byte*>(bytes), size}, calls);
  });
}

cairn_status cairn_reseal(void* bytes, size_t size, char** error) {
  return guarded(error, [&] {
    require(bytes != nullptr || size == 0, "cairn_reseal: bytes is NULL");
    std::string message;
    if (!cairn::image::reseal_file({static_cast<std::byte*>(bytes), size}, message)) throw Refusal{CAIRN_BAD_ARGUMENT, message};
  });
}
