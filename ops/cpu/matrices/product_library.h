// Products of matrices by the module cairn_math: which ones it gets, and how they are cut for its calls.
#pragma once

#include "ops/cpu/matrices/product_operands.h"

namespace cairn::ops::cpu::product {

// c = a b for all members of the stack. False: there is no library, it is nothing for one, or it could not; own loops do it then.
// ScratchExceeded: the budget has no room for what a call needs beside its operands.
bool multiplied_by_library(const Stack& stack, const Matrix& c, const Matrix& a, const Matrix& b);
// The same of one product that is a part of a thread's work already, so that it is not divided among threads; or c = c + a b, for
// float and double.
bool multiplied_by_library(const Matrix& c, const Matrix& a, const Matrix& b, bool adds);

} // namespace cairn::ops::cpu::product
