// Located messages with the line they speak of. The text comes from files that may hold anything, so whatever could upset a
// terminal is replaced before it is shown; one code point of the line takes one column of the caret line.
#include "vm/text/diagnostic.h"

#include "vm/text/utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace cairn::text {

namespace {

constexpr std::size_t kMostColumns = 140; // of a line shown; longer ones are cut
constexpr std::size_t kMostNameBytes = 1000, kMostMessageBytes = 2000;
constexpr std::size_t kColumnsBefore = 80; // kept in front of the caret when cut

std::size_t line_begin(std::string_view text, std::size_t offset) {
  std::size_t newline = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

// How many code points these bytes of one line are. A line may be all of a large file, so none is kept.
std::size_t columns_of(std::string_view piece) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < piece.size(); ++columns) next_code_point(piece, at);
  return columns;
}

// The code points of columns [first, last) of a line, fit to be shown.
std::vector<std::uint32_t> columns_of(std::string_view line, std::size_t first, std::size_t last) {
  std::vector<std::uint32_t> columns;
  std::size_t column = 0;
  for (std::size_t at = 0; at < line.size() && column < last; ++column) {
    const std::uint32_t c = next_code_point(line, at);
    if (column >= first) columns.push_back(c == kMalformed ? '?' : c != '\t' && is_control(c) ? ' ' : c);
  }
  return columns;
}

std::string shown_name(std::string_view name) { return shortened(name, kMostNameBytes); }

} // namespace

std::string shortened(std::string_view text, std::size_t most) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    if (shown.size() >= most) return shown + "...";
    std::uint32_t c = next_code_point(text, at);
    append_code_point(shown, c == kMalformed ? '?' : c != '\t' && c != '\n' && is_control(c) ? ' ' : c);
  }
  return shown;
}

Position position_of(std::string_view source, std::uint32_t offset) {
  std::size_t end = std::min<std::size_t>(offset, source.size());
  std::size_t begin = line_begin(source, end);
  Position position;
  position.line += static_cast<unsigned>(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
  for (std::size_t at = begin; at < end; ++position.column) next_code_point(source, at);
  return position;
}

std::string render(const Source* source, const Span* span, std::string_view severity, std::string_view full_message) {
  std::string message = shortened(full_message, kMostMessageBytes);
  if (source == nullptr) return fmt::format("{}: {}\n", severity, message);
  std::string name = shown_name(source->name);
  if (span == nullptr || source->text.empty()) return fmt::format("{}: {}: {}\n", name, severity, message);

  std::string_view text = source->text;
  std::size_t offset = std::min<std::size_t>(span->begin, text.size());
  Position position = position_of(text, static_cast<std::uint32_t>(offset));
  std::string out = fmt::format("{}:{}:{}: {}: {}\n", name, position.line, position.column, severity, message);

  std::size_t begin = line_begin(text, offset), end = std::min(text.find('\n', offset), text.size());
  if (end > offset && text[end - 1] == '\r') --end;
  const std::string_view line = text.substr(begin, end - begin);
  const std::size_t columns = columns_of(line), caret = columns_of(text.substr(begin, offset - begin));
  std::size_t marked_end = std::clamp<std::size_t>(span->end, offset, end);
  std::size_t marked = std::max<std::size_t>(columns_of(text.substr(offset, marked_end - offset)), 1);

  std::size_t first = 0, last = columns;
  if (columns > kMostColumns) {
    first = caret > kColumnsBefore ? caret - kColumnsBefore : 0;
    last = std::min(columns, first + kMostColumns);
  }
  std::string carets;
  if (first > 0) {
    out += "...";
    carets += "   ";
  }
  std::size_t column = first;
  for (const std::uint32_t c : columns_of(line, first, last)) {
    append_code_point(out, c);
    if (column++ < caret) carets += c == '\t' ? '\t' : ' ';
  }
  if (last < columns) out += "...";
  carets += '^';
  for (std::size_t i = caret + 1; i < std::min(caret + marked, last); ++i) carets += '~';
  return out + '\n' + carets + '\n';
}

} // namespace cairn::text
