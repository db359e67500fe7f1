// The stack of runs: pushing, ending, cutting, thawing; and frames made private before they are written.
#include "vm/machine/engine.h"
#include "vm/machine/errors.h"
#include "vm/machine/undo.h"
#include "vm/value/owned.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::machine {

using value::Held;
using value::Owned;

void RunState::expired(Engine&, OwnedRuns) {}

const std::shared_ptr<ops::streaming::Call>& RunState::call() const {
  static const std::shared_ptr<ops::streaming::Call> none;
  return none;
}

namespace {

using ops::streaming::Call;
using Lost = ops::plans::CallRecorder::Parts::Lost;

// The states of streamed runs, the innermost first, as long as the function wants more.
template <class F> void for_each_streamed(const Engine& engine, F&& f) {
  for (std::uint32_t place = engine.runs.empty() ? 0 : engine.runs.back().streamed; place != 0;
       place = place == 1 ? 0 : engine.runs[place - 2].streamed)
    if (!f(*engine.runs[place - 1].run_state())) return;
}

// Who records what is done in the call, beside the call itself. Whoever is too far out records nothing any more.
std::vector<std::shared_ptr<Call>> recorded_around(const Engine& engine) {
  std::vector<std::shared_ptr<Call>> around;
  std::size_t within = 0;
  for_each_streamed(engine, [&](const RunState& state) {
    const std::shared_ptr<Call>& call = state.call();
    ++within;
    if (call == nullptr || call == engine.streamed_call() || !call->recorder) return true;
    if (within <= Call::kMostWithin + 1)
      around.push_back(call);
    else
      call->recorder->give_up(Lost::too_deep);
    return true;
  });
  return around;
}

} // namespace

// One that was given up within a gradient leaves its launches to the call around it.
const std::shared_ptr<Call>& Engine::streamed_call() const {
  static const std::shared_ptr<Call> none;
  const std::shared_ptr<Call>* found = &none;
  std::size_t within = 0;
  for_each_streamed(*this, [&](const RunState& state) {
    found = &state.call();
    return *found == nullptr && ++within <= Call::kMostWithin;
  });
  return *found;
}

void account_recordings(Engine& engine) {
  std::size_t within = 0;
  for_each_streamed(engine, [&](RunState& state) {
    state.account();
    return ++within <= Call::kMostWithin;
  });
}

// Where there is no memory for that, what is recorded from here on may say something else of the leaves.
void Engine::enter_streamed_call() noexcept {
  if (tensor_world == nullptr || tensor_world->streaming() == nullptr) return;
  const std::shared_ptr<Call>& call = streamed_call();
  try {
    if (call != nullptr) call->lies_in(recorded_around(*this));
    tensor_world->streaming()->enter(call);
  } catch (...) {
    for_each_streamed(*this, [](const RunState& state) {
      if (state.call() != nullptr && state.call()->recorder) state.call()->recorder->give_up(Lost::no_memory);
      return true;
    });
  }
}

void Capsule::release(Heap& heap) {
  OwnedRuns::release(heap, runs);
  heap.release(value);
  heap.charge(heap.capsules, -charged);
  heap.capsule_count -= 1;
}

void Engine::derive(std::size_t i) {
  ++derivations;
  Run& r = runs[i];
  r.least_deadline = r.deadline;
  r.tape = nullptr;
  r.forward_depth = 0;
  r.schedule = r.lossy = 0;
  r.streamed = 0;
  r.in_rule = r.rules != 0;
  if (i > 0) {
    const Run& below = runs[i - 1];
    r.least_deadline = std::min(r.deadline, below.least_deadline);
    r.schedule = below.schedule;
    r.lossy = below.lossy;
    r.streamed = below.streamed;
    r.in_rule = r.in_rule || below.in_rule;
    if (r.kind != RunKind::reverse && r.kind != RunKind::interval) {
      r.tape = below.tape;
      r.forward_depth = below.forward_depth;
    }
  }
  if (r.own_schedule != kInherit) r.schedule = r.own_schedule;
  if (r.own_lossy != kInherit) r.lossy = r.own_lossy;
  if (r.kind == RunKind::reverse || r.kind == RunKind::interval) r.tape = r.run_state()->tape();
  if (r.state != nullptr) r.run_state()->activate(*this);
  if (r.kind == RunKind::forward) ++r.forward_depth;
  if (r.kind == RunKind::streamed) r.streamed = static_cast<std::uint32_t>(i + 1);
}

