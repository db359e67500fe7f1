// See statistics.h.
#include "ops/cpu/statistics.h"

#include "ops/cpu/groups.h"
#include "ops/cpu/jets.h"
#include "ops/cpu/workers.h"
#include "ops/operators/reductions.h"

#include <cmath>
#include <limits>

namespace cairn::ops::cpu {

namespace {

// f(group of the operand, its number): the number that it is reduced to, for each group.
template <class F> void reduce_groups(const KernelCall& call, unsigned mask, F&& f) {
  const Groups from(call.inputs[0], mask), to(rules::with_axes(call.outputs[0], call.inputs[0].shape, mask), mask);
  parallel_for(to.count(), from.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto value = f(from, i);
      to.store(i, 0, 1, &value);
    }
  });
}

// What the reverse rule of a reduction has of each group.
struct Reverse {
  double cotangent, value; // value: 0 where the rule is not given it
  const Groups& x;
  std::int64_t group;
};
// prepare(all): what is taken from a whole group first. slope(all, prepared, x): the result for an element.
template <class Prepare, class Slope>
void reverse_groups(const KernelCall& call, unsigned mask, Prepare&& prepare, Slope&& slope) {
  const View& x = call.inputs[1];
  const Groups from(x, mask), to(call.outputs[0], mask), cotangents(rules::with_axes(call.inputs[0], x.shape, mask), mask);
  const bool valued = call.inputs.size() > 2;
  const Groups values(valued ? rules::with_axes(call.inputs[2], x.shape, mask) : call.inputs[0], mask);
  parallel_for(from.count(), from.grain(), [&](std::int64_t begin, std::int64_t end) {
    double staged[kGroupBlock];
    for (std::int64_t i = begin; i < end; ++i) {
      Reverse all{0, 0, from, i};
      cotangents.load(i, 0, 1, &all.cotangent);
      if (valued) values.load(i, 0, 1, &all.value);
      const auto prepared = prepare(all);
      for (std::int64_t at = 0; at < from.size(); at += kGroupBlock) {
        const std::int64_t n = std::min(kGroupBlock, from.size() - at);
        from.load(i, at, n, staged);
        for (std::int64_t k = 0; k < n; ++k) staged[k] = slope(all, prepared, staged[k]);
        to.store(i, at, n, staged);
      }
    }
  });
}

double mean_of(const Groups& groups, std::int64_t i) {
  double sum = 0;
  groups.each_block<double>(i, [&](const double* x, std::int64_t n) {
    double part = 0;
    for (std::int64_t k = 0; k < n; ++k) part += x[k];
    sum += part;
  });
  return sum / static_cast<double>(groups.size());
}

double degrees(std::int64_t count, double correction) { return std::max(0.0, static_cast<double>(count) - correction); }

} // namespace

void prod(const KernelCall& call, unsigned mask) {
  by_type(call.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    reduce_groups(call, mask, [](const Groups& x, std::int64_t i) {
      T product(1);
      x.each_block<T>(i, [&](const T* block, std::int64_t n) {
        for (std::int64_t k = 0; k < n; ++k) product = product * block[k];
      });
      return product;
    });
  });
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
    for (std::int64_t first = 0; first < groups[0].size(); first += kGroupBlock) {
      const std::int64_t n = std::min(kGroupBlock, groups[0].size() - first);
      for (unsigned k = 0; k <= m; ++k) groups[k].load(group, first, n, staged[k]);
      for (std::int64_t i = 0; i < n; ++i) {
        for (unsigned k = 0; k <= m; ++k) x[k] = staged[k][i];
        f(jet<m>(x));
      }
    }
  }
};

} // namespace

