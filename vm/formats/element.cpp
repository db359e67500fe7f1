// See element.h.
#include "vm/formats/element.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace cairn::formats {

using ops::DType;

namespace {

constexpr std::string_view kSwappedEnd = "-be";
struct WideName {
  std::string_view name;
  Widened from;
  DType type;
};
constexpr WideName kWideNames[] = {
    {"u16", Widened::u16, DType::i32}, {"u32", Widened::u32, DType::i64}, {"f16", Widened::f16, DType::f32}};

template <class T> T loaded(const std::byte* from, bool swapped) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof bytes);
  if (swapped) std::reverse(bytes, bytes + sizeof bytes);
  T x;
  std::memcpy(&x, bytes, sizeof x);
  return x;
}

template <class Narrow, class Wide, class F>
void widen(const std::byte* from, std::byte* to, std::int64_t count, bool swapped, F&& f) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Wide wide = f(loaded<Narrow>(from + i * static_cast<std::int64_t>(sizeof(Narrow)), swapped));
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof(Wide)), &wide, sizeof wide);
  }
}

// IEEE half precision: one bit of sign, five of exponent, ten of fraction.
float of_half(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t{h & 0x8000u} << 16, exponent = h >> 10 & 0x1Fu, fraction = h & 0x3FFu;
  if (exponent == 0) { // zero or denormal: so many times 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFFu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

} // namespace

std::optional<Element> element_named(std::string_view name) {
  Element out;
  if (name.ends_with(kSwappedEnd)) {
    out.swapped = true;
    name.remove_suffix(kSwappedEnd.size());
  }
  for (const WideName& wide : kWideNames)
    if (wide.name == name) {
      out.from = wide.from;
      out.type = wide.type;
      return out;
    }
  const auto type = ops::dtype_named(name);
  if (!type) return std::nullopt;
  out.type = *type;
  if (out.bytes() == 1) out.swapped = false;
  return out;
}

std::string name_of(const Element& element) {
  std::string_view name = ops::name_of(element.type);
  for (const WideName& wide : kWideNames)
    if (wide.from == element.from) name = wide.name;
  return std::string(name) + std::string(element.swapped ? kSwappedEnd : "");
}

void decode(const Element& element, const std::byte* from, std::byte* to, std::int64_t count) {
  switch (element.from) {
  case Widened::u16:
    return widen<std::uint16_t, std::int32_t>(from, to, count, element.swapped, [](std::uint16_t x) { return std::int32_t{x}; });
  case Widened::u32:
    return widen<std::uint32_t, std::int64_t>(from, to, count, element.swapped, [](std::uint32_t x) { return std::int64_t{x}; });
  case Widened::f16:
    return widen<std::uint16_t, float>(from, to, count, element.swapped, of_half);
  case Widened::no:
    break;
  }
  const std::int64_t size = element.bytes();
  if (to != from) std::memcpy(to, from, static_cast<std::size_t>(count * size));
  if (element.swapped)
    for (std::byte* at = to; at != to + count * size; at += size) std::reverse(at, at + size);
}

} // namespace cairn::formats
