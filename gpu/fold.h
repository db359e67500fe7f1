// Sums, means, largest elements and products of matrices on the GPU: each element of the result is folded from many of the
// operands. A few threads (lanes) share the work for one, each folds its part, and the parts are folded in pairs; how many lanes
// there are depends on the shapes alone, so a result is the same every time.
//
// Nothing here needs a GPU: test/gpu_host runs the same functions on the host.
#pragma once

#include "gpu/elementwise.h"
#include "ops/pointwise.h"
#include "ops/pointwise_binary.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace cairn::gpu {

struct Fold {
  Traversal kept;   // the axes of the result
  Traversal folded; // the axes that go; its output is nothing
  OperatorId op = OperatorId::sum;
  int lanes = 1;
};

// Operators of this family.
inline constexpr OperatorId kFoldOperators[] = {OperatorId::sum, OperatorId::mean, OperatorId::max_over, OperatorId::sum_to,
                                                OperatorId::matmul};
inline bool is_fold(OperatorId op) {
  return std::find(std::begin(kFoldOperators), std::end(kFoldOperators), op) != std::end(kFoldOperators);
}
// A maximum of no elements is refused by the shape rule.
Fold fold_of(OperatorId op, const KernelCall& call);
// In which it is computed.
inline Compute compute_of(const Fold& fold) { return compute_of(fold.kept.out.dtype); }

template <class T> CAIRN_GPU inline T fold_start(const Fold& fold) {
  if (fold.op != OperatorId::max_over) return T(0);
  if constexpr (std::is_same_v<T, pointwise::Integer>)
    return T(INT64_MIN);
  else
    return -static_cast<T>(INFINITY);
}

template <class T> CAIRN_GPU inline T fold_pair(const Fold& fold, T a, T b) {
  return fold.op == OperatorId::max_over ? pointwise::Max::value<T>(a, b) : a + b;
}

template <class Index, class T> CAIRN_GPU inline T fold_lane_by(const Fold& fold, std::int64_t result, int lane) {
  std::int64_t at[2], nowhere = 0;
  offsets<Index, 2>(fold.kept, result, at, nowhere);
  T sum = fold_start<T>(fold);
  for (std::int64_t i = lane; i < fold.folded.count; i += fold.lanes) {
    std::int64_t further[2];
    offsets<Index, 2>(fold.folded, i, further, nowhere);
    T x = load<T>(fold.kept.in[0], at[0] + further[0]);
    if (fold.kept.inputs == 2) x = x * load<T>(fold.kept.in[1], at[1] + further[1]);
    sum = fold_pair<T>(fold, sum, x);
  }
  return sum;
}

// What one lane folds of the elements for a result.
template <class T> CAIRN_GPU inline T fold_lane(const Fold& fold, std::int64_t result, int lane) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (fold.kept.count < kMost && fold.folded.count < kMost) return fold_lane_by<std::uint32_t, T>(fold, result, lane);
  return fold_lane_by<std::uint64_t, T>(fold, result, lane);
}

template <class T> CAIRN_GPU inline void fold_store(const Fold& fold, std::int64_t result, T sum) {
  if constexpr (!std::is_same_v<T, pointwise::Integer>)
    if (fold.op == OperatorId::mean) sum = sum / static_cast<T>(fold.folded.count);
  std::int64_t at[1], out = 0;
  offsets<std::uint64_t, 1>(fold.kept, result, at, out);
  store(fold.kept.out, out, sum);
}

} // namespace cairn::gpu
