// What reverse rules are modelled to take.
#pragma once

#include "ops/operator.h"

#include <cstdint>
#include <optional>
#include <span>

namespace cairn::ops {

struct RuleCost {
  Cost cost;
  std::uint64_t operations = 0; // that the rule applies
};

// Of the rule of `call.op` for the operands that are wanted, with cotangents of those results that are given some: the rule
// itself is called, with tensors that have no elements, and what it would spend is counted. `results` and the operands may be
// descriptions, and so may `smaller`, what is kept in place of what the rule asks for, if anything is. Nobody's work or account
// hears of it. Nothing: the rule cannot be told without elements. Cancelled, where the current meter was.
std::optional<RuleCost> cost_of_rule(const Call& call, std::span<const Tensor> results, std::span<const bool> given,
                                     std::span<const bool> wanted, std::span<const Tensor> smaller);

} // namespace cairn::ops
