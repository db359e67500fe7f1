// See indexing.h. What is added up is added in the order of the indices, in double, by the thread that has the position it goes
// to: sums do not depend on how many threads there are.
#include "ops/cpu/elements/indexing.h"

#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/copy.h"
#include "ops/cpu/loops/groups.h"

#include <cstring>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kPerLoad = 16; // elements that a load takes as long as, however few it loads

// All axes but the first so many.
unsigned behind(int first, int rank) { return ((1u << rank) - 1) & ~((1u << first) - 1); }

} // namespace

void embedding(const KernelCall& call) {
  const View &table = call.inputs[0], &out = call.outputs[0];
  const View& rows = call.inputs[1];
  const std::int64_t count = integers_in(rows);
  const int rank = table.shape.rank(), leading = out.shape.rank() - rank + 1;
  const std::int64_t row_bytes = out.elements() / count * bytes_of(out.dtype);
  bool packed = true;
  std::int64_t expected = 1;
  for (int i = rank - 1; i > 0; --i) {
    packed = packed && (table.shape[i] == 1 || table.strides[static_cast<std::size_t>(i)] == expected);
    expected *= table.shape[i];
  }
  auto* const to = static_cast<char*>(out.data);
  const std::int64_t step = table.strides[0] * bytes_of(table.dtype);
  if (packed) {
    parallel_for(count, std::max<std::int64_t>(1, 8 * kElementsInline / row_bytes), [&](std::int64_t begin, std::int64_t end) {
      each_integer(rows, begin, end, [&](std::int64_t i, std::int64_t row) {
        in_stretches(row_bytes, [&](std::int64_t first, std::int64_t last) {
          std::memcpy(to + i * row_bytes + first, table.as<char>() + row * step + first, static_cast<std::size_t>(last - first));
        });
      });
    });
    return;
  }
  View from = table, row = out; // without the axes of the indices
  from.shape = row.shape = Shape(table.shape.sizes().subspan(1));
  for (int i = 1; i < rank; ++i) {
    const auto k = static_cast<std::size_t>(i - 1);
    from.strides[k] = table.strides[k + 1];
    row.strides[k] = out.strides[k + static_cast<std::size_t>(leading)];
  }
  each_integer(rows, 0, count, [&](std::int64_t i, std::int64_t which) {
    from.data = table.as<char>() + which * step;
    row.data = to + i * row_bytes;
    copy_elements(row, from);
  });
}

namespace {

// The rows of a cotangent added up by their indices, in double; `onto`: to what the rows of `out` have, else those are zero.
void add_up_rows(const View& out, const View& cotangent, const View& rows, bool onto) {
  const Groups from(cotangent, behind(cotangent.shape.rank() - out.shape.rank() + 1, cotangent.shape.rank()));
  const Groups to(out, behind(1, out.shape.rank()));
  // The positions of each row's indices, in their order.
  const std::int64_t count = integers_in(rows);
  Array<std::int64_t> first = filled<std::int64_t>(to.count() + 1, 0), positions(static_cast<std::size_t>(count));
  each_integer(rows, 0, count, [&](std::int64_t, std::int64_t row) { ++first[static_cast<std::size_t>(row) + 1]; });
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  Array<std::int64_t> next(first.begin(), first.end() - 1, first.get_allocator());
  each_integer(rows, 0, count, [&](std::int64_t i, std::int64_t row) {
    positions[static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++)] = i;
  });

