// When queued work would begin and end on a device of given rates. Nothing here looks at a clock: times follow from tickets and
// modelled durations alone, so they are the same in every run, however busy this machine is. Memory is bytes that are free from
// some time on, not addresses: where an arena puts a block makes nobody wait here.
#pragma once

#include "ops/cost.h"
#include "ops/modelled/kernel_time.h"
#include "ops/ordering.h"

#include <array>
#include <cstdint>
#include <deque>

namespace cairn::ops {

// Of a device and its link to the host: bytes, flops and products a second, and seconds.
struct Rates {
  double bytes_in = 16.0 * (1u << 30);  // from the host
  double bytes_out = 16.0 * (1u << 30); // to the host
  double latency = 5e-6;                // of a copy, before its first byte
  double products = 10e12;              // flops of products of matrices and convolutions
  double flops = 1e12;                  // of elements one by one
  double memory = 500e9;                // bytes that kernels read and write
  double launch = 2e-6;                 // of a kernel, at least
  double disk = 2e9;                    // bytes between the host's memory and a disk, in each direction

  Picoseconds of_kernel(const Cost& cost) const;
  Picoseconds of_copy(StreamKind direction, std::int64_t bytes) const;
  Picoseconds of_disk(std::int64_t bytes) const;
};

class VirtualTime {
public:
  struct Span {
    Picoseconds begin = 0, end = 0;
  };
  // An operation takes so long from when its stream, the host and all that it waits for let it begin, but not before `ready`.
  Span add(const Operation& operation, Picoseconds duration, Picoseconds ready = 0);
  // The stream has been busy with something that is not queued on it.
  void note(StreamKind stream, const Span& span);
  // The same of a disk beside the streams, which does one thing at a time in the order in which it is asked.
  Span add_to_disk(const Tickets& waits, Picoseconds duration, Picoseconds ready) noexcept;
  // The host has waited for these.
  void host_waits_for(const Tickets& tickets);
  void host_waits_until(Picoseconds when) { host_ = std::max(host_, when); }
  Picoseconds host() const { return host_; }
  // When all of these are done.
  Picoseconds end_of(const Tickets& tickets) const;
  // When all that has been queued on streams so far is done.
  Picoseconds end() const;
  Picoseconds end_of(StreamKind stream) const { return last_[index_of(stream)]; }
  Picoseconds disk_end() const { return disk_last_; }
  Picoseconds disk_busy() const { return disk_busy_; }
  Picoseconds busy(StreamKind stream) const { return busy_[index_of(stream)]; }
  // How long kernels had nothing to do but to wait for copies.
  Picoseconds stalled() const { return kernels_.idle(); }

private:
  // Ends of so many operations are remembered a stream; what is older is taken to end when the oldest of them does.
  static constexpr std::size_t kRemembered = 1 << 14;
  Picoseconds end_of(std::size_t stream, Ticket ticket) const;

  struct Ends {
    Ticket first = 1; // the ticket of the oldest that is remembered
    std::deque<Picoseconds> ends;
  };
  std::array<Ends, kStreams> ends_;
  std::array<Picoseconds, kStreams> last_{}, busy_{};
  KernelTime kernels_; // of the streams execute and update
  Picoseconds host_ = 0, disk_last_ = 0, disk_busy_ = 0;
};

} // namespace cairn::ops
