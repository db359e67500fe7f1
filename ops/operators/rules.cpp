// What the rules of several families share.
#include "ops/operators/definitions.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/pointwise.h"

#include <algorithm>
#include <array>

namespace cairn::ops::rules {

std::int64_t integer_or(const Attributes& attributes, std::size_t n, std::int64_t otherwise) {
  return attributes.values.size() > n && attributes[n].present() ? attributes[n].integer() : otherwise;
}

double number_or(const Attributes& attributes, std::size_t n, double otherwise) {
  return attributes.values.size() > n && attributes[n].present() ? attributes[n].number() : otherwise;
}

Attributes attributes(std::initializer_list<Attribute> values) {
  Attributes out;
  out.values = values;
  return out;
}

void infer_same(const Call& call, ResultTypes& results) {
  results[0].dtype = call.inputs[0].dtype;
  results[0].shape = call.inputs[0].shape;
}

Cost cost_of_view(const Call&, const ResultTypes&) { return Cost{0, 0}; }

Tensor zeros(Runtime& runtime, const Tensor& like, const Shape& shape) {
  return runtime.apply(OperatorId::fill, {},
                       attributes({Attribute::of_list(shape.sizes()), Attribute::of_number(0), Attribute::of_type(like.dtype),
                                   Attribute::of_device(*like.device())}));
}

bool wanted(const VjpCall& call, unsigned input) {
  const Tensor& x = call.inputs[input];
  return call.wanted[input] && !call.cotangents[0].empty() && (x.weak || is_floating(x.dtype));
}

bool added_within(const VjpCall& call, const Shape& starts, const Shape& steps) {
  if (call.onto == nullptr) return false;
  call.onto->op = &operator_of(OperatorId::add_within);
  call.onto->others[0] = call.cotangents[0];
  call.onto->count = 1;
  call.onto->attributes = attributes({Attribute::of_list(starts.sizes()), Attribute::of_list(steps.sizes())});
  return true;
}

void give_back(const VjpCall& call, Tensor& cotangent) {
  if (!call.given.empty()) call.given[0] = std::move(cotangent);
}

Tensor over_cotangent(const VjpCall& call, OperatorId op, std::initializer_list<Tensor> more, const Attributes& attributes) {
  std::array<Tensor, 4> operands;
  if (call.given.empty()) // compilers differ in whether a choice between both would be a copy
    operands[0] = call.cotangents[0];
  else
    operands[0] = std::move(call.given[0]);
  std::copy(more.begin(), more.end(), operands.begin() + 1);
  constexpr bool consumed[] = {true};
  Tensor out;
  try {
    call.runtime.apply(operator_of(op), {operands.data(), more.size() + 1}, consumed, attributes, {&out, 1});
  } catch (...) { // stopped, or memory was refused
    give_back(call, operands[0]);
    throw;
  }
  return out;
}

Term tangent_or_zeros(const JvpCall& call, std::size_t input) {
  const Term& x = call.inputs[input];
  return call.tangents[input] != nullptr ? *call.tangents[input] : where(less(x, x), x, 0.0);
}

Tensor fit(Runtime& runtime, Tensor cotangent, const Tensor& input) {
  if (!(cotangent.shape == input.shape))
    cotangent = runtime.apply(OperatorId::sum_to, {cotangent}, attributes({Attribute::of_list(input.shape.sizes())}));
  if (!input.weak && cotangent.dtype != input.dtype)
    cotangent = runtime.apply(OperatorId::cast, {cotangent}, attributes({Attribute::of_type(input.dtype)}));
  return cotangent;
}

} // namespace cairn::ops::rules
