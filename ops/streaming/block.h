// A block of a streaming device: elements that have copies in several memories, of which at least one is current once they have
// been written. Its address names it and is touched by nobody: work gets the address of the copy on the device.
#pragma once

#include "ops/device.h"
#include "ops/plans/access_plan.h"

#include <cstdint>
#include <list>
#include <memory>

namespace cairn::ops::streaming {

struct StreamedBlock;
using Order = std::list<StreamedBlock*>;
inline constexpr std::uint64_t kNoLeaf = UINT64_MAX;

struct StreamedBlock : Block {
  Block* on_device = nullptr; // of the wrapped device
  Block* on_host = nullptr;   // of the host's memory that its copy engines reach
  std::unique_ptr<SpillFile::Copy> on_disk;
  // A copy that is there may still have to be filled, or may be stale: then it is not current. What is on disk always is, and
  // what is being read from there is current on the host when that has been waited for.
  bool device_is_current = false, host_is_current = false;
  enum class Disk : std::uint8_t { idle, writes, reads } disk = Disk::idle; // the host's memory of this block
  // In virtual time: from when on the memory of the host may be written, and then, from when on the elements are there; when they
  // are written to the disk.
  plans::Picoseconds host_ready = 0, disk_ready = 0;
  std::uint64_t number = 0;     // in the order in which blocks were taken
  std::uint64_t leaf = kNoLeaf; // its place among the leaves of the call that is going on
  bool charged = true;          // to the machine's account: all but what is on disk alone
  unsigned pins = 0;            // it stays where it is while something is done with it
  Order::iterator at_device;    // its place among those that have a copy on the device, the least recently used first
  Order::iterator at_host;      // and on the host, in the order in which they came there

  bool written() const { return device_is_current || host_is_current || on_disk != nullptr; }
  bool has_copy_below() const { return host_is_current || on_disk != nullptr; }
};

inline plans::Name name_of(const StreamedBlock& block) {
  return block.leaf != kNoLeaf ? plans::leaf_name(block.leaf) : plans::born_name(block.number);
}

inline StreamedBlock& streamed(Block& block) { return static_cast<StreamedBlock&>(block); }
inline const StreamedBlock& streamed(const Block& block) { return static_cast<const StreamedBlock&>(block); }

} // namespace cairn::ops::streaming
