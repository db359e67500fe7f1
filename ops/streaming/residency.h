// Where the elements of streamed blocks are, and what moves them: brought to the device when a launch uses them, written back
// when it is full, moved to a disk when the host is. The rungs of the ladder are tried in this order: memory that has been given
// back and is reused by tickets, copies that have one below, copies that must be written back first, copies on the host that can
// go to the disk; at last an error with what each memory holds.
#pragma once

#include "ops/plans/prefetcher.h"
#include "ops/plans/residents.h"
#include "ops/plans/unified.h"
#include "ops/streaming/backing.h"
#include "ops/streaming/block.h"
#include "ops/streaming/course.h"
#include "ops/streaming/device.h"
#include "ops/streaming/tiers.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cairn::ops::streaming {

class Residency final : public Evictor, private Tiers::Above {
public:
  Residency(Ledger& ledger, Device& wrapped);
  ~Residency() override;
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  // Names of blocks are addresses that no processor has, so whoever touches one is found at once.
  static bool is_name(const void* data) { return reinterpret_cast<std::uintptr_t>(data) >= kFirstName; }

  // A block without elements yet.
  StreamedBlock* take(std::int64_t bytes);
  // A block whose elements are those of a block of the device, which becomes its copy there.
  StreamedBlock* take_over(Block* on_device);
  void give_back(StreamedBlock* block) noexcept;

  // Blocks that one launch uses stay on the device until it has been queued.
  class Pins {
  public:
    explicit Pins(Residency& residency) : residency_(residency) {}
    ~Pins();
    Pins(const Pins&) = delete;
    Pins& operator=(const Pins&) = delete;
    // First of all blocks that the launch uses, so that none of them gives way to another.
    void keep(StreamedBlock& block);
    // With its elements. DeviceMemoryExceeded, Cancelled, SpillError.
    Block& bring(StreamedBlock& block);
    // To be overwritten as a whole.
    Block& make(StreamedBlock& block);

  private:
    Block& pin(StreamedBlock& block);
    Residency& residency_;
    std::vector<StreamedBlock*> pinned_;
  };

  // The copy on the device has new elements: all others are stale.
  void written_on_device(StreamedBlock& block) noexcept;
  void copy_in(StreamedBlock& to, std::int64_t offset, const void* from, std::int64_t bytes);
  void copy_out(StreamedBlock& from, std::int64_t offset, void* to, std::int64_t bytes);

  // Around a launch: what it uses, before anything is brought; and that it has been queued.
  void begin_launch(std::span<const plans::Access> accesses, const Cost& cost);
  void end_launch(std::span<const plans::Access> accesses) noexcept;
  void begin_call(std::uint64_t code, std::span<StreamedBlock* const> leaves);

  bool make_room(std::int64_t bytes) override;
  // The machine's account is full: what has a copy on the host goes to the disk. The bytes that are no longer charged.
  std::int64_t make_way(std::int64_t bytes) { return tiers_.make_way(bytes); }
  const Counts& counts() const { return counts_; }

private:
  static constexpr std::uintptr_t kFirstName = std::uintptr_t{1} << 57;
  static constexpr std::int64_t kAlignment = 512;

  // `reason`: what a trace says of the copy.
  void bring_to_device(StreamedBlock& block, std::string_view reason);
  void take_on_device(StreamedBlock& block);
  // So that the host's copy is current.
  void write_back(StreamedBlock& block, std::string_view reason);
  void drop_on_device(StreamedBlock& block) noexcept;
  StreamedBlock& block(plans::Name name) override { return *by_name_.at(name); }
  void leave_device(StreamedBlock& block) noexcept override { drop_on_device(block); }
  void lost_copy_below(StreamedBlock& block) override;
  void evict(StreamedBlock& block);
  // To what decides who leaves; a block on the device that it does not know stays.
  void make_known(const StreamedBlock& block);
  void prefetch();
  void queue_copy(StreamKind stream, StreamedBlock& block, std::string_view reason);
  // What unified memory moves for a launch.
  void move_pages(std::span<const plans::Access> accesses, plans::Picoseconds duration);
  [[noreturn]] void refuse_on_device(std::int64_t bytes);

  Device& wrapped_;
  Backing& backing_;
  Counts counts_;
  Tiers tiers_;
  std::int64_t traced_on_disk_ = 0; // the bytes there, as a trace was told last
  Order on_device_;                 // those that have a copy there
  std::unordered_map<plans::Name, StreamedBlock*> by_name_;
  std::vector<StreamedBlock*> leaves_;          // of the call that is going on; null where one is no more
  std::unique_ptr<plans::Residents> residents_; // those of on_device_; it looks at the course's follower
  std::uint64_t next_number_ = 0;
  std::uintptr_t next_name_ = kFirstName;
  Course course_{counts_};
  std::unique_ptr<plans::UnifiedMemory> unified_; // null under other policies
};

} // namespace cairn::ops::streaming
