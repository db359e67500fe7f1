// Walks over all objects that a state reaches, and what each of them counts as.
#pragma once

#include "ops/device.h"
#include "ops/tensor.h"
#include "vm/runs/graph.h"
#include "vm/runs/met.h"
#include "vm/value/charged.h"
#include "vm/value/children.h"

namespace cairn::runs {

// A walk over objects, each once, which can be stopped.
class Walk {
public:
  explicit Walk(machine::Engine& engine) : polls_(engine.meter()), pending_(engine.heap()), met_(engine.heap()) {}

  template <class Enters> void push(value::Object* o, Enters&& enters) {
    if (enters(o) && (met_once(o) || met_.insert(o))) pending_.push_back(o);
  }
  // Calls seen(o) for what was pushed and for what can be reached through objects for which enters(o) holds; the frames that wait
  // behind a frame are reached if waits(frame) holds.
  template <class Enters, class Waits, class Seen> void drain(Enters&& enters, Waits&& waits, Seen&& seen) {
    while (!pending_.empty()) {
      value::Object* o = pending_.back();
      pending_.pop_back();
      seen(o);
      value::for_each_child(o, [&](value::Value& v, std::uint32_t) {
        polls_.one();
        if (v.is_object()) push(value::object_of(v), enters);
      });
      if (o->kind == value::Kind::frame)
        if (auto* f = static_cast<value::Frame*>(o); f->parent != nullptr && waits(f)) push(f->parent, enters);
    }
  }

private:
  Polls polls_;
  value::ChargedStack<value::Object*> pending_;
  Met met_;
};

inline std::uint64_t bytes_of(const value::Object* o) {
  std::uint64_t bytes = o->size_class == value::kLarge ? 1024 : std::uint64_t{o->size_class} * 16;
  if (o->kind == value::Kind::vector && o->size_class == value::kLarge) bytes += 8 * static_cast<const value::Vector*>(o)->length;
  return bytes;
}

// With what stands beside its elements, as much on every device: a program takes the same steps on each.
inline std::uint64_t bytes_of(const ops::Storage* s) { return static_cast<std::uint64_t>(s->bytes + ops::kBesideElements); }

// The elements of what is put aside are in the file, unless something else holds them, too: so they count where that is met.
inline bool is_in_file(const value::Object* o) {
  const auto* const t = static_cast<const value::TensorObject*>(o);
  return (o->flags & value::kAside) != 0 && t->tensor.storage->bytes >= ops::Device::kLeastAside;
}

inline const ops::Tensor* tensor_in(const value::Object* o) {
  return o->kind == value::Kind::tensor ? &static_cast<const value::TensorObject*>(o)->tensor : nullptr;
}

} // namespace cairn::runs
