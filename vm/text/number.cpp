// Numbers as text, both ways, by std::to_chars and std::from_chars: exact to the last bit and independent of the locale.
// A decimal that is too long or too large for the standard functions is still read correctly rounded.
#include "vm/text/number.h"

#include "vm/text/exact.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace cairn::text {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

Number exact(std::int64_t i) {
  if (fits_integer(i)) return {true, i, 0};
  return {false, 0, static_cast<double>(i)};
}
Number inexact(double d) { return {false, 0, d}; }
double to_double(const Number& n) { return n.exact ? static_cast<double>(n.integer) : n.flonum; }

// Digits, then R4RS's # in place of digits that are not known: they count as zeros and make the number inexact.
bool is_digits(std::string_view digits, unsigned radix) {
  std::size_t known = 0;
  while (known < digits.size() && digit_value(digits[known]) < static_cast<int>(radix)) ++known;
  std::size_t hashes = known;
  while (hashes < digits.size() && digits[hashes] == '#') ++hashes;
  return known > 0 && hashes == digits.size();
}
bool has_hash(std::string_view digits) { return !digits.empty() && digits.back() == '#'; }
char known_digit(char c) { return c == '#' ? '0' : c; }

// `decimal` is well formed: digits with at most one point, then perhaps e and an exponent.
double decimal_value(const std::string& decimal) {
  double value = 0;
  auto result = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
  return result.ec == std::errc::result_out_of_range ? beyond_range(decimal) : value;
}

// Correctly rounded: the leading 64 bits are kept, and what is lost below them leaves a sticky bit.
double binary_value(std::string_view digits, unsigned radix) {
  const int width = std::countr_zero(radix);
  std::uint64_t bits = 0;
  int exponent = 0;
  for (char c : digits)
    for (int bit = width - 1; bit >= 0; --bit) {
      std::uint64_t next = static_cast<unsigned>(digit_value(known_digit(c))) >> bit & 1;
      if (bits >> 63 == 0) {
        bits = bits << 1 | next;
      } else {
        bits |= next;
        if (exponent < 1 << 20) ++exponent;
      }
    }
  return std::ldexp(static_cast<double>(bits), exponent);
}

std::optional<Number> parse_integer(std::string_view digits, unsigned radix) {
  if (!is_digits(digits, radix)) return std::nullopt;
  std::int64_t value = 0;
  bool fits = true;
  for (char c : digits) {
    value = value * radix + digit_value(known_digit(c));
    if (value > kMostInteger + 1) {
      fits = false;
      break;
    }
  }
  if (fits && !has_hash(digits)) return Number{true, value, 0}; // one more than the most is the least, negated
  if (radix != 10) return inexact(binary_value(digits, radix));
  std::string decimal;
  for (char c : digits) decimal += known_digit(c);
  return inexact(decimal_value(decimal));
}

// Digits with a point or an exponent, in radix ten.
std::optional<Number> parse_decimal(std::string_view text) {
  std::string decimal;
  std::size_t at = 0, digits = 0;
  bool point = false, hash = false;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (c == '.' && !point) {
      point = true;
    } else if (c == '#' && digits > 0) {
      hash = true;
      ++digits;
    } else if (c >= '0' && c <= '9' && !hash) {
      ++digits;
    } else {
      break;
    }
    decimal += known_digit(c);
  }
  if (digits == 0) return std::nullopt;
  if (at < text.size()) {
    if (std::string_view("esfdl").find(lower(text[at])) == std::string_view::npos) return std::nullopt;
    decimal += 'e';
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
      if (text[at] == '-') decimal += '-';
      ++at;
    }
    if (at == text.size()) return std::nullopt;
    for (; at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '9') return std::nullopt;
      decimal += text[at];
    }
  }
  return inexact(decimal_value(decimal));
}

