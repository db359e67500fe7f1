// Follows the operations of a tape forwards and backwards.
#include "vm/runs/operations.h"

#include "vm/runs/cotangents.h"

#include <algorithm>
#include <utility>

namespace cairn::runs {

Operations::Operations(value::Heap& heap, std::uint32_t nodes, std::size_t number)
    : heap_(heap), all_(heap), makers_(nodes, 0, heap), operands_(heap), several_(heap), beside_(heap), taken_(heap),
      wanted_(heap), wanted_again_(heap) {
  all_.reserve(number);
}

void Operations::hold_beside(const Beside& bytes) {
  if (beside_.empty() || beside_.back().operation != on_top()) beside_.push_back({on_top(), {}});
  Beside& most = beside_.back().what;
  most.done = std::max(most.done, bytes.done);
  most.recorded = std::max(most.recorded, bytes.recorded);
  most.swept = std::max(most.swept, bytes.swept);
}

void Operations::add_taken(std::uint32_t node) { taken_.push_back({on_top(), node}); }

void Operations::wish(Notes<Wish>& notes, std::uint32_t node, std::uint8_t level) {
  notes.push_back({on_top(), {node, level}});
  std::uint8_t& from = maker(node)->again_from;
  if (from == 0 || from > level) from = level;
}

void Operations::add_wanted(std::uint32_t node, std::uint8_t level) { wish(wanted_, node, level); }

void Operations::add_wanted_again(std::uint32_t node, std::uint8_t level) { wish(wanted_again_, node, level); }

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

// What the sweep of a tape that is lean at one level has computed again, until it has passed the operation that it is a result
// of, or nobody wants it any more.
class Operations::Again {
public:
  Again(const Operations& operations, std::uint8_t level)
      : operations_(operations), level_(level), there_(operations.size(), false, operations.heap_) {}

  // For operation number `now`.
  void compute(const Wish& wish, std::size_t now) {
    if (wish.level > level_) return;
    const std::uint32_t maker = operations_.makers_[wish.node] - 1;
    if (there_[maker]) return;
    operations_.each_of(operations_.wanted_again_, maker, [&](const Wish& of_maker) {
      compute(of_maker, now); // not deeper than tape::kDeepest
    });
    there_[maker] = true;
    bytes_ += operations_[maker].again_bytes;
    most_ = std::max(most_, bytes_);
    operations_.each_of(operations_.wanted_again_, maker, [&](const Wish& of_maker) {
      const std::uint32_t made_by = operations_.makers_[of_maker.node] - 1;
      if (!there_[made_by] || is_wanted(of_maker.node, made_by, now)) return;
      there_[made_by] = false;
      bytes_ -= operations_[made_by].again_bytes;
    });
  }
  void pass(std::size_t i) {
    if (there_[i]) bytes_ -= operations_[i].again_bytes;
    there_[i] = false;
  }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t take_most() { return std::exchange(most_, 0); } // at once since this was asked last

private:
  // At least whenever the sweep itself finds that it is (vm/machine/tensor_sweep.cpp).
  bool is_wanted(std::uint32_t node, std::size_t maker, std::size_t now) const {
    const Operation& o = operations_[maker];
    if (o.end - o.node != 1 || now - maker > static_cast<std::size_t>(tape::kLooksAhead)) return true;
    const Notes<Wish>& wanted = operations_.wanted_;
    auto wish = std::ranges::lower_bound(wanted, maker, {}, &Noted<Wish>::operation);
    for (; wish != wanted.end() && wish->operation <= now; ++wish)
      if (wish->what.node == node) return true;
    for (std::size_t i = maker + 1; i <= now; ++i) {
      if (there_[i] && !operations_[i].may_view) continue;
      if (std::ranges::find(operations_.operands(i), node, &Operand::node) != operations_.operands(i).end()) return true;
    }
    return false;
  }

