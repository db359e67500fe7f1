// An object of C++ that holds a value and counts how many of its kind were destroyed.
#pragma once

#include "vm/value/heap.h"

namespace cairn::value {

struct Holder : Native {
  Value held;
  int* destroyed;
  Holder(Value v, int* counter) : held(v), destroyed(counter) {}
  ~Holder() override { ++*destroyed; }
  void release(Heap& heap) override { heap.release(held); }
};

} // namespace cairn::value