std::optional<Number> parse_unsigned(std::string_view text, unsigned radix) {
  if (auto slash = text.find('/'); slash != std::string_view::npos) {
    auto above = parse_integer(text.substr(0, slash), radix), below = parse_integer(text.substr(slash + 1), radix);
    if (!above || !below) return std::nullopt;
    if (above->exact && below->exact) {
      if (below->integer == 0) return std::nullopt;
      if (above->integer % below->integer == 0) return Number{true, above->integer / below->integer, 0};
    }
    return inexact(to_double(*above) / to_double(*below));
  }
  if (auto whole = parse_integer(text, radix)) return whole;
  if (radix == 10) return parse_decimal(text);
  return std::nullopt;
}

bool is_same_name(std::string_view text, std::string_view name) {
  if (text.size() != name.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (lower(text[i]) != name[i]) return false;
  return true;
}

std::optional<Number> make_exact(const Number& n) {
  if (n.exact) return n;
  if (!(std::abs(n.flonum) <= std::numeric_limits<double>::max()) || n.flonum != std::trunc(n.flonum)) return std::nullopt;
  if (std::abs(n.flonum) > static_cast<double>(kMostInteger) + 1) return n;
  return exact(static_cast<std::int64_t>(n.flonum));
}

} // namespace

double beyond_range(std::string_view decimal) {
  const bool below = decimal.starts_with('-');
  std::int64_t magnitude = 0;
  bool point = false, significant = false;
  std::size_t at = below ? 1 : 0;
  for (; at < decimal.size() && lower(decimal[at]) != 'e'; ++at) {
    if (decimal[at] == '.') {
      point = true;
      continue;
    }
    significant = significant || decimal[at] != '0';
    if (point && !significant) --magnitude;
    if (!point && significant) ++magnitude;
  }
  std::int64_t exponent = 0;
  bool negative = false;
  for (++at; at < decimal.size(); ++at) {
    if (decimal[at] == '-') negative = true;
    if (decimal[at] >= '0' && decimal[at] <= '9' && exponent < 1'000'000'000'000) exponent = exponent * 10 + (decimal[at] - '0');
  }
  const bool large = significant && magnitude + (negative ? -exponent : exponent) > 0;
  return std::copysign(large ? std::numeric_limits<double>::infinity() : 0.0, below ? -1.0 : 1.0);
}

std::string format_flonum(double d) {
  if (d != d) return "+nan.0";
  if (std::isinf(d)) return d > 0 ? "+inf.0" : "-inf.0";
  std::array<char, 32> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), d).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string format_integer(std::int64_t i, unsigned radix) {
  std::array<char, 72> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), i, static_cast<int>(radix)).ptr};
}

std::optional<Number> parse_number(std::string_view text, unsigned radix) {
  char exactness = 0;
  bool radix_given = false;
  while (text.size() >= 2 && text[0] == '#') {
    char mark = lower(text[1]);
    bool is_exactness = mark == 'e' || mark == 'i';
    if (is_exactness ? exactness != 0 : radix_given) return std::nullopt;
    switch (mark) {
    case 'e':
    case 'i':
      exactness = mark;
      break;
    case 'b':
      radix = 2;
      break;
    case 'o':
      radix = 8;
      break;
    case 'd':
      radix = 10;
      break;
    case 'x':
      radix = 16;
      break;
    default:
      return std::nullopt;
    }
    radix_given = radix_given || !is_exactness;
    text.remove_prefix(2);
  }
  if (radix != 2 && radix != 8 && radix != 10 && radix != 16) return std::nullopt;
  bool negative = false, sign = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    sign = true;
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  std::optional<Number> number;
  if (sign && is_same_name(text, "inf.0")) {
    number = inexact(std::numeric_limits<double>::infinity());
  } else if (sign && is_same_name(text, "nan.0")) {
    number = inexact(std::numeric_limits<double>::quiet_NaN());
    negative = false;
  } else {
    number = parse_unsigned(text, radix);
  }
  if (!number) return std::nullopt;
  if (number->exact)
    number = exact(negative ? -number->integer : number->integer);
  else if (negative)
    number->flonum = -number->flonum;
  if (exactness == 'i') return inexact(to_double(*number));
  if (exactness == 'e') return make_exact(*number);
  return number;
}

} // namespace cairn::text
