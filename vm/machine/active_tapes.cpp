// See active_tapes.h. An id is free again when the last copy of its tape has gone; the least that is free is taken.
#include "vm/machine/active_tapes.h"

#include "vm/print/environment.h"

namespace cairn::machine {

std::unique_ptr<tape::Tape> ActiveTapes::make(std::uint64_t low, std::uint64_t start) {
  std::size_t id = 0;
  while (id < entries_.size() && entries_[id].copies != 0) ++id;
  if (id > 0xFFFF) throw print::ProgramError("derivatives are nested deeper than 65,536");
  if (id == entries_.size()) entries_.push_back({});
  auto made = std::make_unique<tape::Tape>(heap_, static_cast<std::uint16_t>(id), low, start);
  entries_[id].copies = 1;
  return made;
}

void ActiveTapes::adopt(tape::Tape* tape) {
  if (tape->id() >= entries_.size()) entries_.resize(std::size_t{tape->id()} + 1);
  ++entries_[tape->id()].copies;
  entries_[tape->id()].active = tape;
}

void ActiveTapes::retire(const tape::Tape* tape) {
  Entry& e = entries_[tape->id()];
  --e.copies;
  if (e.active == tape) e.active = nullptr;
}

const tape::Tape* ActiveTapes::of(value::Value taped) const {
  if (taped.tape_id() >= entries_.size()) return nullptr;
  const tape::Tape* tape = entries_[taped.tape_id()].active;
  return tape != nullptr && taped.tape_node() < tape->size() ? tape : nullptr;
}

std::uint32_t ActiveTapes::copies() const {
  std::uint32_t sum = 0;
  for (const Entry& e : entries_) sum += e.copies;
  return sum;
}

} // namespace cairn::machine
