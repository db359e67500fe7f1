// See windows.h.
#include "ops/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

namespace cairn::ops {

int spatial_axes(std::string_view who, const Shape& shape) {
  const int axes = shape.rank() - 2;
  if (axes < 1 || axes > kMostSpatial)
    throw OperatorError(
        fmt::format("{}: a tensor of shape {} is not [batch, channels, and 1 to {} more axes]", who, shape.text(), kMostSpatial));
  return axes;
}

Sizes spatial_sizes(const Shape& shape) {
  Sizes sizes{1, 1, 1};
  const int axes = shape.rank() - 2;
  for (int i = 0; i < axes; ++i) sizes[static_cast<std::size_t>(kMostSpatial - axes + i)] = shape[i + 2];
  return sizes;
}

Shape with_spatial(std::int64_t batch, std::int64_t channels, const Sizes& sizes, int axes) {
  Shape shape{batch, channels};
  for (int i = kMostSpatial - axes; i < kMostSpatial; ++i) shape.push_back(sizes[static_cast<std::size_t>(i)]);
  return shape;
}

bool is_present(const Attributes& attributes, std::size_t i) {
  return i < attributes.values.size() && attributes.values[i].present();
}

Sizes spatial_attribute(std::string_view who, std::string_view what, const Attributes& attributes, std::size_t i, int axes,
                        std::int64_t missing, std::int64_t least) {
  Sizes sizes{missing, missing, missing};
  if (!is_present(attributes, i)) return sizes;
  const std::vector<std::int64_t>& given = attributes[i].list();
  if (given.size() != 1 && given.size() != static_cast<std::size_t>(axes))
    throw OperatorError(
        fmt::format("{}: {} {} is not one number, or one for each of {} axes", who, what, list_text(given), axes));
  for (int axis = 0; axis < axes; ++axis) {
    const std::int64_t size = given[given.size() == 1 ? 0 : static_cast<std::size_t>(axis)];
    if (size < least || size > INT_MAX)
      throw OperatorError(fmt::format("{}: {} {} must be from {} to {}", who, what, list_text(given), least, INT_MAX));
    sizes[static_cast<std::size_t>(kMostSpatial - axes + axis)] = size;
  }
  return sizes;
}

SpatialView::SpatialView(const View& v) : data(static_cast<char*>(v.data)), dtype(v.dtype), element(bytes_of(v.dtype)) {
  batch = v.shape[0];
  channels = v.shape[1];
  batch_stride = v.strides[0];
  channel_stride = v.strides[1];
  sizes = spatial_sizes(v.shape);
  const int axes = v.shape.rank() - 2;
  for (int i = 0; i < axes; ++i)
    strides[static_cast<std::size_t>(kMostSpatial - axes + i)] = v.strides[static_cast<std::size_t>(i + 2)];
}

} // namespace cairn::ops
