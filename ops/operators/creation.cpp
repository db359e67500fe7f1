// New tensors: of one number, of random numbers.
#include "ops/convert.h"
#include "ops/cpu/copy.h"
#include "ops/cpu/elementwise.h"
#include "ops/cpu/workers.h"
#include "ops/operators/definitions.h"
#include "ops/random.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::ops {

namespace {

constexpr std::size_t kShape = 0;

// f32 on the default device if nothing else is said.
void infer_new(const Call& call, std::size_t type, std::size_t residence, ResultTypes& results) {
  const Attributes& a = call.attributes;
  results[0].shape = Shape{std::span<const std::int64_t>(a[kShape].list)};
  results[0].dtype = a.values.size() > type && a[type].present ? static_cast<DType>(a[type].integer) : DType::f32;
  results[0].device = a.values.size() > residence && a[residence].present ? a[residence].device : call.default_device;
}

void infer_fill(const Call& call, ResultTypes& results) { infer_new(call, 2, 3, results); }

void infer_random(const Call& call, ResultTypes& results) {
  infer_new(call, 1, 2, results);
  if (!is_floating(results[0].dtype))
    throw OperatorError(
        fmt::format("{}: random numbers need a floating type, not {}", shown_name(call.op), name_of(results[0].dtype)));
}

void fill_kernel(const KernelCall& call) { cpu::fill_elements(call.outputs[0], call.attributes[1].number); }

int digits_of(DType type) { return type == DType::f64 ? 53 : type == DType::f32 ? 24 : 8; }

// Results of new tensors are row-major, so an element's place is its index.
template <class Make> void random_kernel(const KernelCall& call, Make make) {
  const View& out = call.outputs[0];
  const std::int64_t n = out.elements();
  constexpr std::int64_t kPairs = 128;
  cpu::parallel_for((n + 1) / 2, cpu::kElementsInline / 16, [&](std::int64_t begin, std::int64_t end) {
    double drawn[2 * kPairs];
    for (std::int64_t pair = begin; pair < end; pair += kPairs) {
      const std::int64_t pairs = std::min(kPairs, end - pair);
      for (std::int64_t i = 0; i < pairs; ++i)
        make(random::bits_of_pair(call.attributes.key, static_cast<std::uint64_t>(pair + i)), drawn + 2 * i);
      cpu::store(cpu::Compute::f64, drawn, out.dtype, static_cast<char*>(out.data) + 2 * pair * bytes_of(out.dtype), 1,
                 std::min(2 * pairs, n - 2 * pair));
    }
  });
}

void uniform_kernel(const KernelCall& call) {
  const int digits = digits_of(call.outputs[0].dtype);
  random_kernel(call, [digits](random::Pair bits, double* to) {
    to[0] = random::uniform(bits.first, digits);
    to[1] = random::uniform(bits.second, digits);
  });
}

void normal_kernel(const KernelCall& call) {
  random_kernel(call, [](random::Pair bits, double* to) {
    const random::Normals both = random::normals(bits);
    to[0] = both.first;
    to[1] = both.second;
  });
}

constexpr Definition definition(Infer infer, Kernel kernel) {
  Definition d;
  d.infer = infer;
  d.kernel = kernel;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition fill = definition(infer_fill, fill_kernel);
constinit const Definition random_uniform = definition(infer_random, uniform_kernel);
constinit const Definition random_normal = definition(infer_random, normal_kernel);

} // namespace definitions

} // namespace cairn::ops
