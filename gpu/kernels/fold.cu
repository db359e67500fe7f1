// Reductions and products of matrices.
#include "gpu/families.h"
#include "gpu/kernels.h"

#include <algorithm>

namespace cairn::gpu {
namespace {

// A thread for each result.
template <class T> __global__ void __launch_bounds__(kMostThreads) fold_alone(const Fold fold) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < fold.kept.count; i += step)
    fold_store(fold, i, fold_lane<T>(fold, i, 0));
}

// A block for each result, a thread for each lane.
template <class T> __global__ void __launch_bounds__(kMostThreads) fold_together(const Fold fold) {
  __shared__ double memory[kMostThreads];
  T* const parts = reinterpret_cast<T*>(memory);
  const int lane = static_cast<int>(threadIdx.x);
  for (std::int64_t i = blockIdx.x; i < fold.kept.count; i += gridDim.x) {
    parts[lane] = fold_lane<T>(fold, i, lane);
    __syncthreads();
    for (int half = fold.lanes / 2; half > 0; half /= 2) {
      if (lane < half) parts[lane] = fold_pair<T>(fold, parts[lane], parts[lane + half]);
      __syncthreads();
    }
    if (lane == 0) fold_store(fold, i, parts[0]);
    __syncthreads();
  }
}

struct FoldOnStream {
  cudaStream_t stream;
  template <class T> void fold(const Fold& fold) const {
    constexpr std::int64_t kMostBlocks = 1 << 15;
    if (fold.lanes == 1) {
      const std::int64_t blocks = std::min(kMostBlocks, (fold.kept.count + kMostThreads - 1) / kMostThreads);
      fold_alone<T><<<static_cast<unsigned>(blocks), kMostThreads, 0, stream>>>(fold);
    } else {
      const std::int64_t blocks = std::min(kMostBlocks, fold.kept.count);
      fold_together<T><<<static_cast<unsigned>(blocks), static_cast<unsigned>(fold.lanes), 0, stream>>>(fold);
    }
  }
};

} // namespace

namespace kernels {

bool folds(OperatorId id, const KernelCall& call, cudaStream_t stream) {
  const FoldOnStream run{stream};
  return gpu::folds(id, call, run);
}

} // namespace kernels
} // namespace cairn::gpu
