// See convolution_library.h. The batch is cut into parts, each done by one thread. Into how many is a matter of shapes alone,
// since a library may add in another order where there are fewer pictures; parts of the weights are added in one order.
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
// core: a part of the batch, or a band of a picture. What is not to be cut and has more than the second is left to our own loops,
// and so are weights of more than the third.
constexpr double kWorthPart = 1 << 30, kMostUncut = 8 * kWorthPart, kMostToWeights = 2 * kWorthPart;

// Thin groups and large windows the library multiplies as matrices, for which it copies what windows look at: an element of that
// costs as much as so many multiplications, of which there is one for each channel of the result in the group.
constexpr std::int64_t kThin = 16, kLargeWindow = 512, kProductsInCopy = 48;

constexpr std::int64_t kArrangedAtOnce = 1 << 20; // elements of weights of groups

// Large weights take longer to add up than they are worth.
std::int64_t parts_of_weights(const View& weights) { return weights.elements() < 1 << 20 ? 4 : 2; }

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

bool convolve(const cairn_math& library, cairn_math_convolution call) {
  const std::int64_t bytes = library.scratch_bytes(&call);
  const Scratch space = bytes != 0 ? Scratch(bytes) : Scratch();
  call.scratch = space.get();
  return library.convolve(&call) == 0;
}

