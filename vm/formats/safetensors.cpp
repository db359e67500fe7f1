// See safetensors.h. Of JSON, only what the format allows is read: an object of objects with three known keys each, and one of
// texts. So nothing is nested deeper, whatever the file says.
#include "vm/formats/safetensors.h"

#include "vm/formats/json.h"
#include "vm/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn::formats {

using ops::DType;

namespace {

constexpr std::uint64_t kMostHeader = 100'000'000; // the format's own limit

struct TypeName {
  std::string_view name;
  DType type;
};
constexpr TypeName kTypeNames[] = {{"U8", DType::u8},   {"BOOL", DType::u8}, {"I8", DType::i8},
                                   {"I16", DType::i16}, {"I32", DType::i32}, {"I64", DType::i64},
                                   {"F32", DType::f32}, {"F64", DType::f64}, {"BF16", DType::bf16}};
// What to convert others to.
constexpr std::pair<std::string_view, std::string_view> kOtherTypeNames[] = {
    {"U64", "I64"}, {"F8_E4M3", "BF16 (t.bfloat16())"}, {"F8_E5M2", "BF16 (t.bfloat16())"}};
constexpr std::pair<std::string_view, std::string_view> kWidenedTypeNames[] = {{"F16", "f16"}, {"U16", "u16"}, {"U32", "u32"}};

// Calls member(key) behind the colon of each.
template <class F> void json_object(HeaderText& in, F&& member) {
  in.expect('{');
  if (in.accept('}')) return;
  do {
    const std::string key = json_text(in);
    in.expect(':');
    member(key);
  } while (in.accept(','));
  in.expect('}');
}

template <class F> void json_numbers(HeaderText& in, F&& number) {
  in.expect('[');
  if (in.accept(']')) return;
  do number(in.number());
  while (in.accept(','));
  in.expect(']');
}

Element type_named(HeaderText& in) {
  const std::string name = json_text(in);
  for (const TypeName& known : kTypeNames)
    if (known.name == name) return {known.type};
  for (const auto& [theirs, ours] : kWidenedTypeNames)
    if (theirs == name) return *element_named(ours);
  for (const auto& [other, instead] : kOtherTypeNames)
    if (other == name) in.wrong(fmt::format("a tensor of type {}, which Cairn has not; convert it to {}", other, instead));
  in.wrong("a tensor of a type that Cairn has not; convert it to one that it has, as F32");
}

NamedTensor one_tensor(HeaderText& in, std::string name) {
  NamedTensor t;
  t.name = std::move(name);
  unsigned seen = 0, offsets = 0;
  json_object(in, [&](const std::string& key) {
    const unsigned which = key == "dtype" ? 1 : key == "shape" ? 2 : key == "data_offsets" ? 4 : 0;
    if (which == 0) in.wrong("a key that is none of dtype, shape, data_offsets");
    if ((seen & which) != 0) in.wrong("a key is there twice");
    seen |= which;
    if (which == 1) t.element = type_named(in);
    if (which == 2)
      json_numbers(in, [&](std::int64_t size) {
        if (t.shape.rank() == ops::kMostAxes) in.wrong(fmt::format("a tensor has more than {} axes", ops::kMostAxes));
        t.shape.push_back(size);
      });
    if (which == 4)
      json_numbers(in, [&](std::int64_t n) {
        if (offsets++ == 2) in.wrong("more than two data_offsets");
        (offsets == 1 ? t.begin : t.end) = static_cast<std::uint64_t>(n);
      });
  });
  if (seen != 7 || offsets != 2) in.wrong("a tensor without one of dtype, shape, data_offsets");
  std::int64_t bytes = 0;
  try {
    bytes = t.shape.elements();
  } catch (const ops::OperatorError&) {
    in.wrong("sizes that multiply to more than any file has");
  }
  if (__builtin_mul_overflow(bytes, t.element.bytes(), &bytes) || t.end < t.begin ||
      t.end - t.begin != static_cast<std::uint64_t>(bytes))
    in.wrong("data_offsets that do not fit the shape");
  return t;
}

} // namespace

std::string pickle_message() {
  return "is a file of torch.save, which holds objects of Python; there, safetensors.torch.save_file(torch.load(\"FILE.pt\"), "
         "\"FILE.safetensors\") makes a file for (read-safetensors path) and (load-parameters path like)";
}

std::uint64_t safetensors_header_bytes(std::string_view start, std::uint64_t file_bytes) {
  if (start.size() < kSafetensorsStart) throw FormatError(start.size(), "is too short for a safetensors file");
  if (start.starts_with("PK\3\4"))
    throw FormatError(
        0, "is an archive, and no safetensors file; one of numpy.savez is read by (read-npz path). If torch.save wrote it, it " +
               pickle_message());
  if (start.starts_with("\x80\2")) throw FormatError(0, pickle_message());
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, start.data(), sizeof bytes);
  if (bytes > kMostHeader) throw FormatError(0, fmt::format("is no safetensors file: its header would have {} bytes", bytes));
  if (bytes > file_bytes - kSafetensorsStart) throw FormatError(file_bytes, "ends inside of its header");
  return bytes;
}

std::vector<NamedTensor> parse_safetensors(std::string_view header, std::uint64_t file_bytes) {
  HeaderText in(header, kSafetensorsStart);
  if (!text::is_utf8(header)) in.wrong("the header is no text in UTF-8");
  std::vector<NamedTensor> tensors;
  bool described = false;
  json_object(in, [&](const std::string& key) {
    if (key != "__metadata__") {
      tensors.push_back(one_tensor(in, key));
      return;
    }
    if (std::exchange(described, true)) in.wrong("__metadata__ is there twice");
    json_object(in, [&](const std::string&) { json_text(in); });
  });
  in.skip_blanks();
  if (!in.done()) in.wrong("something follows the header's object");
  const auto by_name = [&](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; };
  std::sort(tensors.begin(), tensors.end(), by_name);
  for (std::size_t i = 1; i < tensors.size(); ++i)
    if (tensors[i - 1].name == tensors[i].name) in.wrong("two tensors of one name");
  // Empty ones stand before what begins there.
  std::stable_sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const NamedTensor& t : tensors)
    if (t.begin != std::exchange(at, t.end)) in.wrong("data_offsets that overlap or leave a gap");
  const std::uint64_t left = file_bytes - kSafetensorsStart - header.size();
  if (at != left) throw FormatError(file_bytes, fmt::format("has {} bytes of elements, and its header speaks of {}", left, at));
  return tensors;
}

std::string safetensors_header(std::span<NamedTensor> tensors) {
  std::string text = "{";
  std::uint64_t at = 0;
  for (NamedTensor& t : tensors) {
    t.begin = at;
    t.end = at += static_cast<std::uint64_t>(t.shape.elements() * t.element.bytes());
    if (text.size() > 1) text += ',';
    text += '"';
    append_json(text, t.name);
    std::string_view type;
    for (const TypeName& known : kTypeNames)
      if (known.type == t.element.type && type.empty()) type = known.name;
    std::string sizes;
    for (const std::int64_t size : t.shape) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    text += fmt::format("\":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", type, sizes, t.begin, t.end);
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' '); // elements at a multiple of eight bytes
  const std::uint64_t bytes = text.size();
  std::string out(sizeof bytes, '\0');
  std::memcpy(out.data(), &bytes, sizeof bytes);
  return out + text;
}

} // namespace cairn::formats
