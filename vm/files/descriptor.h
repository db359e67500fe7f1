// A file descriptor of the system that is closed by its owner's end.
#pragma once

#include <unistd.h>

namespace cairn::files {

class Descriptor {
public:
  explicit Descriptor(int number) : number_(number) {} // negative: none, since opening failed
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  void replace(int number) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }

private:
  int number_;
};

} // namespace cairn::files
