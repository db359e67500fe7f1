// See gemm_loops.h. Sums stay in registers, two vectors for each row: a generation with short vectors goes through the depth
// several times, for some of the columns each. The order of a sum is the same.
#include "ops/cpu/matrices/gemm_loops.h"

#include <type_traits>

namespace cairn::ops::cpu {

namespace {

template <class T, int kBytes> struct VectorOf { typedef T type __attribute__((vector_size(kBytes), aligned(8), may_alias)); };

template <class T, int kBytes>
CAIRN_INLINE void gemm_body(std::int64_t depth, const T* a_panel, const T* b_panel, T* all_sums, std::int64_t wide) {
  using V = typename VectorOf<T, kBytes>::type;
  constexpr std::int64_t lanes = kBytes / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t column = 0; column < kColumns<T>; column += 2 * lanes) {
    const T *a = a_panel, *b = b_panel + column;
    T* const sums = all_sums + column;
    V acc[kRows][2];
    for (std::int64_t i = 0; i < kRows; ++i)
      for (std::int64_t j = 0; j < 2; ++j) acc[i][j] = *reinterpret_cast<const V*>(sums + i * wide + j * lanes);
    for (std::int64_t p = 0; p < depth; ++p, a += kRows, b += kColumns<T>) {
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
}

template <class T> void base(std::int64_t depth, const T* a, const T* b, T* sums, std::int64_t wide) {
  gemm_body<T, 16>(depth, a, b, sums, wide);
}
template <class T> CAIRN_AVX2 void avx2(std::int64_t depth, const T* a, const T* b, T* sums, std::int64_t wide) {
  gemm_body<T, 32>(depth, a, b, sums, wide);
}
template <class T> CAIRN_AVX512 void avx512(std::int64_t depth, const T* a, const T* b, T* sums, std::int64_t wide) {
  gemm_body<T, 64>(depth, a, b, sums, wide);
}

template <class T> GemmLoop<T> chosen() {
  return by_generation([]<Isa generation>() -> GemmLoop<T> {
    if constexpr (generation == Isa::avx512)
      return avx512<T>;
    else if constexpr (generation == Isa::avx2)
      return avx2<T>;
    else
      return base<T>;
  });
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
