// See vector_loops.h.
#include "ops/cpu/matrices/vector_loops.h"

#include "ops/cpu/matrices/gemm_loops.h"

namespace cairn::ops::cpu {

namespace {

template <class T> struct Bodies {
  CAIRN_INLINE static void rows(const T* m, std::int64_t stride, std::int64_t n, std::int64_t depth, const T* v, T* sums) {
    for (std::int64_t i = 0; i < n; ++i) sums[i] = sums[i] + dot(m + i * stride, v, depth);
  }
  CAIRN_INLINE static void columns(const T* m, std::int64_t stride, std::int64_t n, std::int64_t depth, const T* v, T* sums) {
    typedef T V __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
    constexpr std::int64_t lanes = 64 / static_cast<std::int64_t>(sizeof(T));
    std::int64_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      V left = *reinterpret_cast<const V*>(sums + i), right = *reinterpret_cast<const V*>(sums + i + lanes);
      for (std::int64_t p = 0; p < depth; ++p) {
        left = left + *reinterpret_cast<const V*>(m + p * stride + i) * v[p];
        right = right + *reinterpret_cast<const V*>(m + p * stride + i + lanes) * v[p];
      }
      *reinterpret_cast<V*>(sums + i) = left;
      *reinterpret_cast<V*>(sums + i + lanes) = right;
    }
    for (std::int64_t p = 0; p < depth; ++p) CAIRN_EACH
    for (std::int64_t k = i; k < n; ++k) sums[k] = sums[k] + m[p * stride + k] * v[p];
  }
  CAIRN_INLINE static void outer(const T* a, std::int64_t step, const T* b, T* c, std::int64_t stride, std::int64_t m,
                                 std::int64_t n) {
    for (std::int64_t i = 0; i < m; ++i) {
      const T left = a[i * step];
      CAIRN_EACH
      for (std::int64_t j = 0; j < n; ++j) c[i * stride + j] = T(0) + left * b[j]; // a sum of one term: never -0
    }
  }
};

#define CAIRN_GENERATION(name, target)                                                                                           \
  template <class T> struct name {                                                                                               \
    target static void rows(const T* m, std::int64_t stride, std::int64_t n, std::int64_t depth, const T* v, T* sums) {          \
      Bodies<T>::rows(m, stride, n, depth, v, sums);                                                                             \
    }                                                                                                                            \
    target static void columns(const T* m, std::int64_t stride, std::int64_t n, std::int64_t depth, const T* v, T* sums) {       \
      Bodies<T>::columns(m, stride, n, depth, v, sums);                                                                          \
    }                                                                                                                            \
    target static void outer(const T* a, std::int64_t step, const T* b, T* c, std::int64_t stride, std::int64_t m,               \
                             std::int64_t n) {                                                                                   \
      Bodies<T>::outer(a, step, b, c, stride, m, n);                                                                             \
    }                                                                                                                            \
    static constexpr VectorLoops<T> loops{rows, columns, outer};                                                                 \
  };
CAIRN_GENERATION(Base, )
CAIRN_GENERATION(Avx2, CAIRN_AVX2)
CAIRN_GENERATION(Avx512, CAIRN_AVX512)
#undef CAIRN_GENERATION

} // namespace

template <class T> const VectorLoops<T>& vector_loops() {
  static const VectorLoops<T>* const chosen =
      by_generation([]<Isa generation>() { return &Of<generation, Base<T>, Avx2<T>, Avx512<T>>::loops; });
  return *chosen;
}
template const VectorLoops<float>& vector_loops();
template const VectorLoops<double>& vector_loops();

} // namespace cairn::ops::cpu