// Rows [begin, end) of what a call writes, along its first axis, as a call of their own. Nothing: they have none.
std::optional<cairn_math_convolution> band(const cairn_math_convolution& whole, std::int64_t begin, std::int64_t end) {
  const auto axis = static_cast<std::size_t>(3 - whole.axes);
  const std::int64_t stride = whole.stride[axis], padding = whole.padding[axis], rows = end - begin;
  const std::int64_t reach = whole.dilation[axis] * (whole.kernel[axis] - 1) + 1; // of a window
  std::int64_t of_small = whole.small_channels, of_large = whole.large_channels;  // elements of a row
  for (std::size_t i = axis + 1; i < 3; ++i) {
    of_small *= whole.small[i];
    of_large *= whole.large[i];
  }
  const bool to_small = whole.kind == CAIRN_MATH_TO_SMALL;
  std::int64_t small = begin, windows = rows, large = begin, positions = rows, before = 0;
  if (to_small) {
    const std::int64_t first = begin * stride - padding;
    large = std::max<std::int64_t>(0, first);
    positions = std::min(whole.large[axis], first + (rows - 1) * stride + reach) - large;
    before = large - first;
  } else {
    small = std::max<std::int64_t>(0, begin + padding - reach + stride) / stride;
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

// A call, in bands if it is one picture that has too much work for one. False: the library has no memory, or bands cannot be cut.
bool convolve_in_bands(const cairn_math& library, const cairn_math_convolution& whole, double work) {
  const std::int64_t rows = (whole.kind == CAIRN_MATH_TO_SMALL ? whole.small : whole.large)[3 - whole.axes];
  const auto bands = std::min(rows, static_cast<std::int64_t>(std::ceil(work / kWorthPart)));
  if (whole.batch != 1 || whole.kind == CAIRN_MATH_TO_WEIGHTS || bands <= 1) return convolve(library, whole);
  std::vector<cairn_math_convolution> calls;
  for (std::int64_t i = 0; i < bands; ++i) {
    const std::optional<cairn_math_convolution> part = band(whole, rows * i / bands, rows * (i + 1) / bands);
    if (!part) return work <= kMostUncut && convolve(library, whole);
    calls.push_back(*part);
  }
  for (cairn_math_convolution& call : calls) {
    Meter::poll_current();
    if (call.arranged != nullptr && library.same_order(&whole, &call) == 0) call.arranged = nullptr;
    if (!convolve(library, call)) return false;
  }
  return true;
}

// to += each of the parts, in their order.
void add_parts(float* to, const float* from, std::int64_t parts, std::int64_t size) {
  parallel_for(size, kElementsInline, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = 0; part < parts; ++part)
      for (std::int64_t i = begin; i < end; ++i) to[i] += from[part * size + i];
  });
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
  const std::int64_t batch = small.shape[0];
  std::int64_t parts = to_weights ? std::min(batch, parts_of_weights(weights)) : parts_of_batch(batch);
  if (!to_weights && work > kWorthPart * static_cast<double>(parts)) {
    parts = static_cast<std::int64_t>(std::min(static_cast<double>(batch), std::ceil(work / kWorthPart)));
    while (batch % parts != 0) ++parts; // parts that are alike share arranged weights
  }
  if (to_weights && work > kMostToWeights * static_cast<double>(parts))
    parts = static_cast<std::int64_t>(std::min(static_cast<double>(batch), std::ceil(work / kWorthPart)));
  const auto rows = static_cast<double>((kind == CAIRN_MATH_TO_SMALL ? small : large).shape[2]);
  if (work > (to_weights ? kMostToWeights : std::max(kMostUncut, kWorthPart * rows)) * static_cast<double>(parts)) return false;
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

  float* const plain = whole.weights_data = of_weights.view.as<float>();
  const auto each_part = [&](auto&& give_weights) {
    std::atomic<bool> done = true;
    parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        cairn_math_convolution call = whole;
        const std::int64_t first = batch * part / parts;
        call.batch = batch * (part + 1) / parts - first;
        call.small_data = of_small.view.as<float>() + first * (of_small.view.elements() / batch);
        call.large_data = of_large.view.as<float>() + first * (of_large.view.elements() / batch);
        give_weights(call, part);
        if (!convolve_in_bands(*library, call, work / static_cast<double>(parts))) done = false;
      }
    });
    return done.load();
  };

  // If the parts are alike, weights are brought into the library's own order, or out of it, once for all of them.
  whole.batch = batch / parts;
  const std::int64_t bytes = batch % parts == 0 ? library->arranged_bytes(&whole) : 0, size = bytes / 4;
  const Scratch arranged = bytes != 0 ? scratch(to_weights ? parts * size : size) : Scratch();
  if (arranged.get() != nullptr) {
    cairn_math_convolution call = whole;
    call.arranged = arranged.get();
    const auto arrange = [&] {
      std::atomic<bool> done = true;
      const std::int64_t count = call.groups > 1 ? call.groups : call.small_channels, each = weights.elements() / count;
      const std::int64_t at_once = // bringing a few into order costs as much as a call does
          CAIRN_MATH_CHANNELS * (call.groups > 1 ? std::max<std::int64_t>(1, kArrangedAtOnce / (each * CAIRN_MATH_CHANNELS)) : 1);
      parallel_for((count - 1) / at_once + 1, 1, [&](std::int64_t begin, std::int64_t end) {
        if (library->arrange(&call, begin * at_once, std::min(end * at_once, count)) != 0) done = false;
      });
      return done.load();
    };
    const auto give = [&](cairn_math_convolution& to, std::int64_t part) {
      to.arranged = arranged.get() + (to_weights ? part * size : 0);
    };
    if (to_weights) {
      if (each_part(give)) {
        add_parts(arranged.get(), arranged.get() + size, parts - 1, size);
        if (arrange()) return true;
      }
    } else if (arrange() && each_part(give)) {
      return true;
    }
  }

  const std::int64_t of_part = weights.elements();
  const Scratch sums = to_weights && parts > 1 ? scratch((parts - 1) * of_part) : Scratch();
  if (to_weights && parts > 1 && sums.get() == nullptr) return false;
  if (!each_part([&](cairn_math_convolution& to, std::int64_t part) {
        if (to_weights && part > 0) to.weights_data = sums.get() + (part - 1) * of_part;
      }))
    return false;
  if (to_weights) add_parts(plain, sums.get(), parts - 1, of_part);
  return true;
}

} // namespace cairn::ops::cpu
