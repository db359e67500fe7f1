// How a long loop of a kernel asks now and then whether it was cancelled. The loop says how many elements it has done, and after
// each stretch of about 100 microseconds of that work the meter is polled: so the time between two polls is bounded, whatever the
// sizes are.
#pragma once

#include "ops/meter.h"

#include <algorithm>

namespace cairn::ops::cpu {

class Pace {
public:
  // So many elements, of a few nanoseconds each, between two questions.
  static constexpr std::int64_t kBetween = 128 << 10;

  void did(std::int64_t elements) {
    if ((left_ -= elements) < 0) [[unlikely]]
      ask();
  }

private:
  void ask() {
    left_ = kBetween;
    if (meter_ != nullptr) meter_->poll();
  }
  const Meter* const meter_ = Meter::current();
  std::int64_t left_ = kBetween;
};

// Calls f(begin, end) for stretches of [0, n) and polls between them. The ends of stretches are multiples of `step`.
template <class F> void in_stretches(std::int64_t n, F&& f, std::int64_t step = 1) {
  const std::int64_t stretch = std::max<std::int64_t>(1, Pace::kBetween / step) * step;
  if (n <= stretch) {
    if (n > 0) f(std::int64_t{0}, n);
    return;
  }
  for (std::int64_t i = 0; i < n; i += stretch) {
    Meter::poll_current();
    f(i, std::min(n, i + stretch));
  }
}

} // namespace cairn::ops::cpu
