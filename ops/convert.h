// One element to another type. Shared by the kernels of all devices, so that they agree on what does not fit.
#pragma once

#include "ops/dtype.h"
#include "ops/pointwise.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cairn::ops {

CAIRN_HD inline float widened(Bf16 b) {
  const std::uint32_t bits = static_cast<std::uint32_t>(b.bits) << 16;
  float f = 0;
  memcpy(&f, &bits, sizeof f);
  return f;
}

// To nearest, ties to even; a NaN stays one.
CAIRN_HD inline Bf16 rounded(float f) {
  std::uint32_t bits = 0;
  memcpy(&bits, &f, sizeof bits);
  const std::uint32_t nan = static_cast<std::uint32_t>(-static_cast<std::int32_t>((bits & 0x7fffffffu) > 0x7f800000u));
  const std::uint32_t near = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return Bf16{static_cast<std::uint16_t>((near & ~nan) | (0x7fc0u & nan))};
}

// Towards 0; what does not fit is the nearest that does, a NaN is 0. Nothing is converted that the language does not define.
template <class To> CAIRN_HD inline To to_integer(double d) {
  if constexpr (sizeof(To) == sizeof(std::int64_t)) {
    constexpr double kBeyond = 9223372036854775808.0;
    const bool fits = d >= -kBeyond && d < kBeyond;
    const std::int64_t whole = static_cast<std::int64_t>(fits ? d : 0.0);
    return fits ? whole : d > 0 ? INT64_MAX : d < 0 ? INT64_MIN : 0;
  } else {
    // Not numeric_limits: its members are functions of the host.
    constexpr bool kSigned = std::is_signed_v<To>;
    constexpr double kMost = static_cast<double>((std::uint64_t{1} << (8 * sizeof(To) - (kSigned ? 1 : 0))) - 1);
    constexpr double kLeast = kSigned ? -kMost - 1 : 0;
    const double above = d > kLeast ? d : kLeast, bounded = above < kMost ? above : kMost;
    return static_cast<To>(static_cast<std::int32_t>(d == d ? bounded : 0.0));
  }
}

// Between types of elements, and the types computed with (float, double, pointwise::Integer). Of integers, smaller ones keep the
// low bits.
template <class To, class From> CAIRN_HD inline To converted(From x) {
  using pointwise::Integer;
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, Bf16>) {
    return converted<To>(widened(x));
  } else if constexpr (std::is_same_v<From, Integer>) {
    return converted<To>(x.v);
  } else if constexpr (std::is_same_v<To, Integer>) {
    return Integer(converted<std::int64_t>(x));
  } else if constexpr (std::is_same_v<To, Bf16>) {
    return rounded(static_cast<float>(x));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return to_integer<To>(static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

} // namespace cairn::ops
