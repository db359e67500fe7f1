// See beneath.h.
#include "vm/files/beneath.h"

#include "vm/files/descriptor.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace cairn::files {

namespace {

constexpr std::uint64_t kReading = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
constexpr std::uint64_t kFolder = O_RDONLY | O_CLOEXEC | O_DIRECTORY;

int open_resolved(int folder, const char* path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (;;) {
    long descriptor = syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (descriptor >= 0) return static_cast<int>(descriptor);
    if (errno == ENOSYS || errno == EPERM) return open_each_part(folder, path, flags); // an old kernel, or a filter of calls
    if (errno != EAGAIN && errno != EINTR) return -1;                                  // EAGAIN: something was renamed meanwhile
  }
}

} // namespace

int open_each_part(int folder, const char* path, std::uint64_t flags) {
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
    if (slash == std::string_view::npos) return openat(from, part.c_str(), static_cast<int>(flags) | O_NOFOLLOW);
    if (!part.empty() && part != ".") {
      int next = openat(from, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (next < 0) return -1;
      at.replace(next);
    }
    rest.remove_prefix(slash + 1);
  }
}

int open_beneath(int folder, const char* path) { return open_resolved(folder, path, kReading); }

int open_folder_beneath(int folder, const char* path) { return open_resolved(folder, path, kFolder); }

} // namespace cairn::files
