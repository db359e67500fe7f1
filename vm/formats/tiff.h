// TIFF and BigTIFF: pages of samples in pieces, tiles or strips, each of which is compressed by itself. What a page says of
// itself is read here; what is in a piece that is compressed is the library's (tiff_codec.h).
#pragma once

#include "vm/formats/element.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace cairn::formats {

namespace tiff {
enum Compression : std::uint16_t { kNone = 1, kLzw = 5, kJpeg = 7, kDeflate = 8, kPackBits = 32773, kOldDeflate = 32946 };
enum Photometric : std::uint16_t { kRgb = 2, kYCbCr = 6 };
} // namespace tiff

struct TiffPage {
  Element element; // as bytes that are not compressed are
  std::int64_t height = 0, width = 0, samples = 1;
  std::int64_t piece_height = 0, piece_width = 0; // tiles at the lower and right edge are as large as others, strips are not
  bool tiles = false;
  bool planar = false;     // pieces have one sample each: all of the first sample come first
  bool big_endian = false; // the file is
  std::uint16_t compression = tiff::kNone, photometric = 1, predictor = 1, format = 1;
  std::uint16_t subsampling[2] = {0, 0}; // of JPEG; 0: not said
  struct Place {
    std::uint64_t from = 0, bytes = 0;
  };
  Place tables; // of JPEG, that its pieces share

  std::int64_t across() const { return (width - 1) / piece_width + 1; }
  std::int64_t down() const { return (height - 1) / piece_height + 1; }
  std::int64_t pieces() const { return across() * down() * (planar ? samples : 1); }
  std::int64_t samples_of_piece() const { return planar ? 1 : samples; }
  // Of a piece in that row of pieces.
  std::int64_t rows_of_piece(std::int64_t row) const;
  // Of elements as the file has them.
  std::int64_t row_bytes() const { return piece_width * samples_of_piece() * element.bytes(); }

  // Numbers of the directory: where they are, how many, and how wide each is.
  struct Numbers {
    std::uint64_t from = 0, count = 0;
    std::int64_t width = 0;
  };
  Numbers places, sizes; // of pieces
};

class Tiff {
public:
  // Bytes that the file has. May throw.
  using Read = std::function<void(std::uint64_t from, std::span<std::byte> to)>;
  // FormatError, as all that follow.
  Tiff(std::uint64_t file_bytes, Read read);
  // Counted from 0.
  TiffPage page(std::uint64_t number);
  // Where a piece is. Its bytes are in the file, and enough for what it is said to hold.
  TiffPage::Place piece(const TiffPage& page, std::int64_t number);

private:
  friend class TiffDirectory;
  std::uint64_t number(std::uint64_t from, std::int64_t width);
  std::uint64_t bytes_;
  Read read_;
  bool big_endian_ = false, wide_ = false; // wide: BigTIFF
  std::uint64_t first_ = 0;                // directory
};

} // namespace cairn::formats
