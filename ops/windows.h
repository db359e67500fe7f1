// Windows that slide over the spatial axes of [batch, channels, d1, ..., dk], k from 1 to 3: convolutions and pools. Shape rules
// and kernels read the same attributes with these. Spatial sizes are held for three axes, missing ones in front: of size 1, under
// windows of size 1.
#pragma once

#include "ops/operator.h"

#include <array>

namespace cairn::ops {

inline constexpr int kMostSpatial = 3;
using Sizes = std::array<std::int64_t, kMostSpatial>;

// Spatial axes of a tensor: of its rank, without batch and channels. OperatorError: none, or too many.
int spatial_axes(std::string_view who, const Shape& shape);
Sizes spatial_sizes(const Shape& shape);
// [batch, channels, sizes...], of so many spatial axes.
Shape with_spatial(std::int64_t batch, std::int64_t channels, const Sizes& sizes, int axes);

// Attribute i: a number for each spatial axis or one for all; `missing` where it is absent, and for axes in front that do not
// exist. OperatorError: another count, or numbers below `least`.
Sizes spatial_attribute(std::string_view who, std::string_view what, const Attributes& attributes, std::size_t i, int axes,
                        std::int64_t missing, std::int64_t least);
bool is_present(const Attributes& attributes, std::size_t i);

struct Windows {
  int axes = 0;
  Sizes kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};

  // How many positions a window has along an axis of so many elements; not positive: it does not fit.
  std::int64_t positions(int axis, std::int64_t size) const {
    const auto i = static_cast<std::size_t>(axis);
    const std::int64_t reach = size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    return reach < 0 ? 0 : reach / stride[i] + 1;
  }
};

// A tensor with three spatial axes: what kernels over space go by. Strides are in elements.
struct SpatialView {
  char* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t element = 4; // bytes
  std::int64_t batch = 0, channels = 0;
  Sizes sizes{1, 1, 1}, strides{0, 0, 0};
  std::int64_t batch_stride = 0, channel_stride = 0;

  explicit SpatialView(const View& v);
  std::int64_t positions() const { return sizes[0] * sizes[1] * sizes[2]; }
  // The first channel at a position.
  char* at(std::int64_t n, std::int64_t d, std::int64_t h, std::int64_t w, std::int64_t channel = 0) const {
    return data + (n * batch_stride + d * strides[0] + h * strides[1] + w * strides[2] + channel * channel_stride) * element;
  }
};

} // namespace cairn::ops
