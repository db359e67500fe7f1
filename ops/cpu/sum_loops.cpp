// See sum_loops.h.
#include "ops/cpu/sum_loops.h"

#include "ops/cpu/isa.h"

namespace cairn::ops::cpu {

namespace {

// So far ahead lines are asked for: a page. The end of each block, where sums wait for each other, is longer than the processor
// looks ahead.
constexpr std::int64_t kAhead = 1024;

typedef double Lanes __attribute__((vector_size(64)));
typedef double Half __attribute__((vector_size(32)));
typedef double Quarter __attribute__((vector_size(16)));
typedef float Floats __attribute__((vector_size(32), aligned(4), may_alias));

CAIRN_INLINE void add(Lanes& to, const float* x) { to += __builtin_convertvector(*reinterpret_cast<const Floats*>(x), Lanes); }

CAIRN_INLINE double folded(Lanes lanes) {
  const Half half = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3) + __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7);
  const Quarter quarter = __builtin_shufflevector(half, half, 0, 1) + __builtin_shufflevector(half, half, 2, 3);
  return quarter[0] + quarter[1];
}

struct SumBlocks {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t blocks, double /*parameter*/) {
    auto* sums = static_cast<double*>(out);
    const auto* x = static_cast<const float*>(in[0]);
    for (std::int64_t block = 0; block < blocks; ++block, x += kSumBlock) {
      Lanes low{}, high{};
      for (std::int64_t i = 0; i < kSumBlock; i += kSumLanes) {
        __builtin_prefetch(x + i + kAhead);
        add(low, x + i);
        add(high, x + i + 8);
      }
      sums[block] = folded(low + high);
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
