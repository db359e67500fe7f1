// Large products and convolutions are cut into calls of a library: each can be stopped soon, what calls need beside operands is
// asked for, and a cut changes no bit.
#include "ops/cpu/matrices/math_library.h"
#include "ops/cpu/matrices/matmul.h"
#include "ops/cpu/spatial/convolution.h"
#include "ops/libraries/headroom.h"
#include "test/threads/large.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <string>

using namespace large;

namespace {

// An array of numbers that nothing but the seed decides, as a tensor of rows without gaps.
template <class T> struct Made {
  std::vector<T> numbers;
  View view;

  Made(DType type, const Shape& shape, std::uint32_t seed) : numbers(static_cast<std::size_t>(shape.elements())) {
    for (T& x : numbers) {
      seed = seed * 1664525 + 1013904223;
      if constexpr (std::is_floating_point_v<T>)
        x = static_cast<T>(seed >> 8) * T(0x1p-24);
      else
        x = static_cast<T>(0x3e00 + (seed >> 25)); // bf16, about an eighth
    }
    view.data = numbers.data();
    view.dtype = type;
    view.shape = shape;
    std::int64_t stride = 1;
    for (int i = shape.rank(); i-- > 0; stride *= shape[i]) view.strides[static_cast<std::size_t>(i)] = stride;
  }
  // The same as a picture whose channels lie closest, as the library takes them.
  View picture() const {
    View v = view;
    v.strides[1] = 1;
    v.strides[3] = v.shape[1];
    v.strides[2] = v.shape[1] * v.shape[3];
    return v;
  }
};

// Asked so many times at least.
template <class T> void check_asked(DType type, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t times) {
  const Made<T> a(type, {m, k}, 1), b(type, {k, n}, 2), c(type, {m, n}, 3);
  Meter meter;
  const Meter::Installed installed(&meter);
  meter.cancel_at(times);
  CHECK_THROWS_AS(cpu::matmul(c.view, a.view, b.view), Cancelled);
  CHECK(meter.taken() == 0);
}

// Rows [begin, end) of pictures [1, channels, rows, columns].
View rows_of(const View& picture, std::int64_t begin, std::int64_t end) {
  View rows = picture;
  rows.shape[2] = end - begin;
  rows.data = static_cast<float*>(picture.data) + begin * picture.strides[2];
  return rows;
}

// Rows [begin, end) of the part are those from `at + begin` on of the whole.
void check_rows(const View& whole, std::int64_t at, const View& part, std::int64_t begin, std::int64_t end) {
  const std::int64_t row = whole.strides[2];
  CHECK(std::memcmp(static_cast<const float*>(whole.data) + (at + begin) * row,
                    static_cast<const float*>(part.data) + begin * row,
                    sizeof(float) * static_cast<std::size_t>((end - begin) * row)) == 0);
}

cpu::Convolution windows(std::int64_t size, std::int64_t stride, std::int64_t padding) {
  cpu::Convolution c;
  c.windows.axes = 2;
  c.windows.kernel = {1, size, size};
  c.windows.stride = {1, stride, stride};
  c.windows.padding = {0, padding, padding};
  return c;
}

} // namespace

TEST_CASE("a large product can be stopped between the calls that it is cut into") {
  check_asked<double>(DType::f64, 512, 512, 4096, 6);
  check_asked<float>(DType::f32, 1024, 512, 8192, 4);
  const cairn_math* const library = cpu::math_library();
  if (library != nullptr && library->has_bf16() != 0) // those that are not widened are faster, and cut into fewer
    check_asked<std::uint16_t>(DType::bf16, 2048, 2048, 1024, 2);
  else
    check_asked<std::uint16_t>(DType::bf16, 256, 256, 8192, 8);
}

