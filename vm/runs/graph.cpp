// See graph.h. Every copy is made top-down with an explicit list of slots still to fill; a slot holds a harmless value until
// then.
#include "vm/runs/graph.h"
#include "vm/machine/errors.h"
#include "vm/runs/children.h"
#include "vm/runs/met.h"
#include "vm/value/charged.h"
#include "vm/value/owned.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::runs {

using machine::as_capsule;
using machine::Capsule;
using machine::ProgramError;
using value::ClosureBlock;
using value::Frame;
using value::Held;
using value::Kind;
using value::Object;
using value::Owned;

namespace {

// A frame where `from` is, without parent; its live slots hold nothing yet.
Frame* empty_frame_like(Heap& heap, const Frame* from) {
  Frame* f = heap.make_frame(from->code);
  f->rest = from->rest;
  value::for_each_live(from, [&](std::uint32_t slot) { f->slots()[slot] = value::kUnspecified; });
  return f;
}

ClosureBlock* empty_block_like(Heap& heap, ClosureBlock* from) {
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

// Counts the slots that a walk looks at as work, their bytes, many at a time, and lets it be stopped: a tree has as many as there
// are paths to what is shared.
class Visits {
public:
  void one() {
    if (++count_ == kMany) finish();
  }
  void finish() { ops::Meter::spend_current(sizeof(Value) * std::exchange(count_, 0)); }

private:
  static constexpr std::uint32_t kMany = 1024;
  std::uint32_t count_ = 0;
};

// Copies objects on demand and fills their slots through a list of pending ones.
class Copier {
public:
  Copier(Engine& engine, Sharing sharing, const Leaf& leaf)
      : engine_(engine), heap_(engine.heap()), sharing_(sharing), leaf_(leaf), pending_(heap_), copies_(heap_) {}

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
    if (v.is_pair()) return value::of_pair(static_cast<value::Pair*>(copy(v.pair(), s.keep)));
    if (v.is_procedure()) {
      auto* block = static_cast<ClosureBlock*>(copy(value::closure_block_of(v.procedure()), s.keep));
      std::uint64_t offset = v.procedure()->offset;
      return value::of_procedure(reinterpret_cast<value::Procedure*>(reinterpret_cast<char*>(block) + offset));
    }
    return value::of_other(copy(v.other(), s.keep));
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
    switch (o->kind) {
    case Kind::pair: {
      Held<value::Pair> p(heap_, heap_.cons(value::kUnspecified, value::kUnspecified).pair());
      put_slots(o, &static_cast<value::Pair*>(o)->car, &p->car, 2, keep);
      return p.take();
    }
    case Kind::vector: {
      auto* from = static_cast<value::Vector*>(o);
      Held<value::Vector> v(heap_, empty_vector(heap_, from->length));
      put_slots(o, from->items(), v->items(), from->length, keep);
      return v.take();
    }
    case Kind::closure_block: {
      auto* from = static_cast<ClosureBlock*>(o);
      Held<ClosureBlock> b(heap_, empty_block_like(heap_, from));
      put_slots(o, from->captured(), b->captured(), from->captures, keep);
      return b.take();
    }
    case Kind::frame:
      return copy_frames(static_cast<Frame*>(o), keep);
    default:
      return copy_capsule(static_cast<value::NativeObject*>(o), keep);
    }
  }
  // The first is filled first.
  void put_slots(Object* o, const Value* from, Value* to, std::uint64_t count, bool keep) {
    if (count != 0) pending_.push_back({from, to, o, 0, keep, count - 1});
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
      Frame* f = chain.add(empty_frame_like(heap_, from));
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
  Visits visits_;
  value::ChargedStack<Slot> pending_;
  Met copies_;
};

} // namespace

Value copy_value(Engine& engine, Value v, Sharing sharing, const Leaf& leaf) {
  if (is_leaf(v)) return leaf(v, nullptr, 0);
  if (!is_container(v)) return Heap::retain(v);
  return Copier(engine, sharing, leaf).run(v);
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

namespace {

// The copy behind without_tape: keeps serials, shares what the tape has not touched.
class Untaper {
public:
  Untaper(Engine& engine, const Tape& tape)
      : engine_(engine), heap_(engine.heap()), tape_(tape), polls_(engine.meter()), pending_(heap_), copies_(heap_) {}

  Frame* frame(Frame* from) {
    Chain chain(heap_);
    for (; from != nullptr; from = from->parent) {
      if (Object* made = met_once(from) ? nullptr : copies_[from]) {
        Heap::retain(made);
        return chain.end(static_cast<Frame*>(made));
      }
      if (from->serial < tape_.start() && !from->lifted()) {
        Heap::retain(from);
        return chain.end(from);
      }
      Frame* f = chain.add(empty_frame_like(heap_, from));
      adopt(f, from);
      value::for_each_live(from, [&](std::uint32_t slot) { put(from->slots()[slot], &f->slots()[slot]); });
    }
    return chain.end(nullptr);
  }

  void drain() {
    while (!pending_.empty()) {
      auto [from, to] = pending_.back();
      pending_.pop_back();
      *to = copy(from);
    }
  }

  void put(Value from, Value* to) {
    *to = value::kUnspecified;
    polls_.one();
    if (tape_.has(from))
      *to = value::flonum(tape_.primal(from.tape_node()));
    else if ((is_container(from) || value::is_bundle(from)) && value::object_of(from)->serial >= tape_.start())
      pending_.push_back({from, to});
    else
      *to = Heap::retain(from);
  }

private:
  void adopt(Object* made, Object* from) {
    made->serial = from->serial;
    if (!met_once(from)) copies_[from] = made;
  }

  Value copy(Value v) {
    Object* o = value::object_of(v);
    Object* made = met_once(o) ? nullptr : copies_[o];
    if (made != nullptr) {
      Heap::retain(made);
    } else {
      Held<Object> fresh(heap_, shell(o));
      adopt(fresh.get(), o);
      made = fresh.take();
    }
    if (v.is_pair()) return value::of_pair(static_cast<value::Pair*>(made));
    if (v.is_procedure())
      return value::of_procedure(reinterpret_cast<value::Procedure*>(reinterpret_cast<char*>(made) + v.procedure()->offset));
    return value::of_other(made);
  }

  Object* shell(Object* o) {
    switch (o->kind) {
    case Kind::pair: {
      Held<value::Pair> p(heap_, heap_.cons(value::kUnspecified, value::kUnspecified).pair());
      put(static_cast<value::Pair*>(o)->car, &p->car);
      put(static_cast<value::Pair*>(o)->cdr, &p->cdr);
      return p.take();
    }
    case Kind::vector: {
      auto* from = static_cast<value::Vector*>(o);
      Held<value::Vector> v(heap_, empty_vector(heap_, from->length));
      for (std::uint64_t i = 0; i < from->length; ++i) put(from->items()[i], &v->items()[i]);
      return v.take();
    }
    case Kind::closure_block: {
      auto* from = static_cast<ClosureBlock*>(o);
      Held<ClosureBlock> b(heap_, empty_block_like(heap_, from));
      for (std::uint32_t i = 0; i < from->captures; ++i) put(from->captured()[i], &b->captured()[i]);
      return b.take();
    }
    case Kind::bundle: {
      auto* from = static_cast<value::Bundle*>(o);
      Held<value::Bundle> b(heap_, value::as_bundle(heap_.make_bundle(from->tag, value::kUnspecified, value::kUnspecified)));
      b->flags = from->flags;
      put(from->primal, &b->primal);
      put(from->tangent, &b->tangent);
      return b.take();
    }
    default: {
      auto* from = static_cast<Capsule*>(static_cast<value::NativeObject*>(o)->native);
      machine::OwnedRuns runs = machine::OwnedRuns::of(heap_, from->runs);
      for (Run& r : runs.list) replace(heap_, r.top, frame(r.top));
      Owned z(heap_, engine_.make_capsule(std::move(runs), from->steps));
      as_capsule(z.v)->serial = from->serial;
      as_capsule(z.v)->finished = from->finished;
      put(from->value, &as_capsule(z.v)->value);
      return z.take().other();
    }
    }
  }

  Engine& engine_;
  Heap& heap_;
  const Tape& tape_;
  Polls polls_;
  value::ChargedStack<std::pair<Value, Value*>> pending_;
  Met copies_;
};

} // namespace

std::vector<Run> without_tape(Engine& engine, const std::vector<Run>& runs, const Tape& tape) {
  std::uint64_t serial = engine.heap().next_serial;
  machine::OwnedRuns out = machine::OwnedRuns::of(engine.heap(), runs);
  Untaper untaper(engine, tape);
  for (Run& r : out.list) replace(engine.heap(), r.top, untaper.frame(r.top));
  untaper.drain();
  engine.heap().next_serial = serial;
  return out.take();
}

namespace {

[[noreturn]] void wrong_shape(Engine& engine, const char* what, Value t, Value v) {
  throw ProgramError(fmt::format("{} {} does not have the shape of {}{}", what, engine.describe(t), engine.describe(v),
                                 machine::hint_of_cotangent(what, t)));
}

const Value kZero = value::integer_unchecked(0);

// A slot of v and its part of t, and those of the same containers behind them.
struct PairedSlot {
  const Value* v;
  const Value* t;
  Object* owner;
  Object* part_owner; // its slot has the same number; null: exact zeros are the parts
  Value* to;          // null for what only looks
  std::uint32_t slot;
  std::uint64_t more;
  PairedLeaf leaf() const { return {*v, *t, owner, slot, part_owner, slot}; }
};

// Takes the next one.
PairedSlot next_of(value::ChargedStack<PairedSlot>& pending) {
  PairedSlot& last = pending.back();
  const PairedSlot s = last;
  if (s.more == 0) {
    pending.pop_back();
    return s;
  }
  ++last.v, ++last.slot, --last.more;
  if (s.part_owner != nullptr) ++last.t;
  if (s.to != nullptr) ++last.to;
  return s;
}

struct Slots {
  Value* first;
  std::uint64_t count;
};
Slots slots_of(Object* o) {
  switch (o->kind) {
  case Kind::pair:
    return {&static_cast<value::Pair*>(o)->car, 2};
  case Kind::vector:
    return {static_cast<value::Vector*>(o)->items(), static_cast<value::Vector*>(o)->length};
  default:
    return {static_cast<ClosureBlock*>(o)->captured(), static_cast<ClosureBlock*>(o)->captures};
  }
}

// The slots of containers v and t side by side, the first comes first; a zero t stands for zeros.
void put_children(Engine& engine, value::ChargedStack<PairedSlot>& pending, Value v, Value t, const char* what,
                  Value* to = nullptr) {
  Object* o = value::object_of(v);
  bool zero = is_exact_zero(t);
  bool alike = zero || (t.is_object() && t.tag() == v.tag() && value::object_of(t)->kind == o->kind);
  if (alike && !zero && o->kind == Kind::vector) alike = value::as_vector(v)->length == value::as_vector(t)->length;
  if (alike && !zero && o->kind == Kind::closure_block) {
    ClosureBlock* other = value::closure_block_of(t.procedure());
    alike = other->captures == static_cast<ClosureBlock*>(o)->captures && v.procedure()->code == t.procedure()->code;
  }
  if (!alike) wrong_shape(engine, what, t, v);
  const Slots slots = slots_of(o);
  if (slots.count == 0) return;
  if (zero)
    pending.push_back({slots.first, &kZero, o, nullptr, to, 0, slots.count - 1});
  else
    pending.push_back({slots.first, slots_of(value::object_of(t)).first, o, value::object_of(t), to, 0, slots.count - 1});
}

void check_leaf(Engine& engine, const char* what, Value v, Value t) {
  if (is_leaf(v)) {
    // A number for a tensor may still do, if that has one element; whoever takes it says so.
    bool fits = is_leaf(t) && (machine::tensors::is_tensor_like(v) || !machine::tensors::is_tensor_like(t));
    if (!fits) wrong_shape(engine, what, t, v);
    return;
  }
  bool same_sort = t.tag() == v.tag() || is_exact_zero(t);
  if (!same_sort || ((v == value::kNull) != (t == value::kNull) && !is_exact_zero(t))) wrong_shape(engine, what, t, v);
}

} // namespace

void walk_pair(Engine& engine, Value v, Value t, const char* what, bool once,
               const std::function<void(const PairedLeaf&)>& leaf) {
  value::ChargedStack<PairedSlot> pending(engine.heap());
  pending.push_back({&v, &t, nullptr, nullptr, nullptr, 0, 0});
  Met seen(engine.heap());
  Visits visits;
  const char* const name = what != nullptr ? what : "a cotangent";
  while (!pending.empty()) {
    const PairedSlot s = next_of(pending);
    const Value number = *s.v, part = *s.t;
    visits.one();
    if (is_exact_zero(part)) continue;
    if (!is_container(number) || value::is_capsule(number)) {
      // An exact 0 may be the tangent of a constant tensor: a leaf without a derivative, whose cotangent may be of that shape.
      if (is_exact_zero(number) && (what == nullptr || is_leaf(part))) continue;
      check_leaf(engine, name, number, part);
      if (is_leaf(number)) leaf(s.leaf());
      continue;
    }
    if (once && !met_once(value::object_of(number)) && !seen.insert(value::object_of(number))) continue;
    put_children(engine, pending, number, part, name);
  }
  visits.finish();
}

void walk_beside(Engine& engine, Value v, Value t, const char* what, const std::function<void(const PairedLeaf&)>& leaf) {
  value::ChargedStack<PairedSlot> pending(engine.heap());
  pending.push_back({&v, &t, nullptr, nullptr, nullptr, 0, 0});
  Visits visits;
  while (!pending.empty()) {
    const PairedSlot s = next_of(pending);
    visits.one();
    if (is_leaf(*s.v)) leaf(s.leaf());
    if (value::is_capsule(*s.v)) throw machine::ProgramError(std::string(what) + ": there is none of what a capsule holds");
    if (is_container(*s.v)) put_children(engine, pending, *s.v, *s.t, what);
  }
  visits.finish();
}

Value copy_paired(Engine& engine, Value v, Value t, const char* what, const std::function<Value(const PairedLeaf&)>& leaf) {
  Heap& heap = engine.heap();
  Owned root(heap, value::kUnspecified);
  value::ChargedStack<PairedSlot> pending(heap);
  pending.push_back({&v, &t, nullptr, nullptr, &root.v, 0, 0});
  Visits visits;
  while (!pending.empty()) {
    const PairedSlot s = next_of(pending);
    const Value number = *s.v, part = *s.t;
    visits.one();
    if (!is_container(number) || value::is_capsule(number)) {
      check_leaf(engine, what, number, part);
      *s.to = is_leaf(number) ? leaf(s.leaf()) : Heap::retain(number);
      continue;
    }
    Object* o = value::object_of(number);
    if (number.is_pair()) {
      *s.to = heap.cons(value::kUnspecified, value::kUnspecified);
    } else if (number.is_procedure()) {
      ClosureBlock* b = empty_block_like(heap, static_cast<ClosureBlock*>(o));
      *s.to = value::of_procedure(reinterpret_cast<value::Procedure*>(reinterpret_cast<char*>(b) + number.procedure()->offset));
    } else {
      *s.to = value::of_other(empty_vector(heap, value::as_vector(number)->length));
    }
    put_children(engine, pending, number, part, what, slots_of(value::object_of(*s.to)).first);
  }
  visits.finish();
  return root.take();
}

} // namespace cairn::runs