  const Operations& operations_;
  const std::uint8_t level_;
  value::ChargedVector<bool> there_;
  std::uint64_t bytes_ = 0, most_ = 0;
};

std::uint64_t Operations::bytes_of(std::uint32_t node) const {
  const Operation& o = *maker(node);
  if (o.end - o.node == 1) return o.result_bytes;
  const auto found = std::ranges::lower_bound(several_, node, {}, &Result::node);
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
  for (const Operation& o : all_) kept_in_all += o.kept_new[0];
  for (const std::uint32_t node : staying) {
    staying_in_all += bytes_of(node);
    if (!is_kept(node)) staying_unkept += bytes_of(node);
  }
  struct Used { // for the last time by an operation; of these what no tape keeps, and what is kept for the first time by it
    std::uint64_t all = 0, unkept = 0, kept = 0;
  };
  value::ChargedVector<Used> used(all_.size(), Used{}, heap_);
  auto note = beside_.begin();
  auto stays = staying.begin();
  std::uint64_t alive = 0, alive_unkept = 0, kept = 0;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Operation& o = all_[i];
    kept += o.kept_new[0];
    each_result(o, [&](std::uint32_t node, std::uint64_t bytes, std::uint32_t kept_from) {
      while (stays != staying.end() && *stays < node) ++stays;
      const std::uint64_t dies = stays != staying.end() && *stays == node ? 0 : bytes;
      alive += bytes;
      used[o.last_use].all += dies;
      if (kept_from == i) return;
      alive_unkept += bytes;
      if (kept_from == tape::kNone)
        used[o.last_use].unkept += dies;
      else
        used[kept_from].kept += bytes;
    });
    alive_unkept -= used[i].kept;
    std::uint64_t taken = 0, taken_unkept = 0; // of what becomes the memory of the result
    if (o.overwritten != tape::kNone && maker(o.overwritten)->last_use == i &&
        !std::ranges::binary_search(staying, o.overwritten)) {
      taken = bytes_of(o.overwritten);
      if (!is_kept(o.overwritten)) taken_unkept = taken;
    }
    const Beside beside = note != beside_.end() && note->operation == i ? (note++)->what : Beside{};
    const std::uint64_t on_tape = kept + alive_unkept - taken_unkept + std::max(beside.done, beside.recorded);
    weights.advancing = std::max(weights.advancing, beyond(alive - taken + beside.done, staying_in_all));
    weights.taping = std::max(weights.taping, beyond(on_tape, kept_in_all + staying_unkept));
    alive -= used[i].all;
    alive_unkept -= used[i].unkept;
  }
}

// Backwards: a cotangent is there from the last operation that reads what it is of to the one that made that.
std::vector<Together> Operations::follow(const Nodes& ends, bool lean, schedule::Weights& weights) const {
  follow_forwards(ends, weights);
  CotangentMemory cotangents(heap_, nodes());
  for (const Node& end : ends) cotangents.begin(end);
  // Where nothing is computed again, as on most tapes of small tensors, and all forms keep as much, they are swept alike.
  const std::size_t forms = lean || (alike_ && wanted_.empty()) ? 1 : schedule::kTapeForms;
  const std::size_t first = lean ? 0 : 1;                 // the first form in which something is computed again
  std::array<std::uint64_t, schedule::kTapeForms> let_go; // of these, and of what is counted elsewhere or on the tape
  let_go.fill(cotangents.held());
  std::array<std::uint64_t, schedule::kTapeForms> if_parts = {};
  std::vector<Again> again;
  for (std::size_t form = first; form < forms; ++form) again.emplace_back(*this, static_cast<std::uint8_t>(form + 1 - first));
  Backwards<Beside> beside_of(beside_);
  Backwards<std::uint32_t> taken_by(taken_);
  Backwards<Wish> wanted_by(wanted_);
  const auto note = [&](std::size_t form, const CotangentMemory::Most& most, std::uint64_t beside) {
    std::uint64_t& sweeping = weights.forms[form].sweeping;
    sweeping = std::max(sweeping, beyond(most.bytes + beside, let_go[form]));
    if_parts[form] = std::max(if_parts[form], beyond(most.if_parts + beside, let_go[form]));
  };
  for (std::size_t i = all_.size(); i-- > 0;) {
    const Operation& o = all_[i];
    std::uint64_t beside = 0;
    beside_of.each(i, [&](const Beside& held) { beside += held.swept; });
    // What is computed again for it is there before its rule makes anything, and then as much of that as is left.
    wanted_by.each(i, [&](const Wish& wish) {
      for (Again& of_level : again) of_level.compute(wish, i);
    });
    const CotangentMemory::Most before = cotangents.now(), there = cotangents.sweep(o, operands(i));
    if (!lean) note(0, there, beside);
    for (std::size_t form = first; form < forms; ++form) {
      Again& of_level = again[form - first];
      note(form, before, beside + of_level.take_most());
      note(form, there, beside + of_level.bytes());
    }
    for (std::size_t form = 0; form < forms; ++form) let_go[form] += o.kept_new[form];
    for (Again& of_level : again) of_level.pass(i);
    taken_by.each(i, [&](std::uint32_t node) { cotangents.drop(node); });
  }
  for (std::size_t form = 0; form < schedule::kTapeForms; ++form) {
    const std::size_t like = std::min(form, forms - 1);
    weights.forms[form].sweeping = weights.forms[like].sweeping;
    weights.forms[form].more_if_parts = if_parts[like] - weights.forms[like].sweeping;
  }
  return cotangents.together();
}

} // namespace cairn::runs
