// The operations of tensors on one tape, and what is held for a while as they are done and swept one by one.
#pragma once

#include "vm/schedule/schedule.h"
#include "vm/tape/tape.h"
#include "vm/value/charged.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cairn::runs {

// A tensor on the tape, and its bytes.
struct Node {
  std::uint32_t node = 0;
  std::uint64_t bytes = 0;
};
using Nodes = value::ChargedVector<Node>;

struct Operand {
  std::uint32_t node = tape::kNone; // tape::kNone: a number, whose cotangent is none of tensors
  bool of_call = false;             // of a procedure with a rule of its own; these are in front
  std::uint64_t bytes = 0;
};

// Cotangents at the start of a tape that lie in memory with others, and the bytes of all that memory.
struct Together {
  std::uint64_t bytes = 0;
  std::vector<Node> nodes;
};

struct Operation {
  Operation(std::uint32_t begin, std::uint32_t behind, std::uint32_t number, std::uint32_t operands)
      : node(begin), end(behind), last_use(number), operands_end(operands) {}

  std::uint32_t node = 0, end = 0;         // of its results
  std::uint32_t last_use = 0;              // the last operation that reads a result,
  std::uint32_t kept_from = tape::kNone;   // and the first one whose record keeps it, if one does and it is the only result
  std::uint32_t operands_end = 0;          // where its part of the list of operands ends; it begins where that before it does
  std::uint32_t view_of = tape::kNone;     // the node whose memory its result shows, if one of these has made that,
  std::uint32_t overwritten = tape::kNone; // and the one that may become the memory of its first result
  ops::VjpMemory cotangents = ops::VjpMemory::own; // of operands: where the reverse rule makes them,
  bool turns = false;                              // views among them have axes in another order, or gaps,
  bool may_copy = false;                           // and of such a cotangent there is no view
  bool is_view = false;                            // its result has no memory of its own
  bool may_view = false;                           // or it may have none, as far as its operator tells
  bool gives_memory = false;                       // that of its first result may become a later one's
  std::uint8_t again_from = 0;    // the level from which on the sweep of a lean tape computes its results again; 0: it does not
  std::uint64_t result_bytes = 0; // of all results; a view has none
  std::uint64_t cost = 0;
  // Bytes that the tape keeps from here on in each form, of elements that were made in the interval; the sweep gives them up once
  // it has passed this operation.
  std::array<std::uint64_t, schedule::kTapeForms> kept_new = {};
  std::uint64_t again_bytes = 0; // of results that a lean tape does not keep but can compute again
};

// In the order of the tape. Their lists lie behind each other: a tape has tens of thousands of small operations.
class Operations {
  struct Result { // of an operation that has several
    std::uint32_t node = 0;
    std::uint32_t kept_from = tape::kNone; // as in Operation
    std::uint64_t bytes = 0;
  };
  // Of that node, which one of these has made.
  template <class Self> static auto& kept_from(Self& self, std::uint32_t node) {
    auto& o = *self.maker(node);
    return o.end - o.node == 1 ? o.kept_from : std::ranges::lower_bound(self.several_, node, {}, &Result::node)->kept_from;
  }

public:
  // Of a tape with so many nodes, of which so many are made.
  Operations(value::Heap& heap, std::uint32_t nodes, std::size_t number);

  // One more, behind the others, of these nodes. What is told of operands and wishes is then of this one.
  Operation& add(std::uint32_t node, std::uint32_t end) {
    const auto number = static_cast<std::uint32_t>(all_.size());
    for (std::uint32_t made = node; made < end; ++made) makers_[made] = number + 1;
    return all_.emplace_back(node, end, number, static_cast<std::uint32_t>(operands_.size()));
  }
  void add_operand(const Operand& operand) {
    operands_.push_back(operand);
    ++last().operands_end;
  }
  // Its next result, of so many bytes.
  void add_result(std::uint32_t node, std::uint64_t bytes) {
    Operation& o = last();
    o.result_bytes += bytes;
    if (o.end - o.node > 1) several_.push_back({node, tape::kNone, bytes});
  }
  // The operation on top reads that node, and the tape keeps it for that. With it, what it is a view of.
  void use(std::uint32_t node, bool kept) {
    const std::uint32_t now = on_top();
    for (Operation* o = maker(node); o != nullptr; o = node != tape::kNone ? maker(node) : nullptr) {
      o->last_use = now;
      if (kept) keep_result(node);
      node = o->view_of;
    }
  }
  // The record of the operation on top keeps that result, of its own or an earlier one.
  void keep_result(std::uint32_t node) {
    std::uint32_t& from = kept_from(*this, node);
    if (from == tape::kNone) from = on_top();
  }
  bool is_kept(std::uint32_t node) const { return kept_from(*this, node) != tape::kNone; }
  // Whether another one, or a view of what it made, reads what it made.
  bool is_used(const Operation& o) const { return &all_[o.last_use] != &o; }
  // From the operation on top on the tape keeps so many bytes, in the forms [from, to).
  void keep(std::size_t from, std::size_t to, std::uint64_t bytes) {
    alike_ = alike_ && from == 0 && to == schedule::kTapeForms;
    for (std::size_t form = from; form < to; ++form) last().kept_new[form] += bytes;
  }
  // So many bytes are held for the time of the operation on top alone: when it is done, with a tape or without, when a tape
  // records what was done, and when it is swept.
  struct Beside {
    std::uint64_t done = 0, recorded = 0, swept = 0;
  };
  void hold_beside(const Beside& bytes);
  // An update rule takes the cotangent of that node once the sweep has passed this operation.
  void add_taken(std::uint32_t node);
  // A result that the sweep of this operation, of a tape that is lean at that level at least, wants to have computed again; or
  // that computing its results again wants.
  void add_wanted(std::uint32_t node, std::uint8_t level);
  void add_wanted_again(std::uint32_t node, std::uint8_t level);

