// What reverse rules can do with in place of a tensor: the same bits as with the tensor itself, whatever elements there are and
// however they lie.
#include "ops/operators/registry.h"
#include "test/ops/testing.h"

#include <limits>
#include <random>

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

// Of which many are zeros, equal, NaN, infinite or denormal.
Tensor some_elements(World& w, std::mt19937& random, DType type, const Shape& shape) {
  std::vector<double> numbers(static_cast<std::size_t>(shape.elements()));
  const double rare[] = {0, -0.0, 1, -1, NAN, INFINITY, -INFINITY, 1e-40, -1e-40, std::numeric_limits<double>::denorm_min()};
  for (double& d : numbers) d = random() % 3 == 0 ? rare[random() % std::size(rare)] : std::normal_distribution<double>()(random);
  return w.rt.cast(w.tensor(shape, numbers), type);
}

// With the elements in another order of axes in memory.
Tensor channels_closest(World& w, const Tensor& t) {
  Tensor turned = applied(w.rt, O::permute, {t}, with({list({0, 2, 3, 1})}));
  return applied(w.rt, O::permute, {applied(w.rt, O::contiguous, {turned})}, with({list({0, 3, 1, 2})}));
}

// The cotangent of the first operand, with the tensor that the rule keeps and with the smaller form of it.
std::pair<Tensor, Tensor> both_cotangents(World& w, O id, const Tensor& x, const Tensor& cotangent,
                                          const Attributes& attributes) {
  const Operator& op = operator_of(id);
  REQUIRE(op.smaller != nullptr);
  const Tensor y = applied(w.rt, id, {x}, attributes);
  const Tensor kept = keeps_smaller_output(op) ? y : x;
  REQUIRE(op.smaller->fits({op, {&x, 1}, attributes, nullptr}, kept));
  const Tensor smaller = w.rt.apply(op.smaller->made_by, {kept}, call_for_smaller(op, kept, attributes, nullptr).attributes);
  if (id != O::max_pool) CHECK(smaller.bytes() == (kept.elements() + 7) / 8);
  const auto swept = [&](const Tensor* instead) {
    const Tensor of_x = keeps_smaller_output(op) || instead != nullptr ? description(x) : x;
    const Tensor of_y = keeps_smaller_output(op) && instead == nullptr ? y : description(y);
    Tensor part, given = cotangent;
    const bool wanted[] = {true};
    VjpCall call{w.rt, op, {&of_x, 1}, {&of_y, 1}, {&given, 1}, attributes, wanted, {&part, 1}};
    call.smaller = instead;
    op.vjp(call);
    return part;
  };
  return {swept(nullptr), swept(&smaller)};
}

void check_equal(World& w, O id, const Tensor& x, const Tensor& cotangent, const Attributes& attributes) {
  const auto [whole, smaller] = both_cotangents(w, id, x, cotangent, attributes);
  CHECK(whole.dtype == smaller.dtype);
  CHECK(whole.shape == smaller.shape);
  std::vector<char> one(static_cast<std::size_t>(whole.bytes())), other(one.size());
  w.rt.read(whole, one.data());
  w.rt.read(smaller, other.data());
  CHECK(one == other);
}

} // namespace

TEST_CASE("bits say of a rectified tensor what its reverse rule asks for") {
  World w;
  std::mt19937 random(3);
  for (const DType type : {DType::f32, DType::f64, DType::bf16})
    for (const Shape& shape :
         {Shape{1, 1, 1, 1}, Shape{2, 3, 1, 5}, Shape{1, 7, 9, 11}, Shape{3, 16, 13, 17}, Shape{0, 2, 3, 4}}) {
      const Tensor x = some_elements(w, random, type, shape), c = some_elements(w, random, type, shape);
      for (const Tensor& of : {x, channels_closest(w, x)})
        for (const Tensor& cotangent : {c, channels_closest(w, c)}) {
          check_equal(w, O::relu, of, cotangent, {});
          check_equal(w, O::leaky_relu, of, cotangent, {});
          check_equal(w, O::leaky_relu, of, cotangent, with({number(-0.3)}));
        }
    }
}

TEST_CASE("a cotangent that is given up becomes the result of the rule by bits") {
  World w;
  std::mt19937 random(4);
  const Operator& op = operator_of(O::relu);
  const Tensor y = applied(w.rt, O::relu, {some_elements(w, random, DType::f32, {64, 33})});
  const Tensor bits = w.rt.apply(O::positive_bits, {y});
  const Tensor x = description(y);
  Tensor part, given = some_elements(w, random, DType::f32, {64, 33});
  const Storage* const memory = given.storage.get();
  const bool wanted[] = {true};
  const Attributes none;
  VjpCall taking{w.rt, op, {&x, 1}, {&x, 1}, {&given, 1}, none, wanted, {&part, 1}, {&given, 1}};
  taking.smaller = &bits;
  op.vjp(taking);
  CHECK(part.storage.get() == memory);
}

TEST_CASE("places of the largest lead the cotangent of max-pool where the operand does") {
  World w;
  std::mt19937 random(5);
  for (const DType type : {DType::f32, DType::f64, DType::bf16})
    for (const Shape& shape : {Shape{1, 1, 5, 4}, Shape{2, 3, 8, 7}, Shape{1, 130, 9, 9}, Shape{2, 40, 6, 11}}) {
      const Tensor x = some_elements(w, random, type, shape);
      for (const Attributes& windows : {with({list({2}), absent(), absent()}), with({list({3}), list({2}), list({1})}),
                                        with({list({3, 2}), list({1}), absent()})}) {
        const Shape of_result = applied(w.rt, O::max_pool, {x}, windows).shape;
        const Tensor c = some_elements(w, random, type, of_result);
        check_equal(w, O::max_pool, x, c, windows);
        check_equal(w, O::max_pool, channels_closest(w, x), channels_closest(w, c), windows);
      }
    }
}

TEST_CASE("windows of more places than a byte tells apart have no smaller form") {
  World w;
  const Tensor x = w.tensor({1, 1, 20, 20}, std::vector<double>(400));
  const Operator& op = operator_of(O::max_pool);
  CHECK(op.smaller->fits({op, {&x, 1}, with({list({16})}), nullptr}, x));
  CHECK_FALSE(op.smaller->fits({op, {&x, 1}, with({list({16, 17})}), nullptr}, x));
}
