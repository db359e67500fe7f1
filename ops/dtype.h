// Types of elements, and what comes out of two of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cairn::ops {

// X(name, other name in programs or "", C++ type that holds one, bytes). Files hold the number of the row.
#define CAIRN_DTYPES(X)                                                                                                          \
  X(u8, "byte", std::uint8_t, 1)                                                                                                 \
  X(i8, "char", std::int8_t, 1)                                                                                                  \
  X(i16, "short", std::int16_t, 2)                                                                                               \
  X(i32, "int", std::int32_t, 4)                                                                                                 \
  X(i64, "long", std::int64_t, 8)                                                                                                \
  X(f32, "float", float, 4)                                                                                                      \
  X(f64, "double", double, 8)                                                                                                    \
  X(bf16, "", cairn::ops::Bf16, 2)

// The upper half of a float, rounded to nearest even.
struct Bf16 {
  std::uint16_t bits;
};

enum class DType : std::uint8_t {
#define X(name, other, type, bytes) name,
  CAIRN_DTYPES(X)
#undef X
};
inline constexpr unsigned kDTypes = 8;

std::string_view name_of(DType type);
// Four bits a type: a local table would be made on the stack in each call.
constexpr std::int64_t bytes_of(DType type) {
  constexpr std::uint64_t kBytes = 0
#define X(name, other, type, bytes) | std::uint64_t{bytes} << 4 * static_cast<unsigned>(DType::name)
      CAIRN_DTYPES(X)
#undef X
      ;
  return static_cast<std::int64_t>(kBytes >> 4 * static_cast<unsigned>(type) & 15);
}
std::optional<DType> dtype_named(std::string_view name); // either name
constexpr bool is_floating(DType type) { return type >= DType::f32; }

// NumPy's rules: the smallest type that holds the values of both; an integer of 32 or 64 bits with f32 gives f64. bf16 gives way
// to f32 and f64, takes in integers of 8 bits, and gives f32 with larger ones. u8 with i8 gives i16.
DType promoted(DType a, DType b);
// What arithmetic with a number of the program gives: numbers are weak, so only a flonum with a tensor of integers changes the
// type, to f64.
DType promoted_with_number(DType tensor, bool exact);
// The floating type in which a quotient or exponential of a tensor is taken: integers give f64 (8 and 16 bits: f32).
DType floating_of(DType type);

} // namespace cairn::ops
