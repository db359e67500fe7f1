// Bounded encodings of tensors on the processor (encoding.h): kernels, and the check of what comes from elsewhere. An encoding is
// a function of the elements, how they lie and the bound alone: threads, addresses and processors do not matter.
#pragma once

#include "ops/operator.h"

#include <span>

namespace cairn::ops::cpu {

// (x), dense and floating; the bound, whether it is a share of the largest magnitude, and whether the form is the small one, of
// which decoding makes the same elements. The encoding stands at the beginning of
// the result, which has room for any; what is behind it is undefined.
void encode_bounded(const KernelCall& call);
// (x), dense; as many of its first bytes as the result has.
void first_bytes(const KernelCall& call);
// (encoding): the elements, of which there are as many as the result has, one behind the other. Of what is no encoding of such
// elements come others.
void decode_bounded(const KernelCall& call);

// Of the result of encode_bounded.
std::int64_t room_for_encoding(std::int64_t elements, DType type);
// How many bytes an encoding has, by its first kBytesOfHead.
inline constexpr std::int64_t kBytesOfHead = 32;
std::int64_t bytes_of_encoding(const void* head);
// The bound of each element's error, by the same bytes.
double bound_of_encoding(const void* head);
// Whether these are the bytes of an encoding of so many elements of that type.
bool is_encoding(std::span<const std::uint8_t> bytes, std::int64_t elements, DType type);

} // namespace cairn::ops::cpu
