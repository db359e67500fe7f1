// See adding.h. What goes to a position is added up in the order of the indices by the one thread that has the position, in
// double (integers as integers): sums do not depend on how many threads there are. Where an index is for a whole row, the rows
// are sorted by where they go, and each sum of rows is made at once. Elsewhere lines along the axis of the indices are taken side
// by side, so many that their sums stay in a near cache.
#include "ops/cpu/elements/adding.h"

#include "ops/cpu/device/workers.h"
#include "ops/cpu/elements/index_walks.h"
#include "ops/cpu/loops/copy.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/loops/isa.h"

#include <new>

namespace cairn::ops::cpu {

namespace {

using pointwise::Integer;

// f(Source(), Sum()) with a type of elements that loops add to sums, which are double or Integer. Elements of other types are
// staged as sums, which is such a type.
template <class Sum, class F> void by_source(DType type, F&& f) {
  if constexpr (std::is_same_v<Sum, double>) {
    if (type == DType::f32) return f(float());
    if (type == DType::bf16) return f(Bf16());
  }
  f(Sum());
}
template <class Sum> constexpr DType kTypeOfSum = std::is_same_v<Sum, double> ? DType::f64 : DType::i64;
// Whether such a loop takes the elements as they are.
template <class Sum> bool is_direct(DType type) {
  return type == kTypeOfSum<Sum> || (std::is_same_v<Sum, double> && (type == DType::f32 || type == DType::bf16));
}

// --- rows

struct AddedRows {
  Together<2> positions;              // of indices: the source, the index
  Together<2> row;                    // of the elements of a row: the result, the source
  std::int64_t step = 0, targets = 0; // of the result by an index, and how many there are
  enum Begin : std::uint8_t { with_zero, with_all, with_touched } begin = with_all; // what sums begin with; the last: others stay
};

template <class Source, class Sum> struct AddRows {
  // sums[i] += the element i of each of the rows that begin at these elements of `from`.
  CAIRN_INLINE static void run(Sum* sums, const Source* from, const std::int64_t* offsets, std::int64_t count, std::int64_t n) {
    for (std::int64_t k = 0; k < count; ++k) {
      const Source* const row = from + offsets[k];
      CAIRN_EACH
      for (std::int64_t i = 0; i < n; ++i) sums[i] = sums[i] + converted<Sum>(row[i]);
    }
  }
};

// Where each row of the source is, sorted by where it goes: those of a target t are [first[t], first[t + 1]).
struct SortedRows {
  Array<std::int64_t> first, offsets;
};

template <class Index> SortedRows sorted_rows(const AddedRows& rows, const Index* indices) {
  const std::int64_t count = rows.positions.count();
  SortedRows sorted{filled<std::int64_t>(rows.targets + 2, 0), Array<std::int64_t>(static_cast<std::size_t>(count))};
  const auto strides = rows.positions.strides();
  const auto each = [&](auto&& f) {
    in_stretches(count, [&](std::int64_t begin, std::int64_t end) {
      rows.positions.each_run(begin, end, [&](const auto& offsets, std::int64_t n) {
        const Index* index = indices + offsets[1];
        for (std::int64_t i = 0; i < n; ++i) f(static_cast<std::size_t>(index[i * strides[1]]), offsets[0] + i * strides[0]);
      });
    });
  };
  // Counted two places on, and summed up, the next place of each target is one on; it ends where the target's rows do.
  std::int64_t* const first = sorted.first.data();
  std::int64_t* const places = sorted.offsets.data();
  each([&](std::size_t target, std::int64_t) { ++first[target + 2]; });
  in_stretches(rows.targets, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) first[i + 2] += first[i + 1];
  });
  each([&](std::size_t target, std::int64_t offset) { places[first[target + 1]++] = offset; });
  return sorted;
}

