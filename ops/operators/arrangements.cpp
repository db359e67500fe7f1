// The same elements at other positions: put beside each other, cut out, repeated, reversed, moved, and triangles of matrices.
#include "ops/axes.h"
#include "ops/cpu/loops/copy.h"
#include "ops/cpu/loops/groups.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/pointwise.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

std::int64_t item(const Attributes& attributes, std::size_t n, int i) {
  return attributes[n].list()[static_cast<std::size_t>(i)];
}

// A number for each axis.
void check_each_axis(const Call& call, std::size_t n) {
  const auto& list = call.attributes[n].list();
  if (list.size() != static_cast<std::size_t>(call.inputs[0].rank()))
    throw OperatorError(fmt::format("{}: {} are not a number for each axis of a tensor of shape {}", shown_name(call.op),
                                    list_text(list), call.inputs[0].shape.text()));
}

// --- stack

void infer_stack(const Call& call, ResultTypes& results) {
  if (call.inputs.empty()) throw OperatorError("stack: no tensors are given");
  const Tensor& first = call.inputs[0];
  const int axis = axis_in("stack", call.attributes[0].integer(), first.rank() + 1);
  results[0].dtype = first.dtype;
  for (const Tensor& t : call.inputs.subspan(1)) {
    if (!(t.shape == first.shape))
      throw OperatorError(fmt::format("stack: shapes {} and {} are not the same", first.shape.text(), t.shape.text()));
    results[0].dtype = promoted(results[0].dtype, t.dtype);
  }
  for (int i = 0; i <= first.rank(); ++i) {
    if (i == axis) results[0].shape.push_back(static_cast<std::int64_t>(call.inputs.size()));
    if (i < first.rank()) results[0].shape.push_back(first.shape[i]);
  }
}

void stack_kernel(const KernelCall& call) {
  const View& out = call.outputs[0];
  const std::int64_t given = call.attributes[0].integer();
  const int axis = static_cast<int>(given < 0 ? given + out.shape.rank() : given);
  for (std::size_t n = 0; n < call.inputs.size(); ++n) {
    View from = call.inputs[n]; // with the new axis, of size 1
    from.shape = out.shape;
    from.shape[axis] = 1;
    for (int i = out.shape.rank() - 1; i > axis; --i)
      from.strides[static_cast<std::size_t>(i)] = from.strides[static_cast<std::size_t>(i - 1)];
    cpu::copy_elements(cpu::narrowed(out, axis, static_cast<std::int64_t>(n), 1), from);
  }
}

void stack_vjp(const VjpCall& call) {
  for (unsigned i = 0; i < call.inputs.size(); ++i) {
    if (!rules::wanted(call, i)) continue;
    const Tensor part =
        call.runtime.apply(OperatorId::narrow, {call.cotangents[0]},
                           rules::attributes({call.attributes[0], Attribute::of_integer(i), Attribute::of_integer(1)}));
    call.results[i] = rules::fit(
        call.runtime,
        call.runtime.apply(OperatorId::view, {part}, rules::attributes({Attribute::of_list(call.inputs[i].shape.sizes())})),
        call.inputs[i]);
  }
}

void stack_jvp(const JvpCall& call) {
  std::vector<Term> parts;
  std::vector<std::uint64_t> handles;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) parts.push_back(rules::tangent_or_zeros(call, i));
  for (const Term& part : parts) handles.push_back(part.handle());
  call.results[0] = Term(call.algebra, call.algebra.apply(OperatorId::stack, handles, call.attributes));
}

void narrow_stack(const RegionCall& call) {
  const int axis = axis_in("stack", call.call.attributes[0].integer(), call.box.rank());
  for (std::size_t n = 0; n < call.needed.size(); ++n) {
    const auto member = static_cast<std::int64_t>(n);
    if (member < call.box[axis].begin || member >= call.box[axis].end) call.needed[n].unseen();
    for (int i = 0; i + 1 < call.box.rank(); ++i) call.needed[n].within(i, call.box[i < axis ? i : i + 1]);
  }
}
constexpr RegionRule kRegionsOfStack = {"its place in one of them", narrow_stack};

// --- crop and chunk: views

struct Cut {
  Shape starts, sizes;
};

Cut cut_of_crop(const Call& call) {
  check_each_axis(call, 0);
  check_each_axis(call, 1);
  const Tensor& t = call.inputs[0];
  Cut cut{t.shape, t.shape};
  for (int i = 0; i < t.rank(); ++i) {
    const std::int64_t start = item(call.attributes, 0, i), size = item(call.attributes, 1, i);
    if (start < 0 || size < 0 || start > t.shape[i] || size > t.shape[i] - start)
      throw OperatorError(
          fmt::format("crop: {} from {} on along axis {} are not in a tensor of shape {}", size, start, i, t.shape.text()));
    cut.starts[i] = start;
    cut.sizes[i] = size;
  }
  return cut;
}

