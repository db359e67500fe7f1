// Operators of networks beyond their values: layouts, empty batches, results beside the first, wrong uses.
#include "ops/operators/registry.h"
#include "test/ops/testing.h"

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

Tensor zeros(World& w, const Shape& shape) {
  return w.tensor(shape, std::vector<double>(static_cast<std::size_t>(shape.elements())));
}

} // namespace

TEST_CASE("results lie with channels closest") {
  World w;
  const Tensor x = zeros(w, {2, 3, 4, 5});
  for (const Tensor& y :
       {applied(w.rt, O::convolve, {x, zeros(w, {6, 3, 1, 1})}), applied(w.rt, O::max_pool, {x}, with({list({1})})),
        applied(w.rt, O::interpolate_linear, {x}, with({list({7, 2}), absent()})),
        applied(w.rt, O::batch_normalization_training, {x, zeros(w, {3}), zeros(w, {3})})}) {
    CHECK(y.strides[1] == 1);
    CHECK(y.strides[3] == y.shape[1]);
    CHECK(y.dense());
    CHECK(applied(w.rt, O::relu, {y}).strides == y.strides);
  }
}

TEST_CASE("batches without members") {
  World w;
  const Tensor x = zeros(w, {0, 3, 4, 4}), v = zeros(w, {3});
  CHECK(applied(w.rt, O::convolve, {x, zeros(w, {2, 3, 3, 3})}).shape == Shape{0, 2, 2, 2});
  CHECK(applied(w.rt, O::transpose_convolve, {x, zeros(w, {3, 2, 3, 3})}).shape == Shape{0, 2, 6, 6});
  CHECK(applied(w.rt, O::max_pool, {x}, with({list({2})})).shape == Shape{0, 3, 2, 2});
  CHECK(applied(w.rt, O::adaptive_average_pool, {x}, with({list({2})})).shape == Shape{0, 3, 2, 2});
  CHECK(applied(w.rt, O::interpolate_nearest, {x}, with({list({9})})).shape == Shape{0, 3, 9, 9});
  CHECK(applied(w.rt, O::interpolate_linear, {zeros(w, {2, 0, 3})}, with({list({9}), absent()})).shape == Shape{2, 0, 9});
  CHECK(applied(w.rt, O::batch_normalization_test, {x, v, v, v, v}).shape == x.shape);
  CHECK(applied(w.rt, O::group_normalization, {x, v, v}, with({integer(3), absent()})).shape == x.shape);
  CHECK(applied(w.rt, O::layer_normalization, {x, zeros(w, {4}), zeros(w, {4})}).shape == x.shape);
  const Attributes of_windows = with({absent(), absent(), absent(), absent(), list({3})});
  const Tensor part = applied(w.rt, O::convolve_vjp_weights, {zeros(w, {0, 2, 2, 2}), x}, of_windows);
  CHECK(w.rt.read_numbers(part) == std::vector<double>(2 * 3 * 9, 0.0));
}

TEST_CASE("normalisation of a batch gives its mean and variance, and derivatives pass through them") {
  World w;
  const Tensor x = w.tensor({2, 2, 2}, {1, 3, 0, 0, 5, 7, 2, 2}), v = w.tensor({2}, {1, 1});
  const auto out = all_applied(w.rt, O::batch_normalization_training, {x, v, v});
  CHECK(w.rt.read_numbers(out[1]) == std::vector<double>{4, 1});
  CHECK(w.rt.read_numbers(out[2]) == std::vector<double>{5, 1});
  const std::vector<Tensor> inputs = {x, v, v};
  const std::vector<Tensor> cotangents = {Tensor(), w.tensor({2}, {4, 0}), w.tensor({2}, {0, 2})};
  const bool wanted[] = {true, true, true};
  std::vector<Tensor> parts(3);
  const Attributes none;
  operator_of(O::batch_normalization_training)
      .vjp(VjpCall{w.rt, operator_of(O::batch_normalization_training), inputs, out, cotangents, none, wanted, parts});
  CHECK(w.rt.read_numbers(parts[0]) == std::vector<double>{1, 1, -1, -1, 1, 1, 1, 1});
  CHECK(parts[1].empty());
}

