// Encodings of tensors with a bounded error, which stand on a tape for what a reverse rule multiplies with a cotangent
// (LossyKind). They are functions of the elements, how these lie, and the bound alone. And what a program says of them to the
// tensors whose cotangents show the error: in Tensor::number, which views, casts and copies of such a tensor have too, and
// nothing else.
#pragma once

#include "ops/operators/runtime.h"

#include <cstdint>
#include <span>

namespace cairn::ops {

// Above 0: the bound of each element's error in what the tensor is multiplied with. Below: its cotangent is to be what that error
// does to it, by operations that may encode their first operand (error_variance), and others add nothing to it.
inline constexpr double kMeasured = -1, kNotMeasuredHere = -2;
inline double mark_of(const Tensor& t) { return t.weak ? 0 : t.number; }
bool is_mark(double number);

// Whether such a tensor can be encoded where it is.
bool can_be_encoded(const Tensor& t);
// As bytes of type u8, of a tensor that lies without gaps. `bound`: of the error of each element, or a share of the largest
// magnitude. `small`: in the small form, of the same elements in fewer bytes, which takes longer. Its own `number` is the bound
// of each element's error, not a share; 0 where all is kept as it was, since a share came to a bound that none can be.
Tensor encoded(Runtime& runtime, const Tensor& t, double bound, bool relative, bool small);
// What encoding such a tensor is modelled to take, or decoding it.
Cost cost_of_lossy(const Tensor& like, bool small);
// Bytes in which any encoding of a tensor like that is made, beside the one that comes of it.
std::uint64_t room_to_encode(const Tensor& like);
// What was encoded, which lay like that. `small`: in that form, as the cost of it hangs on this.
Tensor decoded(Runtime& runtime, const Tensor& encoding, const Tensor& like, bool small);

// The variance of each element of the second operand's cotangent where each of the first one's elements, but for zeros, has an
// error of its own, uniform within bound: in units of bound^2 / 3. Such a cotangent is a sum of products, so the reverse rule
// tells that too, with squares of cotangents and ones in the place of elements.
Tensor error_variance(const VjpCall& call);

// Whether that can be what Definition::normalized of such a call gives behind the operand.
bool is_variances_of(const Tensor& variances, const Call& call);

// Whether these bytes are an encoding of such a tensor.
bool is_encoding_of(std::span<const std::uint8_t> bytes, const Tensor& like);

} // namespace cairn::ops
