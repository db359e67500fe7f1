// Bits that say where a tensor is positive: what a reverse rule that asks for nothing else can do with (SmallerForm).
#include "ops/cpu/elements/bits.h"

#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace cairn::ops {

namespace {

void infer_bits(const Call& call, ResultTypes& results) {
  results[0].dtype = DType::u8;
  results[0].shape = Shape{};
  results[0].shape.push_back((call.inputs[0].elements() + 7) / 8);
}

// With elements one behind the other, as they lie in the memory of what `like` describes, which is dense.
Tensor in_order_of(Runtime& runtime, Tensor t, const Tensor& like) {
  if (t.strides != like.strides || !t.dense()) {
    std::array<std::int64_t, kMostAxes> axes;
    std::iota(axes.begin(), axes.end(), 0);
    const auto rank = static_cast<std::size_t>(t.rank());
    std::stable_sort(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(rank), [&](std::int64_t a, std::int64_t b) {
      return like.strides[static_cast<std::size_t>(a)] > like.strides[static_cast<std::size_t>(b)];
    });
    Tensor turned = t;
    for (std::size_t i = 0; i < rank; ++i) {
      turned.shape[static_cast<int>(i)] = t.shape[static_cast<int>(axes[i])];
      turned.strides[i] = t.strides[static_cast<std::size_t>(axes[i])];
    }
    t = runtime.apply(OperatorId::contiguous, {turned});
  }
  t.shape = Shape{};
  t.shape.push_back(like.elements());
  t.strides = {};
  set_contiguous(t);
  return t;
}

} // namespace

namespace rules {

bool has_positive_bits(const Call&, const Tensor& kept) { return kept.dense() && is_floating(kept.dtype); }

Tensor over_cotangent_by_bits(const VjpCall& call, const Tensor& like, double otherwise) {
  Tensor cotangent;
  if (call.given.empty())
    cotangent = call.cotangents[0];
  else
    cotangent = std::move(call.given[0]);
  // The rule that has the tensor itself gives a result in that one's layout where the cotangent has it, too, and else a row-major
  // one: so does this one, as whoever sums over elements does it in their order.
  const bool turned = cotangent.strides != like.strides && !like.contiguous();
  std::array<Tensor, 2> operands;
  Tensor out;
  try {
    operands[0] = in_order_of(call.runtime, cotangent, like);
    operands[1] = *call.smaller;
    if (!turned) cotangent.storage = {};
    constexpr bool consumed[] = {true};
    call.runtime.apply(operator_of(OperatorId::times_bits), operands, consumed, attributes({Attribute::of_number(otherwise)}),
                       {&out, 1});
    out.shape = like.shape;
    out.strides = like.strides;
    if (turned) out = call.runtime.apply(OperatorId::contiguous, {out});
  } catch (...) { // stopped, or memory was refused: in another order of elements the cotangent is still in `given`'s memory
    if (!cotangent.storage) {
      cotangent = operands[0];
      cotangent.shape = like.shape;
      cotangent.strides = like.strides;
    }
    give_back(call, cotangent);
    throw;
  }
  return out;
}

} // namespace rules

namespace definitions {

constinit const Definition positive_bits = {.infer = infer_bits, .regions = &regions::somewhere, .kernel = cpu::positive_bits};
constinit const Definition times_bits = {
    .infer = rules::infer_same, .regions = &regions::somewhere, .kernel = cpu::times_bits, .may_overwrite = keep_input(0)};

} // namespace definitions

} // namespace cairn::ops
