// Elements as unsigned integers of the same order, so that they are compared and sorted by their digits: negative ones below
// positive ones, NaNs above all.
#pragma once

#include "ops/cpu/loops/elementwise.h"

namespace cairn::ops::cpu {

// distinct: -0 is below +0, so all but NaNs can be made from their keys; ascending: it is equal; descending: the other way round,
// NaNs first.
enum class KeyOrder { distinct, ascending, descending };

// The bits of elements of so many bytes.
template <int bytes> struct RawOf;
template <> struct RawOf<1> { using Type = std::uint8_t; };
template <> struct RawOf<2> { using Type = std::uint16_t; };
template <> struct RawOf<4> { using Type = std::uint32_t; };
template <> struct RawOf<8> { using Type = std::uint64_t; };

// Of elements of so many bytes; smaller ones use the low bits.
template <int bytes> struct KeyOf { using Type = std::uint32_t; };
template <> struct KeyOf<8> { using Type = std::uint64_t; };

// The loop in[0]: elements -> out: keys.
Loop keys_of(DType type, KeyOrder order);
// And back, from those that are distinct; in place also.
Loop elements_of(DType type);

} // namespace cairn::ops::cpu
