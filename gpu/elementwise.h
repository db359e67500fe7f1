// Elementwise work on the GPU: what a thread does for one element of the output, on strided, broadcast operands of any types.
// Types of operands are looked at while running (all threads take the same way), so there is one kernel for each function and
// type computed in.
//
// Nothing here needs a GPU: test/gpu_host runs the same functions on the host.
#pragma once

#include "ops/compute.h"
#include "ops/convert.h"
#include "ops/operator_ids.h"

#include <cstdint>

#ifdef __CUDACC__
#define CAIRN_GPU __host__ __device__
#else
#define CAIRN_GPU
#endif

namespace cairn::gpu {

using namespace ops;

inline constexpr unsigned kMostOperands = 4;
inline constexpr int kMostThreads = 256; // of a block

struct StridedOperand {
  char* data = nullptr;
  std::int64_t strides[kMostAxes] = {}; // in elements, by axis of the traversal; 0 where it is broadcast
  double number = 0;                    // of the program, if `weak`
  DType dtype = DType::f32;
  bool weak = false;
};

// The axes of the output, innermost first, joined where all operands allow it. Passed to kernels by value.
struct Traversal {
  std::int64_t count = 0; // elements of the output
  std::int64_t sizes[kMostAxes] = {};
  int rank = 0;
  unsigned inputs = 0;
  OperatorId op = OperatorId::count; // which function of the body
  double parameter = 0;
  std::uint64_t key = 0;
  StridedOperand in[kMostOperands];
  StridedOperand out;
};

// Operands broadcast to the shape of the output.
Traversal traversal_of(std::span<const View> inputs, const View& output);

template <class T> CAIRN_GPU inline T load(const StridedOperand& operand, std::int64_t at) {
  if (operand.weak) return converted<T>(operand.number);
  switch (operand.dtype) {
#define X(name, other, type, bytes)                                                                                              \
  case DType::name:                                                                                                              \
    return converted<T>(reinterpret_cast<const type*>(operand.data)[at]);
    CAIRN_DTYPES(X)
#undef X
  }
  return T(0);
}

// 1 where the element is not 0, whatever its type.
template <class T> CAIRN_GPU inline T load_condition(const StridedOperand& operand, std::int64_t at) {
  if (operand.weak) return operand.number != 0 ? T(1) : T(0);
  if (operand.dtype == DType::i64) return reinterpret_cast<const std::int64_t*>(operand.data)[at] != 0 ? T(1) : T(0);
  return load<double>(operand, at) != 0 ? T(1) : T(0);
}

template <class T> CAIRN_GPU inline void store(const StridedOperand& operand, std::int64_t at, T value) {
  switch (operand.dtype) {
#define X(name, other, type, bytes)                                                                                              \
  case DType::name:                                                                                                              \
    reinterpret_cast<type*>(operand.data)[at] = converted<type>(value);                                                          \
    break;
    CAIRN_DTYPES(X)
#undef X
  }
}

// Where the i-th element of the output, in the order of the traversal, lies in each operand. Index: 32 bits where they are
// enough, since divisions are what this costs.
template <class Index, unsigned n>
CAIRN_GPU inline void offsets(const Traversal& traversal, std::int64_t element, std::int64_t (&in)[n], std::int64_t& out) {
  for (unsigned k = 0; k < n; ++k) in[k] = 0;
  out = 0;
  Index left = static_cast<Index>(element);
  for (int axis = 0; axis < traversal.rank; ++axis) {
    const bool last = axis + 1 == traversal.rank;
    const Index size = static_cast<Index>(traversal.sizes[axis]);
    const Index rest = last ? 0 : left / size;
    const std::int64_t at = static_cast<std::int64_t>(left - rest * size);
    for (unsigned k = 0; k < n; ++k) in[k] += at * traversal.in[k].strides[axis];
    out += at * traversal.out.strides[axis];
    left = rest;
  }
}

// A body has how many operands it takes, whether the first is a condition, and what it computes from them for the i-th element of
// the traversal.
template <class Body, class T> CAIRN_GPU inline void element(const Traversal& traversal, std::int64_t i) {
  std::int64_t at[Body::inputs], out = 0;
  if (traversal.count < (std::int64_t{1} << 31))
    offsets<std::uint32_t, Body::inputs>(traversal, i, at, out);
  else
    offsets<std::uint64_t, Body::inputs>(traversal, i, at, out);
  T x[Body::inputs];
  for (unsigned k = 0; k < Body::inputs; ++k)
    x[k] = Body::condition && k == 0 ? load_condition<T>(traversal.in[k], at[k]) : load<T>(traversal.in[k], at[k]);
  store(traversal.out, out, Body::template value<T>(traversal, x, i));
}

} // namespace cairn::gpu
