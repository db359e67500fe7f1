// Pointwise functions, each once: value and slopes as templates over what they are computed with. Float and double are the
// kernels of the CPU and of CUDA; Integer is wrapping 64-bit arithmetic, for the functions whose results stay integers; Term is
// forward mode, where a formula becomes applications of operators. Types that are smaller are computed in one of these and
// rounded once: bf16 in float, integers in Integer, or in the floating type of the result.
//
// Number is a number of programs (scalar_types.h), for the functions that those have too. In forward mode numbers have terms of
// their own (vm/machine/derivative_rules.cpp): the tangent of a result is that of the operand times the slope, or what `tangent`
// says, which may ask conditions, since numbers are known when the formula is.
//
// At kinks as for numbers: d|x| at 0 is 0; max and min take the first at ties, and a NaN wherever it is; d x^y by y at x = 0 is
// 0, by x at y = 0 is 0.
//
// A reverse rule is one kernel, cotangent times slope: NAME_vjp (cotangent, x, y) or NAME_vjp_a and NAME_vjp_b (cotangent, a, b,
// value), whose numbers are in operator_ids.h. What the struct's `needs` does not name is passed as a number, without data.
//
// Here are those of one operand, and what all formulas are made of; those of two are in pointwise_binary.h.
#pragma once

#include "ops/operator.h"
#include "ops/pointwise_list.h"
#include "ops/scalar_types.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

#ifndef __CUDACC__
#include "ops/scalar_arcs.h"
#include "ops/scalar_hyperbolic.h"
#include "ops/scalar_math.h"
#include "ops/scalar_power.h"
#endif

