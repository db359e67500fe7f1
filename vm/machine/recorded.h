// Recorded tensors: what a procedure would compute of tensors of which type, sizes and residence are known, and no elements. An
// operator that meets one among its operands computes nothing, and gives another one that says of what it would be made. So what
// a procedure does with tensors becomes a graph of ordinary values, which the library (compiler/library/tile-graphs.scm) reads.
// What decides by elements is an error.
//   #(%recorded TYPE SIZES RESIDENCE OPERATOR OPERANDS RESULT PLACE)
// A vector to the machine, and a tensor to `vector?`: symbols, a list of integers; the name of an operator as
// ops/operators.def has it, the list of its operands as the program gave them, and which of its results it is; where in the
// program, as a number (places.h). Of what the library hands to the procedure, the operator is %input.
#pragma once

#include "vm/machine/engine.h"

#include <span>

namespace cairn::machine::tensors {

inline constexpr std::uint64_t kRecordedLength = 8;
inline bool may_be_recorded(Value v) { return value::is_vector(v) && value::as_vector(v)->length == kRecordedLength; }
bool is_recorded(Value v);
// Of two operands, one of them recorded, as eqv? has it: what types and shapes tell. ProgramError where elements would have to.
bool same_recorded(Engine& engine, Value x, Value y);
// What operators take in the place of a tensor.
inline bool is_operand(Value v) { return is_tensor_like(v) || is_recorded(v); }
// Of u8, as what is no condition.
bool is_recorded_comparison(Value v);
// One of the operands of an operator, members of lists included.
bool any_recorded(const ops::Operator& op, std::span<const Value> operands);

// Type and shape of a recorded tensor. ProgramError where the vector is not as it should be.
ops::Tensor description_of_recorded(Engine& engine, Value recorded);
// What the operator gives (owned): a recorded tensor, or a list of several.
Value record(Engine& engine, const ops::Operator& op, std::span<const Value> operands);
// size, tensor-type and their kind; ProgramError for those that look at elements.
Value procedure_of_recorded(Engine& engine, bytecode::TensorProcedure which, std::span<const Value> operands);
// Of who looks at elements or takes the derivative by them; a procedure of the library that does is named by whoever locates the
// error.
[[noreturn]] void refuse_recorded(const Engine& engine, std::string_view who);
// Whether a value holds something of a recording, a text that is known by itself. What procedures and capsules hold counts.
bool holds_recorded(Engine& engine, Value v, Value recording);
// Of the irritants of an error that may go to a handler: RecordedError where they hold something of a recording that began behind
// it, as there nothing could be done with that.
void refuse_escaping(Engine& engine, Value irritants);
// The same tensor, through which no derivative passes: made by the operator stop-gradient of the library (owned).
Value stopped(Engine& engine, Value recorded);

// Random numbers of an operator that was recorded: its key, as an operand (owned), and back; false: v is none.
Value value_of_key(Engine& engine, std::uint64_t key);
bool key_of_value(Value v, std::uint64_t& key);

// (apply-operator name operands): the operator on a list of operands. `consumed`: by operand of this procedure.
Value apply_by_name(Engine& engine, std::span<const Value> operands, std::uint64_t consumed);
// (%apply-recorded name operands place how)
Value apply_again(Engine& engine, std::span<const Value> operands, std::uint64_t consumed);
// (%derivative-reads? name i), (%derivative-reads? name #f): the result
Value derivative_reads(Engine& engine, std::span<const Value> operands);
// (%passes-derivative? name i)
Value passes_derivative(Engine& engine, std::span<const Value> operands);
// (operand-regions name operands result starts sizes)
Value operand_regions(Engine& engine, std::span<const Value> operands);

} // namespace cairn::machine::tensors