TEST_CASE("the derivative of max-pool goes to the first of equals, and to a NaN") {
  World w;
  const Tensor x = w.tensor({1, 1, 6}, {2, 2, 1, 3, NAN, 4});
  const Attributes windows = with({list({3}), absent(), absent()});
  CHECK(std::isnan(w.rt.read_numbers(applied(w.rt, O::max_pool, {x}, windows))[1]));
  const Tensor part = applied(w.rt, O::max_pool_vjp, {w.tensor({1, 1, 2}, {5, 7}), x}, windows);
  CHECK(w.rt.read_numbers(part) == std::vector<double>{5, 0, 0, 0, 7, 0});
}

TEST_CASE("networks: shapes that do not go together") {
  World w;
  const Tensor x = zeros(w, {2, 3, 4, 4}), m = zeros(w, {2, 3}), v = zeros(w, {4});
  CHECK(error(w, O::convolve, {m, m}) == "convolve: a tensor of shape (2 3) is not [batch, channels, and 1 to 3 more axes]");
  CHECK(error(w, O::convolve, {x, zeros(w, {2, 2, 3, 3})}) ==
        "convolve: an input of shape (2 3 4 4) and weights of shape (2 2 3 3) do not go together");
  CHECK(error(w, O::convolve, {x, zeros(w, {2, 3, 3, 3})}, {absent(), absent(), absent(), integer(2)}) ==
        "convolve: an input of shape (2 3 4 4) and weights of shape (2 3 3 3) do not go together in 2 groups");
  CHECK(error(w, O::convolve, {x, zeros(w, {2, 3, 5, 3})}) ==
        "convolve: windows of weights of shape (2 3 5 3) do not fit into an input of shape (2 3 4 4)");
  CHECK(error(w, O::convolve, {x, zeros(w, {2, 3, 3, 3})}, {list({1, 2, 3})}) ==
        "convolve: strides (1 2 3) is not one number, or one for each of 2 axes");
  CHECK(error(w, O::convolve, {x, zeros(w, {2, 3, 3, 3})}, {list({0})}) == "convolve: strides (0) must be from 1 to 2147483647");
  CHECK(error(w, O::convolve_add_tied, {x, zeros(w, {2, 3, 3, 3}), v}) ==
        "convolve-add-tied: 2 channels of the result do not have a bias each in a tensor of shape (4)");
  CHECK(error(w, O::transpose_convolve, {x, zeros(w, {3, 2, 1, 1})}, {absent(), list({2})})
            .find("do not give a result of positive size") != std::string::npos);
  CHECK(error(w, O::interpolate_nearest, {m}, {list({5})}) ==
        "interpolate-nearest: a tensor of shape (2 3) is not [batch, channels, and 1 to 3 more axes]");
  CHECK(error(w, O::interpolate_linear, {x}, {list({5, 0}), absent()}) ==
        "interpolate-linear: sizes (5 0) must be from 1 to 2147483647");
  CHECK(error(w, O::interpolate_nearest, {zeros(w, {2, 3, 0})}, {list({5})}) ==
        "interpolate-nearest: a tensor of shape (2 3 0) has nothing to take elements from");
  CHECK(error(w, O::max_pool, {x}, {list({5})}) == "max-pool: windows of size 5 do not fit into a tensor of shape (2 3 4 4)");
  CHECK(error(w, O::max_pool, {x}, {list({2}), absent(), list({2})}) ==
        "max-pool: padding of 2 is not less than windows of size 2");
  CHECK(error(w, O::layer_normalization, {x, v, zeros(w, {3})}) ==
        "layer-normalization: a tensor of shape (2 3 4 4) does not go together with (4) and (3)");
  CHECK(error(w, O::batch_normalization_training, {zeros(w, {0, 4, 2}), v, v}) ==
        "batch-normalization-training: a tensor of shape (0 4 2) has no mean");
  CHECK(error(w, O::group_normalization, {zeros(w, {2, 4, 2}), v, v}, {integer(3), absent()}) ==
        "group-normalization: a tensor of shape (2 4 2) has no 3 groups of channels");
}

