// See region_rules.h.
#include "ops/operators/region_rules.h"

#include "ops/operators/definitions.h"

namespace cairn::ops::regions {

using rules::Mask;

void narrow_but(Region& region, const Box& box, Mask mask) {
  for (int i = 0; i < region.box.rank(); ++i)
    if ((mask >> i & 1) == 0) region.within(i, box[i]);
}

void narrow_unreduced(Region& region, const Box& box, Mask mask, bool kept) {
  int of_box = 0;
  for (int i = 0; i < region.box.rank(); ++i) {
    const bool gone = (mask >> i & 1) != 0;
    if (!gone) region.within(i, box[of_box]);
    of_box += !gone || kept ? 1 : 0;
  }
}

namespace {

void narrow_pointwise(const RegionCall& call) {
  for (Region& region : call.needed) region.stretched(region.box.rank(), call.box, call.box.rank());
}

void narrow_pointwise_vjp(const RegionCall& call) {
  narrow_pointwise(call);
  for (Region& region : call.needed) region.loosen(Fit::loose);
}

void narrow_nothing(const RegionCall&) {}

Mask mask_of(const RegionCall& call, const Shape& unreduced) {
  return rules::axes_of(shown_name(call.call.op), call.call.attributes, unreduced.rank());
}

void narrow_reduction(const RegionCall& call) {
  const Mask mask = mask_of(call, call.call.inputs[0].shape);
  for (Region& region : call.needed) narrow_unreduced(region, call.box, mask, rules::keeps_axes(call.call.attributes));
}

void narrow_reduction_mask(const RegionCall& call) {
  narrow_but(call.needed[0], call.box, mask_of(call, call.call.inputs[0].shape));
  call.needed[0].loosen(Fit::loose);
}

// The cotangent has the reduced shape, and so has the value that is the third operand of rules at its place.
template <bool at_place> void narrow_reduction_vjp(const RegionCall& call) {
  const Shape& x = call.call.inputs[1].shape;
  const Mask mask = mask_of(call, x);
  const bool kept = rules::keeps_axes(call.call.attributes);
  for (std::size_t n = 0; n < call.needed.size(); ++n) {
    Region& region = call.needed[n];
    if (n == 0 || (at_place && n == 2)) {
      int axis = 0;
      for (int i = 0; i < x.rank(); ++i) {
        const bool gone = (mask >> i & 1) != 0;
        if (!gone) region.within(axis, call.box[i]);
        axis += !gone || kept ? 1 : 0;
      }
    } else {
      narrow_but(region, call.box, at_place ? 0 : mask);
      if (!at_place) region.loosen(Fit::loose); // in products, of the others
    }
  }
}

template <std::size_t attribute, Fit fit> void narrow_line(const RegionCall& call) {
  const int axis = axis_in(shown_name(call.call.op), rules::integer_or(call.call.attributes, attribute, -1), call.box.rank());
  for (Region& region : call.needed) {
    narrow_but(region, call.box, 1u << axis);
    region.loosen(region.box[axis].size() < 2 ? Fit::loose : fit); // one element has no order, and a softmax of 1
  }
}

void narrow_matrices(const RegionCall& call) {
  for (Region& region : call.needed) {
    // Operands with a number for each matrix have no more axes than the stack has.
    const int stack = call.call.inputs.back().rank() - 2;
    for (int i = 0; i < stack; ++i) region.within(i, call.box[i]);
    region.loosen(Fit::loose);
  }
}

void loosen_all(const RegionCall& call) {
  for (Region& region : call.needed) region.loosen(Fit::loose);
}

} // namespace

constinit const RegionRule pointwise = {"its place", narrow_pointwise};
constinit const RegionRule pointwise_vjp = {"its place", narrow_pointwise_vjp};
constinit const RegionRule pointwise_drawn = {"its place, drawn by where that is in the whole", narrow_pointwise};
constinit const RegionRule no_operand = {"there are no operands", narrow_nothing};
constinit const RegionRule drawn = {"no operands, drawn by where its place is in the whole", narrow_nothing};
constinit const RegionRule everything = {"all", narrow_nothing};
constinit const RegionRule somewhere = {"all", loosen_all};
constinit const RegionRule reduction = {"all along the axes reduced", narrow_reduction};
constinit const RegionRule reduction_mask = {"all along the axes reduced", narrow_reduction_mask};
constinit const RegionRule reduction_vjp_at_place = {"its place", narrow_reduction_vjp<true>};
constinit const RegionRule reduction_vjp = {"all along the axes reduced", narrow_reduction_vjp<false>};
constinit const RegionRule line = {"all along the axis", narrow_line<0, Fit::every>};
constinit const RegionRule order = {"all along the axis", narrow_line<0, Fit::loose>};
constinit const RegionRule order_by_second = {"all along the axis", narrow_line<1, Fit::loose>};
constinit const RegionRule matrices = {"whole matrices of a stack", narrow_matrices};

} // namespace cairn::ops::regions
