// A block of a streaming device: elements that have copies in several memories, of which at least one is current once they have
// been written. Its address names it and is touched by nobody: work gets the address of the copy on the device.
#pragma once

#include "ops/device.h"
#include "ops/plans/residents.h"
#include "ops/streaming/backing.h"

#include <cstdint>
#include <list>
#include <memory>

namespace cairn::ops::streaming {

struct StreamedBlock;
using Order = std::list<StreamedBlock*>;

// As a resident it is what is noted of its copy on the device. Launches whose operands are all there look at little more than
// this, so what is about other memories is elsewhere.
struct StreamedBlock : Block, plans::Resident {
  using Block::bytes;         // as many as of the resident
  Block* on_device = nullptr; // of the wrapped device
  Block* on_host = nullptr;   // of the host's memory that its copy engines reach
  std::unique_ptr<SpillFile::Copy> on_disk;
  // A copy that is there may still have to be filled, or may be stale: then it is not current. What is on disk always is, and
  // what is being read from there is current on the host when that has been waited for.
  bool device_is_current = false, host_is_current = false;
  bool charged = true;       // to the machine's account: all but what is on disk alone
  bool numbered = false;     // somebody knows it by its number
  std::uint32_t operand = 0; // its place among what the launch used that used it last,
  std::uint64_t launch = 0;  // and the number of that
  std::uint64_t number = 0;  // in the order in which blocks were taken: its name, but for leaves of the call that is going on
  // For a trace: what made the elements, null for the host, and where in the program.
  const Operator* made_by = nullptr;
  Device::Maker maker;

  // What is noted of its copies below the device: made with the first one, and there from then on.
  struct Below {
    // What is noted of its copy on the host, under the same name.
    struct Hosted : plans::Resident {
      StreamedBlock* block = nullptr;
    } hosted;
    enum class Disk : std::uint8_t { idle, writes, reads } disk = Disk::idle; // the host's memory of this block
    // In virtual time: from when on the memory of the host may be written, and then, from when on the elements are there; when
    // they are written to the disk.
    plans::Picoseconds host_ready = 0, disk_ready = 0;
    Order::iterator at_host; // its place among those that have a copy on the host, in the order in which they came there
  };
  std::unique_ptr<Below> below;

  CopyLabel copied(std::string_view reason) const { return {made_by, maker, reason}; }
  bool written() const { return device_is_current || host_is_current || on_disk != nullptr; }
  bool has_copy_below() const { return host_is_current || on_disk != nullptr; }
};

// What one launch uses, each block once.
struct Operand {
  StreamedBlock* block = nullptr;
  plans::Use use = plans::Use::read;
  bool is_read = false;
};

inline StreamedBlock& streamed(Block& block) { return static_cast<StreamedBlock&>(block); }
inline const StreamedBlock& streamed(const Block& block) { return static_cast<const StreamedBlock&>(block); }
// Of those on the device.
inline StreamedBlock& streamed(plans::Resident& resident) { return static_cast<StreamedBlock&>(resident); }

} // namespace cairn::ops::streaming
