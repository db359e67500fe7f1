// The rules of regions that families of operators share, and what the others are made of; see ops/regions.h. A rule of one
// operator stands beside its shape rule.
#pragma once

#include "ops/axes.h"
#include "ops/regions.h"

namespace cairn::ops::regions {

// --- at the same place

// Each element is made of those at its own place, where operands are stretched.
extern const RegionRule pointwise;
// Such a kernel of a reverse rule, which does not look at all of its operands.
extern const RegionRule pointwise_vjp;
// The operand at the same place, and random numbers as `drawn`.
extern const RegionRule pointwise_drawn;

// --- along whole axes

// New tensors, which have no operands.
extern const RegionRule no_operand;
// The same of random numbers, by a key and their place in the whole tensor.
extern const RegionRule drawn;
// All of all operands.
extern const RegionRule everything;
// Of bytes that say something of elements one behind the other: which of them decide depends on how these lie.
extern const RegionRule somewhere;
// Reductions with the operands "lb", of tensors of one shape; and their masks, which have the operand's shape.
extern const RegionRule reduction;
extern const RegionRule reduction_mask;
// Reverse rules (cotangent, x[, y]) of reductions: x at its own place, or along all of what was reduced.
extern const RegionRule reduction_vjp_at_place;
extern const RegionRule reduction_vjp;
// All operands have the shape of the result, but for the axis along which all of them is looked at: operand 0 of those that are
// no tensors, the last axis where it is absent.
extern const RegionRule line;
// The same where the numbers decide which of them matter, by operand 0 or 1.
extern const RegionRule order;
extern const RegionRule order_by_second;
// Each matrix of a stack is made of whole matrices of the operands, or numbers of them.
extern const RegionRule matrices;

// --- of which rules are made

// All of the axes of the mask, the others as of the box.
void narrow_but(Region& region, const Box& box, rules::Mask mask);
// The same where the box is of a tensor that lost those axes, unless they were kept.
void narrow_unreduced(Region& region, const Box& box, rules::Mask mask, bool kept);

} // namespace cairn::ops::regions
