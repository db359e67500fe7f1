// Text read character by character: what headers of NumPy, of safetensors, and JSON share.
#pragma once

#include "ops/meter.h"
#include "vm/formats/format_error.h"

#include <cstdint>
#include <string_view>

namespace cairn::formats {

class HeaderText {
public:
  // `at`: where in the file the text begins.
  HeaderText(std::string_view text, std::uint64_t at) : text_(text), begin_(at) {}
  std::uint64_t at() const { return begin_ + at_; }
  bool done() const { return at_ == text_.size(); }
  // The next character; 0 at the end.
  char peek() const { return done() ? '\0' : text_[at_]; }
  char take() {
    constexpr std::size_t kBetweenPolls = 1 << 16;
    if (done()) wrong("ends too early");
    if (at_ % kBetweenPolls == 0) ops::Meter::poll_current();
    return text_[at_++];
  }
  void skip_blanks() {
    while (!done() && (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r')) ++at_;
  }
  // Behind blanks, if it is there.
  bool accept(char c) {
    skip_blanks();
    if (peek() != c || done()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) wrong(std::string("expected '") + c + "'");
  }
  bool accept(std::string_view word) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  // Digits, of a number that fits into 63 bits.
  std::int64_t number() {
    skip_blanks();
    const std::size_t first = at_;
    std::int64_t n = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_)
      if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, peek() - '0', &n)) wrong("a number is too large");
    if (at_ == first) wrong("expected a number that is not negative");
    if (text_[first] == '0' && at_ - first > 1) wrong("a number begins with 0");
    return n;
  }
  [[noreturn]] void wrong(const std::string& message) const { throw FormatError(at(), message); }

private:
  std::string_view text_;
  std::uint64_t begin_;
  std::size_t at_ = 0;
};

} // namespace cairn::formats
