// Angles for the CPU, as scalar_math.h has exponentials: the inverses of sine, cosine and tangent, and the angle of a point.
#pragma once

#include "ops/scalar_math.h"

namespace cairn::ops::scalar {

// t + t^3 kTangent(t^2) for t in [0, 1] is the arc of a tangent, t + t^3 kSine(t^2) for t in [0, 1/2] that of a sine.
// A quarter and a half of a turn are given with what their first parts lack.
template <class T> struct Arcs;
template <> struct Arcs<float> {
  static constexpr float kQuarter = 1.57079637f, kQuarterLow = -4.37113883e-8f, kHalf = 3.14159274f, kHalfLow = -8.74227766e-8f;
  static constexpr float kTangent[] = {-0.333333331f, 0.199999493f,  -0.142840038f, 0.110882616f,    -0.0893182678f,
                                       0.0703191425f, -0.048960514f, 0.0263050011f, -0.00914462976f, 0.00148869194f};
  static constexpr float kSine[] = {0.166666663f, 0.0750009454f, 0.0445994015f, 0.0311006627f, 0.0171492384f, 0.0336908472f};
};
template <> struct Arcs<double> {
  static constexpr double kQuarter = 0x1.921fb54442d18p+0, kQuarterLow = 0x1.1a62633145c07p-54, kHalf = 0x1.921fb54442d18p+1,
                          kHalfLow = 0x1.1a62633145c07p-53;
  static constexpr double kTangent[] = {
      -0.333333333333333303,   0.199999999999975322,   -0.142857142853841315,    0.111111110934908281,
      -0.0909090859089193423,  0.0769229897103321692,  -0.0666656469928910421,   0.0588150687779365607,
      -0.0525797333428411081,  0.0473774957952777897,  -0.0426035663260165213,   0.0374948681253524711,
      -0.0312771890669963848,  0.023696731580048622,   -0.0155351524754141761,   0.00836893117845016214,
      -0.00349588597391630952, 0.00104960350849685151, -0.000199961893779013821, 0.0000180619546186121522};
  static constexpr double kSine[] = {0.166666666666666678,  0.0749999999999843293, 0.0446428571463554298, 0.0303819441385312473,
                                     0.0223721729421498879, 0.0173523927208699729, 0.0139712129735529333, 0.0114791774151849059,
                                     0.0103228143501857793, 0.0054575067186403583, 0.0174008794426940224, -0.0148518870712472032,
                                     0.0287578513674215647};
};

// from + t + from_low + small: what is lost in the first sum is added last. t is no larger than `from`, or that is 0.
template <class T> CAIRN_SCALAR T turned_from(T from, T from_low, T t, T small) {
  const T sum = from + t;
  return sum + (((from - sum) + t) + (small + from_low));
}

// What the arc of the tangent t has beyond t.
template <class T> CAIRN_SCALAR T beyond_tangent(T t) { return t * (t * t * polynomial(Arcs<T>::kTangent, t * t)); }

// Beyond 1 it is a quarter of a turn less the arc of 1 / x.
template <class T> CAIRN_SCALAR T atan(T x) {
  using A = Arcs<T>;
  const T a = magnitude(x);
  const bool steep = a > T(1);
  const T t = (steep ? T(-1) : a) / (steep ? a : T(1));
  return with_sign(turned_from(steep ? A::kQuarter : T(0), steep ? A::kQuarterLow : T(0), t, beyond_tangent(t)), x);
}

// The angle of the point (b, a): as many quarters of a turn as its octant says, and the arc of the quotient, added or taken off.
// Signs are read from bits, since zeros have them too.
template <class T> CAIRN_SCALAR T atan2(T a, T b) {
  using A = Arcs<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const T up = magnitude(a), along = magnitude(b), left = with_sign(T(1), b);
  const bool steep = up > along;
  const T more = steep ? up : along, less = steep ? along : up;
  const T quotient = less / (more == T(0) ? T(1) : more), octant = less == infinity ? T(1) : quotient;
  const T back = left < T(0) ? A::kHalf : T(0), back_low = left < T(0) ? A::kHalfLow : T(0);
  const T from = steep ? A::kQuarter : back, from_low = steep ? A::kQuarterLow : back_low;
  const T side = steep ? -left : left, t = side * octant;
  const T angle = with_sign(turned_from(from, from_low, t, beyond_tangent(t)), a);
  return a == a ? (b == b ? angle : b) : a;
}

// s is |x|, or beyond 1/2 the sine of half the angle between x and 1; s + rest is the arc of that.
template <class T> struct ArcOfSine { T s, rest; };
template <class T> CAIRN_SCALAR bool far_out(T x) { return magnitude(x) > T(0.5); }
template <class T> CAIRN_SCALAR ArcOfSine<T> arc_of_sine(T x) {
  const T a = magnitude(x);
  const bool halved = far_out(x);
  const T z = halved ? T(0.5) * (T(1) - a) : a * a;
  // A sum, not a selection: a compiler would take the root where it is selected only, and then there are no vectors.
  const T root = square_root(z), s = halved ? root : a;
  return {s, s * (z * split_polynomial(Arcs<T>::kSine, z))};
}
template <class T> CAIRN_SCALAR T asin(T x) {
  using A = Arcs<T>;
  const ArcOfSine<T> arc = arc_of_sine(x);
  const bool halved = far_out(x);
  // Half of it, or it.
  const T y = turned_from(halved ? T(0.5) * A::kQuarter : T(0), halved ? T(0.5) * A::kQuarterLow : T(0), halved ? -arc.s : arc.s,
                          halved ? -arc.rest : arc.rest);
  return with_sign(halved ? T(2) * y : y, x);
}
template <class T> CAIRN_SCALAR T acos(T x) {
  using A = Arcs<T>;
  const ArcOfSine<T> arc = arc_of_sine(x);
  const bool halved = far_out(x);
  const T p = with_sign(arc.s + arc.rest, x), back = x < T(0) ? A::kHalf : T(0), back_low = x < T(0) ? A::kHalfLow : T(0);
  const T from = halved ? back : A::kQuarter, from_low = halved ? back_low : A::kQuarterLow;
  return from + ((halved ? T(2) * p : -p) + from_low);
}

} // namespace cairn::ops::scalar
