// See convolution_library.h. The batch is cut into parts, each done by one thread. Parts of the weights are added in one order,
// and into how many the batch is cut for them does not depend on the threads.
#include "ops/cpu/convolution_library.h"

#include "ops/cpu/copy.h"
#include "ops/cpu/math_library.h"
#include "ops/cpu/workers.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <memory>
#include <new>

namespace cairn::ops::cpu {

namespace {

constexpr double kLeastForLibrary = 1 << 20; // multiplications
constexpr std::int64_t kPartsOfWeights = 4;

using Scratch = std::unique_ptr<float[]>;
Scratch scratch(std::int64_t elements) { return Scratch(new (std::nothrow) float[static_cast<std::size_t>(elements)]); }

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
    if (copy != nullptr) copy_elements(view, from);
    return copy != nullptr;
  }
};

} // namespace

bool convolved_by_library(cairn_math_written kind, const Convolution& c, const View& small, const View& large,
                          const View& weights, const View* bias) {
  for (const View* v : {&small, &large, &weights, bias})
    if (v != nullptr && v->dtype != DType::f32) return false;
  double work = static_cast<double>(weights.elements());
  for (int i = 0; i < small.shape.rank(); ++i) work *= i == 1 ? 1 : static_cast<double>(small.shape[i]);
  if (work < kLeastForLibrary) return false;
  for (const View* v : {&small, &large, &weights})
    for (const std::int64_t size : v->shape)
      if (size <= 0 || size > INT_MAX) return false;
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
  set(whole.dilation, c.windows.dilation);
  if (bias != nullptr) whole.bias_data = of_bias.view.as<float>();

  const std::int64_t batch = small.shape[0], threads = Workers::current() != nullptr ? Workers::current()->threads() : 1;
  const bool to_weights = kind == CAIRN_MATH_TO_WEIGHTS;
  const std::int64_t parts = std::min(batch, to_weights ? kPartsOfWeights : threads), of_part = weights.elements();
  const Scratch sums = to_weights && parts > 1 ? scratch((parts - 1) * of_part) : nullptr;
  if (to_weights && parts > 1 && sums == nullptr) return false;
  float* const written = of_weights.view.as<float>();
  std::atomic<bool> done = true;
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      cairn_math_convolution call = whole;
      const std::int64_t first = batch * part / parts;
      call.batch = batch * (part + 1) / parts - first;
      call.small_data = of_small.view.as<float>() + first * (of_small.view.elements() / batch);
      call.large_data = of_large.view.as<float>() + first * (of_large.view.elements() / batch);
      call.weights_data = to_weights && part > 0 ? sums.get() + (part - 1) * of_part : written;
      if (library->convolve(&call) != 0) done = false;
    }
  });
  if (!done) return false;
  if (to_weights)
    for (std::int64_t part = 1; part < parts; ++part)
      for (std::int64_t i = 0; i < of_part; ++i) written[i] += sums[static_cast<std::size_t>((part - 1) * of_part + i)];
  return true;
}

} // namespace cairn::ops::cpu
