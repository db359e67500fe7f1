// Numbers as text: what is written reads back the same, and the reader's corner cases.
#include "vm/text/number.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>
#include <limits>
#include <random>
#include <string>

using namespace cairn::text;

namespace {

bool is_exact(const char* text, std::int64_t i, unsigned radix = 10) {
  auto n = parse_number(text, radix);
  return n && n->exact && n->integer == i;
}
bool is_flonum(const std::string& text, double d, unsigned radix = 10) {
  auto n = parse_number(text, radix);
  return n && !n->exact && std::bit_cast<std::uint64_t>(n->flonum) == std::bit_cast<std::uint64_t>(d);
}
constexpr double kInfinity = std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE("flonums are written with a point or an exponent") {
  CHECK(format_flonum(2) == "2.0");
  CHECK(format_flonum(0.5) == "0.5");
  CHECK(format_flonum(-0.0) == "-0.0");
  CHECK(format_flonum(1e31) == "1e+31");
  CHECK(format_flonum(1e-7) == "1e-07");
  CHECK(format_flonum(0.1 + 0.2) == "0.30000000000000004");
  CHECK(format_flonum(123456789) == "123456789.0");
  CHECK(format_flonum(kInfinity) == "+inf.0");
  CHECK(format_flonum(-kInfinity) == "-inf.0");
  CHECK(format_flonum(-std::nan("")) == "+nan.0");
}

TEST_CASE("every flonum reads back as the same bits") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    double d = std::bit_cast<double>(random());
    if (std::isfinite(d)) REQUIRE_MESSAGE(is_flonum(format_flonum(d), d), format_flonum(d));
  }
  for (double d : {5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.0, -0.0, kInfinity, -kInfinity, 1e22, 1e23})
    CHECK(is_flonum(format_flonum(d), d));
}

TEST_CASE("integers are written in any radix and read in those of R4RS") {
  CHECK(format_integer(-42) == "-42");
  CHECK(format_integer(255, 16) == "ff");
  CHECK(is_exact("ff", 255, 16));
  CHECK(is_exact("#xFf", 255));
  CHECK(is_exact("#b-101", -5));
  CHECK(is_exact("#o17", 15));
  CHECK(is_exact("#d10", 10, 16));
  CHECK(is_exact("-7", -7));
  CHECK(is_exact("+7", 7));
  CHECK(is_exact("-0", 0));
}

TEST_CASE("exact integers hold 48 bits, longer ones become the nearest flonum") {
  CHECK(is_exact("140737488355327", 140737488355327));
  CHECK(is_exact("-140737488355328", -140737488355328));
  CHECK(is_flonum("140737488355328", 140737488355328.0));
  CHECK(is_flonum("-140737488355329", -140737488355329.0));
  CHECK(is_flonum("123456789012345678901234567890", 123456789012345678901234567890.0));
  CHECK(is_flonum("#xFFFFFFFFFFFFFFFFFFFF", 0x1p80));
  CHECK(is_flonum("#x1000000000000080000000001", 0x1.0000000000001p96));
  CHECK(is_flonum("#x100000000000008", 0x1.00000000000000p56));
  CHECK(is_flonum("#x100000000000018", 0x1.0000000000002p56));
  CHECK(is_flonum("1" + std::string(400, '0'), kInfinity));
}

TEST_CASE("decimals in all their spellings") {
  CHECK(is_flonum("2.", 2));
  CHECK(is_flonum(".5", 0.5));
  CHECK(is_flonum("-.5e1", -5));
  CHECK(is_flonum("1e3", 1000));
  CHECK(is_flonum("1E+3", 1000));
  CHECK(is_flonum("1d-2", 0.01));
  CHECK(is_flonum("15##", 1500));
  CHECK(is_flonum("1#.#", 10));
  CHECK(is_flonum("+inf.0", kInfinity));
  CHECK(is_flonum("-inf.0", -kInfinity));
  CHECK(std::isnan(parse_number("+nan.0")->flonum));
  CHECK(is_flonum("1e400", kInfinity));
  CHECK(is_flonum("-1e400", -kInfinity));
  CHECK(is_flonum("1e-400", 0));
  CHECK(is_flonum("-1e-400", -0.0));
  CHECK(is_flonum("0e99999999999999999999", 0));
  CHECK(is_flonum("1e99999999999999999999", kInfinity));
  CHECK(is_flonum("0." + std::string(400, '0') + "1e401", 1));
  CHECK(is_flonum("1" + std::string(400, '0') + "e-400", 1));
}

TEST_CASE("fractions divide to exact integers or are flonums") {
  CHECK(is_exact("6/3", 2));
  CHECK(is_exact("-6/3", -2));
  CHECK(is_flonum("1/2", 0.5));
  CHECK(is_flonum("-1/3", -1.0 / 3));
  CHECK(!parse_number("1/0"));
  CHECK(!parse_number("1/-2"));
  CHECK(!parse_number("1/2/3"));
}

TEST_CASE("exactness prefixes convert, and refuse what is no integer") {
  CHECK(is_exact("#e1.0", 1));
  CHECK(is_exact("#e1e3", 1000));
  CHECK(is_exact("#x#e10", 16));
  CHECK(is_exact("#e#x10", 16));
  CHECK(is_flonum("#i3", 3));
  CHECK(is_flonum("#e1e20", 1e20));
  CHECK(!parse_number("#e1.5"));
  CHECK(!parse_number("#e+inf.0"));
  CHECK(!parse_number("#e#e1"));
  CHECK(!parse_number("#x#b1"));
}

TEST_CASE("what is no number is refused") {
  for (const char* text : {"",   "+",   "-",     ".",   "...", "e1", "1e",   "1e+",   "1.2.3", "--1", "+-1",   "1x",  "abc", "#",
                           "#x", "#q1", "inf.0", "nan", "1 ",  " 1", "0x10", "#x1.5", "12#4",  "#",   "1_000", "-e5", "+."})
    CHECK_MESSAGE(!parse_number(text), text);
  CHECK(!parse_number("12", 2));
  CHECK(!parse_number("10", 7));
}
