// What the handlers of calls and primitives leave to functions that may throw and that own lists.
#include "vm/machine/engine.h"
#include "vm/machine/run_operator.h"
#include "vm/print/primitives.h"
#include "vm/value/owned.h"

#include <algorithm>

namespace cairn::machine {

using bytecode::kLastUse;
using value::Held;
using value::Owned;

namespace {

constexpr unsigned kMostPrimitiveArguments = std::max({
#define X(id, scheme, least, most) most,
#include "vm/bytecode/primitives.def"
#undef X
    0});

Value& source(Frame* frame, std::uint16_t field) { return frame->slots()[field & 0x7FFF]; }

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

Frame* Engine::apply_to_list(Value callee, Value list) {
  std::vector<Value> arguments;
  Value at = list;
  for (; at.is_pair(); at = at.pair()->cdr) arguments.push_back(at.pair()->car);
  if (at != value::kNull) throw ProgramError("apply: expected a list of arguments, got " + describe(list));
  Held<Frame> made(heap_, make_call(callee, arguments.data(), arguments.size()));
  at = list;
  if (Tape* tape = runs.back().tape)
    for_each_argument(made.get(), arguments.size(), [&](std::size_t, Value& slot) {
      if (slot.is_taped() || slot.is_flonum()) slot = read_field_taped(*tape, at.pair(), 0, slot);
      at = at.pair()->cdr;
    });
  return made.take();
}

// --- objects made by instructions; sources that stay in their registers become second places

// Only a tape can fail while it is filled: without one its elements need not be anything before.
value::Vector* Engine::new_vector(std::uint64_t length) {
  value::Vector* v = heap_.make_vector(length);
  if (runs.back().tape != nullptr) std::fill_n(v->items(), length, value::kUnspecified);
  return v;
}

Value Engine::pair_of(Frame* frame, std::uint16_t car, std::uint16_t cdr) {
  Held<value::Pair> made(heap_, static_cast<value::Pair*>(heap_.allocate(sizeof(value::Pair), Kind::pair)));
  Value* slots[] = {&made->car, &made->cdr};
  made->car = made->cdr = value::kUnspecified;
  const std::uint16_t fields[] = {car, cdr};
  fill_from(*this, frame, fields, [&](std::size_t i) -> Value& { return *slots[i]; });
  return value::of_pair(made.take());
}

Value Engine::vector_of(Frame* frame, std::span<const std::uint16_t> fields) {
  Held<value::Vector> made(heap_, new_vector(fields.size()));
  fill_from(*this, frame, fields, [&](std::size_t i) -> Value& { return made->items()[i]; });
  return value::of_other(made.take());
}

Value Engine::group_of(Frame* frame, const bytecode::Group& group, std::span<const std::uint16_t> captures) {
  Held<Block> made(heap_, heap_.make_block(static_cast<std::uint32_t>(group.functions.size()), static_cast<std::uint32_t>(captures.size())));
  for (std::size_t i = 0; i < group.functions.size(); ++i)
    made->procedure(static_cast<std::uint32_t>(i))->code = loaded.codes[group.functions[i]].get();
  std::fill_n(made->captured(), captures.size(), value::kUnspecified);
  fill_from(*this, frame, captures, [&](std::size_t i) -> Value& { return made->captured()[i]; });
  return value::of_procedure(made.take()->procedure(0));
}

Value Engine::vector_of_one(std::uint64_t length, Value x) {
  Tape* tape = runs.back().tape;
  Held<value::Vector> made(heap_, new_vector(length));
  for (std::uint64_t i = 0; i < length; ++i) made->items()[i] = duplicate(tape, x);
  return value::of_other(made.take());
}

Value Engine::vector_of_list(Value list, std::uint64_t length) {
  Tape* tape = runs.back().tape;
  Held<value::Vector> made(heap_, new_vector(length));
  for (std::uint64_t i = 0; i < length; ++i, list = list.pair()->cdr) made->items()[i] = read_field(tape, list.pair(), 0, list.pair()->car);
  return value::of_other(made.take());
}

Value Engine::updated_vector(Frame* frame, value::Vector* old, std::uint64_t index, std::uint16_t x) {
  Tape* tape = runs.back().tape;
  Held<value::Vector> made(heap_, new_vector(old->length));
  for (std::uint64_t k = 0; k < old->length; ++k)
    if (k != index) made->items()[k] = read_field(tape, old, static_cast<std::uint32_t>(k), old->items()[k]);
  const std::uint16_t fields[] = {x};
  fill_from(*this, frame, fields, [&](std::size_t) -> Value& { return made->items()[index]; });
  return value::of_other(made.take());
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
  if (on_tensors && tensors::is_tensor_like(arguments[0])) {
    tensors().set_origin(frame->code, frame->pc());
    v = tensors::apply(*this, *on_tensors, {arguments, 1}, (fields[0] & kLastUse) != 0 ? 1 : 0);
  } else {
    v = print::run_primitive(which, arguments, static_cast<unsigned>(fields.size()), *this);
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
  tensors().set_origin(frame->code, frame->pc());
  Value v = which < bytecode::kFirstTensorProcedure
                ? tensors::apply(*this, static_cast<ops::OperatorId>(which), given, consumed)
                : tensors::procedure(*this, static_cast<bytecode::TensorProcedure>(which - bytecode::kFirstTensorProcedure), given);
  for (std::size_t i = 0; i < fields.size(); ++i)
    if ((fields[i] & kLastUse) != 0) heap_.release(operands[i]);
  return v;
}

Value Engine::host(std::uint16_t import, Frame* frame, std::span<const std::uint16_t> fields) {
  std::vector<Value> arguments;
  for (std::uint16_t f : fields) arguments.push_back(source(frame, f));
  Value v = perform_host_call(*this, *loaded.hosts[import], arguments);
  for (std::size_t i = 0; i < fields.size(); ++i)
    if ((fields[i] & kLastUse) != 0) heap_.release(arguments[i]);
  return v;
}

// (error message irritant ...), its list in v; or a value that matches no pattern.
void Engine::fail(bool no_match, Value v) const {
  if (no_match) throw ProgramError("no pattern matches " + describe(v));
  std::string message;
  for (bool first = true; v.is_pair(); v = v.pair()->cdr, first = false) {
    Value part = v.pair()->car;
    if (!first) message += ' ';
    message += first && value::is_string(part) ? std::string(value::as_text(part)->view()) : describe(part);
    if (message.size() > 2000) break;
  }
  throw ProgramError(message);
}

} // namespace cairn::machine