void prod_along(const KernelCall& call, unsigned mask) {
  const Along members(call.inputs, mask);
  const Groups to(rules::with_axes(call.outputs[0], call.inputs[0].shape, mask), mask);
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
  const Groups to(call.outputs[0], mask), cotangents(rules::with_axes(call.inputs[0], call.outputs[0].shape, mask), mask);
  with_directions(call.inputs.size() - 2, [&](auto directions) {
    constexpr unsigned m = directions;
    parallel_for(to.count(), to.grain(), [&](std::int64_t begin, std::int64_t end) {
      std::vector<Jet<m>> all, before;
      std::vector<double> out;
      for (std::int64_t i = begin; i < end; ++i) {
        double cotangent = 0;
        cotangents.load(i, 0, 1, &cotangent);
        before.clear();
        all.clear();
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
        }
        to.store(i, out);
      }
    });
  });
}

void norm(const KernelCall& call, unsigned mask, double p) {
  reduce_groups(call, mask, [p](const Groups& x, std::int64_t i) {
    double sum = 0;
    x.each_block<double>(i, [&](const double* block, std::int64_t n) {
      double part = 0;
      for (std::int64_t k = 0; k < n; ++k) part += p == 2 ? block[k] * block[k] : std::pow(std::fabs(block[k]), p);
      sum += part;
    });
    return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
  });
}

void norm_vjp(const KernelCall& call, unsigned mask, double p) {
  reverse_groups(
      call, mask,
      [p](const Reverse& all) {
        if (all.value == 0) return 0.0;
        return all.cotangent / (p == 2 ? all.value : std::pow(all.value, p - 1));
      },
      [p](const Reverse&, double factor, double x) {
        if (factor == 0 || x == 0) return 0.0;
        return factor * (p == 2 ? x : std::copysign(std::pow(std::fabs(x), p - 1), x));
      });
}

void logsumexp(const KernelCall& call, unsigned mask) {
  reduce_groups(call, mask, [](const Groups& x, std::int64_t i) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    x.each_block<double>(i, [&](const double* block, std::int64_t n) {
      for (std::int64_t k = 0; k < n; ++k) largest = block[k] > largest ? block[k] : largest;
    });
    const double shift = std::isinf(largest) ? 0 : largest; // infinite ones are then their own result
    x.each_block<double>(i, [&](const double* block, std::int64_t n) {
      for (std::int64_t k = 0; k < n; ++k) sum += std::exp(block[k] - shift);
    });
    return shift + std::log(sum);
  });
}

void logsumexp_vjp(const KernelCall& call, unsigned mask) {
  reverse_groups(
      call, mask, [](const Reverse&) { return 0; },
      [](const Reverse& all, int, double x) { return x == all.value ? all.cotangent : all.cotangent * std::exp(x - all.value); });
}

void variance(const KernelCall& call, unsigned mask, double correction) {
  reduce_groups(call, mask, [correction](const Groups& x, std::int64_t i) {
    const double mean = mean_of(x, i);
    double sum = 0;
    x.each_block<double>(i, [&](const double* block, std::int64_t n) {
      double part = 0;
      for (std::int64_t k = 0; k < n; ++k) part += (block[k] - mean) * (block[k] - mean);
      sum += part;
    });
    return sum / degrees(x.size(), correction);
  });
}

void variance_vjp(const KernelCall& call, unsigned mask, double correction) {
  reverse_groups(
      call, mask, [](const Reverse& all) { return mean_of(all.x, all.group); },
      [correction](const Reverse& all, double mean, double x) {
        return all.cotangent * 2 * (x - mean) / degrees(all.x.size(), correction);
      });
}

void place_of_extreme(const KernelCall& call, unsigned mask, bool largest) {
  by_type(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    reduce_groups(call, mask, [largest](const Groups& x, std::int64_t i) {
      T best{};
      std::int64_t place = 0, at = 0;
      x.each_block<T>(i, [&](const T* block, std::int64_t n) {
        for (std::int64_t k = 0; k < n; ++k, ++at) {
          const bool keeps = at != 0 && pointwise::equal(largest ? pointwise::Max::choice<T>(best, block[k], T(1), T(0))
                                                                 : pointwise::Min::choice<T>(best, block[k], T(1), T(0)),
                                                         T(1));
          if (keeps) continue;
          best = block[k];
          place = at;
        }
      });
      return pointwise::Integer(place);
    });
  });
}

} // namespace cairn::ops::cpu
