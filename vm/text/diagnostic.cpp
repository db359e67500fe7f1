// Located messages with the line they speak of. The text comes from files that may hold anything, so whatever could upset a
// terminal, or a reader, who does not see what is there, is shown as an escape of the language; the caret line counts what is
// shown.
#include "vm/text/diagnostic.h"

#include "vm/text/utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <vector>

namespace cairn::text {

namespace {

constexpr std::size_t kMostColumns = 140; // of a line shown; longer ones are cut
constexpr std::size_t kMostMessageBytes = 2000;
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

// Characters that show nothing where they stand: a text may look like another one by them.
constexpr bool is_invisible(std::uint32_t c) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kInvisible[] = {{0xAD, 0xAD},     {0x34F, 0x34F},     {0x61C, 0x61C},     {0x115F, 0x1160},
                                  {0x17B4, 0x17B5}, {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2060, 0x206F},
                                  {0x3164, 0x3164}, {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
                                  {0xFFF9, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
  return std::any_of(std::begin(kInvisible), std::end(kInvisible), [c](const Range& r) { return c >= r.first && c <= r.last; });
}

// A character as it is shown, one column for each byte where it is an escape.
void show(std::string& out, std::uint32_t c) {
  if (c != '\t' && (is_control(c) || is_invisible(c)))
    out += fmt::format("\\x{:x};", c);
  else
    append_code_point(out, c == kMalformed ? '?' : c);
}

// The code points of columns [first, last) of a line.
std::vector<std::uint32_t> columns_of(std::string_view line, std::size_t first, std::size_t last) {
  std::vector<std::uint32_t> columns;
  std::size_t column = 0;
  for (std::size_t at = 0; at < line.size() && column < last; ++column) {
    const std::uint32_t c = next_code_point(line, at);
    if (column >= first) columns.push_back(c);
  }
  return columns;
}

std::string shortened(std::string_view text, std::size_t most, bool in_one_line) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    if (shown.size() >= most) return shown + "...";
    std::uint32_t c = next_code_point(text, at);
    if (c == '\n' && !in_one_line)
      shown += '\n';
    else
      show(shown, c);
  }
  return shown;
}

} // namespace

std::string shortened(std::string_view text, std::size_t most) { return shortened(text, most, false); }

std::string shown_name(std::string_view name, std::size_t most) { return shortened(name, most, true); }

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
    std::string shown;
    show(shown, c);
    const std::size_t width = shown.front() == '\\' ? shown.size() : 1;
    if (column < caret)
      carets += c == '\t' ? "\t" : std::string(width, ' ');
    else if (column < caret + marked)
      carets += (column == caret ? "^" : "~") + std::string(width - 1, '~');
    out += shown;
    ++column;
  }
  if (caret >= last) carets += '^'; // at the end of the line
  if (last < columns) out += "...";
  return out + '\n' + carets + '\n';
}

} // namespace cairn::text
