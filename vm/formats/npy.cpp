// See npy.h. The header is a dictionary of three entries in any order: descr, fortran_order, shape.
#include "vm/formats/npy.h"

#include "vm/formats/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn::formats {

using ops::DType;

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::uint64_t kMostNpyHeader = 1 << 20;

struct NpyType {
  std::string_view name; // without the order of bytes
  DType type;
};
constexpr NpyType kNpyTypes[] = {{"u1", DType::u8},  {"b1", DType::u8},  {"i1", DType::i8},  {"i2", DType::i16},
                                 {"i4", DType::i32}, {"i8", DType::i64}, {"f4", DType::f32}, {"f8", DType::f64}};
struct WidenedNpyType {
  std::string_view name;
  std::string_view element;
};
constexpr WidenedNpyType kWidenedNpyTypes[] = {{"u2", "u16"}, {"u4", "u32"}, {"f2", "f16"}};
// What to convert others to.
constexpr std::pair<std::string_view, std::string_view> kOtherNpyTypes[] = {
    {"u8", "a.astype(numpy.int64)"},
    {"f16", "a.astype(numpy.float64)"},
    {"c8", "a.real.astype(numpy.float32) and a.imag.astype(numpy.float32)"},
    {"c16", "a.real and a.imag, which are float64"}};

std::string quoted(HeaderText& in) {
  in.skip_blanks();
  const char mark = in.take();
  if (mark != '\'' && mark != '"') in.wrong("expected a text in quotes");
  std::string out;
  for (char c = in.take(); c != mark; c = in.take()) {
    if (c == '\\' || static_cast<unsigned char>(c) < 0x20) in.wrong("a text with a character that no such header has");
    out += c;
  }
  return out;
}

void read_type(HeaderText& in, NpyArray& array) {
  if (in.accept('[')) in.wrong("records of several fields are no tensor; write each field by itself");
  const std::string text = quoted(in);
  const std::string_view name = std::string_view(text).substr(std::min<std::size_t>(1, text.size()));
  const char order = text.empty() ? '\0' : text[0];
  if (order != '<' && order != '>' && order != '|' && order != '=') in.wrong("a type of elements that NumPy does not write");
  for (const NpyType& known : kNpyTypes)
    if (known.name == name) {
      array.element = {known.type, Widened::no, order == '>' && ops::bytes_of(known.type) > 1};
      return;
    }
  for (const WidenedNpyType& wide : kWidenedNpyTypes)
    if (wide.name == name) {
      array.element = *element_named(wide.element);
      array.element.swapped = order == '>';
      return;
    }
  for (const auto& [other, instead] : kOtherNpyTypes)
    if (other == name) in.wrong(fmt::format("its type is {}, which Cairn has not; convert it: {}", text, instead));
  if (name.starts_with('U') || name.starts_with('S'))
    in.wrong(fmt::format("its elements are texts (type {}); numbers of them are made by numpy.unique(a, return_inverse=True)[1]",
                         text));
  if (name.starts_with('O')) in.wrong("its elements are objects of Python; a.astype(numpy.float32) makes numbers of them");
  in.wrong("its elements are no numbers that Cairn has; convert it to a type that it has, as a.astype(numpy.float32)");
}

void read_sizes(HeaderText& in, ops::Shape& shape) {
  in.expect('(');
  while (!in.accept(')')) {
    if (shape.rank() == ops::kMostAxes) in.wrong(fmt::format("it has more than {} axes", ops::kMostAxes));
    shape.push_back(in.number());
    if (!in.accept(',')) {
      in.expect(')');
      return;
    }
  }
}

} // namespace

std::uint64_t npy_header_bytes(std::string_view start, std::uint64_t file_bytes) {
  if (!start.starts_with(kNpyMagic)) throw FormatError(0, "is no file of NumPy's format npy");
  const auto byte = [&](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(start[i])); };
  if (start.size() < kNpyStart) throw FormatError(start.size(), "ends inside of its header");
  if (byte(6) < 1 || byte(6) > 3) throw FormatError(6, "is of a version of npy that is not known");
  std::uint64_t length = byte(8) | byte(9) << 8, at = 10;
  if (byte(6) > 1) {
    length |= byte(10) << 16 | byte(11) << 24;
    at = 12;
  }
  if (length > kMostNpyHeader) throw FormatError(8, fmt::format("has a header of {} bytes; none is so long", length));
  if (at + length > file_bytes) throw FormatError(file_bytes, "ends inside of its header");
  return at + length;
}

NpyArray parse_npy(std::string_view header, std::uint64_t file_bytes) {
  const std::uint64_t begin = header[6] == 1 ? 10 : 12;
  NpyArray array;
  array.offset = header.size();
  HeaderText in(header.substr(begin), begin);
  bool seen[3] = {};
  in.expect('{');
  while (!in.accept('}')) {
    const std::string key = quoted(in);
    const std::size_t which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
    if (which == 3) in.wrong("a key that is none of descr, fortran_order, shape");
    if (std::exchange(seen[which], true)) in.wrong("a key is there twice");
    in.expect(':');
    if (which == 0) read_type(in, array);
    if (which == 1 && !(array.columns_first = in.accept("True")) && !in.accept("False")) in.wrong("expected True or False");
    if (which == 2) read_sizes(in, array.shape);
    if (!in.accept(',')) {
      in.expect('}');
      break;
    }
  }
  if (!seen[0] || !seen[1] || !seen[2]) in.wrong("one of descr, fortran_order, shape is missing");
  in.skip_blanks();
  if (!in.done()) in.wrong("something follows the header's dictionary");
  std::int64_t bytes = 0;
  try {
    bytes = array.shape.elements();
  } catch (const ops::OperatorError&) {
    in.wrong("its sizes multiply to more than any file has");
  }
  const std::uint64_t left = file_bytes - array.offset;
  if (__builtin_mul_overflow(bytes, array.element.bytes(), &bytes) || static_cast<std::uint64_t>(bytes) > left)
    throw FormatError(array.offset, fmt::format("has {} bytes of elements; its shape {} takes more", left, array.shape.text()));
  if (static_cast<std::uint64_t>(bytes) != left)
    throw FormatError(array.offset + static_cast<std::uint64_t>(bytes),
                      fmt::format("goes on behind the elements of its shape {}", array.shape.text()));
  return array;
}

std::string npy_header(DType type, const ops::Shape& shape) {
  std::string_view name;
  for (const NpyType& known : kNpyTypes)
    if (known.type == type && name.empty()) name = known.name;
  if (name.empty()) return "";
  std::string sizes;
  for (const std::int64_t size : shape) sizes += std::to_string(size) + (shape.rank() == 1 ? "," : ", ");
  if (shape.rank() > 1) sizes.resize(sizes.size() - 2);
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 ops::bytes_of(type) == 1 ? '|' : '<', name, sizes);
  constexpr std::size_t kBegin = 10, kAligned = 64;
  text.append((kAligned - (kBegin + text.size() + 1) % kAligned) % kAligned, ' ');
  text += '\n';
  std::string header(kNpyMagic);
  header += {'\1', '\0', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

} // namespace cairn::formats
