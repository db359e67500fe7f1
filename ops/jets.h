// Numbers with infinitesimals e1, ..., em, each of which is 0 when squared: what a function is at x + t1 e1 + ... + tm em has,
// before the product of all of them, its derivative at x in the directions t1, ..., tm; where one of them is left out, the
// derivative without that direction. So derivatives of any order come from the formula of the function, right also where no
// formula for the derivative is.
#pragma once

#include <cstddef>
#include <type_traits>

namespace cairn::ops {

// value + slope e.
template <class T> struct Dual {
  T value = T(0), slope = T(0);
  Dual() = default;
  explicit Dual(double d) : value(d) {}
  Dual(const T& v, const T& s) : value(v), slope(s) {}
  friend Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator-(const Dual& a, const Dual& b) { return {a.value - b.value, a.slope - b.slope}; }
  friend Dual operator*(const Dual& a, const Dual& b) { return {a.value * b.value, a.value * b.slope + a.slope * b.value}; }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const T quotient = a.value / b.value;
    return {quotient, (a.slope - quotient * b.slope) / b.value};
  }
};

inline constexpr unsigned kMostDirections = 4;
template <unsigned m> struct JetOf { using type = Dual<typename JetOf<m - 1>::type>; };
template <> struct JetOf<0> { using type = double; };
template <unsigned m> using Jet = typename JetOf<m>::type;

// x[0] + x[1] e1 + ... + x[m] em.
template <unsigned m> Jet<m> jet(const double* x) {
  if constexpr (m == 0)
    return x[0];
  else
    return Jet<m>(jet<m - 1>(x), Jet<m - 1>(x[m]));
}

// Without infinitesimals.
inline double real(double x) { return x; }
template <class T> double real(const Dual<T>& x) { return real(x.value); }

// The factor of all infinitesimals, or of all but one (from 1 on; 0: none is left out).
template <unsigned m> double part(const Jet<m>& x, unsigned without) {
  if constexpr (m == 0)
    return x;
  else
    return part<m - 1>(m == without ? x.value : x.slope, without);
}

// f(integral constant) with the number of directions, which is at most kMostDirections.
template <class F, unsigned m = 0> void with_directions(std::size_t directions, const F& f) {
  if (directions == m)
    f(std::integral_constant<unsigned, m>());
  else if constexpr (m < kMostDirections)
    with_directions<F, m + 1>(directions, f);
}

} // namespace cairn::ops