Cut cut_of_chunk(const Call& call) {
  const Tensor& t = call.inputs[0];
  const int axis = axis_in("chunk", call.attributes[0].integer(), t.rank());
  const std::int64_t parts = call.attributes[1].integer(), which = call.attributes[2].integer();
  if (parts < 1 || which < 0 || which >= parts)
    throw OperatorError(fmt::format("chunk: there is no part {} of {}", which, parts));
  Cut cut{t.shape, t.shape};
  const std::int64_t n = t.shape[axis], size = n / parts + (n % parts != 0 ? 1 : 0);
  for (int i = 0; i < t.rank(); ++i) cut.starts[i] = 0;
  cut.starts[axis] = size == 0 || which > n / size ? n : which * size;
  cut.sizes[axis] = std::min(size, n - cut.starts[axis]);
  return cut;
}

template <Cut (*cut_of)(const Call&)> void infer_cut(const Call& call, ResultTypes& results) {
  results[0].dtype = call.inputs[0].dtype;
  results[0].shape = cut_of(call).sizes;
}

template <Cut (*cut_of)(const Call&)> Tensor view_cut(const Call& call, const ResultType& result) {
  const Cut cut = cut_of(call);
  Tensor v = call.inputs[0];
  v.shape = result.shape;
  if (v.shape.elements() == 0) return v;
  for (int i = 0; i < v.rank(); ++i) v.offset += cut.starts[i] * v.strides[static_cast<std::size_t>(i)];
  return v;
}

template <Cut (*cut_of)(const Call&)> void cut_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Shape& shape = call.inputs[0].shape;
  const Cut cut = cut_of(Call{call.op, call.inputs, call.attributes, nullptr});
  Shape behind = shape, steps = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    behind[i] = shape[i] - cut.starts[i] - cut.sizes[i];
    steps[i] = 1;
  }
  if (rules::added_within(call, cut.starts, steps)) return;
  call.results[0] =
      call.runtime.apply(OperatorId::pad, {call.cotangents[0]},
                         rules::attributes({Attribute::of_list(cut.starts.sizes()), Attribute::of_list(behind.sizes())}));
}

template <Cut (*cut_of)(const Call&)> void narrow_cut(const RegionCall& call) {
  const Cut cut = cut_of(call.call);
  for (int i = 0; i < call.box.rank(); ++i) call.needed[0].within(i, read_by_steps(call.box[i], cut.starts[i], 1));
}
template <Cut (*cut_of)(const Call&)> constexpr RegionRule kRegionsOfCut = {"its place, moved", narrow_cut<cut_of>};

// --- what is added to such elements

void add_within_kernel(const KernelCall& call) {
  const View &sum = call.inputs[0], &part = call.inputs[1], &out = call.outputs[0];
  if (out.data != sum.data) cpu::copy_elements(out, sum);
  if (part.elements() == 0) return;
  View window = out;
  for (int i = 0; i < out.shape.rank(); ++i) {
    window = cpu::narrowed(window, i, item(call.attributes, 0, i), part.shape[i]);
    window.strides[static_cast<std::size_t>(i)] *= item(call.attributes, 1, i);
  }
  const View operands[] = {window, part};
  const Attributes none;
  operator_of(OperatorId::add).kernel({operands, {&window, 1}, none});
}

// An addition, and two elements read and one written, of the part alone.
Cost cost_within(const Call& call, const ResultTypes&) {
  const auto elements = static_cast<double>(call.inputs[1].elements());
  return {elements, 3 * elements * static_cast<double>(bytes_of(call.inputs[1].dtype))};
}

void narrow_within(const RegionCall& call) {
  Region& part = call.needed[1];
  regions::narrow_but(call.needed[0], call.box, 0);
  for (int i = 0; i < call.box.rank(); ++i)
    part.within(i, steps_within(call.box[i], item(call.call.attributes, 0, i), item(call.call.attributes, 1, i),
                                call.call.inputs[1].shape[i]));
}
constexpr RegionRule kRegionsWithin = {"its place, and moved", narrow_within};

// --- slice: a view

