// See random.h. Results of new tensors are row-major, so an element's position is its index. Blocks of counters are drawn at a
// time, in loops that become vectors.
#include "ops/cpu/elements/random.h"

#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/isa.h"
#include "ops/random.h"

#include <algorithm>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kPairs = 128;

// For n pairs; operands: key, first counter, significant bits.
struct Uniforms {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* to = static_cast<double*>(out);
    const std::uint64_t key = *static_cast<const std::uint64_t*>(in[0]), first = *static_cast<const std::uint64_t*>(in[1]);
    const int digits = *static_cast<const int*>(in[2]);
    for (std::int64_t i = 0; i < n; ++i) {
      const random::Pair bits = random::bits_of_pair(key, first + static_cast<std::uint64_t>(i));
      to[2 * i] = random::uniform(bits.first, digits);
      to[2 * i + 1] = random::uniform(bits.second, digits);
    }
  }
};

struct NormalPairs {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* to = static_cast<double*>(out);
    const std::uint64_t key = *static_cast<const std::uint64_t*>(in[0]), first = *static_cast<const std::uint64_t*>(in[1]);
    for (std::int64_t i = 0; i < n; ++i) {
      const random::Normals both = random::normals(random::bits_of_pair(key, first + static_cast<std::uint64_t>(i)));
      to[2 * i] = both.first;
      to[2 * i + 1] = both.second;
    }
  }
};

void draw(const KernelCall& call, Loop loop) {
  const View& out = call.outputs[0];
  const std::int64_t n = out.elements();
  const int digits = random::digits_of(out.dtype);
  parallel_for((n + 1) / 2, kElementsInline / 8, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) double drawn[2 * kPairs];
    for (std::int64_t pair = begin; pair < end; pair += kPairs) {
      const std::int64_t pairs = std::min(kPairs, end - pair);
      const auto first = static_cast<std::uint64_t>(pair);
      const void* const in[] = {&call.attributes.key, &first, &digits};
      loop(drawn, in, pairs, 0);
      store(Compute::f64, drawn, out.dtype, static_cast<char*>(out.data) + 2 * pair * bytes_of(out.dtype), 1,
            std::min(2 * pairs, n - 2 * pair));
    }
  });
}

} // namespace

void draw_uniforms(std::uint64_t key, std::uint64_t first, std::int64_t pairs, double* to) {
  const int digits = random::digits_of(DType::f64);
  const void* const in[] = {&key, &first, &digits};
  Compiled<Uniforms>::chosen()(to, in, pairs, 0);
}

void uniform_kernel(const KernelCall& call) { draw(call, Compiled<Uniforms>::chosen()); }
void normal_kernel(const KernelCall& call) { draw(call, Compiled<NormalPairs>::chosen()); }

} // namespace cairn::ops::cpu