TEST_CASE("bf16 products that are widened take their memory from the meter") {
  const cairn_math* const library = cpu::math_library();
  if (library == nullptr || library->has_bf16() != 0) return;
  const Made<std::uint16_t> a(DType::bf16, {600, 2000}, 1), b(DType::bf16, {2000, 700}, 2), c(DType::bf16, {600, 700}, 3);
  constexpr std::int64_t kWanted = 4 * (256 * 1535 + 350 * 1535 + 600 * 350);
  Meter meter;
  const Meter::Installed installed(&meter);
  meter.lend(kWanted - 1);
  CHECK_THROWS_AS(cpu::matmul(c.view, a.view, b.view), ScratchExceeded);
  CHECK(meter.taken() == 0);
  meter.lend(kWanted);
  CHECK_NOTHROW(cpu::matmul(c.view, a.view, b.view));
  CHECK(meter.peak() == kWanted);
  CHECK(meter.taken() == 0);
}

TEST_CASE("a picture that is convolved in bands gives the bits of its parts") {
  const cpu::Convolution c = windows(5, 1, 2);
  const Made<float> small(DType::f32, {1, 32, 210, 210}, 1), large(DType::f32, {1, 32, 210, 210}, 2),
      weights(DType::f32, {32, 32, 5, 5}, 3);
  const Made<float> upper(DType::f32, {1, 32, 120, 210}, 4), lower(DType::f32, {1, 32, 110, 210}, 5);
  cpu::convolve_to_small(c, small.picture(), large.picture(), weights.view, nullptr);
  cpu::convolve_to_small(c, upper.picture(), rows_of(large.picture(), 0, 120), weights.view, nullptr);
  cpu::convolve_to_small(c, lower.picture(), rows_of(large.picture(), 100, 210), weights.view, nullptr);
  check_rows(small.picture(), 0, upper.picture(), 0, 118);
  check_rows(small.picture(), 100, lower.picture(), 2, 110);
  cpu::convolve_to_large(c, large.picture(), small.picture(), weights.view);
  cpu::convolve_to_large(c, upper.picture(), rows_of(small.picture(), 0, 120), weights.view);
  cpu::convolve_to_large(c, lower.picture(), rows_of(small.picture(), 100, 210), weights.view);
  check_rows(large.picture(), 0, upper.picture(), 0, 118);
  check_rows(large.picture(), 100, lower.picture(), 2, 110);
}

TEST_CASE("and so does one whose windows are apart") {
  const cpu::Convolution c = windows(4, 2, 1);
  const Made<float> small(DType::f32, {1, 80, 105, 105}, 1), large(DType::f32, {1, 80, 210, 210}, 2),
      weights(DType::f32, {80, 80, 4, 4}, 3);
  const Made<float> upper(DType::f32, {1, 80, 60, 105}, 4), lower(DType::f32, {1, 80, 120, 210}, 5);
  cpu::convolve_to_small(c, small.picture(), large.picture(), weights.view, nullptr);
  cpu::convolve_to_small(c, upper.picture(), rows_of(large.picture(), 0, 120), weights.view, nullptr);
  check_rows(small.picture(), 0, upper.picture(), 0, 59);
  cpu::convolve_to_large(c, large.picture(), small.picture(), weights.view);
  cpu::convolve_to_large(c, lower.picture(), rows_of(small.picture(), 0, 60), weights.view);
  check_rows(large.picture(), 0, lower.picture(), 0, 118);
}

// Asking once mapped what it asked for, for a moment, in which the libraries' own requests in other threads failed.
TEST_CASE("asking for room takes none from other threads") {
  const auto most = [] { // addresses that the process ever had, in KiB
    std::ifstream status("/proc/self/status");
    std::string word;
    std::int64_t number = 0;
    while (status >> word)
      if (word == "VmPeak:") status >> number;
    return number;
  };
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  std::size_t all = 0, data = 0;
  REQUIRE(math::addresses(all, data));
  constexpr std::size_t kAsked = std::size_t{64} << 30;
  rlimit limited = before;
  limited.rlim_cur = all + 2 * kAsked;
  const std::int64_t most_before = most();
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  const bool room = math::has_headroom(kAsked), too_much = math::has_headroom(3 * kAsked);
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(room);
  CHECK(!too_much);
  CHECK(most_before > 0);
  CHECK(most() - most_before < (1 << 20));
}