  std::size_t size() const { return all_.size(); }
  bool again() const { return !wanted_.empty() || !wanted_again_.empty(); } // whether any is wanted again
  Operation& operator[](std::size_t i) { return all_[i]; }
  const Operation& operator[](std::size_t i) const { return all_[i]; }
  Operation& last() { return all_.back(); }
  // The operation that made that node; null: none of these.
  Operation* maker(std::uint32_t node) { return makers_[node] != 0 ? &all_[makers_[node] - 1] : nullptr; }
  const Operation* maker(std::uint32_t node) const { return makers_[node] != 0 ? &all_[makers_[node] - 1] : nullptr; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(makers_.size()); }
  std::span<const Operand> operands(std::size_t i) const {
    const std::uint32_t begin = i == 0 ? 0 : all_[i - 1].operands_end;
    return {operands_.data() + begin, all_[i].operands_end - begin};
  }

  // Sets what is held for a while: `advancing`, `taping` and `sweeping` of each form. The state at the end of the tape has the
  // nodes `ends`; that state, its cotangents and what the tape keeps are counted elsewhere. Returns what cotangents there are
  // at the start that lie in memory with others. `lean`: the tape does without results from the start, so all its forms are one.
  std::vector<Together> follow(const Nodes& ends, bool lean, schedule::Weights& weights) const;

private:
  // Calls f with the node of each of its results, its bytes, and from which operation on a tape keeps it.
  template <class F> void each_result(const Operation& o, F&& f) const {
    if (o.end - o.node == 1) {
      f(o.node, o.result_bytes, o.kept_from);
      return;
    }
    for (auto r = std::ranges::lower_bound(several_, o.node, {}, &Result::node); r != several_.end() && r->node < o.end; ++r)
      f(r->node, r->bytes, r->kept_from);
  }
  class Again;
  // What few operations have, in their order.
  template <class T> struct Noted {
    std::uint32_t operation = 0;
    T what{};
  };
  template <class T> using Notes = value::ChargedVector<Noted<T>>;
  struct Wish {
    std::uint32_t node = 0;
    std::uint8_t level = 0;
  };
  // Goes over notes from the last operation to the first.
  template <class T> class Backwards;
  std::uint32_t on_top() const { return static_cast<std::uint32_t>(all_.size()) - 1; }
  // Calls f for each note of that operation.
  template <class T, class F> static void each_of(const Notes<T>& notes, std::size_t operation, F&& f) {
    auto note = std::ranges::lower_bound(notes, operation, {}, &Noted<T>::operation);
    for (; note != notes.end() && note->operation == operation; ++note) f(note->what);
  }
  void wish(Notes<Wish>& notes, std::uint32_t node, std::uint8_t level);
  std::uint64_t bytes_of(std::uint32_t node) const; // of a result that is no view
  void follow_forwards(const Nodes& ends, schedule::Weights& weights) const;

  value::Heap& heap_;
  value::ChargedVector<Operation> all_;
  value::ChargedVector<std::uint32_t> makers_; // by node: the number of the operation, from 1 on
  value::ChargedVector<Operand> operands_;
  value::ChargedVector<Result> several_; // of operations that have more than one
  Notes<Beside> beside_;                 // at most one of an operation
  Notes<std::uint32_t> taken_;
  Notes<Wish> wanted_, wanted_again_;
  bool alike_ = true; // the tape keeps as much in each form
};

} // namespace cairn::runs
