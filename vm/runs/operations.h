// The operations of tensors on one tape, and what is held for a while as they are done and swept one by one.
#pragma once

#include "vm/schedule/schedule.h"
#include "vm/value/charged.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cairn::runs {

// A tensor on the tape, and its bytes.
struct Node {
  std::uint32_t node = 0;
  std::uint64_t bytes = 0;
};
using Nodes = value::ChargedVector<Node>;

struct Operation {
  std::uint32_t node = 0, end = 0; // of its results
  std::uint32_t results = 0;
  bool result_kept = false;
  bool again = false;             // the sweep of a lean tape computes its results again
  std::uint64_t result_bytes = 0; // of all results
  std::uint64_t cost = 0;
  std::size_t last_use = 0;   // the last operation that reads a result
  std::uint64_t kept_new = 0; // bytes that the tape keeps from here on, of elements that were made in the interval; the sweep
                              // gives them up once it has passed this operation
  std::uint64_t beside = 0;   // held for the time of this operation alone, when it is done and when it is swept
  // Of a lean tape: the same as kept_new; of results that it does not keep but can compute again, their bytes.
  std::uint64_t kept_lean = 0, again_bytes = 0;
  // Where its part of each list of Operations ends. It begins where that of the operation before it does.
  std::uint32_t operands_end = 0, taken_end = 0, wanted_end = 0, wanted_again_end = 0;
};

// In the order of the tape. Their lists lie behind each other: a tape has tens of thousands of small operations.
class Operations {
public:
  // Of a tape with so many nodes, of which so many are made.
  Operations(value::Heap& heap, std::uint32_t nodes, std::size_t number);

  // One more, behind the others, of these nodes. What is told of operands and wishes is then of this one.
  Operation& add(std::uint32_t node, std::uint32_t end);
  void add_operand(std::uint32_t node, std::uint64_t bytes);
  // An update rule takes the cotangent of that node once the sweep has passed this operation.
  void add_taken(std::uint32_t node);
  // A result that the sweep of this operation, of a lean tape, wants to have computed again; or that computing its results again
  // wants.
  void add_wanted(std::uint32_t node);
  void add_wanted_again(std::uint32_t node);

  std::size_t size() const { return all_.size(); }
  Operation& operator[](std::size_t i) { return all_[i]; }
  const Operation& operator[](std::size_t i) const { return all_[i]; }
  Operation& last() { return all_.back(); }
  // The operation that made that node; null: none of these.
  Operation* maker(std::uint32_t node) { return makers_[node] != 0 ? &all_[makers_[node] - 1] : nullptr; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(makers_.size()); }

  // Sets what is held for a while: `advancing`, `taping`, `sweeping` and `sweeping_lean`. The state at the end of the tape has
  // the nodes `ends`, and its cotangents are counted elsewhere.
  void follow(const Nodes& ends, schedule::Weights& weights) const;

private:
  class Again;
  template <class T> std::span<const T> part(const value::ChargedVector<T>& list, std::uint32_t Operation::*end, std::size_t i) const {
    const std::uint32_t begin = i == 0 ? 0 : all_[i - 1].*end;
    return {list.data() + begin, all_[i].*end - begin};
  }
  void follow_forwards(schedule::Weights& weights) const;

  value::Heap& heap_;
  value::ChargedVector<Operation> all_;
  value::ChargedVector<std::uint32_t> makers_; // by node: the number of the operation, from 1 on
  Nodes operands_;
  value::ChargedVector<std::uint32_t> taken_, wanted_, wanted_again_;
};

} // namespace cairn::runs