template <class Sum> void add_sorted_rows(const View& out, const View& source, const AddedRows& rows, const SortedRows& sorted) {
  const std::int64_t length = rows.row.count(), blocks = (length - 1) / kGroupBlock + 1;
  const auto [out_stride, from_stride] = rows.row.strides();
  const std::int64_t out_bytes = bytes_of(out.dtype), source_bytes = bytes_of(source.dtype);
  const bool direct = is_direct<Sum>(source.dtype) && from_stride == 1;
  by_source<Sum>(source.dtype, [&, out_stride = out_stride, from_stride = from_stride](auto zero) {
    using Source = decltype(zero);
    const auto add =
        Generations<AddRows<Source, Sum>, Sum*, const Source*, const std::int64_t*, std::int64_t, std::int64_t>::chosen();
    const auto add_staged =
        Generations<AddRows<Sum, Sum>, Sum*, const Sum*, const std::int64_t*, std::int64_t, std::int64_t>::chosen();
    const std::int64_t of_target = (rows.positions.count() / rows.targets + 1) * std::min(length, kGroupBlock);
    parallel_for(rows.targets * blocks, std::max<std::int64_t>(1, kElementsInline / of_target),
                 [&](std::int64_t begin, std::int64_t end) {
                   Sum sums[kGroupBlock], staged[kGroupBlock];
                   Pace pace;
                   for (std::int64_t unit = begin; unit < end; ++unit) {
                     const std::int64_t target = unit / blocks, at = unit % blocks * kGroupBlock;
                     const std::int64_t *const offsets = sorted.offsets.data(), *const first = sorted.first.data() + target;
                     if (rows.begin == AddedRows::with_touched && first[0] == first[1]) continue;
                     rows.row.each_run(at, std::min(length, at + kGroupBlock), [&](const auto& of_row, std::int64_t n) {
                       char* const to = out.as<char>() + (target * rows.step + of_row[0]) * out_bytes;
                       if (rows.begin == AddedRows::with_zero)
                         std::fill_n(sums, n, Sum(0));
                       else
                         load(kComputeOf<Sum>, sums, out.dtype, to, out_stride, n);
                       const std::int64_t at_once = direct ? Pace::kBetween / kGroupBlock : 1;
                       for (std::int64_t k = first[0]; k < first[1]; k += at_once) {
                         const std::int64_t count = std::min(at_once, first[1] - k);
                         if (direct) {
                           add(sums, source.as<Source>() + of_row[1], offsets + k, count, n);
                         } else {
                           const std::int64_t none = 0;
                           load(kComputeOf<Sum>, staged, source.dtype,
                                source.as<char>() + (of_row[1] + offsets[k]) * source_bytes, from_stride, n);
                           add_staged(sums, staged, &none, 1, n);
                         }
                         pace.did(count * n);
                       }
                       store(kComputeOf<Sum>, sums, out.dtype, to, out_stride, n);
                       pace.did(n);
                     });
                   }
                 });
  });
}

void add_rows_up(const View& out, const View& source, const View& indices, const AddedRows& rows) {
  if (rows.targets == 0 || rows.row.count() == 0) return;
  by_index_type(indices.dtype, [&](auto zero) {
    const SortedRows sorted = sorted_rows(rows, indices.as<decltype(zero)>());
    if (is_floating(out.dtype))
      add_sorted_rows<double>(out, source, rows, sorted);
    else
      add_sorted_rows<Integer>(out, source, rows, sorted);
  });
}

// The rows of a cotangent by the indices of a table's rows.
void add_up_rows(const View& out, const View& cotangent, const View& given, AddedRows::Begin begin) {
  const Indices all(given);
  const View& indices = all.view();
  const int leading = indices.shape.rank();
  AddedRows rows;
  rows.begin = begin;
  rows.step = stride_of(out, 0);
  rows.targets = out.shape[0];
  for (int i = 0; i < leading; ++i) rows.positions.add(indices.shape[i], {stride_of(cotangent, i), stride_of(indices, i)});
  for (int i = 1; i < out.shape.rank(); ++i)
    rows.row.add(out.shape[i], {stride_of(out, i), stride_of(cotangent, leading + i - 1)});
  add_rows_up(out, cotangent, indices, rows);
}

} // namespace

void embedding_vjp(const KernelCall& call) { add_up_rows(call.outputs[0], call.inputs[0], call.inputs[1], AddedRows::with_zero); }

void add_rows(const KernelCall& call) {
  if (call.outputs[0].data != call.inputs[0].data) copy_elements(call.outputs[0], call.inputs[0]);
  add_up_rows(call.outputs[0], call.inputs[1], call.inputs[2], AddedRows::with_touched);
}

