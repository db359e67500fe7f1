// Any bytes are a file of a known format or refused where they are wrong, and what is said of a file is true of it: its tensors
// lie in it. The first byte chooses the format.
#include "test/fuzz/fuzzing.h"
#include "vm/formats/csv.h"
#include "vm/formats/format_error.h"
#include "vm/formats/npy.h"
#include "vm/formats/safetensors.h"

#include <algorithm>
#include <string_view>

namespace {

using fuzzing::promise;
namespace formats = cairn::formats;

std::uint64_t bytes_of(const formats::Element& element, const cairn::ops::Shape& shape) {
  return static_cast<std::uint64_t>(shape.elements()) * static_cast<std::uint64_t>(element.bytes());
}

void npy(std::string_view file) {
  const std::uint64_t header = formats::npy_header_bytes(file.substr(0, formats::kNpyStart), file.size());
  promise(header <= file.size(), "the header of an array lies in its file");
  const formats::NpyArray array = formats::parse_npy(file.substr(0, header), file.size());
  promise(array.offset <= file.size() && file.size() - array.offset >= bytes_of(array.element, array.shape),
          "the elements of an array lie in its file");
}

void safetensors(std::string_view file) {
  const std::uint64_t header = formats::safetensors_header_bytes(file.substr(0, formats::kSafetensorsStart), file.size());
  promise(header <= file.size() - formats::kSafetensorsStart, "the header of tensors lies in its file");
  const auto tensors = formats::parse_safetensors(file.substr(formats::kSafetensorsStart, header), file.size());
  std::uint64_t at = 0;
  for (const formats::NamedTensor& t : tensors) {
    promise(t.begin == at && t.end - t.begin == bytes_of(t.element, t.shape), "tensors lie one behind the other", t.name);
    at = t.end;
  }
  promise(at <= file.size() - formats::kSafetensorsStart - header, "tensors lie in their file");
}

void csv(std::string_view file) {
  std::uint64_t numbers = 0, held = 0;
  const formats::CsvReader reader{[&](double) { ++numbers; }, [&](std::uint64_t bytes) { held += bytes; }};
  const formats::CsvTable table = formats::parse_csv(file, reader);
  promise(numbers == static_cast<std::uint64_t>(table.rows * table.columns), "a table is full of numbers");
  promise(table.names.empty() || table.names.size() == static_cast<std::size_t>(table.columns),
          "every column has a name or none");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view file(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr void (*kFormats[])(std::string_view) = {npy, safetensors, csv};
  try {
    kFormats[data[0] % std::size(kFormats)](file);
  } catch (const formats::FormatError& e) {
    promise(e.at <= file.size() && *e.what() != '\0', "what is wrong with a file is at a place in it");
  }
  return 0;
}
