// See directions.h.
#include "ops/operators/directions.h"

#include "ops/jets.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/pointwise.h"

#include <fmt/format.h>

#include <optional>

namespace cairn::ops::rules {

void check_directions(const Call& call) {
  const std::string_view who = shown_name(call.op);
  if (call.inputs.size() < 2) throw OperatorError(fmt::format("{}: a direction is missing", who));
  if (call.inputs.size() - 1 > kMostDirections)
    throw OperatorError(
        fmt::format("{}: derivatives are there up to order {}, not {}", who, kMostDirections, call.inputs.size() - 1));
  for (const Tensor& t : call.inputs)
    if (!(t.shape == call.inputs[0].shape))
      throw OperatorError(fmt::format("{}: shapes {} and {} are not the same", who, call.inputs[0].shape.text(), t.shape.text()));
}

void along_directions(const JvpCall& call, OperatorId along) {
  std::optional<Term> sum;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.tangents[i] == nullptr) continue;
    std::vector<std::uint64_t> members;
    for (const Term& t : call.inputs) members.push_back(t.handle());
    if (i == 0)
      members.push_back(call.tangents[0]->handle());
    else
      members[i] = call.tangents[i]->handle();
    Term part(call.algebra, call.algebra.apply(along, members, call.attributes));
    sum = sum ? *sum + part : std::move(part);
  }
  if (sum) call.results[0] = *std::move(sum);
}

Tensor with_cotangent(const VjpCall& call, OperatorId kernel, const Attributes& attributes) {
  std::vector<Tensor> inputs = {call.cotangents[0]};
  inputs.insert(inputs.end(), call.inputs.begin(), call.inputs.end());
  Tensor out;
  call.runtime.apply(operator_of(kernel), inputs, {}, attributes, std::span<Tensor>(&out, 1));
  return out;
}

} // namespace cairn::ops::rules
