// From floating types to integers: towards 0, what does not fit is the nearest that does, a NaN is 0. The same in vectors, behind
// them, in strided loops, and for numbers of the program.
#include "test/ops/testing.h"

#include "ops/convert.h"

#include <cmath>
#include <limits>

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;

namespace {

std::int64_t least(DType type) {
  switch (type) {
  case DType::u8:
    return 0;
  case DType::i8:
    return INT8_MIN;
  case DType::i16:
    return INT16_MIN;
  case DType::i32:
    return INT32_MIN;
  default:
    return INT64_MIN;
  }
}
std::int64_t most(DType type) {
  switch (type) {
  case DType::u8:
    return UINT8_MAX;
  case DType::i8:
    return INT8_MAX;
  case DType::i16:
    return INT16_MAX;
  case DType::i32:
    return INT32_MAX;
  default:
    return INT64_MAX;
  }
}

std::int64_t expected(double d, DType type) {
  if (std::isnan(d)) return 0;
  const long double whole = std::trunc(static_cast<long double>(d));
  if (whole <= static_cast<long double>(least(type))) return least(type);
  if (whole >= static_cast<long double>(most(type))) return most(type);
  return static_cast<std::int64_t>(whole);
}

std::vector<std::int64_t> integers(World& w, const Tensor& t) {
  const Tensor wide = t.dtype == DType::i64 ? t : w.rt.apply(O::cast, {t}, World::types(DType::i64));
  std::vector<std::int64_t> out(static_cast<std::size_t>(wide.elements()));
  w.rt.read(wide, out.data());
  return out;
}

const DType kIntegers[] = {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64};

std::vector<double> numbers_about_limits() {
  std::vector<double> out = {0.0,  -0.0,  0.5,       -0.5,       1.5,          -1.5,   300,    -300,
                             1e30, -1e30, kInfinity, -kInfinity, std::nan(""), 9.2e18, -9.2e18};
  for (const DType type : kIntegers)
    for (const std::int64_t limit : {least(type), most(type)})
      for (const double apart : {-1.0, -0.5, 0.0, 0.5, 1.0}) out.push_back(static_cast<double>(limit) + apart);
  return out;
}

} // namespace

TEST_CASE("floating numbers become the nearest integers that fit, NaNs 0, wherever they stand") {
  World w;
  const std::vector<double> some = numbers_about_limits();
  for (const DType from : {DType::f64, DType::f32, DType::bf16})
    for (const DType to : kIntegers) {
      CAPTURE(name_of(from));
      CAPTURE(name_of(to));
      for (const std::size_t length : {std::size_t{1}, std::size_t{7}, some.size(), 16 * some.size() + 5}) {
        std::vector<double> given;
        for (std::size_t i = 0; i < length; ++i) given.push_back(some[i % some.size()]);
        const auto n = static_cast<std::int64_t>(length);
        const Tensor x = w.tensor({n}, given, from);
        const std::vector<double> rounded = w.rt.read_numbers(x);
        const std::vector<std::int64_t> got = integers(w, w.rt.apply(O::cast, {x}, World::types(to)));
        // Every second one.
        const Tensor two = w.rt.apply(O::stack, {x, x}, with({integer(1)}));
        const Tensor strided = w.rt.apply(O::narrow, {two}, with({integer(1), integer(0), integer(1)}));
        const std::vector<std::int64_t> apart = integers(w, w.rt.apply(O::cast, {strided}, World::types(to)));
        for (std::size_t i = 0; i < length; ++i) {
          CAPTURE(rounded[i]);
          CHECK(got[i] == expected(rounded[i], to));
          CHECK(apart[i] == got[i]);
        }
      }
    }
}

TEST_CASE("numbers of the program become integers as elements do") {
  World w;
  for (const DType to : kIntegers)
    for (const double d : numbers_about_limits()) {
      CAPTURE(name_of(to));
      CAPTURE(d);
      const Tensor made = w.rt.apply(O::fill, {}, with({list({3}), number(d), Attribute::of_type(to)}));
      CHECK(integers(w, made)[0] == expected(d, to));
      const Tensor edge = w.rt.apply(O::pad, {made}, with({list({1}), list({0}), number(d)}));
      CHECK(integers(w, edge)[0] == expected(d, to));
    }
}

TEST_CASE("a condition takes denormals for zeros, in every type") {
  World w;
  for (const auto& [type, denormal] : {std::pair{DType::f64, 1e-310}, {DType::f32, 1e-40}}) {
    const Tensor c = w.rt.from_host(DType::f64, {1}, *w.cpu, &denormal);
    const float narrow = static_cast<float>(denormal);
    const Tensor t = type == DType::f64 ? c : w.rt.from_host(DType::f32, {1}, *w.cpu, &narrow);
    CHECK(w.rt.read_numbers(w.rt.apply(O::where, {t, weak_number(1, true), weak_number(2, true)}))[0] == 2);
  }
  const Bf16 bits{0x0001};
  const Tensor b = w.rt.from_host(DType::bf16, {1}, *w.cpu, &bits);
  CHECK(w.rt.read_numbers(w.rt.apply(O::where, {b, weak_number(1, true), weak_number(2, true)}))[0] == 2);
}
