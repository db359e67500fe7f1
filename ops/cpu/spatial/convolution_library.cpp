// See convolution_library.h. The batch is cut into parts and single pictures into bands of rows, each done by one thread. Into
// how many is a matter of shapes alone, since a library may add in another order where there are fewer pictures or rows; parts of
// the weights are added in one order.
#include "ops/cpu/spatial/convolution_library.h"

#include "ops/cpu/device/scratch.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/copy.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/matrices/math_library.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cmath>
#include <optional>
#include <vector>

namespace cairn::ops::cpu {

namespace {

// A half each for two threads, and for more threads four pictures each.
std::int64_t parts_of_batch(std::int64_t batch) {
  std::int64_t parts = 1;
  while (parts < 16 && batch / (2 * parts) >= (parts == 1 ? 1 : 4)) parts *= 2;
  return parts;
}
// Multiplications. Nobody can stop a call of the library, so it has about the first of these, some fortieth of a second on one
// core. What cannot be cut and has more than the second is left to our own loops, and so are weights of more than the third.
constexpr double kWorthPart = 1 << 30, kMostUncut = 8 * kWorthPart, kMostToWeights = 2 * kWorthPart;

// A call costs 5 to 7 microseconds beside what it computes, its part of the first one of a new shape .1 to .5 milliseconds, and
// to wake a thread costs up to 30 microseconds. A half of a picture should take some 80, other bands, for more threads than two,
// .3 milliseconds, so that all this is a few percent of them.
constexpr double kWorthHalf = 1 << 22, kWorthBand = 1 << 24;
constexpr std::int64_t kMostBands = 16;

// Thin groups and large windows the library multiplies as matrices, for which it copies what windows look at: an element of that
// costs as much as so many multiplications, of which there is one for each channel of the result in the group.
constexpr std::int64_t kThin = 16, kLargeWindow = 512, kProductsInCopy = 48;

constexpr std::int64_t kArrangedAtOnce = 1 << 20; // elements of weights of groups

// Large weights take longer to add up than they are worth.
std::int64_t parts_of_weights(std::int64_t elements) { return elements < 1 << 20 ? 4 : 2; }
constexpr std::int64_t kMostSummed = 1 << 22; // elements of weights of all bands

Scratch scratch(std::int64_t elements) { return Scratch(elements * 4); }

void set_dense(View& v, bool channels_last) {
  std::int64_t stride = 1;
  const auto next = [&](int axis) {
    v.strides[static_cast<std::size_t>(axis)] = stride;
    stride *= v.shape[axis];
  };
  if (channels_last) next(1);
  for (int i = v.shape.rank(); i-- > 0;)
    if (i != 1 || !channels_last) next(i);
}

// An operand as the library wants it: itself, or a copy in memory of its own.
struct Dense {
  View view;
  Scratch copy;

