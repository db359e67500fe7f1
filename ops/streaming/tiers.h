// The memories below a device to which tensors stream: the host's, and a disk below that. Blocks come here when they are written
// back or made by the host, and go to the disk where the host's memory is full.
#pragma once

#include "ops/streaming/backing.h"
#include "ops/streaming/block.h"
#include "ops/streaming/device.h"

#include <cstdint>
#include <memory>

namespace cairn::ops::streaming {

// Keeps a block from giving way to what is done for it.
class Held {
public:
  explicit Held(StreamedBlock& block) : block_(block) { ++block_.pins; }
  ~Held() { --block_.pins; }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

private:
  StreamedBlock& block_;
};

class Tiers {
public:
  // The memory above, which is told of what happens here.
  class Above {
  public:
    virtual ~Above() = default;
    // The block has a copy on the disk and is to be there alone.
    virtual void leave_device(StreamedBlock& block) noexcept = 0;
  };
  Tiers(Ledger& ledger, Backing& backing, Counts& counts, Above& above)
      : ledger_(ledger), backing_(backing), counts_(counts), above_(above) {}
  Tiers(const Tiers&) = delete;
  Tiers& operator=(const Tiers&) = delete;

  // Memory of the host for the block, whose elements are still to come there. DeviceMemoryExceeded, SpillError.
  void take_on_host(StreamedBlock& block);
  // From the disk. The host's copy is current then. What the ledger throws besides.
  void bring_to_host(StreamedBlock& block);
  // The elements are others now: what is below is stale.
  void drop(StreamedBlock& block) noexcept;
  void drop_on_disk(StreamedBlock& block) noexcept;
  // The block has no copy on the device any more. What is on the disk alone is not charged.
  void has_left_device(StreamedBlock& block) noexcept;
  // The machine's account is full: what has a copy on the host goes to the disk. The bytes that are no longer charged.
  std::int64_t make_way(std::int64_t bytes);

private:
  void drop_on_host(StreamedBlock& block) noexcept;
  bool evict_one_from_host();
  void write_to_disk(StreamedBlock& block);
  [[noreturn]] void refuse(std::int64_t bytes);
  SpillFile* disk();

  Ledger& ledger_;
  Backing& backing_;
  Counts& counts_;
  Above& above_;
  std::unique_ptr<SpillFile> disk_;
  Order on_host_; // those that have a copy there
};

} // namespace cairn::ops::streaming
