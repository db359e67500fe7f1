// Compressed pieces of TIFF, by the module cairn_tiff.
#pragma once

#include "vm/formats/tiff.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cairn::formats {

// What decoding a piece of so many bytes takes at most beside the piece and what is made of it.
std::int64_t decoding_memory(const TiffPage& page, std::uint64_t bytes);
// A piece of so many rows, compressed, becomes elements as the processor has them: those of page.element, not swapped. `tables`
// are JPEG's. FormatError without a place; ops::OperatorError where the module is missing.
void decode_piece(const TiffPage& page, std::int64_t rows, std::span<const std::byte> tables, std::span<const std::byte> bytes,
                  std::byte* to);

} // namespace cairn::formats
