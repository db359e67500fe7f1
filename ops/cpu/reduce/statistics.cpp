// See statistics.h.
#include "ops/cpu/reduce/statistics.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/scratch.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/elements/pointwise_loops.h"
#include "ops/cpu/reduce/folds.h"
#include "ops/cpu/reduce/reduce.h"
#include "ops/jets.h"
#include "ops/norm_powers.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace cairn::ops::cpu {

namespace {

// The first result, with an axis for each of the operand's.
View reduced(const KernelCall& call, unsigned mask) { return with_axes(call.outputs[0], call.inputs[0].shape, mask); }

double degrees(double count, double correction) { return std::max(0.0, count - correction); }

// --- kinds of reductions

// Sums of powers that leave the range of numbers are counted, and the norms taken once more (below). One count for the process:
// another machine's costs time and changes nothing.
constexpr double kLeastTrusted = 0x1p-960; // powers below the range are less than 2^-60 of such a sum
// Sums of powers are not negative, so their bits are in their order, and NaNs beyond all.
constexpr auto kLeastBits = std::bit_cast<std::uint64_t>(kLeastTrusted),
               kMostBits = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::max());
CAIRN_INLINE bool trusted(double sum) { return std::bit_cast<std::uint64_t>(sum) - kLeastBits <= kMostBits - kLeastBits; }
std::atomic<std::uint64_t> g_untrusted{0};
CAIRN_INLINE void count_untrusted() { g_untrusted.fetch_add(1, std::memory_order_relaxed); }

template <class E> struct Norms : SumsOf<E, ItsPower> {
  static double result(const CompensatedSum& total, std::int64_t, double p) {
    if (!trusted(total.sum)) [[unlikely]]
      count_untrusted();
    return std::pow(total.sum, 1 / p);
  }
};
template <class E> struct EuclideanNorms : SumsOf<E, ItsSquare> {
  static double result(const CompensatedSum& total, std::int64_t, double) {
    if constexpr (!std::is_same_v<E, float>) // squares of those stay in the range
      if (!trusted(total.sum)) [[unlikely]]
        count_untrusted();
    return std::sqrt(total.sum);
  }
  // As above, without a branch for each: of numbers outside of the trusted ones, a difference is negative.
  static void results(const CompensatedSum* totals, std::int64_t count, double* to) {
    std::uint64_t outside = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double sum = totals[i].sum;
      to[i] = std::sqrt(sum);
      if constexpr (!std::is_same_v<E, float>)
        outside |= (std::bit_cast<std::uint64_t>(sum) - kLeastBits) | (kMostBits - std::bit_cast<std::uint64_t>(sum));
    }
    if (outside >> 63 != 0) [[unlikely]]
      count_untrusted();
  }
};
template <class E> struct SumsOfMagnitudes : SumsOf<E, ItsMagnitude> {
  static double result(const CompensatedSum& total, std::int64_t, double) { return total.sum; }
};

// Norms whose sum of powers leaves the range of numbers, once more by powers of what elements are of the largest. Where the sum
// is one that can be trusted the result is that of the loops above, to the bit.
template <class E, class What> struct ScaledNorms {
  using Element = E;
  using Result = double;
  struct Total {
    typename SumsOf<E, What>::Total plain;
    double largest = 0, sum = 0, power = 2; // the largest magnitude, and the sum of the powers of what others are of it
    void add(const Total& other) {
      plain.add(other.plain);
      power = other.power;
      if (other.largest == 0) return;
      if (other.largest > largest) {
        sum = sum * powered(largest / other.largest, power) + other.sum;
        largest = other.largest;
      } else {
        sum += other.sum * powered(other.largest / largest, power);
      }
    }
  };
  CAIRN_INLINE static double powered(double quotient, double p) {
    return std::is_same_v<What, ItsSquare> ? quotient * quotient : std::pow(quotient, p);
  }
  // Where elements are infinite or no numbers, so is the plain sum.
  CAIRN_INLINE static void put(double& largest, double& sum, double x, double p) {
    const double size = std::fabs(x);
    if (size == 0) return;
    if (size > largest) {
      sum = sum * powered(largest / size, p) + 1;
      largest = size;
    } else {
      sum += powered(size / largest, p);
    }
  }
  CAIRN_INLINE static void block(Total& total, const E* x, std::int64_t n, double p) {
    Total here;
    here.power = p;
    SumsOf<E, What>::block(here.plain, x, n, p);
    for (std::int64_t i = 0; i < n; ++i) put(here.largest, here.sum, static_cast<double>(x[i]), p);
    total.add(here);
  }
  using Field = double;
  static constexpr int kFields = 4;
  CAIRN_INLINE static void start(Field* s, E x, double p) {
    SumsOf<E, What>::start(s, x, p);
    s[1] = s[2] = 0;
    s[3] = p;
    put(s[1], s[2], static_cast<double>(x), p);
  }
  CAIRN_INLINE static void step(Field* s, E x, std::int64_t row, double p) {
    SumsOf<E, What>::step(s, x, row, p);
    put(s[1], s[2], static_cast<double>(x), p);
  }
  static Total total(const Field* s, std::int64_t rows) { return {SumsOf<E, What>::total(s, rows), s[1], s[2], s[3]}; }
  static double result(const Total& total, std::int64_t elements, double p) {
    if (trusted(total.plain.sum) || total.largest == 0 || total.largest > std::numeric_limits<double>::max() ||
        total.plain.sum != total.plain.sum)
      return std::is_same_v<What, ItsSquare> ? EuclideanNorms<E>::result(total.plain, elements, p)
                                             : Norms<E>::result(total.plain, elements, p);
    return total.largest * std::pow(total.sum, 1 / p);
  }
};
template <class E> using ScaledEuclideanNorms = ScaledNorms<E, ItsSquare>;
template <class E> using ScaledPowerNorms = ScaledNorms<E, ItsPower>;

