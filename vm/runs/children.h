// What derivative operators enter when they walk through values.
#pragma once

#include "vm/machine/engine.h"

namespace cairn::runs {

using value::Value;

inline bool is_leaf(Value v) { return machine::Engine::is_leaf(v); }

// Has slots of its own that may lead to numbers.
inline bool is_container(Value v) {
  return v.is_pair() || (v.is_procedure() && value::block_of(v.procedure())->captures != 0) || value::is_vector(v) ||
         value::is_capsule(v);
}

// Calls visit(child, slot) for each value slot of a container.
template <class F> void for_each_child(value::Object* o, F&& visit) {
  switch (o->kind) {
  case value::Kind::pair:
    visit(static_cast<value::Pair*>(o)->car, 0u);
    visit(static_cast<value::Pair*>(o)->cdr, 1u);
    break;
  case value::Kind::vector: {
    auto* v = static_cast<value::Vector*>(o);
    for (std::uint64_t i = 0; i < v->length; ++i) visit(v->items()[i], static_cast<std::uint32_t>(i));
    break;
  }
  case value::Kind::block: {
    auto* b = static_cast<value::Block*>(o);
    for (std::uint32_t i = 0; i < b->captures; ++i) visit(b->captured()[i], i);
    break;
  }
  case value::Kind::frame: {
    auto* f = static_cast<value::Frame*>(o);
    value::for_each_live(f, [&](std::uint32_t slot) { visit(f->slots()[slot], slot); });
    break;
  }
  default: break;
  }
}

} // namespace cairn::runs
