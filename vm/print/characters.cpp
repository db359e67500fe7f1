// The tables behind characters.h: blocks in which upper and lower case lie a fixed distance apart, or alternate.
#include "vm/print/characters.h"

namespace cairn::print {

namespace {

struct Shifted { // upper case first..last; lower case `distance` above
  std::uint32_t first, last, distance;
};
constexpr Shifted kShifted[] = {{'A', 'Z', 32},     {0xC0, 0xD6, 32},   {0xD8, 0xDE, 32},   {0x391, 0x3A1, 32},
                                {0x3A3, 0x3AB, 32}, {0x410, 0x42F, 32}, {0x400, 0x40F, 80}, {0x388, 0x38A, 37}};

struct Alternating { // upper case at first, first + 2, ...; lower case one above
  std::uint32_t first, last;
};
constexpr Alternating kAlternating[] = {{0x100, 0x12F}, {0x132, 0x137}, {0x139, 0x148}, {0x14A, 0x177}, {0x179, 0x17E},
                                        {0x460, 0x481}, {0x48A, 0x4BF}, {0x4C1, 0x4CE}, {0x4D0, 0x52F}};

struct Single {
  std::uint32_t upper, lower;
};
constexpr Single kSingle[] = {{0x178, 0xFF}, {0x386, 0x3AC}, {0x38C, 0x3CC}, {0x38E, 0x3CD}, {0x38F, 0x3CE}, {0x4C0, 0x4CF}};
constexpr std::uint32_t kFinalSigma = 0x3C2, kSigma = 0x3A3;

struct Range {
  std::uint32_t first, last;
};
constexpr Range kLetters[] = {
    {'A', 'Z'},       {'a', 'z'},       {0xAA, 0xAA},     {0xB5, 0xB5},      {0xBA, 0xBA},     {0xC0, 0xD6},     {0xD8, 0xF6},
    {0xF8, 0x2C1},    {0x370, 0x373},   {0x376, 0x377},   {0x37B, 0x37D},    {0x37F, 0x37F},   {0x386, 0x386},   {0x388, 0x3FF},
    {0x400, 0x481},   {0x48A, 0x52F},   {0x531, 0x556},   {0x561, 0x587},    {0x5D0, 0x5EA},   {0x620, 0x64A},   {0x671, 0x6D3},
    {0x904, 0x939},   {0xE01, 0xE30},   {0x10A0, 0x10FF}, {0x1100, 0x11FF},  {0x1E00, 0x1FBC}, {0x3041, 0x3096}, {0x30A1, 0x30FA},
    {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xAC00, 0xD7A3}, {0x20000, 0x2FA1F}};

} // namespace

std::uint32_t upcase(std::uint32_t c) {
  for (const Shifted& s : kShifted)
    if (c >= s.first + s.distance && c <= s.last + s.distance) return c - s.distance;
  for (const Alternating& a : kAlternating)
    if (c >= a.first && c <= a.last) return c - (c - a.first) % 2;
  for (const Single& s : kSingle)
    if (c == s.lower) return s.upper;
  return c == kFinalSigma ? kSigma : c;
}

std::uint32_t downcase(std::uint32_t c) {
  for (const Shifted& s : kShifted)
    if (c >= s.first && c <= s.last) return c + s.distance;
  for (const Alternating& a : kAlternating)
    if (c >= a.first && c <= a.last) return c - (c - a.first) % 2 + 1;
  for (const Single& s : kSingle)
    if (c == s.upper) return s.lower;
  return c;
}

bool is_alphabetic(std::uint32_t c) {
  for (const Range& r : kLetters)
    if (c >= r.first && c <= r.last) return true;
  return false;
}

bool is_numeric(std::uint32_t c) { return c >= '0' && c <= '9'; }

bool is_whitespace(std::uint32_t c) {
  return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

} // namespace cairn::print
