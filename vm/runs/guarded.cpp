// Errors of the program as values: call-with-error-handler runs its thunk in a run of its own, and an error ends that run and
// whatever it has started. The handler goes on in the place of the operator's frame, so that in a replay, where the same error
// comes at the same step, the same follows (docs/design.md 5.11). What an error carries is constant to derivatives: its numbers
// may be of tapes that end with it.
#include "vm/machine/undo.h"
#include "vm/runs/operators.h"
#include "vm/runs/recording.h"
#include "vm/runs/states.h"

#include <algorithm>

namespace cairn::runs {

using machine::RunKind;
using value::Frame;
using value::Owned;

namespace {

constexpr std::size_t kHandlerRegister = 0; // of the operator's frame

bool has_outermost_gradient(const machine::OwnedRuns& runs) {
  for (const Run& r : runs.list) {
    const SweepState* const derivative = derivative_of(r);
    const CheckpointState* const s = derivative != nullptr ? as_checkpoint(*derivative) : nullptr;
    if (s != nullptr && s->outermost) return true;
  }
  return false;
}

} // namespace

void handle_error(Engine& engine, std::string_view message, Value irritants) {
  Heap& heap = engine.heap();
  std::size_t guarded = engine.runs.size() - 1;
  while (engine.runs[guarded].kind != RunKind::guarded) --guarded;
  // What is made from here on is newer than what replays have made.
  const auto leave_replays = [&] {
    for (std::size_t i = guarded; i < engine.runs.size(); ++i)
      if (engine.runs[i].state != nullptr)
        heap.next_serial = std::max(heap.next_serial, engine.runs[i].run_state()->serial_floor());
  };
  Owned given(heap, value::kNull);
  if (irritants.is_pair()) { // (error ...) has no effect but the error, so it can be stopped here and executed again
    given.v = machine::stoppable(engine, nullptr, [&] {
      leave_replays();
      return without_derivatives(engine, irritants);
    });
  } else {
    leave_replays();
  }
  const ops::Meter::Uninterrupted whole(engine.meter());
  const bool has_text = given.v.is_pair() && value::is_string(given.v.pair()->car);
  Owned text(heap, has_text            ? Heap::retain(given.v.pair()->car)
                   : given.v.is_pair() ? heap.make_string(engine.describe(given.v.pair()->car))
                                       : heap.make_string(message));
  Owned rest(heap, given.v.is_pair() ? Heap::retain(given.v.pair()->cdr) : value::kNull);
  {
    const machine::OwnedRuns gone = engine.cut(guarded);
    if (has_outermost_gradient(gone)) {
      engine.gradient = {};
      if (engine.recorder != nullptr) record_break(engine);
    }
  }
  Frame* frame = engine.enter(engine.current());
  const Owned handler(heap, Heap::retain(frame->slots()[kHandlerRegister]));
  const Value arguments[] = {text.v, rest.v};
  Frame* next = engine.make_call(handler.v, arguments, 2);
  next->parent = frame->parent;
  heap.release(std::exchange(frame->slots()[kHandlerRegister], value::kUnspecified));
  heap.discard(frame);
  engine.current().top = next;
}

} // namespace cairn::runs
