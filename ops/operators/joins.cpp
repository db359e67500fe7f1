// Tensors put behind each other, and tensors with more or fewer elements at their borders.
#include "ops/cpu/loops/copy.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/pointwise.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::ops {

namespace {

// --- concat

int axis_of_concat(std::span<const Tensor> inputs, const Attributes& attributes) {
  return axis_in("concat-tensors", attributes[0].integer(), inputs[0].rank());
}

// Where channels lie last in all of them they stay there: convolutions and norms read what they have made several times as fast
// so.
bool channels_lie_last(std::span<const Tensor> inputs) {
  return std::ranges::all_of(inputs, [](const Tensor& t) {
    if (t.rank() < 3 || t.strides[1] != 1) return false;
    std::int64_t within = t.shape[1];
    for (int i = t.rank(); i-- > 0;) {
      if (i == 1 || t.shape[i] == 1) continue;
      if (t.strides[static_cast<std::size_t>(i)] < within) return false;
      within = t.strides[static_cast<std::size_t>(i)] * t.shape[i];
    }
    return true;
  });
}

void infer_concat(const Call& call, ResultTypes& results) {
  if (call.inputs.empty()) throw OperatorError("concat-tensors: no tensors are given");
  const Tensor& first = call.inputs[0];
  const int axis = axis_of_concat(call.inputs, call.attributes);
  rules::infer_same(call, results);
  for (const Tensor& t : call.inputs.subspan(1)) {
    bool fits = t.rank() == first.rank();
    for (int i = 0; fits && i < first.rank(); ++i) fits = i == axis || t.shape[i] == first.shape[i];
    if (!fits || __builtin_add_overflow(results[0].shape[axis], t.shape[axis], &results[0].shape[axis]))
      throw OperatorError(fmt::format("concat-tensors: shapes {} and {} do not go together along axis {}", first.shape.text(),
                                      t.shape.text(), axis));
    results[0].dtype = promoted(results[0].dtype, t.dtype);
  }
  results[0].channels_last = channels_lie_last(call.inputs);
}

void concat_kernel(const KernelCall& call) {
  const View& out = call.outputs[0];
  const auto given = call.attributes[0].integer();
  const int axis = static_cast<int>(given < 0 ? given + out.shape.rank() : given);
  std::int64_t at = 0;
  for (const View& in : call.inputs) {
    if (in.elements() != 0) cpu::copy_elements(cpu::narrowed(out, axis, at, in.shape[axis]), in);
    at += in.shape[axis];
  }
}

void narrow_concat(const RegionCall& call) {
  const int axis = axis_of_concat(call.call.inputs, call.call.attributes);
  std::int64_t at = 0;
  for (std::size_t n = 0; n < call.needed.size(); ++n) {
    regions::narrow_but(call.needed[n], call.box, 1u << axis);
    call.needed[n].within(axis, read_by_steps(call.box[axis], -at, 1));
    at += call.call.inputs[n].shape[axis];
  }
}
constexpr RegionRule kRegionsOfConcat = {"its place in one of them, moved", narrow_concat};

void concat_vjp(const VjpCall& call) {
  const int axis = axis_of_concat(call.inputs, call.attributes);
  std::int64_t at = 0;
  for (unsigned i = 0; i < call.inputs.size(); ++i) {
    const std::int64_t count = call.inputs[i].shape[axis];
    if (rules::wanted(call, i))
      call.results[i] = rules::fit(call.runtime,
                                   call.runtime.apply(OperatorId::narrow, {call.cotangents[0]},
                                                      rules::attributes({Attribute::of_integer(axis), Attribute::of_integer(at),
                                                                         Attribute::of_integer(count)})),
                                   call.inputs[i]);
    at += count;
  }
}

void concat_jvp(const JvpCall& call) {
  std::vector<Term> parts;
  std::vector<std::uint64_t> handles;
  parts.reserve(call.inputs.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    parts.push_back(rules::tangent_or_zeros(call, i));
    handles.push_back(parts.back().handle());
  }
  call.results[0] = Term(call.algebra, call.algebra.apply(OperatorId::concat, handles, call.attributes));
}

// --- pad

void infer_pad(const Call& call, ResultTypes& results) {
  const Tensor& t = call.inputs[0];
  const std::vector<std::int64_t>&before = call.attributes[0].list(), &behind = call.attributes[1].list();
  if (before.size() != static_cast<std::size_t>(t.rank()) || behind.size() != before.size())
    throw OperatorError(fmt::format("pad: {} and {} are not a number for each axis of a tensor of shape {}", list_text(before),
                                    list_text(behind), t.shape.text()));
  rules::infer_same(call, results);
  results[0].channels_last = channels_lie_last(call.inputs.first(1));
  for (int i = 0; i < t.rank(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    std::int64_t& size = results[0].shape[i];
    if (__builtin_add_overflow(size, before[k], &size) || __builtin_add_overflow(size, behind[k], &size) || size < 0 ||
        before[k] < -t.shape[i] || behind[k] < -t.shape[i])
      throw OperatorError(fmt::format("pad: axis {} of a tensor of shape {} cannot get {} elements before and {} behind", i,
                                      t.shape.text(), before[k], behind[k]));
  }
}

void pad_kernel(const KernelCall& call) {
  View to = call.outputs[0], from = call.inputs[0];
  const Attributes& a = call.attributes;
  const double number = a.values.size() > 2 && a[2].present() ? a[2].number() : 0;
  bool empty = from.elements() == 0;
  for (int i = 0; i < to.shape.rank(); ++i) {
    const std::int64_t before = a[0].list()[static_cast<std::size_t>(i)], behind = a[1].list()[static_cast<std::size_t>(i)];
    const std::int64_t first = std::max<std::int64_t>(0, -before);
    const std::int64_t count = from.shape[i] - first - std::max<std::int64_t>(0, -behind);
    empty = empty || count <= 0;
    if (empty) break;
    from = cpu::narrowed(from, i, first, count);
    if (before > 0) cpu::fill_elements(cpu::narrowed(to, i, 0, before), number);
    if (behind > 0) cpu::fill_elements(cpu::narrowed(to, i, to.shape[i] - behind, behind), number);
    to = cpu::narrowed(to, i, std::max<std::int64_t>(0, before), count);
  }
  if (empty)
    cpu::fill_elements(call.outputs[0], number);
  else
    cpu::copy_elements(to, from);
}

void narrow_pad(const RegionCall& call) {
  for (int i = 0; i < call.box.rank(); ++i)
    call.needed[0].padded(i, read_by_steps(call.box[i], -call.call.attributes[0].list()[static_cast<std::size_t>(i)], 1));
}
constexpr RegionRule kRegionsOfPad = {"its place, moved", narrow_pad};

void pad_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  Attributes back;
  back.values.assign(call.attributes.values.begin(), call.attributes.values.begin() + 2);
  for (Attribute& a : back.values) {
    std::vector<std::int64_t> counts = a.list();
    for (std::int64_t& count : counts) count = -count;
    a = Attribute::of_list(std::move(counts));
  }
  call.results[0] = call.runtime.apply(OperatorId::pad, {call.cotangents[0]}, back);
}

void pad_jvp(const JvpCall& call) {
  Attributes with_zeros;
  with_zeros.values.assign(call.attributes.values.begin(), call.attributes.values.begin() + 2);
  call.results[0] = apply(OperatorId::pad, {*call.tangents[0]}, with_zeros);
}

constexpr Definition join_definition(Infer infer, const RegionRule& regions, Kernel kernel, Vjp vjp, Jvp jvp,
                                     VjpMemory vjp_memory) {
  Definition d;
  d.infer = infer;
  d.regions = &regions;
  d.kernel = kernel;
  d.vjp = vjp;
  d.vjp_memory = vjp_memory;
  d.jvp = jvp;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition concat =
    join_definition(infer_concat, kRegionsOfConcat, concat_kernel, concat_vjp, concat_jvp, VjpMemory::parts);
constinit const Definition pad = join_definition(infer_pad, kRegionsOfPad, pad_kernel, pad_vjp, pad_jvp, VjpMemory::own);

} // namespace definitions

} // namespace cairn::ops
