// Softmax and what else looks at whole rows: a block for each row.
#include "gpu/families.h"
#include "gpu/kernels.h"

#include <algorithm>

namespace cairn::gpu {
namespace {

// What all lanes found together, known to each of them.
template <class T> __device__ Found<T> together(const Rows& rows, int round, Found<T> mine, double* values, std::int64_t* at) {
  T* const parts = reinterpret_cast<T*>(values);
  const int lane = static_cast<int>(threadIdx.x);
  parts[lane] = mine.value;
  at[lane] = mine.at;
  __syncthreads();
  for (int half = rows.lanes / 2; half > 0; half /= 2) {
    if (lane < half) {
      const Found<T> both = row_pair(rows, round, Found<T>{parts[lane], at[lane]}, Found<T>{parts[lane + half], at[lane + half]});
      parts[lane] = both.value;
      at[lane] = both.at;
    }
    __syncthreads();
  }
  const Found<T> found{parts[0], at[0]};
  __syncthreads();
  return found;
}

template <class T> __global__ void __launch_bounds__(kMostThreads) each_row(const Rows rows) {
  __shared__ double values[kMostThreads];
  __shared__ std::int64_t at[kMostThreads];
  const int lane = static_cast<int>(threadIdx.x);
  for (std::int64_t row = blockIdx.x; row < rows.kept.count; row += gridDim.x) {
    Found<T> found[2] = {{T(0), 0}, {T(0), 0}};
    for (int round = 0; round < rounds_of(rows.op); ++round)
      found[round] = together<T>(rows, round, row_lane<T>(rows, row, lane, round, found[0]), values, at);
    row_write<T>(rows, row, lane, found[0], found[1]);
  }
}

struct RowsOnStream {
  cudaStream_t stream;
  template <class T> void rows(const Rows& rows) const {
    constexpr std::int64_t kMostBlocks = 1 << 15;
    const std::int64_t blocks = std::min(kMostBlocks, rows.kept.count);
    each_row<T><<<static_cast<unsigned>(blocks), static_cast<unsigned>(rows.lanes), 0, stream>>>(rows);
  }
};

} // namespace

namespace kernels {

bool rows(OperatorId id, const KernelCall& call, cudaStream_t stream) {
  const RowsOnStream run{stream};
  return gpu::rows(id, call, run);
}

} // namespace kernels
} // namespace cairn::gpu
