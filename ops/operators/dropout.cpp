// Dropout. What is left is a function of the key and the index alone, so a step that runs again drops the same elements, and the
// reverse rule is the operator itself on the cotangent: no mask is kept.
#include "ops/cpu/device/workers.h"
#include "ops/cpu/elements/random.h"
#include "ops/cpu/loops/groups.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/shown_number.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

void infer_dropout(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  results[0].dtype = floating_of(results[0].dtype);
  const double p = call.attributes[0].number();
  if (!(p >= 0 && p <= 1)) throw OperatorError(fmt::format("{}: {} is not a probability", shown_name(call.op), shown_number(p)));
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

void dropout_kernel(const KernelCall& call) {
  const unsigned all = (1u << call.outputs[0].shape.rank()) - 1;
  const cpu::Groups from(call.inputs[0], all), to(call.outputs[0], all);
  const std::int64_t n = from.size();
  const double p = call.attributes[0].number();
  static_assert(cpu::kGroupBlock % 2 == 0); // a block begins with a pair
  cpu::parallel_for(
      (n - 1) / cpu::kGroupBlock + 1, cpu::kElementsInline / 8 / cpu::kGroupBlock, [&](std::int64_t begin, std::int64_t end) {
        double x[cpu::kGroupBlock], drawn[cpu::kGroupBlock];
        for (std::int64_t at = begin * cpu::kGroupBlock; at < std::min(n, end * cpu::kGroupBlock); at += cpu::kGroupBlock) {
          const std::int64_t count = std::min(cpu::kGroupBlock, n - at);
          from.load(0, at, count, x);
          cpu::draw_uniforms(call.attributes.key, static_cast<std::uint64_t>(at) / 2, (count + 1) / 2, drawn);
          for (std::int64_t i = 0; i < count; ++i) x[i] = scaled(x[i], factor(drawn[i], p));
          to.store(0, at, count, x);
        }
      });
}

void planewise_kernel(const KernelCall& call) {
  const unsigned plane = ((1u << call.outputs[0].shape.rank()) - 1) & ~3u;
  const cpu::Groups from(call.inputs[0], plane), to(call.outputs[0], plane);
  cpu::parallel_for(from.count(), from.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double drawn[2];
      cpu::draw_uniforms(call.attributes.key, static_cast<std::uint64_t>(i) / 2, 1, drawn);
      const double f = factor(drawn[i % 2], call.attributes[0].number());
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