void infer_slice(const Call& call, ResultTypes& results) {
  const Shape& shape = call.inputs[0].shape;
  const Attributes& a = call.attributes;
  const int axis = axis_in("slice", a[0].integer(), shape.rank());
  const std::int64_t start = a[1].integer(), stop = a[2].integer(), step = rules::integer_or(a, 3, 1);
  if (start < 0 || stop < start || stop > shape[axis])
    throw OperatorError(
        fmt::format("slice: {} to {} along axis {} are not in a tensor of shape {}", start, stop, axis, shape.text()));
  if (step < 1) throw OperatorError(fmt::format("slice: a step is at least 1, not {}", step));
  rules::infer_same(call, results);
  results[0].shape[axis] = stop == start ? 0 : (stop - start - 1) / step + 1;
}

Tensor view_slice(const Call& call, const ResultType& result) {
  Tensor v = call.inputs[0];
  v.shape = result.shape;
  if (v.shape.elements() == 0) return v;
  const int axis = axis_in("slice", call.attributes[0].integer(), v.rank());
  std::int64_t& stride = v.strides[static_cast<std::size_t>(axis)];
  v.offset += call.attributes[1].integer() * stride;
  if (v.shape[axis] > 1) stride *= rules::integer_or(call.attributes, 3, 1);
  return v;
}

void narrow_slice(const RegionCall& call) {
  const Attributes& a = call.call.attributes;
  const int axis = axis_in("slice", a[0].integer(), call.box.rank());
  regions::narrow_but(call.needed[0], call.box, 1u << axis);
  call.needed[0].within(axis, read_by_steps(call.box[axis], a[1].integer(), rules::integer_or(a, 3, 1)));
}
constexpr RegionRule kRegionsOfSlice = {"its place, moved, in steps", narrow_slice};

// Zeros between, before and behind the elements, which are seen as [what is before the axis, axis, what is behind].
void slice_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Shape &shape = call.inputs[0].shape, &some = call.outputs[0].shape;
  const int axis = axis_in("slice", call.attributes[0].integer(), shape.rank());
  const std::int64_t start = call.attributes[1].integer(), step = rules::integer_or(call.attributes, 3, 1);
  if (call.onto != nullptr) {
    Shape starts = shape, steps = shape;
    for (int i = 0; i < shape.rank(); ++i) {
      starts[i] = i == axis ? start : 0;
      steps[i] = i == axis ? step : 1;
    }
    if (rules::added_within(call, starts, steps)) return;
  }
  std::int64_t before = 1, behind = 1;
  for (int i = 0; i < axis; ++i) before *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) behind *= shape[i];
  Tensor t = call.cotangents[0];
  const auto viewed = [&](const Shape& as) {
    t = call.runtime.apply(OperatorId::view, {t}, rules::attributes({Attribute::of_list(as.sizes())}));
  };
  const auto padded = [&](std::int64_t front, std::int64_t back) { // axis 1 of three; negative: taken away
    t = call.runtime.apply(OperatorId::pad, {t},
                           rules::attributes({Attribute::of_list({0, front, 0}), Attribute::of_list({0, back, 0})}));
  };
  if (step > 1 && some[axis] > 1) {
    viewed(Shape{before * some[axis], 1, behind});
    padded(0, step - 1);
  }
  const std::int64_t covered = some[axis] > 1 ? some[axis] * step : some[axis];
  viewed(Shape{before, covered, behind});
  padded(start, shape[axis] - start - covered);
  viewed(shape);
  call.results[0] = rules::fit(call.runtime, t, call.inputs[0]);
}

// --- tile

void infer_tile(const Call& call, ResultTypes& results) {
  check_each_axis(call, 0);
  rules::infer_same(call, results);
  for (int i = 0; i < results[0].shape.rank(); ++i) {
    const std::int64_t times = item(call.attributes, 0, i);
    if (times < 0 || __builtin_mul_overflow(results[0].shape[i], times, &results[0].shape[i]))
      throw OperatorError(fmt::format("tile: axis {} of a tensor of shape {} cannot be repeated {} times", i,
                                      call.inputs[0].shape.text(), times));
  }
}

void tile_from(const View& out, const View& in, const Attributes& attributes, int axis) {
  if (axis == in.shape.rank()) return cpu::copy_elements(out, in);
  for (std::int64_t i = 0; i < item(attributes, 0, axis); ++i)
    tile_from(cpu::narrowed(out, axis, i * in.shape[axis], in.shape[axis]), in, attributes, axis + 1);
}

void narrow_tile(const RegionCall& call) {
  for (int i = 0; i < call.box.rank(); ++i) call.needed[0].within(i, read_around(call.box[i], 0, call.call.inputs[0].shape[i]));
}
constexpr RegionRule kRegionsOfTile = {"its place, moved, around the end", narrow_tile};

