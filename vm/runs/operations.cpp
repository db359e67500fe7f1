// Follows the operations of a tape forwards and backwards.
#include "vm/runs/operations.h"

#include "vm/runs/cotangents.h"

#include <algorithm>

namespace cairn::runs {

Operations::Operations(value::Heap& heap, std::uint32_t nodes, std::size_t number)
    : heap_(heap), all_(heap), makers_(nodes, 0, heap), operands_(heap), several_(heap), beside_(heap), taken_(heap),
      wanted_(heap), wanted_again_(heap) {
  all_.reserve(number);
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

std::uint64_t Operations::bytes_of(std::uint32_t node) const {
  const Operation& o = *maker(node);
  if (o.end - o.node == 1) return o.result_bytes;
  const auto found = std::ranges::lower_bound(several_, node, {}, &Node::node);
  return found != several_.end() && found->node == node ? found->bytes : 0;
}

namespace {

std::uint64_t beyond(std::uint64_t bytes, std::uint64_t counted) { return bytes - std::min(bytes, counted); }

} // namespace

// A result is there until its last use; what the tape keeps stays, and so does what the state at the end has.
void Operations::follow_forwards(const Nodes& ends, schedule::Weights& weights) const {
  value::ChargedVector<std::uint32_t> staying(heap_); // nodes whose memory the state at the end has
  for (const Node& end : ends) {
    const Operation* const o = maker(end.node);
    if (o == nullptr) continue;
    if (!o->is_view)
      staying.push_back(end.node);
    else if (o->view_of != tape::kNone)
      staying.push_back(o->view_of);
  }
  std::ranges::sort(staying);
  staying.erase(std::unique(staying.begin(), staying.end()), staying.end());
  std::uint64_t kept_in_all = 0, staying_in_all = 0, staying_unkept = 0;
  for (const Operation& o : all_) kept_in_all += o.kept_new;
  for (const std::uint32_t node : staying) {
    staying_in_all += bytes_of(node);
    if (!maker(node)->result_kept) staying_unkept += bytes_of(node);
  }
  struct Used { // for the last time by an operation
    std::uint64_t all = 0, unkept = 0;
  };
  value::ChargedVector<Used> used(all_.size(), Used{}, heap_);
  auto note = beside_.begin();
  auto stays = staying.begin();
  std::uint64_t alive = 0, alive_unkept = 0, kept = 0;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Operation& o = all_[i];
    std::uint64_t dies = o.result_bytes;
    for (; stays != staying.end() && *stays < o.end; ++stays) dies -= bytes_of(*stays);
    kept += o.kept_new;
    alive += o.result_bytes;
    used[o.last_use].all += dies;
    if (!o.result_kept) {
      alive_unkept += o.result_bytes;
      used[o.last_use].unkept += dies;
    }
    std::uint64_t taken = 0, taken_unkept = 0; // of what becomes the memory of the result
    if (o.overwritten != tape::kNone && maker(o.overwritten)->last_use == i &&
        !std::ranges::binary_search(staying, o.overwritten)) {
      taken = bytes_of(o.overwritten);
      if (!maker(o.overwritten)->result_kept) taken_unkept = taken;
    }
    const std::uint64_t beside = note != beside_.end() && note->operation == i ? (note++)->what : 0;
    weights.advancing = std::max(weights.advancing, beyond(alive - taken + beside, staying_in_all));
    weights.taping = std::max(weights.taping, beyond(kept + alive_unkept - taken_unkept + beside, kept_in_all + staying_unkept));
    alive -= used[i].all;
    alive_unkept -= used[i].unkept;
  }
}

// Backwards: a cotangent is there from the last operation that reads what it is of to the one that made that.
std::vector<Together> Operations::follow(const Nodes& ends, schedule::Weights& weights) const {
  follow_forwards(ends, weights);
  CotangentMemory cotangents(heap_, nodes());
  for (const Node& end : ends) cotangents.begin(end);
  std::uint64_t let_go = cotangents.held(); // of these, and of what is counted elsewhere or on the tape
  std::uint64_t let_go_lean = let_go;       // the same of a lean tape
  std::uint64_t if_parts = 0, if_parts_lean = 0;
  Again again(*this);
  Backwards<std::uint64_t> beside_of(beside_);
  Backwards<std::uint32_t> taken_by(taken_), wanted_by(wanted_);
  for (std::size_t i = all_.size(); i-- > 0;) {
    const Operation& o = all_[i];
    CotangentMemory::Most there = cotangents.sweep(o, operands(i));
    beside_of.each(i, [&](std::uint64_t bytes) {
      there.bytes += bytes;
      there.if_parts += bytes;
    });
    weights.sweeping = std::max(weights.sweeping, beyond(there.bytes, let_go));
    if_parts = std::max(if_parts, beyond(there.if_parts, let_go));
    wanted_by.each(i, [&](std::uint32_t node) { again.compute(node); });
    weights.sweeping_lean = std::max(weights.sweeping_lean, beyond(there.bytes + again.bytes(), let_go_lean));
    if_parts_lean = std::max(if_parts_lean, beyond(there.if_parts + again.bytes(), let_go_lean));
    let_go += o.kept_new;
    let_go_lean += o.kept_lean;
    again.pass(i);
    taken_by.each(i, [&](std::uint32_t node) { cotangents.drop(node); });
  }
  weights.more_if_parts = if_parts - weights.sweeping;
  weights.more_if_parts_lean = if_parts_lean - weights.sweeping_lean;
  return cotangents.together();
}

} // namespace cairn::runs
