// TIFF as it is written: one page of samples side by side, in tiles that are not compressed, so that the place of every sample is
// known before any is there. BigTIFF where 4 GiB do not suffice.
#pragma once

#include "ops/dtype.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cairn::formats {

struct TiffLayout {
  static constexpr std::int64_t kMostSamples = 4; // grey, or red, green and blue, and one more
  ops::DType type = ops::DType::u8;
  std::int64_t height = 0, width = 0, samples = 1;
  std::int64_t tile_height = 0, tile_width = 0; // of all tiles, those at the lower and right edge are filled with zeros
  bool wide = false;                            // BigTIFF
  std::uint64_t elements = 0;                   // where they begin
  std::uint64_t bytes = 0;                      // of the file

  std::int64_t across() const { return (width - 1) / tile_width + 1; }
  std::int64_t down() const { return (height - 1) / tile_height + 1; }
  std::uint64_t pixel_bytes() const { return static_cast<std::uint64_t>(samples * ops::bytes_of(type)); }
  std::uint64_t tile_bytes() const { return static_cast<std::uint64_t>(tile_height * tile_width) * pixel_bytes(); }
  // Of a pixel.
  std::uint64_t place(std::int64_t row, std::int64_t column) const;
};

// None: no TIFF has such sizes, which are 1 at least, or none so much.
std::optional<TiffLayout> tiff_layout(ops::DType type, std::int64_t height, std::int64_t width, std::int64_t samples);
// All that comes before the elements.
std::string tiff_head(const TiffLayout& layout);

} // namespace cairn::formats
