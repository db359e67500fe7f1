// Follows the operations of a tape forwards and backwards.
#include "vm/runs/operations.h"

#include <algorithm>

namespace cairn::runs {

Operations::Operations(value::Heap& heap, std::uint32_t nodes, std::size_t number)
    : heap_(heap), all_(heap), makers_(nodes, 0, heap), operands_(heap), beside_(heap), taken_(heap), wanted_(heap),
      wanted_again_(heap) {
  all_.reserve(number);
}

Operation& Operations::add(std::uint32_t node, std::uint32_t end) {
  Operation& o = all_.emplace_back();
  o.node = node;
  o.end = end;
  o.last_use = on_top();
  o.operands_end = static_cast<std::uint32_t>(operands_.size());
  for (std::uint32_t made = node; made < end; ++made) makers_[made] = static_cast<std::uint32_t>(all_.size());
  return o;
}

void Operations::add_operand(std::uint32_t node, std::uint64_t bytes) {
  operands_.push_back({node, bytes});
  ++last().operands_end;
}

void Operations::hold_beside(std::uint64_t bytes) {
  if (beside_.empty() || beside_.back().operation != on_top()) beside_.push_back({on_top(), 0});
  beside_.back().what = std::max(beside_.back().what, bytes);
}

void Operations::add_taken(std::uint32_t node) { taken_.push_back({on_top(), node}); }

void Operations::add_wanted(std::uint32_t node) {
  wanted_.push_back({on_top(), node});
  maker(node)->again = true;
}

void Operations::add_wanted_again(std::uint32_t node) {
  wanted_again_.push_back({on_top(), node});
  maker(node)->again = true;
}

template <class T> class Operations::Backwards {
public:
  explicit Backwards(const Notes<T>& notes) : notes_(notes), left_(notes.size()) {}
  // Calls f for each of that operation. Those behind it have been asked about.
  template <class F> void each(std::size_t operation, F&& f) {
    for (; left_ > 0 && notes_[left_ - 1].operation == operation; --left_) f(notes_[left_ - 1].what);
  }

private:
  const Notes<T>& notes_;
  std::size_t left_;
};

// What the sweep of a lean tape has computed again, until it has passed the operation that it is a result of.
class Operations::Again {
public:
  explicit Again(const Operations& operations) : operations_(operations), there_(operations.size(), false, operations.heap_) {}

  void compute(std::uint32_t node) {
    const std::uint32_t maker = operations_.makers_[node] - 1;
    if (there_[maker]) return;
    there_[maker] = true;
    bytes_ += operations_[maker].again_bytes;
    const auto& notes = operations_.wanted_again_;
    for (auto note = std::ranges::lower_bound(notes, maker, {}, &Noted<std::uint32_t>::operation);
         note != notes.end() && note->operation == maker; ++note)
      compute(note->what); // not deeper than tape::Derived::kDeepest
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
  auto note = beside_.begin();
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
    const std::uint64_t beside = note != beside_.end() && note->operation == i ? (note++)->what : 0;
    weights.advancing = std::max(weights.advancing, alive + beside);
    const std::uint64_t there = kept + alive_unkept + beside;
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
  const auto drop = [&](std::uint32_t node) {
    if (cotangents[node] == 0) return;
    held -= cotangents[node] - 1;
    cotangents[node] = 0;
  };
  Backwards<std::uint64_t> beside_of(beside_);
  Backwards<std::uint32_t> taken_by(taken_), wanted_by(wanted_);
  for (std::size_t i = all_.size(); i-- > 0;) {
    const Operation& o = all_[i];
    for (std::uint32_t at = i == 0 ? 0 : all_[i - 1].operands_end; at < o.operands_end; ++at) make(operands_[at]);
    std::uint64_t beside = 0;
    beside_of.each(i, [&](std::uint64_t bytes) { beside = bytes; });
    weights.sweeping = std::max(weights.sweeping, held + beside - std::min(held + beside, let_go));
    wanted_by.each(i, [&](std::uint32_t node) { again.compute(node); });
    const std::uint64_t held_lean = held + again.bytes() + beside;
    weights.sweeping_lean = std::max(weights.sweeping_lean, held_lean - std::min(held_lean, let_go_lean));
    let_go += o.kept_new;
    let_go_lean += o.kept_lean;
    again.pass(i);
    for (std::uint32_t node = o.node; node < o.end; ++node) drop(node);
    taken_by.each(i, drop);
  }
}

} // namespace cairn::runs