void Engine::push_run(Run run) {
  Held<Frame> top(heap_, run.top);
  Held<NativeObject> state(heap_, run.state);
  constexpr std::size_t kFew = 1024;
  if (runs.size() == runs.capacity() && runs.size() >= kFew) [[unlikely]] // old and new ones, until they are copied
    runs_charged.set(static_cast<std::int64_t>(3 * runs.size() * sizeof(Run)));
  runs.push_back(run);
  top.take();
  state.take();
  derive(runs.size() - 1);
}

bool Engine::finish_run(Value v) {
  if (Run& base = runs.back(); base.kind == RunKind::base) {
    heap_.release(result);
    result = v;
    base.top = nullptr;
    return false;
  }
  Run r = runs.back();
  runs.pop_back();
  Held<NativeObject> state(heap_, r.state);
  switch (r.kind) {
  case RunKind::base:
    break;
  case RunKind::interrupt:
    deliver(make_finished_capsule(v, clock - r.start));
    break;
  case RunKind::primops:
    heap_.release(v);
    deliver(value::integer(static_cast<std::int64_t>(clock - r.start)));
    break;
  case RunKind::resumed:
  case RunKind::scheduled:
  case RunKind::guarded:
  case RunKind::forward:
    deliver(v);
    break;
  case RunKind::streamed:
    deliver(r.run_state()->result(*this, v));
    break;
  case RunKind::reverse:
  case RunKind::interval:
    r.run_state()->finished(*this, v, clock - r.start);
    deliver(value::of_other(state.take()));
    break;
  }
  return true;
}

void Engine::deliver(Value v) { return_to(runs.back(), v)->set_result(bytecode::kNoRegister); }

Frame* Engine::return_to(Run& run, Value v) {
  Owned owned(heap_, v); // a frame made private may need memory that there is not
  Frame* frame = enter(run);
  frame->slots()[frame->result()] = owned.take();
  return frame;
}

OwnedRuns Engine::cut(std::size_t index) {
  std::uint64_t floor = 0;
  for (std::size_t i = index; i < runs.size(); ++i)
    if (runs[i].state != nullptr) floor = std::max(floor, runs[i].run_state()->serial_floor());
  std::vector<Run> above(runs.begin() + static_cast<std::ptrdiff_t>(index), runs.end());
  runs.resize(index);
  OwnedRuns segment(heap_, std::move(above));
  for (Run& r : segment.list) {
    if (r.deadline != kNever) r.deadline -= clock;
    r.start = clock - r.start;
  }
  cut_serial = heap_.next_serial;
  heap_.next_serial = std::max(heap_.next_serial, floor);
  enter_streamed_call();
  return segment;
}

// The outermost run whose time has come; the one on top inherits from it, so there is one.
void Engine::expire() {
  const auto ended = std::partition_point(runs.begin(), runs.end(), [&](const Run& r) { return r.least_deadline > clock; });
  const auto i = static_cast<std::size_t>(ended - runs.begin());
  std::uint64_t steps = clock - runs[i].start;
  if (runs[i].kind == RunKind::interrupt) {
    Value z = make_capsule(cut(i), steps);
    deliver(z);
  } else {
    OwnedRuns segment = cut(i);
    Held<NativeObject> state(heap_, std::exchange(segment.list[0].state, nullptr));
    static_cast<RunState*>(state->native)->expired(*this, std::move(segment));
    deliver(value::of_other(state.take()));
  }
}

void Engine::note_read(std::uint64_t tensor) {
  for (std::size_t i = runs.size(); i-- > 0;)
    if (runs[i].state != nullptr && runs[i].run_state()->read(tensor, clock - runs[i].start)) return;
}

void Engine::end_interval() {
  Tape* tape = runs.back().tape;
  for (std::size_t i = runs.size(); i-- > 0;) {
    if (runs[i].kind != RunKind::interval || runs[i].run_state()->tape() != tape) continue;
    if (!runs[i].run_state()->may_end(*this, i)) return;
    tape->most_weight = UINT64_MAX;
    runs[i].deadline = clock;
    for (; i < runs.size(); ++i) derive(i);
    return;
  }
}

