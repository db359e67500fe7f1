// Procedures with derivative rules (define-derivative). Under forward levels the forward rule is called, level by level, by the
// operator's body; what it computes is the program's, and is recorded and differentiated like everything else. To a tape the
// procedure is one operation, a composite (docs/design.md 5.10) without a cotangent, whose reverse pass is a call of the reverse
// rule. Value and reverse rule run on no tape. An outer derivative of the sweep goes through the forward rule, as for every
// composite.
#include "vm/machine/derivative_rules.h"
#include "vm/machine/recorded.h"
#include "vm/runs/states.h"
#include "vm/value/tensor_object.h"

#include <fmt/format.h>

namespace cairn::runs {

using machine::RunKind;
using value::Object;
using value::Owned;

Value without_derivatives(Engine& engine, Value v) {
  return copy_value(
      engine, v, Sharing::graph,
      [&](Value number, Object*, std::uint32_t) {
        const Value primal = engine.primal(number);
        return value::is_tensor(primal) ? machine::tensors::alias(engine, primal) : Heap::retain(primal);
      },
      true);
}

namespace {

// Runs a procedure on no tape; its state is delivered to the frame on top.
ReverseState* run_untaped(Engine& engine, std::span<const Value> procedure_and_arguments) {
  Heap& heap = engine.heap();
  auto made = heap.own<ReverseState>(engine);
  ReverseState* s = made.get();
  s->account();
  value::Held<NativeObject> state(heap, engine.make_state(std::move(made)));
  Run run;
  run.kind = RunKind::reverse;
  run.start = engine.clock;
  run.top = engine.make_call(procedure_and_arguments[0], procedure_and_arguments.data() + 1, procedure_and_arguments.size() - 1);
  run.state = state.take();
  engine.push_run(run);
  return s;
}

// Recorded tensors (vm/machine/recorded.h) know operators alone, whose derivatives would be those of the procedure.
void refuse_recorded(const Engine& engine, Value procedure, Value x) {
  for (; x.is_pair(); x = x.pair()->cdr)
    if (machine::tensors::is_recorded(x.pair()->car))
      throw print::RecordedError(fmt::format(
          "`{}` has derivative rules of its own (define-derivative), and what a procedure given to `tiled` does with its tensors "
          "has the derivatives of its operators: apply `{}` outside of it, or write there what computes its value",
          engine.procedure_name(procedure.procedure()->code), engine.procedure_name(procedure.procedure()->code)));
}

std::string name_of_rule(const Engine& engine, Value rule) {
  return rule.is_procedure() ? engine.procedure_name(rule.procedure()->code) : std::string("the reverse rule");
}

} // namespace

void apply_ruled(Engine& engine, value::Frame* frame, Value procedure, Value reverse, Value x) {
  if (procedure.is_procedure()) refuse_recorded(engine, procedure, x);
  Tape* outer = engine.current().tape;
  if (outer != nullptr) outer->add_composite({outer->size(), frame->serial, reverse, x, value::kUnspecified});
  const std::uint64_t serial = frame->serial;
  const Value call[] = {procedure, x};
  ReverseState* s = run_untaped(engine, call);
  s->serial = serial;
  begin_inside_update(engine, *s, serial, outer);
  // The rule will read what the procedure perhaps does not.
  contains(engine.heap(), x, [&](Value leaf) {
    const Value primal = engine.primal(leaf);
    if (!value::is_tensor(primal)) return false;
    want_unmeasured(primal);
    if (value::is_watched(primal)) engine.note_read(primal.other()->serial);
    return false;
  });
}

Value result_of_ruled(Engine& engine, Value state) {
  want(value::is_kind(state, value::Kind::state));
  const SweepState& s = *as_sweep(state);
  want(!s.checkpoint && s.work == nullptr);
  return composite_result(engine, s, s.value, true);
}

void begin_reverse_rule(Engine& engine, const tape::Composite& c, Value y, Value cotangent) {
  Heap& heap = engine.heap();
  const Owned x(heap, without_derivatives(engine, c.x));
  const Value call[] = {c.f, x.v, y, cotangent};
  run_untaped(engine, call);
}

void end_reverse_rule(Engine& engine, const tape::Composite& c, Value result, const std::function<void(const PairedLeaf&)>& add) {
  // Of a list of one parameter, walk_pair would say that a number has not the shape of a list.
  Value parameter = c.x, given = result;
  while (parameter.is_pair() && given.is_pair()) {
    parameter = parameter.pair()->cdr;
    given = given.pair()->cdr;
  }
  if ((parameter != value::kNull || given != value::kNull) && result != value::integer(0))
    throw machine::ProgramError(
        fmt::format("{}: a reverse rule gives the list of a cotangent for each parameter, such as (list c), got {}",
                    name_of_rule(engine, c.f), engine.describe(result)));
  const std::string what = name_of_rule(engine, c.f) + ": a cotangent";
  walk_pair(engine, c.x, result, what.c_str(), false, add);
}

void check_reverse_rule(Engine& engine, Value nested, Value state) {
  const SweepState& rule = *as_sweep(nested);
  if (rule.checkpoint || !value::is_kind(state, value::Kind::state)) return;
  const SweepState& s = *as_sweep(state);
  if (s.work == nullptr || s.work->composites.empty() || !s.work->composites.back().is_ruled()) return;
  end_reverse_rule(engine, s.work->composites.back(), rule.value, [](const PairedLeaf&) {});
}

} // namespace cairn::runs
