// Bits that say where a tensor is positive, or which of two operands was taken: what a reverse rule that asks for nothing else
// can do with (SmallerForm).
#include "ops/cpu/elements/bits.h"

#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/pointwise_binary.h"

#include <algorithm>
#include <array>

namespace cairn::ops {

namespace {

void set_bits(const Shape& of, ResultTypes& results) {
  results[0].dtype = DType::u8;
  results[0].shape = Shape{};
  results[0].shape.push_back((of.elements() + 7) / 8);
}
void infer_bits(const Call& call, ResultTypes& results) { set_bits(call.inputs[0].shape, results); }
void infer_choice_bits(const Call& call, ResultTypes& results) {
  set_bits(broadcast(shown_name(call.op), call.inputs[0].shape, call.inputs[1].shape), results);
}

// With elements one behind the other, as they lie in the memory of what `like` describes, which is dense.
Tensor in_order_of(Runtime& runtime, Tensor t, const Tensor& like) {
  if (t.strides != like.strides || !t.dense()) {
    const auto axes = axes_in_memory(like);
    Tensor turned = t;
    for (int i = 0; i < t.rank(); ++i) {
      const int from = axes[static_cast<std::size_t>(i)];
      turned.shape[i] = t.shape[from];
      turned.strides[static_cast<std::size_t>(i)] = t.strides[static_cast<std::size_t>(from)];
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

bool has_positive_bits(const Call&, std::span<const Tensor> whole) { return whole[0].dense() && is_floating(whole[0].dtype); }

bool has_choice_bits(const Call&, std::span<const Tensor> whole) {
  return std::ranges::all_of(whole, [](const Tensor& t) { return t.weak || is_floating(t.dtype); });
}

Tensor chosen_from(const VjpCall& call) {
  Tensor like;
  like.shape = call.outputs[0].shape;
  set_shared_layout(like, call.inputs);
  return like;
}

Tensor over_cotangent_by_bits(const VjpCall& call, const Tensor& like, ByBits by) {
  Tensor cotangent;
  if (call.given.empty() || !by.last)
    cotangent = call.cotangents[0];
  else
    cotangent = std::move(call.given[0]);
  // The rule that has the tensors themselves gives a result in their layout where the cotangent has it, too, and else a row-major
  // one: so does this one, as whoever sums over elements does it in their order.
  const bool turned = cotangent.strides != like.strides && !like.contiguous();
  std::array<Tensor, 2> operands;
  Tensor out;
  try {
    operands[0] = in_order_of(call.runtime, cotangent, like);
    operands[1] = *call.smaller;
    if (!turned) cotangent.storage = {};
    const bool consumed[] = {by.last};
    call.runtime.apply(operator_of(OperatorId::times_bits), operands, consumed,
                       attributes({Attribute::of_number(by.otherwise), Attribute::of_integer(by.flipped ? 1 : 0)}), {&out, 1});
    out.shape = like.shape;
    out.strides = like.strides;
    if (turned) out = call.runtime.apply(OperatorId::contiguous, {out});
  } catch (...) { // stopped, or memory was refused: in another order of elements the cotangent is still in `given`'s memory
    if (!cotangent.storage) {
      cotangent = operands[0];
      cotangent.shape = like.shape;
      cotangent.strides = like.strides;
    }
    if (by.last) give_back(call, cotangent);
    throw;
  }
  return out;
}

} // namespace rules

namespace definitions {

constinit const Definition positive_bits = {.infer = infer_bits, .regions = &regions::somewhere, .kernel = cpu::positive_bits};
constinit const Definition max_bits = {
    .infer = infer_choice_bits, .regions = &regions::somewhere, .kernel = cpu::choice_bits<pointwise::Max>};
constinit const Definition min_bits = {
    .infer = infer_choice_bits, .regions = &regions::somewhere, .kernel = cpu::choice_bits<pointwise::Min>};
constinit const Definition times_bits = {.infer = rules::infer_same,
                                         .regions = &regions::somewhere,
                                         .kernel = cpu::times_bits,
                                         .may_overwrite = keep_input(0),
                                         .borrows = false};

} // namespace definitions

} // namespace cairn::ops
