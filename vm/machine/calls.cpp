// What the handlers of calls and primitives leave to functions that may throw and that own lists.
#include "vm/bytecode/tensors.h"
#include "vm/machine/engine.h"
#include "vm/machine/errors.h"
#include "vm/machine/recorded.h"
#include "vm/machine/undo.h"
#include "vm/print/primitives.h"
#include "vm/text/diagnostic.h"
#include "vm/value/charged.h"
#include "vm/value/owned.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::machine {

using bytecode::kLastUse;
using value::Held;
using value::Owned;

namespace {

constexpr unsigned kMostPrimitiveArguments = std::max({
#define X(id, scheme, least, most, takes_long) most,
#include "vm/bytecode/primitives.def"
#undef X
    0});

Value& source(Frame* frame, std::uint16_t field) { return frame->slots()[field & bytecode::kRegister]; }

// Values from the sources into the slots of something new. Those that are moved come last: if a copy fails, nothing has moved.
template <class Slot> void fill_from(Engine& engine, Frame* frame, std::span<const std::uint16_t> fields, Slot&& slot) {
  Tape* tape = engine.runs.back().tape;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if ((fields[i] & kLastUse) == 0) slot(i) = engine.duplicate(tape, source(frame, fields[i]));
  for (std::size_t i = 0; i < fields.size(); ++i)
    if ((fields[i] & kLastUse) != 0) slot(i) = source(frame, fields[i]);
}

// Calls f(parameter slot, or element of the rest list) for each of n arguments.
template <class F> void for_each_argument(Frame* frame, std::size_t n, F&& f) {
  const Code* code = frame->code;
  Value list = code->rest ? frame->slots()[code->parameters] : value::kNull;
  for (std::size_t i = 0; i < n; ++i) {
    if (i < code->parameters) {
      f(i, frame->slots()[i]);
    } else {
      f(i, list.pair()->car);
      list = list.pair()->cdr;
    }
  }
}

} // namespace

Frame* Engine::call_directly(Frame* frame, std::span<const std::uint16_t> fields, const Code* callee) {
  Held<Frame> made(heap_, heap_.make_frame(callee));
  Value* slots = made->slots();
  for (std::size_t i = 0; i < callee->entry_slots; ++i) slots[i] = value::kUnspecified;
  fill_from(*this, frame, fields, [&](std::size_t i) -> Value& { return slots[i]; });
  return made.take();
}

Frame* Engine::call_in_general(Frame* frame, std::span<const std::uint16_t> fields, Value callee) {
  std::vector<Value> arguments;
  for (std::uint16_t f : fields) arguments.push_back(source(frame, f));
  Held<Frame> guard(heap_, make_call(callee, arguments.data(), arguments.size()));
  Frame* made = guard.get();
  // make_call added references; a value that stays in its register becomes a second place, one that moves gives up its own.
  if (Tape* tape = runs.back().tape)
    for_each_argument(made, arguments.size(), [&](std::size_t i, Value& slot) {
      if ((fields[i] & kLastUse) == 0 && slot.is_taped()) slot = duplicate(tape, slot);
    });
  for (std::size_t i = 0; i < fields.size(); ++i)
    if ((fields[i] & kLastUse) != 0) heap_.release(arguments[i]);
  return guard.take();
}

namespace {

constexpr std::uint64_t kManyItems = 1 << 16; // looked at between two polls

// A vector that is filled from its beginning, one item after the other.
class VectorBuilder {
public:
  VectorBuilder(Engine& engine, std::uint64_t length) : engine_(engine), vector_(engine.heap().make_vector(length)) {}
  ~VectorBuilder() {
    if (vector_ != nullptr) engine_.heap().release_begun(vector_, filled_);
  }
  VectorBuilder(const VectorBuilder&) = delete;
  VectorBuilder& operator=(const VectorBuilder&) = delete;
  // Takes over what f() gives for each of them.
  template <class F> Value fill(F&& f) {
    while (filled_ < vector_->length) {
      if (filled_ % kManyItems == 0) engine_.meter().spend(std::min(kManyItems, vector_->length - filled_) * sizeof(Value));
      Value v = f(filled_);
      vector_->items()[filled_++] = v;
    }
    return value::of_other(std::exchange(vector_, nullptr));
  }

private:
  Engine& engine_;
  value::Vector* vector_;
  std::uint64_t filled_ = 0;
};

// Of a proper list; `wrong` says what else it is.
template <class F> std::uint64_t length_of_list(Engine& engine, Value list, F&& wrong) {
  std::uint64_t n = 0;
  Value at = list;
  for (; at.is_pair(); at = at.pair()->cdr)
    if (++n % kManyItems == 0) engine.meter().spend(kManyItems * sizeof(Value));
  engine.meter().spend(n % kManyItems * sizeof(Value));
  if (at != value::kNull) throw ProgramError(std::forward<F>(wrong)());
  return n;
}

} // namespace