void tile_kernel(const KernelCall& call) { tile_from(call.outputs[0], call.inputs[0], call.attributes, 0); }

// Axis by axis, seen as [what is before, times, what was there and is behind]: no more axes than three are needed.
void tile_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  Tensor c = call.cotangents[0];
  Shape shape = c.shape;
  auto seen = [&](const Shape& as) {
    c = call.runtime.apply(OperatorId::view, {c}, rules::attributes({Attribute::of_list(as.sizes())}));
  };
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t times = item(call.attributes, 0, i);
    if (times == 1) continue;
    std::int64_t before = 1, behind = 1;
    for (int k = 0; k < shape.rank(); ++k) (k < i ? before : behind) *= k == i ? call.inputs[0].shape[i] : shape[k];
    seen(Shape{before, times, behind});
    c = call.runtime.apply(OperatorId::sum, {c}, rules::attributes({Attribute::of_list({1})}));
    shape[i] = call.inputs[0].shape[i];
  }
  seen(shape);
  call.results[0] = c;
}

// --- flip and roll

void infer_flip(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  rules::axes_of("flip", call.attributes, call.inputs[0].rank());
}

int axis_of(std::int64_t axis, const View& v) { return static_cast<int>(axis < 0 ? axis + v.shape.rank() : axis); }

void flip_kernel(const KernelCall& call) {
  View from = call.inputs[0];
  unsigned seen = 0;
  for (const std::int64_t given : call.attributes[0].list()) {
    const int axis = axis_of(given, from);
    if ((seen >> axis & 1) != 0) continue;
    seen |= 1u << axis;
    std::int64_t& stride = from.strides[static_cast<std::size_t>(axis)];
    from.data = from.as<char>() + (from.shape[axis] - 1) * stride * bytes_of(from.dtype);
    stride = -stride;
  }
  cpu::copy_elements(call.outputs[0], from);
}

void narrow_flip(const RegionCall& call) {
  const rules::Mask mask = rules::axes_of("flip", call.call.attributes, call.box.rank());
  for (int i = 0; i < call.box.rank(); ++i) {
    const std::int64_t size = call.call.inputs[0].shape[i];
    const Range& range = call.box[i];
    call.needed[0].within(i, (mask >> i & 1) != 0 ? Range{size - range.end, size - range.begin} : range);
  }
}
constexpr RegionRule kRegionsOfFlip = {"the opposite place", narrow_flip};

void flip_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0)) call.results[0] = call.runtime.apply(OperatorId::flip, {call.cotangents[0]}, call.attributes);
}

void infer_roll(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  const auto &shifts = call.attributes[0].list(), &axes = call.attributes[1].list();
  if (shifts.size() != axes.size())
    throw OperatorError(fmt::format("roll: {} are not a number for each axis of {}", list_text(shifts), list_text(axes)));
  unsigned seen = 0;
  for (const std::int64_t axis : axes) {
    const unsigned bit = 1u << axis_in("roll", axis, call.inputs[0].rank());
    if ((seen & bit) != 0) throw OperatorError(fmt::format("roll: axis {} is given twice", axis));
    seen |= bit;
  }
}

// Two pieces along each axis.
void roll_from(const View& out, const View& in, const Attributes& attributes, std::size_t n) {
  if (n == attributes[1].list().size()) {
    if (in.elements() != 0) cpu::copy_elements(out, in);
    return;
  }
  const int axis = axis_of(attributes[1].list()[n], in);
  const std::int64_t size = in.shape[axis];
  std::int64_t shift = attributes[0].list()[n] % size;
  if (shift < 0) shift += size;
  roll_from(cpu::narrowed(out, axis, shift, size - shift), cpu::narrowed(in, axis, 0, size - shift), attributes, n + 1);
  roll_from(cpu::narrowed(out, axis, 0, shift), cpu::narrowed(in, axis, size - shift, shift), attributes, n + 1);
}

void narrow_roll(const RegionCall& call) {
  const auto &shifts = call.call.attributes[0].list(), &axes = call.call.attributes[1].list();
  rules::Mask mask = 0;
  for (std::size_t n = 0; n < axes.size(); ++n) {
    const int axis = axis_in("roll", axes[n], call.box.rank());
    mask |= 1u << axis;
    call.needed[0].within(axis, read_around(call.box[axis], shifts[n], call.call.inputs[0].shape[axis]));
  }
  regions::narrow_but(call.needed[0], call.box, mask);
}
constexpr RegionRule kRegionsOfRoll = {"its place, moved, around the end", narrow_roll};

void roll_kernel(const KernelCall& call) { roll_from(call.outputs[0], call.inputs[0], call.attributes, 0); }

