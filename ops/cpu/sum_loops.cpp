// See sum_loops.h.
#include "ops/cpu/sum_loops.h"

#include "ops/cpu/isa.h"

namespace cairn::ops::cpu {

namespace {

typedef double Lanes __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(32), aligned(4), may_alias));

CAIRN_INLINE void add(Lanes& to, const float* x) { to += __builtin_convertvector(*reinterpret_cast<const Floats*>(x), Lanes); }

struct SumBlocks {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t blocks, double /*parameter*/) {
    auto* sums = static_cast<double*>(out);
    const auto* x = static_cast<const float*>(in[0]);
    for (std::int64_t block = 0; block < blocks; ++block, x += kSumBlock) {
      Lanes low{}, high{};
      for (std::int64_t i = 0; i < kSumBlock; i += kSumLanes) {
        add(low, x + i);
        add(high, x + i + 8);
      }
      low += high;
      double lanes[8];
      for (int l = 0; l < 8; ++l) lanes[l] = low[l];
      for (int width = 4; width > 0; width /= 2)
        for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
      sums[block] = lanes[0];
    }
  }
};

struct AddRow {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* sums = static_cast<double*>(out);
    const auto* x = static_cast<const float*>(in[0]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) sums[i] += static_cast<double>(x[i]);
  }
};

} // namespace

void sum_blocks(double* sums, const float* x, std::int64_t blocks) {
  static const Loop loop = Compiled<SumBlocks>::chosen();
  const void* const in[] = {x};
  loop(sums, in, blocks, 0);
}

void add_row(double* sums, const float* x, std::int64_t n) {
  static const Loop loop = Compiled<AddRow>::chosen();
  const void* const in[] = {x};
  loop(sums, in, n, 0);
}

} // namespace cairn::ops::cpu
