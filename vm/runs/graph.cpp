// Copies of values, and what occurs in them. Every copy is made top-down with an explicit list of slots still to fill.
#include "vm/runs/graph.h"
#include "vm/machine/errors.h"
#include "vm/machine/recorded.h"
#include "vm/runs/children.h"
#include "vm/runs/met.h"
#include "vm/runs/shells.h"
#include "vm/value/charged.h"
#include "vm/value/owned.h"

namespace cairn::runs {

using machine::as_capsule;
using machine::Capsule;
using value::Kind;
using value::Owned;

namespace {

// Copies objects on demand and fills their slots through a list of pending ones.
class Copier {
public:
  Copier(Engine& engine, Sharing sharing, const Leaf& leaf, bool stops)
      : engine_(engine), heap_(engine.heap()), sharing_(sharing), leaf_(leaf), stops_(stops), pending_(heap_), copies_(heap_) {}

  Value run(Value v) {
    Value root = value::kUnspecified;
    pending_.push_back({&v, &root, nullptr, 0, false, 0});
    try {
      while (!pending_.empty()) {
        Slot& last = pending_.back();
        Slot s = last;
        if (s.more == 0) {
          pending_.pop_back();
        } else {
          ++last.from, ++last.to, ++last.slot, --last.more;
        }
        visits_.one();
        *s.to = fill(s);
      }
      visits_.finish();
    } catch (...) {
      heap_.release(root);
      throw;
    }
    return root;
  }

private:
  struct Slot {
    const Value* from;
    Value* to;
    Object* owner;
    std::uint32_t slot;
    bool keep;          // copies keep their serials
    std::uint64_t more; // slots behind it
  };

  Value fill(const Slot& s) {
    Value v = *s.from;
    if (is_leaf(v)) return leaf_(v, s.owner, s.slot);
    if (!is_container(v)) return Heap::retain(v);
    return reference_like(v, copy(value::object_of(v), s.keep));
  }

  // An owned copy of the object, or a reference to the copy made before.
  Object* copy(Object* o, bool keep) {
    // In a tree each path to an object has a copy of its own, but for frames.
    bool again = sharing_ == Sharing::tree ? o->kind == Kind::frame : !met_once(o);
    if (again) {
      if (Object* made = copies_[o]) {
        Heap::retain(made);
        return made;
      }
    }
    Held<Object> made(heap_, shell(o, keep));
    if (keep) made->serial = o->serial;
    if (again) copies_[o] = made.get();
    return made.take();
  }

  // An owned object whose slots are still to be filled.
  Object* shell(Object* o, bool keep) {
    if (o->kind == Kind::frame) return copy_frames(static_cast<Frame*>(o), keep);
    if (o->kind == Kind::capsule) return copy_capsule(static_cast<value::NativeObject*>(o), keep);
    if (o->kind == Kind::pair) { // the most frequent
      auto* const pair = static_cast<value::Pair*>(o);
      Held<value::Pair> made(heap_, heap_.cons(value::kUnspecified, value::kUnspecified).pair());
      pending_.push_back({&pair->car, &made.get()->car, o, 0, keep, 1});
      return made.take();
    }
    if (o->kind == Kind::vector && machine::tensors::is_recorded(value::of_other(o))) {
      if (!stops_) machine::tensors::refuse_recorded(engine_, "a derivative");
      return value::object_of(machine::tensors::stopped(engine_, value::of_other(o)));
    }
    Held<Object> made(heap_, empty_like(heap_, o));
    const value::Slots from = value::slots_of(o);
    if (from.count != 0) // the first is filled first
      pending_.push_back({from.first, value::slots_of(made.get()).first, o, 0, keep, from.count - 1});
    return made.take();
  }

  // A frame and its ancestors, one after the other.
  Object* copy_frames(Frame* from, bool keep) {
    Chain chain(heap_);
    for (; from != nullptr; from = from->parent) {
      bool once = sharing_ != Sharing::tree && met_once(from);
      if (Object* made = once ? nullptr : copies_[from]) {
        Heap::retain(made);
        return chain.end(static_cast<Frame*>(made));
      }
      Frame* f = chain.add(empty_frame(heap_, from));
      f->set_lifted(keep && from->lifted());
      if (keep) f->serial = from->serial;
      value::for_each_live(from, [&](std::uint32_t slot) {
        pending_.push_back({&from->slots()[slot], &f->slots()[slot], from, slot, keep, 0});
      });
      if (!once) copies_[from] = f;
    }
    return chain.end(nullptr);
  }

  Object* copy_capsule(value::NativeObject* o, bool keep) {
    auto* from = static_cast<Capsule*>(o->native);
    machine::OwnedRuns runs = machine::OwnedRuns::of(heap_, from->runs);
    bool own = true; // the runs of a derivative operator inside are its own: shared
    for (Run& r : runs.list) {
      own = own && r.state == nullptr;
      if (own || sharing_ == Sharing::strip) replace(heap_, r.top, static_cast<Frame*>(copy(r.top, keep || !own)));
    }
    Value z = engine_.make_capsule(std::move(runs), from->steps);
    Owned guard(heap_, z);
    Capsule* made = as_capsule(z);
    made->serial = from->serial;
    made->finished = from->finished;
    if (from->finished) pending_.push_back({&from->value, &made->value, o, 0, keep, 0});
    return guard.take().other();
  }

  Engine& engine_;
  Heap& heap_;
  Sharing sharing_;
  const Leaf& leaf_;
  bool stops_;
  Visits visits_;
  value::ChargedStack<Slot> pending_;
  Met copies_;
};

} // namespace

Value copy_value(Engine& engine, Value v, Sharing sharing, const Leaf& leaf, bool stops) {
  if (is_leaf(v)) return leaf(v, nullptr, 0);
  if (!is_container(v)) return Heap::retain(v);
  return Copier(engine, sharing, leaf, stops).run(v);
}

bool contains(Heap& heap, Value v, const std::function<bool(Value)>& is) {
  value::ChargedStack<Object*> pending(heap);
  Met seen(heap);
  Visits visits;
  auto look = [&](Value x) {
    visits.one();
    if (is_container(x)) pending.push_back(value::object_of(x));
    return is_leaf(x) && is(x);
  };
  if (look(v)) return true;
  bool found = false;
  while (!pending.empty() && !found) {
    Object* o = pending.back();
    pending.pop_back();
    if (!met_once(o) && !seen.insert(o)) continue;
    if (o->kind == Kind::capsule) {
      auto* c = static_cast<Capsule*>(static_cast<value::NativeObject*>(o)->native);
      found = found || look(c->value);
      for (Run& r : c->runs)
        if (r.top != nullptr) pending.push_back(r.top);
      continue;
    }
    if (o->kind == Kind::frame && static_cast<Frame*>(o)->parent != nullptr) pending.push_back(static_cast<Frame*>(o)->parent);
    for_each_child(o, [&](Value child, std::uint32_t) { found = found || look(child); });
  }
  visits.finish();
  return found;
}

} // namespace cairn::runs
