// Normalisations: over batch and space for each channel, over groups of channels, over the last axes. Reverse rules are one
// kernel for the part of x; those of scale and shift are sums.
#include "ops/cpu/normalize/batch_normalize.h"
#include "ops/cpu/normalize/layer_normalize.h"
#include "ops/cpu/normalize/normalize.h"
#include "ops/operators/lossy.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/shown_number.h"

#include "ops/operators/definitions.h"
#include "ops/pointwise.h"
#include "ops/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace cairn::ops {

namespace {

using cpu::Normalization;
using Kind = Normalization::Kind;

// Which attribute is what, by operator.
template <OperatorId id> constexpr bool kGrouped = id == OperatorId::group_normalization;
template <OperatorId id> constexpr bool kLast = id == OperatorId::layer_normalization || id == OperatorId::rms_normalization;

template <OperatorId id> Normalization read(const Attributes& attributes, int axes_of_scale) {
  Normalization n;
  n.kind = kGrouped<id> ? Kind::groups : kLast<id> ? Kind::last : Kind::batch;
  n.centred = id != OperatorId::rms_normalization;
  n.last = axes_of_scale;
  constexpr std::size_t epsilon = kGrouped<id> ? 1 : 0;
  if (kGrouped<id>) n.groups = attributes[0].integer();
  if (is_present(attributes, epsilon)) n.epsilon = attributes[epsilon].number();
  return n;
}

// The kind as attributes of internal operators: kind, groups, centred, epsilon.
Attributes written(const Normalization& n) {
  return rules::attributes({Attribute::of_integer(static_cast<std::int64_t>(n.kind)), Attribute::of_integer(n.groups),
                            Attribute::of_flag(n.centred), Attribute::of_number(n.epsilon)});
}
Normalization read_written(const Attributes& attributes, int axes_of_scale) {
  Normalization n;
  n.kind = static_cast<Kind>(attributes[0].integer());
  n.groups = attributes[1].integer();
  n.centred = attributes[2].integer() != 0;
  n.epsilon = attributes[3].number();
  n.last = axes_of_scale;
  return n;
}

Shape shape_of_scale(const Normalization& n, const Shape& x) {
  if (n.kind != Kind::last) return Shape{x[1]};
  return Shape(x.sizes().last(static_cast<std::size_t>(n.last)));
}

// Of what is told of the sets: those of the last axes are the other axes', those of groups the batch's.
Shape shape_of_sets(const Normalization& n, const Shape& x) {
  if (n.kind == Kind::batch) return Shape{x[1]};
  if (n.kind == Kind::groups) return Shape{x[0], n.groups};
  return Shape(x.sizes().first(static_cast<std::size_t>(x.rank() - n.last)));
}

template <OperatorId id> void infer(const Call& call, ResultTypes& results) {
  const std::string_view who = shown_name(call.op);
  const Shape &x = call.inputs[0].shape, &scale = call.inputs[1].shape;
  DType type = floating_of(call.inputs[0].dtype);
  for (const Tensor& t : call.inputs)
    if (!t.weak) type = floating_of(promoted(type, t.dtype));
  bool fits = kLast<id> ? scale.rank() >= 1 && scale.rank() <= x.rank() : x.rank() >= 2 && x.rank() <= 2 + kMostSpatial;
  const Normalization n = read<id>(call.attributes, scale.rank());
  const Shape wanted = fits ? shape_of_scale(n, x) : Shape();
  for (std::size_t i = 1; i < call.inputs.size(); ++i) fits = fits && call.inputs[i].shape == wanted;
  if (!fits) {
    std::string shapes;
    for (std::size_t i = 1; i < call.inputs.size(); ++i) shapes += (i == 1 ? "" : " and ") + call.inputs[i].shape.text();
    throw OperatorError(fmt::format("{}: a tensor of shape {} does not go together with {}", who, x.text(), shapes));
  }
  if (kGrouped<id> && (n.groups < 1 || x[1] % n.groups != 0 || (x[1] == 0 && n.groups != 1)))
    throw OperatorError(fmt::format("{}: a tensor of shape {} has no {} groups of channels", who, x.text(), n.groups));
  if (!(n.epsilon >= 0)) throw OperatorError(fmt::format("{}: epsilon is {}", who, shown_number(n.epsilon)));
  results[0].dtype = type;
  results[0].shape = x;
  results[0].channels_last = !kLast<id>;
  if (id == OperatorId::batch_normalization_training) {
    if (x.elements() == 0 && x[1] != 0) throw OperatorError(fmt::format("{}: a tensor of shape {} has no mean", who, x.text()));
    results.count = 3;
    for (unsigned i = 1; i < 3; ++i) {
      results[i].dtype = type;
      results[i].shape = wanted;
    }
  }
}

template <OperatorId id> void kernel(const KernelCall& call) {
  const auto in = call.inputs, out = call.outputs;
  const Normalization n = read<id>(call.attributes, in[1].shape.rank());
  if (id == OperatorId::batch_normalization_training)
    cpu::batch_normalize(n.epsilon, out[0], out[1], out[2], in[0], in[1], in[2]);
  else if (kLast<id>)
    cpu::layer_normalize({n.epsilon, n.centred}, out[0], in[0], in[1], in.size() > 2 ? &in[2] : nullptr);
  else
    cpu::normalize(n, out[0], in[0], &in[1], in.size() > 2 ? &in[2] : nullptr);
}

// --- internal: (cotangent, x, scale), and (x, scale), where only the shape of scale says something

void infer_like_x(const Call& call, ResultTypes& results, const Tensor& x) {
  results[0].dtype = floating_of(promoted(call.inputs[0].dtype, x.dtype));
  results[0].shape = x.shape;
  results[0].channels_last = static_cast<Kind>(call.attributes[0].integer()) != Kind::last;
}
void infer_normalization_vjp(const Call& call, ResultTypes& results) { infer_like_x(call, results, call.inputs[1]); }
void infer_normalized(const Call& call, ResultTypes& results) { infer_like_x(call, results, call.inputs[0]); }
void infer_normalized_with_variances(const Call& call, ResultTypes& results) {
  infer_normalized(call, results);
  results.count = 2;
  results[1].dtype = DType::f64;
  results[1].shape = shape_of_sets(read_written(call.attributes, call.inputs[1].shape.rank()), call.inputs[0].shape);
}

void vjp_kernel(const KernelCall& call) {
  const auto in = call.inputs;
  cpu::normalize_vjp(read_written(call.attributes, in[2].shape.rank()), call.outputs[0], in[0], in[1], in[2]);
}
void normalized_kernel(const KernelCall& call) {
  const auto in = call.inputs;
  cpu::normalize(read_written(call.attributes, in[1].shape.rank()), call.outputs[0], in[0], nullptr, nullptr);
}

void normalized_with_variances_kernel(const KernelCall& call) {
  const auto in = call.inputs, out = call.outputs;
  const Normalization n = read_written(call.attributes, in[1].shape.rank());
  if (n.kind == Kind::last)
    cpu::layer_normalized({n.epsilon, n.centred}, n.last, out[0], out[1], in[0]);
  else
    cpu::normalize(n, out[0], in[0], nullptr, nullptr, &out[1]);
}
void group_normalized_vjp_kernel(const KernelCall& call) {
  const auto in = call.inputs;
  cpu::normalize_vjp(read_written(call.attributes, in[2].shape.rank()), call.outputs[0], in[0], in[1], in[2], &in[3]);
}

// The cotangents of x, scale and shift.
template <bool channels_last> void infer_all_parts(const Call& call, ResultTypes& results) {
  results.count = 3;
  for (unsigned i = 0; i < 3; ++i) {
    const Tensor& like = call.inputs[i == 0 ? 1 : 2];
    results[i].dtype = floating_of(promoted(call.inputs[0].dtype, like.dtype));
    results[i].shape = like.shape;
  }
  results[0].channels_last = channels_last;
}
void batch_vjp_kernel(const KernelCall& call) {
  const auto in = call.inputs, out = call.outputs;
  cpu::batch_normalize_vjp(call.attributes[0].number(), out[0], out[1], out[2], in[0], in[1], in[2]);
}
void batch_normalized_vjp_kernel(const KernelCall& call) {
  const auto in = call.inputs, out = call.outputs;
  cpu::batch_normalized_vjp(call.attributes[0].number(), out[0], out[1], out[2], in[0], in[1], in[2], in[3]);
}
void layer_vjp_kernel(const KernelCall& call) {
  const auto in = call.inputs, out = call.outputs;
  cpu::layer_normalize_vjp({call.attributes[1].number(), call.attributes[0].integer() != 0}, out[0], out[1], out[2], in[0], in[1],
                           in[2]);
}

void layer_normalized_vjp_kernel(const KernelCall& call) {
  const auto in = call.inputs, out = call.outputs;
  cpu::layer_normalized_vjp({call.attributes[1].number(), call.attributes[0].integer() != 0}, out[0], out[1], out[2], in[0],
                            in[1], in[2], in[3]);
}

// A cotangent of y, or a product with one, summed to the numbers of scale or shift.
Tensor summed(Runtime& runtime, const Normalization& n, const Tensor& t, const Tensor& like) {
  if (n.kind == Kind::last) return rules::fit(runtime, t, like);
  std::vector<std::int64_t> axes;
  for (int i = 0; i < t.rank(); ++i)
    if (i != 1) axes.push_back(i);
  return rules::fit(runtime, runtime.apply(OperatorId::sum, {t}, rules::attributes({Attribute::of_list(std::move(axes))})), like);
}

Tensor column(Runtime& runtime, const Tensor& vector, const Tensor& like) {
  return runtime.apply(OperatorId::along_channels, {vector, like});
}

// Cotangents of mean and variance of a batch, which only programs that differentiate running statistics have. centred(): x less
// its mean.
template <class Centred> void add_part_of_statistics(const VjpCall& call, const Centred& centred) {
  Runtime& runtime = call.runtime;
  const Tensor& x = call.inputs[0];
  if (!call.wanted[0] || !is_floating(x.dtype)) return;
  const double count = static_cast<double>(x.elements()) / static_cast<double>(std::max<std::int64_t>(1, x.shape[1]));
  const auto add = [&](const Tensor& part) {
    const Tensor fitted = rules::fit(runtime, part, x);
    if (call.results[0].empty())
      call.results[0] = fitted;
    else
      runtime.accumulate(call.results[0], fitted);
  };
  if (call.cotangents.size() > 1 && !call.cotangents[1].empty()) {
    const Tensor part = column(runtime, runtime.apply(OperatorId::div, {call.cotangents[1], weak_number(count, false)}), x);
    add(runtime.apply(OperatorId::expand, {part}, rules::attributes({Attribute::of_list(x.shape.sizes())})));
  }
  if (call.cotangents.size() > 2 && !call.cotangents[2].empty()) {
    const Tensor part = column(runtime, runtime.apply(OperatorId::mul, {call.cotangents[2], weak_number(2 / count, false)}), x);
    add(runtime.apply(OperatorId::mul, {part, centred()}));
  }
}

void group_vjp(const VjpCall& call) {
  Runtime& runtime = call.runtime;
  const Tensor &x = call.inputs[0], &scale = call.inputs[1], &c = call.cotangents[0];
  const Normalization n = read<OperatorId::group_normalization>(call.attributes, scale.rank());
  const Tensor* const kept = call.smaller; // normalised, and the variances
  if (rules::wanted(call, 0)) {
    const Tensor part = kept != nullptr
                            ? runtime.apply(OperatorId::group_normalized_vjp, {c, kept[0], scale, kept[1]}, written(n))
                            : runtime.apply(OperatorId::normalization_vjp, {c, x, scale}, written(n));
    call.results[0] = rules::fit(runtime, part, x);
  }
  if (rules::wanted(call, 1)) {
    const Tensor normal = kept != nullptr ? kept[0] : runtime.apply(OperatorId::normalized, {x, scale}, written(n));
    call.results[1] = summed(runtime, n, runtime.apply(OperatorId::mul, {c, normal}), scale);
  }
  if (call.inputs.size() > 2 && rules::wanted(call, 2)) call.results[2] = summed(runtime, n, c, call.inputs[2]);
}

// By one kernel for all operands, which is given what stands behind the cotangent, in the memory of that if it is to be had.
void all_parts(const VjpCall& call, OperatorId kernel, std::initializer_list<Tensor> behind, const Attributes& attributes) {
  if (call.cotangents[0].empty()) return;
  std::array<Tensor, 4> room;
  const std::span<Tensor> operands(room.data(), 1 + behind.size());
  std::copy(behind.begin(), behind.end(), room.begin() + 1);
  if (call.given.empty()) // compilers differ in whether a choice between both would be a copy
    operands[0] = call.cotangents[0];
  else
    operands[0] = std::move(call.given[0]);
  constexpr bool consumed[] = {true};
  std::array<Tensor, kMostResults> parts;
  try {
    call.runtime.apply(operator_of(kernel), operands, consumed, attributes, parts);
  } catch (...) { // stopped, or memory was refused
    rules::give_back(call, operands[0]);
    throw;
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (call.wanted[i] && is_floating(call.inputs[i].dtype)) call.results[i] = rules::fit(call.runtime, parts[i], call.inputs[i]);
}

// By the normalised operand where that is kept, with an error, beside the exact variance: errors with a mean of zero leave what
// is linear in it right on average, as they would not if they changed the variance.
void batch_vjp(const VjpCall& call) {
  Runtime& runtime = call.runtime;
  const Tensor& x = call.inputs[0];
  const Normalization n = read<OperatorId::batch_normalization_training>(call.attributes, 1);
  const Attributes attributes = rules::attributes({Attribute::of_number(n.epsilon)});
  if (call.smaller == nullptr) {
    all_parts(call, OperatorId::batch_normalization_vjp, {x, call.inputs[1]}, attributes);
    add_part_of_statistics(call, [&] {
      return runtime.apply(OperatorId::sub, {x, column(runtime, runtime.apply(OperatorId::channel_mean, {x}), x)});
    });
    return;
  }
  const Tensor &normalized = *call.smaller, &variance = call.outputs[2];
  all_parts(call, OperatorId::batch_normalized_vjp, {normalized, call.inputs[1], variance}, attributes);
  add_part_of_statistics(call, [&] {
    const Tensor enlarged = runtime.apply(OperatorId::add, {variance, weak_number(n.epsilon, false)});
    return runtime.apply(OperatorId::mul, {normalized, column(runtime, runtime.apply(OperatorId::sqrt, {enlarged}), x)});
  });
}

// By the operator itself, whose kernel is the fastest for channels that lie closest.
Normalized normalized_in_batch(Runtime& runtime, const Call& call) {
  const Tensor& x = call.inputs[0];
  const auto all = [&](double number) {
    return runtime.apply(OperatorId::fill, {},
                         rules::attributes({Attribute::of_list({x.shape[1]}), Attribute::of_number(number),
                                            Attribute::of_type(x.dtype), Attribute::of_device(*x.device())}));
  };
  std::array<Tensor, 3> operands = {x, all(1), all(0)};
  std::array<Tensor, kMostResults> results;
  runtime.apply(call.op, operands, {}, call.attributes, results);
  return {std::move(results[0]), {}};
}

// The others have no variances among their results.
template <OperatorId id> Normalized normalized_operand(Runtime& runtime, const Call& call) {
  const Normalization n = read<id>(call.attributes, call.inputs[1].rank());
  std::array<Tensor, 2> operands = {call.inputs[0], call.inputs[1]};
  std::array<Tensor, kMostResults> results;
  runtime.apply(operator_of(OperatorId::normalized_with_variances), operands, {}, written(n), results);
  return {std::move(results[0]), std::move(results[1])};
}

template <OperatorId id> void layer_vjp(const VjpCall& call) {
  const Normalization n = read<id>(call.attributes, 1);
  const Attributes attributes = rules::attributes({Attribute::of_flag(n.centred), Attribute::of_number(n.epsilon)});
  const Tensor &scale = call.inputs[1], *kept = call.smaller; // normalised, and the variances
  if (kept != nullptr)
    all_parts(call, OperatorId::layer_normalized_vjp, {kept[0], scale, kept[1]}, attributes);
  else
    all_parts(call, OperatorId::layer_normalization_vjp, {call.inputs[0], scale}, attributes);
}

// --- forward: with h = (x - mean) r, where r is the inverse deviation, h' = r (x' - mean of x' - h mean of (h x'))

template <OperatorId id> Term mean_of(const JvpCall& call, const Term& t) {
  if constexpr (kLast<id> || kGrouped<id>)
    return apply(OperatorId::mean_within, {t, call.inputs[1]},
                 rules::attributes({Attribute::of_integer(kGrouped<id> ? call.attributes[0].integer() : 0)}));
  else
    return apply(OperatorId::along_channels, {apply(OperatorId::channel_mean, {t}), t});
}

template <OperatorId id> void jvp(const JvpCall& call) {
  const Normalization n = read<id>(call.attributes, 1);
  const Term& x = call.inputs[0];
  const auto beside = [&](const Term& t) { return kLast<id> ? t : apply(OperatorId::along_channels, {t, x}); };
  const Term centred = n.centred ? x - mean_of<id>(call, x) : x;
  const Term inverse = 1.0 / sqrt(mean_of<id>(call, centred * centred) + n.epsilon);
  const Term normal = centred * inverse;
  Term sum = 0.0;
  if (call.tangents[0] != nullptr) {
    const Term& t = *call.tangents[0];
    Term moved = t - normal * mean_of<id>(call, normal * t);
    if (n.centred) moved = moved - mean_of<id>(call, t);
    sum = beside(call.inputs[1]) * inverse * moved;
    if (id == OperatorId::batch_normalization_training && call.results.size() > 2) {
      call.results[1] = apply(OperatorId::channel_mean, {t});
      call.results[2] = apply(OperatorId::channel_mean, {2.0 * centred * t});
    }
  }
  if (call.tangents[1] != nullptr) sum = sum + normal * beside(*call.tangents[1]);
  if (call.inputs.size() > 2 && call.tangents[2] != nullptr) sum = sum + beside(*call.tangents[2]);
  call.results[0] = sum;
}

// --- mean-within: (x, scale, of which only the shape says something, groups or 0); symmetric in x

Normalization of_mean(const Attributes& attributes, int axes_of_scale) {
  Normalization n;
  n.groups = attributes[0].integer();
  n.kind = n.groups != 0 ? Kind::groups : Kind::last;
  n.last = axes_of_scale;
  return n;
}

void infer_mean_within(const Call& call, ResultTypes& results) {
  results[0].dtype = floating_of(call.inputs[0].dtype);
  results[0].shape = call.inputs[0].shape;
  results[0].channels_last = call.attributes[0].integer() != 0;
}

void mean_within_kernel(const KernelCall& call) {
  cpu::mean_within(of_mean(call.attributes, call.inputs[1].shape.rank()), call.outputs[0], call.inputs[0]);
}

void mean_within_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Tensor part = call.runtime.apply(OperatorId::mean_within, {call.cotangents[0], call.inputs[1]}, call.attributes);
  call.results[0] = rules::fit(call.runtime, part, call.inputs[0]);
}

void mean_within_jvp(const JvpCall& call) {
  if (call.tangents[0] != nullptr)
    call.results[0] = apply(OperatorId::mean_within, {*call.tangents[0], call.inputs[1]}, call.attributes);
}

// --- batch-normalization-test: (x, scale, shift, running mean, running variance, epsilon)

void infer_test(const Call& call, ResultTypes& results) { infer<OperatorId::batch_normalization_test>(call, results); }

void test_kernel(const KernelCall& call) {
  const auto in = call.inputs;
  const Normalization n = read<OperatorId::batch_normalization_test>(call.attributes, 1);
  cpu::normalize_by(n, call.outputs[0], in[0], in[1], in[2], in[3], in[4]);
}

void infer_times_normalized(const Call& call, ResultTypes& results) {
  results[0] = {call.inputs[0].dtype, call.inputs[0].shape};
  for (const Tensor& t : call.inputs.subspan(1)) {
    results[0].shape = broadcast(shown_name(call.op), results[0].shape, t.shape);
    results[0].dtype = promoted(results[0].dtype, t.dtype);
  }
  results[0].dtype = floating_of(results[0].dtype);
}

Term inverse_deviation(const JvpCall& call) {
  return 1.0 / sqrt(call.inputs[4] + read<OperatorId::batch_normalization_test>(call.attributes, 1).epsilon);
}

void test_vjp(const VjpCall& call) {
  Runtime& runtime = call.runtime;
  using O = OperatorId;
  const Tensor &x = call.inputs[0], &scale = call.inputs[1], &c = call.cotangents[0];
  const Normalization n = read<O::batch_normalization_test>(call.attributes, 1);
  if (c.empty()) return;
  const Tensor deviation = runtime.apply(O::sqrt, {runtime.apply(O::add, {call.inputs[4], weak_number(n.epsilon, false)})});
  if (rules::wanted(call, 0))
    call.results[0] =
        rules::fit(runtime, runtime.apply(O::mul, {c, column(runtime, runtime.apply(O::div, {scale, deviation}), x)}), x);
  if (rules::wanted(call, 1)) {
    const Tensor mean = column(runtime, call.inputs[3], x);
    call.results[1] = summed(runtime, n, runtime.apply(O::times_normalized, {c, x, mean, column(runtime, deviation, x)}), scale);
  }
  if (rules::wanted(call, 2)) call.results[2] = summed(runtime, n, c, call.inputs[2]);
}

void test_jvp(const JvpCall& call) {
  const Term& x = call.inputs[0];
  const auto beside = [&](const Term& t) { return apply(OperatorId::along_channels, {t, x}); };
  const Term inverse = inverse_deviation(call);
  Term sum = 0.0;
  if (call.tangents[0] != nullptr) sum = beside(call.inputs[1] * inverse) * *call.tangents[0];
  if (call.tangents[1] != nullptr) sum = sum + (x - beside(call.inputs[3])) * beside(*call.tangents[1] * inverse);
  if (call.tangents[2] != nullptr) sum = sum + beside(*call.tangents[2]);
  call.results[0] = sum;
}

// --- regions: all that is normalised together, and what of scale and shift stands beside the part

void narrow_set(Region& region, const Normalization& n, const Box& box, const Shape& x) {
  rules::Mask all = 0;
  for (int i = 0; i < x.rank(); ++i)
    if (n.kind == Kind::last ? i >= x.rank() - n.last : n.kind == Kind::batch ? i != 1 : i > 1) all |= 1u << i;
  if (n.kind != Kind::groups) return regions::narrow_but(region, box, all);
  const std::int64_t channels = x[1] / n.groups;
  region.within(0, box[0]);
  region.within(1, Range{box[1].begin / channels * channels, ((box[1].end - 1) / channels + 1) * channels});
}

void narrow_vector(Region& region, const Normalization& n, const Box& box) {
  if (n.kind == Kind::last)
    region.stretched(region.box.rank(), box, box.rank());
  else
    region.within(0, box[1]);
}

// Mean and variance, the results behind the first, are of channels.
template <OperatorId id> void narrow_normalization(const RegionCall& call) {
  const Shape& x = call.call.inputs[0].shape;
  const Normalization n = read<id>(call.call.attributes, call.call.inputs[1].shape.rank());
  if (call.result == 0)
    narrow_set(call.needed[0], n, call.box, x);
  else
    call.needed[0].within(1, call.box[0]);
  for (Region& region : call.needed.subspan(1)) {
    if (call.result == 0)
      narrow_vector(region, n, call.box);
    else
      region.unseen();
  }
}

void narrow_test(const RegionCall& call) {
  regions::narrow_but(call.needed[0], call.box, 0);
  for (Region& region : call.needed.subspan(1)) region.within(0, call.box[1]);
}

// (x, scale): of scale the shape alone.
template <Normalization (*read)(const Attributes&, int)> void narrow_within_sets(const RegionCall& call) {
  narrow_set(call.needed[0], read(call.call.attributes, call.call.inputs[1].shape.rank()), call.box, call.call.inputs[0].shape);
  call.needed[1].unseen();
}

// (cotangent, x, scale).
void narrow_part_of_x(const RegionCall& call, const Normalization& n) {
  const Shape& x = call.call.inputs[1].shape;
  for (Region& region : call.needed.first(2)) narrow_set(region, n, call.box, x);
  if (n.kind == Kind::batch) call.needed[2].within(0, call.box[1]);
  if (n.kind == Kind::groups) call.needed[2].within(0, call.needed[1].box[1]);
}
// Which sets have something in that part of x.
void narrow_variances(Region& region, const Normalization& n, const Box& box, const Shape& x) {
  if (n.kind == Kind::batch) return region.within(0, box[1]);
  region.within(0, box[0]);
  for (int i = 1; n.kind == Kind::last && i < x.rank() - n.last; ++i) region.within(i, box[i]);
  const std::int64_t channels = n.kind == Kind::groups ? x[1] / n.groups : 0;
  if (channels != 0) region.within(1, Range{box[1].begin / channels, (box[1].end - 1) / channels + 1});
}
void narrow_group_normalized_vjp(const RegionCall& call) {
  const Normalization n = read_written(call.call.attributes, call.call.inputs[2].shape.rank());
  narrow_part_of_x(call, n);
  narrow_variances(call.needed[3], n, call.box, call.call.inputs[1].shape);
}
// (x, scale), of which only the shape counts: what is normalised, and the variances.
void narrow_normalized_with_variances(const RegionCall& call) {
  const Normalization n = read_written(call.call.attributes, call.call.inputs[1].shape.rank());
  const Shape& x = call.call.inputs[0].shape;
  Region& region = call.needed[0];
  call.needed[1].unseen();
  if (call.result == 0) return narrow_set(region, n, call.box, x);
  if (n.kind == Kind::batch) return region.within(1, call.box[0]);
  for (int i = 0; i < (n.kind == Kind::last ? x.rank() - n.last : 1); ++i) region.within(i, call.box[i]);
  const std::int64_t channels = n.kind == Kind::groups ? x[1] / n.groups : 0;
  if (channels != 0) region.within(1, Range{call.box[1].begin * channels, call.box[1].end * channels});
}
void narrow_normalization_vjp(const RegionCall& call) {
  narrow_part_of_x(call, read_written(call.call.attributes, call.call.inputs[2].shape.rank()));
}

// The parts of scale and shift, results 1 and 2, are sums over all sets; that of shift is one of cotangents alone.
template <Kind kind> void narrow_all_parts(const RegionCall& call) {
  Normalization n;
  n.kind = kind;
  n.last = call.call.inputs[2].shape.rank();
  if (call.needed.size() > 3) { // the variances
    if (call.result == 0)
      narrow_variances(call.needed[3], n, call.box, call.call.inputs[1].shape);
    else
      call.needed[3].unseen();
  }
  if (call.result == 0) return narrow_part_of_x(call, n);
  Region &c = call.needed[0], &x = call.needed[1];
  if (kind == Kind::batch) {
    c.within(1, call.box[0]);
    x.within(1, call.box[0]);
  } else {
    for (int i = 0; i < n.last; ++i) c.within(c.box.rank() - n.last + i, call.box[i]);
    // What is normalised already needs no others of its row.
    for (int i = 0; call.needed.size() > 3 && i < n.last; ++i) x.within(x.box.rank() - n.last + i, call.box[i]);
  }
  if (call.result == 2) x.unseen();
  call.needed[2].unseen();
}

template <OperatorId id>
constexpr RegionRule kRegionsOfNorm = {kGrouped<id> ? "all of its group of channels"
                                       : kLast<id>  ? "all along the last axes"
                                                    : "all of its channel",
                                       narrow_normalization<id>};
constexpr RegionRule kRegionsOfTest = {"its place, and its channel of the vectors", narrow_test},
                     kRegionsOfMeanWithin = {"all that is normalised together", narrow_within_sets<of_mean>},
                     kRegionsOfNormalized = {"all that is normalised together", narrow_within_sets<read_written>},
                     kRegionsOfNormVjp = {"all that is normalised together", narrow_normalization_vjp},
                     kRegionsOfGroupVjp = {"all that is normalised together", narrow_group_normalized_vjp},
                     kRegionsWithVariances = {"all that is normalised together", narrow_normalized_with_variances};
template <Kind kind> constexpr RegionRule kRegionsOfParts = {"all that is normalised together", narrow_all_parts<kind>};

// Some ten flops an element, once over for each of mean, deviation and result.
Cost cost_of_normalization(const Call& call, const ResultTypes& results) {
  const auto n = static_cast<double>(results.types[0].shape.elements());
  double bytes = n * static_cast<double>(bytes_of(results.types[0].dtype));
  for (const Tensor& t : call.inputs) bytes += static_cast<double>(t.elements()) * static_cast<double>(bytes_of(t.dtype));
  return Cost{10 * n, bytes};
}

constexpr Definition normalization_definition(Infer infer, const RegionRule& regions, Kernel kernel, Vjp vjp = nullptr,
                                              Jvp jvp = nullptr, std::uint32_t keep = 0) {
  Definition d;
  d.infer = infer;
  d.regions = &regions;
  d.kernel = kernel;
  d.vjp = vjp;
  d.jvp = jvp;
  d.keep = keep;
  d.cost = cost_of_normalization;
  return d;
}

template <OperatorId id> constexpr Definition normalization(Vjp vjp, VjpMemory vjp_memory, LossyKind lossy) {
  Definition d = normalization_definition(infer<id>, kRegionsOfNorm<id>, kernel<id>, vjp, jvp<id>, keep_input(0) | keep_input(1));
  d.vjp_memory = vjp_memory;
  d.lossy = lossy;
  d.normalized = lossy == LossyKind::batch_normalization ? normalized_in_batch : normalized_operand<id>;
  return d;
}

template <OperatorId id> Shape sets_of(const Call& call) {
  return shape_of_sets(read<id>(call.attributes, call.inputs[1].rank()), call.inputs[0].shape);
}

} // namespace

