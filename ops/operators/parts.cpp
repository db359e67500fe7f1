// Tensors of which a part is replaced or added to. What is made of many parts is made so, one after the other in its own memory.
#include "ops/cpu/loops/copy.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/pointwise.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

// Operands are a tensor, the part, and where along each axis that begins.
void infer_part(const Call& call, ResultTypes& results) {
  const Tensor &whole = call.inputs[0], &part = call.inputs[1];
  const std::vector<std::int64_t>& starts = call.attributes[0].list();
  bool fits = part.rank() == whole.rank() && starts.size() == static_cast<std::size_t>(whole.rank());
  for (int i = 0; fits && i < whole.rank(); ++i) {
    const std::int64_t start = starts[static_cast<std::size_t>(i)];
    fits = start >= 0 && start <= whole.shape[i] && part.shape[i] <= whole.shape[i] - start;
  }
  if (!fits)
    throw OperatorError(fmt::format("{}: a part of shape {} from {} on is not in a tensor of shape {}", shown_name(call.op),
                                    part.shape.text(), list_text(starts), whole.shape.text()));
  if (part.dtype != whole.dtype)
    throw OperatorError(fmt::format("{}: a part of type {} in a tensor of type {}: `cast` it first", shown_name(call.op),
                                    name_of(part.dtype), name_of(whole.dtype)));
  rules::infer_same(call, results);
}

View window_of(const KernelCall& call) {
  View window = call.outputs[0];
  for (int i = 0; i < window.shape.rank(); ++i)
    window = cpu::narrowed(window, i, call.attributes[0].list()[static_cast<std::size_t>(i)], call.inputs[1].shape[i]);
  return window;
}

void with_part_kernel(const KernelCall& call) {
  const bool replaces_all = call.inputs[1].shape == call.outputs[0].shape;
  if (call.outputs[0].data != call.inputs[0].data && !replaces_all) cpu::copy_elements(call.outputs[0], call.inputs[0]);
  if (call.inputs[1].elements() != 0) cpu::copy_elements(window_of(call), call.inputs[1]);
}

void add_part_kernel(const KernelCall& call) {
  if (call.outputs[0].data != call.inputs[0].data) cpu::copy_elements(call.outputs[0], call.inputs[0]);
  if (call.inputs[1].elements() == 0) return;
  const View window = window_of(call);
  const View operands[] = {window, call.inputs[1]};
  const Attributes none;
  operator_of(OperatorId::add).kernel({operands, {&window, 1}, none});
}

// An addition, and two elements read and one written, of the part alone: whether the others are copied hangs on counts of
// references.
Cost cost_of_part(const Call& call, const ResultTypes&) {
  const auto elements = static_cast<double>(call.inputs[1].elements());
  return {elements, 3 * elements * static_cast<double>(bytes_of(call.inputs[1].dtype))};
}

void narrow_part(const RegionCall& call) {
  regions::narrow_but(call.needed[0], call.box, 0);
  for (int i = 0; i < call.box.rank(); ++i)
    call.needed[1].within(i, steps_within(call.box[i], call.call.attributes[0].list()[static_cast<std::size_t>(i)], 1,
                                          call.call.inputs[1].shape[i]));
}
constexpr RegionRule kRegionsOfAddedPart = {"its place, and moved", narrow_part};

// Elements of the first that the part replaces do not matter.
void narrow_with_part(const RegionCall& call) {
  narrow_part(call);
  std::int64_t replaced = 1, all = 1;
  for (int i = 0; i < call.box.rank(); ++i) {
    replaced *= call.needed[1].box[i].size();
    all *= call.box[i].size();
  }
  if (replaced == all)
    call.needed[0].unseen();
  else if (replaced != 0)
    call.needed[0].loosen(Fit::loose);
}
constexpr RegionRule kRegionsOfReplacedPart = {"its place, and moved", narrow_with_part};

Tensor cut(const VjpCall& call) {
  return call.runtime.apply(OperatorId::crop, {call.cotangents[0]},
                            rules::attributes({call.attributes[0], Attribute::of_list(call.inputs[1].shape.sizes())}));
}

void with_part_vjp(const VjpCall& call) {
  if (rules::wanted(call, 1)) call.results[1] = cut(call);
  if (rules::wanted(call, 0))
    call.results[0] = call.runtime.apply(
        OperatorId::with_part, {call.cotangents[0], rules::zeros(call.runtime, call.cotangents[0], call.inputs[1].shape)},
        call.attributes);
}

void add_part_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0)) call.results[0] = call.cotangents[0];
  if (rules::wanted(call, 1)) call.results[1] = cut(call);
}

void part_jvp(const JvpCall& call) {
  call.results[0] = apply(call.op.id, {rules::tangent_or_zeros(call, 0), rules::tangent_or_zeros(call, 1)}, call.attributes);
}

} // namespace

namespace definitions {

constinit const Definition with_part = {.infer = infer_part,
                                        .regions = &kRegionsOfReplacedPart,
                                        .kernel = with_part_kernel,
                                        .vjp = with_part_vjp,
                                        .jvp = part_jvp,
                                        .may_overwrite = keep_input(0),
                                        .borrows = false,
                                        .cost = cost_of_part};
constinit const Definition add_part = {.infer = infer_part,
                                       .regions = &kRegionsOfAddedPart,
                                       .kernel = add_part_kernel,
                                       .vjp = add_part_vjp,
                                       .jvp = part_jvp,
                                       .may_overwrite = keep_input(0),
                                       .borrows = false,
                                       .cost = cost_of_part};

} // namespace definitions

} // namespace cairn::ops