namespace cairn::ops {

// --- formulas of terms
Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term operator-(const Term& a);
// The functions of pointwise_list.h, by the identifiers of their operators.
#define X(id, Struct, ...) Term id(const Term& x);
CAIRN_POINTWISE_UNARY(X)
#undef X
Term max(const Term& a, const Term& b);
Term min(const Term& a, const Term& b);
Term pow(const Term& a, const Term& b);
Term atan2(const Term& a, const Term& b);
Term less(const Term& a, const Term& b);
Term less_equal(const Term& a, const Term& b);
Term equal(const Term& a, const Term& b);
Term where(const Term& condition, const Term& a, const Term& b);
Term bounded(const Term& x, const Term& most);

namespace pointwise {

// Numbers take all of them from the C library; there are none on a GPU.
#ifdef __CUDACC__
#define CAIRN_OF_NUMBERS(name)
#else
#define CAIRN_OF_NUMBERS(name)                                                                                                   \
  CAIRN_HD inline Number name(Number x) { return ::name(x.v); }
#endif
#define CAIRN_SCALAR_FUNCTION(name)                                                                                              \
  CAIRN_HD inline float name(float x) { return ::name##f(x); }                                                                   \
  CAIRN_HD inline double name(double x) { return ::name(x); }                                                                    \
  CAIRN_OF_NUMBERS(name)
CAIRN_SCALAR_FUNCTION(sqrt)
CAIRN_SCALAR_FUNCTION(floor)
CAIRN_SCALAR_FUNCTION(ceil)
CAIRN_SCALAR_FUNCTION(trunc)
CAIRN_SCALAR_FUNCTION(nearbyint)
#ifndef __CUDACC__ // the others are ours
// As vectors only where all elements are below scalar::kMostTurned: Sin, Cos and Tan below.
CAIRN_HD inline bool turns(double x) { return scalar::magnitude(x) <= scalar::kMostTurned; }
#undef CAIRN_SCALAR_FUNCTION
#define CAIRN_SCALAR_FUNCTION(name)                                                                                              \
  CAIRN_HD inline float name(float x) { return scalar::name(x); }                                                                \
  CAIRN_HD inline double name(double x) { return scalar::name(x); }                                                              \
  CAIRN_OF_NUMBERS(name)
#endif
#ifdef __CUDACC__
CAIRN_SCALAR_FUNCTION(sin)
CAIRN_SCALAR_FUNCTION(cos)
CAIRN_SCALAR_FUNCTION(tan)
#else
CAIRN_HD inline float sin(float x) { return turns(x) ? scalar::sin(x) : ::sinf(x); }
CAIRN_HD inline double sin(double x) { return turns(x) ? scalar::sin(x) : ::sin(x); }
CAIRN_HD inline float cos(float x) { return turns(x) ? scalar::cos(x) : ::cosf(x); }
CAIRN_HD inline double cos(double x) { return turns(x) ? scalar::cos(x) : ::cos(x); }
CAIRN_HD inline float tan(float x) { return turns(x) ? scalar::tan(x) : ::tanf(x); }
CAIRN_HD inline double tan(double x) { return turns(x) ? scalar::tan(x) : ::tan(x); }
CAIRN_OF_NUMBERS(sin)
CAIRN_OF_NUMBERS(cos)
CAIRN_OF_NUMBERS(tan)
#endif
CAIRN_SCALAR_FUNCTION(exp)
CAIRN_SCALAR_FUNCTION(log)
CAIRN_SCALAR_FUNCTION(log1p)
CAIRN_SCALAR_FUNCTION(tanh)
CAIRN_SCALAR_FUNCTION(erf)
CAIRN_SCALAR_FUNCTION(asin)
CAIRN_SCALAR_FUNCTION(acos)
CAIRN_SCALAR_FUNCTION(atan)
CAIRN_SCALAR_FUNCTION(sinh)
CAIRN_SCALAR_FUNCTION(cosh)
CAIRN_SCALAR_FUNCTION(asinh)
CAIRN_SCALAR_FUNCTION(acosh)
CAIRN_SCALAR_FUNCTION(atanh)
CAIRN_SCALAR_FUNCTION(expm1)
#undef CAIRN_SCALAR_FUNCTION
#undef CAIRN_OF_NUMBERS
CAIRN_HD inline Integer floor(Integer x) { return x; }
CAIRN_HD inline Integer ceil(Integer x) { return x; }
CAIRN_HD inline Integer trunc(Integer x) { return x; }
CAIRN_HD inline Integer nearbyint(Integer x) { return x; }
#ifdef __CUDACC__
CAIRN_HD inline float pow(float a, float b) { return ::powf(a, b); }
CAIRN_HD inline double pow(double a, double b) { return ::pow(a, b); }
CAIRN_HD inline float atan2(float a, float b) { return ::atan2f(a, b); }
CAIRN_HD inline double atan2(double a, double b) { return ::atan2(a, b); }
#else
CAIRN_HD inline float pow(float a, float b) { return scalar::pow(a, b); }
CAIRN_HD inline double pow(double a, double b) { return scalar::pow(a, b); }
CAIRN_HD inline float atan2(float a, float b) { return scalar::atan2(a, b); }
CAIRN_HD inline double atan2(double a, double b) { return scalar::atan2(a, b); }
CAIRN_HD inline Number pow(Number a, Number b) { return ::pow(a.v, b.v); }
CAIRN_HD inline Number atan2(Number a, Number b) { return ::atan2(a.v, b.v); }
CAIRN_HD inline Number sigmoid(Number x) { return 1.0 / (1.0 + ::exp(-x.v)); }
#endif
CAIRN_HD inline float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }
CAIRN_HD inline double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
// Never -0.
template <class T> CAIRN_HD inline T magnitude(T x) { return where(less_equal(x, T(0)), T(0) - x, x); }
CAIRN_HD inline Number magnitude(Number x) { return ::fabs(x.v); }

// What the slope of a function looks at; of the rest only descriptions are kept.
inline constexpr unsigned kNothing = 0, kFirst = 1, kSecond = 2, kValue = 4;
inline constexpr double kInverseSqrt2 = 0.70710678118654752440, kInverseSqrt2Pi = 0.39894228040143267794,
                        kTwoInverseSqrtPi = 1.12837916709551257390, kSqrt2OverPi = 0.79788456080286535588, kGeluCubic = 0.044715;
// Squares beside which 1 is nothing; sums of squares in which neither overflow nor what is denormal counts.
inline constexpr double kSquareAlone = 1e18;
template <class T> inline constexpr double kLeastSquares = 1e-28;
template <class T> inline constexpr double kMostSquares = 1e36;
template <> inline constexpr double kLeastSquares<double> = 1e-280;
template <> inline constexpr double kMostSquares<double> = 1e300;

// --- of one operand. `closed`: integers give integers; otherwise they are computed as floating numbers.
// value(x) and slope(x, y), the derivative at x where y is the value; tangent(x, y, t) of numbers.

struct Neg {
  static constexpr bool closed = true;
  static constexpr unsigned needs = kNothing;
  template <class T> CAIRN_HD static T value(T x) { return -x; }
  template <class T> CAIRN_HD static T slope(T, T) { return T(-1); }
  template <class T> static T tangent(T, T, T t) { return -t; }
};

struct Abs {
  static constexpr bool closed = true;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return magnitude(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return where(less(T(0), x), T(1), where(less(x, T(0)), T(-1), T(0))); }
  template <class T> static T tangent(T x, T, T t) { return equal(x, T(0)) ? T(0) : less(x, T(0)) ? -t : t; }
};

struct Sqrt {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kValue;
  template <class T> CAIRN_HD static T value(T x) { return sqrt(x); }
  template <class T> CAIRN_HD static T slope(T, T y) { return T(0.5) / y; }
  template <class T> static T tangent(T, T y, T t) { return t / (T(2) * y); }
};

struct Exp {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kValue;
  template <class T> CAIRN_HD static T value(T x) { return exp(x); }
  template <class T> CAIRN_HD static T slope(T, T y) { return y; }
};

struct Log {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return log(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return T(1) / x; }
  template <class T> static T tangent(T x, T, T t) { return t / x; }
};

struct Sin {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return sin(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return cos(x); }
#ifndef __CUDACC__
  // The same where x turns.
  template <class T> CAIRN_HD static T turning_value(T x) { return scalar::sin(x); }
  template <class T> CAIRN_HD static T turning_slope(T x) { return scalar::cos(x); }
#endif
};

struct Cos {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return cos(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return -sin(x); }
#ifndef __CUDACC__
  template <class T> CAIRN_HD static T turning_value(T x) { return scalar::cos(x); }
  template <class T> CAIRN_HD static T turning_slope(T x) { return -scalar::sin(x); }
#endif
  template <class T> static T tangent(T x, T, T t) { return -(t * sin(x)); }
};

struct Tan {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kValue;
  template <class T> CAIRN_HD static T value(T x) { return tan(x); }
  template <class T> CAIRN_HD static T slope(T, T y) { return T(1) + y * y; }
#ifndef __CUDACC__
  template <class T> CAIRN_HD static T turning_value(T x) { return scalar::tan(x); }
#endif
};

struct Asin {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return asin(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return T(1) / sqrt(T(1) - x * x); }
  template <class T> static T tangent(T x, T, T t) { return t / sqrt(T(1) - x * x); }
};

struct Acos {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return acos(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return T(-1) / sqrt(T(1) - x * x); }
  template <class T> static T tangent(T x, T, T t) { return -(t / sqrt(T(1) - x * x)); }
};

struct Atan {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return atan(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return T(1) / (T(1) + x * x); }
  template <class T> static T tangent(T x, T, T t) { return t / (T(1) + x * x); }
};

struct Tanh {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kValue;
  template <class T> CAIRN_HD static T value(T x) { return tanh(x); }
  template <class T> CAIRN_HD static T slope(T, T y) { return T(1) - y * y; }
};

struct Sigmoid {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kValue;
  template <class T> CAIRN_HD static T value(T x) { return sigmoid(x); }
  template <class T> CAIRN_HD static T slope(T, T y) { return y * (T(1) - y); }
};

struct Relu {
  static constexpr bool closed = true;
  static constexpr unsigned needs = kValue; // which the next operation has to keep anyway
  template <class T> CAIRN_HD static T value(T x) { return where(less_equal(x, T(0)), T(0), x); } // a NaN stays one
  template <class T> CAIRN_HD static T slope(T, T y) { return where(less(T(0), y), T(1), T(0)); }
  template <class T> static T tangent(T, T y, T t) { return less(T(0), y) ? t : T(0); }
};

// x times what goes from 0 to 1: below kNone and beyond -kNone it is there.
struct Gelu {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  static constexpr double kNone = -64;
  template <class T> CAIRN_HD static T below(T x) { return T(0.5) + T(0.5) * erf(x * T(kInverseSqrt2)); }
  template <class T> CAIRN_HD static T value(T x) { return where(less(x, T(kNone)), T(kNone), x) * below(x); }
  template <class T> CAIRN_HD static T slope(T x, T) {
    const T square = x * x; // the density beyond kNone is 0, and so is what it is multiplied by
    return below(x) + where(less(square, T(kNone * kNone)), x * (T(kInverseSqrt2Pi) * exp(T(-0.5) * square)), T(0));
  }
};

struct Silu {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  static constexpr double kNone = -1024;
  template <class T> CAIRN_HD static T value(T x) { return where(less(x, T(kNone)), T(kNone), x) * sigmoid(x); }
  template <class T> CAIRN_HD static T slope(T x, T) {
    T s = sigmoid(x);
    return s * (T(1) + bounded(x, T(-kNone)) * (T(1) - s));
  }
};

struct Softplus {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) {
    return where(less(T(0), x), x, T(0)) + log1p(exp(where(less(T(0), x), -x, x)));
  }
  template <class T> CAIRN_HD static T slope(T x, T) { return sigmoid(x); }
};

struct Square {
  static constexpr bool closed = true;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return x * x; }
  template <class T> CAIRN_HD static T slope(T x, T) { return x + x; }
};