bool is_variances_of(const Tensor& variances, const Call& call) {
  using enum OperatorId;
  const Shape shape = call.op.id == layer_normalization ? sets_of<layer_normalization>(call)
                      : call.op.id == rms_normalization ? sets_of<rms_normalization>(call)
                                                        : sets_of<group_normalization>(call);
  return variances.storage && !variances.weak && variances.dtype == DType::f64 && variances.shape == shape && variances.dense() &&
         variances.device() == call.inputs[0].device();
}

namespace definitions {

constinit const Definition batch_normalization_training =
    normalization<OperatorId::batch_normalization_training>(batch_vjp, VjpMemory::first_over, LossyKind::batch_normalization);
constinit const Definition layer_normalization_vjp = {.infer = infer_all_parts<false>,
                                                      .regions = &kRegionsOfParts<Kind::last>,
                                                      .kernel = layer_vjp_kernel,
                                                      .may_overwrite = kKeepInputs};
constinit const Definition batch_normalization_vjp = {.infer = infer_all_parts<true>,
                                                      .regions = &kRegionsOfParts<Kind::batch>,
                                                      .kernel = batch_vjp_kernel,
                                                      .may_overwrite = kKeepInputs};
constinit const Definition batch_normalized_vjp = {.infer = infer_all_parts<true>,
                                                   .regions = &kRegionsOfParts<Kind::batch>,
                                                   .kernel = batch_normalized_vjp_kernel,
                                                   .may_overwrite = kKeepInputs};
constinit const Definition batch_normalization_test = normalization_definition(
    infer_test, kRegionsOfTest, test_kernel, test_vjp, test_jvp, keep_input(0) | keep_input(1) | keep_input(3) | keep_input(4));
constinit const Definition times_normalized = {.infer = infer_times_normalized,
                                               .regions = &regions::pointwise,
                                               .kernel = cpu::times_normalized,
                                               .may_overwrite = kKeepInputs,
                                               .in_shared_layout = true,
                                               .borrows = false};
constinit const Definition group_normalization =
    normalization<OperatorId::group_normalization>(group_vjp, VjpMemory::own, LossyKind::group_normalization);
constinit const Definition layer_normalization = normalization<OperatorId::layer_normalization>(
    layer_vjp<OperatorId::layer_normalization>, VjpMemory::first_over, LossyKind::layer_normalization);
constinit const Definition rms_normalization = normalization<OperatorId::rms_normalization>(
    layer_vjp<OperatorId::rms_normalization>, VjpMemory::first_over, LossyKind::rms_normalization);
constinit const Definition mean_within = normalization_definition(infer_mean_within, kRegionsOfMeanWithin, mean_within_kernel,
                                                                  mean_within_vjp, mean_within_jvp, keep_input(1));
constinit const Definition normalization_vjp = normalization_definition(infer_normalization_vjp, kRegionsOfNormVjp, vjp_kernel);
constinit const Definition normalized_with_variances =
    normalization_definition(infer_normalized_with_variances, kRegionsWithVariances, normalized_with_variances_kernel);
constinit const Definition group_normalized_vjp =
    normalization_definition(infer_normalization_vjp, kRegionsOfGroupVjp, group_normalized_vjp_kernel);
constinit const Definition layer_normalized_vjp = {.infer = infer_all_parts<false>,
                                                   .regions = &kRegionsOfParts<Kind::last>,
                                                   .kernel = layer_normalized_vjp_kernel,
                                                   .may_overwrite = kKeepInputs};
constinit const Definition normalized = normalization_definition(infer_normalized, kRegionsOfNormalized, normalized_kernel);

} // namespace definitions

} // namespace cairn::ops
