// Files of text: as a whole, line by line, and tables of numbers.
#include "vm/formats/csv.h"
#include "vm/machine/element_numbers.h"
#include "vm/machine/file_call.h"
#include "vm/text/utf8.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cairn::machine::tensors {

using ops::DType;
using ops::Tensor;

std::uint32_t checked_length(FileCall& call, const Files::Reading& file, std::string_view text, std::uint64_t begin) {
  std::uint32_t length = 0;
  for (std::size_t at = 0; at < text.size(); ++length) {
    if (length % 65536 == 0) call.engine.meter().poll();
    const std::size_t first = at;
    if (text::next_code_point(text, at) == text::kMalformed)
      file.complain(fmt::format("is no text in UTF-8 (byte {}); read-bytes takes any file", begin + first));
  }
  return length;
}

Value read_text(FileCall& call) {
  Files::Reading file = call.opened();
  if (file.size() > UINT32_MAX) file.complain("has more bytes than a string can have");
  call.engine.meter().spend(file.size());
  value::Held<value::Text> text(call.heap, call.heap.make_text(file.size()));
  text->length = 0;
  file.read(0, {reinterpret_cast<std::byte*>(text->data()), text->bytes});
  text->length = checked_length(call, file, text->view(), 0);
  return value::of_other(text.take());
}

// A piece of the file and the line that has begun in it are all that is held beside the strings.
Value read_lines(FileCall& call) {
  Files::Reading file = call.opened();
  const std::uint64_t from = call.number(1, 0, "the number of the first byte");
  if (from > file.size()) file.complain(fmt::format("has {} bytes and none from byte {} on", file.size(), from));
  const std::uint64_t most = call.number(2, UINT64_MAX, "a number of lines");
  value::Owned list(call.heap, value::kNull);
  value::Pair* last = nullptr;
  value::ChargedVector<char> line(call.heap), piece(call.heap);
  std::uint64_t begin = from, lines = 0;
  const auto ends = [&] {
    std::string_view text(line.data(), line.size());
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.size() > UINT32_MAX) file.complain(fmt::format("has a line of more bytes than a string can have (byte {})", begin));
    checked_length(call, file, text, begin);
    value::Pair* const pair = call.heap.cons(call.heap.make_string(text), value::kNull).pair();
    (last == nullptr ? list.v : last->cdr) = value::of_pair(pair);
    last = pair;
    ++lines;
  };
  std::uint64_t at = from;
  while (at < file.size() && lines < most) {
    const std::uint64_t size = std::min(Files::kBlock - at % Files::kBlock, file.size() - at);
    call.engine.meter().spend(2 * size);
    piece.resize(static_cast<std::size_t>(size));
    file.read(at, std::as_writable_bytes(std::span(piece)));
    std::string_view left = view(piece);
    while (!left.empty() && lines < most) {
      const std::size_t end = left.find('\n');
      const std::size_t part = std::min(end, left.size());
      line.insert(line.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(part));
      left.remove_prefix(end == std::string_view::npos ? part : part + 1);
      at += end == std::string_view::npos ? part : part + 1;
      if (end == std::string_view::npos) break;
      ends();
      line.clear();
      begin = at;
    }
  }
  if (!line.empty() && lines < most) ends();
  return list.take();
}

Value read_csv(FileCall& call) {
  DType type = DType::f32;
  if (call.operands.size() > 1) {
    const auto given = dtype_of_value(call.operands[1]);
    if (!given || !ops::is_floating(*given)) call.wrong("a floating type of elements", call.operands[1]);
    type = *given;
  }
  Files::Reading file = call.opened();
  return call.parsed(file, [&] {
    const auto text = call.characters(file, 0, file.size());
    call.engine.meter().spend(8 * file.size()); // bytes that are looked at, and not just copied
    value::Charged names(call.heap, call.heap.scratch, static_cast<std::int64_t>(file.size()));
    value::ChargedVector<double> numbers(call.heap);
    formats::CsvReader reader;
    reader.number = [&](double d) {
      if (numbers.size() % 4096 == 0) call.engine.meter().poll();
      numbers.push_back(d);
    };
    reader.hold = [&](std::uint64_t bytes) { names.grow(static_cast<std::int64_t>(bytes)); };
    const formats::CsvTable table = formats::parse_csv(view(text), reader);
    ops::Runtime& runtime = call.engine.tensors().runtime;
    const Tensor t = runtime.from_host(DType::f64, {table.rows, table.columns}, runtime.default_device(), numbers.data());
    value::Owned matrix(call.heap, call.heap.make_tensor(type == DType::f64 ? t : runtime.cast(t, type)));
    value::Owned list(call.heap, value::kNull);
    for (std::size_t i = table.names.size(); i-- > 0;) list.push(call.heap.make_string(table.names[i]));
    const Value first = list.take();
    return call.heap.cons(first, matrix.take());
  });
}

Value write_csv(FileCall& call) {
  const Tensor t = call.written(call.operands[1]);
  if (t.rank() != 2) call.wrong("a matrix", call.operands[1]);
  value::ChargedVector<char> text(call.heap);
  const auto append = [&](std::string_view part) { text.insert(text.end(), part.begin(), part.end()); };
  std::int64_t names = 0;
  bool numbers = true;
  for (Value v = call.operands.size() > 2 ? call.operands[2] : value::kNull; v != value::kNull; v = v.pair()->cdr) {
    if (!v.is_pair() || !value::is_string(v.pair()->car)) call.wrong("a list of names, strings", v.is_pair() ? v.pair()->car : v);
    const std::string_view name = value::as_text(v.pair()->car)->view();
    call.engine.meter().spend(2 * name.size());
    numbers = numbers && formats::field_number(name).has_value();
    append(names++ == 0 ? "\"" : ",\"");
    for (const char c : name) append(c == '"' ? std::string_view("\"\"") : std::string_view(&c, 1));
    append("\"");
  }
  if (names != 0) append("\n");
  if (names != 0 && names != t.shape[1])
    throw ProgramError(fmt::format("{}: {} names for {} columns", call.name, names, t.shape[1]));
  if (names != 0 && numbers)
    throw ProgramError(
        fmt::format("{}: names that are all numbers or empty would be read back as a row; give a column a name in letters, "
                    "such as \"x1\", or leave the names out",
                    call.name));
  constexpr std::size_t kWork = 32; // an element as text takes longer than moving it
  std::int64_t columns_left = t.shape[1];
  const auto number = [&](auto x) {
    if (x != x) x = std::abs(x); // of a NaN the sign would be written
    char digits[32];
    append({digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, x).ptr - digits)});
    const bool ends = --columns_left == 0;
    append(ends ? "\n" : ",");
    if (ends) columns_left = t.shape[1];
  };
  each_number(call, t, kWork, number);
  return call.replace(text.size(), [&](files::FileSink& sink) { call.put(sink, view(text)); });
}

} // namespace cairn::machine::tensors
