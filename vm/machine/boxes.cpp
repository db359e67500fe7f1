// See boxes.h.
#include "vm/machine/boxes.h"

#include "ops/regions.h"
#include "vm/bytecode/tensors.h"
#include "vm/machine/errors.h"
#include "vm/machine/tensor_operands.h"
#include "vm/value/owned.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace cairn::machine::tensors {

using bytecode::TensorProcedure;
using ops::Box;
using ops::Range;
using value::Owned;

namespace {

__extension__ using Wide = __int128;

// Numbers of a list, as many as a tensor may have axes.
struct FewNumbers {
  int count = 0;
  std::array<std::int64_t, ops::kMostAxes> items{};
  std::int64_t operator[](int i) const { return items[static_cast<std::size_t>(i)]; }
};

class BoxReader {
public:
  BoxReader(const Engine& engine, TensorProcedure which) : engine_(engine), which_(which) {}

  [[noreturn]] void refuse(Value v) const {
    throw ProgramError(fmt::format(
        "{}: expected boxes of as many axes, and lists of numbers, got {}",
        bytecode::tensor_operators()[bytecode::kFirstTensorProcedure + static_cast<unsigned>(which_)].name, engine_.describe(v)));
  }
  // #f counts as -1 where that may be.
  FewNumbers numbers(Value list, bool or_false = false) const {
    FewNumbers out;
    Value rest = list;
    for (; rest.is_pair() && out.count < ops::kMostAxes; rest = rest.pair()->cdr) {
      const Value v = rest.pair()->car;
      if (!v.is_integer() && !(or_false && v == value::kFalse)) refuse(list);
      out.items[static_cast<std::size_t>(out.count++)] = v.is_integer() ? v.integer() : -1;
    }
    if (rest != value::kNull) refuse(list);
    return out;
  }
  Box box(Value v) const {
    if (!v.is_pair()) refuse(v);
    return box_of(numbers(v.pair()->car), numbers(v.pair()->cdr), v);
  }
  // All of a tensor of these sizes.
  Box whole(Value sizes) const {
    const FewNumbers n = numbers(sizes);
    return box_of({n.count, {}}, n, sizes);
  }
  // Of two of as many axes.
  std::array<Box, 2> two(std::span<const Value> operands) const {
    const std::array<Box, 2> both{box(operands[0]), box(operands[1])};
    if (both[0].rank() != both[1].rank()) refuse(operands[1]);
    return both;
  }

private:
  Box box_of(const FewNumbers& starts, const FewNumbers& sizes, Value told) const {
    if (starts.count != sizes.count) refuse(told);
    ops::Shape axes;
    for (int i = 0; i < starts.count; ++i) axes.push_back(0);
    Box box = Box::whole(axes);
    for (int i = 0; i < box.rank(); ++i) {
      if (starts[i] < 0 || sizes[i] < 0 || starts[i] > value::kMostInteger - sizes[i]) refuse(told);
      box[i] = {starts[i], starts[i] + sizes[i]};
    }
    return box;
  }