// Exponentials are taken of differences to the largest element so far, in the type of the elements.
template <class E> struct LogsOfSums {
  using Element = E;
  using Result = double;
  struct Total {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    void add(const Total& other) {
      if (other.largest == largest) {
        sum += other.sum;
      } else if (other.largest > largest) {
        sum = sum * std::exp(largest - other.largest) + other.sum;
        largest = other.largest;
      } else {
        sum += other.sum * std::exp(other.largest - largest);
      }
    }
  };
  CAIRN_INLINE static void block(Total& total, const E* x, std::int64_t n, double) {
    const E largest = extreme_of<Larger>(x, n);
    alignas(64) E exponentials[kFoldBlock];
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) // an infinite one is its own result
      exponentials[i] = pointwise::exp(x[i] == largest ? E(0) : x[i] - largest);
    typedef E V __attribute__((vector_size(64)));
    constexpr std::int64_t lanes = 64 / static_cast<std::int64_t>(sizeof(E));
    V sums{};
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) sums += *reinterpret_cast<const V*>(exponentials + i);
    double sum = 0;
    for (; i < n; ++i) sum += static_cast<double>(exponentials[i]);
    for (std::int64_t l = 0; l < lanes; ++l) sum += static_cast<double>(sums[l]);
    total.add(Total{static_cast<double>(largest), sum});
  }
  using Field = E;
  static constexpr int kFields = 2;
  CAIRN_INLINE static void start(Field* s, E x, double) {
    s[0] = x;
    s[1] = E(1);
  }
  CAIRN_INLINE static void step(Field* s, E x, std::int64_t, double) {
    const bool larger = x > s[0];
    const E down = larger ? s[0] - x : x - s[0], e = pointwise::exp(x == s[0] ? E(0) : down);
    s[1] = larger ? s[1] * e + E(1) : s[1] + e;
    s[0] = larger ? x : s[0];
  }
  static Total total(const Field* s, std::int64_t) { return {static_cast<double>(s[0]), static_cast<double>(s[1])}; }
  static double result(const Total& total, std::int64_t, double) { return total.largest + std::log(total.sum); }
};

// Means and sums of squared differences to them, of some elements and of others, make those of all (Chan, Golub and LeVeque
// 1983).
template <class E> struct Variances {
  using Element = E;
  using Result = double;
  struct Total {
    double count = 0, mean = 0, squares = 0;
    void add(const Total& other) {
      const double all = count + other.count, apart = other.mean - mean, share = other.count / all;
      squares += other.squares + (count == 0 ? 0 : apart * apart * count * share);
      mean = count == 0 ? other.mean : mean + apart * share;
      count = all;
    }
  };
  CAIRN_INLINE static void block(Total& total, const E* x, std::int64_t n, double) {
    const double count = static_cast<double>(n);
    const double mean = sum_of_each(x, n, [](auto&) __attribute__((always_inline)){}) / count;
    const double squares = sum_of_each(
        x, n, [mean](auto& v) __attribute__((always_inline)) {
          v = v - mean;
          v = v * v;
        });
    total.add(Total{count, mean, squares});
  }
  using Field = double; // the first element, and sums of differences to it and of their squares
  static constexpr int kFields = 3;
  CAIRN_INLINE static void start(Field* s, E x, double) {
    s[0] = static_cast<double>(x);
    s[1] = s[2] = 0;
  }
  CAIRN_INLINE static void step(Field* s, E x, std::int64_t, double) {
    const double apart = static_cast<double>(x) - s[0];
    s[1] += apart;
    s[2] += apart * apart;
  }
  static Total total(const Field* s, std::int64_t rows) {
    const double count = static_cast<double>(rows), apart = s[1] / count, squares = s[2] - apart * s[1];
    return {count, s[0] + apart, squares < 0 ? 0 : squares};
  }
  static double result(const Total& total, std::int64_t elements, double correction) {
    return total.squares / degrees(static_cast<double>(elements), correction);
  }
};

