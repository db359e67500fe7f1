// Kinds of reductions for fold.h: sums of elements or of what is made of them, products, extremes. Floating numbers are summed
// and multiplied in double.
#pragma once

#include "ops/cpu/reduce/fold.h"

#include <cmath>

namespace cairn::ops::cpu {

// So far ahead lines are asked for, in elements of four bytes: a page. The end of each block, where sums wait for each other, is
// longer than the processor looks ahead.
inline constexpr std::int64_t kAhead = 1024;

typedef double Lanes __attribute__((vector_size(64)));
inline constexpr std::int64_t kLanesInStep = 16; // two vectors

// Vectors go by reference: by value they would be passed differently by each generation.
CAIRN_INLINE void eight(Lanes& to, const float* x) {
  typedef float Floats __attribute__((vector_size(32), aligned(4), may_alias));
  to = __builtin_convertvector(*reinterpret_cast<const Floats*>(x), Lanes);
}
CAIRN_INLINE void eight(Lanes& to, const double* x) {
  typedef double Doubles __attribute__((vector_size(64), aligned(8), may_alias));
  to = *reinterpret_cast<const Doubles*>(x);
}

struct Plus {
  template <class V> CAIRN_INLINE static void put(V& a, const V& b) { a = a + b; }
};
struct Times {
  template <class V> CAIRN_INLINE static void put(V& a, const V& b) { a = a * b; }
};

// The farther half with the nearer, until one is left.
template <class Both> CAIRN_INLINE double folded(const Lanes& lanes) {
  typedef double Half __attribute__((vector_size(32)));
  typedef double Quarter __attribute__((vector_size(16)));
  Half half = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3);
  Both::put(half, __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7));
  Quarter quarter = __builtin_shufflevector(half, half, 0, 1);
  Both::put(quarter, __builtin_shufflevector(half, half, 2, 3));
  double all = quarter[0];
  Both::put(all, quarter[1]);
  return all;
}

// --- sums

// With what is lost by rounding carried along.
struct CompensatedSum {
  double sum = 0, lost = 0;
  void add(double x) {
    const double y = x - lost, t = sum + y;
    if (t - t == 0) lost = (t - sum) - y; // not where it is infinite or a NaN
    sum = t;
  }
  void add(const CompensatedSum& other) {
    add(other.sum);
    if (sum - sum == 0) add(-other.lost);
  }
};

// Of n > 0 elements: f makes what is summed of doubles and of vectors of them, in place.
template <class E, class F> CAIRN_INLINE double sum_of_each(const E* x, std::int64_t n, F&& f) {
  Lanes low{}, high{}, taken{};
  std::int64_t i = 0;
  for (; i + kLanesInStep <= n; i += kLanesInStep) {
    __builtin_prefetch(x + i + kAhead);
    eight(taken, x + i);
    f(taken);
    low += taken;
    eight(taken, x + i + 8);
    f(taken);
    high += taken;
  }
  low += high;
  double sum = i == 0 ? 0 : folded<Plus>(low);
  for (; i < n; ++i) {
    double one = static_cast<double>(x[i]);
    f(one);
    sum += one;
  }
  return sum;
}

// What is summed, in place of an element or of several.
struct Itself {
  template <class V> CAIRN_INLINE static void put(V&, double) {}
};
struct ItsSquare {
  template <class V> CAIRN_INLINE static void put(V& x, double) { x = x * x; }
};
struct ItsMagnitude {
  template <class V> CAIRN_INLINE static void put(V& x, double) { x = x < 0 ? V{} - x : x; }
};
struct ItsPower {
  CAIRN_INLINE static void put(double& x, double p) { x = std::pow(std::fabs(x), p); }
  CAIRN_INLINE static void put(Lanes& x, double p) {
    double lanes[8];
    __builtin_memcpy(lanes, &x, sizeof lanes);
    for (double& lane : lanes) put(lane, p);
    __builtin_memcpy(&x, lanes, sizeof lanes);
  }
};

