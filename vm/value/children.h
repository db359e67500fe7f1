// What a heap object holds in slots of its own. Every kind stands here, so that a new one cannot be forgotten.
#pragma once

#include "vm/value/object.h"

namespace cairn::value {

// Value slots that lie behind each other.
struct Slots {
  Value* first;
  std::uint64_t count;
};
static_assert(sizeof(Pair) == sizeof(Object) + 2 * sizeof(Value));
static_assert(sizeof(Bundle) == sizeof(Object) + sizeof(Bundle::tag) + 2 * sizeof(Value));

// All of an object; none of a frame, not all of whose slots are live, nor of capsules, states and tensors, which hold more than
// values.
inline Slots slots_of(Object* o) {
  switch (o->kind) {
  case Kind::pair:
    return {&static_cast<Pair*>(o)->car, 2};
  case Kind::vector:
    return {static_cast<Vector*>(o)->items(), static_cast<Vector*>(o)->length};
  case Kind::closure_block:
    return {static_cast<ClosureBlock*>(o)->captured(), static_cast<ClosureBlock*>(o)->captures};
  case Kind::bundle:
    return {&static_cast<Bundle*>(o)->primal, 2};
  case Kind::frame:
  case Kind::string:
  case Kind::symbol:
  case Kind::capsule:
  case Kind::state:
  case Kind::tensor:
    break;
  }
  return {nullptr, 0};
}

// Calls visit(child, slot) for each value slot: of a frame the live ones, without its parent; of others those of slots_of.
template <class F> void for_each_child(Object* o, F&& visit) {
  if (o->kind == Kind::frame) {
    auto* f = static_cast<Frame*>(o);
    for_each_live(f, [&](std::uint32_t slot) { visit(f->slots()[slot], slot); });
    return;
  }
  const Slots slots = slots_of(o);
  for (std::uint64_t i = 0; i < slots.count; ++i) visit(slots.first[i], static_cast<std::uint32_t>(i));
}

} // namespace cairn::value