// --- lines

namespace {

constexpr std::int64_t kLeastRow = 8;         // elements for which sorting pays
constexpr std::int64_t kFewIndices = 32;      // lines of fewer are taken side by side however they lie
constexpr std::int64_t kSumsHeld = 128 << 10; // sums that stay in a near cache
constexpr std::int64_t kMostSums = 1 << 20;   // sums for which a thread takes scratch, but for one line
constexpr std::int64_t kColumns = 8;          // lines taken side by side at least
constexpr std::int64_t kStaged = 4 << 10;     // elements that are staged at a time

// Lines along the axis of the indices, `columns` of them side by side along another axis.
struct AddedLines {
  enum Side : std::uint8_t { kOut, kSource, kIndex, kSides };
  Together<kSides> outer;                             // where lines begin, without the columns
  std::array<std::int64_t, kSides> along{}, across{}; // strides: along the lines, and from line to line
  std::int64_t indices = 0, targets = 0, columns = 1;
};

// Lines that are taken side by side a few at a time are parts of rows far apart, which processors do not foresee.
constexpr std::int64_t kAhead = 16;
template <class T> void fetch_part(const T* from, std::int64_t stride, std::int64_t n) {
  constexpr std::int64_t kCacheLine = 64;
  if (stride != 1) return;
  const auto* const begin = reinterpret_cast<const char*>(from);
  for (std::int64_t at = 0; at < n * static_cast<std::int64_t>(sizeof(T)); at += kCacheLine) __builtin_prefetch(begin + at);
}

// A piece of lines side by side: elements, indices and sums by strides along and across.
template <class Index, class Source, class Sum>
void add_lines(Sum* sums, std::int64_t sums_along, std::int64_t sums_across, const Source* from, std::int64_t from_along,
               std::int64_t from_across, const Index* index, std::int64_t index_along, std::int64_t index_across,
               std::int64_t count, std::int64_t columns) {
  if (columns == 1) {
    for (std::int64_t k = 0; k < count; ++k) {
      Sum& sum = sums[static_cast<std::int64_t>(index[k * index_along]) * sums_along];
      sum = sum + converted<Sum>(from[k * from_along]);
    }
    return;
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const Source* const f = from + k * from_along;
    const Index* const x = index + k * index_along;
    if (k + kAhead < count) {
      fetch_part(f + kAhead * from_along, from_across, columns);
      fetch_part(x + kAhead * index_along, index_across, columns);
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      Sum& sum = sums[static_cast<std::int64_t>(x[c * index_across]) * sums_along + c * sums_across];
      sum = sum + converted<Sum>(f[c * from_across]);
    }
  }
}

// Sums of a piece between the result and scratch, where they lie together along the axis `inner`.
template <class Sum, bool loading>
void pass_sums(const View& out, std::int64_t offset, Sum* sums, std::int64_t lines, std::int64_t line_stride, std::int64_t inner,
               std::int64_t inner_stride) {
  if (line_stride == inner * inner_stride) {
    inner *= lines;
    lines = 1;
  }
  Pace pace;
  for (std::int64_t line = 0; line < lines; ++line)
    in_stretches(inner, [&](std::int64_t begin, std::int64_t end) {
      char* const at = out.as<char>() + (offset + line * line_stride + begin * inner_stride) * bytes_of(out.dtype);
      if constexpr (loading)
        load(kComputeOf<Sum>, sums + line * inner + begin, out.dtype, at, inner_stride, end - begin);
      else
        store(kComputeOf<Sum>, sums + line * inner + begin, out.dtype, at, inner_stride, end - begin);
      pace.did(end - begin);
    });
}

template <class Index, class Sum>
void add_piece(const View& out, const View& source, const View& indices, const AddedLines& lines,
               const std::array<std::int64_t, 3>& at, std::int64_t columns) {
  const bool in_place = out.dtype == kTypeOfSum<Sum>;
  Sum* sums = nullptr;
  std::int64_t sums_along = lines.along[AddedLines::kOut], sums_across = lines.across[AddedLines::kOut];
  const bool by_target =
      lines.across[AddedLines::kOut] < lines.along[AddedLines::kOut] && columns != 1; // sums of one target lie together
  Scratch scratch;
  if (in_place) {
    sums = out.as<Sum>() + at[AddedLines::kOut];
  } else {
    scratch = Scratch(lines.targets * columns * static_cast<std::int64_t>(sizeof(Sum)));
    sums = reinterpret_cast<Sum*>(scratch.get());
    if (sums == nullptr) throw std::bad_alloc();
    sums_along = by_target ? columns : 1;
    sums_across = by_target ? 1 : lines.targets;
    if (by_target)
      pass_sums<Sum, true>(out, at[AddedLines::kOut], sums, lines.targets, lines.along[AddedLines::kOut], columns,
                           lines.across[AddedLines::kOut]);
    else
      pass_sums<Sum, true>(out, at[AddedLines::kOut], sums, columns, lines.across[AddedLines::kOut], lines.targets,
                           lines.along[AddedLines::kOut]);
  }
  const Index* const index = indices.as<Index>() + at[AddedLines::kIndex];
  const std::int64_t index_along = lines.along[AddedLines::kIndex], index_across = lines.across[AddedLines::kIndex];
  Pace pace;
  const bool direct = is_direct<Sum>(source.dtype);
  const std::int64_t at_once = std::max<std::int64_t>(1, (direct ? Pace::kBetween : kStaged) / columns);
  const std::int64_t source_bytes = bytes_of(source.dtype);
  by_source<Sum>(source.dtype, [&](auto zero) {
    using Source = decltype(zero);
    Sum staged[kStaged];
    for (std::int64_t k = 0; k < lines.indices; k += at_once) {
      const std::int64_t count = std::min(at_once, lines.indices - k);
      if (direct) {
        add_lines(sums, sums_along, sums_across,
                  source.as<Source>() + at[AddedLines::kSource] + k * lines.along[AddedLines::kSource],
                  lines.along[AddedLines::kSource], lines.across[AddedLines::kSource], index + k * index_along, index_along,
                  index_across, count, columns);
      } else {
        for (std::int64_t c = 0; c < columns; ++c)
          load(kComputeOf<Sum>, staged + c * count, source.dtype,
               source.as<char>() +
                   (at[AddedLines::kSource] + k * lines.along[AddedLines::kSource] + c * lines.across[AddedLines::kSource]) *
                       source_bytes,
               lines.along[AddedLines::kSource], count);
        add_lines(sums, sums_along, sums_across, static_cast<const Sum*>(staged), std::int64_t{1}, count, index + k * index_along,
                  index_along, index_across, count, columns);
      }
      pace.did(count * columns);
    }
  });
  if (in_place) return;
  if (by_target)
    pass_sums<Sum, false>(out, at[AddedLines::kOut], sums, lines.targets, lines.along[AddedLines::kOut], columns,
                          lines.across[AddedLines::kOut]);
  else
    pass_sums<Sum, false>(out, at[AddedLines::kOut], sums, columns, lines.across[AddedLines::kOut], lines.targets,
                          lines.along[AddedLines::kOut]);
}

// The axis along which lines are taken side by side, or -1: the elements and indices of neighbours are nearest there.
int columns_beside(const View& source, const View& indices, int along) {
  const auto nearness = [&](int axis) {
    return stride_of(source, axis) * bytes_of(source.dtype) + stride_of(indices, axis) * bytes_of(indices.dtype);
  };
  int nearest = -1;
  for (int i = source.shape.rank(); i-- > 0;)
    if (i != along && source.shape[i] > 1 && (nearest < 0 || nearness(i) < nearness(nearest))) nearest = i;
  if (nearest >= 0 && source.shape[along] >= kFewIndices && nearness(nearest) >= nearness(along)) return -1;
  return nearest;
}

void add_all_lines(const View& out, const View& source, const View& indices, int along) {
  const Shape& shape = indices.shape;
  const int beside = columns_beside(source, indices, along);
  AddedLines lines;
  lines.indices = shape[along];
  lines.targets = out.shape[along];
  lines.along = {stride_of(out, along), stride_of(source, along), stride_of(indices, along)};
  if (beside >= 0) {
    lines.columns = shape[beside];
    lines.across = {stride_of(out, beside), stride_of(source, beside), stride_of(indices, beside)};
  }
  for (int i = 0; i < shape.rank(); ++i)
    if (i != along && i != beside) lines.outer.add(shape[i], {stride_of(out, i), stride_of(source, i), stride_of(indices, i)});
  // Few, so that threads have something to share; more where lines are short.
  const std::int64_t worth = std::clamp(kStaged / (lines.targets + lines.indices), 2 * kColumns, kStaged),
                     near = std::max(kColumns, kSumsHeld / lines.targets / kColumns * kColumns),
                     side_by_side = std::min({worth, near, std::max<std::int64_t>(1, kMostSums / lines.targets)});
  const std::int64_t blocks = (lines.columns - 1) / side_by_side + 1;
  const std::int64_t of_block = std::min(side_by_side, lines.columns) * (lines.targets + lines.indices);
  by_index_type(indices.dtype, [&](auto zero) {
    using Index = decltype(zero);
    const auto add = is_floating(out.dtype) ? add_piece<Index, double> : add_piece<Index, Integer>;
    parallel_for(lines.outer.count() * blocks, std::max<std::int64_t>(1, kElementsInline / 4 / of_block),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t unit = begin; unit < end; ++unit) {
                     const std::int64_t first = unit % blocks * side_by_side;
                     lines.outer.each_run(unit / blocks, unit / blocks + 1, [&](const auto& outer, std::int64_t) {
                       auto at = outer;
                       for (std::size_t side = 0; side < at.size(); ++side) at[side] += first * lines.across[side];
                       add(out, source, indices, lines, at, std::min(side_by_side, lines.columns - first));
                     });
                   }
                 });
  });
}

