// What a heap object holds in slots of its own. Every kind stands here, so that a new one cannot be forgotten.
#pragma once

#include "vm/value/object.h"

namespace cairn::value {

// Calls visit(child, slot) for each value slot: of a frame the live ones, without its parent; of capsules, states and tensors,
// which hold more than values, none.
template <class F> void for_each_child(Object* o, F&& visit) {
  switch (o->kind) {
  case Kind::pair:
    visit(static_cast<Pair*>(o)->car, 0u);
    visit(static_cast<Pair*>(o)->cdr, 1u);
    break;
  case Kind::vector: {
    auto* v = static_cast<Vector*>(o);
    for (std::uint64_t i = 0; i < v->length; ++i) visit(v->items()[i], static_cast<std::uint32_t>(i));
    break;
  }
  case Kind::closure_block: {
    auto* b = static_cast<ClosureBlock*>(o);
    for (std::uint32_t i = 0; i < b->captures; ++i) visit(b->captured()[i], i);
    break;
  }
  case Kind::bundle:
    visit(static_cast<Bundle*>(o)->primal, 0u);
    visit(static_cast<Bundle*>(o)->tangent, 1u);
    break;
  case Kind::frame: {
    auto* f = static_cast<Frame*>(o);
    for_each_live(f, [&](std::uint32_t slot) { visit(f->slots()[slot], slot); });
    break;
  }
  case Kind::string:
  case Kind::symbol:
  case Kind::capsule:
  case Kind::state:
  case Kind::tensor:
    break;
  }
}

} // namespace cairn::value
