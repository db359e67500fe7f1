// See gemm_loops.h. Vectors of 64 bytes are one register, two or four, by what the processor has.
#include "ops/cpu/gemm_loops.h"

#include <type_traits>

namespace cairn::ops::cpu {

namespace {

template <class T> struct VectorOf { typedef T type __attribute__((vector_size(64), aligned(8), may_alias)); };

template <class T> CAIRN_INLINE void gemm_body(std::int64_t depth, const T* a, const T* b, T* sums, std::int64_t wide) {
  using V = typename VectorOf<T>::type;
  constexpr std::int64_t lanes = 64 / static_cast<std::int64_t>(sizeof(T));
  V acc[kRows][2];
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < 2; ++j) acc[i][j] = *reinterpret_cast<const V*>(sums + i * wide + j * lanes);
  for (std::int64_t p = 0; p < depth; ++p, a += kRows, b += 2 * lanes) {
    const V left = *reinterpret_cast<const V*>(b), right = *reinterpret_cast<const V*>(b + lanes);
#pragma GCC unroll 6
    for (std::int64_t i = 0; i < kRows; ++i) {
      acc[i][0] = acc[i][0] + a[i] * left;
      acc[i][1] = acc[i][1] + a[i] * right;
    }
  }
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < 2; ++j) *reinterpret_cast<V*>(sums + i * wide + j * lanes) = acc[i][j];
}

template <class T> void base(std::int64_t depth, const T* a, const T* b, T* sums, std::int64_t wide) {
  gemm_body<T>(depth, a, b, sums, wide);
}
template <class T> CAIRN_AVX2 void avx2(std::int64_t depth, const T* a, const T* b, T* sums, std::int64_t wide) {
  gemm_body<T>(depth, a, b, sums, wide);
}
template <class T> CAIRN_AVX512 void avx512(std::int64_t depth, const T* a, const T* b, T* sums, std::int64_t wide) {
  gemm_body<T>(depth, a, b, sums, wide);
}

template <class T> GemmLoop<T> chosen() {
  switch (isa()) {
  case Isa::avx512:
    return avx512<T>;
  case Isa::avx2:
    return avx2<T>;
  default:
    return base<T>;
  }
}

} // namespace

template <> GemmLoop<float> gemm_loop<float>() { return chosen<float>(); }
template <> GemmLoop<double> gemm_loop<double>() { return chosen<double>(); }
template <> GemmLoop<pointwise::Integer> gemm_loop<pointwise::Integer>() {
  using pointwise::Integer;
  return [](std::int64_t depth, const Integer* a, const Integer* b, Integer* sums, std::int64_t wide) {
    for (std::int64_t p = 0; p < depth; ++p)
      for (std::int64_t i = 0; i < kRows; ++i)
        for (std::int64_t j = 0; j < kColumns<Integer>; ++j)
          sums[i * wide + j] = sums[i * wide + j] + a[p * kRows + i] * b[p * kColumns<Integer> + j];
  };
}

} // namespace cairn::ops::cpu