struct Erf {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return erf(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return T(kTwoInverseSqrtPi) * exp(-(x * x)); }
};

struct Sinh {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return sinh(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return cosh(x); }
};

struct Cosh {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return cosh(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return sinh(x); }
};

struct Asinh {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return asinh(x); }
  template <class T> CAIRN_HD static T slope(T x, T) {
    T square = x * x; // whose root is |x| long before it overflows
    return T(1) / where(less(T(kSquareAlone), square), where(less(x, T(0)), -x, x), sqrt(square + T(1)));
  }
};

struct Acosh {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return acosh(x); }
  template <class T> CAIRN_HD static T slope(T x, T) {
    T square = x * x;
    return T(1) / where(less(T(kSquareAlone), square), where(less(x, T(0)), -x, x), sqrt(square - T(1)));
  }
};

struct Atanh {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return atanh(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return T(1) / (T(1) - x * x); }
};

struct Log1p {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  template <class T> CAIRN_HD static T value(T x) { return log1p(x); }
  template <class T> CAIRN_HD static T slope(T x, T) { return T(1) / (T(1) + x); }
};

struct Expm1 {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kValue;
  template <class T> CAIRN_HD static T value(T x) { return expm1(x); }
  template <class T> CAIRN_HD static T slope(T, T y) { return T(1) + y; }
};

