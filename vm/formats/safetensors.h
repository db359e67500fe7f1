// The safetensors format: a number, a header in JSON, and the elements of all tensors one behind the other.
#pragma once

#include "ops/shape.h"
#include "vm/formats/element.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::formats {

struct NamedTensor {
  std::string name;
  Element element;
  ops::Shape shape;
  std::uint64_t begin = 0, end = 0; // of its elements, behind the header
};

// The header's bytes, as the first kSafetensorsStart bytes of the file say, or the file; it stands behind them. FormatError.
inline constexpr std::uint64_t kSafetensorsStart = 8;
std::uint64_t safetensors_header_bytes(std::string_view start, std::uint64_t file_bytes);
// How much memory parsing a header of so many bytes takes.
constexpr std::uint64_t safetensors_memory(std::uint64_t header_bytes) { return 16 * header_bytes; }
// The tensors in the order of their elements. FormatError: also where these overlap, leave gaps, or are not all there.
std::vector<NamedTensor> parse_safetensors(std::string_view header, std::uint64_t file_bytes);

// The start and header of a file of tensors of these names, types and shapes in this order; begin and end are filled in.
std::string safetensors_header(std::span<NamedTensor> tensors);

// What is said of a file of torch.save, whichever procedure is given one.
std::string pickle_message();

} // namespace cairn::formats
