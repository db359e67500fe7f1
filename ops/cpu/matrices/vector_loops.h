// Products in which one side is a vector, compiled for several generations of processors. Every sum has one order, whatever the
// generation: those of `dot` (gemm_loops.h) along rows, one term after the other along columns.
#pragma once

#include <cstdint>

namespace cairn::ops::cpu {

template <class T> struct VectorLoops {
  // sums[i] += row i of m, whose rows are `stride` apart, times v [depth].
  void (*rows)(const T* m, std::int64_t stride, std::int64_t n, std::int64_t depth, const T* v, T* sums);
  // The same where m has its columns `stride` apart.
  void (*columns)(const T* m, std::int64_t stride, std::int64_t n, std::int64_t depth, const T* v, T* sums);
  // c [m, n] = a [m] b [n], where rows of c are `stride` apart and elements of a `step`.
  void (*outer)(const T* a, std::int64_t step, const T* b, T* c, std::int64_t stride, std::int64_t m, std::int64_t n);
};
template <class T> const VectorLoops<T>& vector_loops(); // float, double

} // namespace cairn::ops::cpu
