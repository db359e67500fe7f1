// See the header. A signal in the middle of a write is no failure.
#include "common/writing.h"

#include <cerrno>
#include <unistd.h>

namespace cairn::tools {

bool write_fully(int descriptor, const char* bytes, std::size_t size) {
  while (size > 0) {
    ssize_t put = ::write(descriptor, bytes, size);
    if (put < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    bytes += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
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
