// Files of cairn.h, by system calls: what went wrong is known exactly, and syncing needs the descriptor.
#include "vm/api/border.h"
#include "vm/machine/reseal.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using cairn::api::copy_out;
using cairn::api::guarded;
using cairn::api::Refusal;
using cairn::api::require;

namespace {

[[noreturn]] void refuse(const std::string& path, const char* what) {
  throw Refusal{CAIRN_NO_FILE, path + ": error: " + what + ": " + std::strerror(errno) + "\n"};
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  // True if it closed well.
  bool close_now() { return close(std::exchange(number, -1)) == 0; }
};

std::string content_of(const std::string& path) {
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) refuse(path, "cannot be read");
  std::string bytes;
  struct stat facts {};
  if (fstat(file.number, &facts) == 0 && S_ISREG(facts.st_mode)) bytes.reserve(static_cast<std::size_t>(facts.st_size));
  char buffer[65536];
  for (;;) {
    ssize_t got = read(file.number, buffer, sizeof buffer);
    if (got > 0)
      bytes.append(buffer, static_cast<std::size_t>(got));
    else if (got == 0)
      return bytes;
    else if (errno != EINTR)
      refuse(path, "cannot be read");
  }
}

bool write_all(int descriptor, const char* bytes, std::size_t size) {
  while (size > 0) {
    ssize_t put = write(descriptor, bytes, size);
    if (put < 0 && errno != EINTR) return false;
    if (put < 0) continue;
    bytes += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

void sync_folder_of(const std::string& path) {
  std::size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  Descriptor opened{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  // Some file systems cannot sync a folder; the file itself is safe by then.
  if (opened.number >= 0) (void)fsync(opened.number);
}

void replace(const std::string& path, const void* bytes, std::size_t size) {
  struct stat facts {};
  bool regular = stat(path.c_str(), &facts) != 0 || S_ISREG(facts.st_mode);
  std::string target = regular ? path + ".part" : path;
  Descriptor file{open(target.c_str(), O_WRONLY | O_CLOEXEC | (regular ? O_CREAT | O_TRUNC : 0), 0666)};
  if (file.number < 0) refuse(target, "cannot be written");
  bool good =
      write_all(file.number, static_cast<const char*>(bytes), size) && (!regular || fsync(file.number) == 0) && file.close_now();
  if (good && regular) good = rename(target.c_str(), path.c_str()) == 0;
  if (!good) {
    int why = errno;
    if (regular) unlink(target.c_str());
    errno = why;
    refuse(path, "cannot be written");
  }
  if (regular) sync_folder_of(path);
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
    replace(path, bytes, size);
  });
}

cairn_status cairn_reseal(void* bytes, size_t size, char** error) {
  return guarded(error, [&] {
    require(bytes != nullptr || size == 0, "cairn_reseal: bytes is NULL");
    std::string message;
    if (!cairn::machine::reseal_file({static_cast<std::byte*>(bytes), size}, message)) throw Refusal{CAIRN_BAD_ARGUMENT, message};
  });
}
