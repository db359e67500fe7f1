// Objects like others whose slots are still to be filled: how copies of values begin. Until then a slot holds something harmless.
#pragma once

#include "vm/machine/run.h"
#include "vm/value/owned.h"

#include <utility>

namespace cairn::runs {

using value::Frame;
using value::Heap;
using value::Held;
using value::Object;
using value::Value;

// A frame where `from` is, without parent.
Frame* empty_frame(Heap& heap, const Frame* from);
// An owned object of the kind of `from`, with as many slots (value::slots_of). One without slots is shared. Making a long one can
// be stopped.
Object* empty_like(Heap& heap, Object* from);
// The reference to `made` that v is to the object which that is like: to the same procedure of a closure block.
Value reference_like(Value v, Object* made);

// What a slot holds goes for something new (taken over).
template <class T> void replace(Heap& heap, T*& slot, T* made) { heap.release(std::exchange(slot, made)); }

// Frames under construction, each the parent of the one before.
class Chain {
public:
  explicit Chain(Heap& heap) : first_(heap, nullptr) {}
  Frame* add(Frame* f) {
    (last_ != nullptr ? last_->parent : first_.slot()) = f;
    return last_ = f;
  }
  // All of them, in front of `parent` (taken over).
  Frame* end(Frame* parent) {
    (last_ != nullptr ? last_->parent : first_.slot()) = parent;
    return first_.take();
  }

private:
  Held<Frame> first_;
  Frame* last_ = nullptr;
};

} // namespace cairn::runs
