// Exact encodings (ops/cpu/exact): what is decoded is what was encoded, and of what is damaged nothing is written beside its
// place.
#include "ops/cpu/exact/exact.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

// Its own words: tests are joined before they are compiled.
namespace exact_testing {

using namespace cairn::ops::exact;

namespace {

using Raw = std::vector<std::uint8_t>;
const auto work = std::make_unique<Workspace>();

template <class T> Raw raw(std::int64_t bytes, const std::function<T(std::int64_t)>& element) {
  Raw out(static_cast<std::size_t>(bytes));
  const auto width = static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i * width < bytes; ++i) {
    const T x = element(i);
    std::memcpy(out.data() + i * width, &x, static_cast<std::size_t>(std::min(width, bytes - i * width)));
  }
  return out;
}

Raw encoded(const Raw& bytes, std::int64_t most) {
  Raw out(static_cast<std::size_t>(std::max<std::int64_t>(most, 0)) + 1, 0xA5);
  const std::int64_t size = encode(*work, bytes.data(), static_cast<std::int64_t>(bytes.size()), out.data(), most);
  CHECK(out.back() == 0xA5);
  REQUIRE(size <= most);
  out.resize(static_cast<std::size_t>(size));
  return out;
}
Raw encoded(const Raw& bytes) { return encoded(bytes, static_cast<std::int64_t>(bytes.size())); }

constexpr std::uint8_t kUntouched = 0x5A;
constexpr std::size_t kBehind = 64;

// The first ones of so many; empty: it is no encoding of these.
Raw decoded(const Raw& encoding, std::size_t bytes, std::size_t wanted) {
  Raw out(wanted + kBehind, kUntouched);
  // A copy of its exact size, so that a sanitizer sees what is read behind it.
  const auto own = std::make_unique<std::uint8_t[]>(encoding.size());
  std::copy(encoding.begin(), encoding.end(), own.get());
  const bool right = decode(*work, own.get(), static_cast<std::int64_t>(encoding.size()), static_cast<std::int64_t>(bytes),
                            out.data(), static_cast<std::int64_t>(wanted));
  CHECK(std::all_of(out.end() - kBehind, out.end(), [](std::uint8_t byte) { return byte == kUntouched; }));
  out.resize(right ? wanted : 0);
  return out;
}

struct Kind {
  const char* name;
  std::function<Raw(std::int64_t bytes)> make;
  double part; // that it comes to, at most, where it is large
};

std::vector<Kind> kinds() {
  static std::mt19937_64 random(5);
  static std::normal_distribution<double> normal;
  const auto relu = [] { return std::max(0.0, normal(random)); };
  return {
      {"numbers of 32 bits", [](auto n) { return raw<float>(n, [](auto) { return static_cast<float>(normal(random)); }); }, .85},
      {"rectified", [=](auto n) { return raw<float>(n, [=](auto) { return static_cast<float>(relu()); }); }, .46},
      {"few that are not zero",
       [](auto n) { return raw<float>(n, [](auto i) { return i % 37 == 0 ? static_cast<float>(normal(random)) : 0.F; }); }, .05},
      {"numbers of 64 bits", [](auto n) { return raw<double>(n, [](auto) { return normal(random); }); }, .9},
      {"rectified, of 64", [=](auto n) { return raw<double>(n, [=](auto) { return relu(); }); }, .48},
      {"of 16",
       [](auto n) {
         return raw<std::uint16_t>(n, [](auto) {
           const auto x = static_cast<float>(normal(random));
           std::uint32_t bits;
           std::memcpy(&bits, &x, sizeof bits);
           return static_cast<std::uint16_t>(bits >> 16);
         });
       },
       .7},
      {"truth", [](auto n) { return raw<std::uint8_t>(n, [](auto) { return static_cast<std::uint8_t>(random() & 1); }); }, .14},
      {"one of many",
       [](auto n) { return raw<std::uint8_t>(n, [](auto i) { return static_cast<std::uint8_t>(i % 1009 == 7); }); }, .02},
      {"counters", [](auto n) { return raw<std::int64_t>(n, [](auto i) { return i - 5; }); }, .3},
      {"zeros", [](auto n) { return Raw(static_cast<std::size_t>(n)); }, .01},
      {"all bytes alike often", [](auto n) { return raw<std::uint8_t>(n, [](auto i) { return static_cast<std::uint8_t>(i); }); },
       1},
      {"thrown", [](auto n) { return raw<std::uint64_t>(n, [](auto) { return random(); }); }, 1},
  };
}

} // namespace

