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
  REQUIRE(op.smaller->fits({op, {&x, 1}, attributes, nullptr}, {&kept, 1}));
  const Tensor smaller =
      w.rt.apply(op.smaller->made_by, {kept}, call_for_smaller(op, {&kept, 1}, attributes, nullptr).attributes);
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

void check_same(World& w, const Tensor& whole, const Tensor& smaller) {
  CHECK(whole.dtype == smaller.dtype);
  CHECK(whole.shape == smaller.shape);
  CHECK(whole.contiguous() == smaller.contiguous()); // who sums over elements does it in their order
  std::vector<char> one(static_cast<std::size_t>(whole.bytes())), other(one.size());
  w.rt.read(whole, one.data());
  w.rt.read(smaller, other.data());
  CHECK(one == other);
}

void check_equal(World& w, O id, const Tensor& x, const Tensor& cotangent, const Attributes& attributes) {
  const auto [whole, smaller] = both_cotangents(w, id, x, cotangent, attributes);
  check_same(w, whole, smaller);
}

// The cotangents of both operands of max or min, or of one, with the operands and with bits.
void check_choice(World& w, O id, const Tensor& a, const Tensor& b, const Tensor& cotangent) {
  const Operator& op = operator_of(id);
  const Attributes none;
  const std::array<Tensor, 2> whole = {a, b}, described = {description(a), description(b)};
  REQUIRE(op.smaller->fits({op, whole, none, nullptr}, whole));
  const Tensor bits = w.rt.apply(op.smaller->made_by, {a, b}), y = description(w.rt.apply(id, {a, b}));
  CHECK(bits.bytes() == (y.elements() + 7) / 8);
  for (const std::array<bool, 2> wanted : {std::array{true, true}, std::array{true, false}, std::array{false, true}}) {
    const auto swept = [&](const Tensor* instead) {
      std::array<Tensor, 2> parts;
      Tensor given = cotangent;
      VjpCall call{w.rt, op, instead != nullptr ? described : whole, {&y, 1}, {&given, 1}, none, wanted, parts};
      call.smaller = instead;
      op.vjp(call);
      return parts;
    };
    const std::array<Tensor, 2> by_operands = swept(nullptr), by_bits = swept(&bits);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(by_operands[i].empty() == by_bits[i].empty());
      if (!by_operands[i].empty()) check_same(w, by_operands[i], by_bits[i]);
    }
  }
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

TEST_CASE("bits say of max and min which operand was taken") {
  World w;
  std::mt19937 random(6);
  for (const DType type : {DType::f32, DType::f64, DType::bf16})
    for (const Shape& shape : {Shape{1, 1, 1, 1}, Shape{2, 3, 1, 5}, Shape{3, 16, 13, 17}, Shape{0, 2, 3, 4}}) {
      const Tensor x = some_elements(w, random, type, shape), y = some_elements(w, random, type, shape);
      const Tensor of_channels = some_elements(w, random, type, {shape[1], 1, 1});
      const Tensor of_rows = some_elements(w, random, type == DType::f64 ? DType::f32 : DType::f64, {shape[2], shape[3]});
      for (const O id : {O::max, O::min})
        for (const Tensor& a : {x, channels_closest(w, x)}) {
          for (const Tensor& b : {x, y, channels_closest(w, y), of_channels, weak_number(-0.25, false), weak_number(0, true),
                                  weak_number(NAN, false), weak_number(0.1, false)}) {
            const Tensor c = some_elements(w, random, type, shape);
            for (const Tensor& cotangent : {c, channels_closest(w, c)}) {
              check_choice(w, id, a, b, cotangent);
              check_choice(w, id, b, a, cotangent);
            }
          }
          const Tensor wide = w.rt.apply(id, {a, of_rows}); // computed in another type than the elements of one of them
          check_choice(w, id, a, of_rows, some_elements(w, random, wide.dtype, shape));
        }
    }
}

TEST_CASE("a choice between integers has no derivative, and no bits") {
  World w;
  const Operator& op = operator_of(O::max);
  const std::array<Tensor, 2> whole = {w.rt.cast(w.tensor({3}, {1, 2, 3}), DType::i64), weak_number(0.5, false)};
  const Attributes none;
  CHECK_FALSE(op.smaller->fits({op, whole, none, nullptr}, whole));
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
  CHECK(op.smaller->fits({op, {&x, 1}, with({list({16})}), nullptr}, {&x, 1}));
  CHECK_FALSE(op.smaller->fits({op, {&x, 1}, with({list({16, 17})}), nullptr}, {&x, 1}));
}