void roll_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  Attributes back = call.attributes;
  std::vector<std::int64_t> shifts = back[0].list();
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    const Shape& shape = call.inputs[0].shape;
    const std::int64_t size = shape[axis_in("roll", item(back, 1, static_cast<int>(i)), shape.rank())];
    shifts[i] = size == 0 ? 0 : -(shifts[i] % size);
  }
  back.values[0] = Attribute::of_list(std::move(shifts));
  call.results[0] = call.runtime.apply(OperatorId::roll, {call.cotangents[0]}, back);
}

// --- triangles

void infer_triangle(const Call& call, ResultTypes& results) {
  rules::infer_same(call, results);
  if (call.inputs[0].rank() < 2)
    throw OperatorError(fmt::format("{}: a tensor of shape {} is no matrix", shown_name(call.op), call.inputs[0].shape.text()));
}

template <bool lower> void triangle_kernel(const KernelCall& call) {
  const View &in = call.inputs[0], &out = call.outputs[0];
  const int row = in.shape.rank() - 2, column = row + 1;
  const std::int64_t rows = in.shape[row], columns = in.shape[column];
  const std::int64_t diagonal = std::clamp(rules::integer_or(call.attributes, 0, 0), -rows, columns);
  cpu::fill_elements(out, 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t border = std::clamp<std::int64_t>(i + diagonal + (lower ? 1 : 0), 0, columns);
    const std::int64_t first = lower ? 0 : border, count = lower ? border : columns - border;
    if (count > 0)
      cpu::copy_elements(cpu::narrowed(cpu::narrowed(out, row, i, 1), column, first, count),
                         cpu::narrowed(cpu::narrowed(in, row, i, 1), column, first, count));
  }
}

void narrow_triangle(const RegionCall& call) {
  regions::narrow_but(call.needed[0], call.box, 0);
  call.needed[0].loosen(Fit::loose);
}
constexpr RegionRule kRegionsOfTriangle = {"its place, by where that is in the whole", narrow_triangle};

void triangle_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0)) call.results[0] = call.runtime.apply(call.op.id, {call.cotangents[0]}, call.attributes);
}

} // namespace

namespace definitions {

constinit const Definition stack = {.infer = infer_stack,
                                    .regions = &kRegionsOfStack,
                                    .kernel = stack_kernel,
                                    .vjp = stack_vjp,
                                    .jvp = stack_jvp,
                                    .vjp_memory = VjpMemory::parts};
constinit const Definition chunk = {.infer = infer_cut<cut_of_chunk>,
                                    .regions = &kRegionsOfCut<cut_of_chunk>,
                                    .view = view_cut<cut_of_chunk>,
                                    .vjp = cut_vjp<cut_of_chunk>,
                                    .vjp_memory = VjpMemory::onto,
                                    .cost = rules::cost_of_view};
constinit const Definition crop = {.infer = infer_cut<cut_of_crop>,
                                   .regions = &kRegionsOfCut<cut_of_crop>,
                                   .view = view_cut<cut_of_crop>,
                                   .vjp = cut_vjp<cut_of_crop>,
                                   .vjp_memory = VjpMemory::onto,
                                   .cost = rules::cost_of_view};
constinit const Definition add_within = {.infer = rules::infer_same,
                                         .regions = &kRegionsWithin,
                                         .kernel = add_within_kernel,
                                         .may_overwrite = keep_input(0),
                                         .borrows = false,
                                         .cost = cost_within};
constinit const Definition slice = {.infer = infer_slice,
                                    .regions = &kRegionsOfSlice,
                                    .view = view_slice,
                                    .vjp = slice_vjp,
                                    .vjp_memory = VjpMemory::onto,
                                    .cost = rules::cost_of_view};
constinit const Definition tile = {.infer = infer_tile, .regions = &kRegionsOfTile, .kernel = tile_kernel, .vjp = tile_vjp};
constinit const Definition flip = {.infer = infer_flip, .regions = &kRegionsOfFlip, .kernel = flip_kernel, .vjp = flip_vjp};
constinit const Definition roll = {.infer = infer_roll, .regions = &kRegionsOfRoll, .kernel = roll_kernel, .vjp = roll_vjp};
constinit const Definition lower_triangle = {
    .infer = infer_triangle, .regions = &kRegionsOfTriangle, .kernel = triangle_kernel<true>, .vjp = triangle_vjp};
constinit const Definition upper_triangle = {
    .infer = infer_triangle, .regions = &kRegionsOfTriangle, .kernel = triangle_kernel<false>, .vjp = triangle_vjp};

} // namespace definitions

} // namespace cairn::ops