Value Engine::make_capsule(OwnedRuns segment, std::uint64_t steps) {
  value::OwnedNative<Capsule> c = heap_.own<Capsule>();
  heap_.capsule_count += 1;
  c->runs = segment.take();
  c->steps = steps;
  bool replays = std::any_of(c->runs.begin(), c->runs.end(), [](const Run& r) { return r.kind == RunKind::interval; });
  c->serial = replays ? cut_serial : 0;
  auto bytes = static_cast<std::int64_t>(sizeof(Capsule) + c->runs.capacity() * sizeof(Run));
  heap_.charge(heap_.capsules, bytes);
  c->charged = bytes;
  NativeObject* made = heap_.make_native(Kind::capsule, std::move(c));
  heap_.capsule_count_peak = std::max(heap_.capsule_count_peak, heap_.capsule_count);
  ++statistics.capsules_taken;
  return value::of_other(made);
}

Value Engine::make_finished_capsule(Value v, std::uint64_t steps) {
  Owned owned(heap_, v);
  Value z = make_capsule(OwnedRuns(heap_), steps);
  as_capsule(z)->finished = true;
  as_capsule(z)->value = owned.take();
  return z;
}

std::uint64_t Engine::capsule_steps(Value v) const {
  if (!value::is_capsule(v)) throw ProgramError("capsule-steps: expected a capsule");
  return as_capsule(v)->steps;
}

bool Engine::capsule_finished(Value v) const {
  if (!value::is_capsule(v)) throw ProgramError("capsule-finished?: expected a capsule");
  return as_capsule(v)->finished;
}

// --- frames

Frame* Engine::copy_frame(const Frame* frame) {
  std::uint64_t serial = heap_.next_serial;
  Frame* f = heap_.make_frame(frame->code);
  heap_.next_serial = serial; // a copy that only sharing forces keeps the serial (docs/design.md 5.3)
  f->serial = frame->serial;
  f->parent = frame->parent;
  f->rest = frame->rest;
  f->flags = frame->flags;
  if (f->parent != nullptr) Heap::retain(f->parent);
  value::for_each_live(frame, [&](std::uint32_t slot) { f->slots()[slot] = Heap::retain(frame->slots()[slot]); });
  return f;
}

void Engine::lift_frame(Tape& tape, Frame* frame) {
  value::for_each_live(frame, [&](std::uint32_t slot) {
    Value& v = frame->slots()[slot];
    if (v.is_flonum() || (v.is_taped() && !tape.has(v))) v = tape.lift({frame->serial, slot}, v, primal(v).flonum());
  });
  frame->set_lifted(true);
}

void Engine::identify_frame(Tape& tape, Frame* frame) {
  value::for_each_live(frame, [&](std::uint32_t slot) {
    Value& v = frame->slots()[slot];
    if (tape.has(v)) v = tape.identity(v);
  });
}

Frame* Engine::enter(Run& run) {
  Frame* frame = run.top;
  bool renew = frame->serial < run.epoch;
  if (frame->count != 1) {
    Frame* copy = copy_frame(frame);
    heap_.release(std::exchange(run.top, copy));
    frame = copy;
  }
  if (run.tape != nullptr && run.tape->is_old(frame->serial) && !frame->lifted()) lift_frame(*run.tape, frame);
  if (renew) {
    frame->serial = heap_.next_serial++;
    frame->set_lifted(false);
    if (run.tape != nullptr) {
      identify_frame(*run.tape, frame);
      frame->set_lifted(true);
    }
  }
  return frame;
}

// --- starting computations

namespace {

// What has no name; the library calls what it was given, and its own procedures rightly.
const char* nameless(const Engine& engine) {
  const Frame* const caller = engine.runs.empty() ? nullptr : engine.runs.back().top;
  const bool by_library =
      caller != nullptr && caller->code->module != nullptr && engine.loaded.module.functions[caller->code->index].library;
  return by_library ? "the procedure that it is given" : "procedure";
}

std::string expected_arguments(const Code* code, std::size_t got) {
  return fmt::format("expected {}{} argument{}, got {}", code->rest ? "at least " : "", code->parameters,
                     code->parameters == 1 ? "" : "s", got);
}

} // namespace

