// Numbers as text, for the reader, the printer, string->number and read-real. No heap, no machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn::text {

struct Number {
  bool exact = false;
  std::int64_t integer = 0; // if exact; within 48 bits
  double flonum = 0;        // otherwise
};

// Shortest text that reads back the same, always with a point or exponent: 2.0, 0.5, -0.0, 1e+31, +inf.0, -inf.0, +nan.0.
std::string format_flonum(double d);
std::string format_integer(std::int64_t i, unsigned radix = 10);

// The whole of `text` as a number of the language (2, -7, 2., .5, 1e3, +inf.0, 1/2 is read as the flonum 0.5 unless it divides;
// #x1F #b101 #o17 #d10 #e1.0 #i3 prefixes); nothing if it is none. Exact integers beyond 48 bits become flonums.
std::optional<Number> parse_number(std::string_view text, unsigned radix = 10);

// What std::from_chars found out of range: digits with a sign or without, at most one point, and an exponent or none. It does not
// say on which side; the place of the first digit that is no 0 does. An infinity or a zero, with its sign.
double beyond_range(std::string_view decimal);

} // namespace cairn::text
