// What the operators of ops/operators_elements.def promise beside values and derivatives: what they refuse, what they do at
// borders (no elements, NaNs, zeros), and that dropout drops the same when it runs again.
#include "ops/operators/registry.h"
#include "test/ops/testing.h"

#include <limits>

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

std::vector<double> numbers(World& w, O op, std::vector<Tensor> inputs, std::vector<Attribute> attributes = {}) {
  return w.rt.read_numbers(applied(w.rt, op, std::move(inputs), with(std::move(attributes))));
}

using Numbers = std::vector<double>;

} // namespace

TEST_CASE("adam-update has the bits of its three operations, also over its operands") {
  World w;
  std::mt19937_64 random(3);
  for (const DType type : {DType::f32, DType::f64, DType::bf16}) {
    const auto drawn = [&](double low) { return w.tensor({70, 1000}, numbers_between(random, 70'000, low, 1), type); };
    const Tensor x = drawn(-1), mean = drawn(-1), squares = drawn(0), cotangent = drawn(-1);
    const auto the = [](double d) { return weak_number(d, false); };
    const Tensor new_mean = applied(w.rt, O::weighted_sum, {mean, cotangent, the(.9), the(.1)}),
                 new_squares = applied(w.rt, O::weighted_square_sum, {squares, cotangent, the(.999), the(.001)}),
                 new_x = applied(w.rt, O::adam_step, {x, new_mean, new_squares, the(.99), the(.01), the(.3)});
    const auto check = [&](const std::array<Tensor, kMostResults>& out) {
      CHECK(w.rt.read_numbers(out[0]) == w.rt.read_numbers(new_x));
      CHECK(w.rt.read_numbers(out[1]) == w.rt.read_numbers(new_mean));
      CHECK(w.rt.read_numbers(out[2]) == w.rt.read_numbers(new_squares));
    };
    std::vector<Tensor> operands = {x,         mean,      squares,  cotangent, the(.9), the(.1),
                                    the(.999), the(.001), the(.99), the(.01),  the(.3)};
    check(all_applied(w.rt, O::adam_update, operands));
    for (unsigned i = 0; i < 3; ++i) operands[i] = w.rt.apply(O::mul, {operands[i], the(1)}); // that nobody else has
    const void* const memory[] = {operands[0].storage.get(), operands[1].storage.get(), operands[2].storage.get()};
    const bool consumed[] = {true, true, true};
    std::array<Tensor, kMostResults> out;
    w.rt.apply(operator_of(O::adam_update), operands, consumed, {}, out);
    check(out);
    for (unsigned i = 0; i < 3; ++i) CHECK(out[i].storage.get() == memory[i]);
  }
}

TEST_CASE("parts are added onto a sum in its memory, or in a copy where somebody else has it") {
  World w;
  const Numbers six = {1, 2, 3, 4, 5, 6};
  const auto onto = [&](O op, const Tensor& sum, Tensor a, Tensor b, unsigned count, std::vector<Attribute> attributes,
                        const Numbers& expected) {
    CHECK(Runtime::can_add_onto(sum, sum));
    for (const bool shared : {true, false}) {
      Tensor mine = w.rt.apply(O::mul, {sum, weak_number(1, true)});
      const Tensor kept = shared ? mine : Tensor{};
      const void* const memory = mine.storage.get();
      w.rt.add_onto(mine, AddedOnto{&operator_of(op), {a, b}, count, with(attributes)});
      CHECK(w.rt.read_numbers(mine) == expected);
      CHECK((mine.storage.get() == memory) == !shared);
      if (shared) CHECK(w.rt.read_numbers(kept) == w.rt.read_numbers(sum));
    }
  };
  const Tensor sum = w.tensor({2, 3}, six), turned = applied(w.rt, O::transpose, {w.tensor({3, 2}, six)});
  const Tensor part = w.tensor({2, 2}, {10, 20, 30, 40}), index = w.tensor({2}, {1, 1}, DType::i64);
  const auto every_other = std::vector<Attribute>{list({0, 0}), list({1, 2})};
  onto(O::add_within, sum, part, {}, 1, every_other, {11, 2, 23, 34, 5, 46});
  onto(O::add_within, turned, part, {}, 1, every_other, {11, 3, 25, 32, 4, 46});
  onto(O::add_within, sum, w.tensor({0, 3}, {}), {}, 1, {list({2, 0}), list({1, 1})}, six);
  onto(O::add_rows, sum, w.tensor({2, 3}, {10, 20, 30, 40, 50, 60}), index, 2, {}, {1, 2, 3, 54, 75, 96});
  onto(O::add_rows, turned, w.tensor({2, 3}, {10, 20, 30, 40, 50, 60}), index, 2, {}, {1, 3, 5, 52, 74, 96});
  CHECK(!Runtime::can_add_onto(applied(w.rt, O::narrow, {sum}, with({integer(1), integer(0), integer(2)})), part));
  CHECK(!Runtime::can_add_onto(sum, w.tensor({2, 3}, six, DType::f32)));
}

TEST_CASE("indices that are not there, or are no integers, are refused before anything is launched") {
  World w;
  const Tensor t = w.tensor({2, 3}, Numbers(6));
  auto at = [&](std::vector<double> i, const Shape& shape) { return w.tensor(shape, i, DType::i64); };
  CHECK(error(w, O::embedding, {t, at({0, 2}, {2})}) == "embedding: there is no index 2 along an axis of size 2");
  CHECK(error(w, O::embedding, {t, weak_number(-1, true)}) == "embedding: there is no index -1 along an axis of size 2");
  CHECK(error(w, O::embedding, {t, weak_number(0.5, false)}) == "embedding: indices are integers, not other numbers");
  CHECK(error(w, O::embedding, {t, t}) == "embedding: indices are integers, not f64; (cast t 'i64) makes indices of them");
  CHECK(error(w, O::gather, {t, at({3, 0}, {2, 1})}, {integer(1)}) == "gather: there is no index 3 along an axis of size 3");
  CHECK(error(w, O::gather, {t, at({0, 0, 0}, {3, 1})}, {integer(1)}) ==
        "gather: indices of shape (3 1) do not go with a tensor of shape (2 3) along axis 1");
  CHECK(error(w, O::scatter_add, {t, at({0, -1}, {2, 1}), w.tensor({2, 1}, Numbers(2))}, {integer(1)}) ==
        "scatter-add: there is no index -1 along an axis of size 3");
  CHECK(error(w, O::scatter_add, {t, at({0, 0}, {2, 1}), w.tensor({2}, Numbers(2))}, {integer(1)}) ==
        "scatter-add: indices of shape (2 1) do not go with elements of shape (2)");
  CHECK(error(w, O::one_hot, {at({4}, {1})}, {integer(4)}) == "one-hot: there is no index 4 along an axis of size 4");
  CHECK(error(w, O::cross_entropy_loss, {t, at({0, 3}, {2})}) ==
        "cross-entropy-loss: there is no index 3 along an axis of size 3");
  CHECK(error(w, O::cross_entropy_loss, {t, at({0}, {1})}) ==
        "cross-entropy-loss: indices of shape (1) do not go with logits of shape (2 3)");
}

TEST_CASE("a masked softmax of nothing is 0, of what is without end not a number") {
  World w;
  const double end = -std::numeric_limits<double>::infinity();
  for (const DType type : {DType::f64, DType::f32}) {
    const Tensor x = w.tensor({4, 3}, {1, 2, 3, end, end, end, end, 1, end, end, 5, end}, type),
                 mask = w.tensor({4, 3}, {1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0}, type);
    const std::vector<double> y = w.rt.read_numbers(applied(w.rt, O::fused_softmax, {x, mask}, with({number(1)})));
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(y[i] == 0);
      CHECK(std::isnan(y[3 + i]));
      CHECK(y[6 + i] == (i == 1 ? 1 : 0));
      CHECK(std::isnan(y[9 + i]));
    }
  }
}

TEST_CASE("shapes and numbers that elements cannot have") {
  World w;
  const Tensor a = w.tensor({2, 3}, Numbers(6)), b = w.tensor({3}, Numbers(3)), none = w.tensor({0}, {}), s = w.tensor({}, {1});
  CHECK(error(w, O::min_over, {none}) == "min-over: a tensor of shape (0) has no minimum");
  CHECK(error(w, O::argmax, {none}) == "argmax: a tensor of shape (0) has no largest element");
  CHECK(error(w, O::norm, {a}, {absent(), absent(), number(0.5)}) == "norm: p is a number from 1 on, not 0.5");
  CHECK(error(w, O::mean_squared_error, {a, b}) == "mean-squared-error: shapes (2 3) and (3) are not the same");
  CHECK(error(w, O::fused_softmax, {b, a}, {number(1)}) ==
        "fused-scale-mask-softmax: a mask of shape (2 3) does not stretch to scores of shape (3)");
  CHECK(error(w, O::dropout, {a}, {number(1.5)}) == "dropout: 1.5 is not a probability");
  CHECK(error(w, O::dropout_planewise, {b}, {number(0.5)}) ==
        "dropout-planewise: a tensor of shape (3) has no axes of batch and channels");
  CHECK(error(w, O::stack, {}, {integer(0)}) == "stack: no tensors are given");
  CHECK(error(w, O::stack, {a, b}, {integer(0)}) == "stack: shapes (2 3) and (3) are not the same");
  CHECK(error(w, O::chunk, {a}, {integer(0), integer(2), integer(2)}) == "chunk: there is no part 2 of 2");
  CHECK(error(w, O::crop, {a}, {list({0, 2}), list({2, 2})}) ==
        "crop: 2 from 2 on along axis 1 are not in a tensor of shape (2 3)");
  CHECK(error(w, O::crop, {a}, {list({0}), list({2, 2})}) ==
        "crop: (0) are not a number for each axis of a tensor of shape (2 3)");
  CHECK(error(w, O::slice, {a}, {integer(1), integer(2), integer(1), absent()}) ==
        "slice: 2 to 1 along axis 1 are not in a tensor of shape (2 3)");
  CHECK(error(w, O::slice, {a}, {integer(1), integer(0), integer(3), integer(-1)}) == "slice: a step is at least 1, not -1");
  CHECK(error(w, O::prod_along, {a, b}) == "prod-along: shapes (2 3) and (3) are not the same");
  CHECK(error(w, O::prod_along, {a, a, a, a, a, a}) == "prod-along: derivatives are there up to order 4, not 5");
  CHECK(error(w, O::tile, {a}, {list({1, -1})}) == "tile: axis 1 of a tensor of shape (2 3) cannot be repeated -1 times");
  CHECK(error(w, O::roll, {a}, {list({1, 1}), list({0})}) == "roll: (1 1) are not a number for each axis of (0)");
  CHECK(error(w, O::lower_triangle, {b}) == "lower-triangle: a tensor of shape (3) is no matrix");
  CHECK(error(w, O::sort, {s}) == "sort: there is no axis -1 in a tensor of 0 axes");
  CHECK(error(w, O::top_k, {a}, {integer(4)}) == "top-k: there are no 4 elements along axis 1 of a tensor of shape (2 3)");
  CHECK(error(w, O::cholesky, {a}) == "cholesky: a tensor of shape (2 3) is no square matrix");
  const Tensor square = w.tensor({2, 2}, Numbers(4));
  CHECK(error(w, O::solve, {square, b}) == "solve: shapes (2 2) and (3) do not go together; right sides are columns of "
                                           "matrices: (unsqueeze b -1) makes one of a vector");
}

TEST_CASE("numbers as indices, vectors of 0 and 1, and their types") {
  World w;
  const Tensor table = w.tensor({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(numbers(w, O::embedding, {table, weak_number(2, true)}) == Numbers{5, 6});
  const Tensor hot = applied(w.rt, O::one_hot, {w.tensor({2}, {2, 0}, DType::u8)}, with({integer(3)}));
  CHECK(hot.dtype == DType::f32);
  CHECK(hot.shape == Shape{2, 3});
  CHECK(w.rt.read_numbers(hot) == Numbers{0, 0, 1, 1, 0, 0});
  CHECK(applied(w.rt, O::one_hot, {weak_number(1, true)}, with({integer(2), integer(static_cast<int>(DType::i32))})).dtype ==
        DType::i32);
  CHECK(applied(w.rt, O::prod, {w.tensor({2}, {3, 4}, DType::u8)}).dtype == DType::i64);
}

TEST_CASE("tensors without elements") {
  World w;
  const Tensor none = w.tensor({0}, {}), rows = w.tensor({2, 0}, {}), no_rows = w.tensor({0, 2}, {});
  const Tensor no_indices = w.tensor({0}, {}, DType::i64);
  CHECK(numbers(w, O::prod, {none}) == Numbers{1});
  CHECK(numbers(w, O::norm, {rows}, {list({1})}) == Numbers{0, 0});
  CHECK(numbers(w, O::logsumexp, {none}) == Numbers{-kInfinity});
  CHECK(applied(w.rt, O::embedding, {no_rows, no_indices}).shape == Shape{0, 2});
  CHECK(error(w, O::embedding, {no_rows, weak_number(0, true)}) == "embedding: there is no index 0 along an axis of size 0");
  CHECK(numbers(w, O::scatter_add, {w.tensor({2}, {1, 2}), no_indices, none}, {integer(0)}) == Numbers{1, 2});
  CHECK(numbers(w, O::embedding_vjp, {no_rows, no_indices}, {list({2, 2})}) == Numbers{0, 0, 0, 0});
  CHECK(std::isnan(numbers(w, O::mean_squared_error, {none, none})[0]));
  CHECK(numbers(w, O::determinant, {w.tensor({0, 0}, {})}) == Numbers{1});
  for (const O op : {O::sort, O::argsort, O::lower_triangle}) CHECK(applied(w.rt, op, {rows}).shape == Shape{2, 0});
  CHECK(applied(w.rt, O::roll, {rows}, with({list({1, 1}), list({0, 1})})).shape == Shape{2, 0});
  CHECK(applied(w.rt, O::tile, {rows}, with({list({2, 2})})).shape == Shape{4, 0});
  CHECK(applied(w.rt, O::chunk, {none}, with({integer(0), integer(3), integer(2)})).shape == Shape{0});
}

TEST_CASE("NaNs, zeros and masks") {
  World w;
  const Tensor x = w.tensor({5}, {2, kNan, -1, 3, 2});
  const Numbers sorted = numbers(w, O::sort, {x});
  CHECK(Numbers(sorted.begin(), sorted.end() - 1) == Numbers{-1, 2, 2, 3});
  CHECK(std::isnan(sorted[4]));
  CHECK(numbers(w, O::argsort, {x}) == Numbers{2, 0, 4, 3, 1});
  CHECK(numbers(w, O::argmax, {x}) == Numbers{1});
  CHECK(numbers(w, O::argmin, {x}) == Numbers{1});
  CHECK(numbers(w, O::argmax, {w.tensor({4}, {1, 3, 3, 0})}) == Numbers{1});

  Tensor results[2];
  Tensor in[] = {x};
  w.rt.apply(operator_of(O::top_k), in, {}, with({integer(3)}), results);
  CHECK(std::isnan(w.rt.read_numbers(results[0])[0]));
  CHECK(results[1].dtype == DType::i64);
  CHECK(w.rt.read_numbers(results[1]) == Numbers{1, 3, 0});
  CHECK(numbers(w, O::top_k_places, {x}, {integer(3)}) == Numbers{1, 3, 0});

  // The product of all others, also where there are zeros.
  const Tensor one = w.tensor({1}, {1}), with_zero = w.tensor({3}, {2, 0, 5}), two_zeros = w.tensor({3}, {2, 0, 0});
  CHECK(numbers(w, O::prod_vjp, {one, with_zero}, {absent(), integer(1)}) == Numbers{0, 10, 0});
  CHECK(numbers(w, O::prod_vjp, {one, two_zeros}, {absent(), integer(1)}) == Numbers{0, 0, 0});
  const Tensor t = w.tensor({3}, {1, 2, 3}), u = w.tensor({3}, {5, 6, 7});
  CHECK(numbers(w, O::prod_along, {with_zero, t}) == Numbers{20});
  CHECK(numbers(w, O::prod_along, {two_zeros, t, u}) == Numbers{2 * (2 * 7 + 3 * 6)});
  CHECK(numbers(w, O::prod_vjp, {one, two_zeros, t}, {absent(), integer(1), integer(0)}) == Numbers{0, 6, 4});
  CHECK(numbers(w, O::prod_vjp, {one, two_zeros, t, u}, {absent(), integer(1), integer(1)}) == Numbers{0, 14, 12});
  const Tensor zeros = w.tensor({2}, {0, 0});
  CHECK(numbers(w, O::norm_vjp, {one, zeros, w.tensor({1}, {0})}, {absent(), integer(1)}) == Numbers{0, 0});
  CHECK(numbers(w, O::logsumexp, {w.tensor({2}, {-kInfinity, -kInfinity})}) == Numbers{-kInfinity});
  CHECK(numbers(w, O::logsumexp, {w.tensor({2}, {1000, 1000})}) == Numbers{1000 + std::log(2.0)});
  CHECK(numbers(w, O::fused_softmax, {with_zero, weak_number(1, true)}, {number(1)}) == Numbers{0, 0, 0});
  // Singular: the cofactors are still there.
  CHECK(numbers(w, O::determinant_vjp, {w.tensor({}, {1}), w.tensor({2, 2}, {1, 2, 2, 4})}) == Numbers{4, -2, -2, 1});
  const Tensor none_of_it = w.tensor({2, 2}, {0, 0, 0, 0}), m = w.tensor({2, 2}, {1, 2, 3, 4});
  CHECK(numbers(w, O::determinant_along, {none_of_it, m}) == Numbers{0});
  CHECK(numbers(w, O::determinant_along, {none_of_it, m, m}) == Numbers{-4});
  CHECK(numbers(w, O::determinant_vjp, {w.tensor({}, {1}), none_of_it, m}, {integer(0)}) == Numbers{4, -3, -2, 1});
  // What is left by rounding is nothing to divide by: this matrix has no exact inverse, and elimination does not end at 0.
  std::vector<double> rank_two(25);
  for (std::size_t i = 0; i < 25; ++i) rank_two[i] = 0.1 * static_cast<double>(i);
  const Tensor large = w.tensor({5, 5}, rank_two), ones = w.tensor({5, 5}, Numbers(25, 1.0));
  for (const double d : numbers(w, O::determinant_vjp, {w.tensor({}, {1}), large})) CHECK(std::fabs(d) < 1e-12);
  CHECK(std::fabs(numbers(w, O::determinant_along, {large, ones, ones})[0]) < 1e-12);
  CHECK(numbers(w, O::binary_cross_entropy, {w.tensor({2}, {0, 1}), w.tensor({2}, {1, 1})}) == Numbers{50});
}

TEST_CASE("dropout is a function of its key: the rest is scaled, the same elements go again, and so in the reverse rule") {
  World w;
  const std::int64_t n = 20000;
  const Tensor ones = w.tensor({n}, Numbers(static_cast<std::size_t>(n), 1));
  Attributes attributes = with({number(0.25)});
  attributes.key = 99;
  const Numbers first = w.rt.read_numbers(applied(w.rt, O::dropout, {ones}, attributes));
  double left = 0;
  for (const double d : first) {
    CHECK((d == 0 || d == 1 / 0.75));
    left += d != 0;
  }
  CHECK(std::fabs(left / static_cast<double>(n) - 0.75) < 0.02);
  CHECK(w.rt.read_numbers(applied(w.rt, O::dropout, {ones}, attributes)) == first);
  attributes.key = 100;
  CHECK(w.rt.read_numbers(applied(w.rt, O::dropout, {ones}, attributes)) != first);
  attributes.values[0] = number(1);
  CHECK(w.rt.read_numbers(applied(w.rt, O::dropout, {ones}, attributes)) == Numbers(static_cast<std::size_t>(n), 0));

  attributes.values[0] = number(0.5);
  const Tensor planes = w.tensor({10, 10, 3}, Numbers(300, 1));
  const Numbers dropped = w.rt.read_numbers(applied(w.rt, O::dropout_planewise, {planes}, attributes));
  double sum = 0;
  for (std::size_t i = 0; i < 300; i += 3) {
    CHECK(dropped[i] == dropped[i + 1]);
    CHECK(dropped[i] == dropped[i + 2]);
    sum += dropped[i];
  }
  CHECK(sum > 60);
  CHECK(sum < 140);
}

TEST_CASE("dropout of a part drops what it drops there of the whole, from odd places too, in lines longer than a block") {
  World w;
  const Tensor whole = w.tensor({3, 4, 1301}, Numbers(3 * 4 * 1301, 1));
  for (const O op : {O::dropout, O::dropout_planewise})
    for (const std::vector<std::int64_t>& starts : {std::vector<std::int64_t>{0, 0, 1}, {1, 1, 200}, {2, 3, 0}, {0, 1, 0}}) {
      Attributes attributes = with({number(0.5)});
      attributes.key = 7;
      std::vector<std::int64_t> sizes = {3 - starts[0], 4 - starts[1], 1301 - starts[2] - (starts[2] == 200 ? 5 : 0)};
      const Attributes place = with({list(starts), list(sizes)});
      const Tensor there = applied(w.rt, O::crop, {applied(w.rt, op, {whole}, attributes)}, place);
      attributes.values.push_back(list(starts));
      attributes.values.push_back(list({3, 4, 1301}));
      const Tensor part = applied(w.rt, O::crop, {whole}, place);
      CHECK(w.rt.read_numbers(applied(w.rt, op, {part}, attributes)) == w.rt.read_numbers(there));
    }
  CHECK(error(w, O::dropout, {whole}, {number(0.5), list({0, 0, 1}), list({3, 4, 1301})}) ==
        "dropout: a part of shape (3 4 1301) from (0 0 1) on is not in a tensor of shape (3 4 1301)");
}