TEST_CASE("nearest interpolation moves elements of every type as they are") {
  World w;
  for (const DType type : {DType::u8, DType::i64, DType::bf16, DType::f32}) {
    const Tensor x = w.tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6}, type);
    const Tensor y = applied(w.rt, O::interpolate_nearest, {x}, with({list({5})}));
    CHECK(y.dtype == type);
    CHECK(w.rt.read_numbers(y) == std::vector<double>{1, 1, 2, 2, 3, 4, 4, 5, 5, 6});
  }
  const Tensor x = w.tensor({1, 1, 2}, {-0.0, NAN});
  const std::vector<double> y = w.rt.read_numbers(applied(w.rt, O::interpolate_nearest, {x}, with({list({4})})));
  CHECK(std::signbit(y[1]));
  CHECK(std::isnan(y[2]));
  CHECK(applied(w.rt, O::interpolate_linear, {w.tensor({1, 1, 2}, {1, 2}, DType::i32)}, with({list({4}), absent()})).dtype ==
        DType::f64);
}

// In float the library does what is large enough, if it is there; in double our own loops do everything.
TEST_CASE("large convolutions in float agree with those in double") {
  World w;
  std::mt19937_64 random(3);
  const auto random_tensor = [&](const Shape& shape) {
    return applied(w.rt, O::cast, {w.tensor(shape, numbers_between(random, shape.elements(), -1, 1))}, World::types(DType::f32));
  };
  const auto check = [&](O op, const std::vector<Tensor>& operands, const Attributes& attributes) {
    CAPTURE(operator_of(op).name);
    std::vector<Tensor> wide;
    for (const Tensor& t : operands) wide.push_back(applied(w.rt, O::cast, {t}, World::types(DType::f64)));
    const std::vector<double> a = w.rt.read_numbers(applied(w.rt, op, operands, attributes)),
                              b = w.rt.read_numbers(applied(w.rt, op, wide, attributes));
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      largest = std::max(largest, std::fabs(b[i]));
      error = std::max(error, std::fabs(a[i] - b[i]));
    }
    CHECK(error <= 1e-5 * largest);
  };
  struct Case {
    Shape x, weights;
    std::int64_t stride, padding, dilation, groups;
  };
  const std::vector<Case> cases = {
      {{4, 64, 29, 28}, {64, 64, 3, 3}, 1, 1, 1, 1}, {{4, 64, 29, 28}, {64, 64, 3, 3}, 2, 1, 1, 1},
      {{4, 64, 29, 28}, {64, 32, 3, 3}, 1, 1, 1, 2}, {{4, 64, 29, 28}, {64, 32, 3, 3}, 2, 1, 1, 2},
      {{4, 64, 29, 28}, {32, 64, 3, 2}, 1, 1, 2, 1}, // windows with holes, turned
      {{3, 64, 15, 14}, {48, 64, 3, 3}, 1, 3, 1, 1}, // padded by more than windows reach
      {{4, 3, 57, 56}, {64, 3, 7, 7}, 2, 3, 1, 1},   // too few channels for our own gradient of the weights
      {{3, 20, 29, 28}, {36, 20, 3, 3}, 1, 1, 1, 1}, // channels that fill no block
      {{3, 64, 900}, {32, 64, 5}, 1, 2, 1, 1},       {{2, 32, 9, 10, 11}, {48, 32, 3, 3, 3}, 1, 1, 1, 1},
  };
  for (const Case& c : cases) {
    CAPTURE(c.x.text());
    CAPTURE(c.weights.text());
    const int axes = c.x.rank() - 2;
    Shape y{c.x[0], c.weights[0]};
    std::vector<std::int64_t> input_sizes, kernel;
    for (int i = 2; i < axes + 2; ++i) {
      y.push_back((c.x[i] + 2 * c.padding - c.dilation * (c.weights[i] - 1) - 1) / c.stride + 1);
      input_sizes.push_back(c.x[i]);
      kernel.push_back(c.weights[i]);
    }
    const Tensor input = random_tensor(c.x), weights = random_tensor(c.weights), cotangent = random_tensor(y),
                 bias = random_tensor({c.weights[0]});
    const Attributes windows = with({list({c.stride}), list({c.padding}), list({c.dilation}), integer(c.groups)});
    const auto and_sizes = [&](const std::vector<std::int64_t>& sizes) {
      Attributes all = windows;
      all.values.push_back(list(sizes));
      return all;
    };
    check(O::convolve, {input, weights}, windows);
    check(O::convolve_add_tied, {input, weights, bias}, windows);
    check(O::convolve_vjp_input, {cotangent, weights}, and_sizes(input_sizes));
    check(O::convolve_vjp_weights, {cotangent, input}, and_sizes(kernel));
  }
}
