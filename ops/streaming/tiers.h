// The memories below a device to which tensors stream: the host's, and a disk below that. Blocks come to the host when they are
// written back or made there, and go to the disk where the host's memory is full.
//
// The disk works beside everything else. What will leave the host next is written while there is still room, so that nobody waits
// for it when the room is wanted; what a plan says will be needed is read ahead. What is written, read and given up follows from
// the sequence of uses and from virtual time alone: the device's thread waits for the real disk only where it needs what is not
// there yet.
#pragma once

#include "ops/plans/residents.h"
#include "ops/streaming/backing.h"
#include "ops/streaming/block.h"
#include "ops/streaming/device.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

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
    // Of what a plan may ask for; null: it is not there.
    virtual StreamedBlock* find(plans::Name name) = 0;
    // The block has a copy on the disk and is to be there alone.
    virtual void leave_device(StreamedBlock& block) noexcept = 0;
    // The only copy is the one on the device now.
    virtual void lost_copy_below(StreamedBlock& block) noexcept = 0;
    // What is being done there now will still want of the host's memory.
    struct Needs {
      std::int64_t at_once = 0;      // bytes, where all else can go on to a disk;
      std::int64_t most_at_once = 0; // and if more memory had changed what is on the device
      std::int64_t read = 0;         // the largest block that is to come from a disk,
      std::int64_t written_back = 0; // and bytes that leave the device and have no copy on a disk
    };
    virtual Needs needs() const = 0;
  };
  Tiers(Ledger& ledger, Backing& backing, Counts& counts, Above& above);
  Tiers(const Tiers&) = delete;
  Tiers& operator=(const Tiers&) = delete;

  // The block will have elements in memory again. What the ledger throws.
  void charge(StreamedBlock& block) {
    if (!block.charged) charge_again(block);
  }
  // Memory of the host for the block, whose elements are still to come there. DeviceMemoryExceeded, SpillError, Cancelled.
  void take_on_host(StreamedBlock& block) {
    if (!take_if_there_is_room(block)) refuse(block.bytes);
  }
  bool take_if_there_is_room(StreamedBlock& block) { return take(block, {.bytes = block.bytes}); }
  // The host's copy is there and current, if there is one below; from the disk if need be. What the ledger throws besides.
  void bring_to_host(StreamedBlock& block) {
    if (!bring_if_there_is_room(block)) refuse(block.bytes);
  }
  bool bring_if_there_is_room(StreamedBlock& block);
  // DeviceMemoryExceeded: the host has no room for so many bytes.
  [[noreturn]] void refuse(std::int64_t bytes);
  // Bytes [offset, offset + bytes) of what is on the disk, for the host and past the memory that streams. SpillError.
  void read_past_memory(StreamedBlock& block, std::int64_t offset, void* to, std::int64_t bytes);
  // The host is going to read its copy, or to change it, which makes that on the disk stale. Cancelled.
  void host_reads(StreamedBlock& block);
  void host_writes(StreamedBlock& block);
  // The elements are others now: what is below is stale.
  void drop(StreamedBlock& block) noexcept;
  // The block does not exist any more. (The follower is told behind this.)
  void dropped(StreamedBlock& block) noexcept;
  // The block has no copy on the device any more. What is on the disk alone is not charged.
  void has_left_device(StreamedBlock& block) noexcept;
  // The machine's account is full: what has a copy on the host goes to the disk. The bytes that are no longer charged.
  std::int64_t make_way(std::int64_t bytes);

  // Names and plans change: nothing is known of next uses until the new follower, which outlives its use, is told.
  void forget_order();
  void follow(const plans::Follower* follower);
  // What is known of next uses has changed.
  void replan() { order_.replan(); }
  // It was used on the device, so its next use is another one. Nothing happens where nothing would have to leave the host.
  void used(StreamedBlock& block) noexcept {
    if (follower_ != nullptr && block.on_host != nullptr && is_bounded()) note(block);
  }
  // Begins to read what is on the disk alone and is needed at that position. True: a copy to the device could begin before all
  // launches that are queued end, in virtual time.
  bool is_near(StreamedBlock& block, std::uint64_t needed_at);
  bool have_disk() const { return has_disk_; }
  // After each launch, where there is a disk: begins to write what will leave the host next, and to read what is needed soon.
  // `above`: the residents of the device.
  void work_ahead(const plans::Residents& above);

  // Those of blocks that have a copy there.
  std::int64_t bytes_on_disk() const { return bytes_on_disk_; }
  const Peak& disk_peak() const { return disk_peak_; }
  void begin_peak() { disk_peak_.recent = bytes_on_disk_; }

private:
  struct Want {
    std::int64_t bytes = 0;                      // that must become free
    std::optional<std::uint64_t> needed_at = {}; // what is needed there or before stays, and nothing is waited for
    bool stops_reads = false;                    // what is on its way here may leave as well
  };
  static bool may_leave(const StreamedBlock& block);
  // Who leaves next; those that the function lets go. Empty: they are not enough.
  template <class F> std::vector<StreamedBlock*> choose(const Want& want, F&& lets_go);
  bool make_room(const Want& want);
  std::int64_t would_take_on_disk(std::int64_t bytes);
  bool evict(const Want& want);
  bool leave_host(StreamedBlock& block, const Meter* meter);
  bool give_up_copies(std::int64_t bytes);
  bool take(StreamedBlock& block, const Want& want);
  void write_ahead();
  void read_ahead(const plans::Residents& above);
  bool begin_write(StreamedBlock& block);
  bool begin_read(StreamedBlock& block, std::optional<std::uint64_t> needed_at);
  bool begin_read_ahead(StreamedBlock& block, std::uint64_t needed_at);
  void settle(StreamedBlock& block, const Meter* meter);
  void drop_on_host(StreamedBlock& block) noexcept;
  void drop_on_disk(StreamedBlock& block) noexcept;
  void note(StreamedBlock& block) noexcept;
  void charge_again(StreamedBlock& block);
  bool is_bounded() const { return has_disk_ || backing_.host_budget() != 0; }
  std::int64_t free_bytes() const { return backing_.host_budget() - backing_.host_in_use(); }
  SpillFile* disk();

  Ledger& ledger_;
  Backing& backing_;
  Counts& counts_;
  Above& above_;
  const bool has_disk_; // for what finds no room in the host's memory, whether or not anything has gone there yet
  std::unique_ptr<SpillFile> disk_;
  Order on_host_;          // those that have a copy there
  plans::Residents order_; // in which they leave; it looks at the follower
  const plans::Follower* follower_ = nullptr;
  std::int64_t bytes_on_disk_ = 0, taken_on_disk_ = 0;
  Peak disk_peak_;
  std::int64_t away_ = 0;             // blocks that are on the disk alone
  plans::Picoseconds room_ready_ = 0; // from when on all memory that was given back has been written to the disk
  std::int64_t came_ = 0;             // bytes, to the host, since it was last looked at what to write ahead
};

} // namespace cairn::ops::streaming