  bool bring(const View& from, bool channels_last, bool written) {
    view = from;
    set_dense(view, channels_last);
    bool same = true;
    for (int i = 0; i < from.shape.rank(); ++i)
      same =
          same && (from.shape[i] == 1 || view.strides[static_cast<std::size_t>(i)] == from.strides[static_cast<std::size_t>(i)]);
    if (same) return true;
    if (written) return false; // results come dense
    copy = scratch(view.elements());
    view.data = copy.get();
    if (copy.get() != nullptr) copy_elements(view, from);
    return copy.get() != nullptr;
  }
};

bool convolve(const cairn_math& library, cairn_math_convolution& call) {
  const std::int64_t bytes = library.scratch_bytes(&call);
  const Scratch space = bytes != 0 ? Scratch(bytes) : Scratch();
  call.scratch = space.get();
  return library.convolve(&call) == 0;
}

// Rows [begin, end) of what a call writes, or of the small side if it writes weights, along the first axis, as a call of their
// own. Nothing: they have none.
std::optional<cairn_math_convolution> band(const cairn_math_convolution& whole, std::int64_t begin, std::int64_t end) {
  const auto axis = static_cast<std::size_t>(3 - whole.axes);
  const std::int64_t stride = whole.stride[axis], padding = whole.padding[axis], rows = end - begin;
  const std::int64_t reach = whole.dilation[axis] * (whole.kernel[axis] - 1) + 1; // of a window
  std::int64_t of_small = whole.small_channels, of_large = whole.large_channels;  // elements of a row
  for (std::size_t i = axis + 1; i < 3; ++i) {
    of_small *= whole.small[i];
    of_large *= whole.large[i];
  }
  const bool by_small = whole.kind != CAIRN_MATH_TO_LARGE;
  std::int64_t small = begin, windows = rows, large = begin, positions = rows, before = 0;
  if (by_small) {
    const std::int64_t first = begin * stride - padding;
    large = std::max<std::int64_t>(0, first);
    positions = std::min(whole.large[axis], first + (rows - 1) * stride + reach) - large;
    before = large - first;
  } else {
    // The first window that looks at the rows, or, if none does that begins before them, the one that would.
    small = std::min(std::max<std::int64_t>(0, begin + padding - reach + stride), begin + padding) / stride;
    windows = std::min(whole.small[axis], (end - 1 + padding) / stride + 1) - small;
    before = padding + begin - small * stride;
  }
  if (windows <= 0 || positions <= 0 || before < 0) return std::nullopt;
  cairn_math_convolution part = whole;
  part.small[axis] = windows;
  part.large[axis] = positions;
  part.padding[axis] = before;
  part.padding_after[axis] = std::max<std::int64_t>(0, (windows - 1) * stride + reach - positions - before);
  part.small_data += small * of_small;
  part.large_data += large * of_large;
  return part;
}

// Parts of the batch, and bands of each of them. There is one band unless parts are single pictures.
struct Cut {
  std::int64_t parts = 1, bands = 1;
};

std::int64_t times(double work, double of_each) { return static_cast<std::int64_t>(std::ceil(work / of_each)); }

Cut cut_of(cairn_math_written kind, double work, std::int64_t batch, std::int64_t rows, std::int64_t weights) {
  const bool to_weights = kind == CAIRN_MATH_TO_WEIGHTS;
  const std::int64_t most = to_weights ? parts_of_weights(weights) : kMostBands;
  std::int64_t wanted = 1;
  while (wanted < most && work / static_cast<double>(2 * wanted) >= (wanted == 1 ? kWorthHalf : kWorthBand)) wanted *= 2;
  Cut cut;
  cut.parts = to_weights ? std::min(batch, most) : parts_of_batch(batch);
  const double alone = to_weights ? kMostToWeights : kWorthPart; // the most of a call
  const std::int64_t planned = std::max(cut.parts, wanted),
                     needed = work > alone * static_cast<double>(planned) ? times(work, kWorthPart) : 1;
  if (const std::int64_t all = std::max(planned, needed); all > cut.parts) {
    cut.parts = std::min(batch, all);
    while (!to_weights && batch % cut.parts != 0) ++cut.parts; // parts that are alike share arranged weights
  }
  if (cut.parts != batch) return cut;
  const auto of_each = [&](std::int64_t all) { return (all - 1) / batch + 1; };
  cut.bands = std::max(std::min(of_each(wanted), rows / 2), // one row alone would be too little for all the weights
                       std::min(of_each(needed), to_weights ? kMostSummed / weights / batch : rows));
  cut.bands = std::clamp<std::int64_t>(cut.bands, 1, rows);
  return cut;
}

// A picture in bands of so many rows, but for the last one. Empty: these cannot be cut.
std::vector<cairn_math_convolution> bands_of(const cairn_math_convolution& whole, std::int64_t bands) {
  const auto axis = static_cast<std::size_t>(3 - whole.axes);
  const bool to_large = whole.kind == CAIRN_MATH_TO_LARGE;
  const std::int64_t rows = (to_large ? whole.large : whole.small)[axis];
  // Bands of what is large begin where a window does: between windows there may be rows that none looks at.
  const std::int64_t unit = to_large ? whole.stride[axis] : 1, first = to_large ? whole.padding[axis] % unit : 0;
  const std::int64_t high = ((rows - 1) / bands / unit + 1) * unit;
  std::vector<cairn_math_convolution> calls;
  for (std::int64_t begin = 0, end = 0; begin < rows; begin = end) {
    end = std::min(rows, begin + high - (begin == 0 ? first : 0));
    const std::optional<cairn_math_convolution> part = band(whole, begin, end);
    if (!part) return {};
    calls.push_back(*part);
  }
  return calls;
}

// to += each of the parts, in their order.
void add_parts(float* to, const float* from, std::int64_t parts, std::int64_t size) {
  parallel_for(size, kElementsInline, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = 0; part < parts; ++part)
      for (std::int64_t i = begin; i < end; ++i) to[i] += from[part * size + i];
  });
}

