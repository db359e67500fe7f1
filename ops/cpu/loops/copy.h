// Copies between layouts on the CPU, and sweeps over the axes of tensors that several kernels need.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

// The elements of `from` to the positions of `to`, of the same shape; converted if the types differ.
void copy_elements(const View& to, const View& from);
// Elements first, first + 1, ... (so many) along an axis.
View narrowed(View v, int axis, std::int64_t first, std::int64_t count);
// One number everywhere.
void fill_elements(const View& to, double number);

} // namespace cairn::ops::cpu
