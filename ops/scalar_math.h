// Exponentials, logarithms and waves for the CPU, written so that a compiler makes vectors of them: no branches, no tables,
// no calls. Errors are within about two units in the last place; infinities and NaNs come out as they should, denormal results as
// zeros. The same operations are done for every processor, so results do not depend on the width of its vectors.
//
// Polynomials interpolate at Chebyshev nodes (60 digits); the comment beside each says what and where.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cairn::ops::scalar {

#define CAIRN_SCALAR __attribute__((always_inline)) inline

template <class T> struct Format;
template <> struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int kFraction = 23;
  static constexpr Bits kBias = 127, kRootHalf = 0x3f3504f3; // of sqrt(1/2)
  static constexpr float kShifter = 12582912.0f;             // 1.5 2^23: what is added to it is rounded to an integer
  static constexpr float kLog2e = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  static constexpr float kExpLow = -87.33654f, kExpHigh = 89.0f, kErfEnd = 4.0f;
  static constexpr float kExp[] = {0.5f, 0.166665767f, 0.0416665542f, 0.00836323288f, 0.00139262508f};
  static constexpr float kLog[] = {0.666666666f, 0.400001222f, 0.285507786f, 0.233316145f};
  static constexpr float kTanh[] = {-0.333333303f, 0.133329154f, -0.0538739488f, 0.021110959f, -0.00626911972f};
  static constexpr float kErf[] = {1.12837913f, -0.376123438f, 0.112803167f, -0.0267150542f, 0.00492176203f, -0.000564805987f};
  static constexpr float kErfc[] = {0.000605118391f, 0.27363434f, 0.330757134f,  0.101495412f,
                                    0.403495053f,    -0.0570652f, -0.0536304281f};
};
template <> struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int kFraction = 52;
  static constexpr Bits kBias = 1023, kRootHalf = 0x3fe6a09e667f3bcd;
  static constexpr double kShifter = 6755399441055744.0;
  static constexpr double kLog2e = 1.4426950408889634074, kLn2High = 6.93147180369123816490e-01,
                          kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kExpLow = -708.39, kExpHigh = 710.0, kErfEnd = 6.0;
  static constexpr double kExp[] = {
      0.500000000000000103,   0.166666666666666675,     0.0416666666666238205,  0.0083333333333300382,  0.00138888889173670806,
      0.00019841269863171556, 0.0000248015210578682052, 2.75572682769056962e-6, 2.76202015910315488e-7, 2.5100472505694996e-8};
  static constexpr double kLog[] = {0.666666666666666665, 0.400000000000008832, 0.28571428570799785,  0.222222223925810451,
                                    0.181817955475211362, 0.153862447376216666, 0.132686383692668239, 0.130880348509275538};
  static constexpr double kTanh[] = {-0.333333333333333287,    0.133333333333301962,     -0.0539682539647576248,
                                     0.0218694883837809292,    -0.00886323211354147319,  0.0035920831663434575,
                                     -0.00145546480280074492,  0.0005880541548418729,    -0.000232251040679385094,
                                     0.0000815473780652536514, -0.0000183359621100394199};
  static constexpr double kErf[] = {1.12837916709551257,     -0.376126389031835404,     0.112837916709450063,
                                    -0.0268661706432377704,  0.00522397760711642273,    -0.000854832597538969208,
                                    0.000120552949048397079, -0.0000149247369074196603, 1.64474247033173624e-6,
                                    -1.62084838018717059e-7, 1.37200645467776856e-8,    -7.79589882700214224e-10};
  static constexpr double kErfc[] = {1.62422847400775906e-7, 0.282088572932022902,  0.282205141737662301, 0.245629758166419056,
                                     0.185316412975861975,   0.0347789766883714377, 0.194832338995249526, -0.672058782219028899,
                                     1.39072435472766126,    -2.54857951516277219,  3.31417899390741177,  -2.80846962008124903,
                                     1.49932738619925879,    -0.464150310051270232, 0.0641770995699775654};
};

// By Horner, unrolled by recursion: c[0] + x (c[1] + x (...)).
template <std::size_t from = 0, class T, std::size_t n> CAIRN_SCALAR T polynomial(const T (&c)[n], T x) {
  if constexpr (from + 1 == n)
    return c[from];
  else
    return c[from] + x * polynomial<from + 1>(c, x);
}

