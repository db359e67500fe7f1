// Bounded encodings: no element beyond the bound, in its own type, whatever elements there are; the same elements in either form;
// the same bytes on any number of threads and for any processor; and nothing that decoding could be made to do by bytes that are
// no encoding. CAIRN_SOAK_ELEMENTS=1000000000 tries as many more of each type.
#include "ops/convert.h"
#include "ops/cpu/device/processor.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/lossy/lossy.h"
#include "ops/operators/lossy.h"
#include "test/ops/testing.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace cairn::ops::lossy_test {

using namespace cairn::ops::test;
using O = OperatorId;

namespace {

using Random = std::mt19937_64;

constexpr std::array kFloating = {DType::f32, DType::f64, DType::bf16};

enum class Elements : std::uint8_t { normal, rectified, waves, steps, any_bits, small, with_rare, huge, count };

double random_double(Random& random, Elements kind, std::int64_t i) {
  const double rare[] = {0, -0.0, 1e-310, -1e-41, kNan, kInfinity, -kInfinity, 1e300, -1e37, 1e-300, 0x1p-126, 0x1p-149};
  const double normal = std::normal_distribution<double>()(random);
  switch (kind) {
  case Elements::normal:
    return normal;
  case Elements::rectified:
    return normal > 0 ? normal : 0;
  case Elements::waves:
    return std::sin(static_cast<double>(i) * 0.01) * 3;
  case Elements::steps:
    return static_cast<double>(i / 100 % 7) * 0.25 - 0.5;
  case Elements::any_bits:
    return std::bit_cast<double>(random());
  case Elements::small:
    return normal * 1e-39;
  case Elements::with_rare:
    return random() % 50 == 0 ? rare[random() % std::size(rare)] : normal;
  default:
    return normal * 1e37;
  }
}

// In its own type, so that bits of any kind come to be: floats and halves of them are not made of doubles there.
template <class T> T random_element(Random& random, Elements kind, std::int64_t i) {
  if (kind == Elements::any_bits) {
    const std::uint64_t bits = random();
    T t;
    std::memcpy(&t, &bits, sizeof t);
    return t;
  }
  return converted<T>(random_double(random, kind, i));
}

double wide(double x) { return x; }
double wide(float x) { return x; }
double wide(Bf16 x) { return widened(x); }
std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
std::uint64_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t bits_of(Bf16 x) { return x.bits; }
bool is_zero(double x) { return std::fabs(x) < 0x1p-1022; }
bool is_zero(float x) { return std::fabs(x) < 0x1p-126f; }
bool is_zero(Bf16 x) { return is_zero(widened(x)); }

template <class T> constexpr DType kTypeOf = DType::f32;
template <> constexpr DType kTypeOf<double> = DType::f64;
template <> constexpr DType kTypeOf<Bf16> = DType::bf16;

constexpr bool kFast = false, kSmall = true; // forms

// Of a list of elements, with so many channels closest; there are kernels to call, so nothing here needs a device.
template <class T>
std::vector<std::uint8_t> encoding_of(const std::vector<T>& x, double bound, bool relative, bool form,
                                      std::int64_t channels = 1) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<std::uint8_t> room(static_cast<std::size_t>(cpu::room_for_encoding(n, kTypeOf<T>)));
  View in, out;
  in.data = const_cast<T*>(x.data());
  in.dtype = kTypeOf<T>;
  in.shape = Shape{n / channels, channels};
  in.strides[0] = channels;
  in.strides[1] = 1;
  out.data = room.data();
  out.dtype = DType::u8;
  out.shape = Shape{static_cast<std::int64_t>(room.size())};
  const Attributes attributes = with({number(bound), Attribute::of_flag(relative), Attribute::of_flag(form)});
  cpu::encode_bounded({{&in, 1}, {&out, 1}, attributes});
  const std::int64_t bytes = cpu::bytes_of_encoding(room.data());
  REQUIRE(bytes <= static_cast<std::int64_t>(room.size()));
  room.resize(static_cast<std::size_t>(bytes));
  return room;
}

template <class T> std::vector<T> elements_of(const std::vector<std::uint8_t>& encoding, std::int64_t n) {
  std::vector<T> x(static_cast<std::size_t>(n));
  View in, out;
  in.data = const_cast<std::uint8_t*>(encoding.data());
  in.dtype = DType::u8;
  in.shape = Shape{static_cast<std::int64_t>(encoding.size())};
  out.data = x.data();
  out.dtype = kTypeOf<T>;
  out.shape = Shape{n};
  const Attributes none;
  cpu::decode_bounded({{&in, 1}, {&out, 1}, none});
  return x;
}

