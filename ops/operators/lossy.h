// Encodings of tensors with a bounded error, which stand on a tape for what a reverse rule multiplies with a cotangent
// (LossyKind). They are functions of the elements and the bound alone.
#pragma once

#include "ops/operators/runtime.h"

#include <cstdint>
#include <span>

namespace cairn::ops {

// Whether such a tensor can be encoded where it is.
bool can_be_encoded(const Tensor& t);
// As bytes of type u8, of a tensor that lies without gaps. `bound`: of the error of each element, or a share of the largest
// magnitude. `small`: in the small form, of the same elements in fewer bytes, which takes longer.
Tensor encoded(Runtime& runtime, const Tensor& t, double bound, bool relative, bool small);
// What was encoded, which lay like that.
Tensor decoded(Runtime& runtime, const Tensor& encoding, const Tensor& like);

// Whether these bytes are an encoding of such a tensor.
bool is_encoding_of(std::span<const std::uint8_t> bytes, const Tensor& like);

} // namespace cairn::ops
