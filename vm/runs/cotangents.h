// Cotangents of tensors while a tape is swept, as bytes: where reverse rules make them, and whose memory they lie in. Parts of a
// cotangent, and views of it, hold all of its memory; sums and elementwise rules take the memory of what nobody else has.
#pragma once

#include "vm/runs/operations.h"

#include <map>

namespace cairn::runs {

class Cotangents {
public:
  // Of the state at the end of the tape.
  void begin(const Node& end);
  std::uint64_t held() const { return held_; }
  // The cotangents of the results become those of the operands. Returns the most bytes that are held meanwhile.
  std::uint64_t sweep(const Operation& operation);
  void drop(std::uint32_t node);
  std::vector<Together> together() const;

private:
  struct Memory {
    std::uint64_t bytes = 0;
    std::size_t users = 0;
  };
  struct Cotangent {
    std::size_t memory = 0;
    std::uint64_t bytes = 0;
    bool turned = false; // its elements do not lie in order, or there are gaps between them
  };
  Cotangent made(std::uint64_t bytes);
  Cotangent view(const Cotangent& of, std::uint64_t bytes, bool turned);
  Cotangent part(const Operation& operation, std::size_t operand, const Cotangent* of_result);
  void let_go(const Cotangent& cotangent);
  void add(std::uint32_t node, const Cotangent& part);
  bool alone(const Cotangent& cotangent) const; // in memory that nobody else has and is all of its own
  void note(std::uint64_t beside = 0) { most_ = std::max(most_, held_ + beside); }

  std::map<std::uint32_t, Cotangent> of_; // by node
  std::vector<Memory> memory_;
  std::uint64_t held_ = 0;
  std::uint64_t most_ = 0; // during an operation
};

} // namespace cairn::runs
