// See shells.h.
#include "vm/runs/shells.h"

#include "vm/value/children.h"

#include <algorithm>

namespace cairn::runs {

using value::ClosureBlock;
using value::Kind;

namespace {

ClosureBlock* empty_block(Heap& heap, ClosureBlock* from) {
  ClosureBlock* b = heap.make_closure_block(from->procedures, from->captures);
  for (std::uint32_t i = 0; i < from->procedures; ++i) b->procedure(i)->code = from->procedure(i)->code;
  std::fill_n(b->captured(), from->captures, value::kUnspecified);
  return b;
}

// A vector of that length whose items hold nothing yet; making it can be stopped.
value::Vector* empty_vector(Heap& heap, std::uint64_t length) {
  constexpr std::uint64_t kAtOnce = 1 << 16;
  value::Vector* v = heap.make_vector(length);
  try {
    for (std::uint64_t i = 0; i < length; i += kAtOnce) {
      if (i != 0) ops::Meter::poll_current();
      std::fill_n(v->items() + i, std::min(kAtOnce, length - i), value::kUnspecified);
    }
  } catch (...) {
    heap.discard(v);
    throw;
  }
  return v;
}

} // namespace

Frame* empty_frame(Heap& heap, const Frame* from) {
  Frame* f = heap.make_frame(from->code);
  f->rest = from->rest;
  value::for_each_live(from, [&](std::uint32_t slot) { f->slots()[slot] = value::kUnspecified; });
  return f;
}

Object* empty_like(Heap& heap, Object* from) {
  switch (from->kind) {
  case Kind::pair:
    return heap.cons(value::kUnspecified, value::kUnspecified).pair();
  case Kind::vector:
    return empty_vector(heap, static_cast<value::Vector*>(from)->length);
  case Kind::closure_block:
    return empty_block(heap, static_cast<ClosureBlock*>(from));
  case Kind::bundle: {
    value::Bundle* b =
        value::as_bundle(heap.make_bundle(static_cast<value::Bundle*>(from)->tag, value::kUnspecified, value::kUnspecified));
    b->flags = from->flags;
    return b;
  }
  case Kind::frame:
    return empty_frame(heap, static_cast<Frame*>(from));
  case Kind::string:
  case Kind::symbol:
  case Kind::capsule:
  case Kind::state:
  case Kind::tensor:
    break;
  }
  Heap::retain(from);
  return from;
}

Value reference_like(Value v, Object* made) {
  if (v.is_pair()) return value::of_pair(static_cast<value::Pair*>(made));
  if (v.is_procedure())
    return value::of_procedure(reinterpret_cast<value::Procedure*>(reinterpret_cast<char*>(made) + v.procedure()->offset));
  return value::of_other(made);
}

} // namespace cairn::runs