// Weights of a call in the library's own order, from or to the plain ones.
bool arrange(const cairn_math& library, const cairn_math_convolution& call, std::int64_t elements) {
  std::atomic<bool> done = true;
  const std::int64_t count = call.groups > 1 ? call.groups : call.small_channels, each = elements / count;
  const std::int64_t at_once = // bringing a few into order costs as much as a call does
      CAIRN_MATH_CHANNELS * (call.groups > 1 ? std::max<std::int64_t>(1, kArrangedAtOnce / (each * CAIRN_MATH_CHANNELS)) : 1);
  parallel_for((count - 1) / at_once + 1, 1, [&](std::int64_t begin, std::int64_t end) {
    if (library.arrange(&call, begin * at_once, std::min(end * at_once, count)) != 0) done = false;
  });
  return done;
}

// All calls, each with what `prepare` makes of it. False: the library has no memory for one.
template <class F> bool each_call(const cairn_math& library, const std::vector<cairn_math_convolution>& calls, F&& prepare) {
  std::atomic<bool> done = true;
  parallel_for(static_cast<std::int64_t>(calls.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      cairn_math_convolution call = calls[static_cast<std::size_t>(i)];
      prepare(call, i);
      if (!convolve(library, call)) done = false;
    }
  });
  return done;
}

bool write_activations(const cairn_math& library, const std::vector<cairn_math_convolution>& calls, std::int64_t elements) {
  cairn_math_convolution first = calls.front();
  const std::int64_t bytes = library.arranged_bytes(&first);
  const Scratch arranged = bytes != 0 ? Scratch(bytes) : Scratch();
  first.arranged = arranged.get();
  if (first.arranged != nullptr && !arrange(library, first, elements)) first.arranged = nullptr;
  return each_call(library, calls, [&](cairn_math_convolution& call, std::int64_t) {
    if (first.arranged != nullptr && library.same_order(&first, &call) != 0) call.arranged = first.arranged;
  });
}

// If all calls have them in one order they are added as they are, and brought out of it once.
bool write_weights(const cairn_math& library, const std::vector<cairn_math_convolution>& calls, std::int64_t elements) {
  cairn_math_convolution first = calls.front();
  const auto more = static_cast<std::int64_t>(calls.size()) - 1;
  const bool alike = std::all_of(calls.begin() + 1, calls.end(),
                                 [&](const cairn_math_convolution& call) { return library.same_order(&first, &call) != 0; });
  const std::int64_t bytes = alike ? library.arranged_bytes(&first) : 0, size = bytes / 4;
  const Scratch arranged = bytes != 0 ? scratch((more + 1) * size) : Scratch();
  if (arranged.get() != nullptr) {
    first.arranged = arranged.get();
    if (each_call(library, calls,
                  [&](cairn_math_convolution& call, std::int64_t i) { call.arranged = first.arranged + i * size; })) {
      add_parts(first.arranged, first.arranged + size, more, size);
      if (arrange(library, first, elements)) return true;
    }
  }
  const Scratch sums = more > 0 ? scratch(more * elements) : Scratch();
  if (more > 0 && sums.get() == nullptr) return false;
  if (!each_call(library, calls, [&](cairn_math_convolution& call, std::int64_t i) {
        if (i > 0) call.weights_data = sums.get() + (i - 1) * elements;
      }))
    return false;
  add_parts(first.weights_data, sums.get(), more, elements);
  return true;
}

} // namespace

