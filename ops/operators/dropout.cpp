// Dropout. What is left is a function of the key and the index alone, so a step that runs again drops the same elements, and the
// reverse rule is the operator itself on the cotangent: no mask is kept. Who computes a tensor part by part says where in the
// whole a part lies, and drops there what the whole would have dropped.
#include "ops/cpu/device/workers.h"
#include "ops/cpu/elements/random.h"
#include "ops/cpu/loops/groups.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/shown_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cairn::ops {

namespace {

// Operands behind the key: where a part begins, and the sizes of the whole.
constexpr std::size_t kStartsOfPart = 1, kSizesOfWhole = 2;
bool has_attribute(const Attributes& attributes, std::size_t i) {
  return attributes.values.size() > i && attributes[i].present();
}

void check_part(const Call& call) {
  const Shape& part = call.inputs[0].shape;
  if (has_attribute(call.attributes, kStartsOfPart) != has_attribute(call.attributes, kSizesOfWhole))
    throw OperatorError(fmt::format("{}: where a part begins and the sizes of the whole go together", shown_name(call.op)));
  if (!has_attribute(call.attributes, kStartsOfPart)) return;
  const std::vector<std::int64_t>&starts = call.attributes[kStartsOfPart].list(), &sizes = call.attributes[kSizesOfWhole].list();
  const auto rank = static_cast<std::size_t>(part.rank());
  bool fits = starts.size() == rank && sizes.size() == rank;
  std::int64_t all = 1;
  for (std::size_t i = 0; fits && i < rank; ++i) {
    const std::int64_t count = part[static_cast<int>(i)];
    fits = starts[i] >= 0 && sizes[i] >= count && starts[i] <= sizes[i] - count && !__builtin_mul_overflow(all, sizes[i], &all);
  }
  if (!fits)
    throw OperatorError(fmt::format("{}: a part of shape {} from {} on is not in a tensor of shape {}", shown_name(call.op),
                                    part.text(), list_text(starts), list_text(sizes)));
}

void infer_dropout(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  results[0].dtype = floating_of(results[0].dtype);
  const double p = call.attributes[0].number();
  if (!(p >= 0 && p <= 1)) throw OperatorError(fmt::format("{}: {} is not a probability", shown_name(call.op), shown_number(p)));
  check_part(call);
}

void infer_planewise(const Call& call, ResultTypes& results) {
  infer_dropout(call, results);
  if (call.inputs[0].rank() < 2)
    throw OperatorError(
        fmt::format("dropout-planewise: a tensor of shape {} has no axes of batch and channels", call.inputs[0].shape.text()));
}

// What an element or plane is multiplied by for which this number was drawn; 0: dropped, and an infinite one too.
double factor(double drawn, double p) { return drawn < p ? 0 : 1 / (1 - p); }
double scaled(double x, double factor) { return factor == 0 ? 0 : x * factor; }

// Where elements of a part are in the whole, as one number for each, in row-major order along the first `axes` axes.
class DrawnPlaces {
public:
  DrawnPlaces(const KernelCall& call, int axes) : axes_(axes) {
    const Shape& shape = call.outputs[0].shape;
    const bool part = has_attribute(call.attributes, kStartsOfPart);
    std::int64_t stride = 1;
    for (int i = axes; i-- > 0;) {
      const auto k = static_cast<std::size_t>(i);
      const std::int64_t size = part ? call.attributes[kSizesOfWhole].list()[k] : shape[i];
      counts_[k] = shape[i];
      strides_[k] = stride;
      first_ += part ? call.attributes[kStartsOfPart].list()[k] * stride : 0;
      stride *= size;
      if (size != shape[i] && run_axis_ == 0) run_axis_ = i;
    }
  }
  // From this axis on elements of the part are behind each other in the whole.
  int run_axis() const { return run_axis_; }
  // Of the element, or the run of elements, with this number among those of the first so many axes of the part.
  std::int64_t place(std::int64_t i, int axes) const {
    std::int64_t at = first_;
    for (auto k = static_cast<std::size_t>(axes); k-- > 0; i /= counts_[k]) at += i % counts_[k] * strides_[k];
    return at;
  }
  std::int64_t place(std::int64_t i) const { return place(i, axes_); }

private:
  int axes_, run_axis_ = 0;
  std::int64_t first_ = 0;
  std::array<std::int64_t, kMostAxes> counts_{}, strides_{};
};

void dropout_kernel(const KernelCall& call) {
  if (call.outputs[0].elements() == 0) return;
  const int rank = call.outputs[0].shape.rank();
  const DrawnPlaces places(call, rank);
  const int first = places.run_axis();
  const unsigned run = ((1u << rank) - 1) & ~((1u << first) - 1);
  const cpu::Groups from(call.inputs[0], run), to(call.outputs[0], run);
  const std::int64_t n = from.size(), blocks = (n - 1) / cpu::kGroupBlock + 1; // of a run
  const double p = call.attributes[0].number();
  const std::int64_t grain = cpu::kElementsInline / 8 / std::min(n, cpu::kGroupBlock);
  cpu::parallel_for(from.count() * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    double x[cpu::kGroupBlock], drawn[cpu::kGroupBlock + 2];
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t group = block / blocks, at = block % blocks * cpu::kGroupBlock,
                         count = std::min(cpu::kGroupBlock, n - at);
      const std::int64_t place = places.place(group, first) + at, odd = place % 2; // they are drawn by pairs
      from.load(group, at, count, x);
      cpu::draw_uniforms(call.attributes.key, static_cast<std::uint64_t>(place) / 2, (odd + count + 1) / 2, drawn);
      for (std::int64_t i = 0; i < count; ++i) x[i] = scaled(x[i], factor(drawn[odd + i], p));
      to.store(group, at, count, x);
    }
  });
}

