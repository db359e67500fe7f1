// Buffered writing to a descriptor, with the error kept instead of lost.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn::tools {

// All of it, whatever the descriptor takes at a time; false with errno set.
bool write_fully(int descriptor, const char* bytes, std::size_t size);

// Text on standard error; what cannot be written there has nowhere else to go.
void complain(std::string_view text);

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