// The same, even and odd powers apart: half as many steps wait for one another, which long ones need.
template <std::size_t from, class T, std::size_t n> CAIRN_SCALAR T every_second(const T (&c)[n], T square) {
  if constexpr (from + 2 >= n)
    return c[from];
  else
    return c[from] + square * every_second<from + 2>(c, square);
}
template <class T, std::size_t n> CAIRN_SCALAR T split_polynomial(const T (&c)[n], T x) {
  return every_second<0>(c, x * x) + x * every_second<1>(c, x * x);
}

CAIRN_SCALAR float square_root(float x) { return __builtin_sqrtf(x); }
CAIRN_SCALAR double square_root(double x) { return __builtin_sqrt(x); }

template <class T> CAIRN_SCALAR constexpr typename Format<T>::Bits bits(T x) {
  return std::bit_cast<typename Format<T>::Bits>(x);
}
template <class T> CAIRN_SCALAR T from_bits(typename Format<T>::Bits b) { return std::bit_cast<T>(b); }
template <class T> CAIRN_SCALAR T magnitude(T x) { return from_bits<T>(bits(x) & (~typename Format<T>::Bits{0} >> 1)); }
template <class T> CAIRN_SCALAR T with_sign(T x, T sign) {
  return from_bits<T>(bits(x) | (bits(sign) & ~(~typename Format<T>::Bits{0} >> 1)));
}

// Of x + low, where low is small. x = n ln 2 + r: 2^n (1 + r + r^2 kExp(r)), |r| <= ln(2) / 2.
template <class T> CAIRN_SCALAR T exp(T x, T low) {
  using F = Format<T>;
  const T bounded = x > F::kExpHigh ? F::kExpHigh : x;
  const T shifted = bounded * F::kLog2e + F::kShifter;
  const T n = shifted - F::kShifter;
  const T r = (bounded - n * F::kLn2High) - (n * F::kLn2Low - low);
  const T y = (r * r) * polynomial(F::kExp, r) + r + T(1);
  // 2^n can be out of reach where the result is not.
  const T twice = n > 0 ? T(2) : T(1);
  const typename F::Bits whole = bits(shifted - (twice - T(1))) - bits(F::kShifter);
  const T scale = from_bits<T>((whole + F::kBias) << F::kFraction);
  return x < F::kExpLow ? T(0) : y * scale * twice;
}
template <class T> CAIRN_SCALAR T exp(T x) { return exp(x, T(0)); }

// x = 2^n (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). Of an exponent that is not below 0 the shifter makes a number, which more
// processors have for vectors than a conversion.
template <class T> struct Parts { T n, f; };
template <class T> CAIRN_SCALAR Parts<T> parts(T x) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  constexpr Bits fraction = (Bits{1} << F::kFraction) - 1;
  const Bits above = bits(x) + (F::kBias << F::kFraction) - F::kRootHalf;
  const T n = from_bits<T>(bits(F::kShifter) + (above >> F::kFraction)) - (F::kShifter + static_cast<T>(F::kBias));
  return {n, from_bits<T>((above & fraction) + F::kRootHalf) - T(1)};
}

// With s = f / (2 + f): log(1 + f) = 2 s + s^3 kLog(s^2).
template <class T> CAIRN_SCALAR T log(T x) {
  using F = Format<T>;
  const Parts<T> x_parts = parts(x);
  const T n = x_parts.n, f = x_parts.f;
  const T s = f / (T(2) + f), z = s * s, half = T(0.5) * f * f;
  const T y = n * F::kLn2High - ((half - (s * (half + z * polynomial(F::kLog, z)) + n * F::kLn2Low)) - f);
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const T special = x == T(0) ? -infinity : x < T(0) ? std::numeric_limits<T>::quiet_NaN() : x;
  return x > T(0) && x < infinity ? y : special;
}

// What is lost in 1 + x is made good by the quotient.
template <class T> CAIRN_SCALAR T log1p(T x) {
  const T w = T(1) + x;
  return w == T(1) || w == std::numeric_limits<T>::infinity() ? x : log(w) * (x / (w - T(1)));
}

// x + x^3 kTanh(x^2) for |x| < 0.6.
template <class T> CAIRN_SCALAR T tanh(T x) {
  const T a = magnitude(x), z = x * x;
  const T small = x + x * (z * polynomial(Format<T>::kTanh, z));
  const T large = with_sign(T(1) - T(2) / (exp(T(2) * a) + T(1)), x);
  return a < T(0.6) ? small : large;
}

// x kErf(x^2) for |x| < 1; beyond that 1 - exp(-x^2) kErfc(1 / (1 + x / 2)), up to where that is 1.
template <class T> CAIRN_SCALAR T erf(T x) {
  using F = Format<T>;
  const T a = magnitude(x) > F::kErfEnd ? F::kErfEnd : magnitude(x);
  const T small = x * polynomial(F::kErf, a * a);
  const T large = with_sign(T(1) - exp(-(a * a)) * polynomial(F::kErfc, T(1) / (T(1) + T(0.5) * a)), x);
  return a < T(1) ? small : x == x ? large : x;
}