// --- reverse rules: slopes at x, by what is known of the group and a parameter

struct EuclideanNormSlope {
  template <class T> CAIRN_INLINE static T slope(T x, T norm, T) { return norm == T(0) ? T(0) : x / norm; }
};
struct NormSlope {
  template <class T> CAIRN_INLINE static T slope(T x, T norm, T p) {
    const T size = x < T(0) ? -x : x, whole = pointwise::pow(norm, p - T(1));
    const T slope = by_powers_of_norm(whole, T(kLeastNormPower<T>), pointwise::pow(size, p - T(1)) / whole,
                                      pointwise::pow(size / norm, p - T(1)));
    return norm == T(0) || x == T(0) ? T(0) : x < T(0) ? -slope : slope;
  }
};
struct LogOfSumSlope {
  // Infinitely much is all of the sum. Infinitely little is none of it, also where there is nothing else.
  template <class T> CAIRN_INLINE static T slope(T x, T y, T) {
    constexpr T none = -std::numeric_limits<T>::infinity();
    return pointwise::exp(x == none ? none : x == y ? T(0) : x - y);
  }
};
struct VarianceSlope {
  template <class T> CAIRN_INLINE static T slope(T x, T mean, T degrees) { return T(2) * (x - mean) / degrees; }
};

// Cotangents and what is known are stretched over their groups.
template <class F> void reverse(const KernelCall& call, unsigned mask, const View& known, Compute compute, double parameter) {
  const Shape& shape = call.inputs[1].shape;
  const View operands[] = {with_axes(call.inputs[0], shape, mask), call.inputs[1], known};
  KernelCall all = call;
  all.inputs = operands;
  elementwise(all, compute,
              compute == Compute::f32 ? Compiled<ParameterVjpLoop<F, float>>::chosen()
                                      : Compiled<ParameterVjpLoop<F, double>>::chosen(),
              {.parameter = parameter});
}
View result_of(const KernelCall& call, unsigned mask) { return with_axes(call.inputs[2], call.inputs[1].shape, mask); }

template <class Better> void indices(const View& to, const View& from) {
  if (!is_floating(from.dtype)) return fold<IndicesOfExtremes<std::int64_t, Better>>(to, from, 0, true);
  if (compute_of(from.dtype) == Compute::f32) return fold<IndicesOfExtremes<float, Better>>(to, from, 0, true);
  fold<IndicesOfExtremes<double, Better>>(to, from, 0, true);
}

} // namespace

void prod(const KernelCall& call, unsigned mask) {
  const View& from = call.inputs[0];
  if (!is_floating(call.outputs[0].dtype)) return fold<IntegerProducts>(reduced(call, mask), from);
  fold_floating<Products>(reduced(call, mask), from);
}

namespace {

// The members of groups of tensors of one shape as jets: the first is the value, the others are directions.
struct Along {
  std::vector<Groups> groups;
  Along(std::span<const View> members, unsigned mask) {
    for (const View& v : members) groups.emplace_back(v, mask);
  }
  // f(jet) over a group.
  template <unsigned m, class F> void each(std::int64_t group, F&& f) const {
    double staged[m + 1][kGroupBlock], x[m + 1];
    Pace pace;
    for (std::int64_t first = 0; first < groups[0].size(); first += kGroupBlock) {
      const std::int64_t n = std::min(kGroupBlock, groups[0].size() - first);
      for (unsigned k = 0; k <= m; ++k) groups[k].load(group, first, n, staged[k]);
      for (std::int64_t i = 0; i < n; ++i) {
        for (unsigned k = 0; k <= m; ++k) x[k] = staged[k][i];
        f(jet<m>(x));
      }
      pace.did(8 * n);
    }
  }
};

} // namespace

