// Follows the operations of a tape forwards and backwards.
#include "vm/runs/operations.h"

#include <algorithm>

namespace cairn::runs {

Operations::Operations(value::Heap& heap, std::uint32_t nodes, std::size_t number)
    : heap_(heap), all_(heap), makers_(nodes, 0, heap), operands_(heap), taken_(heap), wanted_(heap), wanted_again_(heap) {
  all_.reserve(number);
}

Operation& Operations::add(std::uint32_t node, std::uint32_t end) {
  Operation& o = all_.emplace_back();
  o.node = node;
  o.end = end;
  o.last_use = all_.size() - 1;
  o.operands_end = static_cast<std::uint32_t>(operands_.size());
  o.taken_end = static_cast<std::uint32_t>(taken_.size());
  o.wanted_end = static_cast<std::uint32_t>(wanted_.size());
  o.wanted_again_end = static_cast<std::uint32_t>(wanted_again_.size());
  std::fill(makers_.begin() + node, makers_.begin() + end, static_cast<std::uint32_t>(all_.size()));
  return o;
}

void Operations::add_operand(std::uint32_t node, std::uint64_t bytes) {
  operands_.push_back({node, bytes});
  ++last().operands_end;
}

void Operations::add_taken(std::uint32_t node) {
  taken_.push_back(node);
  ++last().taken_end;
}

void Operations::add_wanted(std::uint32_t node) {
  wanted_.push_back(node);
  ++last().wanted_end;
  maker(node)->again = true;
}

void Operations::add_wanted_again(std::uint32_t node) {
  wanted_again_.push_back(node);
  ++last().wanted_again_end;
  maker(node)->again = true;
}

// What the sweep of a lean tape has computed again, until it has passed the operation that it is a result of.
class Operations::Again {
public:
  explicit Again(const Operations& operations) : operations_(operations), there_(operations.size(), false, operations.heap_) {}

  void compute(std::span<const std::uint32_t> nodes) {
    for (const std::uint32_t node : nodes) {
      const std::size_t maker = operations_.makers_[node] - 1;
      if (there_[maker]) continue;
      there_[maker] = true;
      bytes_ += operations_[maker].again_bytes;
      // Not deeper than tape::Derived::kDeepest.
      compute(operations_.part(operations_.wanted_again_, &Operation::wanted_again_end, maker));
    }
  }
  void pass(std::size_t i) {
    if (there_[i]) bytes_ -= operations_[i].again_bytes;
  }
  std::uint64_t bytes() const { return bytes_; }

private:
  const Operations& operations_;
  value::ChargedVector<bool> there_;
  std::uint64_t bytes_ = 0;
};

// A result is there until its last use; what the tape keeps stays.
void Operations::follow_forwards(schedule::Weights& weights) const {
  std::uint64_t kept_in_all = 0;
  for (const Operation& o : all_) kept_in_all += o.kept_new;
  struct Used { // for the last time by an operation
    std::uint64_t all = 0, unkept = 0;
  };
  value::ChargedVector<Used> used(all_.size(), Used{}, heap_);
  std::uint64_t alive = 0, alive_unkept = 0, kept = 0;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Operation& o = all_[i];
    kept += o.kept_new;
    alive += o.result_bytes;
    used[o.last_use].all += o.result_bytes;
    if (!o.result_kept) {
      alive_unkept += o.result_bytes;
      used[o.last_use].unkept += o.result_bytes;
    }
    weights.advancing = std::max(weights.advancing, alive + o.beside);
    const std::uint64_t there = kept + alive_unkept + o.beside;
    weights.taping = std::max(weights.taping, there - std::min(there, kept_in_all));
    alive -= used[i].all;
    alive_unkept -= used[i].unkept;
  }
}

void Operations::follow(const Nodes& ends, schedule::Weights& weights) const {
  follow_forwards(weights);
  // Backwards: a cotangent is there from the last operation that reads what it is of to the one that made that.
  value::ChargedVector<std::uint64_t> cotangents(makers_.size(), 0, heap_); // bytes and 1, by node; 0: none
  std::uint64_t held = 0, let_go = 0; // of these, and of what is counted elsewhere or on the tape
  const auto make = [&](const Node& of) {
    if (cotangents[of.node] != 0) return false;
    cotangents[of.node] = of.bytes + 1;
    held += of.bytes;
    return true;
  };
  for (const Node& end : ends)
    if (make(end)) let_go += end.bytes;
  std::uint64_t let_go_lean = let_go; // the same of a lean tape
  Again again(*this);
  for (std::size_t i = all_.size(); i-- > 0;) {
    const Operation& o = all_[i];
    for (const Node& operand : part(operands_, &Operation::operands_end, i)) make(operand);
    weights.sweeping = std::max(weights.sweeping, held + o.beside - std::min(held + o.beside, let_go));
    again.compute(part(wanted_, &Operation::wanted_end, i));
    const std::uint64_t held_lean = held + again.bytes() + o.beside;
    weights.sweeping_lean = std::max(weights.sweeping_lean, held_lean - std::min(held_lean, let_go_lean));
    let_go += o.kept_new;
    let_go_lean += o.kept_lean;
    again.pass(i);
    const auto drop = [&](std::uint32_t node) {
      if (cotangents[node] == 0) return;
      held -= cotangents[node] - 1;
      cotangents[node] = 0;
    };
    for (std::uint32_t node = o.node; node < o.end; ++node) drop(node);
    for (const std::uint32_t node : part(taken_, &Operation::taken_end, i)) drop(node);
  }
}

} // namespace cairn::runs
