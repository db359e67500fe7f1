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
#include <string>
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

  // Whether a launch finds all that it uses, or free memory for what it makes, which is taken: then nothing has to give way, and
  // nothing need be pinned. What it finds are hits.
  bool finds_all(std::span<const Operand> operands);
  // The same of one block of which all is written.
  bool finds_room(StreamedBlock& block) {
    if (!block.charged) return false; // what the machine has no room for may make way
    return block.on_device != nullptr || take_if_there_is_room(block);
  }
  // A launch finds all: how many of what it uses had to be there, and the bytes of all of it.
  void note_found(std::int64_t hits, std::int64_t bytes) {
    counts_.hits += hits;
    at_once_.note(own_bytes() + bytes);
  }
  // Blocks that a launch uses that does not find all stay on the device until it has been queued; first of all those that are
  // there, so that none of them gives way to another. One launch is put together at a time, and nothing else pins what it uses
  // meanwhile.
  class Pins {
  public:
    // Brings them. DeviceMemoryExceeded, Cancelled, SpillError.
    Pins(Residency& residency, std::span<const Operand> operands);
    ~Pins() {
      for (const Operand& operand : operands_) operand.block->pins = 0;
    }
    Pins(const Pins&) = delete;
    Pins& operator=(const Pins&) = delete;

  private:
    std::span<const Operand> operands_;
  };

  // The copy on the device has new elements: all others are stale.
  void written_on_device(StreamedBlock& block) noexcept {
    block.device_is_current = true;
    if (block.on_host != nullptr || block.on_disk != nullptr) tiers_.drop(block);
  }
  void copy_in(StreamedBlock& to, std::int64_t offset, const void* from, std::int64_t bytes);
  void copy_out(StreamedBlock& from, std::int64_t offset, void* to, std::int64_t bytes);

  // Around a launch: what it uses, before anything is brought; and that it has been queued, with what it writes in order.
  void begin_launch(std::span<const Operand> operands, const Cost& cost);
  // `maker`: where in the program the elements were made that it writes.
  void end_launch(StreamKind stream, const Launch& launch, const Device::Maker& maker) noexcept;
  // Whether anybody wants to know what a launch uses, before it is queued.
  bool notes_launches() const { return unified_ != nullptr || course_.is_noted(); }
  // What these policies are compared with has no stream for updates.
  bool has_one_stream() const { return has_one_stream_; }
  Memories memories() const;
  void begin_peaks();
  // An operand that is named once more than it is brought.
  void note_hit() { ++counts_.hits; }
  void note_relief() { ++counts_.relieved; }
  void begin_call(std::uint64_t code, std::span<StreamedBlock* const> leaves);
  void enter(Call* call); // null: what follows belongs to none. It is not gone before another one is entered
  std::uint64_t work_to_enter() const {
    return kWorkOfResident * (residents_.count() + leaves_.size() + course_.leaves_around());
  }
  // By what a call knows a block.
  std::uint64_t number_of(StreamedBlock& block);

  bool make_room(std::int64_t bytes) override;
  void note_own() override { at_once_.note(own_bytes()); }
  [[noreturn]] void refuse(const std::string& what, std::int64_t bytes) override;
  // The machine's account is full: what has a copy on the host goes to the disk. The bytes that are no longer charged.
  std::int64_t make_way(std::int64_t bytes) { return tiers_.make_way(bytes); }
  const Counts& counts() const { return counts_; }

private:
  static constexpr std::uintptr_t kFirstName = std::uintptr_t{1} << 57;
  static constexpr std::int64_t kAlignment = 512;
  static constexpr std::uint64_t kWorkOfResident = 4; // to be known by another name

  // `reason`: what a trace says of the copy.
  void bring_to_device(StreamedBlock& block, std::string_view reason);
  void take_on_device(StreamedBlock& block);
  bool make_on_device(StreamedBlock& block); // false: there is no room
  bool take_if_there_is_room(StreamedBlock& block);
  // So that the host's copy is current.
  void write_back(StreamedBlock& block, std::string_view reason);
  void drop_on_device(StreamedBlock& block) noexcept;
  void evict(StreamedBlock& block);
  void write_back_ahead(std::span<Block* const> writes);
  void prefetch();
  void queue_copy(StreamKind stream, StreamedBlock& block, std::string_view reason);
  // What unified memory moves for a launch.
  void move_pages(std::span<plans::Access> accesses, plans::Picoseconds duration);
  // The blocks of the device are known by other names from here on: leaves by their places. Null: one that is no more. Their
  // bytes.
  std::vector<std::uint64_t> name_leaves(std::span<StreamedBlock* const> leaves);
  plans::Memory memory() const;
  void look_ahead(); // along the plan that has begun, or none
  StreamedBlock* find(plans::Name name) override;
  void leave_device(StreamedBlock& block) noexcept override { drop_on_device(block); }
  void lost_copy_below(StreamedBlock& block) noexcept override { residents_.put(block, true, block.free_at); }
  void note_at_once(std::span<const Operand> operands);
  void trace_moment(std::string_view what);
  [[noreturn]] void refuse_on_device(std::int64_t bytes);
  std::int64_t could_leave() const; // bytes on the device
  // And those there that are none of ours, which cannot.
  std::int64_t own_bytes() const { return backing_.device_in_use() - static_cast<std::int64_t>(residents_.bytes()); }
  Needs needs() const override;
  std::int64_t will_be_written_back() const;

  Device& wrapped_;
  Backing& backing_;
  const bool has_one_stream_;
  Counts counts_;
  Tiers tiers_;
  Peak at_once_;                       // bytes that had to be on the device together
  std::int64_t traced_on_disk_ = 0;    // the bytes there, as a trace was told last
  std::vector<StreamedBlock*> leaves_; // of the call that is going on; null where one is no more
  plans::NameMap<StreamedBlock*>
      absent_; // what is no leaf and has left the device in it, while a plan is followed that may ask for it
  std::unordered_map<std::uint64_t, StreamedBlock*> numbered_; // whose numbers were asked for
  std::vector<plans::Access> accesses_;                        // of the launch that begins
  std::span<const Operand> brought_;                           // of the launch whose operands are being brought
  std::int64_t wanted_ = 0;                                    // bytes on the device, for which room is being made
  plans::Residents residents_;                                 // what has a copy on the device; it looks at the course's follower
  std::uint64_t next_number_ = 0;
  std::uintptr_t next_name_ = kFirstName;
  Course course_{counts_};
  std::unique_ptr<plans::UnifiedMemory> unified_; // null under other policies
};

} // namespace cairn::ops::streaming
