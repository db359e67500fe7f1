// NumPy's format of one array: a header in the notation of Python, and the elements.
#pragma once

#include "ops/shape.h"
#include "vm/formats/element.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn::formats {

struct NpyArray {
  Element element;
  bool columns_first = false; // the first axis varies fastest
  ops::Shape shape;
  std::uint64_t offset = 0; // of the elements
};

// How many bytes of the file the whole header takes, as its first bytes say: kNpyStart of them, or the file. FormatError.
inline constexpr std::uint64_t kNpyStart = 12;
std::uint64_t npy_header_bytes(std::string_view start, std::uint64_t file_bytes);
// Of a header so long. FormatError: also where the file is not as long as its elements take.
NpyArray parse_npy(std::string_view header, std::uint64_t file_bytes);

// A header for elements in row-major order; what follows it is at a multiple of 64 bytes. Empty: NumPy has no such type.
std::string npy_header(ops::DType type, const ops::Shape& shape);

} // namespace cairn::formats
