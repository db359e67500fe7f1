// See virtual_time.h.
#include "ops/modelled/virtual_time.h"

#include <algorithm>
#include <cmath>

namespace cairn::ops {
namespace {

// At most some months, so that sums of them stay in range.
Picoseconds of_seconds(double seconds) { return static_cast<Picoseconds>(std::llround(std::clamp(seconds, 0.0, 1e6) * 1e12)); }

} // namespace

// A kernel computes and moves bytes at once; what takes longer decides.
Picoseconds Rates::of_kernel(const Cost& cost) const {
  return of_seconds(launch + std::max(cost.flops / flops + cost.products / products, cost.bytes / memory));
}

Picoseconds Rates::of_copy(StreamKind direction, std::int64_t bytes) const {
  return of_seconds(latency + static_cast<double>(bytes) / (direction == StreamKind::copy_in ? bytes_in : bytes_out));
}

Picoseconds Rates::of_disk(std::int64_t bytes) const { return of_seconds(latency + static_cast<double>(bytes) / disk); }

Picoseconds VirtualTime::end_of(std::size_t stream, Ticket ticket) const {
  const Ends& ends = ends_[stream];
  if (ticket == 0 || ends.ends.empty()) return 0;
  if (ticket < ends.first) return ends.ends.front();
  return ends.ends[std::min<std::size_t>(ticket - ends.first, ends.ends.size() - 1)];
}

VirtualTime::Span VirtualTime::add(const Operation& operation, Picoseconds duration, Picoseconds ready) {
  const std::size_t own = index_of(operation.stream);
  const Picoseconds free = std::max(last_[own], host_);
  const Picoseconds begin = std::max({free, ready, end_of(operation.about)});
  Span span{begin, begin + duration};
  if (operation.stream == StreamKind::execute || operation.stream == StreamKind::update) {
    const KernelTime::Span taken = kernels_.take(host_, begin, duration);
    span = {taken.begin, taken.end};
  }
  last_[own] = span.end;
  busy_[own] += duration;
  Ends& ends = ends_[own];
  ends.ends.push_back(span.end);
  if (ends.ends.size() > kRemembered) {
    ends.ends.pop_front();
    ++ends.first;
  }
  return span;
}

void VirtualTime::note(StreamKind stream, const Span& span) {
  last_[index_of(stream)] = std::max(last_[index_of(stream)], span.end);
  busy_[index_of(stream)] += span.end - span.begin;
}

VirtualTime::Span VirtualTime::add_to_disk(const Tickets& waits, Picoseconds duration, Picoseconds ready) noexcept {
  const Picoseconds free = std::max(disk_last_, host_);
  const Picoseconds begin = std::max({free, ready, end_of(waits)});
  const Span span{begin, begin + duration};
  disk_last_ = span.end;
  disk_busy_ += duration;
  return span;
}

Picoseconds VirtualTime::end_of(const Tickets& tickets) const {
  Picoseconds end = 0;
  for (std::size_t i = 0; i < kStreams; ++i) end = std::max(end, end_of(i, tickets[i]));
  return end;
}

void VirtualTime::host_waits_for(const Tickets& tickets) { host_waits_until(end_of(tickets)); }

Picoseconds VirtualTime::end() const { return std::max(host_, *std::max_element(last_.begin(), last_.end())); }

} // namespace cairn::ops
