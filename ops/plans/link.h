// The link between two memories and the streams of a device, as modelled: when copies and launches would end. Nothing here looks
// at a clock, so times follow from the sequence of calls alone.
#pragma once

#include "ops/plans/access_plan.h"

#include <algorithm>
#include <cstdint>

namespace cairn::ops::plans {

struct Link {
  std::uint64_t bytes_in = std::uint64_t{16} << 30; // a second, into the memory
  std::uint64_t bytes_out = std::uint64_t{16} << 30;
  Picoseconds latency = 5'000'000; // of a copy, before its first byte

  Picoseconds in(std::uint64_t bytes) const { return latency + at_rate(bytes, bytes_in); }
  Picoseconds out(std::uint64_t bytes) const { return latency + at_rate(bytes, bytes_out); }
  // As how many bytes a copy counts where copies are to be few: what the link would move in its latency, at least.
  std::uint64_t counted_in(std::uint64_t bytes) const { return std::max(bytes, in_latency(bytes_in)); }
  std::uint64_t counted_out(std::uint64_t bytes) const { return std::max(bytes, in_latency(bytes_out)); }
  std::uint64_t in_latency(std::uint64_t rate) const {
    constexpr double most = 1LL << 32;
    return static_cast<std::uint64_t>(std::min(static_cast<double>(rate) * static_cast<double>(latency) * 1e-12, most));
  }
  // At least a byte a second, at most some TiB; at most some days.
  static Picoseconds at_rate(std::uint64_t bytes, std::uint64_t rate) {
    constexpr std::uint64_t million = 1'000'000, most = million * million * 200'000;
    rate = std::clamp<std::uint64_t>(rate, 1, std::uint64_t{1} << 44);
    const std::uint64_t seconds = bytes / rate, micros = bytes % rate * million; // of which the rate is one
    if (seconds >= most / (million * million)) return most;
    return (seconds * million + micros / rate) * million + micros % rate * million / rate;
  }
};

// When each stream will have done what is queued on it. Each function queues something that cannot begin before `ready`, and says
// when it ends.
struct Timeline {
  Picoseconds execute = 0, copy_in = 0, copy_out = 0;
  Picoseconds stalled = 0; // that launches waited for something else than the launch before

  Picoseconds launch(Picoseconds duration, Picoseconds ready) {
    if (ready > execute) stalled += ready - execute;
    return execute = std::max(execute, ready) + duration;
  }
  Picoseconds in(const Link& link, std::uint64_t bytes, Picoseconds ready) {
    return copy_in = std::max(copy_in, ready) + link.in(bytes);
  }
  Picoseconds out(const Link& link, std::uint64_t bytes, Picoseconds ready) {
    return copy_out = std::max(copy_out, ready) + link.out(bytes);
  }
};

} // namespace cairn::ops::plans
