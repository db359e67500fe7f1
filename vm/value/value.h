// The 64-bit value: a flonum as it is, everything else in the space of negative quiet NaNs, told apart by the top 16 bits.
//
//   0x0000 .. 0xFFF8   flonum (a NaN is always canonical: 0x7FF8000000000000 or 0xFFF8000000000000)
//   0xFFF9             exact integer, 48 bits, two's complement
//   0xFFFA             immediate: #f #t () unspecified, characters
//   0xFFFB             taped number: tape id (16 bits), node (32 bits)
//   0xFFFC             pair       -+
//   0xFFFD             procedure   | heap objects; the low 48 bits are the address
//   0xFFFE             other      -+
//
// A Value carries no ownership by itself: functions say whether they take (consume), borrow or return an owned one.
#pragma once

#include "vm/text/exact.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace cairn::value {

using cairn::fits_integer;
using cairn::kLeastInteger;
using cairn::kMostInteger;

struct Object;
struct Pair;
struct Procedure;

inline constexpr std::uint64_t kTagShift = 48;
inline constexpr std::uint64_t kPayloadMask = (std::uint64_t{1} << 48) - 1;
inline constexpr std::uint64_t kIntegerTag = 0xFFF9, kImmediateTag = 0xFFFA, kTapedTag = 0xFFFB, kPairTag = 0xFFFC,
                               kProcedureTag = 0xFFFD, kOtherTag = 0xFFFE;

struct Value {
  std::uint64_t bits;

  constexpr std::uint64_t tag() const { return bits >> kTagShift; }
  constexpr bool is_flonum() const { return bits < kIntegerTag << kTagShift; }
  constexpr bool is_integer() const { return tag() == kIntegerTag; }
  constexpr bool is_taped() const { return tag() == kTapedTag; }
  constexpr bool is_pair() const { return tag() == kPairTag; }
  constexpr bool is_procedure() const { return tag() == kProcedureTag; }
  constexpr bool is_other() const { return tag() == kOtherTag; }
  constexpr bool is_object() const { return bits >= kPairTag << kTagShift; }

  double flonum() const { return std::bit_cast<double>(bits); }
  constexpr std::int64_t integer() const { return static_cast<std::int64_t>(bits << 16) >> 16; }
  constexpr std::uint64_t payload() const { return bits & kPayloadMask; }
  constexpr std::uint32_t tape_node() const { return static_cast<std::uint32_t>(bits); }
  constexpr std::uint16_t tape_id() const { return static_cast<std::uint16_t>(bits >> 32); }
  Pair* pair() const { return reinterpret_cast<Pair*>(payload()); }
  Procedure* procedure() const { return reinterpret_cast<Procedure*>(payload()); }
  Object* other() const { return reinterpret_cast<Object*>(payload()); }
  constexpr bool operator==(const Value&) const = default; // identity of bits
};

inline constexpr Value kFalse{kImmediateTag << kTagShift | 0}, kTrue{kImmediateTag << kTagShift | 1},
    kNull{kImmediateTag << kTagShift | 2}, kUnspecified{kImmediateTag << kTagShift | 3},
    kUndefined{kImmediateTag << kTagShift | 4}; // a global whose definition has not run; never seen by programs
inline constexpr std::uint64_t kCharacterBit = std::uint64_t{1} << 32;

constexpr Value boolean(bool b) { return b ? kTrue : kFalse; }
constexpr Value character(std::uint32_t code_point) { return {kImmediateTag << kTagShift | kCharacterBit | code_point}; }
constexpr bool is_character(Value v) { return v.tag() == kImmediateTag && (v.bits & kCharacterBit) != 0; }
constexpr std::uint32_t code_point(Value v) { return static_cast<std::uint32_t>(v.bits); }
constexpr bool is_boolean(Value v) { return v == kFalse || v == kTrue; }
constexpr Value integer_unchecked(std::int64_t i) {
  return {kIntegerTag << kTagShift | (static_cast<std::uint64_t>(i) & kPayloadMask)};
}
inline Value flonum_unchecked(double d) { return {std::bit_cast<std::uint64_t>(d)}; }
// Any double; NaNs are made canonical. Arithmetic on canonical operands only makes canonical NaNs, so it may skip this.
inline Value flonum(double d) {
  return d == d ? flonum_unchecked(d) : flonum_unchecked(std::numeric_limits<double>::quiet_NaN());
}
// The exact integer where it fits, else the flonum nearest to it.
inline Value integer(std::int64_t i) { return fits_integer(i) ? integer_unchecked(i) : flonum(static_cast<double>(i)); }
constexpr Value taped(std::uint16_t tape, std::uint32_t node) {
  return {kTapedTag << kTagShift | std::uint64_t{tape} << 32 | node};
}
inline Value of_pair(Pair* p) { return {kPairTag << kTagShift | reinterpret_cast<std::uint64_t>(p)}; }
inline Value of_procedure(Procedure* p) { return {kProcedureTag << kTagShift | reinterpret_cast<std::uint64_t>(p)}; }
inline Value of_other(Object* o) { return {kOtherTag << kTagShift | reinterpret_cast<std::uint64_t>(o)}; }

} // namespace cairn::value
