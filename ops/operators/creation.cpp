// New tensors: of one number, of random numbers.
#include "ops/cpu/elements/random.h"
#include "ops/cpu/loops/copy.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

constexpr std::size_t kShape = 0;

// f32 on the default device if nothing else is said.
void infer_new(const Call& call, std::size_t type, std::size_t residence, ResultTypes& results) {
  const Attributes& a = call.attributes;
  results[0].shape = Shape{std::span<const std::int64_t>(a[kShape].list())};
  results[0].dtype = a.values.size() > type && a[type].present() ? static_cast<DType>(a[type].integer()) : DType::f32;
  results[0].device = a.values.size() > residence && a[residence].present() ? a[residence].device() : call.default_device;
}

void infer_fill(const Call& call, ResultTypes& results) { infer_new(call, 2, 3, results); }

void infer_random(const Call& call, ResultTypes& results) {
  infer_new(call, 1, 2, results);
  if (!is_floating(results[0].dtype))
    throw OperatorError(
        fmt::format("{}: random numbers need a floating type, not {}", shown_name(call.op), name_of(results[0].dtype)));
}

void fill_kernel(const KernelCall& call) { cpu::fill_elements(call.outputs[0], call.attributes[1].number()); }

constexpr Definition creation_definition(Infer infer, const RegionRule& regions, Kernel kernel) {
  Definition d;
  d.infer = infer;
  d.regions = &regions;
  d.kernel = kernel;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition fill = creation_definition(infer_fill, regions::no_operand, fill_kernel);
constinit const Definition random_uniform = creation_definition(infer_random, regions::drawn, cpu::uniform_kernel);
constinit const Definition random_normal = creation_definition(infer_random, regions::drawn, cpu::normal_kernel);

} // namespace definitions

} // namespace cairn::ops