template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](T one, T other) { return bits_of(one) == bits_of(other); });
}

// What came back of an element that does not keep to the bound: how many there are.
template <class T> std::int64_t beyond(const std::vector<T>& x, const std::vector<T>& back, double bound) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double one = wide(x[i]), other = wide(back[i]);
    const bool same = bits_of(x[i]) == bits_of(back[i]);
    const bool exact = !std::isfinite(one) || is_zero(x[i]);
    // Of a denormal one comes itself or a zero.
    if (!same && (exact ? !is_zero(x[i]) || other != 0 : !(std::fabs(one - other) <= bound))) ++wrong;
  }
  return wrong;
}

template <class T> double largest(const std::vector<T>& x) {
  double most = 0;
  for (const T& t : x)
    if (std::isfinite(wide(t))) most = std::max(most, std::fabs(wide(t)));
  return most;
}

template <class T> void check_bound(Random& random, std::int64_t n, Elements kind, double bound, bool relative) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = random_element<T>(random, kind, i);
  const std::vector<std::uint8_t> fast = encoding_of(x, bound, relative, kFast), small = encoding_of(x, bound, relative, kSmall);
  CAPTURE(static_cast<int>(kind));
  CAPTURE(bound);
  CHECK(cpu::is_encoding(fast, n, kTypeOf<T>));
  CHECK(cpu::is_encoding(small, n, kTypeOf<T>));
  CHECK(small.size() <= fast.size());
  const std::vector<T> back = elements_of<T>(fast, n);
  CHECK(beyond(x, back, relative ? bound * largest(x) : bound) == 0);
  CHECK(same_bits(back, elements_of<T>(small, n)));
}

template <class T> void check_all_kinds(Random& random, std::int64_t n) {
  for (auto kind = 0; kind < static_cast<int>(Elements::count); ++kind)
    for (const bool relative : {false, true}) {
      const double bound = std::pow(10.0, between(random, relative ? -8 : -12, relative ? 0 : 3));
      check_bound<T>(random, n, static_cast<Elements>(kind), bound, relative);
    }
}

template <class T> std::vector<T> rectified(std::int64_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& t : x) t = random_element<T>(random, Elements::rectified, 0);
  return x;
}

} // namespace

TEST_CASE("no element comes back beyond the bound, and zeros, infinities and what is no number as they were") {
  Random random(1);
  for (const std::int64_t n : {0, 1, 7, 16, 511, 512, 513, 5000, 70001}) {
    check_all_kinds<float>(random, n);
    check_all_kinds<double>(random, n);
    check_all_kinds<Bf16>(random, n);
  }
  for (const double bound : {kLeastBound, 1e-20, 1e20, kMostBound})
    for (const Elements kind : {Elements::with_rare, Elements::any_bits, Elements::huge}) {
      check_bound<float>(random, 3000, kind, bound, false);
      check_bound<double>(random, 3000, kind, bound, false);
      check_bound<Bf16>(random, 3000, kind, bound, false);
    }
}

TEST_CASE("as many elements as one asks for keep to the bound" * doctest::skip(std::getenv("CAIRN_SOAK_ELEMENTS") == nullptr)) {
  const std::int64_t wanted = std::atoll(std::getenv("CAIRN_SOAK_ELEMENTS"));
  constexpr std::int64_t kAtOnce = 100003;
  constexpr int kOfARound = 2 * static_cast<int>(Elements::count); // of each type
  for (std::int64_t done = 0; done < wanted; done += kAtOnce * kOfARound) {
    Random random(static_cast<std::uint64_t>(done) + 17);
    check_all_kinds<float>(random, kAtOnce);
    check_all_kinds<double>(random, kAtOnce);
    check_all_kinds<Bf16>(random, kAtOnce);
  }
}

TEST_CASE("errors are uniform and on no side: what dither is for") {
  const std::int64_t n = 1 << 20;
  const std::vector<float> x = rectified<float>(n, 2);
  for (const double bound : {0.3, 0.03}) {
    const std::vector<float> back = elements_of<float>(encoding_of(x, bound, false, kFast), n);
    double sum = 0, squares = 0, with_x = 0, kept = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == 0) continue;
      const double error = static_cast<double>(back[i]) - static_cast<double>(x[i]);
      sum += error;
      squares += error * error;
      with_x += error * static_cast<double>(x[i]);
      ++kept;
    }
    const double deviation = bound / std::sqrt(3.0);
    CHECK(std::fabs(sum / std::sqrt(kept)) < 4 * deviation);
    CHECK(std::fabs(with_x / std::sqrt(kept)) < 4 * deviation); // the mean square of x is 1
    CHECK(std::sqrt(squares / kept) == doctest::Approx(deviation).epsilon(0.02));
  }
}

