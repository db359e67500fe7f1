// Derivatives of determinants along directions, by elimination of matrices of jets: right for singular matrices too, where
// formulas by the inverse divide by 0.
#include "ops/cpu/matrices/linear_algebra.h"
#include "ops/cpu/matrices/matrices.h"
#include "ops/jets.h"

#include <cmath>
#include <limits>
#include <optional>

namespace cairn::ops::cpu {

namespace {

template <class T> MatrixOf<T> without(const MatrixOf<T>& a, std::int64_t row, std::int64_t column) {
  MatrixOf<T> minor = made<T>(a.rows - 1, a.columns - 1);
  Pace pace;
  for (std::int64_t i = 0; i < minor.rows; ++i) {
    for (std::int64_t j = 0; j < minor.columns; ++j) minor(i, j) = a(i + (i >= row ? 1 : 0), j + (j >= column ? 1 : 0));
    pace.did(minor.columns);
  }
  return minor;
}

// By minors: no division, for a few rows.
template <class T> T expanded(const MatrixOf<T>& a) {
  if (a.rows == 0) return T(1);
  T sum(0);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    const T term = a(0, j) * expanded(without(a, 0, j));
    sum = j % 2 == 0 ? sum + term : sum - term;
  }
  return sum;
}

// What is left of elements while rows are subtracted from each other, and how large the numbers were that it is the difference
// of: what is as small as their rounding errors counts as 0.
template <class T> struct Elimination {
  MatrixOf<T> left;
  Matrix sizes;
  explicit Elimination(MatrixOf<T> a) : left(std::move(a)), sizes(made(left.rows, left.columns)) {
    in_stretches(left.rows * left.columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto k = static_cast<std::size_t>(i);
        sizes.elements[k] = std::fabs(real(left.elements[k]));
      }
    });
  }
  // 0 where it counts as that.
  double size(std::int64_t i, std::int64_t j) const {
    const double size = std::fabs(real(left(i, j)));
    const double error = std::numeric_limits<double>::epsilon() * static_cast<double>(left.rows) * sizes(i, j);
    return size <= error ? 0 : size; // a NaN stays
  }
  void exchange_rows(std::int64_t a, std::int64_t b) {
    for (std::int64_t j = 0; j < left.columns; ++j) {
      std::swap(left(a, j), left(b, j));
      std::swap(sizes(a, j), sizes(b, j));
    }
  }
  void exchange_columns(std::int64_t a, std::int64_t b) {
    for (std::int64_t i = 0; i < left.rows; ++i) {
      std::swap(left(i, a), left(i, b));
      std::swap(sizes(i, a), sizes(i, b));
    }
  }
  // Row i less so many times row k, behind column k.
  void subtract(std::int64_t i, std::int64_t k, const T& times) {
    for (std::int64_t j = k + 1; j < left.columns; ++j) {
      left(i, j) = left(i, j) - times * left(k, j);
      sizes(i, j) += std::fabs(real(times) * real(left(k, j)));
    }
    pace.did(4 * (left.columns - k));
  }
  Pace pace;
};

template <class T> T determinant_of(MatrixOf<T> a) {
  Elimination<T> e(std::move(a));
  const std::int64_t n = e.left.rows;
  T product(1);
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t row = k, column = k;
    for (std::int64_t i = k; i < n; ++i) {
      for (std::int64_t j = k; j < n; ++j)
        if (e.size(i, j) > e.size(row, column)) {
          row = i;
          column = j;
        }
      e.pace.did(4 * (n - k));
    }
    if (e.size(row, column) == 0) { // nothing to divide by
      // Each term of the rest is a product of as many infinitesimals as there are rows.
      if (n - k > kMostDirections) return T(0);
      MatrixOf<T> rest = made<T>(n - k, n - k);
      for (std::int64_t i = k; i < n; ++i)
        for (std::int64_t j = k; j < n; ++j) rest(i - k, j - k) = e.left(i, j);
      return product * expanded(rest);
    }
    if (row != k) e.exchange_rows(row, k);
    if (column != k) e.exchange_columns(column, k);
    product = product * ((row != k) != (column != k) ? T(0) - e.left(k, k) : e.left(k, k));
    for (std::int64_t i = k + 1; i < n; ++i) e.subtract(i, k, e.left(i, k) / e.left(k, k));
  }
  return product;
}

