// The loops of a block that compilers make vectors of: what its elements are like, their numbers of steps, and elements of these.
#pragma once

#include "ops/cpu/loops/isa.h"
#include "ops/cpu/lossy/encoding.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace cairn::ops::cpu::lossy {

template <class C> using BitsOf = std::conditional_t<std::is_same_v<C, double>, std::uint64_t, std::uint32_t>;
template <class C> inline constexpr BitsOf<C> kSignBit = BitsOf<C>{1} << (8 * sizeof(C) - 1);
template <class C>
inline constexpr BitsOf<C> kInfinity = std::is_same_v<C, double> ? BitsOf<C>(0x7FF0000000000000u) : BitsOf<C>(0x7F800000u);
// Smaller ones are denormal: kernels take them for zeros, and so does the mask.
template <class C> inline constexpr BitsOf<C> kLeastNormal = std::is_same_v<C, double> ? BitsOf<C>{1} << 52 : BitsOf<C>{1} << 23;

template <class C> struct Survey {
  BitsOf<C> largest = 0;  // of magnitudes, as bits; with kInfinity and above: one that is no number or infinite
  BitsOf<C> sum = 0;      // of all bits
  BitsOf<C> negative = 0; // its sign bit: whether one that is not zero is negative
};

template <class C> struct SurveyLoop {
  CAIRN_INLINE static void run(const C* x, std::int64_t count, Survey<C>* found) {
    using Bits = BitsOf<C>;
    Bits largest = 0, sum = 0, negative = 0;
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) {
      const Bits bits = std::bit_cast<Bits>(x[i]), magnitude = bits & ~kSignBit<C>;
      largest = magnitude > largest ? magnitude : largest;
      sum += bits;
      negative |= magnitude >= kLeastNormal<C> ? bits : Bits{0};
    }
    *found = {largest, sum, negative & kSignBit<C>};
  }
};

// Added to numbers far below 2^51 or 2^22 this leaves the nearest integer, as the lowest bits of what comes.
template <class C> inline constexpr C kShift = std::is_same_v<C, double> ? C(0x1.8p52) : C(0x1.8p23);

template <class C> struct ToSteps {
  Steps<C> steps;
  C below; // an error has to be
  Dither dither;
};
struct Stepped {
  std::uint32_t all = 0; // the bits of the numbers of all that are not zero
  bool wrong = false;    // an element would not come back within the bound
};

// In the type of elements.
template <bool is_short, class C> CAIRN_INLINE C as_element(C x) {
  if constexpr (is_short) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u);
  } else {
    return x;
  }
}

// The value of each element: 0 for a zero, and its number of steps and one for others. Where there are negative ones that are not
// zero, `is_signed`, numbers have their sign.
template <class C, bool is_short, bool is_signed> struct StepLoop {
  CAIRN_INLINE static void run(const C* x, std::int64_t count, const ToSteps<C>* how, std::uint32_t* values, Stepped* out) {
    using Bits = BitsOf<C>;
    const C step = how->steps.step, inverse = how->steps.inverse;
    const Dither dither = how->dither;
    std::uint32_t all = 0;
    Bits error = 0;                                  // the largest, as bits: beyond those of all numbers if it is none
    const auto n = static_cast<std::int32_t>(count); // an index as wide as what is hashed
    CAIRN_EACH
    for (std::int32_t i = 0; i < n; ++i) {
      const C d = static_cast<C>(dither.of(i));
      const C shifted = (x[i] * inverse - d) + kShift<C>, steps = shifted - kShift<C>;
      const C back = as_element<is_short>((steps + d) * step);
      const Bits off = std::bit_cast<Bits>(x[i] - back) & ~kSignBit<C>, bits = std::bit_cast<Bits>(x[i]);
      const auto q = static_cast<std::uint32_t>(std::bit_cast<Bits>(shifted) - std::bit_cast<Bits>(kShift<C>));
      const std::uint32_t number = is_signed ? q << 1 ^ static_cast<std::uint32_t>(static_cast<std::int32_t>(q) >> 31) : q;
      const bool is = is_signed
                          ? (bits & ~kSignBit<C>) >= kLeastNormal<C>
                          : static_cast<std::make_signed_t<Bits>>(bits) >= static_cast<std::make_signed_t<Bits>>(kLeastNormal<C>);
      values[i] = is ? number + 1 : 0u;
      all |= is ? number : 0u;
      error = off > error ? off : error;
    }
    *out = {all, error >= std::bit_cast<Bits>(how->below)};
  }
};

template <class C> struct FromSteps {
  C step;
  Dither dither;
};

// An element of each value.
template <class C, bool is_signed> struct RestoreLoop {
  CAIRN_INLINE static void run(const std::uint32_t* values, std::int64_t count, const FromSteps<C>* how, C* to) {
    const C step = how->step;
    const Dither dither = how->dither;
    const auto n = static_cast<std::int32_t>(count);
    CAIRN_EACH
    for (std::int32_t i = 0; i < n; ++i) {
      const std::uint32_t number = values[i] - 1;
      const auto q = static_cast<std::int32_t>(is_signed ? number >> 1 ^ (0u - (number & 1)) : number);
      const C d = static_cast<C>(dither.of(i));
      const C back = (static_cast<C>(q) + d) * step;
      to[i] = values[i] != 0 ? back : C(0);
    }
  }
};

} // namespace cairn::ops::cpu::lossy