bool convolved_by_library(cairn_math_written kind, const Convolution& c, const View& small, const View& large,
                          const View& weights, const View* bias) {
  for (const View* v : {&small, &large, &weights, bias})
    if (v != nullptr && v->dtype != DType::f32) return false;
  double work = static_cast<double>(weights.elements());
  for (int i = 0; i < small.shape.rank(); ++i) work *= i == 1 ? 1 : static_cast<double>(small.shape[i]);
  if (work < kLeastForLibrary) return false;
  const std::int64_t outs = small.shape[1] / c.groups, ins = large.shape[1] / c.groups;
  const bool copied = (c.groups > 1 && std::min(outs, ins) < kThin && std::max(outs, ins) > 1) ||
                      c.windows.kernel[0] * c.windows.kernel[1] * c.windows.kernel[2] >= kLargeWindow;
  if (copied) work += work / static_cast<double>(kind == CAIRN_MATH_TO_LARGE ? ins : outs) * kProductsInCopy;
  for (const View* v : {&small, &large, &weights})
    for (const std::int64_t size : v->shape)
      if (size <= 0 || size > INT_MAX) return false;
  const bool to_weights = kind == CAIRN_MATH_TO_WEIGHTS;
  const std::int64_t batch = small.shape[0], rows = (kind == CAIRN_MATH_TO_LARGE ? large : small).shape[2];
  const Cut cut = cut_of(kind, work, batch, rows, weights.elements());
  const double of_part = work / static_cast<double>(cut.parts), uncut = to_weights ? kMostToWeights : kMostUncut;
  if (of_part > std::max(uncut, (to_weights ? kMostToWeights : kWorthPart) * static_cast<double>(cut.bands))) return false;
  const cairn_math* const library = math_library();
  if (library == nullptr) return false;

  Dense of_small, of_large, of_weights, of_bias;
  if (!of_small.bring(small, true, kind == CAIRN_MATH_TO_SMALL) || !of_large.bring(large, true, kind == CAIRN_MATH_TO_LARGE) ||
      !of_weights.bring(weights, false, kind == CAIRN_MATH_TO_WEIGHTS) ||
      (bias != nullptr && !of_bias.bring(*bias, false, false)))
    return false;

  cairn_math_convolution whole{};
  whole.kind = kind;
  whole.axes = c.windows.axes;
  whole.groups = c.groups;
  whole.small_channels = small.shape[1];
  whole.large_channels = large.shape[1];
  const auto set = [](std::int64_t* to, const Sizes& sizes) { std::copy(sizes.begin(), sizes.end(), to); };
  set(whole.small, spatial_sizes(small.shape));
  set(whole.large, spatial_sizes(large.shape));
  set(whole.kernel, c.windows.kernel);
  set(whole.stride, c.windows.stride);
  set(whole.padding, c.windows.padding);
  set(whole.padding_after, c.windows.padding);
  set(whole.dilation, c.windows.dilation);
  if (bias != nullptr) whole.bias_data = of_bias.view.as<float>();

  whole.weights_data = of_weights.view.as<float>();
  std::vector<cairn_math_convolution> calls;
  for (std::int64_t part = 0; part < cut.parts; ++part) {
    cairn_math_convolution call = whole;
    const std::int64_t first = batch * part / cut.parts;
    call.batch = batch * (part + 1) / cut.parts - first;
    call.small_data = of_small.view.as<float>() + first * (of_small.view.elements() / batch);
    call.large_data = of_large.view.as<float>() + first * (of_large.view.elements() / batch);
    std::vector<cairn_math_convolution> bands;
    if (cut.bands > 1) bands = bands_of(call, cut.bands);
    if (cut.bands > 1 && bands.empty() && of_part > uncut) return false;
    if (bands.empty()) bands.push_back(call);
    calls.insert(calls.end(), bands.begin(), bands.end());
  }
  return (to_weights ? write_weights : write_activations)(*library, calls, weights.elements());
}

} // namespace cairn::ops::cpu