// The determinant times the transposed inverse, if there is one.
template <class T> std::optional<MatrixOf<T>> cofactors_by_inverse(const MatrixOf<T>& a) {
  const std::int64_t n = a.rows;
  Elimination<T> e(a);
  MatrixOf<T> inverse = made<T>(n, n);
  for (std::int64_t i = 0; i < n; ++i) inverse(i, i) = T(1);
  T product(1);
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t row = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (e.size(i, k) > e.size(row, k)) row = i;
    if (e.size(row, k) == 0) return {};
    if (row != k) {
      e.exchange_rows(row, k);
      for (std::int64_t j = 0; j < n; ++j) std::swap(inverse(row, j), inverse(k, j));
    }
    product = product * (row != k ? T(0) - e.left(k, k) : e.left(k, k));
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const T times = e.left(i, k) / e.left(k, k);
      e.subtract(i, k, times);
      for (std::int64_t j = 0; j < n; ++j) inverse(i, j) = inverse(i, j) - times * inverse(k, j);
      e.pace.did(4 * n);
    }
  }
  MatrixOf<T> out = made<T>(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) out(i, j) = product * (inverse(j, i) / e.left(j, j));
    e.pace.did(4 * n);
  }
  return out;
}

template <class T> MatrixOf<T> cofactors_of(const MatrixOf<T>& a) {
  if (std::optional<MatrixOf<T>> by_inverse = cofactors_by_inverse(a)) return *std::move(by_inverse);
  MatrixOf<T> out = made<T>(a.rows, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.rows; ++j) {
      const T minor = determinant_of(without(a, i, j));
      out(i, j) = (i + j) % 2 == 0 ? minor : T(0) - minor;
    }
  return out;
}

// Matrices of jets from (matrix, directions).
struct Along {
  std::vector<Stack> stacks;
  explicit Along(std::span<const View> members) {
    for (const View& v : members) stacks.emplace_back(v);
  }
  template <unsigned m> MatrixOf<Jet<m>> load(std::int64_t at) const {
    std::vector<Matrix> members;
    for (const Stack& stack : stacks) members.push_back(stack.load(at));
    MatrixOf<Jet<m>> a = made<Jet<m>>(members[0].rows, members[0].columns);
    double x[m + 1];
    in_stretches(a.rows * a.columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (unsigned k = 0; k <= m; ++k) x[k] = members[k].elements[static_cast<std::size_t>(i)];
        a.elements[static_cast<std::size_t>(i)] = jet<m>(x);
      }
    });
    return a;
  }
};

} // namespace

void determinant_along(const KernelCall& call) {
  const Along members(call.inputs);
  const Groups out(call.outputs[0], 0);
  with_directions(call.inputs.size() - 1, [&](auto directions) {
    constexpr unsigned m = directions;
    each_matrix(members.stacks[0], [&](std::int64_t at) {
      const double d = part<m>(determinant_of(members.template load<m>(at)), 0);
      out.store(at, 0, 1, &d);
    });
  });
}

void determinant_vjp(const KernelCall& call, unsigned which) {
  const Along members(call.inputs.subspan(1));
  const Stack out(call.outputs[0]);
  const Groups cotangents(call.inputs[0], 0);
  with_directions(call.inputs.size() - 2, [&](auto directions) {
    constexpr unsigned m = directions;
    each_matrix(members.stacks[0], [&](std::int64_t at) {
      double c = 0;
      cotangents.load(at, 0, 1, &c);
      const MatrixOf<Jet<m>> cofactors = cofactors_of(members.template load<m>(at));
      Matrix result = made(out.rows, out.columns);
      in_stretches(out.rows * out.columns, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const auto k = static_cast<std::size_t>(i);
          result.elements[k] = c * part<m>(cofactors.elements[k], which);
        }
      });
      out.store(at, result);
    });
  });
}

} // namespace cairn::ops::cpu
