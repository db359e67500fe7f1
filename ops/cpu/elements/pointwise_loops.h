// The loops of pointwise functions on arrays, made from the structs of pointwise.h.
#pragma once

#include "ops/cpu/loops/isa.h"
#include "ops/pointwise.h"
#include "ops/pointwise_binary.h"

#include <type_traits>

namespace cairn::ops::cpu {

// Functions that are vectors only where no argument is too large.
template <class F, class T>
concept Turning = requires(T x) {
  F::turning_value(x);
}
&&!std::is_same_v<T, pointwise::Integer>;
// Their slopes likewise, where those look at the argument.
template <class F, class T>
concept TurningSlope = Turning<F, T> && requires(T x) {
  F::turning_slope(x);
};

// each(begin, end, turning) over [0, n), in parts whose arguments all turn, or do not.
template <class T, class Each> CAIRN_INLINE void by_turning(const T* x, std::int64_t n, Each&& each) {
  constexpr std::int64_t kPart = 256;
  for (std::int64_t begin = 0; begin < n; begin += kPart) {
    const std::int64_t end = begin + kPart < n ? begin + kPart : n;
    std::int32_t beyond = 0;
    for (std::int64_t i = begin; i < end; ++i) beyond += pointwise::turns(x[i]) ? 0 : 1;
    each(begin, end, beyond == 0);
  }
}

template <class F, class T> struct UnaryLoop {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto* x = static_cast<const T*>(in[0]);
    if constexpr (Turning<F, T>) {
      by_turning(
          x, n, [&](std::int64_t begin, std::int64_t end, bool turning) __attribute__((always_inline)) {
            if (!turning) {
              for (std::int64_t i = begin; i < end; ++i) o[i] = F::template value<T>(x[i]);
              return;
            }
            CAIRN_EACH
            for (std::int64_t i = begin; i < end; ++i) o[i] = F::template turning_value<T>(x[i]);
          });
      return;
    }
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) o[i] = F::template value<T>(x[i]);
  }
};

template <class F, class T> struct UnaryVjpLoop {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto *c = static_cast<const T*>(in[0]), *x = static_cast<const T*>(in[1]), *y = static_cast<const T*>(in[2]);
    if constexpr (TurningSlope<F, T>) {
      by_turning(
          x, n, [&](std::int64_t begin, std::int64_t end, bool turning) __attribute__((always_inline)) {
            if (!turning) {
              for (std::int64_t i = begin; i < end; ++i) o[i] = c[i] * F::template slope<T>(x[i], y[i]);
              return;
            }
            CAIRN_EACH
            for (std::int64_t i = begin; i < end; ++i) o[i] = c[i] * F::template turning_slope<T>(x[i]);
          });
      return;
    }
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<F, pointwise::Relu>) // a product with 1 would lose denormals
        o[i] = pointwise::where(pointwise::less(T(0), y[i]), c[i], c[i] * T(0));
      else
        o[i] = c[i] * F::template slope<T>(x[i], y[i]);
    }
  }
};

template <class F, class T> struct ParameterLoop {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double parameter) {
    auto* o = static_cast<T*>(out);
    const auto* x = static_cast<const T*>(in[0]);
    const T p = static_cast<T>(parameter);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) o[i] = F::template value<T>(x[i], p);
  }
};

template <class F, class T> struct ParameterVjpLoop {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double parameter) {
    auto* o = static_cast<T*>(out);
    const auto *c = static_cast<const T*>(in[0]), *x = static_cast<const T*>(in[1]), *y = static_cast<const T*>(in[2]);
    const T p = static_cast<T>(parameter);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<F, pointwise::LeakyRelu>)
        o[i] = pointwise::where(pointwise::less(T(0), x[i]), c[i], c[i] * p);
      else
        o[i] = c[i] * F::template slope<T>(x[i], y[i], p);
    }
  }
};

template <class F, class T> struct BinaryLoop {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
    if constexpr (std::is_same_v<F, pointwise::Expt>) { // most powers are squares
      std::int64_t others = 0;
      for (std::int64_t i = 0; i < n; ++i) others += b[i] == T(2) ? 0 : 1;
      if (others == 0) {
        CAIRN_EACH
        for (std::int64_t i = 0; i < n; ++i) o[i] = a[i] * a[i];
        return;
      }
    }
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) o[i] = F::template value<T>(a[i], b[i]);
  }
};

template <class F, class T> struct CompareLoop {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<std::uint8_t*>(out);
    const auto *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) o[i] = pointwise::equal(F::template value<T>(a[i], b[i]), T(1)) ? 1 : 0;
  }
};

template <class F, class T, bool second> struct BinaryVjpLoop {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto *c = static_cast<const T*>(in[0]), *a = static_cast<const T*>(in[1]), *b = static_cast<const T*>(in[2]),
               *v = static_cast<const T*>(in[3]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (pointwise::kChooses<F> && second)
        o[i] = F::template choice<T>(a[i], b[i], c[i] * T(0), c[i]);
      else if constexpr (pointwise::kChooses<F>)
        o[i] = F::template choice<T>(a[i], b[i], c[i], c[i] * T(0));
      else if constexpr (second)
        o[i] = c[i] * F::template slope_b<T>(a[i], b[i], v[i]);
      else
        o[i] = c[i] * F::template slope_a<T>(a[i], b[i], v[i]);
    }
  }
};

template <class T> struct WhereLoop {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* o = static_cast<T*>(out);
    const auto *c = static_cast<const T*>(in[0]), *a = static_cast<const T*>(in[1]), *b = static_cast<const T*>(in[2]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) o[i] = pointwise::Where::value<T>(c[i], a[i], b[i]);
  }
};

} // namespace cairn::ops::cpu