// Whether the last axes behind that of the indices are rows, long enough and together: one index is for each.
bool goes_by_rows(const View& out, const View& source, const View& indices, int along) {
  std::int64_t together = 1;
  for (int i = out.shape.rank(); --i > along;) {
    if (indices.shape[i] == 1) continue;
    if (stride_of(indices, i) != 0 || stride_of(source, i) != together || stride_of(out, i) != together) break;
    together *= indices.shape[i];
  }
  return together >= kLeastRow;
}

// Rows are all axes that one index is for; those along the others have indices of their own.
void add_by_rows(const View& out, const View& source, const View& indices, int along) {
  AddedRows rows;
  rows.step = stride_of(out, along);
  rows.targets = out.shape[along];
  rows.begin = out.dtype == DType::f64 || !is_floating(out.dtype) ? AddedRows::with_touched : AddedRows::with_all;
  rows.positions.add(indices.shape[along], {stride_of(source, along), stride_of(indices, along)});
  Together<AddedLines::kSides> others;
  for (int i = 0; i < out.shape.rank(); ++i) {
    if (i == along) continue;
    if (stride_of(indices, i) == 0 || indices.shape[i] == 1)
      rows.row.add(indices.shape[i], {stride_of(out, i), stride_of(source, i)});
    else
      others.add(indices.shape[i], {stride_of(out, i), stride_of(source, i), stride_of(indices, i)});
  }
  const std::int64_t elements = rows.row.count() * (rows.targets + rows.positions.count());
  parallel_for(others.count(), std::max<std::int64_t>(1, kElementsInline / elements), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      others.each_run(i, i + 1, [&](const auto& offsets, std::int64_t) {
        const auto from = [](View v, std::int64_t offset) {
          v.data = v.as<char>() + offset * bytes_of(v.dtype);
          return v;
        };
        add_rows_up(from(out, offsets[AddedLines::kOut]), from(source, offsets[AddedLines::kSource]),
                    from(indices, offsets[AddedLines::kIndex]), rows);
      });
  });
}

} // namespace

void scatter_add(const KernelCall& call) {
  const View &indices = call.inputs[1], &source = call.inputs[2], &out = call.outputs[0];
  const int rank = out.shape.rank(), axis = static_cast<int>(call.attributes[0].integer()), along = axis < 0 ? axis + rank : axis;
  copy_elements(out, call.inputs[0]);
  if (indices.elements() == 0) return;
  if (goes_by_rows(out, source, indices, along))
    add_by_rows(out, source, indices, along);
  else
    add_all_lines(out, source, indices, along);
}

} // namespace cairn::ops::cpu