  parallel_for(to.count(), to.grain(), [&](std::int64_t begin, std::int64_t end) {
    double sum[kGroupBlock], part[kGroupBlock];
    Pace pace;
    for (std::int64_t row = begin; row < end; ++row) {
      if (onto && first[static_cast<std::size_t>(row)] == first[static_cast<std::size_t>(row) + 1]) continue;
      for (std::int64_t at = 0; at < to.size(); at += kGroupBlock) {
        const std::int64_t n = std::min(kGroupBlock, to.size() - at);
        if (onto)
          to.load(row, at, n, sum);
        else
          std::fill_n(sum, n, 0.0);
        for (std::int64_t k = first[static_cast<std::size_t>(row)]; k < first[static_cast<std::size_t>(row) + 1]; ++k) {
          from.load(positions[static_cast<std::size_t>(k)], at, n, part);
          for (std::int64_t i = 0; i < n; ++i) sum[i] += part[i];
          pace.did(n + kPerLoad);
        }
        to.store(row, at, n, sum);
      }
    }
  });
}

} // namespace

void embedding_vjp(const KernelCall& call) { add_up_rows(call.outputs[0], call.inputs[0], call.inputs[1], false); }

void add_rows(const KernelCall& call) {
  if (call.outputs[0].data != call.inputs[0].data) copy_elements(call.outputs[0], call.inputs[0]);
  add_up_rows(call.outputs[0], call.inputs[1], call.inputs[2], true);
}

namespace {

// The part of a tensor that is as long as the indices along all axes but one.
View beside(View v, const Shape& indices, unsigned line) {
  for (int i = 0; i < v.shape.rank(); ++i)
    if ((line >> i & 1) == 0) v = narrowed(v, i, 0, indices[i]);
  return v;
}

// line(i, each) for all lines of indices along the axis, where each(f) calls f(first, indices, how many) for the indices of the
// line, by blocks.
template <class F> void each_line(const View& indices, unsigned axis, F&& line) {
  const Groups from(indices, axis);
  parallel_for(from.count(), from.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      line(i, [&](auto&& f) {
        std::int64_t first = 0;
        from.each_block<pointwise::Integer>(i, [&](const pointwise::Integer* positions, std::int64_t n) {
          f(first, positions, n);
          first += n;
        });
      });
  });
}

} // namespace

void gather(const KernelCall& call) {
  const View &indices = call.inputs[1], &out = call.outputs[0];
  const unsigned line = line_along(call.attributes[0].integer(), out.shape.rank());
  const Groups from(beside(call.inputs[0], indices.shape, line), line), to(out, line);
  const auto bytes = static_cast<std::size_t>(bytes_of(out.dtype));
  each_line(indices, line, [&](std::int64_t i, auto&& each) {
    const char* const start = from.address(i, 0);
    const std::int64_t step = from.size() > 1 ? from.address(i, 1) - start : 0;
    each([&](std::int64_t first, const pointwise::Integer* positions, std::int64_t n) {
      for (std::int64_t k = 0; k < n; ++k) std::memcpy(to.address(i, first + k), start + positions[k].v * step, bytes);
    });
  });
}

void scatter_add(const KernelCall& call) {
  const View &indices = call.inputs[1], &source = call.inputs[2], &out = call.outputs[0];
  const unsigned line = line_along(call.attributes[0].integer(), out.shape.rank());
  copy_elements(out, call.inputs[0]);
  if (indices.elements() == 0) return;
  const Groups from(source, line), to(beside(out, indices.shape, line), line);
  by_type(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    each_line(indices, line, [&](std::int64_t i, auto&& each) {
      Array<T> sums;
      to.load(i, sums);
      each([&](std::int64_t first, const pointwise::Integer* positions, std::int64_t n) {
        T added[kGroupBlock];
        from.load(i, first, n, added);
        for (std::int64_t k = 0; k < n; ++k) {
          T& sum = sums[static_cast<std::size_t>(positions[k].v)];
          sum = sum + added[k];
        }
      });
      to.store(i, sums);
    });
  });
}

void one_hot(const KernelCall& call) {
  const View& out = call.outputs[0];
  const View& indices = call.inputs[0];
  fill_elements(out, 0);
  const Groups to(out, line_along(-1, out.shape.rank()));
  const double one = 1;
  each_integer(indices, 0, integers_in(indices), [&](std::int64_t i, std::int64_t position) { to.store(i, position, 1, &one); });
}

} // namespace cairn::ops::cpu
