// Tensors as text.
#pragma once

#include "ops/tensor.h"

#include <string>

namespace cairn::print {

// Like NumPy: type, shape, and the elements in brackets, lines aligned; of more than 1,000 only the first and last three along each axis. Waits
// for the elements.
std::string tensor_text(const ops::Tensor& t);
// Type, shape and residence alone, for messages.
std::string tensor_description(const ops::Tensor& t);

} // namespace cairn::print
