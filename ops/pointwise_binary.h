// Pointwise functions of two operands, and comparisons. How they are written is said in pointwise.h.
#pragma once

#include "ops/pointwise.h"

#include <type_traits>

namespace cairn::ops {
namespace pointwise {

// --- of two operands: value(a, b), slope_a(a, b, v), slope_b(a, b, v); tangent(a, b, v, ta, tb) of numbers, where a null tangent
// is none

// What both operands contribute, or the one that has a tangent.
template <class T, class ByA, class ByB> T contributed(const T* ta, const T* tb, const ByA& by_a, const ByB& by_b) {
  if (ta == nullptr) return by_b(*tb);
  if (tb == nullptr) return by_a(*ta);
  return by_a(*ta) + by_b(*tb);
}

struct Add {
  static constexpr bool closed = true;
  static constexpr unsigned needs_a = kNothing, needs_b = kNothing;
  template <class T> CAIRN_HD static T value(T a, T b) { return a + b; }
  template <class T> CAIRN_HD static T slope_a(T, T, T) { return T(1); }
  template <class T> CAIRN_HD static T slope_b(T, T, T) { return T(1); }
  template <class T> static T tangent(T, T, T, const T* ta, const T* tb) {
    return contributed(
        ta, tb, [&](const T& t) -> T { return t; }, [&](const T& t) -> T { return t; });
  }
};

struct Sub {
  static constexpr bool closed = true;
  static constexpr unsigned needs_a = kNothing, needs_b = kNothing;
  template <class T> CAIRN_HD static T value(T a, T b) { return a - b; }
  template <class T> CAIRN_HD static T slope_a(T, T, T) { return T(1); }
  template <class T> CAIRN_HD static T slope_b(T, T, T) { return T(-1); }
  template <class T> static T tangent(T, T, T, const T* ta, const T* tb) {
    return contributed(
        ta, tb, [&](const T& t) -> T { return t; }, [&](const T& t) -> T { return -t; });
  }
};

struct Mul {
  static constexpr bool closed = true;
  static constexpr unsigned needs_a = kSecond, needs_b = kFirst;
  template <class T> CAIRN_HD static T value(T a, T b) { return a * b; }
  template <class T> CAIRN_HD static T slope_a(T, T b, T) { return b; }
  template <class T> CAIRN_HD static T slope_b(T a, T, T) { return a; }
  template <class T> static T tangent(T a, T b, T, const T* ta, const T* tb) {
    return contributed(
        ta, tb, [&](const T& t) -> T { return t * b; }, [&](const T& t) -> T { return t * a; });
  }
};

struct Div {
  static constexpr bool closed = false;
  static constexpr unsigned needs_a = kSecond, needs_b = kSecond | kValue;
  template <class T> CAIRN_HD static T value(T a, T b) { return a / b; }
  template <class T> CAIRN_HD static T slope_a(T, T b, T) { return T(1) / b; }
  template <class T> CAIRN_HD static T slope_b(T, T b, T v) { return -v / b; }
  template <class T> static T tangent(T, T b, T v, const T* ta, const T* tb) {
    return contributed(
        ta, tb, [&](const T& t) -> T { return t / b; }, [&](const T& t) -> T { return -(v * t / b); });
  }
};

// The first where it is not smaller or a NaN. (A NaN alone is not equal to itself.)
struct Max {
  static constexpr bool closed = true;
  static constexpr unsigned needs_a = kFirst | kSecond, needs_b = kFirst | kSecond;
  template <class T> CAIRN_HD static T choice(T a, T b, T first, T second) {
    return where(less_equal(b, a), first, where(equal(a, a), second, first));
  }
  template <class T> CAIRN_HD static T value(T a, T b) { return choice(a, b, a, b); }
  template <class T> CAIRN_HD static T slope_a(T a, T b, T) { return choice(a, b, T(1), T(0)); }
  template <class T> CAIRN_HD static T slope_b(T a, T b, T) { return choice(a, b, T(0), T(1)); }
};

struct Min {
  static constexpr bool closed = true;
  static constexpr unsigned needs_a = kFirst | kSecond, needs_b = kFirst | kSecond;
  template <class T> CAIRN_HD static T choice(T a, T b, T first, T second) {
    return where(less_equal(a, b), first, where(equal(a, a), second, first));
  }
  template <class T> CAIRN_HD static T value(T a, T b) { return choice(a, b, a, b); }
  template <class T> CAIRN_HD static T slope_a(T a, T b, T) { return choice(a, b, T(1), T(0)); }
  template <class T> CAIRN_HD static T slope_b(T a, T b, T) { return choice(a, b, T(0), T(1)); }
};

// Functions that are one of their operands.
template <class F> inline constexpr bool kChooses = std::is_same_v<F, Max> || std::is_same_v<F, Min>;

struct Expt {
  static constexpr bool closed = false;
  static constexpr unsigned needs_a = kFirst | kSecond, needs_b = kFirst | kValue;
  template <class T> CAIRN_HD static T value(T a, T b) { return pow(a, b); }
  // 0 where b is, also of 0 to the -1; but a formula may be differentiated by b again, and that is a to the (b - 1).
  template <class T> CAIRN_HD static T slope_a(T a, T b, T) {
    if constexpr (std::is_same_v<T, Term>) {
      const T slope = b * pow(a, b - T(1));
      return where(equal(b, T(0)), where(equal(a, T(0)), T(0), slope), slope);
    } else {
      return where(equal(b, T(0)), T(0), b * pow(a, b - T(1)));
    }
  }
  template <class T> CAIRN_HD static T slope_b(T a, T, T v) {
    if constexpr (std::is_same_v<T, Number>)
      return where(equal(a, T(0)), T(0), v * log(a));
    else // 0 of infinity to the -1 too
      return where(equal(a, T(0)), T(0), where(equal(v, T(0)), T(0), v * log(a)));
  }
  template <class T> static T tangent(T a, T b, T v, const T* ta, const T* tb) {
    return contributed(
        ta, tb, [&](const T& t) -> T { return equal(b, T(0)) && equal(a, T(0)) ? T(0) : t * (b * pow(a, b - T(1))); },
        [&](const T& t) -> T { return equal(a, T(0)) ? T(0) : t * (v * log(a)); });
  }
};

struct Atan2 {
  static constexpr bool closed = false;
  static constexpr unsigned needs_a = kFirst | kSecond, needs_b = kFirst | kSecond;
  template <class T> CAIRN_HD static T value(T a, T b) { return atan2(a, b); }
  template <class T> CAIRN_HD static T slope_a(T a, T b, T) { return over_squares(b, a); }
  template <class T> CAIRN_HD static T slope_b(T a, T b, T) { return -over_squares(a, b); }
  template <class T> static T tangent(T a, T b, T, const T* ta, const T* tb) {
    const T squares = a * a + b * b;
    return contributed(
        ta, tb, [&](const T& t) -> T { return t * (b / squares); }, [&](const T& t) -> T { return -(t * (a / squares)); });
  }

private:
  template <class T> CAIRN_HD static T size(T x) { return where(less(x, T(0)), -x, x); }
  // x / (x^2 + y^2); where the squares do not fit, of elements, by the quotient of the smaller and the larger.
  template <class T> CAIRN_HD static T over_squares(T x, T y) {
    T squares = x * x + y * y;
    if constexpr (std::is_same_v<T, Number>) return x / squares;
    auto larger = less(size(y), size(x));
    T most = where(larger, x, y), q = where(larger, y, x) / most;
    T far = where(larger, T(1), q) / (most * (T(1) + q * q));
    return where(less(squares, T(kLeastSquares<T>)), far, where(less(squares, T(kMostSquares<T>)), x / squares, far));
  }
};

// --- comparisons: 1 or 0 of the type computed in

struct Less {
  template <class T> CAIRN_HD static T value(T a, T b) { return where(less(a, b), T(1), T(0)); }
};

struct LessEqual {
  template <class T> CAIRN_HD static T value(T a, T b) { return where(less_equal(a, b), T(1), T(0)); }
};

struct Equal {
  template <class T> CAIRN_HD static T value(T a, T b) { return where(equal(a, b), T(1), T(0)); }
};

struct NotEqual {
  template <class T> CAIRN_HD static T value(T a, T b) { return where(equal(a, b), T(0), T(1)); }
};

// The condition comes as 1 where the element, of whatever type, is not 0 (a NaN is not), else 0.
struct Where {
  template <class T> CAIRN_HD static T value(T condition, T a, T b) { return where(equal(condition, T(0)), b, a); }
};

} // namespace pointwise
} // namespace cairn::ops
