// Fields read from bytes that come window by window are those that were written, wherever a window ends.
#include "vm/bytecode/bytes.h"

#include <doctest/doctest.h>

#include <array>
#include <random>

using namespace cairn::bytecode;

namespace {

// Gives what was asked for and a few bytes more. What it gave before the last time is overwritten.
class Windows final : public ByteSource {
public:
  Windows(std::span<const std::byte> all, unsigned seed) : all_(all), random_(seed) {}
  std::span<const std::byte> more(std::span<const std::byte> left, std::size_t size) override {
    std::vector<std::byte> next(left.begin(), left.end());
    const std::size_t wanted = std::min(all_.size() - read_, size - left.size() + random_() % 5);
    next.insert(next.end(), all_.begin() + static_cast<std::ptrdiff_t>(read_),
                all_.begin() + static_cast<std::ptrdiff_t>(read_ + wanted));
    read_ += wanted;
    std::vector<std::byte>& oldest = windows_[now_ ^= 1];
    std::ranges::fill(oldest, std::byte{0xEE});
    oldest = std::move(next);
    return oldest;
  }

private:
  std::span<const std::byte> all_;
  std::mt19937 random_;
  std::size_t read_ = 0, now_ = 0;
  std::array<std::vector<std::byte>, 2> windows_;
};

} // namespace

TEST_CASE("fields in windows of any length") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    ByteWriter out;
    std::vector<std::pair<unsigned, std::uint64_t>> fields;
    for (int i = 0; i < 100; ++i) {
      const auto form = static_cast<unsigned>(random() % 5);
      const std::uint64_t v = random() % 8 == 0 ? 0 : random() >> random() % 64; // 0 is one byte that ends a window as well
      fields.emplace_back(form, v);
      if (form == 0) out.u8(static_cast<std::uint8_t>(v));
      if (form == 1) out.u16(static_cast<std::uint16_t>(v));
      if (form == 2) out.u64(v);
      if (form == 3) out.varint(v);
      if (form == 4) out.text(std::to_string(v));
    }
    Windows windows(out.bytes, seed);
    ByteReader in(windows, out.bytes.size());
    CHECK_FALSE(in.in_memory());
    for (const auto& [form, v] : fields) {
      if (form == 0) REQUIRE(in.u8() == static_cast<std::uint8_t>(v));
      if (form == 1) REQUIRE(in.u16() == static_cast<std::uint16_t>(v));
      if (form == 2) REQUIRE(in.u64() == v);
      if (form == 3) REQUIRE(in.varint() == v);
      if (form == 4) REQUIRE(in.text() == std::to_string(v));
    }
    in.want_end();
    CHECK_THROWS_AS(in.u8(), Malformed);
    CHECK_THROWS_AS(in.varint(), Malformed);
  }
}

TEST_CASE("what is taken stays for one window more, and what is not there is refused before it is fetched") {
  ByteWriter out;
  for (std::uint64_t i = 0; i < 100; ++i) out.u64(i);
  Windows windows(out.bytes, 1);
  ByteReader in(windows, out.bytes.size());
  const auto first = in.take(16);
  in.take(8);
  CHECK(std::ranges::equal(first, std::span(out.bytes).first(16)));
  CHECK(in.left() == 800 - 24);
  CHECK_THROWS_AS(in.take(800), Malformed);
  CHECK(in.u64() == 3);
}