TEST_CASE("errors of one element are independent of those of others, also where elements are the same") {
  constexpr std::int64_t kBlock = 512, kBlocks = 2048;
  const double bound = 0.1, square = bound * bound / 3;
  const std::vector<float> x(static_cast<std::size_t>(kBlock * kBlocks), 0.37f);
  const std::vector<float> back = elements_of<float>(encoding_of(x, bound, false, kFast), kBlock * kBlocks);
  const auto error = [&](std::int64_t i) { return static_cast<double>(back[static_cast<std::size_t>(i)]) - 0.37; };
  for (const std::int64_t distance : {1, 2, 3, 16, 64, 511, 512, 513, 4096}) {
    CAPTURE(distance);
    double sum = 0, pairs = 0;
    for (std::int64_t i = 0; i + distance < kBlock * kBlocks; ++i, ++pairs) sum += error(i) * error(i + distance);
    CHECK(std::fabs(sum / std::sqrt(pairs)) < 5 * square);
  }
  double of_places = 0, of_blocks = 0; // squares of sums
  for (std::int64_t place = 0; place < kBlock; ++place) {
    double sum = 0;
    for (std::int64_t block = 0; block < kBlocks; ++block) sum += error(block * kBlock + place);
    of_places += sum * sum;
  }
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    double sum = 0;
    for (std::int64_t place = 0; place < kBlock; ++place) sum += error(block * kBlock + place);
    of_blocks += sum * sum;
  }
  CHECK(of_places / static_cast<double>(kBlock * kBlocks) == doctest::Approx(square).epsilon(0.3));
  CHECK(of_blocks / static_cast<double>(kBlock * kBlocks) == doctest::Approx(square).epsilon(0.2));
}

TEST_CASE("the small form has what is there once, wherever it is") {
  const std::int64_t n = 1 << 16;
  for (std::int64_t place = 20000; place < 20018; ++place) {
    std::vector<float> x = rectified<float>(n, 5);
    x[static_cast<std::size_t>(place)] = 700;
    const std::vector<std::uint8_t> small = encoding_of(x, 0.05, false, kSmall), fast = encoding_of(x, 0.05, false, kFast);
    CHECK(small.size() < fast.size());
    CHECK(same_bits(elements_of<float>(fast, n), elements_of<float>(small, n)));
  }
}

TEST_CASE("what is rectified takes a bit and the planes of what is left, and nothing but zeros next to nothing") {
  const std::int64_t n = 1 << 18;
  const auto bytes = static_cast<double>(encoding_of(rectified<float>(n, 3), 1e-2, true, kFast).size());
  CHECK(4 * static_cast<double>(n) / bytes > 7);
  for (const bool form : {kFast, kSmall})
    CHECK(encoding_of(std::vector<float>(static_cast<std::size_t>(n)), 1e-2, true, form).size() <
          static_cast<std::size_t>(n) / 100);
}

TEST_CASE("the small form takes less where elements tell about the same channel of the next place") {
  // Of each channel a wave of its own that is often below zero, as activations are.
  constexpr std::int64_t kChannels = 24, kPlaces = 100000;
  std::vector<float> x;
  for (std::int64_t place = 0; place < kPlaces; ++place)
    for (std::int64_t channel = 0; channel < kChannels; ++channel)
      x.push_back(std::max(0.f, static_cast<float>(std::sin(0.01 * static_cast<double>(place + channel * channel * 50)))));
  // Where a step is small beside what changes from place to place, less of it is told.
  for (const auto& of : {std::pair(1e-1, 0.7), std::pair(1e-2, 0.7), std::pair(1e-3, 0.75), std::pair(1e-4, 0.85)}) {
    const double bound = of.first, part = of.second;
    const std::vector<std::uint8_t> fast = encoding_of(x, bound, true, kFast, kChannels),
                                    small = encoding_of(x, bound, true, kSmall, kChannels);
    CAPTURE(bound);
    CHECK(static_cast<double>(small.size()) < part * static_cast<double>(fast.size()));
    CHECK(same_bits(elements_of<float>(fast, kPlaces * kChannels), elements_of<float>(small, kPlaces * kChannels)));
  }
}