template <class E, class What> struct SumsOf {
  using Element = E;
  using Result = double;
  using Total = CompensatedSum;
  CAIRN_INLINE static void block(Total& total, const E* x, std::int64_t n, double p) {
    total.add(sum_of_each(
        x, n, [p](auto& v) __attribute__((always_inline)) { What::put(v, p); }));
  }
  using Field = double;
  static constexpr int kFields = 1;
  CAIRN_INLINE static void start(Field* s, E x, double p) {
    s[0] = static_cast<double>(x);
    What::put(s[0], p);
  }
  CAIRN_INLINE static void step(Field* s, E x, std::int64_t, double p) {
    Field one = static_cast<double>(x);
    What::put(one, p);
    s[0] += one;
  }
  static Total total(const Field* s, std::int64_t) { return {s[0], 0}; }
};

// Divided by the parameter.
template <class E> struct Sums : SumsOf<E, Itself> {
  static double result(const CompensatedSum& total, std::int64_t, double divisor) { return total.sum / divisor; }
};

// Modulo 2^64.
struct IntegerSums {
  using Element = std::uint64_t;
  using Result = std::int64_t;
  struct Total {
    std::uint64_t sum = 0;
    void add(const Total& other) { sum += other.sum; }
  };
  CAIRN_INLINE static void block(Total& total, const Element* x, std::int64_t n, double) {
    std::uint64_t sum = 0;
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) sum += x[i];
    total.sum += sum;
  }
  using Field = std::uint64_t;
  static constexpr int kFields = 1;
  CAIRN_INLINE static void start(Field* s, Element x, double) { s[0] = x; }
  CAIRN_INLINE static void step(Field* s, Element x, std::int64_t, double) { s[0] += x; }
  static Total total(const Field* s, std::int64_t) { return {s[0]}; }
  static Result result(const Total& total, std::int64_t, double) { return static_cast<Result>(total.sum); }
};

// --- products

template <class E> struct Products {
  using Element = E;
  using Result = double;
  struct Total {
    double product = 1;
    void add(const Total& other) { product *= other.product; }
  };
  CAIRN_INLINE static void block(Total& total, const E* x, std::int64_t n, double) {
    Lanes low = Lanes{} + 1, high = low, taken{};
    std::int64_t i = 0;
    for (; i + kLanesInStep <= n; i += kLanesInStep) {
      __builtin_prefetch(x + i + kAhead);
      eight(taken, x + i);
      low *= taken;
      eight(taken, x + i + 8);
      high *= taken;
    }
    low *= high;
    double product = i == 0 ? 1 : folded<Times>(low);
    for (; i < n; ++i) product *= static_cast<double>(x[i]);
    total.product *= product;
  }
  using Field = double;
  static constexpr int kFields = 1;
  CAIRN_INLINE static void start(Field* s, E x, double) { s[0] = static_cast<double>(x); }
  CAIRN_INLINE static void step(Field* s, E x, std::int64_t, double) { s[0] *= static_cast<double>(x); }
  static Total total(const Field* s, std::int64_t) { return {s[0]}; }
  static Result result(const Total& total, std::int64_t, double) { return total.product; }
};

// Modulo 2^64.
struct IntegerProducts {
  using Element = std::uint64_t;
  using Result = std::int64_t;
  struct Total {
    std::uint64_t product = 1;
    void add(const Total& other) { product *= other.product; }
  };
  CAIRN_INLINE static void block(Total& total, const Element* x, std::int64_t n, double) {
    std::uint64_t product = 1;
    for (std::int64_t i = 0; i < n; ++i) product *= x[i];
    total.product *= product;
  }
  using Field = std::uint64_t;
  static constexpr int kFields = 1;
  CAIRN_INLINE static void start(Field* s, Element x, double) { s[0] = x; }
  CAIRN_INLINE static void step(Field* s, Element x, std::int64_t, double) { s[0] *= x; }
  static Total total(const Field* s, std::int64_t) { return {s[0]}; }
  static Result result(const Total& total, std::int64_t, double) { return static_cast<Result>(total.product); }
};

// --- extremes, which a NaN is, whichever is asked for

