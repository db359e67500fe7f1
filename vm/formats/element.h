// Elements as files hold them: those of a tensor, or of a type that Cairn lacks and that becomes a wider one, from the lowest
// byte to the highest or the other way round.
#pragma once

#include "ops/dtype.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn::formats {

enum class Widened : std::uint8_t { no, u16, u32, f16 };

struct Element {
  ops::DType type = ops::DType::f32; // that it becomes
  Widened from = Widened::no;
  bool swapped = false; // bytes from the highest to the lowest
  std::int64_t bytes() const { return from == Widened::no ? ops::bytes_of(type) : from == Widened::u32 ? 4 : 2; }
  // Whether a tensor's memory holds the same bytes.
  bool plain() const { return from == Widened::no && !swapped; }
};

// u8, i16, f32 and so on, u16, u32 and f16; behind them -be if the highest byte comes first.
std::optional<Element> element_named(std::string_view name);
std::string name_of(const Element& element);

// So many elements as a tensor holds them. `to` may be `from` if none is widened.
void decode(const Element& element, const std::byte* from, std::byte* to, std::int64_t count);

} // namespace cairn::formats
