// Lines in order on the CPU. Ascending: NaNs come last; the largest: in descending order, NaNs first. Equal elements stay in
// their order, and each comes out bit by bit.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

void sort(int axis, const View& values, const View& x);
// indices: of type i64.
void argsort(int axis, const View& indices, const View& x);
// As many as there is room for in the results; values: null where indices alone are wanted.
void largest(int axis, const View* values, const View& indices, const View& x);

// Reverse rules: each part of the cotangent to the position that its element came from, 0 elsewhere.
void sort_vjp(int axis, const View& out, const View& cotangent, const View& x);
void largest_vjp(int axis, const View& out, const View& cotangent, const View& x);

} // namespace cairn::ops::cpu
