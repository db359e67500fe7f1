// Buffered writing to a descriptor, with the error kept instead of lost.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn::tools {

// All of it, whatever the descriptor takes at a time; false with errno set.
bool write_fully(int descriptor, const char* bytes, std::size_t size);

// What is to be written, a file that is made if it is not there. Opening it waits for nobody: a pipe that nobody reads from is an
// error. -1 with errno.
int open_to_write(const std::string& path, int more_flags = 0);

// Text on standard error; what cannot be written there has nowhere else to go.
void complain(std::string_view text);

// Whether the file that is open there is still the one that has the path: another process may have moved, replaced or removed it,
// and then nobody finds what was written. True of what is no regular file. False with errno.
bool is_still_at(int descriptor, const std::string& path);

// What such an error of the system means for who writes a file.
std::string writing_fault(int error);

// Whether whoever is behind a descriptor has taken what was written, as far as that is known without waiting for a disk: some
// file systems say only when a file is closed that they had no room. False with errno.
bool is_taken(int descriptor);

// A text on standard output, all of it; false with errno.
bool write_output(std::string_view text);

// All that was written is on the disk, and closed; a disk may say only now that it was full. False with errno.
bool settle_and_close(int descriptor);

class Writer {
public:
  static constexpr std::size_t kBufferBytes = 65536;

  explicit Writer(int descriptor) : descriptor_(descriptor) { buffer_.reserve(kBufferBytes); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // False, now and from then on, once something could not be written.
  bool write(std::string_view text);
  bool flush();
  int error() const { return error_; } // errno of the first failure, 0: none
  int descriptor() const { return descriptor_; }
  bool empty() const { return buffer_.empty(); }

private:
  int descriptor_;
  int error_ = 0;
  std::string buffer_;
};

} // namespace cairn::tools
