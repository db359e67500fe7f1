// Walks over a value and what belongs to it side by side (graph.h).
#include "vm/machine/errors.h"
#include "vm/machine/recorded.h"
#include "vm/runs/children.h"
#include "vm/runs/graph.h"
#include "vm/runs/met.h"
#include "vm/runs/shells.h"
#include "vm/value/charged.h"
#include "vm/value/owned.h"

#include <fmt/format.h>

namespace cairn::runs {

using machine::ProgramError;
using value::ClosureBlock;
using value::Kind;
using value::Owned;

namespace {

[[noreturn]] void wrong_shape(Engine& engine, const char* what, Value t, Value v) {
  const bool tensor_for_number = value::is_tensor(engine.primal(t)) && engine.is_number(v);
  throw ProgramError(fmt::format("{} {} does not have the shape of {}{}", what, engine.describe(t), engine.describe(v),
                                 tensor_for_number
                                     ? "; that of a number is a number: (tensor->number t), or (sumall t) of several"
                                     : machine::hint_of_cotangent(what, t)));
}

// Symbols, strings, characters and booleans stand for themselves: another one in the place of one means that the parts do not
// belong together, such as dictionaries of other keys.
void check_constant(Engine& engine, const char* what, Value v, Value t) {
  const auto text = [](Value of) { return value::as_text(of)->view(); };
  const bool same = v == t || (value::is_string(v) && value::is_string(t) && text(v) == text(t)) || value::is_capsule(v);
  if (same) return;
  throw ProgramError(
      fmt::format("{} has {} in the place of {}, which stands for itself", what, engine.describe(t), engine.describe(v)));
}

const Value kZero = value::integer_unchecked(0);

// A slot of v and its part of t, and those of the same containers behind them.
struct PairedSlot {
  const Value* v;
  const Value* t;
  Object* owner;
  Object* part_owner; // its slot has the same number; null: exact zeros are the parts
  Value* to;          // null for what only looks
  std::uint32_t slot;
  std::uint64_t more;
  PairedLeaf leaf() const { return {*v, *t, owner, slot, part_owner, slot}; }
};

// Takes the next one.
PairedSlot next_of(value::ChargedStack<PairedSlot>& pending) {
  PairedSlot& last = pending.back();
  const PairedSlot s = last;
  if (s.more == 0) {
    pending.pop_back();
    return s;
  }
  ++last.v, ++last.slot, --last.more;
  if (s.part_owner != nullptr) ++last.t;
  if (s.to != nullptr) ++last.to;
  return s;
}

// The slots of containers v and t side by side, the first comes first; a zero t stands for zeros.
void put_children(Engine& engine, value::ChargedStack<PairedSlot>& pending, Value v, Value t, const char* what,
                  Value* to = nullptr) {
  Object* o = value::object_of(v);
  if (machine::tensors::is_recorded(v)) machine::tensors::refuse_recorded(engine, "a derivative");
  bool zero = is_exact_zero(t);
  bool alike = zero || (t.is_object() && t.tag() == v.tag() && value::object_of(t)->kind == o->kind);
  if (alike && !zero && o->kind == Kind::vector) alike = value::as_vector(v)->length == value::as_vector(t)->length;
  if (alike && !zero && o->kind == Kind::closure_block) {
    ClosureBlock* other = value::closure_block_of(t.procedure());
    alike = other->captures == static_cast<ClosureBlock*>(o)->captures && v.procedure()->code == t.procedure()->code;
  }
  if (!alike) wrong_shape(engine, what, t, v);
  const value::Slots slots = value::slots_of(o);
  if (slots.count == 0) return;
  if (zero)
    pending.push_back({slots.first, &kZero, o, nullptr, to, 0, slots.count - 1});
  else
    pending.push_back({slots.first, value::slots_of(value::object_of(t)).first, o, value::object_of(t), to, 0, slots.count - 1});
}

void check_leaf(Engine& engine, const char* what, Value v, Value t) {
  if (is_leaf(v)) {
    // A number for a tensor may still do, if that has one element; whoever takes it says so.
    bool fits = is_leaf(t) && (machine::tensors::is_tensor_like(v) || !machine::tensors::is_tensor_like(t));
    if (!fits) wrong_shape(engine, what, t, v);
    return;
  }
  if (is_exact_zero(t)) return;
  if (t.tag() != v.tag() || (v == value::kNull) != (t == value::kNull)) wrong_shape(engine, what, t, v);
  check_constant(engine, what, v, t);
}

} // namespace

void walk_pair(Engine& engine, Value v, Value t, const char* what, bool once,
               const std::function<void(const PairedLeaf&)>& leaf) {
  value::ChargedStack<PairedSlot> pending(engine.heap());
  pending.push_back({&v, &t, nullptr, nullptr, nullptr, 0, 0});
  Met seen(engine.heap());
  Visits visits;
  const char* const name = what != nullptr ? what : "a cotangent";
  while (!pending.empty()) {
    const PairedSlot s = next_of(pending);
    const Value number = *s.v, part = *s.t;
    visits.one();
    if (is_exact_zero(part)) continue;
    if (!is_container(number) || value::is_capsule(number)) {
      // An exact 0 may be the tangent of a constant tensor: a leaf without a derivative, whose cotangent may be of that shape.
      if (is_exact_zero(number) && (what == nullptr || is_leaf(part))) continue;
      // A number that was the cotangent of a tensor of one element has such a tensor itself.
      const bool of_number = what == nullptr && engine.is_number(number) && value::is_tensor(engine.primal(part)) &&
                             value::tensor_of(engine.primal(part)).elements() == 1;
      if (!of_number) check_leaf(engine, name, number, part);
      if (is_leaf(number)) leaf(s.leaf());
      continue;
    }
    if (once && !met_once(value::object_of(number)) && !seen.insert(value::object_of(number))) continue;
    put_children(engine, pending, number, part, name);
  }
  visits.finish();
}

void walk_beside(Engine& engine, Value v, Value t, const char* what, const std::function<void(const PairedLeaf&)>& leaf) {
  value::ChargedStack<PairedSlot> pending(engine.heap());
  pending.push_back({&v, &t, nullptr, nullptr, nullptr, 0, 0});
  Visits visits;
  while (!pending.empty()) {
    const PairedSlot s = next_of(pending);
    visits.one();
    if (is_leaf(*s.v))
      leaf(s.leaf());
    else if (!is_container(*s.v))
      check_leaf(engine, what, *s.v, *s.t);
    if (value::is_capsule(*s.v)) throw machine::ProgramError(std::string(what) + ": there is none of what a capsule holds");
    if (is_container(*s.v)) put_children(engine, pending, *s.v, *s.t, what);
  }
  visits.finish();
}

Value copy_paired(Engine& engine, Value v, Value t, const char* what, const std::function<Value(const PairedLeaf&)>& leaf) {
  Heap& heap = engine.heap();
  Owned root(heap, value::kUnspecified);
  value::ChargedStack<PairedSlot> pending(heap);
  pending.push_back({&v, &t, nullptr, nullptr, &root.v, 0, 0});
  Visits visits;
  while (!pending.empty()) {
    const PairedSlot s = next_of(pending);
    const Value number = *s.v, part = *s.t;
    visits.one();
    if (!is_container(number) || value::is_capsule(number)) {
      check_leaf(engine, what, number, part);
      *s.to = is_leaf(number) ? leaf(s.leaf()) : Heap::retain(number);
      continue;
    }
    Object* const made = empty_like(heap, value::object_of(number));
    *s.to = reference_like(number, made);
    put_children(engine, pending, number, part, what, value::slots_of(made).first);
  }
  visits.finish();
  return root.take();
}

} // namespace cairn::runs
