// The streaming device: tensors that live in the host's memory or on a disk and are on the device that it wraps while kernels
// need them, so that what does not fit there is worked on all the same (Ph.D. thesis of SCORCH, chapter 3). Values and gradients
// never depend on where elements are; which copies are made follows from the sequence of uses alone.
#pragma once

#include "ops/device.h"
#include "ops/plans/plan_bytes.h"
#include "ops/streaming/backing.h"
#include "ops/streaming/call.h"

#include <cstdint>
#include <memory>
#include <span>

namespace cairn::ops::streaming {

// What has been moved, and why: the rungs of the ladder that a device climbs when it is full. docs/streaming.md says of each what
// it counts.
#define CAIRN_STREAMING_COUNTS(X)                                                                                                \
  X(hits)                                                                                                                        \
  X(misses)                                                                                                                      \
  X(faults)                                                                                                                      \
  X(evictions)                                                                                                                   \
  X(write_backs)                                                                                                                 \
  X(prefetches)                                                                                                                  \
  X(followed)                                                                                                                    \
  X(strayed)                                                                                                                     \
  X(divergences)                                                                                                                 \
  X(bytes_in)                                                                                                                    \
  X(bytes_out)                                                                                                                   \
  X(to_disk)                                                                                                                     \
  X(from_disk)                                                                                                                   \
  X(bytes_to_disk)                                                                                                               \
  X(bytes_from_disk)                                                                                                             \
  X(read_ahead)                                                                                                                  \
  X(host_copies_dropped)                                                                                                         \
  X(relieved)
struct Counts {
#define X(name) std::int64_t name = 0;
  CAIRN_STREAMING_COUNTS(X)
#undef X
};

// What each of the memories holds and has held of tensors, in bytes.
struct Memories {
  struct One {
    std::int64_t in_use = 0, budget = 0; // 0: none of its own
    Peak peak;
  };
  One device, host, disk;
  bool has_disk = false;
  // What had to be on the device at the same time, at the most. Everything else could have been elsewhere: with so much of its
  // memory all work so far would have been done.
  Peak at_once;
};

class StreamingDevice : public Device {
public:
  using Device::Device;
  virtual const Counts& counts() const = 0;
  virtual Memories memories() const = 0;
  virtual void begin_peaks() = 0; // recent ones are those from here on
  // Whoever held what is in these memories, or in that of the wrapped device, holds less now, because they had no room.
  virtual void note_relief() = 0;
  // A call begins that may be made again, with these storages as its leaves; it lasts until the next one. `code` says which: from
  // the second one on with that code, what the first did is the plan along which elements come and go.
  virtual void begin_call(std::uint64_t code, std::span<Storage* const> leaves) = 0;
  // From here on everything belongs to that call, which is recorded or follows its plan, until another one is entered; null: to
  // none. In a call begin_call() does nothing. Whoever goes on with a call may enter it again; that of the last time costs
  // nothing.
  virtual void enter(const std::shared_ptr<Call>& call) = 0;
  // What it takes to enter a call, as work: what is on the device gets other names.
  virtual std::uint64_t work_to_enter() const = 0;
  // By what a call knows a block of this device; no other block will have it.
  virtual std::uint64_t number_of(Block& block) = 0;

  plans::ReadPlans plans; // that programs gave
};

// Wraps a device that can be wrapped, which outlives it.
std::unique_ptr<StreamingDevice> make_streaming_device(Ledger& ledger, Device& wrapped);

} // namespace cairn::ops::streaming
