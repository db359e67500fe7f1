// Pools over windows of the spatial axes on the CPU, of operands of any layout; fastest where channels lie closest.
#pragma once

#include "ops/windows.h"

namespace cairn::ops::cpu {

// Which positions of the input an output looks at, along each axis: windows that slide, or bins that divide the axis evenly.
struct Pool {
  Windows windows;
  bool bins = false;
  bool count_padding = true; // in averages
};

enum class MaxPool {
  value,
  pick
}; // of (x): the largest; of (t, x): the element of t where x is largest in the window, the first of equals

void max_pool(const Pool& pool, MaxPool what, const View& out, std::span<const View> in);
void max_pool_vjp(const Pool& pool, const View& out, const View& cotangent, const View& x);
// Of each window, as bytes, the place of the first of the largest among those of its places that are not padding, in row-major
// order; and the reverse rule by these, with the same bits.
void max_pool_places(const Pool& pool, const View& out, const View& x);
void max_pool_vjp_by_places(const Pool& pool, const View& out, const View& cotangent, const View& places);
void average_pool(const Pool& pool, const View& out, const View& in);
void average_pool_vjp(const Pool& pool, const View& out, const View& cotangent);

} // namespace cairn::ops::cpu