Value Engine::vector_of(std::uint64_t length, Value x) {
  Tape* tape = runs.back().tape;
  return stoppable(*this, [&] { return VectorBuilder(*this, length).fill([&](std::uint64_t) { return duplicate(tape, x); }); });
}

Value Engine::vector_of_list(Value list) {
  Tape* tape = runs.back().tape;
  return stoppable(*this, [&] {
    std::uint64_t n = length_of_list(*this, list, [&] { return "list->vector: expected a list, got " + describe(list); });
    Value at = list;
    return VectorBuilder(*this, n).fill([&](std::uint64_t) {
      Value v = read_field(tape, at.pair(), 0, at.pair()->car);
      at = at.pair()->cdr;
      return v;
    });
  });
}

Value Engine::vector_with(value::Vector* old, std::uint64_t index) {
  Tape* tape = runs.back().tape;
  return stoppable(*this, [&] {
    return VectorBuilder(*this, old->length).fill([&](std::uint64_t i) {
      return i == index ? value::kUnspecified : read_field(tape, old, static_cast<std::uint32_t>(i), old->items()[i]);
    });
  });
}

Frame* Engine::apply_to_list(Value callee, Value list) {
  return stoppable(*this, [&] { return applied_to_list(callee, list); });
}

Frame* Engine::applied_to_list(Value callee, Value list) {
  value::ChargedVector<Value> arguments(heap_);
  arguments.reserve(length_of_list(*this, list, [&] { return "apply: expected a list of arguments, got " + describe(list); }));
  Value at = list;
  for (; at.is_pair(); at = at.pair()->cdr) {
    arguments.push_back(at.pair()->car);
    if (arguments.size() % kManyItems == 0) meter_.poll();
  }
  Held<Frame> made(heap_, make_call(callee, arguments.data(), arguments.size()));
  at = list;
  if (Tape* tape = runs.back().tape)
    for_each_argument(made.get(), arguments.size(), [&](std::size_t i, Value& slot) {
      if ((i + 1) % kManyItems == 0) meter_.poll();
      if (slot.is_taped() || slot.is_flonum()) slot = read_field_taped(*tape, at.pair(), 0, slot);
      at = at.pair()->cdr;
    });
  return made.take();
}

// --- objects made by instructions; sources that stay in their registers become second places

Value Engine::pair_of(Frame* frame, std::uint16_t car, std::uint16_t cdr) {
  Held<value::Pair> made(heap_, static_cast<value::Pair*>(heap_.allocate(sizeof(value::Pair), Kind::pair)));
  Value* slots[] = {&made->car, &made->cdr};
  made->car = made->cdr = value::kUnspecified;
  const std::uint16_t fields[] = {car, cdr};
  fill_from(*this, frame, fields, [&](std::size_t i) -> Value& { return *slots[i]; });
  return value::of_pair(made.take());
}

Value Engine::vector_of(Frame* frame, std::span<const std::uint16_t> fields) {
  Held<value::Vector> made(heap_, heap_.make_vector(fields.size()));
  std::fill_n(made->items(), fields.size(), value::kUnspecified);
  fill_from(*this, frame, fields, [&](std::size_t i) -> Value& { return made->items()[i]; });
  return value::of_other(made.take());
}

Value Engine::group_of(Frame* frame, const bytecode::Group& group, std::span<const std::uint16_t> captures) {
  Held<ClosureBlock> made(heap_, heap_.make_closure_block(static_cast<std::uint32_t>(group.functions.size()),
                                                          static_cast<std::uint32_t>(captures.size())));
  for (std::size_t i = 0; i < group.functions.size(); ++i)
    made->procedure(static_cast<std::uint32_t>(i))->code = loaded.codes[group.functions[i]].get();
  std::fill_n(made->captured(), captures.size(), value::kUnspecified);
  fill_from(*this, frame, captures, [&](std::size_t i) -> Value& { return made->captured()[i]; });
  return value::of_procedure(made.take()->procedure(0));
}

Value Engine::updated_vector(Frame* frame, value::Vector* old, std::uint64_t index, std::uint16_t x) {
  Owned made(heap_, vector_with(old, index));
  const std::uint16_t fields[] = {x};
  fill_from(*this, frame, fields, [&](std::size_t) -> Value& { return value::as_vector(made.v)->items()[index]; });
  return made.take();
}

