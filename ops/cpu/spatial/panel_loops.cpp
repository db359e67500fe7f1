// See panel_loops.h. An element of x is used for both vectors of weights, a vector of weights for all positions.
#include "ops/cpu/spatial/panel_loops.h"

namespace cairn::ops::cpu {

namespace {

template <class T, int kBytes> struct Bodies {
  typedef T V __attribute__((vector_size(kBytes), may_alias));
  static constexpr std::int64_t kLanes = kBytes / static_cast<std::int64_t>(sizeof(T));

  template <int kPositions>
  CAIRN_INLINE static void sum(const T* const* x, const T* const* weights, std::int64_t rows, std::int64_t depth,
                               std::int64_t wide, std::int64_t taps, std::int64_t tap, bool fresh, T* sums) {
    V acc[kPositions][2];
    for (int p = 0; p < kPositions; ++p)
      for (int v = 0; v < 2; ++v) acc[p][v] = fresh ? V{} : *reinterpret_cast<const V*>(sums + (p * 2 + v) * kLanes);
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* from = x[row];
      const T* w = weights[row];
      for (std::int64_t i = 0; i < depth; ++i, from += wide) {
        const T* at = from;
        for (std::int64_t k = 0; k < taps; ++k, at += tap, w += 2 * kLanes) {
          const V first = *reinterpret_cast<const V*>(w), second = *reinterpret_cast<const V*>(w + kLanes);
#pragma GCC unroll 14
          for (int p = 0; p < kPositions; ++p) {
            acc[p][0] = acc[p][0] + at[p] * first;
            acc[p][1] = acc[p][1] + at[p] * second;
          }
        }
      }
    }
    for (int p = 0; p < kPositions; ++p)
      for (int v = 0; v < 2; ++v) *reinterpret_cast<V*>(sums + (p * 2 + v) * kLanes) = acc[p][v];
  }
};

// Bytes of a vector, and positions, so that no register is left over.
#define CAIRN_GENERATION(name, target, bytes)                                                                                    \
  template <class T> struct name {                                                                                               \
    using Body = Bodies<T, bytes>;                                                                                               \
    template <int kPositions>                                                                                                    \
    target static void sum(const T* const* x, const T* const* weights, std::int64_t rows, std::int64_t depth, std::int64_t wide, \
                           std::int64_t taps, std::int64_t tap, bool fresh, T* sums) {                                           \
      Body::template sum<kPositions>(x, weights, rows, depth, wide, taps, tap, fresh, sums);                                     \
    }                                                                                                                            \
  };
CAIRN_GENERATION(Base, , 16)
CAIRN_GENERATION(Avx2, CAIRN_AVX2, 32)
CAIRN_GENERATION(Avx512, CAIRN_AVX512, 64)
#undef CAIRN_GENERATION

template <template <class> class G, class T, int kMost> struct ByPositions {
  using L = G<T>;
  template <int kPositions> static constexpr typename PanelLoops<T>::Loop of() {
    if constexpr (kPositions <= kMost)
      return L::template sum<kPositions>;
    else
      return nullptr;
  }
  static constexpr PanelLoops<T> all{kMost,
                                     2 * L::Body::kLanes,
                                     {nullptr, of<1>(), of<2>(), of<3>(), of<4>(), of<5>(), of<6>(), of<7>(), of<8>(), of<9>(),
                                      of<10>(), of<11>(), of<12>(), of<13>(), of<14>()}};
};

} // namespace

template <class T> const PanelLoops<T>& panel_loops() {
  static const PanelLoops<T>* const chosen = by_generation([]<Isa generation>() {
    return &Of<generation, ByPositions<Base, T, 6>, ByPositions<Avx2, T, 6>, ByPositions<Avx512, T, 14>>::all;
  });
  return *chosen;
}
template const PanelLoops<float>& panel_loops<float>();
template const PanelLoops<double>& panel_loops<double>();

} // namespace cairn::ops::cpu
