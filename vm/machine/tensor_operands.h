// What the sources vm/machine/tensor_*.cpp share: operands taken apart by the signature of their operator.
#pragma once

#include "vm/machine/engine.h"
#include "vm/machine/options.h"
#include "vm/machine/tensors.h"
#include "vm/value/charged.h"
#include "vm/value/owned.h"
#include "vm/value/tensor_object.h"

#include <optional>
#include <vector>

namespace cairn::machine::tensors {

using ops::shown_name;
std::optional<ops::DType> dtype_of_value(Value v); // of a symbol or string
// Small natural numbers in a list, as many as there may be axes; false: it is something else.
bool naturals(Value list, std::vector<std::int64_t>& out);
Value list_of(value::Heap& heap, std::span<const std::int64_t> numbers); // owned
std::string_view residence_of_value(Value v);                            // empty: no symbol
// By the operator's signature. `consumed`: by operand, as bits. Throws ProgramError.
Operands taken_apart(Engine& engine, const ops::Operator& op, std::span<const Value> operands, std::uint64_t consumed);

// Bytes that rules and tapes hold for so many operands while they work on them, to be charged: the length of a list operand is
// the program's choice.
inline std::int64_t bytes_beside(std::size_t operands) {
  constexpr std::size_t kFew = 64, kBytes = 1024; // copies of tensors, terms, values
  return operands <= kFew ? 0 : static_cast<std::int64_t>(operands * kBytes);
}

// The node of a number or a tensor on the tape, which an older tensor gets when it is met; kNone: a constant.
std::uint32_t node_of(Tape& tape, Value v);

// Puts an operation on the tape: a record that has its operator, attributes, operands, serial and number of results, and what it
// was applied to and gave, of which what is not kept goes (kept.cpp).
void record(Engine& engine, Tape& tape, std::shared_ptr<tape::TensorRecord> record, std::span<ops::Tensor> inputs,
            std::span<ops::Tensor> outputs);

// Of a record with an encoding, in ticks: what it takes to make that, where the operator itself takes so much, and to read it in
// the sweep.
struct EncodingTicks {
  std::uint64_t recorded = 0, swept = 0;
};
EncodingTicks ticks_of_encoding(const Engine& engine, const tape::TensorRecord& record, const ops::Tensor& encoded,
                                std::uint64_t of_operator);

// Behind an operation that was recorded: what a tensor made a few operations before it is kept for can often do with something
// smaller, if all who keep it can (smaller_forms.cpp).
void keep_smaller(Engine& engine, Tape& tape);

using Values = value::OwnedValues;

// A tensor of the program, about to be read. Only files that no machine wrote have such without elements.
inline const ops::Tensor& elements_of(Engine& engine, Value v) {
  if (value::is_watched(v)) [[unlikely]]
    engine.note_read(v.other()->serial);
  const ops::Tensor& t = value::tensor_of(v);
  if (!t.storage) throw ProgramError("a tensor without elements");
  return t;
}

// Calls f and turns the errors of operators and devices into those of the machine, in the name of `who`.
template <class F> auto translated(std::string_view who, F&& f) {
  try {
    return f();
  } catch (const ops::OperatorError& e) {
    std::string message = e.what();
    bool named = who.empty() || (message.starts_with(who) && message.substr(who.size()).starts_with(":"));
    throw ProgramError(named ? message : std::string(who) + ": " + message);
  } catch (const ops::DeviceMemoryExceeded& e) {
    throw DeviceFull(e.what());
  }
}

} // namespace cairn::machine::tensors
