// See graph.h. Every copy is made top-down with an explicit list of slots still to fill; a slot holds a harmless value until then.
#include "vm/runs/graph.h"
#include "vm/runs/children.h"
#include "vm/value/charged.h"
#include "vm/value/owned.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace cairn::runs {

using machine::as_capsule;
using machine::Capsule;
using machine::ProgramError;
using value::Block;
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

Block* empty_block_like(Heap& heap, Block* from) {
  Block* b = heap.make_block(from->procedures, from->captures);
  for (std::uint32_t i = 0; i < from->procedures; ++i) b->procedure(i)->code = from->procedure(i)->code;
  std::fill_n(b->captured(), from->captures, value::kUnspecified);
  return b;
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

// Counts the slots that a walk looks at as work, their bytes, many at a time, and lets it be stopped: a tree has as many as there are paths to
// what is shared.
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
      : engine_(engine), heap_(engine.heap()), sharing_(sharing), leaf_(leaf), pending_(heap_),
        copies_(value::ChargedAllocator<std::pair<Object* const, Object*>>(heap_)) {}

  Value run(Value v) {
    Value root = value::kUnspecified;
    pending_.push_back({v, &root, nullptr, 0, false});
    try {
      while (!pending_.empty()) {
        Slot s = pending_.back();
        pending_.pop_back();
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
    Value from;
    Value* to;
    Object* owner;
    std::uint32_t slot;
    bool keep;  // copies keep their serials
  };

  Value fill(const Slot& s) {
    Value v = s.from;
    if (is_leaf(v)) return leaf_(v, s.owner, s.slot);
    if (!is_container(v)) return Heap::retain(v);
    if (v.is_pair()) return value::of_pair(static_cast<value::Pair*>(copy(v.pair(), s.keep)));
    if (v.is_procedure()) {
      auto* block = static_cast<Block*>(copy(value::block_of(v.procedure()), s.keep));
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
      if (auto it = copies_.find(o); it != copies_.end()) {
        Heap::retain(it->second);
        return it->second;
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
      auto* from = static_cast<value::Pair*>(o);
      pending_.push_back({from->cdr, &p->cdr, o, 1, keep});
      pending_.push_back({from->car, &p->car, o, 0, keep});
      return p.take();
    }
    case Kind::vector: {
      auto* from = static_cast<value::Vector*>(o);
      Held<value::Vector> v(heap_, heap_.make_vector(from->length));
      std::fill_n(v->items(), from->length, value::kUnspecified);
      put_slots(o, from->items(), v->items(), from->length, keep);
      return v.take();
    }
    case Kind::block: {
      auto* from = static_cast<Block*>(o);
      Held<Block> b(heap_, empty_block_like(heap_, from));
      put_slots(o, from->captured(), b->captured(), from->captures, keep);
      return b.take();
    }
    case Kind::frame: return copy_frames(static_cast<Frame*>(o), keep);
    default: return copy_capsule(static_cast<value::NativeObject*>(o), keep);
    }
  }
  // The first is filled first.
  void put_slots(Object* o, const Value* from, Value* to, std::uint64_t count, bool keep) {
    for (std::uint64_t i = count; i-- > 0;) pending_.push_back({from[i], &to[i], o, static_cast<std::uint32_t>(i), keep});
  }

  // A frame and its ancestors, one after the other.
  Object* copy_frames(Frame* from, bool keep) {
    Chain chain(heap_);
    for (; from != nullptr; from = from->parent) {
      bool once = sharing_ != Sharing::tree && met_once(from);
      if (auto it = once ? copies_.end() : copies_.find(from); it != copies_.end()) {
        Heap::retain(it->second);
        return chain.end(static_cast<Frame*>(it->second));
      }
      Frame* f = chain.add(empty_frame_like(heap_, from));
      f->set_lifted(keep && from->lifted());
      if (keep) f->serial = from->serial;
      value::for_each_live(from, [&](std::uint32_t slot) { pending_.push_back({from->slots()[slot], &f->slots()[slot], from, slot, keep}); });
      if (!once) copies_[from] = f;
    }
    return chain.end(nullptr);
  }

  Object* copy_capsule(value::NativeObject* o, bool keep) {
    auto* from = static_cast<Capsule*>(o->native);
    machine::OwnedRuns runs = machine::OwnedRuns::of(heap_, from->runs);
    bool own = true;  // the runs of a derivative operator inside are its own: shared
    for (Run& r : runs.list) {
      own = own && r.state == nullptr;
      if (own || sharing_ == Sharing::strip) replace(heap_, r.top, static_cast<Frame*>(copy(r.top, keep || !own)));
    }
    Value z = engine_.make_capsule(std::move(runs), from->steps);
    Owned guard(heap_, z);
    Capsule* made = as_capsule(z);
    made->serial = from->serial;
    made->finished = from->finished;
    if (from->finished) pending_.push_back({from->value, &made->value, o, 0, keep});
    return guard.take().other();
  }

  Engine& engine_;
  Heap& heap_;
  Sharing sharing_;
  const Leaf& leaf_;
  Visits visits_;
  value::ChargedVector<Slot> pending_;
  value::ChargedMap<Object*, Object*> copies_;
};

} // namespace

Value copy_value(Engine& engine, Value v, Sharing sharing, const Leaf& leaf) {
  if (is_leaf(v)) return leaf(v, nullptr, 0);
  if (!is_container(v)) return Heap::retain(v);
  return Copier(engine, sharing, leaf).run(v);
}

bool contains(Value v, const std::function<bool(Value)>& is) {
  std::vector<Object*> pending;
  std::unordered_set<Object*> seen;
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
    if (!met_once(o) && !seen.insert(o).second) continue;
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
  Untaper(Engine& engine, const Tape& tape) : engine_(engine), heap_(engine.heap()), tape_(tape) {}

  Frame* frame(Frame* from) {
    Chain chain(heap_);
    for (; from != nullptr; from = from->parent) {
      if (auto it = met_once(from) ? copies_.end() : copies_.find(from); it != copies_.end()) {
        Heap::retain(it->second);
        return chain.end(static_cast<Frame*>(it->second));
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
    if (tape_.has(from)) *to = value::flonum(tape_.primal(from.tape_node()));
    else if ((is_container(from) || value::is_bundle(from)) && value::object_of(from)->serial >= tape_.start())
      pending_.push_back({from, to});
    else *to = Heap::retain(from);
  }

private:
  void adopt(Object* made, Object* from) {
    made->serial = from->serial;
    if (!met_once(from)) copies_[from] = made;
  }

  Value copy(Value v) {
    Object* o = value::object_of(v);
    Object* made = nullptr;
    if (auto it = met_once(o) ? copies_.end() : copies_.find(o); it != copies_.end()) {
      made = it->second;
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
      Held<value::Vector> v(heap_, heap_.make_vector(from->length));
      std::fill_n(v->items(), from->length, value::kUnspecified);
      for (std::uint64_t i = 0; i < from->length; ++i) put(from->items()[i], &v->items()[i]);
      return v.take();
    }
    case Kind::block: {
      auto* from = static_cast<Block*>(o);
      Held<Block> b(heap_, empty_block_like(heap_, from));
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
  std::vector<std::pair<Value, Value*>> pending_;
  std::unordered_map<Object*, Object*> copies_;
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
  throw ProgramError(fmt::format("{} {} does not have the shape of {}", what, engine.describe(t), engine.describe(v)));
}

bool is_zero(Value t) { return t.is_integer() && t.integer() == 0; }

// Children of containers v and t side by side; a zero t stands for zeros.
template <class F> void pair_children(Engine& engine, Value v, Value t, const char* what, F&& visit) {
  Object* o = value::object_of(v);
  bool zero = is_zero(t);
  bool alike = zero || (t.is_object() && t.tag() == v.tag() && value::object_of(t)->kind == o->kind);
  if (alike && !zero && o->kind == Kind::vector)
    alike = value::as_vector(v)->length == value::as_vector(t)->length;
  if (alike && !zero && o->kind == Kind::block) {
    Block* other = value::block_of(t.procedure());
    alike = other->captures == static_cast<Block*>(o)->captures && v.procedure()->code == t.procedure()->code;
  }
  if (!alike) wrong_shape(engine, what, t, v);
  for_each_child(o, [&](Value child, std::uint32_t slot) {
    Value part = value::integer_unchecked(0);
    if (!zero) {
      switch (o->kind) {
      case Kind::pair: part = slot == 0 ? t.pair()->car : t.pair()->cdr; break;
      case Kind::vector: part = value::as_vector(t)->items()[slot]; break;
      default: part = value::block_of(t.procedure())->captured()[slot]; break;
      }
    }
    Object* part_owner = zero ? nullptr : value::object_of(t);
    visit(child, part, o, slot, part_owner);
  });
}

struct PairedSlot {
  Value v, t;
  Object* owner;
  std::uint32_t slot;
  Object* part_owner;  // its slot has the same number
  Value* to;
  PairedLeaf leaf() const { return {v, t, owner, slot, part_owner, slot}; }
};

void check_leaf(Engine& engine, const char* what, const PairedSlot& s) {
  if (is_leaf(s.v)) {
    // A number for a tensor may still do, if that has one element; whoever takes it says so.
    bool fits = is_leaf(s.t) && (machine::tensors::is_tensor_like(s.v) || !machine::tensors::is_tensor_like(s.t));
    if (!fits) wrong_shape(engine, what, s.t, s.v);
    return;
  }
  bool same_sort = s.t.tag() == s.v.tag() || is_zero(s.t);
  if (!same_sort || ((s.v == value::kNull) != (s.t == value::kNull) && !is_zero(s.t))) wrong_shape(engine, what, s.t, s.v);
}

} // namespace

void walk_pair(Engine& engine, Value v, Value t, const char* what, bool once,
               const std::function<void(const PairedLeaf&)>& leaf) {
  std::vector<PairedSlot> pending{{v, t, nullptr, 0, nullptr, nullptr}};
  std::unordered_set<Object*> seen;
  Visits visits;
  while (!pending.empty()) {
    PairedSlot s = pending.back();
    pending.pop_back();
    visits.one();
    if (is_zero(s.t)) continue;
    if (!is_container(s.v) || value::is_capsule(s.v)) {
      // An exact 0 may be the tangent of a constant tensor: a leaf without a derivative, whose cotangent may be of that shape.
      if (is_zero(s.v) && (what == nullptr || is_leaf(s.t))) continue;
      check_leaf(engine, what != nullptr ? what : "a cotangent", s);
      if (is_leaf(s.v)) leaf(s.leaf());
      continue;
    }
    if (once && !met_once(value::object_of(s.v)) && !seen.insert(value::object_of(s.v)).second) continue;
    std::size_t mark = pending.size();
    pair_children(engine, s.v, s.t, what != nullptr ? what : "a cotangent", [&](Value child, Value part, Object* owner, std::uint32_t slot, Object* part_owner) {
      pending.push_back({child, part, owner, slot, part_owner, nullptr});
    });
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(mark), pending.end());
  }
  visits.finish();
}

void walk_beside(Engine& engine, Value v, Value t, const char* what, const std::function<void(const PairedLeaf&)>& leaf) {
  std::vector<PairedSlot> pending{{v, t, nullptr, 0, nullptr, nullptr}};
  Visits visits;
  while (!pending.empty()) {
    PairedSlot s = pending.back();
    pending.pop_back();
    visits.one();
    if (is_leaf(s.v)) leaf(s.leaf());
    if (value::is_capsule(s.v)) throw machine::ProgramError(std::string(what) + ": there is none of what a capsule holds");
    if (!is_container(s.v)) continue;
    std::size_t mark = pending.size();
    pair_children(engine, s.v, s.t, what, [&](Value child, Value part, Object* owner, std::uint32_t slot, Object* part_owner) {
      pending.push_back({child, part, owner, slot, part_owner, nullptr});
    });
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(mark), pending.end());
  }
  visits.finish();
}

Value copy_paired(Engine& engine, Value v, Value t, const char* what, const std::function<Value(const PairedLeaf&)>& leaf) {
  Heap& heap = engine.heap();
  Value root = value::kUnspecified;
  std::vector<PairedSlot> pending{{v, t, nullptr, 0, nullptr, &root}};
  try {
    Visits visits;
    while (!pending.empty()) {
      PairedSlot s = pending.back();
      pending.pop_back();
      visits.one();
      if (!is_container(s.v) || value::is_capsule(s.v)) {
        check_leaf(engine, what, s);
        *s.to = is_leaf(s.v) ? leaf(s.leaf()) : Heap::retain(s.v);
        continue;
      }
      std::vector<Value*> to;
      Object* o = value::object_of(s.v);
      if (s.v.is_pair()) {
        value::Pair* p = heap.cons(value::kUnspecified, value::kUnspecified).pair();
        *s.to = value::of_pair(p);
        to = {&p->car, &p->cdr};
      } else if (s.v.is_procedure()) {
        auto* from = static_cast<Block*>(o);
        Block* b = empty_block_like(heap, from);
        *s.to = value::of_procedure(
            reinterpret_cast<value::Procedure*>(reinterpret_cast<char*>(b) + s.v.procedure()->offset));
        for (std::uint32_t i = 0; i < from->captures; ++i) to.push_back(&b->captured()[i]);
      } else {
        value::Vector* made = heap.make_vector(value::as_vector(s.v)->length);
        std::fill_n(made->items(), made->length, value::kUnspecified);
        *s.to = value::of_other(made);
        for (std::uint64_t i = 0; i < made->length; ++i) to.push_back(&made->items()[i]);
      }
      std::size_t mark = pending.size();
      pair_children(engine, s.v, s.t, what, [&](Value child, Value part, Object* owner, std::uint32_t slot, Object* part_owner) {
        pending.push_back({child, part, owner, slot, part_owner, to[slot]});
      });
      std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(mark), pending.end());
    }
    visits.finish();
  } catch (...) {
    heap.release(root);
    throw;
  }
  return root;
}

} // namespace cairn::runs
