// What computes on a device does one thing at a time, in virtual time: kernels of several streams share it, and what one stream
// leaves free another one may use. So no stream makes a device faster than it is; it only waits where another one need not.
#pragma once

#include <cstdint>
#include <deque>

namespace cairn::ops {

using Picoseconds = std::uint64_t;

class KernelTime {
public:
  struct Span {
    Picoseconds begin = 0, end = 0;
  };
  // What is free from `ready` on, in so many pieces as it takes; kernels that came before keep theirs. `queued`: nothing that
  // comes later is queued before. bad_alloc.
  Span take(Picoseconds queued, Picoseconds ready, Picoseconds duration);
  // Times in which there was nothing to do but to wait for other streams.
  Picoseconds idle() const { return idle_; }

private:
  static constexpr std::size_t kMostGaps = 1024; // older ones are nobody's
  std::deque<Span> gaps_;                        // in rising order, in front of end_
  Picoseconds end_ = 0, idle_ = 0;
};

} // namespace cairn::ops
