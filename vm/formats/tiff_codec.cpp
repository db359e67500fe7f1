// See tiff_codec.h.
#include "vm/formats/tiff_codec.h"

#include "ops/shape.h"
#include "vm/codecs/tiff.h"
#include "vm/formats/codecs.h"
#include "vm/formats/format_error.h"
#include "vm/formats/loaded_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace cairn::formats {

namespace {

const cairn_tiff& tiff_functions() {
  static const LoadedModule<cairn_tiff_open_function> loaded("cairn_tiff", CAIRN_TIFF_OPEN, CAIRN_TIFF_VERSION);
  if (loaded.functions == nullptr)
    throw ops::OperatorError(
        fmt::format("a TIFF that is compressed needs the module libcairn_tiff.so: {}; install libtiff-dev and "
                    "build again",
                    loaded.why));
  return *loaded.functions;
}

const unsigned char* unsigned_bytes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

} // namespace

std::int64_t decoding_memory(const TiffPage& page, std::uint64_t bytes) {
  constexpr std::int64_t kState = std::int64_t{1} << 20, kRound = 1024; // of the library and of what decodes
  constexpr std::int64_t kRows = 8;                                     // a few of them wait between steps
  // All coefficients where several scans refine them, and rows of blocks before and after they are brought to one size.
  const std::int64_t rows = std::min(page.piece_height, page.height) + 32, columns = page.piece_width + 32;
  const std::int64_t jpeg =
      page.compression == tiff::kJpeg ? columns * page.samples_of_piece() * (rows * 2 + std::int64_t{128} * 4) : 0;
  return kState + kRound + static_cast<std::int64_t>(bytes) + kRows * page.row_bytes() + jpeg;
}

void decode_piece(const TiffPage& page, std::int64_t rows, std::span<const std::byte> tables, std::span<const std::byte> bytes,
                  std::byte* to) {
  const cairn_tiff& functions = tiff_functions();
  const cairn_tiff_piece piece{static_cast<std::uint32_t>(page.piece_width),
                               static_cast<std::uint32_t>(rows),
                               static_cast<std::uint16_t>(page.samples_of_piece()),
                               static_cast<std::uint16_t>(page.element.bytes() * 8),
                               page.format,
                               page.compression,
                               page.photometric,
                               page.predictor,
                               {page.subsampling[0], page.subsampling[1]},
                               page.big_endian ? 1 : 0,
                               unsigned_bytes(tables),
                               tables.size(),
                               unsigned_bytes(bytes),
                               bytes.size()};
  CodecHost host;
  char message[CAIRN_CODEC_MESSAGE] = "";
  const auto memory = static_cast<std::size_t>(decoding_memory(page, bytes.size()));
  const int result = functions.decode(host.host(), &piece, memory, reinterpret_cast<unsigned char*>(to), message);
  host.rethrow();
  if (result != CAIRN_CODEC_DONE) throw FormatError(FormatError::kNowhere, message);
}

} // namespace cairn::formats
