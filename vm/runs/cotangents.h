// Cotangents of tensors while a tape is swept, as bytes: where reverse rules make them, and whose memory they lie in. Parts of a
// cotangent, and views of it, hold all of its memory; sums and elementwise rules take the memory of what nobody else has.
#pragma once

#include "vm/runs/operations.h"

#include <algorithm>
#include <span>
#include <vector>

namespace cairn::runs {

// Where the reverse rule of a record makes cotangents, and whether its result has memory of its own.
void tell_of_memory(const tape::TensorRecord& record, Operation& o);

class CotangentMemory {
public:
  // Of a tape with so many nodes.
  CotangentMemory(value::Heap& heap, std::uint32_t nodes) : of_(nodes, kNone, heap), all_(heap), memory_(heap), parts_(heap) {}

  // Of the state at the end of the tape.
  void begin(const Node& end);
  std::uint64_t held() const { return held_; }
  // The most bytes while an operation is swept; and if the cotangents of the end were parts of others, which somebody else has as
  // well: they are then not written to, and there as long as anything is.
  struct Most {
    std::uint64_t bytes = 0, if_parts = 0;
  };
  Most now() const { return {held_, held_ + kept_}; }
  // The cotangents of the results become those of the operands.
  Most sweep(const Operation& operation, std::span<const Operand> operands);
  void drop(std::uint32_t node);
  std::vector<Together> together() const;

private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Memory { // of a cotangent that is, or was, not alone there, or of the end
    std::uint64_t bytes = 0;
    std::uint32_t users = 0;
    bool of_end = false;
  };
  struct Swept {
    std::uint32_t memory = kNone; // kNone: one of its own, which nobody else has and where nothing else is
    bool turned = false;          // its elements do not lie in order, or there are gaps between them
    std::uint64_t bytes = 0;
  };
  // Numbered things that come and go: those that went leave their numbers to later ones.
  template <class T> class Numbered {
  public:
    explicit Numbered(value::Heap& heap) : all_(heap), free_(heap) {}
    std::uint32_t add(const T& t) {
      if (free_.empty()) {
        all_.push_back(t);
        return static_cast<std::uint32_t>(all_.size()) - 1;
      }
      const std::uint32_t number = free_.back();
      free_.pop_back();
      all_[number] = t;
      return number;
    }
    void remove(std::uint32_t number) { free_.push_back(number); }
    T& operator[](std::uint32_t number) { return all_[number]; }
    const T& operator[](std::uint32_t number) const { return all_[number]; }

  private:
    value::ChargedVector<T> all_;
    value::ChargedVector<std::uint32_t> free_;
  };

  Swept made(std::uint64_t bytes);
  Swept view(Swept& of, std::uint64_t bytes, bool turned);
  Swept overwritten(Swept& cotangent);
  Swept part(const Operation& operation, std::span<const Operand> operands, std::size_t operand, Swept* of_result);
  Most sweep_own(const Operation& operation, std::span<const Operand> operands);
  bool moves(const Operation& operation, const Operand& operand);
  bool added_onto(const Operation& operation, std::span<const Operand> operands);
  void let_go(const Swept& cotangent);
  bool write(const Swept& cotangent);
  void add(std::uint32_t node, const Swept& part);
  bool owns(const Swept& cotangent) const { return cotangent.memory == kNone || memory_[cotangent.memory].users == 1; }
  bool alone(const Swept& cotangent) const; // in memory that nobody else has and is all of its own
  void note(std::uint64_t beside = 0) {
    most_.bytes = std::max(most_.bytes, held_ + beside);
    most_.if_parts = std::max(most_.if_parts, held_ + kept_ + beside);
  }

  value::ChargedVector<std::uint32_t> of_; // by node: a number of `all_`
  Numbered<Swept> all_;
  Numbered<Memory> memory_;
  value::ChargedVector<Swept> parts_; // while an operation is swept
  std::uint64_t held_ = 0;
  std::uint64_t kept_ = 0; // of the end, what was written to or let go of
  Most most_;              // during an operation
};

} // namespace cairn::runs
