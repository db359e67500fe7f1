// See the header. A signal in the middle of a write is no failure.
#include "common/writing.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::tools {

bool write_fully(int descriptor, const char* bytes, std::size_t size) {
  while (size > 0) {
    ssize_t put = ::write(descriptor, bytes, size);
    if (put < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (put == 0) { // nothing taken and nothing said
      errno = EIO;
      return false;
    }
    bytes += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

int open_to_write(const std::string& path, int more_flags) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | more_flags, 0666);
  if (file < 0 || fcntl(file, F_SETFL, 0) == 0) return file;
  const int why = errno;
  close(file);
  errno = why;
  return -1;
}

bool is_still_at(int descriptor, const std::string& path) {
  struct stat open {
  }, named{};
  if (fstat(descriptor, &open) != 0) return false;
  if (!S_ISREG(open.st_mode)) return true;
  const bool there = stat(path.c_str(), &named) == 0;
  errno = ESTALE;
  return there && open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

std::string writing_fault(int error) {
  if (error == ENXIO) return "nobody reads from it; start the reader first, or name a file";
  return error == ESTALE ? "it was moved, replaced or removed while the program ran" : std::strerror(error);
}

bool is_taken(int descriptor) {
  const int copy = dup(descriptor); // whose end tells the same, and leaves the descriptor to who comes later
  return copy < 0 || close(copy) == 0 || errno == EINTR;
}

bool write_output(std::string_view text) {
  return write_fully(STDOUT_FILENO, text.data(), text.size()) && is_taken(STDOUT_FILENO);
}

bool settle_and_close(int descriptor) {
  int why = 0;
  while (fsync(descriptor) != 0)
    if (errno != EINTR) {
      if (errno != EINVAL && errno != ENOTSUP && errno != EROFS) why = errno; // pipes and devices cannot be synced
      break;
    }
  if (close(descriptor) != 0 && errno != EINTR && why == 0) why = errno;
  errno = why;
  return why == 0;
}

void complain(std::string_view text) { (void)write_fully(STDERR_FILENO, text.data(), text.size()); }

bool Writer::write(std::string_view text) {
  if (error_ != 0) return false;
  if (buffer_.size() + text.size() > kBufferBytes && !flush()) return false;
  if (text.size() >= kBufferBytes) {
    if (!write_fully(descriptor_, text.data(), text.size())) error_ = errno;
    return error_ == 0;
  }
  buffer_ += text;
  return true;
}

bool Writer::flush() {
  if (error_ == 0 && !buffer_.empty() && !write_fully(descriptor_, buffer_.data(), buffer_.size())) error_ = errno;
  buffer_.clear();
  return error_ == 0;
}

} // namespace cairn::tools
