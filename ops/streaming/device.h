// The streaming device: tensors that live in the host's memory or on a disk and are on the device that it wraps while kernels need
// them, so that what does not fit there is worked on all the same (Ph.D. thesis of SCORCH, chapter 3). Values and gradients never
// depend on where elements are; which copies are made follows from the sequence of uses alone.
#pragma once

#include "ops/backing.h"
#include "ops/device.h"

#include <cstdint>
#include <memory>

namespace cairn::ops::streaming {

// What has been moved, and why: counts of the ladder that a device climbs when it is full.
struct Counts {
  std::uint64_t hits = 0, misses = 0;         // operands that were on the device, or had to be brought
  std::uint64_t evictions = 0, write_backs = 0; // of copies that had one below, or had not
  std::uint64_t to_disk = 0, from_disk = 0;
  std::int64_t bytes_in = 0, bytes_out = 0; // of the device
  std::int64_t bytes_to_disk = 0, bytes_from_disk = 0;
};

class StreamingDevice : public Device {
public:
  using Device::Device;
  virtual const Counts& counts() const = 0;
};

// Wraps a device that can be wrapped, which outlives it.
std::unique_ptr<StreamingDevice> make_streaming_device(Ledger& ledger, Device& wrapped);

} // namespace cairn::ops::streaming
