// Products of matrices beside sums written out: sizes at which a product changes hands between loops of our own and the
// libraries, and rows that lie at multiples of a page, which one of the libraries is slow with. Elements are small integers, so
// that sums are exact in any order and must be equal.
#include "test/ops/testing.h"

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

std::vector<double> small_integers(std::mt19937_64& random, std::int64_t n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  for (double& d : out) d = static_cast<double>(random() % 9) - 4;
  return out;
}

// Of m x k and k x n numbers, row by row.
std::vector<double> sums(const std::vector<double>& a, const std::vector<double>& b, std::int64_t m, std::int64_t k,
                         std::int64_t n) {
  std::vector<double> out(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < n; ++j)
        out[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(p * n + j)];
  return out;
}

// The same matrix, its columns beside each other in memory.
Tensor by_columns(World& w, const std::vector<double>& numbers, std::int64_t rows, std::int64_t columns, DType type) {
  std::vector<double> turned(numbers.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      turned[static_cast<std::size_t>(j * rows + i)] = numbers[static_cast<std::size_t>(i * columns + j)];
  return applied(w.rt, O::transpose, {w.tensor({columns, rows}, turned, type)}, with({absent(), absent()}));
}

} // namespace

TEST_CASE("products are sums of products, whatever multiplies and however operands lie") {
  World w;
  std::mt19937_64 random(11);
  struct Sizes {
    std::int64_t m, k, n;
  };
  for (const Sizes s : {Sizes{3, 31, 1024}, Sizes{4, 32, 1024}, Sizes{5, 33, 1025}, Sizes{8, 200, 2048}, Sizes{130, 40, 1024},
                        Sizes{1, 64, 3072}, Sizes{40, 1000, 64}, Sizes{1024, 17, 8}, Sizes{70, 70, 70}, Sizes{20, 1024, 70}}) {
    const std::vector<double> a = small_integers(random, s.m * s.k), b = small_integers(random, s.k * s.n);
    const std::vector<double> expected = sums(a, b, s.m, s.k, s.n);
    for (const DType type : {DType::f32, DType::f64})
      for (const bool a_turned : {false, true})
        for (const bool b_turned : {false, true}) {
          const std::string sizes = std::to_string(s.m) + " x " + std::to_string(s.k) + " x " + std::to_string(s.n);
          CAPTURE(sizes);
          CAPTURE(a_turned);
          CAPTURE(b_turned);
          const Tensor left = a_turned ? by_columns(w, a, s.m, s.k, type) : w.tensor({s.m, s.k}, a, type),
                       right = b_turned ? by_columns(w, b, s.k, s.n, type) : w.tensor({s.k, s.n}, b, type);
          CHECK(w.rt.read_numbers(applied(w.rt, O::matmul, {left, right})) == expected);
        }
  }
}