void Engine::read_pair(Frame* frame, value::Pair* pair, std::uint16_t car, std::uint16_t cdr) {
  Tape* tape = runs.back().tape;
  Owned first(heap_, read_field(tape, pair, 0, pair->car));
  Value second = read_field(tape, pair, 1, pair->cdr);
  frame->slots()[car] = first.take();
  frame->slots()[cdr] = second;
}

Value Engine::primitive(bytecode::Primitive which, Frame* frame, std::span<const std::uint16_t> fields) {
  Value arguments[kMostPrimitiveArguments] = {};
  for (std::size_t i = 0; i < fields.size(); ++i) arguments[i] = source(frame, fields[i]);
  std::optional<ops::OperatorId> on_tensors = tensors::operator_behind(which);
  Value v;
  if (on_tensors && tensors::is_operand(arguments[0])) {
    tensors().set_maker(*this, frame);
    v = stoppable(*this, [&] { return tensors::apply(*this, *on_tensors, {arguments, 1}, (fields[0] & kLastUse) != 0 ? 1 : 0); });
  } else {
    auto run = [&] { return print::run_primitive(which, arguments, static_cast<unsigned>(fields.size()), *this); };
    if (bytecode::kPrimitives[static_cast<std::size_t>(which)].takes_long) {
      effects.begin_instruction();
      v = stoppable(*this, run);
    } else {
      v = run();
    }
    effects.end_instruction();
  }
  if (Tape* tape = runs.back().tape; tape != nullptr && tape->has(v)) v = tape->identity(v);
  for (std::size_t i = 0; i < fields.size(); ++i)
    if ((fields[i] & kLastUse) != 0) heap_.release(arguments[i]);
  return v;
}

Value Engine::tensor(std::uint16_t which, Frame* frame, std::span<const std::uint16_t> fields) {
  constexpr std::size_t kMostOperands = 64;
  Value operands[kMostOperands];
  std::uint64_t consumed = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    operands[i] = source(frame, fields[i]);
    if ((fields[i] & kLastUse) != 0) consumed |= std::uint64_t{1} << i;
  }
  std::span<const Value> given(operands, fields.size());
  tensors().set_maker(*this, frame);
  Value v = stoppable(*this, [&] {
    return which < bytecode::kFirstTensorProcedure
               ? tensors::apply(*this, static_cast<ops::OperatorId>(which), given, consumed)
               : tensors::procedure(*this, static_cast<bytecode::TensorProcedure>(which - bytecode::kFirstTensorProcedure), given,
                                    consumed);
  });
  for (std::size_t i = 0; i < fields.size(); ++i)
    if ((fields[i] & kLastUse) != 0) heap_.release(operands[i]);
  return v;
}

Value Engine::host(std::uint16_t import, Frame* frame, std::span<const std::uint16_t> fields) {
  std::vector<Value> arguments;
  for (std::uint16_t f : fields) arguments.push_back(source(frame, f));
  meter_.poll();
  // What the host has done cannot be done again.
  Value v = [&] {
    const ops::Meter::Uninterrupted whole(meter_);
    try {
      return run_operators.call_host(*this, *loaded.hosts[import], arguments);
    } catch (const ProgramError& e) {
      throw print::WorldError(e.what());
    }
  }();
  for (std::size_t i = 0; i < fields.size(); ++i)
    if ((fields[i] & kLastUse) != 0) heap_.release(arguments[i]);
  return v;
}

bool Engine::perform_run_instruction(const Word* instruction) { return run_operators.perform(*this, instruction); }

// (error message irritant ...), its list in v; or a value that matches no pattern.
void Engine::fail(bool no_match, Value v) {
  if (no_match) throw ProgramError(fmt::format("no pattern matches {}{}", describe(v), hint_of_operand("a pattern", primal(v))));
  constexpr std::size_t kMost = 2000;
  const Value list = v;
  std::string message;
  for (bool first = true; v.is_pair(); v = v.pair()->cdr, first = false) {
    Value part = v.pair()->car;
    if (!first) message += ' ';
    if (!first || !value::is_string(part))
      message += describe(part);
    else if (std::string_view text = value::as_text(part)->view(); text.size() <= kMost)
      message += text;
    else
      message += text::shortened(text, kMost);
    if (message.size() > kMost) break;
  }
  if (list.is_pair()) tensors::refuse_escaping(*this, list.pair()->cdr);
  throw UserError(message, list);
}

} // namespace cairn::machine
