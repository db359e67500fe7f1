// What derivative operators enter when they walk through values.
#pragma once

#include "vm/machine/engine.h"
#include "vm/value/children.h"

namespace cairn::runs {

using value::for_each_child;
using value::Value;

inline bool is_leaf(Value v) { return machine::Engine::is_leaf(v); }

// Stands for zeros of whatever shape.
inline bool is_exact_zero(Value v) { return v.is_integer() && v.integer() == 0; }

// Has slots of its own that may lead to numbers.
inline bool is_container(Value v) {
  return v.is_pair() || (v.is_procedure() && value::closure_block_of(v.procedure())->captures != 0) || value::is_vector(v) ||
         value::is_capsule(v);
}

} // namespace cairn::runs
