// See weight_loops.h. A position of the small side is read an element at a time, each for all taps; one of the large side is a
// vector that is used for all rows.
#include "ops/cpu/spatial/weight_loops.h"

namespace cairn::ops::cpu {

namespace {

template <class T, int kBytes, int kRows> struct Bodies {
  typedef T V __attribute__((vector_size(kBytes), may_alias));
  static constexpr std::int64_t kLanes = kBytes / static_cast<std::int64_t>(sizeof(T));

  template <int kTaps>
  CAIRN_INLINE static void sum(const std::int64_t* line_at, std::int64_t lines, std::int64_t columns, const T* large,
                               std::int64_t step, std::int64_t tap, const T* small, T* sums) {
    V acc[kRows][kTaps] = {};
    for (std::int64_t line = 0; line < lines; ++line) {
      const T* from = large + line_at[line];
      for (std::int64_t column = 0; column < columns; ++column, from += step, small += kRows) {
        V vectors[kTaps];
#pragma GCC unroll 3
        for (int t = 0; t < kTaps; ++t) vectors[t] = *reinterpret_cast<const V*>(from + t * tap);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 3
          for (int t = 0; t < kTaps; ++t) acc[i][t] = acc[i][t] + small[i] * vectors[t];
      }
    }
    for (int t = 0; t < kTaps; ++t)
      for (int i = 0; i < kRows; ++i) {
        V* const to = reinterpret_cast<V*>(sums + (t * kRows + i) * kLanes);
        *to = *to + acc[i][t];
      }
  }
  template <int kCount>
  CAIRN_INLINE static void copy(const T* from, std::int64_t stride, std::int64_t count, std::int64_t tiles, T* to,
                                std::int64_t next) {
    for (std::int64_t i = 0; i < count; ++i, from += stride, to += kCount)
      for (std::int64_t tile = 0; tile < tiles; ++tile)
        __builtin_memcpy(to + tile * next, from + tile * kCount, kCount * sizeof(T));
  }
  static void spread(const T* from, T* to, std::int64_t stride) {
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kLanes; ++i) to[i * stride] = from[i];
  }
};

// Bytes of a vector, and rows, so that kMostTaps sums for each row, the vectors and one element leave no register over.
#define CAIRN_GENERATION(name, target, bytes, tile_rows)                                                                         \
  template <class T> struct name {                                                                                               \
    using Body = Bodies<T, bytes, tile_rows>;                                                                                    \
    template <int kTaps>                                                                                                         \
    target static void sum(const std::int64_t* line_at, std::int64_t lines, std::int64_t columns, const T* large,                \
                           std::int64_t step, std::int64_t tap, const T* small, T* sums) {                                       \
      Body::template sum<kTaps>(line_at, lines, columns, large, step, tap, small, sums);                                         \
    }                                                                                                                            \
    template <int kCount>                                                                                                        \
    target static void copy(const T* from, std::int64_t stride, std::int64_t count, std::int64_t tiles, T* to,                   \
                            std::int64_t next) {                                                                                 \
      Body::template copy<kCount>(from, stride, count, tiles, to, next);                                                         \
    }                                                                                                                            \
    static constexpr WeightLoops<T> loops{                                                                                       \
        tile_rows, Body::kLanes, {sum<1>, sum<2>, sum<3>}, copy<tile_rows>, copy<static_cast<int>(Body::kLanes)>, Body::spread}; \
  };
CAIRN_GENERATION(Base, , 16, 4)
CAIRN_GENERATION(Avx2, CAIRN_AVX2, 32, 4)
CAIRN_GENERATION(Avx512, CAIRN_AVX512, 64, 8)
#undef CAIRN_GENERATION

} // namespace

template <class T> const WeightLoops<T>& weight_loops() {
  static const WeightLoops<T>* const chosen =
      by_generation([]<Isa generation>() { return &Of<generation, Base<T>, Avx2<T>, Avx512<T>>::loops; });
  return *chosen;
}
template const WeightLoops<float>& weight_loops<float>();
template const WeightLoops<double>& weight_loops<double>();

} // namespace cairn::ops::cpu
