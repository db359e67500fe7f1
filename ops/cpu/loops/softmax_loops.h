// What softmax does to a row whose elements lie beside each other: for the operators that take it and for attention.
#pragma once

#include "ops/cpu/loops/lanes.h"
#include "ops/pointwise.h"

#include <cstdint>
#include <limits>

namespace cairn::ops::cpu {

// out = exp(x - shift) factor
template <class T> struct Exponentials {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto* x = static_cast<const T*>(in[0]);
    const T shift = *static_cast<const T*>(in[1]), factor = *static_cast<const T*>(in[2]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) o[i] = pointwise::exp(x[i] - shift) * factor;
  }
};

template <class T> void exponentials(T* out, const T* x, T shift, T factor, std::int64_t n) {
  const void* const in[] = {x, &shift, &factor};
  Compiled<Exponentials<T>>::chosen()(out, in, n, 0);
}

template <class T> struct Largest {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    const auto* x = static_cast<const T*>(in[0]);
    alignas(64) T lanes[kLanes];
    for (T& lane : lanes) lane = -std::numeric_limits<T>::infinity();
    by_lanes(
        n, [&](std::int64_t i, std::int64_t l) __attribute__((always_inline)) { lanes[l] = x[i] > lanes[l] ? x[i] : lanes[l]; });
    T largest = lanes[0];
    for (const T lane : lanes) largest = lane > largest ? lane : largest;
    *static_cast<T*>(out) = largest;
  }
};

template <class T> struct Sum {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    const auto* x = static_cast<const T*>(in[0]);
    alignas(64) T lanes[kLanes] = {};
    by_lanes(
        n, [&](std::int64_t i, std::int64_t l) __attribute__((always_inline)) { lanes[l] += x[i]; });
    *static_cast<T*>(out) = sum_of(lanes);
  }
};

// Largest or Sum.
template <class Loop, class T> T folded(const T* x, std::int64_t n) {
  T result{};
  const void* const in[] = {x};
  Compiled<Loop>::chosen()(&result, in, n, 0);
  return result;
}

} // namespace cairn::ops::cpu
