// Elementwise kernels on strided, broadcast operands of any types. A kernel brings only a loop over arrays of the type it
// computes in; whatever is not such an array (other types, strides, numbers) is staged into one, block by block, so there is no
// copy of the code for each combination of types and layouts.
#pragma once

#include "ops/compute.h"
#include "ops/convert.h"
#include "ops/operator.h"

#include <cstdint>

namespace cairn::ops::cpu {

// out[i] = f(in[0][i], in[1][i], ...) for i < n, all arrays of the type computed in.
using Loop = void (*)(void* out, const void* const* in, std::int64_t n, double parameter);
struct Loops {
  Loop f32 = nullptr, f64 = nullptr, i64 = nullptr;
  Loop operator[](Compute compute) const { return compute == Compute::f32 ? f32 : compute == Compute::f64 ? f64 : i64; }
};

inline constexpr unsigned kMostOperands = 6;
inline constexpr std::int64_t kElementsInline = 32 << 10; // up to so many, threads cost more than they bring

struct Details {
  double parameter = 0;   // passed to the loop
  bool condition = false; // the first operand is seen as 1 where it is not 0, else 0
  bool flags = false;     // the loop writes elements of type u8
};

// One output. Operands are broadcast to its shape. A null loop copies the only operand.
void elementwise(const KernelCall& call, Compute compute, Loop loop, const Details& details = {});

// n elements of a strided array to an array of the type computed in, and back.
void load(Compute compute, void* to, DType type, const void* from, std::int64_t stride, std::int64_t n);
void store(Compute compute, const void* from, DType type, void* to, std::int64_t stride, std::int64_t n);

} // namespace cairn::ops::cpu
