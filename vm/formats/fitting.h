// Pictures of bytes brought to one size and number of channels, so that they can stand in one tensor: scaled until they cover it,
// and cut at both ends of the axis that is too long. Each element is the mean of those around it, weighted by a triangle as wide
// as two elements of the result, or of the picture where that is smaller: bilinear interpolation that leaves nothing out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::formats {

struct PictureSize {
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t bytes() const { return height * width * channels; }
};

// What the call below takes, at most.
std::int64_t fitting_memory(const PictureSize& from, const PictureSize& to);
// Neither is empty; `from` has 1 to 4 channels, of which the second of two and the last of four are left out, `to` has 1 or 3.
// Polls the current meter.
void fit_picture(const std::byte* from, const PictureSize& from_size, std::byte* to, const PictureSize& to_size);

} // namespace cairn::formats
