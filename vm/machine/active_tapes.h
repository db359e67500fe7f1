// The tapes of a machine by their ids, which name them in values. Copies of a tape have one id, and never more than one of them
// is in use: the one whose run is on the stack, or whose sweep is in work, is the active one.
#pragma once

#include "vm/tape/tape.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace cairn::machine {

class ActiveTapes {
public:
  explicit ActiveTapes(value::Heap& heap) : heap_(heap) {}

  // A new tape, with an id that no other has.
  std::unique_ptr<tape::Tape> make(std::uint64_t low, std::uint64_t start);
  // A tape that a file brought with its id.
  void adopt(tape::Tape* tape);
  // There is one more copy of the tape with this id.
  void share(std::uint16_t id) { ++entries_[id].copies; }
  // There is one less.
  void retire(const tape::Tape* tape);
  void activate(tape::Tape* tape) { entries_[tape->id()].active = tape; }
  // The active tape that a taped number is on; null: that is gone.
  const tape::Tape* of(value::Value taped) const;
  std::uint32_t copies() const; // of all tapes together

private:
  struct Entry {
    tape::Tape* active = nullptr;
    std::uint32_t copies = 0;
  };
  value::Heap& heap_;
  std::vector<Entry> entries_; // by id
};

} // namespace cairn::machine
