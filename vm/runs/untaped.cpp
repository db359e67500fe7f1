// Copies of runs without the numbers of a tape (graph.h).
#include "vm/machine/errors.h"
#include "vm/runs/children.h"
#include "vm/runs/graph.h"
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
      Frame* f = chain.add(empty_frame(heap_, from));
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
    return reference_like(v, made);
  }

  Object* shell(Object* o) {
    if (o->kind == Kind::capsule) return capsule(static_cast<Capsule*>(static_cast<value::NativeObject*>(o)->native));
    Held<Object> made(heap_, empty_like(heap_, o));
    const value::Slots from = value::slots_of(o), to = value::slots_of(made.get());
    for (std::uint64_t i = 0; i < from.count; ++i) put(from.first[i], to.first + i);
    return made.take();
  }

  Object* capsule(const Capsule* from) {
    machine::OwnedRuns runs = machine::OwnedRuns::of(heap_, from->runs);
    for (Run& r : runs.list) replace(heap_, r.top, frame(r.top));
    Owned z(heap_, engine_.make_capsule(std::move(runs), from->steps));
    as_capsule(z.v)->serial = from->serial;
    as_capsule(z.v)->finished = from->finished;
    put(from->value, &as_capsule(z.v)->value);
    return z.take().other();
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

} // namespace cairn::runs