// Steps: constant wherever they have a derivative.
#define CAIRN_STEP(Struct, f)                                                                                                    \
  struct Struct {                                                                                                                \
    static constexpr bool closed = true;                                                                                         \
    static constexpr unsigned needs = kNothing;                                                                                  \
    template <class T> CAIRN_HD static T value(T x) { return f(x); }                                                             \
    template <class T> CAIRN_HD static T slope(T, T) { return T(0); }                                                            \
  };
CAIRN_STEP(Floor, floor)
CAIRN_STEP(Ceiling, ceil)
CAIRN_STEP(Truncate, trunc)
CAIRN_STEP(Round, nearbyint)
#undef CAIRN_STEP

struct Sign {
  static constexpr bool closed = true;
  static constexpr unsigned needs = kNothing;
  template <class T> CAIRN_HD static T value(T x) {
    return where(less(T(0), x), T(1), where(less(x, T(0)), T(-1), where(equal(x, T(0)), T(0), x)));
  } // NaN: x
  template <class T> CAIRN_HD static T slope(T, T) { return T(0); }
};

struct GeluTanh {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  static constexpr double kNone = Gelu::kNone;
  template <class T> CAIRN_HD static T bent(T x) { return tanh(T(kSqrt2OverPi) * (x + T(kGeluCubic) * (x * x * x))); }
  template <class T> CAIRN_HD static T value(T x) { return where(less(x, T(kNone)), T(kNone), x) * (T(0.5) + T(0.5) * bent(x)); }
  template <class T> CAIRN_HD static T slope(T x, T) {
    T near = bounded(x, T(-kNone)), t = bent(near);
    return T(0.5) + T(0.5) * t + T(0.5 * kSqrt2OverPi) * near * (T(1) - t * t) * (T(1) + T(3 * kGeluCubic) * (near * near));
  }
};

// --- of one operand and a parameter

struct LeakyRelu {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  static constexpr double kParameter = 0.01;
  // 0 times x is a 0 at -inf too.
  template <class T> CAIRN_HD static T value(T x, T p) {
    return where(less(T(0), x), x, p * where(equal(p, T(0)), bounded(x, T(1)), x));
  }
  template <class T> CAIRN_HD static T slope(T x, T, T p) { return where(less(T(0), x), T(1), p); }
};

struct Elu {
  static constexpr bool closed = false;
  static constexpr unsigned needs = kFirst;
  static constexpr double kParameter = 1;
  template <class T> CAIRN_HD static T value(T x, T p) { return where(less(T(0), x), x, p * expm1(x)); }
  template <class T> CAIRN_HD static T slope(T x, T, T p) { return where(less(T(0), x), T(1), p * exp(x)); }
};

} // namespace pointwise
} // namespace cairn::ops
