// What the families of operators put into the registry, and what their rules share.
#pragma once

#include "ops/operator_ids.h"
#include "ops/operators/runtime.h"

#include <string_view>

namespace cairn::ops {

// The definitions, one for each operator, each in the source of its family. A missing one is an error of the linker.
namespace definitions {
// clang-format off
#define X(id, signature, text) extern const Definition id;
#include "ops/internal.def"
#undef X
#define X(id, name, signature, text) extern const Definition id;
#include "ops/operators.def"
#undef X
#define X(id, Struct, ...) extern const Definition id##_vjp;
CAIRN_POINTWISE_UNARY(X)
CAIRN_POINTWISE_PARAMETER(X)
#undef X
#define X(id, Struct, ...) extern const Definition id##_vjp_a, id##_vjp_b;
CAIRN_POINTWISE_BINARY(X)
#undef X
// clang-format on
} // namespace definitions

namespace rules {

// The n-th operand that is no tensor, or what it means when it is absent.
std::int64_t integer_or(const Attributes& attributes, std::size_t n, std::int64_t otherwise);
double number_or(const Attributes& attributes, std::size_t n, double otherwise);
Attributes attributes(std::initializer_list<Attribute> values);

// The shape rule of operators whose result has type and shape of the first operand.
void infer_same(const Call& call, ResultTypes& results);
// The cost of a view: nothing is read or written.
Cost cost_of_view(const Call& call, const ResultTypes& results);
// Zeros like a tensor: of its type, on its device, of this shape.
Tensor zeros(Runtime& runtime, const Tensor& like, const Shape& shape);
// Has this operand a derivative that is wanted now, with a cotangent of the first output?
bool wanted(const VjpCall& call, unsigned input);
// An operator on the cotangent of the first output, which is not looked at again, and more; in the cotangent's memory if that is
// to be had.
Tensor over_cotangent(const VjpCall& call, OperatorId op, std::initializer_list<Tensor> more, const Attributes& attributes = {});
// Where a rule asks for nothing but which elements are positive, or which operand was taken: whether bits can say that of such
// tensors, and the cotangent of the first output times 1 where the bit is set, else times that number; `flipped`: where it is not
// set, else. `like`: what the bits are of. `last`: the cotangent is not looked at again.
struct ByBits {
  double otherwise = 0;
  bool flipped = false, last = true;
};
bool has_positive_bits(const Call& call, std::span<const Tensor> whole);
bool has_choice_bits(const Call& call, std::span<const Tensor> whole);
Tensor over_cotangent_by_bits(const VjpCall& call, const Tensor& like, ByBits by);
// What bits of a choice between both operands are of: the result, as it lies.
Tensor chosen_from(const VjpCall& call);
// Where the first operand's cotangent has a sum, the cotangent of the first output is added to its elements from so many on along
// each axis, in such steps: true. Else the rule has to make a part.
bool added_within(const VjpCall& call, const Shape& starts, const Shape& steps);
// Puts the cotangent of the first output, which was taken out of `given`, back there because work was stopped: the sweep will
// begin this record again with it.
void give_back(const VjpCall& call, Tensor& cotangent);
// The tangent of an operand, or zeros of its shape and type.
Term tangent_or_zeros(const JvpCall& call, std::size_t input);
// A cotangent as computed in the shape and type of the result, brought to those of an input: summed where that was stretched.
Tensor fit(Runtime& runtime, Tensor cotangent, const Tensor& input);

} // namespace rules

} // namespace cairn::ops