  const Engine& engine_;
  TensorProcedure which_;
};

Value value_of_box(value::Heap& heap, const Box& box) {
  std::array<std::int64_t, ops::kMostAxes> starts{}, sizes{};
  for (int i = 0; i < box.rank(); ++i) {
    starts[static_cast<std::size_t>(i)] = box[i].begin;
    sizes[static_cast<std::size_t>(i)] = box[i].size();
  }
  const auto rank = static_cast<std::size_t>(box.rank());
  Owned first(heap, list_of(heap, std::span(starts).first(rank)));
  Owned second(heap, list_of(heap, std::span(sizes).first(rank)));
  const Value a = first.take(), b = second.take();
  return heap.cons(a, b);
}

// The i-th of `count` parts of n elements, as even as can be.
Range part_along(std::int64_t i, std::int64_t count, std::int64_t n) {
  return {static_cast<std::int64_t>(Wide{i} * n / count), static_cast<std::int64_t>(Wide{i + 1} * n / count)};
}
// In which of them an element lies.
std::int64_t part_of_element(std::int64_t element, std::int64_t count, std::int64_t n) {
  return static_cast<std::int64_t>((Wide{element + 1} * count - 1) / n);
}

// (%part-box sizes axes counts tile): along each axis of space so many parts, the first axis of space fastest; #f where the tile
// has none, as what lacks an axis of space is all in the first tile along that.
Value part_box(Engine& engine, const BoxReader& read, std::span<const Value> operands) {
  Box box = read.whole(operands[0]);
  const FewNumbers axes = read.numbers(operands[1], true), counts = read.numbers(operands[2]);
  std::int64_t tile = engine.to_index(operands[3], "%part-box: expected the number of a tile");
  for (int k = 0; k < counts.count; ++k) {
    const std::int64_t count = counts[k], axis = k < axes.count ? axes[k] : -1;
    if (count < 1 || axis >= box.rank()) read.refuse(operands[2]);
    const std::int64_t i = tile % count;
    tile /= count;
    if (axis < 0) {
      if (i != 0) return value::kFalse;
      continue;
    }
    Range& range = box[static_cast<int>(axis)];
    range = part_along(i, count, range.size());
    if (range.empty()) return value::kFalse;
  }
  return value_of_box(engine.heap(), box);
}

// (%parts-reached places sizes axes counts box): which parts, whose places are those of %part-box, a box reaches: a list of
// (tile . place).
Value parts_reached(Engine& engine, const BoxReader& read, std::span<const Value> operands) {
  const Box whole = read.whole(operands[1]), box = read.box(operands[4]);
  const FewNumbers axes = read.numbers(operands[2], true), counts = read.numbers(operands[3]);
  if (!value::is_vector(operands[0]) || box.rank() != whole.rank()) read.refuse(operands[4]);
  const value::Vector& places = *value::as_vector(operands[0]);

  std::array<Range, ops::kMostAxes> reached{}; // along each axis of space
  std::int64_t most = 1;
  Wide all_parts = 1;
  for (int k = 0; k < counts.count; ++k) {
    const std::int64_t count = counts[k], axis = k < axes.count ? axes[k] : -1;
    if (count < 1 || axis >= whole.rank() || (all_parts *= count) > Wide{places.length}) read.refuse(operands[3]);
    Range& along = reached[static_cast<std::size_t>(k)];
    along = {0, 1};
    if (axis >= 0) {
      const Range all = whole[static_cast<int>(axis)], range = box[static_cast<int>(axis)];
      if (range.empty() || range.begin < 0 || range.end > all.end) read.refuse(operands[4]);
      along = {part_of_element(range.begin, count, all.end), part_of_element(range.end - 1, count, all.end) + 1};
    }
    most *= along.size();
  }
  engine.meter().spend(static_cast<std::uint64_t>(most));

  // The last axis goes fastest, and the list is made from its end.
  Owned list(engine.heap(), value::kNull);
  for (std::int64_t n = most; n-- > 0;) {
    if (n % 1024 == 0) engine.meter().poll();
    std::array<std::int64_t, ops::kMostAxes> at{};
    std::int64_t left = n;
    for (int k = counts.count; k-- > 0;) {
      const Range& along = reached[static_cast<std::size_t>(k)];
      at[static_cast<std::size_t>(k)] = along.begin + left % along.size();
      left /= along.size();
    }
    std::int64_t tile = 0; // of these the first axis goes fastest
    for (int k = counts.count; k-- > 0;) tile = tile * counts[k] + at[static_cast<std::size_t>(k)];
    const Value place = places.items()[tile];
    if (place != value::kFalse) list.push(engine.heap().cons(value::integer(tile), Heap::retain(place)));
  }
  return list.take();
}

bool same_numbers(Value a, Value b) {
  for (; a != b && a.is_pair() && b.is_pair(); a = a.pair()->cdr, b = b.pair()->cdr)
    if (a.pair()->car != b.pair()->car) return false;
  return a == b;
}
bool same_box(Value a, Value b) {
  if (a == b) return true;
  return a.is_pair() && b.is_pair() && same_numbers(a.pair()->car, b.pair()->car) && same_numbers(a.pair()->cdr, b.pair()->cdr);
}

} // namespace

Value procedure_of_boxes(Engine& engine, TensorProcedure which, std::span<const Value> operands) {
  if (which == TensorProcedure::same_box) return value::boolean(same_box(operands[0], operands[1]));
  if (which == TensorProcedure::same_sizes) return value::boolean(same_numbers(operands[0], operands[1]));
  const BoxReader read(engine, which);
  if (which == TensorProcedure::part_box) return part_box(engine, read, operands);
  if (which == TensorProcedure::parts_reached) return parts_reached(engine, read, operands);
  if (which == TensorProcedure::whole_lines) {
    Box box = read.box(operands[0]);
    const Box whole = read.whole(operands[2]);
    const FewNumbers axes = read.numbers(operands[1]);
    for (int k = 0; k < axes.count; ++k) {
      if (axes[k] < 0 || axes[k] >= std::min(box.rank(), whole.rank())) read.refuse(operands[1]);
      box[static_cast<int>(axes[k])] = whole[static_cast<int>(axes[k])];
    }
    return value_of_box(engine.heap(), box);
  }
  auto [a, b] = read.two(operands);
  for (int i = 0; i < a.rank(); ++i) {
    if (which == TensorProcedure::hull)
      a[i] = {std::min(a[i].begin, b[i].begin), std::max(a[i].end, b[i].end)};
    else if (which == TensorProcedure::overlap)
      a[i] = {std::max(a[i].begin, b[i].begin), std::min(a[i].end, b[i].end)};
    else
      a[i] = {b[i].begin - a[i].begin, b[i].end - a[i].begin};
  }
  return value_of_box(engine.heap(), a);
}

} // namespace cairn::machine::tensors
