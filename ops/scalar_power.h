// Powers for the CPU, as scalar_math.h has exponentials.
//
// The power is exp(b log(a)). An error in the last place of the logarithm becomes one as many times larger as the exponent is
// large, so of floats the logarithm is a double, and of doubles it is a sum of two.
#pragma once

#include "ops/scalar_math.h"

namespace cairn::ops::scalar {

// The power where y is that of |x|: its sign, and where the C language says what it is. Selections are nested, all of one type:
// so they become vectors.
CAIRN_SCALAR double power_of_any(double y, double x, double power) {
  constexpr double kWhole = 0x1p52, kEven = 0x1p53; // doubles from there on are whole, and even
  constexpr double infinity = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();
  const double base = magnitude(x), size = magnitude(power);
  const double shifted = size < kWhole ? size + kWhole : size, whole = size < kWhole ? shifted - kWhole : size;
  // The sign of x where the power is odd. It is a factor: bits of selected numbers would not become vectors everywhere.
  const double side = from_bits<double>((bits(x) & bits(shifted) << 63) | bits(1.0));
  y = y * (whole == size ? (size < kEven ? side : 1.0) : 1.0);
  // Of what is below 0 there are whole powers only.
  const double unless_whole = base < infinity ? (size < infinity ? none : y) : y;
  y = x < 0 ? (whole == size ? y : unless_whole) : y;
  y = base == 1 ? (size == infinity ? 1.0 : y) : y;
  y = x == 1 ? 1.0 : y;
  y = power == 0 ? 1.0 : y;
  y = power == 1 ? x : y;
  return power == 2 ? x * x : y;
}

CAIRN_SCALAR float pow(float a, float b) {
  const double x = a, power = b;
  return static_cast<float>(power_of_any(exp(power * log(magnitude(x))), x, power));
}

// A sum of two doubles, the second small; and the first half of a double's digits, whose products with such halves are exact.
struct Sum {
  double high, low;
};
CAIRN_SCALAR double head(double x) { return from_bits<double>(bits(x) & ~std::uint64_t{0} << 27); }
CAIRN_SCALAR Sum product(double a, double b) {
  const double a1 = head(a), b1 = head(b), a2 = a - a1, b2 = b - b1, high = a * b;
  return {high, ((a1 * b1 - high) + (a1 * b2 + a2 * b1)) + a2 * b2};
}

// For s as in log, of z = s^2 from 0 to 0.02944: log(1 + f) = 2 s (1 + z / 3 + z^2 kLogBeyond(z)).
inline constexpr double kLogBeyond[] = {0.199999999999999999,  0.142857142857146857, 0.111111111108263826,
                                        0.0909090916804992311, 0.076922974435035897, 0.0666740439940616934,
                                        0.0585306323228169862, 0.0586216353042337329};

// The logarithm of x > 0, finite, to 2^-64 of itself.
CAIRN_SCALAR Sum log_sum(double x) {
  using F = Format<double>;
  constexpr double kThird = 0x1.5555555555555p-2, kThirdLow = 0x1.5555555555555p-56;
  const Parts<double> x_parts = parts(x);
  const double n = x_parts.n, f = x_parts.f;
  // s = f / (2 + f). What the first quotient lacks is made good in the second part; 2 + f = d1 + d2 exactly.
  const double d = 2.0 + f, d1 = head(d), d2 = f - (d1 - 2.0), inverse = 1.0 / d;
  const double s = f * inverse, s1 = head(s), s2 = s - s1, s_low = (((f - s1 * d1) - s1 * d2) - s2 * d) * inverse;
  const Sum z = product(s, s);
  const double z_low = z.low + 2.0 * s * s_low;
  // z / 3 and what follows: nearly a hundredth, so its last places count.
  const double p = z.high * polynomial(kLogBeyond, z.high), q = kThird + p, q_low = ((kThird - q) + p) + kThirdLow;
  const Sum u = product(z.high, q);
  const double u_low = u.low + (z.high * q_low + z_low * q);
  const Sum w = product(s, u.high);
  const double w_low = w.low + (s * u_low + s_low * u.high);
  const double half = s + w.high, half_low = ((s - half) + w.high) + (s_low + w_low);
  const double whole = n * F::kLn2High, high = whole + 2.0 * half;
  return {high, ((whole - high) + 2.0 * half) + (2.0 * half_low + n * F::kLn2Low)};
}

CAIRN_SCALAR double pow(double a, double b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double base = magnitude(a);
  const Sum l = log_sum(base), t = product(b, l.high);
  const double special = b * (base == 0 ? -infinity : base); // of infinity or a NaN
  const double high = base > 0 ? (base < infinity ? t.high : special) : special;
  const double low = magnitude(high) < 1024.0 ? t.low + b * l.low : 0.0; // where the result depends on it
  return power_of_any(exp(high, low), a, b);
}

} // namespace cairn::ops::scalar
