// The bodies of the run operators, as bytecode of the machine's own. Since a body is ordinary code in an ordinary frame, a run
// operator is counted, interrupted, captured and saved like everything else. Saved frames say where in these bodies they stand by
// number of the word.
#include "vm/runs/bodies.h"

#include "vm/machine/code.h"
#include "vm/runs/assembly.h"
#include "vm/runs/operators.h"
#include "vm/runs/states.h"

#include <deque>

namespace cairn::runs {

using bytecode::kNoRegister;
using bytecode::Opcode;
using bytecode::RunOperator;
using value::Code;

namespace {

// Parameters of the derivative operators; what is made of them takes their registers.
constexpr Register kF = 0, kX = 1, kDirection = 2, kRule = 3, kRuleState = 4, kWithoutUpdates = 5;
constexpr Register kState = 0;  // of the operator
constexpr Register kNested = 1; // what a sweep needs done, or #f
constexpr Register kDue = 1;    // what the rule of a leaf gave, or #f

void open(Assembly& body, Derivative which) {
  body.put_list(Opcode::run_open, kState, static_cast<std::uint16_t>(which), {last(kF), last(kX), last(kDirection)});
}

void close(Assembly& body) {
  body.put(Opcode::run_close, kState, last(kState));
  body.put(Opcode::ret, last(kState));
}

// Sweeps what is on the tape. The label is where a sweep begins.
void sweep_all(Assembly& body, Assembly::Label& again) {
  body.bind(again);
  body.put(Opcode::run_sweep, kNested, kState);
  body.jump(Opcode::run_swept, {last(kNested), kState}, again);
}

// The rules of the leaves that are due, until none is and the sweep in work, if any, is complete; else on from the label.
void update_leaves(Assembly& body, Assembly::Label& again) {
  body.put(Opcode::run_update, kDue, kState);
  body.jump(Opcode::run_updated, {last(kDue), kState}, again);
}

// Performs the actions of the schedule; where leaves are updated, each time the tape was swept.
void perform_schedule(Assembly& body, bool with_updates) {
  Assembly::Label action, sweep, swept;
  body.bind(action);
  body.put(Opcode::run_act, kState, last(kState));
  body.jump(Opcode::run_acted, {kState}, swept);
  sweep_all(body, sweep);
  if (with_updates) update_leaves(body, sweep);
  body.bind(swept);
  body.jump(Opcode::run_more, {kState}, action);
}

// Where an outer derivative looks on, the procedure that does the same without updates goes on instead.
void open_with_updates(Assembly& body, Derivative which) {
  constexpr Register kSeen = 6;
  Assembly::Label alone;
  body.put_list(Opcode::run_within, kSeen, 0, {kF, kX, kDirection});
  body.jump(Opcode::jump_false, {last(kSeen)}, alone);
  body.put_list(Opcode::tail_call_value, 0, last(kWithoutUpdates),
                {last(kF), last(kX), last(kDirection), last(kRule), last(kRuleState)});
  body.bind(alone);
  body.put(Opcode::drop, kWithoutUpdates, kNoRegister, kNoRegister);
  body.put(Opcode::cons, kRule, last(kRule), last(kRuleState));
  body.put_list(Opcode::run_open, kState, static_cast<std::uint16_t>(which), {last(kF), last(kX), last(kDirection), last(kRule)});
}

void reverse_with_updates(Assembly& body, Derivative which) {
  Assembly::Label sweep;
  open_with_updates(body, which);
  body.put(Opcode::run_seed, kState, last(kState));
  sweep_all(body, sweep);
  update_leaves(body, sweep);
  close(body);
}

void checkpoint_with_updates(Assembly& body, Derivative which) {
  Assembly::Label update;
  open_with_updates(body, which);
  perform_schedule(body, true);
  body.bind(update);
  update_leaves(body, update);
  close(body);
}

void forward(Assembly& body) {
  constexpr Register kTag = 3, kResult = 1;
  body.put(Opcode::run_tag, kTag);
  body.put_list(Opcode::run_bundle, kX, 0, {last(kX), last(kDirection), kTag});
  body.put(Opcode::run_forward, kResult, last(kF), last(kX));
  body.put(Opcode::run_unbundle, kResult, last(kResult), last(kTag));
  body.put(Opcode::ret, last(kResult));
}

// Level by level of forward mode, the outermost first, by the forward rule; without any, the value.
void ruled(Assembly& body) {
  constexpr Register kValue = 0, kForward = 1, kReverse = 2, kArguments = 3, kTag = 4, kTangent = 5, kResult = 6;
  Assembly::Label plain;
  body.put(Opcode::run_outermost, kTag, kArguments);
  body.jump(Opcode::jump_false, {kTag}, plain);
  body.put(Opcode::run_duals, kArguments, last(kArguments), kTag);
  body.put(Opcode::uncons, kArguments, kTangent, last(kArguments));
  body.put_list(Opcode::run_ruled, kResult, 0, {last(kValue), kForward, last(kReverse), kArguments});
  body.put_list(Opcode::call_value, kTangent, last(kForward), {last(kArguments), kResult, last(kTangent)});
  body.put_list(Opcode::run_bundle, kResult, 2, {last(kResult), last(kTangent), kTag});
  body.put(Opcode::ret_drop, last(kResult));
  body.bind(plain);
  body.put_list(Opcode::run_apply, kResult, 0, {last(kValue), last(kReverse), last(kArguments)});
  body.put(Opcode::run_applied, kResult, last(kResult));
  body.put(Opcode::ret_drop, last(kResult));
}

bytecode::Function body_of(RunOperator op) {
  constexpr Register kResult = 0;
  bytecode::Function f;
  f.parameters = static_cast<std::uint16_t>(bytecode::kRunOperators[static_cast<std::size_t>(op)].parameters);
  f.slots = 5;
  Assembly body;
  switch (op) {
  case RunOperator::forward:
    forward(body);
    break;
  case RunOperator::reverse: {
    Assembly::Label sweep;
    open(body, Derivative::reverse);
    body.put(Opcode::run_seed, kState, last(kState));
    sweep_all(body, sweep);
    close(body);
    break;
  }
  case RunOperator::checkpoint_reverse:
    open(body, Derivative::checkpoint_reverse);
    perform_schedule(body, false);
    close(body);
    break;
  case RunOperator::reverse_update:
    f.slots = 7;
    reverse_with_updates(body, Derivative::reverse_update);
    break;
  case RunOperator::reverse_update_in_place:
    f.slots = 7;
    reverse_with_updates(body, Derivative::reverse_update_in_place);
    break;
  case RunOperator::checkpoint_update:
    f.slots = 7;
    checkpoint_with_updates(body, Derivative::checkpoint_update);
    break;
  case RunOperator::checkpoint_update_in_place:
    f.slots = 7;
    checkpoint_with_updates(body, Derivative::checkpoint_update_in_place);
    break;
  case RunOperator::primops:
    body.put(Opcode::run_count, kResult, last(kF), last(kX));
    body.put(Opcode::ret, last(kResult));
    break;
  case RunOperator::interrupt: {
    constexpr Register kSteps = 2;
    body.put_list(Opcode::run_limited, kResult, 0, {last(kF), last(kX), last(kSteps)});
    body.put(Opcode::ret, last(kResult));
    break;
  }
  case RunOperator::resume: {
    constexpr Register kCapsule = 0;
    body.put(Opcode::run_thaw, last(kCapsule));
    break;
  }
  case RunOperator::with_schedule:
  case RunOperator::with_lossy_tape: {
    constexpr Register kSpec = 0, kThunk = 1;
    body.put(op == RunOperator::with_schedule ? Opcode::run_scheduled : Opcode::run_lossy, kResult, last(kSpec), last(kThunk));
    body.put(Opcode::ret, last(kResult));
    break;
  }
  case RunOperator::get_streaming_plan:
    body.put_list(Opcode::run_streamed, kResult, 1, {last(kF), last(kX)});
    body.put(Opcode::ret, last(kResult));
    break;
  case RunOperator::call_with_streaming_plan: {
    constexpr Register kPlan = 0, kCalled = 1, kGiven = 2;
    body.put_list(Opcode::run_streamed, kResult, 0, {last(kCalled), last(kGiven), last(kPlan)});
    body.put(Opcode::ret, last(kResult));
    break;
  }
  case RunOperator::stop_gradient:
    body.put(Opcode::run_strip, kResult, last(kResult));
    body.put(Opcode::ret, last(kResult));
    break;
  case RunOperator::guarded: {
    constexpr Register kThunk = 1; // the handler is in register 0
    body.put(Opcode::run_guarded, kThunk, last(kThunk));
    body.put(Opcode::ret_drop, last(kThunk));
    break;
  }
  case RunOperator::ruled:
    f.slots = 7;
    ruled(body);
    break;
  case RunOperator::count:
    break;
  }
  f.code = body.take();
  return f;
}

// (x . x') -> the pair of (f x) and its tangent; the procedure itself captures f and f'.
void dual_apply(Assembly& body) {
  constexpr Register kArgument = 0, kSelf = 1, kBoth = 2, kTangents = 3, kPrimal = 4, kTangent = 5, kTag = 6, kProcedure = 0;
  body.put(Opcode::capture, kBoth, kSelf, 0);
  body.put(Opcode::capture, kTangents, last(kSelf), 1);
  body.put(Opcode::uncons, kPrimal, kTangent, last(kArgument));
  body.put(Opcode::cons, kBoth, last(kBoth), last(kPrimal));
  body.put(Opcode::cons, kTangents, last(kTangents), last(kTangent));
  body.put(Opcode::run_tag, kTag);
  body.put_list(Opcode::run_bundle, kBoth, 1, {last(kBoth), last(kTangents), kTag});
  body.put(Opcode::uncons, kProcedure, kBoth, last(kBoth));
  body.put(Opcode::run_forward, kProcedure, last(kProcedure), last(kBoth));
  body.put(Opcode::run_unbundle, kProcedure, last(kProcedure), last(kTag));
  body.put(Opcode::ret, last(kProcedure));
}

// f x y` tag -> the result of the derivative operator, as bundles of the tag
void dual_operator(Assembly& body, Derivative which) {
  constexpr Register kTag = 3, kResult = 0;
  body.put_list(Opcode::run_operate, kResult, static_cast<std::uint16_t>(which), {last(kF), last(kX), last(kDirection)});
  body.put(Opcode::run_rebundle, kResult, last(kResult), last(kTag));
  body.put(Opcode::ret, last(kResult));
}

bytecode::Function body_of(HelperCode code) {
  bytecode::Function f;
  f.slots = 8;
  Assembly body;
  switch (code) {
  case HelperCode::nested_checkpoint: // the state; returns it
    f.parameters = 1;
    perform_schedule(body, false);
    body.put(Opcode::ret, last(kState));
    break;
  case HelperCode::dual_apply:
    f.parameters = 1;
    f.needs_closure = true;
    dual_apply(body);
    break;
  case HelperCode::dual_reverse:
    f.parameters = 4;
    dual_operator(body, Derivative::reverse);
    break;
  case HelperCode::dual_checkpoint:
    f.parameters = 4;
    dual_operator(body, Derivative::checkpoint_reverse);
    break;
  case HelperCode::count:
    break;
  }
  f.code = body.take();
  return f;
}

// The operator that a piece of own code works for, which messages name.
RunOperator operator_behind(HelperCode code) {
  return code == HelperCode::nested_checkpoint || code == HelperCode::dual_checkpoint ? RunOperator::checkpoint_reverse
                                                                                      : RunOperator::reverse;
}

// Functions with their facts, made once for the process.
struct Bodies {
  std::deque<bytecode::Function> functions;
  std::deque<bytecode::FunctionFacts> facts;
  std::vector<value::OwnedCode> codes;
  void add(bytecode::Function function, RunOperator op) {
    functions.push_back(std::move(function));
    const bytecode::Function& f = functions.back();
    facts.push_back(bytecode::verify_machine_code(f));
    codes.push_back(machine::code_of(f, facts.back(), static_cast<std::uint32_t>(op), nullptr));
  }
  Bodies() {
    for (unsigned i = 0; i < static_cast<unsigned>(RunOperator::count); ++i)
      add(body_of(static_cast<RunOperator>(i)), static_cast<RunOperator>(i));
    for (unsigned i = 0; i < static_cast<unsigned>(HelperCode::count); ++i)
      add(body_of(static_cast<HelperCode>(i)), operator_behind(static_cast<HelperCode>(i)));
  }
};

const Bodies& bodies() {
  static const Bodies all;
  return all;
}

} // namespace

const Code& operator_code(RunOperator op) { return *bodies().codes[static_cast<std::size_t>(op)]; }

const Code& helper_code(HelperCode code) {
  return *bodies().codes[static_cast<std::size_t>(RunOperator::count) + static_cast<std::size_t>(code)];
}

MachineCode machine_code(std::size_t number) {
  const Bodies& all = bodies();
  if (number >= all.codes.size()) return {};
  constexpr auto kOperators = static_cast<std::size_t>(RunOperator::count);
  MachineCode m{all.codes[number].get(), &all.facts[number]};
  if (number < kOperators)
    m.captures = 0;
  else if (number - kOperators == static_cast<std::size_t>(HelperCode::dual_apply))
    m.captures = 2; // f and f'
  return m;
}

} // namespace cairn::runs
