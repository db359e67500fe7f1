// See linear_algebra.h. Matrices of a stack are shared out among threads, each is worked on by one.
#include "ops/cpu/matrices/linear_algebra.h"

#include "ops/cpu/matrices/matrices.h"

#include <cmath>
#include <limits>

namespace cairn::ops::cpu {

namespace {

// Triangles P A = L U in place of A, by rows exchanged so that pivots are largest; b gets the same exchanges. The sign of the
// exchanges.
double eliminate(Matrix& a, Matrix* b) {
  double sign = 1;
  Pace pace;
  for (std::int64_t k = 0; k < a.rows; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < a.rows; ++i)
      if (std::fabs(a(i, k)) > std::fabs(a(pivot, k))) pivot = i;
    if (pivot != k) {
      sign = -sign;
      for (std::int64_t j = 0; j < a.columns; ++j) std::swap(a(k, j), a(pivot, j));
      for (std::int64_t j = 0; b != nullptr && j < b->columns; ++j) std::swap((*b)(k, j), (*b)(pivot, j));
    }
    pace.did(a.rows - k);
    if (a(k, k) == 0) continue; // singular: nothing is left below
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      const double factor = a(i, k) /= a(k, k);
      for (std::int64_t j = k + 1; j < a.columns; ++j) a(i, j) -= factor * a(k, j);
      pace.did(a.columns - k);
    }
  }
  return sign;
}

// x in place of b. unit: the diagonal is taken to be 1.
void solve_triangle(const Matrix& a, Matrix& b, bool lower, bool unit) {
  Pace pace;
  for (std::int64_t n = 0; n < a.rows; ++n) {
    const std::int64_t i = lower ? n : a.rows - 1 - n;
    const std::int64_t begin = lower ? 0 : i + 1, end = lower ? i : a.rows;
    for (std::int64_t k = begin; k < end; ++k) {
      for (std::int64_t j = 0; j < b.columns; ++j) b(i, j) -= a(i, k) * b(k, j);
      pace.did(b.columns);
    }
    if (unit) continue;
    for (std::int64_t j = 0; j < b.columns; ++j) b(i, j) /= a(i, i);
  }
}

double determinant_of(Matrix a) {
  double product = eliminate(a, nullptr);
  for (std::int64_t k = 0; k < a.rows; ++k) product *= a(k, k);
  return product;
}

} // namespace

void cholesky(const KernelCall& call) {
  const Stack in(call.inputs[0]), out(call.outputs[0]);
  each_matrix(in, [&](std::int64_t at) {
    const Matrix a = in.load(at);
    Matrix l = made(a.rows, a.rows);
    Pace pace;
    for (std::int64_t i = 0; i < a.rows; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        double rest = 0.5 * (a(i, j) + a(j, i));
        for (std::int64_t k = 0; k < j; ++k) rest -= l(i, k) * l(j, k);
        pace.did(j + 1);
        l(i, j) = i != j ? rest / l(j, j) : rest > 0 ? std::sqrt(rest) : std::numeric_limits<double>::quiet_NaN();
      }
    out.store(at, l);
  });
}

void triangular_solve(const KernelCall& call, bool lower) {
  const Stack in(call.inputs[0]), right(call.inputs[1]), out(call.outputs[0]);
  each_matrix(right, [&](std::int64_t at) {
    Matrix b = right.load(at);
    solve_triangle(in.load(at), b, lower, false);
    out.store(at, b);
  });
}

void solve(const KernelCall& call) {
  const Stack in(call.inputs[0]), right(call.inputs[1]), out(call.outputs[0]);
  each_matrix(in, [&](std::int64_t at) {
    Matrix a = in.load(at), b = right.load(at);
    eliminate(a, &b);
    solve_triangle(a, b, true, true);
    solve_triangle(a, b, false, false);
    out.store(at, b);
  });
}

void determinant(const KernelCall& call) {
  const Stack in(call.inputs[0]);
  const Groups out(call.outputs[0], 0);
  each_matrix(in, [&](std::int64_t at) {
    const double d = determinant_of(in.load(at));
    out.store(at, 0, 1, &d);
  });
}

} // namespace cairn::ops::cpu
