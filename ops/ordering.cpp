// Tickets: who has to wait for whom. Readers wait for the writer; writers for the writer, its readers, and for whoever used the
// memory under another name before.
#include "ops/ordering.h"

#include <algorithm>

namespace cairn::ops {
namespace {

void add_ticket(Tickets& to, StreamKind stream, Ticket ticket) {
  Ticket& there = to[index_of(stream)];
  there = std::max(there, ticket);
}

void writer_of(const TrackedBlock& block, Tickets& after, Tickets& known) {
  add_ticket(after, block.writer_stream, block.writer);
  join(after, block.earlier);
  join(known, block.writer_known);
  join(known, block.earlier_known);
}

void elements_of(const TrackedBlock& block, Tickets& after) {
  add_ticket(after, block.writer_stream, block.writer);
  join(after, block.readers);
}

} // namespace

void join(Tickets& to, const Tickets& from) {
  for (std::size_t i = 0; i < kStreams; ++i) to[i] = std::max(to[i], from[i]);
}

std::string_view name_of(StreamKind stream) {
  constexpr std::string_view names[kStreams] = {"execute", "copy_in", "copy_out", "update"};
  return names[index_of(stream)];
}

Tickets Ordering::writes(const TrackedBlock& block) {
  Tickets after{}, learned{};
  writer_of(block, after, learned);
  return after;
}

void Ordering::uses(const TrackedBlock& block, Tickets& after, Tickets& known) {
  writer_of(block, after, known);
  for (std::size_t i = 0; i < kStreams; ++i) {
    if (block.readers[i] == 0) continue;
    after[i] = std::max(after[i], block.readers[i]);
    join(known, block.reader_known[i]);
  }
}

Tickets Ordering::uses_of_elements(const TrackedBlock& block) {
  Tickets after{};
  elements_of(block, after);
  return after;
}

Operation Ordering::add(StreamKind stream, std::span<Block* const> reads, std::span<Block* const> writes) {
  const std::size_t own = index_of(stream);
  Operation operation;
  operation.stream = stream;
  operation.known = known_[own];
  join(operation.known, host_);
  if (!forget_) {
    Tickets after{}, learned{};
    for (const Block* b : reads) {
      const TrackedBlock& block = tracked(*b);
      writer_of(block, after, learned);
      add_ticket(operation.about, block.writer_stream, block.writer);
    }
    for (const Block* b : writes) {
      const TrackedBlock& block = tracked(*b);
      uses(block, after, learned);
      elements_of(block, operation.about);
    }
    for (std::size_t i = 0; i < kStreams; ++i) operation.waits[i] = i != own && after[i] > operation.known[i] ? after[i] : 0;
    join(operation.known, after);
    join(operation.known, learned);
  }
  operation.ticket = ++last_[own];
  operation.known[own] = operation.ticket - 1;
  known_[own] = operation.known;
  for (Block* b : reads) {
    TrackedBlock& block = tracked(*b);
    block.readers[own] = operation.ticket;
    block.reader_known[own] = operation.known;
  }
  for (Block* b : writes) {
    TrackedBlock& block = tracked(*b);
    block.writer = operation.ticket;
    block.writer_stream = stream;
    block.writer_known = operation.known;
    block.earlier = block.earlier_known = block.readers = {};
    block.reader_known = {};
  }
  return operation;
}

Tickets Ordering::writers_of(const TrackedBlock& block) const {
  Tickets after{}, learned{};
  writer_of(block, after, learned);
  Tickets waits{};
  for (std::size_t i = 0; i < kStreams; ++i) waits[i] = after[i] > host_[i] ? after[i] : 0;
  return waits;
}

Tickets Ordering::host_waits_for_writes(const TrackedBlock& block) {
  const Tickets waits = writers_of(block);
  Tickets after{}, learned{};
  writer_of(block, after, learned);
  join(host_, after);
  join(host_, learned);
  return waits;
}

void Ordering::host_waits_for(const Operation& operation) {
  add_ticket(host_, operation.stream, operation.ticket);
  join(host_, operation.known);
}

void Ordering::host_waits_for(const Tickets& tickets, const Tickets& known) {
  join(host_, tickets);
  join(host_, known);
}

void Ordering::host_waits_for_all() { host_ = last_; }

} // namespace cairn::ops
