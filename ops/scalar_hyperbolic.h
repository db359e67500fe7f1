// Hyperbolic functions, their inverses and exp(x) - 1 for the CPU, as scalar_math.h has exponentials.
#pragma once

#include "ops/scalar_math.h"

namespace cairn::ops::scalar {

// For |r| <= ln(2) / 2: r + r^3 kSine(r^2) is the hyperbolic sine, 1 + r^2 kCosine(r^2) the cosine. For t in [0, 1/2]:
// t + t^3 kTangent(t^2) is the inverse of the hyperbolic tangent.
template <class T> struct Hyperbolic;
template <> struct Hyperbolic<float> {
  static constexpr float kLeast = -20.0f, kMost = 89.6f; // where exp(x) is nothing beside 1, and where half of it is too large
  static constexpr float kLarge = 8192.0f;               // x^2 + 1 is x^2 from here on
  static constexpr float kSine[] = {0.166666667f, 0.00833331084f, 0.000198910805f};
  static constexpr float kCosine[] = {0.500000001f, 0.0416664642f, 0.00139337307f};
  static constexpr float kTangent[] = {0.333333334f,  0.199999593f,  0.14288286f, 0.110508304f,
                                       0.0975194087f, 0.0409162307f, 0.156291654f};
};
template <> struct Hyperbolic<double> {
  static constexpr double kLeast = -40.0, kMost = 710.6, kLarge = 268435456.0;
  static constexpr double kSine[] = {0.166666666666666675, 0.0083333333333300382, 0.00019841269863171556, 2.75572682769056962e-6,
                                     2.5100472505694996e-8};
  static constexpr double kCosine[] = {0.500000000000000103, 0.0416666666666238205, 0.00138888889173670806,
                                       0.0000248015210578682052, 2.76202015910315488e-7};
  static constexpr double kTangent[] = {0.333333333333333328,  0.200000000000008649,  0.14285714285490105,   0.111111111339389688,
                                        0.0909090788150918814, 0.0769234594027063833, 0.0666588635270188413, 0.058930996925900416,
                                        0.0516076988114716203, 0.0544191541823458718, 0.0122924487285405317, 0.135579039136922984,
                                        -0.144504911834144678, 0.210980978859757969};
};

// x = n ln 2 + r + lost, |r| <= ln(2) / 2. What would be 2^n is 2^(n-1) twice where n > 0, since 2^n can be out of reach where a
// result is not.
template <class T> struct Halvings {
  T n, r, lost, twice;
  typename Format<T>::Bits whole; // n, or n - 1
  CAIRN_SCALAR T scale() const { return from_bits<T>((whole + Format<T>::kBias) << Format<T>::kFraction); }
};
template <class T> CAIRN_SCALAR Halvings<T> halvings(T x) {
  using F = Format<T>;
  const T shifted = x * F::kLog2e + F::kShifter, n = shifted - F::kShifter;
  const T high = x - n * F::kLn2High, low = n * F::kLn2Low, r = high - low, twice = n > 0 ? T(2) : T(1);
  return {n, r, (high - r) - low, twice, bits(shifted - (twice - T(1))) - bits(F::kShifter)};
}

// 2^n - 1 is exact, and so nearly is the sum of it and 2^n r; the rest is small.
template <class T> CAIRN_SCALAR T expm1(T x) {
  using H = Hyperbolic<T>;
  const T high = Format<T>::kExpHigh, above = x < H::kLeast ? H::kLeast : x, bounded = x > high ? high : above;
  const Halvings<T> h = halvings(bounded);
  const T scale = h.scale(), one = h.n > 0 ? T(0.5) : T(1);
  const T rest = h.r * h.r * polynomial(Format<T>::kExp, h.r) + h.lost;
  return with_sign((((scale - one) + scale * h.r) + scale * rest) * h.twice, x);
}

// sinh(n ln 2 + r) = sinh(n ln 2) cosh(r) + cosh(n ln 2) sinh(r), and cosh likewise. Those of n ln 2 are sums of powers of two.
template <class T> struct Grown {
  T sine, cosine, r, sine_rest, cosine_rest, twice; // sine and cosine of n ln 2, r, what those of r have beyond r and beyond 1
};
template <class T> CAIRN_SCALAR Grown<T> grown(T x) {
  using F = Format<T>;
  using H = Hyperbolic<T>;
  const T a = magnitude(x), bounded = a > H::kMost ? H::kMost : a;
  const Halvings<T> h = halvings(bounded);
  // 2^n / 2 and 2^-n / 2, once again halved where n > 0. The second is nothing where it would be too small for a number.
  const T up = from_bits<T>((h.whole + F::kBias - 1) << F::kFraction);
  const T shrunk = from_bits<T>((F::kBias - 1 - h.whole) << F::kFraction) * (h.n > 0 ? T(0.25) : T(1));
  const T down = h.n > T(64) ? T(0) : shrunk;
  const T z = h.r * h.r;
  const T even = z * polynomial(H::kCosine, z) + h.r * h.lost, odd = h.r * (z * polynomial(H::kSine, z)) + h.lost;
  return {up - down, up + down, h.r, odd, even, h.twice};
}
template <class T> CAIRN_SCALAR T sinh(T x) {
  const Grown<T> g = grown(x);
  return with_sign(((g.sine + g.cosine * g.r) + (g.cosine * g.sine_rest + g.sine * g.cosine_rest)) * g.twice, x);
}
template <class T> CAIRN_SCALAR T cosh(T x) {
  const Grown<T> g = grown(x);
  return (g.cosine + (g.sine * (g.r + g.sine_rest) + g.cosine * g.cosine_rest)) * g.twice;
}

// The logarithm of w + lost, and of 2 w where doubled. w is from 1 on and finite, lost within its last place (or w is 1); it
// counts for nothing where doubled. As log, with what is lost divided by w: 1 / (1 + f) is nearly 1 - f + f^2.
template <class T> CAIRN_SCALAR T log_of_sum(T w, T lost, bool doubled) {
  using F = Format<T>;
  const Parts<T> w_parts = parts(w);
  const T n = w_parts.n + (doubled ? T(1) : T(0)), f = w_parts.f;
  const T s = f / (T(2) + f), z = s * s, half = T(0.5) * f * f;
  const T of_fraction = lost * from_bits<T>((F::kBias << F::kFraction) + bits(T(1) + f) - bits(w)); // 2^-n
  const T correction = doubled ? T(0) : of_fraction * (T(1) - f + f * f);
  return n * F::kLn2High - ((half - (s * (half + z * polynomial(F::kLog, z)) + (n * F::kLn2Low + correction))) - f);
}

// log(a + sqrt(a^2 + 1)) = log(1 + u), u = a + a^2 / (1 + sqrt(a^2 + 1)).
template <class T> CAIRN_SCALAR T asinh(T x) {
  using H = Hyperbolic<T>;
  const T a = magnitude(x);
  const bool large = a > H::kLarge;
  const T b = large ? H::kLarge : a, square = b * b;
  const T more = square / (T(1) + square_root(T(1) + square)), u = b + more, w = T(1) + u;
  const T lost_u = (b - u) + more, of_one = w - u, lost = ((T(1) - of_one) + (u - (w - of_one))) + lost_u;
  const T y = log_of_sum(large ? a : w, lost, large);
  return with_sign(a < std::numeric_limits<T>::infinity() ? y : a, x);
}

// log(x + sqrt(x^2 - 1)). With t = x - 1, what is lost in the root r is nearly (2 t + t^2 - r^2) / (2 r); squares are those of
// halves of the digits, which are exact.
template <class T> CAIRN_SCALAR T acosh(T x) {
  using F = Format<T>;
  using H = Hyperbolic<T>;
  constexpr typename F::Bits first_half = ~typename F::Bits{0} << (F::kFraction / 2 + 1);
  const bool large = x > H::kLarge;
  const T b = large ? H::kLarge : x, t = b - T(1), root = square_root(t * (b + T(1)));
  const T t1 = from_bits<T>(bits(t) & first_half), r1 = from_bits<T>(bits(root) & first_half), t2 = t - t1, r2 = root - r1;
  const T over = ((T(2) * t - r1 * r1) + t1 * t1) + (T(2) * (t1 * t2 - r1 * r2) + (t2 * t2 - r2 * r2));
  const T w = b + root, lost = ((b - w) + root) + over / (root == T(0) ? T(1) : T(2) * root);
  const T y = log_of_sum(large ? x : w, lost, large);
  const T finite = x < std::numeric_limits<T>::infinity() ? y : x;
  return x < T(1) ? std::numeric_limits<T>::quiet_NaN() : finite;
}

// From 1/2 on, 1 - a = g / 2^n with g from 5/4 to 5/2, and (1 + a) / (1 - a) = 2^n (1 + t) / (1 - t), where t is the quotient of
// 1 + a - g (exact) and 1 + a + g.
template <class T> CAIRN_SCALAR T atanh(T x) {
  using F = Format<T>;
  using H = Hyperbolic<T>;
  using Bits = typename F::Bits;
  constexpr Bits fraction = (Bits{1} << F::kFraction) - 1, start = bits(T(1.25));
  const T a = magnitude(x), rest = T(1) - a;
  const bool near = a < T(0.5);
  const Bits above = bits(rest) + (F::kBias << F::kFraction) - start, whole = above >> F::kFraction; // kBias - n
  const T g = from_bits<T>((above & fraction) + start);
  const T all = (F::kShifter + static_cast<T>(F::kBias)) - from_bits<T>(bits(F::kShifter) + whole),
          n = near ? T(0) : T(0.5) * all;
  const T above_g = near ? a : (T(1) - g) + a, t = above_g / (near ? T(1) : (T(1) + a) + g), z = t * t;
  const T y = n * F::kLn2High + (t + (t * (z * split_polynomial(H::kTangent, z)) + n * F::kLn2Low));
  constexpr T infinity = std::numeric_limits<T>::infinity(), none = std::numeric_limits<T>::quiet_NaN();
  const T end = a == T(1) ? infinity : none;
  return with_sign(a < T(1) ? y : end, x);
}

} // namespace cairn::ops::scalar