Frame* Engine::make_call(Value f, const Value* arguments, std::size_t count) {
  if (!f.is_procedure())
    throw ProgramError(fmt::format("the operator is not a procedure: {}{}", describe(f), hint_of_operand("a procedure", f)));
  const Code* code = f.procedure()->code;
  if (count < code->parameters || (count > code->parameters && !code->rest)) {
    std::string name = procedure_name(code);
    throw ProgramError(fmt::format("{}: {}", name.empty() ? nameless(*this) : name, expected_arguments(code, count)));
  }
  Frame* frame = heap_.quick_frame(code);
  if (frame != nullptr) [[likely]] {
    frame->parent = nullptr;
    frame->rest_at(code->words());
  } else {
    frame = heap_.make_frame(code);
  }
  Value* slots = frame->slots();
  for (std::size_t i = 0; i < code->parameters; ++i) slots[i] = Heap::retain(arguments[i]);
  if (code->needs_closure) slots[code->entry_slots - 1] = Heap::retain(f);
  if (code->rest) {
    constexpr std::size_t kAtOnce = 1 << 15;
    Value& rest = slots[code->parameters] = value::kNull;
    Held<Frame> guard(heap_, frame);
    for (std::size_t left = count; left > code->parameters;) {
      const std::size_t first = left - std::min(left - code->parameters, kAtOnce);
      Value list = std::exchange(rest, value::kNull);
      for (std::size_t i = left; i-- > first;) list = heap_.cons(Heap::retain(arguments[i]), list);
      rest = list;
      left = first;
      if (left > code->parameters) ops::Meter::poll_current();
    }
    guard.take();
  }
  return frame;
}

bool Engine::is_resume(Value f) const {
  return f.is_procedure() && f.procedure()->code == &run_operators.code(bytecode::RunOperator::resume);
}

void Engine::start_run(Run run, Value f, Value x) {
  if (is_resume(f)) {
    push_run(run);
    thaw(x, nullptr);
    return;
  }
  run.top = make_call(f, &x, 1);
  push_run(run);
}

bool Engine::thaw(Value z, Frame* parent) {
  Held<Frame> waiting(heap_, parent);
  if (!value::is_capsule(z)) throw ProgramError("resume: expected a capsule, got " + describe(z));
  Owned kept(heap_, Heap::retain(z));
  Capsule* c = as_capsule(z);
  if (c->finished) {
    Value v = read_field(runs.back().tape, z.other(), 0, c->value);
    heap_.release(kept.take());
    if (parent == nullptr) return finish_run(v);
    runs.back().top = waiting.take();
    deliver(v);
    return true;
  }
  std::uint64_t epoch = heap_.next_serial;
  bool resumed = false;
  bool renews = true; // the runs of a derivative operator are its own: what it knows of their frames must stay true
  runs.reserve(runs.size() + c->runs.size()); // so that the stack owns at once what is put on it
  for (std::size_t i = 0; i < c->runs.size(); ++i) {
    Run r = c->runs[i];
    Heap::retain(r.top);
    if (i == 0 && parent == nullptr) { // nothing waits here but the run itself: the computation takes its place
      Run& here = runs.back();
      here.top = r.top;
      here.epoch = epoch;
      continue;
    }
    if (i > 0 && r.state != nullptr && r.kind != RunKind::streamed) renews = false;
    if (i == 0) {
      runs.back().top = waiting.take();
      r.kind = RunKind::resumed;
      r.deadline = kNever;
      r.state = nullptr;
      r.own_schedule = r.own_lossy = kInherit;
    }
    if (renews) r.epoch = epoch;
    if (r.deadline != kNever) r.deadline += clock;
    r.start = clock - r.start;
    if (r.state != nullptr) Heap::retain(r.state);
    runs.push_back(r);
    Run& on_stack = runs.back();
    if (on_stack.state != nullptr) {
      on_stack.state = unique_state(on_stack.state);
      // Only the outermost interval meets the world outside; one inside it goes on as in every replay of that.
      if (r.kind == RunKind::interval && !resumed) {
        resumed = true;
        on_stack.run_state()->resumed(*this);
      }
      if (r.kind == RunKind::streamed) on_stack.run_state()->resumed(*this);
    }
    derive(runs.size() - 1);
  }
  if (c->serial != 0) heap_.next_serial = c->serial;
  heap_.release(kept.take());
  enter_streamed_call();
  enter(runs.back());
  return true;
}

namespace {

NativeObject* copy_of_state(Engine& engine, NativeObject* state) {
  std::uint64_t serial = engine.heap().next_serial;
  NativeObject* copy = engine.make_state(static_cast<RunState*>(state->native)->clone(engine));
  engine.heap().next_serial = serial; // as for frames: a copy that only sharing forces keeps the serial
  copy->serial = state->serial;
  engine.heap().release(state);
  return copy;
}

} // namespace

NativeObject* Engine::unique_state(NativeObject* state) { return state->count == 1 ? state : copy_of_state(*this, state); }

} // namespace cairn::machine