TEST_CASE("what is decoded is what was encoded, of all kinds and sizes") {
  for (const Kind& kind : kinds())
    for (const std::int64_t bytes :
         {1L, 2L, 7L, 8L, 9L, 64L, 1001L, 4096L, kBlock - 1, kBlock, kBlock + 1, 3 * kBlock + 13, kPiece}) {
      CAPTURE(std::string(kind.name));
      CAPTURE(bytes);
      const Raw from = kind.make(bytes), encoding = encoded(from);
      if (encoding.empty()) {
        CHECK((kind.part == 1 || bytes < 4096));
        continue;
      }
      CHECK(decoded(encoding, from.size(), from.size()) == from);
      if (bytes == kPiece) CHECK(static_cast<double>(encoding.size()) < kind.part * static_cast<double>(bytes));
      CHECK(encoded(from) == encoding);
    }
  CHECK(encoded(Raw()).empty());
}

TEST_CASE("what is wanted of the front is decoded alone") {
  for (const Kind& kind : kinds()) {
    const Raw from = kind.make(2 * kBlock + 777), encoding = encoded(from);
    if (encoding.empty()) continue;
    for (const std::size_t wanted :
         {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{kBlock}, std::size_t{kBlock + 5}})
      CHECK(decoded(encoding, from.size(), wanted) == Raw(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(wanted)));
  }
}

TEST_CASE("what would take more than it may is not encoded, and one byte more is enough") {
  const Raw from = kinds()[1].make(5 * kBlock);
  const auto size = static_cast<std::int64_t>(encoded(from).size());
  REQUIRE(size > 0);
  for (const std::int64_t most : {std::int64_t{0}, std::int64_t{1}, std::int64_t{24}, size / 2, size - 1})
    CHECK(encoded(from, most).empty());
  CHECK(encoded(from, size + kBlock / 8).size() == static_cast<std::size_t>(size)); // a part of it comes to more than the rest
}

TEST_CASE("some blocks that come to nothing less lie between others as they are") {
  Raw from = kinds()[1].make(8 * kBlock);
  const Raw thrown = kinds().back().make(2 * kBlock);
  std::copy(thrown.begin(), thrown.end(), from.begin() + kBlock);
  const Raw encoding = encoded(from);
  REQUIRE(!encoding.empty());
  CHECK(decoded(encoding, from.size(), from.size()) == from);
}

TEST_CASE("damaged bytes are told from others, or decoded within their place") {
  std::mt19937 random(3);
  const auto any = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  std::int64_t told = 0;
  for (const Kind& kind : kinds()) {
    const Raw from = kind.make(kBlock + 4001), encoding = encoded(from);
    if (encoding.empty()) continue;
    for (int i = 0; i < 300; ++i) {
      Raw damaged(encoding);
      const bool cut = any(4) == 0;
      if (cut)
        damaged.resize(any(damaged.size()));
      else
        for (std::size_t n = 1 + any(3); n-- > 0;)
          damaged[any(any(8) == 0 ? 10 : damaged.size())] ^= static_cast<std::uint8_t>(1 + any(255));
      const bool refused = decoded(damaged, from.size(), from.size()).empty();
      if (cut) CHECK(refused);
      told += refused ? 1 : 0;
    }
    for (int i = 0; i < 100; ++i) {
      Raw noise(any(3000));
      for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(any(i % 2 == 0 ? 8 : 256));
      decoded(noise, 1 + any(2 * kBlock), 1 + any(1));
    }
  }
  CHECK(told > 1000);
}

} // namespace exact_testing