TEST_CASE("older processors make the same bytes and the same elements" * doctest::skip(!cpu::kEveryGeneration)) {
  Random random(8);
  const auto check = [&]<class T>(T) {
    for (const std::int64_t n : {1, 17, 511, 4096, 70001})
      for (auto kind = 0; kind < static_cast<int>(Elements::count); ++kind) {
        std::vector<T> x(static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i)
          x[static_cast<std::size_t>(i)] = random_element<T>(random, static_cast<Elements>(kind), i);
        for (const bool form : {kFast, kSmall})
          for (const double bound : {1e-1, 1e-3, 1e-5}) {
            const std::vector<std::uint8_t> newest = encoding_of(x, bound, true, form);
            const std::vector<T> back = elements_of<T>(newest, n);
            for (const cpu::Isa generation : {cpu::Isa::base, cpu::Isa::avx2}) {
              const cpu::AsIfOlder older(generation);
              CHECK(encoding_of(x, bound, true, form) == newest);
              CHECK(same_bits(elements_of<T>(newest, n), back));
            }
          }
      }
  };
  check(float());
  check(double());
  check(Bf16());
  const cpu::AsIfOlder older(cpu::Isa::base);
  CHECK(cpu::isa() == cpu::Isa::base);
}

TEST_CASE("an encoding is a function of elements and bound, on any number of threads") {
  const std::vector<float> x = rectified<float>(1 << 18, 4);
  for (const bool form : {kFast, kSmall}) {
    const std::vector<std::uint8_t> alone = encoding_of(x, 1e-2, true, form);
    const std::vector<float> back = elements_of<float>(alone, 1 << 18);
    for (const unsigned threads : {2u, 5u}) {
      cpu::Workers workers(threads);
      const cpu::Workers::Installed installed(&workers);
      CHECK(encoding_of(x, 1e-2, true, form) == alone);
      CHECK(elements_of<float>(alone, 1 << 18) == back);
    }
  }
}

TEST_CASE("tensors come back as they lay") {
  World w;
  std::mt19937_64 random(5);
  for (const DType type : kFloating) {
    const Tensor x = w.tensor({3, 5, 7, 11}, numbers_between(random, 3 * 5 * 7 * 11, -1, 1), type);
    const Tensor turned = applied(w.rt, O::permute, {x}, with({list({0, 2, 3, 1})}));
    for (const auto& [t, form] :
         {std::pair(x, kFast), std::pair(turned, kFast), std::pair(x, kSmall), std::pair(turned, kSmall)}) {
      REQUIRE(can_be_encoded(t));
      const Tensor encoding = encoded(w.rt, t, 0.01, false, form), back = decoded(w.rt, encoding, t, form);
      CHECK(encoding.bytes() < x.bytes());
      CHECK(back.strides == t.strides);
      const std::vector<double> before = w.rt.read_numbers(t), after = w.rt.read_numbers(back);
      CHECK(std::ranges::equal(before, after, [](double a, double b) { return std::fabs(a - b) <= 0.01; }));
    }
  }
  CHECK_FALSE(can_be_encoded(w.tensor({4}, {1, 2, 3, 4}, DType::i32)));
}

TEST_CASE("bytes that are no encoding are told from one, and decoding them stays within its memory") {
  for (const bool form : {kFast, kSmall}) {
    std::mt19937_64 random(6);
    const std::int64_t n = 40000;
    const std::vector<float> x = rectified<float>(n, 7);
    const std::vector<std::uint8_t> well = encoding_of(x, 1e-2, true, form);
    for (const DType type : {DType::f64, DType::bf16}) CHECK_FALSE(cpu::is_encoding(well, n, type));
    for (const std::int64_t other : {n - 1, n + 1, n * 1000}) CHECK_FALSE(cpu::is_encoding(well, other, DType::f32));
    std::vector<std::uint8_t> longer = well;
    longer.push_back(0);
    CHECK_FALSE(cpu::is_encoding(longer, n, DType::f32));
    for (int round = 0; round < 3000; ++round) {
      std::vector<std::uint8_t> bytes = well;
      const auto changed = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
      // Heads of blocks are rare: mostly what is at the beginning, where the table is and the first ones are.
      const std::size_t within = random() % 2 == 0 ? 64 : bytes.size();
      for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes)
        bytes[changed(within)] = static_cast<std::uint8_t>(random());
      if (random() % 4 == 0) bytes.resize(changed(bytes.size()));
      const bool is_one = cpu::is_encoding(bytes, n, DType::f32);
      const std::vector<float> back = elements_of<float>(bytes, n);
      if (bytes.size() < 48) CHECK_FALSE(is_one);
      if (round % 10 != 0) continue;
      const cpu::AsIfOlder older(cpu::Isa::base);
      CHECK(same_bits(elements_of<float>(bytes, n), back));
    }
  }
}

} // namespace cairn::ops::lossy_test
