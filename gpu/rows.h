// Operators that look at a whole row and write all of it: softmax, its logarithm, their reverse rules, and where the first of the
// largest elements is. A row is what lies along some axes; the threads of a block are its lanes, each with every n-th element,
// and what they found is put together in pairs. A lane goes over its elements once for each thing to be known and once more to
// write.
//
// Nothing here needs a GPU: test/gpu_host runs the same functions on the host.
#pragma once

#include "gpu/elementwise.h"
#include "ops/pointwise.h"
#include "ops/pointwise_binary.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace cairn::gpu {

struct Rows {
  Traversal kept;  // which row: the inputs, then the output as one more input
  Traversal along; // which element of it, in row-major order
  OperatorId op = OperatorId::softmax;
  int lanes = 32;
};

// Operators of this family.
inline constexpr OperatorId kRowOperators[] = {OperatorId::softmax, OperatorId::log_softmax, OperatorId::softmax_vjp,
                                               OperatorId::log_softmax_vjp, OperatorId::max_over_mask};
inline bool is_of_rows(OperatorId op) {
  return std::find(std::begin(kRowOperators), std::end(kRowOperators), op) != std::end(kRowOperators);
}
Rows rows_of(OperatorId op, const KernelCall& call);
Compute computed_in(const Rows& rows);

// What lanes find: a number, and for max_over_mask at which element.
template <class T> struct Found {
  T value;
  std::int64_t at;
};

// How many things must be known before a row can be written.
CAIRN_GPU inline int rounds_of(OperatorId op) { return op == OperatorId::softmax || op == OperatorId::log_softmax ? 2 : 1; }
CAIRN_GPU inline bool seeks_largest(OperatorId op, int round) {
  return rounds_of(op) == 2 ? round == 0 : op == OperatorId::max_over_mask;
}

// Where the i-th element of a row lies in each operand.
CAIRN_GPU inline void row_offsets(const Rows& rows, std::int64_t row, std::int64_t i, std::int64_t (&at)[3]) {
  std::int64_t further[3], nowhere = 0;
  offsets<std::uint64_t, 3>(rows.kept, row, at, nowhere);
  offsets<std::uint64_t, 3>(rows.along, i, further, nowhere);
  for (int k = 0; k < 3; ++k) at[k] += further[k];
}

template <class T> CAIRN_GPU inline Found<T> row_pair(const Rows& rows, int round, Found<T> a, Found<T> b) {
  if (!seeks_largest(rows.op, round)) return {a.value + b.value, 0};
  if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
  const bool a_first = a.at < b.at; // of equals, and of NaNs, the first in the row
  const Found<T> first = a_first ? a : b, second = a_first ? b : a;
  return pointwise::equal(pointwise::Max::choice<T>(first.value, second.value, T(1), T(0)), T(1)) ? first : second;
}

// What one lane finds in a round, knowing what was found in the one before.
template <class T> CAIRN_GPU inline Found<T> row_lane(const Rows& rows, std::int64_t row, int lane, int round, Found<T> before) {
  Found<T> found{T(0), seeks_largest(rows.op, round) ? -1 : 0};
  for (std::int64_t i = lane; i < rows.along.count; i += rows.lanes) {
    std::int64_t at[3];
    row_offsets(rows, row, i, at);
    T x = load<T>(rows.kept.in[0], at[0]);
    if constexpr (!std::is_same_v<T, pointwise::Integer>) {
      if (round == 1) x = pointwise::exp(x - before.value);
      if (rows.op == OperatorId::softmax_vjp) x = x * load<T>(rows.kept.in[1], at[1]);
    }
    found = row_pair(rows, round, found, Found<T>{x, i});
  }
  return found;
}

template <class T>
CAIRN_GPU inline void row_write(const Rows& rows, std::int64_t row, int lane, Found<T> first, Found<T> second) {
  for (std::int64_t i = lane; i < rows.along.count; i += rows.lanes) {
    std::int64_t at[3];
    row_offsets(rows, row, i, at);
    const unsigned out = rows.kept.inputs - 1;
    if (rows.op == OperatorId::max_over_mask) {
      store(rows.kept.in[out], at[out], i == first.at ? T(1) : T(0));
      continue;
    }
    if constexpr (!std::is_same_v<T, pointwise::Integer>) {
      const T x = load<T>(rows.kept.in[0], at[0]);
      T y = T(0);
      if (rows.op == OperatorId::softmax)
        y = pointwise::exp(x - first.value) / second.value;
      else if (rows.op == OperatorId::log_softmax)
        y = x - first.value - pointwise::log(second.value);
      else if (rows.op == OperatorId::softmax_vjp)
        y = load<T>(rows.kept.in[1], at[1]) * (x - first.value);
      else
        y = x - pointwise::exp(load<T>(rows.kept.in[1], at[1])) * first.value;
      store(rows.kept.in[out], at[out], y);
    }
  }
}

} // namespace cairn::gpu