void prod_along(const KernelCall& call, unsigned mask) {
  const Along members(call.inputs, mask);
  const Groups to(with_axes(call.outputs[0], call.inputs[0].shape, mask), mask);
  with_directions(call.inputs.size() - 1, [&](auto directions) {
    constexpr unsigned m = directions;
    parallel_for(to.count(), members.groups[0].grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        Jet<m> product(1);
        members.template each<m>(i, [&](const Jet<m>& x) { product = product * x; });
        const double value = part<m>(product, 0);
        to.store(i, 0, 1, &value);
      }
    });
  });
}

// The product of all others, from both sides: no division, so that zeros do no harm.
void prod_vjp(const KernelCall& call, unsigned mask, unsigned which) {
  const Along members(call.inputs.subspan(1), mask);
  const Groups to(call.outputs[0], mask), cotangents(with_axes(call.inputs[0], call.outputs[0].shape, mask), mask);
  with_directions(call.inputs.size() - 2, [&](auto directions) {
    constexpr unsigned m = directions;
    parallel_for(to.count(), to.grain(), [&](std::int64_t begin, std::int64_t end) {
      Array<Jet<m>> all, before;
      Array<double> out;
      Pace pace;
      for (std::int64_t i = begin; i < end; ++i) {
        double cotangent = 0;
        cotangents.load(i, 0, 1, &cotangent);
        before.clear();
        all.clear();
        before.reserve(static_cast<std::size_t>(to.size()));
        all.reserve(static_cast<std::size_t>(to.size()));
        Jet<m> product(1);
        members.template each<m>(i, [&](const Jet<m>& x) {
          before.push_back(product);
          all.push_back(x);
          product = product * x;
        });
        out.resize(all.size());
        product = Jet<m>(1);
        for (std::size_t k = all.size(); k-- > 0;) {
          out[k] = cotangent * part<m>(before[k] * product, which);
          product = all[k] * product;
          pace.did(8);
        }
        to.store(i, out);
      }
    });
  });
}

void norm(const KernelCall& call, unsigned mask, double p) {
  const View &from = call.inputs[0], to = reduced(call, mask);
  if (p == 1) return fold_floating<SumsOfMagnitudes>(to, from);
  const std::uint64_t before = g_untrusted.load(std::memory_order_relaxed);
  p == 2 ? fold_floating<EuclideanNorms>(to, from) : fold_floating<Norms>(to, from, p);
  if (g_untrusted.load(std::memory_order_relaxed) == before) return;
  p == 2 ? fold_floating<ScaledEuclideanNorms>(to, from, p) : fold_floating<ScaledPowerNorms>(to, from, p);
}

void norm_vjp(const KernelCall& call, unsigned mask, double p) {
  const Compute compute = compute_of(call.outputs[0].dtype);
  if (p == 2) return reverse<EuclideanNormSlope>(call, mask, result_of(call, mask), compute, 0);
  reverse<NormSlope>(call, mask, result_of(call, mask), compute, p);
}

void logsumexp(const KernelCall& call, unsigned mask) { fold_floating<LogsOfSums>(reduced(call, mask), call.inputs[0]); }

void logsumexp_vjp(const KernelCall& call, unsigned mask) {
  reverse<LogOfSumSlope>(call, mask, result_of(call, mask), compute_of(call.outputs[0].dtype), 0);
}

void variance(const KernelCall& call, unsigned mask, double correction) {
  fold_floating<Variances>(reduced(call, mask), call.inputs[0], correction);
}

// In double, since means may be large beside what differs from them.
void variance_vjp(const KernelCall& call, unsigned mask, double correction) {
  const View& x = call.inputs[1];
  if (x.elements() == 0) return;
  View means = with_axes(call.inputs[0], x.shape, mask);
  const std::int64_t groups = means.elements(), of_group = x.elements() / groups;
  const Scratch memory(groups * bytes_of(DType::f64));
  if (memory.get() == nullptr) throw std::bad_alloc();
  means.data = memory.get();
  means.dtype = DType::f64;
  std::int64_t stride = 1;
  for (int i = means.shape.rank(); i-- > 0; stride *= means.shape[i]) means.strides[static_cast<std::size_t>(i)] = stride;
  reduce(Reduction::mean, means, x);
  reverse<VarianceSlope>(call, mask, means, Compute::f64, degrees(static_cast<double>(of_group), correction));
}

void index_of_extreme(const KernelCall& call, unsigned mask, bool largest) {
  if (largest) return indices<Larger>(reduced(call, mask), call.inputs[0]);
  indices<Smaller>(reduced(call, mask), call.inputs[0]);
}

} // namespace cairn::ops::cpu
