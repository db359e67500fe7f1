// Types that own references to the heap: their destructors release what was not taken out. Code that owns references while
// something may throw keeps them in one of these.
#pragma once

#include "vm/value/heap.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cairn::value {

// A value.
struct Owned {
  Heap& heap;
  Value v;
  Owned(Heap& h, Value x) : heap(h), v(x) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { heap.release(v); }
  Value take() { return std::exchange(v, kUnspecified); }
  // v = (car . v); takes car over.
  void push(Value car) {
    Value rest = take();
    v = heap.cons(car, rest);
  }
};

// An object that is not yet, or no longer, a value: a frame, a state. Every slot of it must have a value before anything can
// throw.
template <class T> class Held {
public:
  Held(Heap& heap, T* object) : heap_(&heap), object_(object) {}
  Held(Held&& other) noexcept : heap_(other.heap_), object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held&&) = delete;
  ~Held() {
    if (object_ != nullptr) heap_->release(object_);
  }
  T* operator->() const { return object_; }
  T*& slot() { return object_; }
  T* get() const { return object_; }
  T* take() { return std::exchange(object_, nullptr); }

private:
  Heap* heap_;
  T* object_;
};

// Values that go together.
struct OwnedValues {
  explicit OwnedValues(Heap& h) : heap(h) {}
  ~OwnedValues() {
    for (Value v : list) heap.release(v);
  }
  OwnedValues(const OwnedValues&) = delete;
  OwnedValues& operator=(const OwnedValues&) = delete;
  // Takes v over, also if there is no memory to store it.
  void add(Value v) {
    if (list.size() == list.capacity()) [[unlikely]]
      make_space(v);
    list.push_back(v);
  }
  Heap& heap;
  std::vector<Value> list;

private:
  void make_space(Value v) {
    Owned guard(heap, v);
    list.reserve(std::max<std::size_t>(4, 2 * list.size()));
    guard.take();
  }
};

} // namespace cairn::value
