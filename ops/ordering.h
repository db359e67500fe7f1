// Orders work on different streams of an asynchronous device: each operation waits for the tickets that the memory blocks it
// uses carry. Called from the thread of the device. It says who has to wait for what; the devices do the waiting.
#pragma once

#include "ops/device.h"

#include <array>
#include <cstdint>
#include <span>

namespace cairn::ops {

// For each stream: everything up to this ticket.
using Tickets = std::array<Ticket, kStreams>;
void join(Tickets& to, const Tickets& from);
constexpr std::size_t index_of(StreamKind stream) { return static_cast<std::size_t>(stream); }
std::string_view name_of(StreamKind stream);

// A block as asynchronous devices keep it. Whoever has waited for a ticket of the block also knows what that work had waited for.
struct TrackedBlock : Block {
  std::int64_t taken = 0;  // bytes of the arena
  std::uint64_t ready = 0; // in virtual time, where there is one: when the memory is free
  Ticket writer = 0;       // 0: it has no elements yet
  StreamKind writer_stream = StreamKind::execute;
  Tickets readers{};                  // of these elements
  Tickets earlier{}, earlier_known{}; // of whoever had the memory before; none after the first write
  Tickets writer_known{};
  std::array<Tickets, kStreams> reader_known{};
};
// What a storage on such a block takes of the host's memory, its nodes of the arena included: measured.
inline constexpr std::int64_t kBesideTracked = 1024;
inline TrackedBlock& tracked(Block& block) { return static_cast<TrackedBlock&>(block); }
inline const TrackedBlock& tracked(const Block& block) { return static_cast<const TrackedBlock&>(block); }

// An operation that has been put on a stream.
struct Operation {
  StreamKind stream = StreamKind::execute;
  Ticket ticket = 0;
  Tickets waits{}; // what its stream has to wait for before it begins; 0: nothing more than it knows to be done
  Tickets known{}; // what is done when it begins
  Tickets about{}; // who wrote or read the same elements, whether it has to wait for them or not: no memory's earlier uses
};

class Ordering {
public:
  // `forget`: no operation waits (only tests of the race checker want this).
  explicit Ordering(bool forget = false) : forget_(forget) {}

  Operation add(StreamKind stream, std::span<Block* const> reads, std::span<Block* const> writes);
  // What the device's thread would have to wait for before it reads the block.
  Tickets writers_of(const TrackedBlock& block) const;
  // The device's thread is going to wait until all writes of the block are done: the tickets to wait for. Work that is added
  // later starts after that, and need not wait for them again.
  Tickets host_waits_for_writes(const TrackedBlock& block);
  void host_waits_for(const Operation& operation);
  // It has waited for these, and they for those that they know.
  void host_waits_for(const Tickets& tickets, const Tickets& known);
  void host_waits_for_all();
  Ticket last(StreamKind stream) const { return last_[index_of(stream)]; }

  // Everything that writes the block, whether or not the device's thread has waited for it.
  static Tickets writes(const TrackedBlock& block);
  // Everything that uses the block, and what is known once that is done.
  static void uses(const TrackedBlock& block, Tickets& after, Tickets& known);
  // The same without those of whoever had the memory before.
  static Tickets uses_of_elements(const TrackedBlock& block);

private:
  bool forget_;
  Tickets last_{};                        // of each stream
  Tickets host_{};                        // what the device's thread knows to be done
  std::array<Tickets, kStreams> known_{}; // what each stream knows to be done when its last operation began
};

} // namespace cairn::ops
