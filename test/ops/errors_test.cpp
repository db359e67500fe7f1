// Wrong uses are refused before anything is allocated, with messages that show the operator and the shapes.
#include "test/ops/testing.h"

using namespace cairn::ops;
using namespace cairn::ops::test;

TEST_CASE("shapes that do not go together") {
  World w;
  const Tensor a = w.tensor({2, 3}, std::vector<double>(6)), b = w.tensor({4}, std::vector<double>(4)), s = w.tensor({}, {1});
  using O = OperatorId;
  CHECK(error(w, O::add, {a, b}) == "+: shapes (2 3) and (4) do not go together");
  CHECK(error(w, O::where, {a, b, b}) == "where: shapes (2 3) and (4) do not go together");
  CHECK(error(w, O::matmul, {a, b}) == "matmul: shapes (2 3) and (4) do not go together");
  CHECK(error(w, O::matmul, {a, s}) == "matmul: shapes (2 3) and () do not go together");
  CHECK(error(w, O::concat, {a, b}, {integer(0)}) == "concat-tensors: shapes (2 3) and (4) do not go together along axis 0");
  CHECK(error(w, O::concat, {}, {integer(0)}) == "concat-tensors: no tensors are given");
  CHECK(error(w, O::view, {a}, {list({4})}) == "view: a tensor of shape (2 3) cannot be seen as one of shape (4)");
  CHECK(error(w, O::view, {a}, {list({-1, 4})}) == "view: a tensor of shape (2 3) cannot be seen as one of shape (-1 4)");
  CHECK(error(w, O::view, {a}, {list({-1, -1})}) == "view: only one size can be -1");
  CHECK(error(w, O::expand, {a}, {list({2, 4})}) == "expand-tensor: a tensor of shape (2 3) does not stretch to (2 4)");
  CHECK(error(w, O::sum_to, {a}, {list({2})}) == "sum-to: (2 3) does not come from (2) by stretching");
  CHECK(error(w, O::permute, {a}, {list({0, 0})}) == "permute: (0 0) does not name each axis of a tensor of shape (2 3) once");
  CHECK(error(w, O::transpose, {b}, {absent(), absent()}) == "transpose: a tensor of shape (4) has no two axes");
  CHECK(error(w, O::narrow, {b}, {integer(0), integer(3), integer(2)}) ==
        "narrow-tensor: 2 from 3 on along axis 0 are not in a tensor of shape (4)");
  CHECK(error(w, O::pad, {b}, {list({1}), list({1, 2})}) ==
        "pad: (1) and (1 2) are not a number for each axis of a tensor of shape (4)");
  CHECK(error(w, O::pad, {b}, {list({-3}), list({-2})}) ==
        "pad: axis 0 of a tensor of shape (4) cannot get -3 elements before and -2 behind");
  CHECK(error(w, O::softmax, {s}, {absent()}) == "softmax: a tensor of shape () has no axis");
  CHECK(error(w, O::max_over, {w.tensor({0}, {})}) == "max-over: a tensor of shape (0) has no maximum");
}

TEST_CASE("axes that are not there") {
  World w;
  const Tensor a = w.tensor({2, 3}, std::vector<double>(6));
  using O = OperatorId;
  CHECK(error(w, O::sum, {a}, {list({2})}) == "sum: there is no axis 2 in a tensor of 2 axes");
  CHECK(error(w, O::sum, {a}, {list({0, -2})}) == "sum: axis -2 is given twice");
  CHECK(error(w, O::softmax, {a}, {integer(-3)}) == "softmax: there is no axis -3 in a tensor of 2 axes");
  CHECK(error(w, O::transpose, {a}, {integer(0), integer(INT64_MIN)})
            .starts_with("transpose: there is no axis -9223372036854775808"));
}

TEST_CASE("sizes that cannot be") {
  World w;
  const std::int64_t large = std::int64_t{1} << 40;
  using O = OperatorId;
  auto fill = [&](std::vector<std::int64_t> sizes) {
    return error(w, O::fill, {}, {list(std::move(sizes)), number(1), absent(), absent()});
  };
  CHECK(fill({2, -1}) == "fill: the size of an axis cannot be negative: -1");
  CHECK(fill({large, large}) == "fill: a tensor of shape (1099511627776 1099511627776) would have too many elements");
  CHECK(fill({std::int64_t{1} << 62}) == "fill: a tensor of shape (4611686018427387904) would have too many bytes");
  CHECK(fill({1, 1, 1, 1, 1, 1, 1, 1, 1}) == "fill: a tensor has at most 8 axes");
  CHECK(fill({0, large, large}) == "no error");
  const Tensor one = w.tensor({1}, {1});
  CHECK(error(w, O::expand, {one}, {list({large, large})}).ends_with("would have too many elements"));
  CHECK(error(w, O::pad, {one}, {list({INT64_MAX}), list({1})}).starts_with("pad: axis 0"));
  CHECK(error(w, O::pad, {one}, {list({INT64_MIN}), list({INT64_MIN})}).starts_with("pad: axis 0"));
  const Tensor wide = applied(w.rt, O::expand, {one}, with({list({std::int64_t{1} << 61})}));
  CHECK(error(w, O::exp, {wide}) == "exp: a tensor of shape (2305843009213693952) would have too many bytes");
  CHECK(error(w, O::add,
              {applied(w.rt, O::expand, {w.tensor({1, 1}, {1})}, with({list({large, 1})})),
               applied(w.rt, O::expand, {one}, with({list({large})}))})
            .ends_with("would have too many elements"));
}

TEST_CASE("numbers where tensors are needed, and random integers") {
  World w;
  CHECK(error(w, OperatorId::exp, {weak_number(1, true)}) == "exp: operand 1 is a number where a tensor is needed");
  CHECK(error(w, OperatorId::random_uniform, {}, {list({2}), integer(static_cast<std::int64_t>(DType::i32)), absent()}) ==
        "rand: random numbers need a floating type, not i32");
}
