// Files by system calls: what went wrong is known exactly, and syncing needs the descriptor.
#include "common/files.h"

#include "common/writing.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::tools {

namespace {

std::string reason(const std::string& path, const char* what) {
  return path + ": error: " + what + ": " + std::strerror(errno) + "\n";
}

// True if all of it got out and the descriptor closed well; errno says what went wrong.
bool write_and_close(int descriptor, const void* bytes, std::size_t size, bool sync) {
  bool good = write_fully(descriptor, static_cast<const char*>(bytes), size) && (!sync || fsync(descriptor) == 0);
  int why = errno;
  good = close(descriptor) == 0 && good;
  if (!good && why != 0) errno = why;
  return good;
}

void sync_folder_of(const std::string& path) {
  std::size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  // Some file systems cannot sync a folder; the file itself is safe by then.
  (void)fsync(descriptor);
  close(descriptor);
}

} // namespace

bool read_file(const std::string& path, std::string& bytes, std::string& error) {
  bytes.clear();
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    error = reason(path, "cannot be read");
    return false;
  }
  struct stat facts {};
  if (fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode)) bytes.reserve(static_cast<std::size_t>(facts.st_size));
  char buffer[65536];
  for (;;) {
    ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got > 0) {
      bytes.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0) {
      close(descriptor);
      return true;
    } else if (errno != EINTR) {
      error = reason(path, "cannot be read");
      close(descriptor);
      return false;
    }
  }
}

bool write_file_atomically(const std::string& path, const void* bytes, std::size_t size, std::string& error) {
  struct stat facts {};
  bool exists = stat(path.c_str(), &facts) == 0;
  bool regular = !exists || S_ISREG(facts.st_mode);
  std::string target = regular ? path + ".part" : path;
  int flags = O_WRONLY | O_CLOEXEC | (regular ? O_CREAT | O_TRUNC : 0);
  int descriptor = open(target.c_str(), flags, 0666);
  if (descriptor < 0) {
    error = reason(target, "cannot be written");
    return false;
  }
  errno = 0;
  if (!write_and_close(descriptor, bytes, size, regular)) {
    error = reason(target, "cannot be written");
    if (regular) unlink(target.c_str());
    return false;
  }
  if (!regular) return true;
  if (rename(target.c_str(), path.c_str()) != 0) {
    error = reason(path, "cannot be written");
    unlink(target.c_str());
    return false;
  }
  sync_folder_of(path);
  return true;
}

} // namespace cairn::tools
