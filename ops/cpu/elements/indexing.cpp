// See indexing.h. Elements are moved as they are: by rows where one index is that of a whole row, else one by one in loops for
// each size of elements and each type of indices.
#include "ops/cpu/elements/indexing.h"

#include "ops/cpu/device/workers.h"
#include "ops/cpu/elements/index_walks.h"
#include "ops/cpu/loops/copy.h"
#include "ops/cpu/loops/groups.h"

#include <cstring>

namespace cairn::ops::cpu {

namespace {

enum TakenSide : std::uint8_t { kTakenTo, kTakenFrom, kTakenIndex, kTakenSides };

// TakenRows, of one element or more, that lie together on both sides, each with its index.
struct TakenRows {
  Together<kTakenSides> positions; // `from` stays where it is along the axis of the indices
  std::int64_t length = 1;         // elements of a row
  std::int64_t step = 0;           // of `from`, by an index
  char* to = nullptr;
  const char* from = nullptr;
  const void* indices = nullptr;
  DType index_type = DType::i64;
  std::int64_t bytes = 1; // of an element
};

// So many bytes, or as many as a row has.
template <std::size_t bytes> void move_element(char* to, const char* from, std::size_t row_bytes) {
  std::memcpy(to, from, bytes == 0 ? row_bytes : bytes);
}

template <class Index, std::size_t bytes> void take_rows(const TakenRows& rows, std::int64_t begin, std::int64_t end) {
  const auto strides = rows.positions.strides();
  const std::int64_t size = bytes == 0 ? rows.bytes : static_cast<std::int64_t>(bytes);
  const std::int64_t to_step = strides[kTakenTo] * size, from_step = strides[kTakenFrom] * size,
                     index_step = strides[kTakenIndex], step = rows.step * size;
  const auto row_bytes = static_cast<std::size_t>(rows.length * size);
  rows.positions.each_run(begin, end, [&](const auto& offsets, std::int64_t n) {
    char* to = rows.to + offsets[kTakenTo] * size;
    const char* from = rows.from + offsets[kTakenFrom] * size;
    const Index* index = static_cast<const Index*>(rows.indices) + offsets[kTakenIndex];
    for (std::int64_t i = 0; i < n; ++i) {
      move_element<bytes>(to, from + static_cast<std::int64_t>(*index) * step, row_bytes);
      to += to_step;
      from += from_step;
      index += index_step;
    }
  });
}

// TakenRows that are longer than what a thread takes at once, by parts.
void take_long_rows(const TakenRows& rows) {
  const std::int64_t parts = (rows.length - 1) / kElementsInline + 1;
  by_index_type(rows.index_type, [&](auto zero) {
    using Index = decltype(zero);
    parallel_for(rows.positions.count() * parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit)
        rows.positions.each_run(unit / parts, unit / parts + 1, [&](const auto& offsets, std::int64_t) {
          const std::int64_t first = unit % parts * kElementsInline, n = std::min(kElementsInline, rows.length - first);
          const auto index = static_cast<std::int64_t>(static_cast<const Index*>(rows.indices)[offsets[kTakenIndex]]);
          std::memcpy(rows.to + (offsets[kTakenTo] + first) * rows.bytes,
                      rows.from + (offsets[kTakenFrom] + index * rows.step + first) * rows.bytes,
                      static_cast<std::size_t>(n * rows.bytes));
        });
    });
  });
}

void take_rows(const TakenRows& rows) {
  if (rows.length > kElementsInline) return take_long_rows(rows);
  by_index_type(rows.index_type, [&](auto zero) {
    using Index = decltype(zero);
    const auto loop = rows.length != 1  ? take_rows<Index, 0>
                      : rows.bytes == 1 ? take_rows<Index, 1>
                      : rows.bytes == 2 ? take_rows<Index, 2>
                      : rows.bytes == 4 ? take_rows<Index, 4>
                                        : take_rows<Index, 8>;
    parallel_for(rows.positions.count(), std::max<std::int64_t>(1, kElementsInline / rows.length),
                 [&](std::int64_t begin, std::int64_t end) { loop(rows, begin, end); });
  });
}

struct TakenAxis {
  std::int64_t size, to, from, index; // strides
};

// The last axes that one index is for, and whose elements lie together on both sides, are rows; the others have positions.
void take_rows(TakenRows& rows, std::span<const TakenAxis> axes, std::size_t first_of_row) {
  std::size_t positions = axes.size();
  for (; positions > first_of_row; --positions) {
    const TakenAxis& a = axes[positions - 1];
    if (a.size != 1 && (a.index != 0 || a.to != rows.length || a.from != rows.length)) break;
    rows.length *= a.size;
  }
  for (const TakenAxis& a : axes.first(positions)) rows.positions.add(a.size, {a.to, a.from, a.index});
  if (rows.positions.count() != 0 && rows.length != 0) take_rows(rows);
}

TakenRows taken_rows(const View& to, const View& from, const View& indices) {
  TakenRows rows;
  rows.to = to.as<char>();
  rows.from = from.as<char>();
  rows.indices = indices.data;
  rows.index_type = indices.dtype;
  rows.bytes = bytes_of(to.dtype);
  return rows;
}

} // namespace

void embedding(const KernelCall& call) {
  const View &table = call.inputs[0], &out = call.outputs[0];
  const Indices given(call.inputs[1]);
  const View& indices = given.view();
  TakenRows rows = taken_rows(out, table, indices);
  rows.step = stride_of(table, 0);
  const int leading = indices.shape.rank();
  Array<TakenAxis> axes;
  for (int i = 0; i < out.shape.rank(); ++i)
    axes.push_back(i < leading ? TakenAxis{out.shape[i], stride_of(out, i), 0, stride_of(indices, i)}
                               : TakenAxis{out.shape[i], stride_of(out, i), stride_of(table, i - leading + 1), 0});
  take_rows(rows, axes, static_cast<std::size_t>(leading));
}

void gather(const KernelCall& call) {
  const View &from = call.inputs[0], &indices = call.inputs[1], &out = call.outputs[0];
  const int rank = out.shape.rank(), axis = static_cast<int>(call.attributes[0].integer()), along = axis < 0 ? axis + rank : axis;
  TakenRows rows = taken_rows(out, from, indices);
  rows.step = stride_of(from, along);
  Array<TakenAxis> axes;
  for (int i = 0; i < rank; ++i)
    axes.push_back({out.shape[i], stride_of(out, i), i == along ? 0 : stride_of(from, i), stride_of(indices, i)});
  take_rows(rows, axes, static_cast<std::size_t>(along) + 1);
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
