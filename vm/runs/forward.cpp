// j*: numbers become bundles of a fresh tag, and come apart again at the end; and j* over a reverse operator
// (docs/design.md 5.5).
#include "vm/machine/derivative_rules.h"
#include "vm/runs/children.h"
#include "vm/runs/states.h"

#include <algorithm>

namespace cairn::runs {

using machine::rules::Owned;
using value::Bundle;
using value::Object;

namespace {

// What a slot holds, as a second place for it (owned).
Value read(Engine& engine, Object* owner, std::uint32_t slot, Value v) {
  Tape* tape = engine.current().tape;
  return owner != nullptr ? engine.read_field(tape, owner, slot, v) : engine.duplicate(tape, v);
}

// Primal or tangent of v with respect to one tag; bundles of larger tags are taken apart and put together again (owned).
Value part_of(Engine& engine, Value v, std::uint64_t tag, bool tangent) {
  if (!value::is_bundle(v)) {
    if (tangent) return value::integer_unchecked(0);
    return Heap::retain(v);
  }
  Bundle* b = value::as_bundle(v);
  if (b->tag == tag) return read(engine, b, tangent ? 1 : 0, tangent ? b->tangent : b->primal);
  if (b->tag < tag) return tangent ? value::integer_unchecked(0) : Heap::retain(v);
  Owned p(engine.heap(), part_of(engine, b->primal, tag, tangent));
  Owned t(engine.heap(), part_of(engine, b->tangent, tag, tangent));
  if (is_exact_zero(p.v) && is_exact_zero(t.v)) return value::integer_unchecked(0);
  // What is missing of a tensor is a tensor.
  auto number = [&](Owned& o, const Owned& other) {
    if (!is_exact_zero(o.v)) return o.take();
    return machine::tensors::is_tensor_like(other.v) ? machine::tensors::zeros_like(engine, other.v) : value::flonum(0.0);
  };
  Owned pv(engine.heap(), number(p, t));
  Value tv = number(t, pv);
  return engine.heap().make_bundle(b->tag, pv.take(), tv);
}

} // namespace

Value bundle(Engine& engine, Value x, Value tangent, std::uint64_t tag, bool keep_integers, const char* what) {
  return copy_paired(engine, x, tangent, what, [&](const PairedLeaf& leaf) -> Value {
    if (is_exact_zero(leaf.part)) {
      if (leaf.number.is_integer() && !keep_integers) return value::flonum(static_cast<double>(leaf.number.integer()));
      return read(engine, leaf.owner, leaf.slot, leaf.number);
    }
    Owned p(engine.heap(), leaf.number.is_integer() ? value::flonum(static_cast<double>(leaf.number.integer()))
                                                    : read(engine, leaf.owner, leaf.slot, leaf.number));
    if (machine::tensors::is_tensor_like(leaf.number)) {
      Owned fit(engine.heap(), machine::tensors::fitted(engine, leaf.part, leaf.number, what));
      Value primal = p.take(), tangent = fit.take();
      return engine.heap().make_bundle(tag, primal, tangent);
    }
    Owned t(engine.heap(), leaf.part.is_integer() ? value::flonum(static_cast<double>(leaf.part.integer()))
                                                  : read(engine, leaf.part_owner, leaf.part_slot, leaf.part));
    Value pv = p.take(), tv = t.take();
    return engine.heap().make_bundle(tag, pv, tv);
  });
}

Value unbundle(Engine& engine, Value v, std::uint64_t tag) {
  auto part = [&](bool tangent) {
    return copy_value(engine, v, Sharing::graph, [&](Value number, Object* owner, std::uint32_t slot) -> Value {
      if (value::is_bundle(number)) return part_of(engine, number, tag, tangent);
      return tangent ? value::integer_unchecked(0) : read(engine, owner, slot, number);
    });
  };
  Owned primal(engine.heap(), part(false)), tangent(engine.heap(), part(true));
  Value p = primal.take(), t = tangent.take();
  return engine.heap().cons(p, t);
}

namespace {

// The largest tag of a bundle in any of the values; 0: none.
std::uint64_t largest_tag(Engine& engine, std::initializer_list<Value> values) {
  std::uint64_t tag = 0;
  for (Value v : values)
    contains(engine.heap(), v, [&](Value number) {
      if (value::is_bundle(number)) tag = std::max(tag, value::as_bundle(number)->tag);
      return false;
    });
  return tag;
}

// zeros: tangents that are missing become 0.0, so that they have cotangents.
Value split(Engine& engine, Value v, std::uint64_t tag, bool tangent, bool zeros) {
  return copy_value(engine, v, Sharing::graph, [&](Value number, Object* owner, std::uint32_t slot) -> Value {
    Value part = value::integer_unchecked(0);
    if (value::is_bundle(number))
      part = part_of(engine, number, tag, tangent);
    else if (!tangent)
      part = read(engine, owner, slot, number);
    if (!tangent || !zeros || !is_exact_zero(part)) return part;
    return machine::tensors::is_tensor_like(number) ? machine::tensors::zeros_like(engine, number) : value::flonum(0.0);
  });
}

} // namespace

std::uint64_t outermost_tag(Engine& engine, Value v) {
  return engine.current().forward_depth == 0 ? 0 : largest_tag(engine, {v});
}

Value duals(Engine& engine, Value v, std::uint64_t tag) {
  Owned primal(engine.heap(), split(engine, v, tag, false, false)), tangent(engine.heap(), split(engine, v, tag, true, true));
  const Value p = primal.take(), t = tangent.take();
  return engine.heap().cons(p, t);
}

// With G = (lambda ((cons x x')) (j* apply (f . x) (f' . x'))), the operator on G at (x . x') with the cotangent (y`' . y`) gives
// the value (y . y') and the cotangents of x and of x': the tangent and the primal of x`.
bool forward_over_reverse(Engine& engine, value::Frame* frame, bool checkpoint, Value f, Value x, Value cotangent) {
  if (engine.current().forward_depth == 0) return false;
  std::uint64_t tag = largest_tag(engine, {f, x, cotangent});
  if (tag == 0) return false;
  Heap& heap = engine.heap();
  value::ClosureBlock* block = heap.make_closure_block(1, 2);
  block->procedure(0)->code = &helper_code(HelperCode::dual_apply);
  block->captured()[0] = block->captured()[1] = value::kUnspecified;
  Owned g(heap, value::of_procedure(block->procedure(0)));
  block->captured()[0] = split(engine, f, tag, false, false);
  block->captured()[1] = split(engine, f, tag, true, false);
  Owned xp(heap, split(engine, x, tag, false, false)), xt(heap, split(engine, x, tag, true, true));
  Owned cp(heap, split(engine, cotangent, tag, false, false)), ct(heap, split(engine, cotangent, tag, true, false));
  value::Held<value::Frame> next(
      heap, heap.make_frame(&helper_code(checkpoint ? HelperCode::dual_checkpoint : HelperCode::dual_reverse)));
  std::fill_n(next->slots(), 4, value::kUnspecified);
  next->slots()[0] = g.take();
  Value a = xp.take(), b = xt.take();
  next->slots()[1] = heap.cons(a, b);
  a = ct.take(), b = cp.take();
  next->slots()[2] = heap.cons(a, b);
  next->slots()[3] = value::integer_unchecked(static_cast<std::int64_t>(tag));
  next->parent = frame->parent;
  heap.discard(frame);
  engine.current().top = next.take();
  return true;
}

namespace {

Value zip(Engine& engine, Value primal, Value tangent, std::uint64_t tag) {
  return copy_paired(engine, primal, tangent, "j*: a tangent", [&](const PairedLeaf& leaf) -> Value {
    if (is_exact_zero(leaf.part)) return read(engine, leaf.owner, leaf.slot, leaf.number);
    Owned p(engine.heap(), value::flonum(0.0));
    if (!is_exact_zero(leaf.number))
      p.v = read(engine, leaf.owner, leaf.slot, leaf.number);
    else if (machine::tensors::is_tensor_like(leaf.part))
      p.v = machine::tensors::zeros_like(engine, leaf.part);
    Value t = read(engine, leaf.part_owner, leaf.part_slot, leaf.part);
    return engine.heap().make_bundle(tag, p.take(), t);
  });
}

} // namespace

Value rebundle(Engine& engine, Value result, std::uint64_t tag) {
  if (!result.is_pair() || !result.pair()->car.is_pair() || !result.pair()->cdr.is_pair())
    throw machine::ProgramError("invalid bytecode: no result of forward mode over a reverse operator");
  value::Pair* y = result.pair()->car.pair();
  value::Pair* x = result.pair()->cdr.pair();
  Heap& heap = engine.heap();
  Owned yp(heap, read(engine, y, 0, y->car)), yt(heap, read(engine, y, 1, y->cdr));
  Owned xp(heap, read(engine, x, 1, x->cdr)), xt(heap, read(engine, x, 0, x->car));
  Owned value(heap, zip(engine, yp.v, yt.v, tag));
  Owned cotangent(heap, zip(engine, xp.v, xt.v, tag));
  Value v = value.take(), c = cotangent.take();
  return engine.heap().cons(v, c);
}

} // namespace cairn::runs
