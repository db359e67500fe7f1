// What the formulas of pointwise.h are computed with beside float, double and terms: integers that wrap, and numbers of programs.
// And what formulas are made of that is no function: comparisons and choices.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define CAIRN_HD __host__ __device__
#else
// Into the loops of kernels, which become vectors only as a whole.
#define CAIRN_HD __attribute__((always_inline))
#endif

namespace cairn::ops::pointwise {

// Integers modulo 2^64.
struct Integer {
  std::int64_t v = 0;
  Integer() = default;
  CAIRN_HD Integer(std::int64_t i) : v(i) {} // implicit, as the literals of formulas are
  CAIRN_HD friend Integer operator+(Integer a, Integer b) { return wrapped(a.bits() + b.bits()); }
  CAIRN_HD friend Integer operator-(Integer a, Integer b) { return wrapped(a.bits() - b.bits()); }
  CAIRN_HD friend Integer operator*(Integer a, Integer b) { return wrapped(a.bits() * b.bits()); }
  CAIRN_HD friend Integer operator-(Integer a) { return wrapped(0 - a.bits()); }
  CAIRN_HD std::uint64_t bits() const { return static_cast<std::uint64_t>(v); }
  CAIRN_HD static Integer wrapped(std::uint64_t bits) { return Integer(static_cast<std::int64_t>(bits)); }
};

// A number of a program: a double, apart from the elements of tensors because its functions are those of the C library, one at a
// time, where theirs are made to become vectors.
struct Number {
  double v = 0;
  Number() = default;
  CAIRN_HD Number(double d) : v(d) {} // implicit, as the literals of formulas are
  CAIRN_HD friend Number operator+(Number a, Number b) { return a.v + b.v; }
  CAIRN_HD friend Number operator-(Number a, Number b) { return a.v - b.v; }
  CAIRN_HD friend Number operator*(Number a, Number b) { return a.v * b.v; }
  CAIRN_HD friend Number operator/(Number a, Number b) { return a.v / b.v; }
  CAIRN_HD friend Number operator-(Number a) { return -a.v; }
};

// --- what formulas are made of, for scalars; for terms it is found by the type of the arguments
CAIRN_HD inline bool less(float a, float b) { return a < b; }
CAIRN_HD inline bool less(double a, double b) { return a < b; }
CAIRN_HD inline bool less(Integer a, Integer b) { return a.v < b.v; }
CAIRN_HD inline bool less(Number a, Number b) { return a.v < b.v; }
CAIRN_HD inline bool less_equal(float a, float b) { return a <= b; }
CAIRN_HD inline bool less_equal(double a, double b) { return a <= b; }
CAIRN_HD inline bool less_equal(Integer a, Integer b) { return a.v <= b.v; }
CAIRN_HD inline bool less_equal(Number a, Number b) { return a.v <= b.v; }
CAIRN_HD inline bool equal(float a, float b) { return a == b; }
CAIRN_HD inline bool equal(double a, double b) { return a == b; }
CAIRN_HD inline bool equal(Integer a, Integer b) { return a.v == b.v; }
CAIRN_HD inline bool equal(Number a, Number b) { return a.v == b.v; }
CAIRN_HD inline float where(bool c, float a, float b) { return c ? a : b; }
CAIRN_HD inline double where(bool c, double a, double b) { return c ? a : b; }
CAIRN_HD inline Integer where(bool c, Integer a, Integer b) { return c ? a : b; }
CAIRN_HD inline Number where(bool c, Number a, Number b) { return c ? a : b; }
// From -most to most. Slopes that go to 0 by a factor that does are taken there, so that the other factor does not overflow.
CAIRN_HD inline float bounded(float x, float most) {
  const float below = most < x ? most : x; // as processors have it in one instruction
  return -most > below ? -most : below;
}
CAIRN_HD inline double bounded(double x, double most) {
  const double below = most < x ? most : x;
  return -most > below ? -most : below;
}
CAIRN_HD inline Number bounded(Number x, Number most) { return bounded(x.v, most.v); }

} // namespace cairn::ops::pointwise
