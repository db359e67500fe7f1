// See kernel_time.h.
#include "ops/modelled/kernel_time.h"

#include <algorithm>

namespace cairn::ops {

KernelTime::Span KernelTime::take(Picoseconds queued, Picoseconds ready, Picoseconds duration) {
  ready = std::max(ready, queued);
  if (duration == 0) return {ready, ready};
  if (const Picoseconds from = std::max(end_, queued); ready > from) {
    gaps_.push_back({from, ready});
    if (gaps_.size() > kMostGaps) gaps_.pop_front();
    idle_ += ready - from;
    end_ = ready + duration;
    return {ready, end_};
  }
  Span span{UINT64_MAX, 0};
  std::size_t at = gaps_.size();
  if (at != 0 && gaps_.back().end > ready) // seldom
    at = static_cast<std::size_t>(std::ranges::partition_point(gaps_, [&](const Span& gap) { return gap.end <= ready; }) -
                                  gaps_.begin());
  while (at < gaps_.size() && duration != 0) {
    Span& gap = gaps_[at];
    const Span taken{std::max(gap.begin, ready), std::min(gap.end, std::max(gap.begin, ready) + duration)};
    const Span before{gap.begin, taken.begin}, behind{taken.end, gap.end};
    span = {std::min(span.begin, taken.begin), taken.end};
    duration -= taken.end - taken.begin;
    idle_ -= taken.end - taken.begin;
    if (before.begin != before.end) {
      gap = before;
      ++at;
      if (behind.begin != behind.end) gaps_.insert(gaps_.begin() + static_cast<std::ptrdiff_t>(at), behind);
    } else if (behind.begin != behind.end) {
      gap = behind;
    } else {
      gaps_.erase(gaps_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  if (duration == 0) return span;
  const Picoseconds from = std::max({end_, ready, queued});
  end_ = from + duration;
  return {std::min(span.begin, from), end_};
}

} // namespace cairn::ops