void planewise_kernel(const KernelCall& call) {
  if (call.outputs[0].elements() == 0) return;
  const unsigned plane = ((1u << call.outputs[0].shape.rank()) - 1) & ~3u;
  const DrawnPlaces places(call, 2);
  const cpu::Groups from(call.inputs[0], plane), to(call.outputs[0], plane);
  cpu::parallel_for(from.count(), from.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double drawn[2];
      const std::int64_t place = places.place(i);
      cpu::draw_uniforms(call.attributes.key, static_cast<std::uint64_t>(place) / 2, 1, drawn);
      const double f = factor(drawn[place % 2], call.attributes[0].number());
      std::int64_t first = 0;
      from.each_block<double>(i, [&](const double* x, std::int64_t n) {
        double kept[cpu::kGroupBlock];
        for (std::int64_t k = 0; k < n; ++k) kept[k] = scaled(x[k], f);
        to.store(i, first, n, kept);
        first += n;
      });
    }
  });
}

void dropout_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  call.results[0] =
      rules::fit(call.runtime, call.runtime.apply(call.op.id, {call.cotangents[0]}, call.attributes), call.inputs[0]);
}

// Random bits count as some twenty operations.
Cost cost_of_dropout(const Call& call, const ResultTypes& results) {
  const auto n = static_cast<double>(results.types[0].shape.elements());
  return Cost{20 * n, n * static_cast<double>(bytes_of(call.inputs[0].dtype) + bytes_of(results.types[0].dtype))};
}

} // namespace

namespace definitions {

constinit const Definition dropout = {.infer = infer_dropout,
                                      .regions = &regions::pointwise_drawn,
                                      .kernel = dropout_kernel,
                                      .vjp = dropout_vjp,
                                      .cost = cost_of_dropout};
constinit const Definition dropout_planewise = {
    .infer = infer_planewise, .regions = &regions::pointwise_drawn, .kernel = planewise_kernel, .vjp = dropout_vjp};

} // namespace definitions

} // namespace cairn::ops