// --- sine and cosine, up to kMostTurned; beyond, what is left of an argument takes more digits of pi

inline constexpr double kMostTurned = 1e6;

// x = n pi / 2 + rest + lost, |rest| <= pi / 4. The first two parts of pi / 2 have 33 bits, so their products with n < 2^20 are
// exact.
struct Turned {
  double rest, lost;     // in rounding the rest
  std::uint64_t quarter; // n; bits beyond the second mean nothing
};
CAIRN_SCALAR Turned turned(double x) {
  constexpr double kShifter = Format<double>::kShifter, kHigh = 0x1.921fb544p+0, kMiddle = 0x1.0b4611a6p-34,
                   kLow = 0x1.3198a2e037073p-69, kQuarters = 0x1.45f306dc9c883p-1; // 2 / pi
  const double shifted = x * kQuarters + kShifter, n = shifted - kShifter;
  const double first = x - n * kHigh, second = n * kMiddle, third = n * kLow, most = first - second, rest = most - third;
  return {rest, ((first - most) - second) + ((most - rest) - third), bits(shifted)};
}

// rest + rest^3 kSine(rest^2), and 1 - rest^2 / 2 + rest^4 kCosine(rest^2). Floats are computed as doubles.
template <class T> struct Waves;
template <> struct Waves<float> {
  static constexpr double kSine[] = {-0.166666666638552895, 0.00833333187471020879, -0.000198400867353848456,
                                     2.72499258030597923e-6};
  static constexpr double kCosine[] = {0.0416666666643212033, -0.00138888876720167901, 0.000024800600377156728,
                                       -2.730095920390147e-7};
};
template <> struct Waves<double> {
  static constexpr double kSine[] = {-0.166666666666666667,   0.00833333333333333149,  -0.000198412698412650649,
                                     2.75573192193391665e-6,  -2.50521062324475773e-8, 1.60585316189861468e-10,
                                     -7.58669711770691798e-13};
  static constexpr double kCosine[] = {0.0416666666666666667,   -0.00138888888888888879, 0.0000248015873015846464,
                                       -2.75573192214028244e-7, 2.08767557910804238e-9,  -1.14704608876099591e-11,
                                       4.74587190204329154e-14};
};

// Sine and cosine of the rest, and what is lost in rounding them.
struct Wave {
  double sine, cosine, sine_lost, cosine_lost;
  std::uint64_t quarter;
};
template <class T> CAIRN_SCALAR Wave wave(T x) {
  const Turned t = turned(static_cast<double>(x));
  const double r = t.rest, z = r * r, half = 0.5 * z, above = 1.0 - half;
  const double s_rest = r * (z * polynomial(Waves<T>::kSine, z)) + t.lost * above, s = r == 0 ? r : r + s_rest;
  // What is lost in 1 - half is added again.
  const double c_rest = ((1.0 - above) - half) + (z * z * polynomial(Waves<T>::kCosine, z) - r * t.lost), c = above + c_rest;
  return {s, c, (r - s) + s_rest, (above - c) + c_rest, t.quarter};
}

// The sine of an angle that is so many quarters of a turn larger.
template <class T> CAIRN_SCALAR T sine(T x, std::uint64_t quarters) {
  const Wave w = wave(x);
  const std::uint64_t quarter = w.quarter + quarters;
  const double y = (quarter & 1) != 0 ? w.cosine : w.sine;
  return static_cast<T>(from_bits<double>(bits(y) ^ (quarter & 2) << 62));
}
template <class T> CAIRN_SCALAR T sin(T x) { return sine(x, 0); }
template <class T> CAIRN_SCALAR T cos(T x) { return sine(x, 1); }
template <class T> CAIRN_SCALAR T tan(T x) {
  const Wave w = wave(x);
  const bool odd = (w.quarter & 1) != 0;
  const double a = odd ? w.cosine : w.sine, b = odd ? w.sine : w.cosine;
  double y = a / b;
  if constexpr (std::is_same_v<T, double>) // two roundings and that of the quotient would be more than two units
    y = a == 0 ? y : y + ((odd ? w.cosine_lost : w.sine_lost) - y * (odd ? w.sine_lost : w.cosine_lost)) / b;
  return static_cast<T>(from_bits<double>(bits(y) ^ (w.quarter & 1) << 63));
}

} // namespace cairn::ops::scalar
