// Storage, layouts and types of results: what the runtime promises beside the numbers.
#include "test/ops/testing.h"

#include "ops/convert.h"
#include "ops/cpu/device/device.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

using namespace cairn::ops;
using namespace cairn::ops::test;

namespace {

Tensor counted(World& w, const Shape& shape, DType type = DType::f32) {
  std::vector<double> numbers(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  return w.tensor(shape, numbers, type);
}

// Applies with all operands given up.
Tensor given_up(World& w, OperatorId op, std::vector<Tensor>& inputs, const Attributes& attributes = {}) {
  const bool consumed[] = {true, true, true, true};
  Tensor out;
  w.rt.apply(operator_of(op), inputs, std::span<const bool>(consumed, inputs.size()), attributes, std::span<Tensor>(&out, 1));
  return out;
}

} // namespace

TEST_CASE("rows of the registry stand at their identifiers") {
  for (std::size_t i = 0; i < kAllOperators; ++i) {
    const auto id = static_cast<OperatorId>(i);
    const Operator& op = operator_of(id);
    const std::string name(op.name);
    CAPTURE(name);
    CHECK(op.id == id);
    CHECK((op.infer != nullptr));
    CHECK((op.kernel != nullptr || op.view != nullptr || id == OperatorId::to_device));
    CHECK((op.keep == 0 || op.vjp != nullptr));
  }
  CHECK(all_operators().size() == kOperators);
}

TEST_CASE("every byte is charged once and given back") {
  World w;
  {
    const Tensor a = counted(w, {10, 10}), b = applied(w.rt, OperatorId::exp, {a});
    CHECK(w.ledger.held == 800);
    CHECK(w.cpu->live_bytes() == 800);
    const Tensor view = applied(w.rt, OperatorId::transpose, {a}, with({absent(), absent()}));
    CHECK(w.ledger.held == 800);
    CHECK(view.storage->count == 2);
  }
  CHECK(w.ledger.held == 0);
  CHECK(w.cpu->live_bytes() == 0);
  CHECK(w.cpu->peak_bytes() >= 800);
}

TEST_CASE("a refused allocation changes nothing") {
  World w;
  std::vector<Tensor> inputs = {counted(w, {100}), counted(w, {1})};
  w.ledger.limit = w.ledger.held + 399;
  const std::int64_t held = w.ledger.held;
  const Tensor shared = inputs[0];
  CHECK_THROWS_AS(given_up(w, OperatorId::add, inputs), std::length_error);
  CHECK(w.ledger.held == held);
  CHECK(w.cpu->live_bytes() == held);
  CHECK(w.rt.read_numbers(inputs[0]).size() == 100);
}

TEST_CASE("memory of an operand that nobody else has is used again") {
  World w;
  std::vector<Tensor> inputs = {counted(w, {4}), counted(w, {4})};
  const Storage* memory = inputs[0].storage.get();
  Tensor y = given_up(w, OperatorId::add, inputs);
  CHECK(y.storage.get() == memory);
  CHECK(y.storage->count == 1);
  CHECK(w.rt.read_numbers(y) == std::vector<double>{0, 2, 4, 6});

  inputs = {y, counted(w, {4})}; // y is also here: the other one serves
  memory = inputs[1].storage.get();
  CHECK(given_up(w, OperatorId::mul, inputs).storage.get() == memory);
  CHECK(w.rt.read_numbers(y) == std::vector<double>{0, 2, 4, 6});

  inputs = {counted(w, {1}), counted(w, {4}, DType::f64)}; // too small, other type of result
  CHECK(given_up(w, OperatorId::less, inputs).storage->count == 1);

  const Tensor part = applied(w.rt, OperatorId::narrow, {counted(w, {8})}, with({integer(0), integer(0), integer(4)}));
  inputs = {part, weak_number(1, true)}; // a part would keep the whole
  memory = part.storage.get();
  CHECK(given_up(w, OperatorId::add, inputs).storage.get() != memory);
}

TEST_CASE("holders name who made what lives") {
  World w;
  const int code = 0;
  w.cpu->maker = Device::Maker{&code, 7};
  const Tensor a = counted(w, {100}), b = applied(w.rt, OperatorId::neg, {a});
  w.cpu->maker = Device::Maker{&code, 9};
  std::vector<Tensor> inputs = {applied(w.rt, OperatorId::neg, {a})};
  w.cpu->maker = Device::Maker{&code, 11};
  const Tensor c = given_up(w, OperatorId::exp, inputs); // in the same memory, now of another instruction
  const auto holders = w.cpu->holders();
  REQUIRE(holders.size() == 2);
  CHECK(holders[0].pc == 7);
  CHECK(holders[0].bytes == 800);
  CHECK(holders[0].storages == 2);
  CHECK(holders[1].pc == 11);
  CHECK(holders[1].bytes == 400);
}

TEST_CASE("pointwise results keep the layout of their operands") {
  World w;
  const Attributes order = with({list({0, 3, 1, 2})});
  const Tensor a = applied(w.rt, OperatorId::permute, {counted(w, {2, 4, 5, 3})}, order); // channels lie last
  const Tensor b = applied(w.rt, OperatorId::permute, {counted(w, {2, 4, 5, 3})}, order);
  const Tensor y = applied(w.rt, OperatorId::add, {a, b});
  CHECK(y.strides == a.strides);
  CHECK(y.dense());
  CHECK(applied(w.rt, OperatorId::relu, {a}).strides == a.strides);
  CHECK(applied(w.rt, OperatorId::add, {a, weak_number(1, true)}).strides == a.strides);
  const Tensor of_channels = counted(w, {3, 1, 1}); // stretched, by the operator or before it
  CHECK(applied(w.rt, OperatorId::add, {a, of_channels}).strides == a.strides);
  CHECK(
      applied(w.rt, OperatorId::add, {applied(w.rt, OperatorId::expand, {of_channels}, with({list({2, 3, 4, 5})})), a}).strides ==
      a.strides);
  CHECK(applied(w.rt, OperatorId::add, {a, counted(w, {2, 3, 4, 5})}).contiguous());
  CHECK(applied(w.rt, OperatorId::add, {of_channels, counted(w, {4, 1})}).contiguous());
  CHECK(applied(w.rt, OperatorId::sum, {a}, with({list({0}), integer(1)})).contiguous());
}

TEST_CASE("operands that lie otherwise than the result are read in the order of either") {
  World w;
  for (const Shape& sizes : {Shape{2, 40, 48, 7}, Shape{1, 31, 29, 5}, Shape{1, 64, 64, 3}, Shape{3, 2, 211, 2}}) {
    const Tensor lines = counted(w, sizes); // [batch, height, width, channels]
    const Tensor turned = applied(w.rt, OperatorId::permute, {lines}, with({list({0, 3, 1, 2})}));
    const Tensor planes = applied(w.rt, OperatorId::contiguous, {turned});
    for (const auto& [a, b] : {std::pair{turned, planes}, std::pair{planes, turned}}) {
      std::vector<float> differences(static_cast<std::size_t>(sizes.elements()), 1.F);
      w.rt.read(applied(w.rt, OperatorId::sub, {a, b}), differences.data());
      CHECK(std::ranges::count(differences, 0.F) == sizes.elements());
    }
  }
}

TEST_CASE("views share memory, and copy only where strides do not allow one") {
  World w;
  const Tensor a = counted(w, {4, 6});
  auto shares = [&](OperatorId op, const Tensor& t, std::vector<Attribute> attributes) {
    return applied(w.rt, op, {t}, with(std::move(attributes))).storage.get() == t.storage.get();
  };
  CHECK(shares(OperatorId::view, a, {list({2, 2, 3, 2})}));
  CHECK(shares(OperatorId::narrow, a, {integer(1), integer(2), integer(3)}));
  CHECK(shares(OperatorId::expand, a, {list({3, 4, 6})}));
  const Tensor t = applied(w.rt, OperatorId::transpose, {a}, with({absent(), absent()}));
  CHECK(shares(OperatorId::view, t, {list({2, 3, 4})}));
  CHECK(!shares(OperatorId::view, t, {list({24})}));
  CHECK(shares(OperatorId::contiguous, a, {}));
  CHECK(!shares(OperatorId::contiguous, t, {}));
  CHECK(shares(OperatorId::sum_to, a, {list({4, 6})}));
  CHECK(shares(OperatorId::cast, a, {integer(static_cast<std::int64_t>(DType::f32))}));
}

TEST_CASE("sums are accumulated in place where nobody else looks") {
  World w;
  Tensor to = counted(w, {3});
  const Storage* memory = to.storage.get();
  w.rt.accumulate(to, counted(w, {3}));
  CHECK(to.storage.get() == memory);
  CHECK(w.rt.read_numbers(to) == std::vector<double>{0, 2, 4});
  const Tensor kept = to;
  w.rt.accumulate(to, counted(w, {3}));
  CHECK(to.storage.get() != memory);
  CHECK(w.rt.read_numbers(kept) == std::vector<double>{0, 2, 4});
  CHECK(w.rt.read_numbers(to) == std::vector<double>{0, 3, 6});
  Tensor stretched = applied(w.rt, OperatorId::expand, {counted(w, {1})}, with({list({3})}));
  w.rt.accumulate(stretched, counted(w, {3}));
  CHECK(w.rt.read_numbers(stretched) == std::vector<double>{0, 1, 2});
}

TEST_CASE("an accumulated sum has one layout, whoever else has its memory") {
  World w;
  auto across = [&] { return applied(w.rt, OperatorId::transpose, {counted(w, {2, 3})}); };
  for (bool held : {false, true})
    for (bool other_held : {false, true})
      for (bool alike : {false, true}) {
        Tensor to = across(), from = alike ? across() : counted(w, {3, 2});
        const Tensor first = held ? to : Tensor{}, second = other_held ? from : Tensor{};
        w.rt.accumulate(to, std::move(from));
        CHECK(to.strides == across().strides);
        CHECK(w.rt.read_numbers(to) == (alike ? std::vector<double>{0, 6, 2, 8, 4, 10} : std::vector<double>{0, 4, 3, 7, 6, 10}));
        if (held) CHECK(w.rt.read_numbers(first) == std::vector<double>{0, 3, 1, 4, 2, 5});
        if (other_held) CHECK(w.rt.read_numbers(second) == w.rt.read_numbers(alike ? across() : counted(w, {3, 2})));
      }
}

TEST_CASE("types of results") {
  using D = DType;
  CHECK(promoted(D::u8, D::i8) == D::i16);
  CHECK(promoted(D::u8, D::i16) == D::i16);
  CHECK(promoted(D::i32, D::f32) == D::f64);
  CHECK(promoted(D::f32, D::i16) == D::f32);
  CHECK(promoted(D::bf16, D::f32) == D::f32);
  CHECK(promoted(D::bf16, D::i8) == D::bf16);
  CHECK(promoted(D::bf16, D::i64) == D::f32);
  for (unsigned a = 0; a < kDTypes; ++a)
    for (unsigned b = 0; b < kDTypes; ++b)
      CHECK(promoted(static_cast<D>(a), static_cast<D>(b)) == promoted(static_cast<D>(b), static_cast<D>(a)));

  World w;
  auto type = [&](OperatorId op, std::vector<Tensor> inputs) { return applied(w.rt, op, std::move(inputs)).dtype; };
  const Tensor i32 = counted(w, {2}, D::i32), i8 = counted(w, {2}, D::i8), f32 = counted(w, {2}, D::f32),
               bf16 = counted(w, {2}, D::bf16);
  CHECK(type(OperatorId::add, {f32, weak_number(0.1, false)}) == D::f32);
  CHECK(type(OperatorId::add, {bf16, weak_number(0.1, false)}) == D::bf16);
  CHECK(type(OperatorId::add, {i32, weak_number(1, true)}) == D::i32);
  CHECK(type(OperatorId::add, {i32, weak_number(0.5, false)}) == D::f64);
  CHECK(type(OperatorId::div, {i32, i32}) == D::f64);
  CHECK(type(OperatorId::div, {i8, i8}) == D::f32);
  CHECK(type(OperatorId::exp, {i8}) == D::f32);
  CHECK(type(OperatorId::sum, {i8}) == D::i64);
  CHECK(type(OperatorId::mean, {i32}) == D::f64);
  CHECK(type(OperatorId::where, {i8, f32, weak_number(0, true)}) == D::f32);
  CHECK(type(OperatorId::where, {i8, weak_number(1, true), weak_number(0, true)}) == D::f32);
  CHECK(dtype_named("float") == D::f32);
  CHECK(dtype_named("bf16") == D::bf16);
  CHECK(!dtype_named(""));
}

TEST_CASE("integers wrap, and what does not fit into one is the nearest that does") {
  World w;
  const Tensor a = w.tensor({2}, {100, -100}, DType::i8);
  CHECK(w.rt.read_numbers(applied(w.rt, OperatorId::add, {a, a})) == std::vector<double>{-56, 56});
  const std::int64_t largest = INT64_MAX;
  const Tensor b = w.rt.from_host(DType::i64, {1}, *w.cpu, &largest);
  std::int64_t sum = 0;
  w.rt.read(applied(w.rt, OperatorId::add, {b, weak_number(1, true)}), &sum);
  CHECK(sum == INT64_MIN);
  const Tensor wide = w.tensor({4}, {1e30, -1e30, std::nan(""), 2.9});
  std::int64_t cast[4];
  w.rt.read(applied(w.rt, OperatorId::cast, {wide}, World::types(DType::i64)), cast);
  CHECK(cast[0] == INT64_MAX);
  CHECK(cast[1] == INT64_MIN);
  CHECK(cast[2] == 0);
  CHECK(cast[3] == 2);
}

TEST_CASE("bf16 is rounded to nearest, ties to even") {
  auto bits = [](float f) { return rounded(f).bits; };
  CHECK(bits(1.0f) == 0x3f80);
  CHECK(bits(1.0f + 0x1p-8f) == 0x3f80);
  CHECK(bits(1.0f + 0x1p-7f + 0x1p-8f) == 0x3f82);
  CHECK(bits(1.0f + 0x1p-8f + 0x1p-20f) == 0x3f81);
  CHECK(bits(-INFINITY) == 0xff80);
  CHECK(bits(3.4e38f) == 0x7f80);
  CHECK(std::isnan(widened(rounded(std::nanf("")))));
}

TEST_CASE("NaNs are not lost") {
  World w;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor a = w.tensor({4}, {1, nan, 2, 0}), b = w.tensor({4}, {nan, 1, 1, 0});
  for (const OperatorId op : {OperatorId::max, OperatorId::min}) {
    const auto y = w.rt.read_numbers(applied(w.rt, op, {a, b}));
    CHECK(std::isnan(y[0]));
    CHECK(std::isnan(y[1]));
  }
  CHECK(std::isnan(w.rt.read_numbers(applied(w.rt, OperatorId::relu, {a}))[1]));
  CHECK(std::isnan(w.rt.read_number(applied(w.rt, OperatorId::max_over, {a}))));
  CHECK(w.rt.read_numbers(applied(w.rt, OperatorId::equal, {a, a})) == std::vector<double>{1, 0, 1, 1});
  CHECK(std::isnan(w.rt.read_numbers(applied(w.rt, OperatorId::softmax, {a}))[0]));
}

TEST_CASE("derivatives at kinks are those of numbers") {
  World w;
  auto slope = [&](OperatorId op, std::vector<double> x) {
    const Operator& o = operator_of(op);
    const Tensor t = w.tensor({static_cast<std::int64_t>(x.size())}, x);
    const Tensor y = applied(w.rt, op, {t}),
                 one = w.tensor(y.shape, std::vector<double>(static_cast<std::size_t>(y.elements()), 1));
    const bool wanted = true;
    Tensor result;
    o.vjp(VjpCall{w.rt,
                  o,
                  std::span<const Tensor>(&t, 1),
                  std::span<const Tensor>(&y, 1),
                  std::span<const Tensor>(&one, 1),
                  {},
                  std::span<const bool>(&wanted, 1),
                  std::span<Tensor>(&result, 1)});
    return w.rt.read_numbers(result);
  };
  CHECK(slope(OperatorId::abs, {0, -0.0, 3, -3}) == std::vector<double>{0, 0, 1, -1});
  CHECK(slope(OperatorId::relu, {0, 1, -1}) == std::vector<double>{0, 1, 0});
  CHECK(slope(OperatorId::max_over, {1, 3, 3, 2}) == std::vector<double>{0, 1, 0, 0});
  auto slopes = [&](OperatorId op, double a, double b) {
    const Operator& o = operator_of(op);
    const Tensor in[] = {w.tensor({1}, {a}), w.tensor({1}, {b})}, y = applied(w.rt, op, {in[0], in[1]}), one = w.tensor({1}, {1});
    const bool wanted[] = {true, true};
    Tensor results[2];
    o.vjp(VjpCall{w.rt, o, in, std::span<const Tensor>(&y, 1), std::span<const Tensor>(&one, 1), {}, wanted, results});
    return std::vector<double>{w.rt.read_number(results[0]), w.rt.read_number(results[1])};
  };
  CHECK(slopes(OperatorId::max, 2, 2) == std::vector<double>{1, 0});
  CHECK(slopes(OperatorId::min, 2, 2) == std::vector<double>{1, 0});
  CHECK(slopes(OperatorId::expt, 0, 0) == std::vector<double>{0, 0});
  CHECK(slopes(OperatorId::expt, 0, 2) == std::vector<double>{0, 0});
}

TEST_CASE("denormal numbers are zeros inside kernels and stay what they are outside") {
  World w;
  const float tiny = 1e-40f;
  const Tensor t = w.rt.from_host(DType::f32, {1}, *w.cpu, &tiny);
  float y = 1;
  w.rt.read(applied(w.rt, OperatorId::mul, {t, weak_number(1, true)}), &y);
  CHECK(y == 0);
  volatile float half = 1e-38f;
  half = half * 0.5f;
  CHECK(half != 0);
}

TEST_CASE("results do not depend on the number of threads") {
  std::vector<std::vector<double>> seen;
  for (const unsigned threads : {1u, 2u, 5u}) {
    CountingLedger ledger;
    const auto cpu = make_cpu_device(ledger, threads);
    Runtime rt(*cpu);
    Attributes drawn = with({list({301, 401}), absent(), absent()});
    drawn.key = 42;
    const Tensor a = applied(rt, OperatorId::random_normal, {}, drawn);
    const Tensor b =
        applied(rt, OperatorId::transpose, {applied(rt, OperatorId::random_uniform, {}, drawn)}, with({absent(), absent()}));
    const auto drawn_tensor = [&](std::vector<std::int64_t> sizes) {
      Attributes of = with({list(std::move(sizes)), absent(), absent()});
      of.key = 7;
      return applied(rt, OperatorId::random_normal, {}, of);
    };
    std::vector<double> all;
    auto add = [&](const Tensor& t) {
      for (const double d : rt.read_numbers(t)) all.push_back(d);
    };
    add(applied(rt, OperatorId::sum, {a}));
    add(applied(rt, OperatorId::mean, {b}, with({list({0}), absent()})));
    add(applied(rt, OperatorId::mean, {a}, with({list({0}), absent()})));
    add(applied(rt, OperatorId::sum, {applied(rt, OperatorId::exp, {a})}, with({list({1}), absent()})));
    add(applied(rt, OperatorId::softmax, {b}, with({integer(0)})));
    add(applied(rt, OperatorId::matmul, {a, b}));
    const auto ones = [&](std::int64_t n) {
      return applied(rt, OperatorId::fill, {}, with({list({n}), number(1), absent(), absent()}));
    };
    const Tensor images = applied(rt, OperatorId::view, {a}, with({list({7, 43, 401})}));
    for (const Tensor& t : all_applied(rt, OperatorId::batch_normalization_vjp, {images, images, ones(43)}, with({number(1e-5)})))
      add(t);
    for (const Tensor& t :
         all_applied(rt, OperatorId::batch_normalized_vjp, {images, images, ones(43), ones(43)}, with({number(1e-5)})))
      add(t);
    for (const Tensor& t :
         all_applied(rt, OperatorId::layer_normalization_vjp, {a, a, ones(401)}, with({integer(1), number(1e-5)})))
      add(t);
    const Tensor pictures = drawn_tensor({5, 16, 28, 28}), windows = drawn_tensor({32, 16, 3, 3});
    const Attributes padded = with({list({1}), list({1}), list({1}), integer(1)});
    const Tensor seen_through = applied(rt, OperatorId::convolve, {pictures, windows}, padded);
    add(seen_through);
    const auto sized = [&](const Shape& shape) {
      return with({list({1}), list({1}), list({1}), integer(1), list({shape[2], shape[3]})});
    };
    add(applied(rt, OperatorId::convolve_vjp_input, {seen_through, windows}, sized(pictures.shape)));
    add(applied(rt, OperatorId::convolve_vjp_weights, {seen_through, pictures}, sized(windows.shape)));
    seen.push_back(std::move(all));
  }
  CHECK(seen[0] == seen[1]);
  CHECK(seen[0] == seen[2]);
}

TEST_CASE("devices of several threads work beside each other") {
  std::vector<std::thread> threads;
  std::vector<double> sums(4);
  for (std::size_t i = 0; i < sums.size(); ++i)
    threads.emplace_back([&sums, i] {
      World w;
      Tensor x = counted(w, {100'000}, DType::f64);
      for (int k = 0; k < 20; ++k) x = applied(w.rt, OperatorId::add, {x, weak_number(1, true)});
      sums[i] = w.rt.read_number(applied(w.rt, OperatorId::sum, {x}));
    });
  for (std::thread& t : threads) t.join();
  for (const double s : sums) CHECK(s == 100'000.0 * 99'999 / 2 + 20 * 100'000.0);
}

TEST_CASE("random numbers are spread as they should be, and depend on the key alone") {
  World w;
  auto draw = [&](OperatorId op, std::uint64_t key, DType type) {
    Attributes a = with({list({100'001}), integer(static_cast<std::int64_t>(type)), absent()});
    a.key = key;
    return w.rt.read_numbers(applied(w.rt, op, {}, a));
  };
  for (const DType type : {DType::f32, DType::f64, DType::bf16}) {
    const auto u = draw(OperatorId::random_uniform, 1, type), n = draw(OperatorId::random_normal, 1, type);
    double mean = 0, square = 0, normal_mean = 0, normal_square = 0, low = 1, high = 0;
    for (std::size_t i = 0; i < u.size(); ++i) {
      mean += u[i], square += u[i] * u[i], normal_mean += n[i], normal_square += n[i] * n[i];
      low = std::min(low, u[i]), high = std::max(high, u[i]);
    }
    const auto count = static_cast<double>(u.size());
    CHECK(low >= 0);
    CHECK(high < 1);
    CHECK(mean / count == doctest::Approx(0.5).epsilon(0.01));
    CHECK(square / count == doctest::Approx(1.0 / 3).epsilon(0.01));
    CHECK(std::fabs(normal_mean / count) < 0.015);
    CHECK(normal_square / count == doctest::Approx(1).epsilon(0.02));
  }
  CHECK(draw(OperatorId::random_uniform, 5, DType::f32) == draw(OperatorId::random_uniform, 5, DType::f32));
  CHECK(draw(OperatorId::random_uniform, 5, DType::f32) != draw(OperatorId::random_uniform, 6, DType::f32));
}

TEST_CASE("tensors go to another device and back") {
  World w;
  CountingLedger ledger;
  const auto other = make_cpu_device(ledger);
  const Tensor a = counted(w, {2, 3}), t = applied(w.rt, OperatorId::transpose, {a}, with({absent(), absent()}));
  const Tensor there = w.rt.to_device(t, *other);
  CHECK(there.device() == other.get());
  CHECK(there.strides == t.strides);
  CHECK(ledger.held == 24);
  CHECK(w.rt.read_numbers(w.rt.to_device(there, *w.cpu)) == w.rt.read_numbers(t));
  CHECK(w.rt.to_device(a, *w.cpu).storage.get() == a.storage.get());
  CHECK_THROWS_WITH_AS(applied(w.rt, OperatorId::add, {a, w.rt.to_device(a, *other)}), "+: one operand is on cpu, another on cpu",
                       OperatorError);
}