// x, a number or a vector of them, for what is best so far, where it is better.
struct Larger {
  template <class V> CAIRN_INLINE static void put(V& best, const V& x) { best = ((x > best) | (x != x)) ? x : best; }
  template <class E> CAIRN_INLINE static bool than(E best, E x) { return (x > best) | (x != x); }
};
struct Smaller {
  template <class V> CAIRN_INLINE static void put(V& best, const V& x) { best = ((x < best) | (x != x)) ? x : best; }
  template <class E> CAIRN_INLINE static bool than(E best, E x) { return (x < best) | (x != x); }
};

// Of n > 0 elements. Vectors of 32 bytes: comparing larger ones is taken apart into elements by GCC where the function that is
// inlined knows no larger ones.
template <class Better, class E> CAIRN_INLINE E extreme_of(const E* x, std::int64_t n) {
  constexpr int kVectors = 4;
  constexpr std::int64_t lanes = 32 / static_cast<std::int64_t>(sizeof(E)), step = kVectors * lanes;
  typedef E V __attribute__((vector_size(32)));
  typedef E InMemory __attribute__((vector_size(32), aligned(sizeof(E)), may_alias));
  E best = x[0];
  std::int64_t i = 1;
  if (n >= step) {
    V all[kVectors];
    for (int k = 0; k < kVectors; ++k) all[k] = *reinterpret_cast<const InMemory*>(x + k * lanes);
    for (i = step; i + step <= n; i += step) {
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) {
        const E* const from = x + i + k * lanes;
        if (k % 2 == 0) __builtin_prefetch(from + kAhead);
        const V taken = *reinterpret_cast<const InMemory*>(from);
        Better::put(all[k], taken);
      }
    }
    for (int k = 1; k < kVectors; ++k) Better::put(all[0], all[k]);
    best = all[0][0];
    for (std::int64_t l = 1; l < lanes; ++l) Better::put(best, static_cast<E>(all[0][l]));
  }
  for (; i < n; ++i) Better::put(best, x[i]);
  return best;
}

template <class E, class Better> struct Extremes {
  using Element = E;
  using Result = std::conditional_t<std::is_floating_point_v<E>, double, std::int64_t>;
  struct Total {
    E best{};
    bool any = false;
    void add(const Total& other) {
      if (!other.any) return;
      if (!any || Better::than(best, other.best)) best = other.best;
      any = true;
    }
  };
  CAIRN_INLINE static void block(Total& total, const E* x, std::int64_t n, double) {
    total.add(Total{extreme_of<Better>(x, n), true});
  }
  using Field = E;
  static constexpr int kFields = 1;
  CAIRN_INLINE static void start(Field* s, E x, double) { s[0] = x; }
  CAIRN_INLINE static void step(Field* s, E x, std::int64_t, double) { Better::put(s[0], x); }
  static Total total(const Field* s, std::int64_t) { return {s[0], true}; }
  static Result result(const Total& total, std::int64_t, double) { return static_cast<Result>(total.best); }
};

// The index of the first that no other is better than.
template <class E, class Better> struct IndicesOfExtremes {
  using Element = E;
  using Result = std::int64_t;
  struct Total {
    E best{};
    std::int64_t index = 0, count = 0;
    void add(const Total& other) {
      if (count == 0 || (Better::than(best, other.best) && best == best)) {
        best = other.best;
        index = count + other.index;
      }
      count += other.count;
    }
  };
  CAIRN_INLINE static void block(Total& total, const E* x, std::int64_t n, double) {
    Total here{extreme_of<Better>(x, n), 0, n};
    if (total.count == 0 || (Better::than(total.best, here.best) && total.best == total.best))
      while (!(x[here.index] == here.best || x[here.index] != x[here.index])) ++here.index;
    total.add(here);
  }
  using Field = E;
  static constexpr int kFields = 2;
  CAIRN_INLINE static void start(Field* s, E x, double) {
    s[0] = x;
    s[1] = 0;
  }
  CAIRN_INLINE static void step(Field* s, E x, std::int64_t row, double) {
    const bool better = Better::than(s[0], x) & (s[0] == s[0]);
    s[1] = better ? static_cast<E>(row) : s[1];
    s[0] = better ? x : s[0];
  }
  static Total total(const Field* s, std::int64_t rows) { return {s[0], static_cast<std::int64_t>(s[1]), rows}; }
  static Result result(const Total& total, std::int64_t, double) { return total.index; }
};

} // namespace cairn::ops::cpu
