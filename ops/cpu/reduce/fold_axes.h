// The axes of a reduction that stay, or that go: sizes, and strides of both sides.
#pragma once

#include "ops/shape.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace cairn::ops::cpu {

struct FoldAxis {
  std::int64_t size = 1, from = 0, to = 0; // strides in elements
};

struct FoldAxes {
  std::array<FoldAxis, kMostAxes> at{};
  std::size_t rank = 0;
  std::int64_t elements = 1;

  // Sorted: before those of `from` that lie closer.
  void add(const FoldAxis& axis, bool sorted) {
    elements *= axis.size;
    if (axis.size == 1) return;
    std::size_t index = rank++;
    for (; sorted && index > 0 && at[index - 1].from < axis.from; --index) at[index] = at[index - 1];
    at[index] = axis;
  }
  // Joins what lies behind each other.
  void join() {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < rank; ++i) {
      const FoldAxis& axis = at[i];
      if (at[kept].from == axis.from * axis.size && at[kept].to == axis.to * axis.size)
        at[kept] = FoldAxis{at[kept].size * axis.size, axis.from, axis.to};
      else
        at[++kept] = axis;
    }
    rank = kept + 1; // one of size 1 where there is none
  }
  const FoldAxis& last() const { return at[rank - 1]; }
  std::int64_t rows() const { return elements / last().size; }
  // Rows lie along the last axis.
  void add_offsets_of_row(std::int64_t row, std::int64_t& from, std::int64_t& to) const {
    for (std::size_t i = rank - 1; i-- > 0;) {
      from += row % at[i].size * at[i].from;
      to += row % at[i].size * at[i].to;
      row /= at[i].size;
    }
  }
  void add_offsets_of(std::int64_t element, std::int64_t& from, std::int64_t& to) const {
    add_offsets_of_row(element / last().size, from, to);
    from += element % last().size * last().from;
    to += element % last().size * last().to;
  }
};

} // namespace cairn::ops::cpu
