// Tensors as text.
#pragma once

#include "ops/tensor.h"
#include "vm/print/environment.h"

#include <functional>
#include <string>
#include <string_view>

namespace cairn::print {

// Like NumPy: type, shape, and the elements in brackets, lines aligned; of more than 1,000 only the first and last three along
// each axis. Waits for the elements. In pieces, as long as `put` returns true; what is held meanwhile is charged, and it can be
// stopped.
void write_tensor(const ops::Tensor& t, const Environment& environment, const std::function<bool(std::string_view)>& put);
// The text of a number, as that of the only element that the tensor has.
std::string only_element(const ops::Tensor& t);
// Type, shape and residence alone, for messages.
std::string tensor_description(const ops::Tensor& t);

} // namespace cairn::print
