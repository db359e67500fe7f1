// Sizes as people write them, in options and in schedules.
#include "vm/text/sizes.h"

#include <doctest/doctest.h>
#include <string>
#include <utility>

using cairn::text::parse_size;
using cairn::text::Size;

TEST_CASE("sizes have units of 1024 and of 1000, in any case of letters, and whole numbers keep all their digits") {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"1", 1},
      {"9007199254740993", 9007199254740993},
      {"18446744073709551615", UINT64_MAX},
      {"7b", 7},
      {"64KiB", 64 << 10},
      {"64k", 64 << 10},
      {"64kB", 64000},
      {"3MiB", 3 << 20},
      {"3m", 3 << 20},
      {"3MB", 3000000},
      {"2GIB", std::uint64_t{2} << 30},
      {"2gb", 2000000000},
      {"1TiB", std::uint64_t{1} << 40},
      {"1T", std::uint64_t{1} << 40},
      {"5TB", 5000000000000},
      {"1.5GiB", std::uint64_t{3} << 29},
      {".5k", 512},
      {"1.k", 1024},
      {"0", 0},
      {"0.0001KiB", 0},
      {"99999999999999999999", UINT64_MAX},
      {"18446744073709551615KiB", UINT64_MAX},
      {"99999999999.5TiB", UINT64_MAX},
  };
  for (const auto& [text, bytes] : cases) {
    const std::string written(text);
    CAPTURE(written);
    const Size size = parse_size(text);
    CHECK(size.fault == Size::Fault::none);
    CHECK(size.bytes == bytes);
  }
}

TEST_CASE("what is no size is told by what is wrong with it") {
  for (const char* text : {"", "MiB", ".", ".MiB", "1.5", "1.5B", "1.2.3k", "-1", "-1k", "+1", " 1", "nan", "inf", "x"}) {
    CAPTURE(std::string(text));
    CHECK(parse_size(text).fault == Size::Fault::number);
  }
  const std::pair<const char*, const char*> units[] = {{"2MX", "MX"}, {"2 MB", " MB"}, {"1e5", "e5"},    {"64MiB ", "MiB "},
                                                       {"1k2", "k2"}, {"1,5G", ",5G"}, {"2kibi", "kibi"}};
  for (const auto& [text, unit] : units) {
    const std::string written(text);
    CAPTURE(written);
    CHECK(parse_size(text).fault == Size::Fault::unit);
    CHECK(parse_size(text).unit == unit);
  }
}
