// What a device offers to a streaming device that wraps it, beside what every device does: blocks of its own memory and of the
// host's memory that its copy engines reach, and copies between the two that are queued and ordered by tickets like all work.
// Blocks of both kinds may be given back while work on them is queued; whoever gets the memory next waits for that work.
#pragma once

#include "ops/device.h"
#include "ops/plans/link.h"
#include "ops/plans/policy.h"
#include "ops/tracer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace cairn::ops {

// Gives way when the device is short of memory.
class Evictor {
public:
  virtual ~Evictor() = default;
  // Frees memory of the device until that many bytes are there. False: there is nothing more that could go.
  virtual bool make_room(std::int64_t bytes) = 0;
  // A tensor of the device itself has got memory there, which leaves when the tensor does and not before.
  virtual void note_own() = 0;
  // There was none. DeviceMemoryExceeded with those words, what each memory holds, and what would have been enough.
  [[noreturn]] virtual void refuse(const std::string& what, std::int64_t bytes) = 0;
};

// The most of something so far, and since somebody began to look.
struct Peak {
  std::int64_t ever = 0, recent = 0;
  void note(std::int64_t now) {
    ever = std::max(ever, now);
    recent = std::max(recent, now);
  }
};

// The host's memory for what streams, as far as copy engines are to reach it.
struct Pinned {
  std::int64_t bytes = 0;        // that are locked
  std::int64_t staged_bytes = 0; // that were copied through a buffer, because the memory was not
  std::string warning;           // for people, where less is locked than was asked for
};

// What a device has done so far in virtual time, as its rates say; seconds.
struct ModelledTime {
  double end = 0;                             // when all that has been queued is done
  double execute = 0;                         // that kernels took,
  double update = 0;                          // and of that on the stream of rules
  double copy_in = 0, copy_out = 0, disk = 0; // that each of them was busy
  double stalled = 0;                         // that kernels waited for copies
};

// What made the elements that are copied, and why they are: for a trace.
struct CopyLabel {
  const Operator* made_by = nullptr; // null: the host
  Device::Maker maker;
  std::string_view reason;
};

class Backing {
public:
  // What the user said of streaming when the device was named.
  struct Streaming {
    bool by_default = false;                       // tensors that name no residence stream
    std::string disk;                              // a folder for what finds no room in the host's memory; empty: none
    std::int64_t disk_bytes = 0;                   // of it; 0: what is free there
    plans::Policy policy = plans::Policy::planned; // that, demand, waiting, unified or unified_prefetched
  };
  virtual ~Backing() = default;
  virtual const Streaming& streaming() const = 0;

  // Memory of the device; null where there is no room.
  virtual Block* take_on_device(std::int64_t bytes) = 0;
  virtual void give_back_on_device(Block* block) = 0;
  // Memory of the host; null where its budget has no room.
  virtual Block* take_on_host(std::int64_t bytes) = 0;
  virtual void give_back_on_host(Block* block) = 0;
  // All bytes of one block into another, on copy_in towards the device and on copy_out from it; in virtual time, not before
  // `ready`. Cancelled, before anything is queued.
  virtual void queue_copy(StreamKind stream, Block& to, Block& from, plans::Picoseconds ready, const CopyLabel& label) = 0;
  // Until nothing that is queued writes the block, or uses it at all: before the host reads or writes its memory. Cancelled.
  virtual void host_waits_to_read(const Block& block) = 0;
  virtual void host_waits_to_write(const Block& block) = 0;
  // The host waits for something else in virtual time.
  virtual void host_waits_until(plans::Picoseconds when) = 0;
  // A disk reads the memory of a block of the host's, or writes it. Really, what is queued and writes the block, or uses it at
  // all, is waited for first: Cancelled. In virtual time nobody waits: the disk works beside the streams, behind what it was
  // given before, from when that is done and from `ready` on. When it has done that, in virtual time.
  enum class DiskAccess : std::uint8_t { reads, writes };
  virtual void make_ready_for_disk(const Block& block, DiskAccess access) = 0;
  virtual plans::Picoseconds note_disk(const Block& block, DiskAccess access, plans::Picoseconds ready,
                                       const CopyLabel& label) noexcept = 0;

  // For unified memory, whose pages move beside all that is queued, in virtual time: when a kernel that is queued now could
  // begin; that the next one does not begin before some time; and that a stream has been busy.
  virtual plans::Picoseconds next_launch() const = 0;
  virtual void hold_next_launch(plans::Picoseconds until) = 0;
  virtual void note_copy(StreamKind stream, plans::Picoseconds begin, plans::Picoseconds end, std::int64_t bytes,
                         const CopyLabel& label) = 0;

  virtual ModelledTime modelled_time() const = 0;
  // For plans: what a launch is modelled to take, in picoseconds, how long copies take, and when each stream will be done.
  virtual std::uint64_t modelled(const Cost& cost) const = 0;
  virtual plans::Link link() const = 0;
  // Kernels of all streams are one to plans, which foretell the time that all of them take; a launch ends when its own stream has
  // come to it.
  virtual plans::Timeline timeline() const = 0;
  virtual plans::Picoseconds end_of_launches(StreamKind stream) const = 0;
  virtual plans::Link disk_link() const = 0; // between the host's memory and the disk
  virtual plans::Picoseconds disk_end() const = 0;

  virtual std::int64_t device_budget() const = 0;       // bytes; 0: none
  virtual std::int64_t device_budget_asked() const = 0; // that somebody has asked for; 0: nothing was said
  virtual std::int64_t device_in_use() const = 0;
  virtual std::int64_t host_budget() const = 0;
  virtual std::int64_t host_in_use() const = 0;
  // The most that was in use at once. `begin_peaks`: recent is what is from here on.
  virtual const Peak& device_peak() const = 0;
  virtual const Peak& host_peak() const = 0;
  virtual void begin_peaks() = 0;
  virtual Pinned pinned() const = 0;

  // Null: nobody listens. It outlives the device, or is taken away before.
  virtual void set_tracer(Tracer* tracer) = 0;
  virtual Tracer* tracer() const = 0;

  // Asked when tensors of the device itself find no room.
  virtual void set_evictor(Evictor* evictor) = 0;
};

} // namespace cairn::ops
