// The streaming device: tensors that live in the host's memory or on a disk and are on the device that it wraps while kernels
// need them, so that what does not fit there is worked on all the same (Ph.D. thesis of SCORCH, chapter 3). Values and gradients
// never depend on where elements are; which copies are made follows from the sequence of uses alone.
#pragma once

#include "ops/device.h"
#include "ops/plans/plan_bytes.h"
#include "ops/streaming/call.h"

#include <cstdint>
#include <memory>
#include <span>

namespace cairn::ops::streaming {

// What has been moved, and why: the rungs of the ladder that a device climbs when it is full. X(name, meaning): of launches'
// operands, of copies, and of bytes.
#define CAIRN_STREAMING_COUNTS(X)                                                                                                \
  X(hits, "operands that were on the device")                                                                                    \
  X(misses, "operands that had to be brought there")                                                                             \
  X(faults, "pages of unified memory that a kernel stopped at")                                                                  \
  X(evictions, "copies that left the device and had one below")                                                                  \
  X(write_backs, "copies that had none and were written back first")                                                             \
  X(prefetches, "copies that came before they were asked for")                                                                   \
  X(followed, "launches that a plan foretold")                                                                                   \
  X(strayed, "launches that were others than their plan foretold")                                                               \
  X(divergences, "times that a run left its plan")                                                                               \
  X(bytes_in, "bytes copied to the device")                                                                                      \
  X(bytes_out, "bytes copied from it")                                                                                           \
  X(to_disk, "copies that left the host's memory for the disk")                                                                  \
  X(from_disk, "copies that came back from there")                                                                               \
  X(bytes_to_disk, "their bytes")                                                                                                \
  X(bytes_from_disk, "their bytes")                                                                                              \
  X(read_ahead, "those of them that came before they were asked for")                                                            \
  X(host_copies_dropped, "copies on the host that gave way because the device has them")                                         \
  X(relieved, "times that a gradient went on with less to keep, or began again")
struct Counts {
#define X(name, meaning) std::int64_t name = 0;
  CAIRN_STREAMING_COUNTS(X)
#undef X
};

class StreamingDevice : public Device {
public:
  using Device::Device;
  virtual const Counts& counts() const = 0;
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
