// See csv.h.
#include "vm/formats/csv.h"

#include "ops/meter.h"
#include "vm/formats/format_error.h"
#include "vm/text/number.h"
#include "vm/text/utf8.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

namespace cairn::formats {

namespace {

std::string_view trimmed(std::string_view field) {
  while (!field.empty() && (field.front() == ' ' || field.front() == '\t')) field.remove_prefix(1);
  while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
  return field;
}

// A line ends with either or both: some programs still write carriage returns alone.
bool ends_line(char c) { return c == '\n' || c == '\r'; }

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

constexpr std::size_t kLongestField = 1 << 16; // in quotes
constexpr std::size_t kBetweenPolls = 4096;    // fields of the first line

// The fields of the text, one after another.
class Fields {
public:
  explicit Fields(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3; // a mark that some programs write before UTF-8
  }
  // The next line that is not empty; false: there is none.
  bool next_line() {
    for (; at_ < text_.size(); ++line_) {
      std::size_t end = at_;
      while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t')) ++end;
      if (end < text_.size() && !ends_line(text_[end])) {
        more_ = true;
        return true;
      }
      at_ = behind_line(end);
    }
    return false;
  }
  // The next field of the line, until the next is asked for; false: there is none.
  bool next(std::string_view& field) {
    if (!more_) return false;
    begin_ = at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      quoted_.clear();
      quoted(quoted_);
      field = quoted_;
      return true;
    }
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != ',' && !ends_line(text_[end])) ++end;
    field = trimmed(text_.substr(at_, end - at_));
    at_ = end;
    pass();
    return true;
  }
  // The same of a field that is a short number and nothing else; false: nothing has happened.
  bool next_number(double& d) {
    if (!more_) return false;
    const char *p = text_.data() + at_, *const end = text_.data() + text_.size();
    while (p != end && *p == ' ') ++p;
    if (!short_number(p, end, d)) return false;
    if (p != end && *p != ',' && !ends_line(*p)) return false;
    begin_ = at_;
    at_ = static_cast<std::size_t>(p - text_.data());
    pass();
    return true;
  }
  std::uint64_t line() const { return line_; }
  [[noreturn]] void wrong(std::uint64_t line, const std::string& message) const {
    throw FormatError(begin_, fmt::format("line {}: {}", line, message));
  }

private:
  void quoted(std::string& field) {
    const std::uint64_t line = line_;
    for (++at_;;) {
      if (at_ == text_.size()) wrong(line, "a quote that does not end");
      const char c = text_[at_++];
      if (c == '"' && (at_ == text_.size() || text_[at_] != '"')) break;
      if (c == '"') ++at_; // two of them stand for one
      if (ends_line(c) && (c == '\n' || at_ == text_.size() || text_[at_] != '\n')) ++line_;
      if (field.size() == kLongestField) wrong(line, fmt::format("a field of more than {} bytes", kLongestField));
      field += c;
    }
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ < text_.size() && text_[at_] != ',' && !ends_line(text_[at_])) wrong(line_, "something follows a quote");
    pass();
  }
  // Behind a field.
  void pass() {
    more_ = at_ < text_.size() && text_[at_] == ',';
    if (!more_) ++line_;
    at_ = more_ ? at_ + 1 : behind_line(at_);
  }
  // Where the next line begins, if one ends at `end`.
  std::size_t behind_line(std::size_t end) const {
    if (end < text_.size() && text_[end] == '\r') ++end;
    if (end < text_.size() && text_[end] == '\n') ++end;
    return end;
  }
  std::string_view text_;
  std::size_t at_ = 0, begin_ = 0;
  std::uint64_t line_ = 1;
  std::string quoted_;
  bool more_ = false;
};

std::string shortened(std::string_view field) {
  std::string out;
  for (std::size_t at = 0; at < field.size() && out.size() < 40;) {
    const std::uint32_t c = text::next_code_point(field, at);
    if (c == '\t') {
      out += "\\t";
      continue;
    }
    text::append_code_point(out, c == text::kMalformed || text::is_control(c) ? 0xFFFD : c);
  }
  return out;
}

} // namespace

bool is_missing(std::string_view field) {
  for (const std::string_view missing : {"", "NA", "N/A", "NaN", "nan", "null"})
    if (field == missing) return true;
  return false;
}

std::optional<double> field_number(std::string_view field) {
  const char* at = field.data();
  const char* const end_of_field = at + field.size();
  double d = 0;
  if (short_number(at, end_of_field, d) && at == end_of_field) return d;
  if (is_missing(field)) return std::nan("");
  if (field.front() == '+' && field.size() > 1 && field[1] != '-') field.remove_prefix(1);
  const auto [end, fault] = std::from_chars(field.data(), end_of_field, d);
  if (end != end_of_field || fault == std::errc::invalid_argument) return std::nullopt;
  return fault == std::errc::result_out_of_range ? text::beyond_range(field) : d;
}

bool short_number(const char*& at, const char* end, double& out) {
  constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr int kMostPower = std::size(kPowers) - 1, kMostDigits = 18;
  constexpr std::uint64_t kMostWhole = std::uint64_t{1} << 53;
  const char* p = at;
  const bool negative = p != end && *p == '-';
  p += negative ? 1 : 0;
  std::uint64_t whole = 0;
  int power = 0;
  const char* const first = p;
  for (; p != end && is_decimal(*p) && p - first <= kMostDigits; ++p) whole = 10 * whole + static_cast<unsigned>(*p - '0');
  std::ptrdiff_t digits = p - first;
  if (p != end && *p == '.') {
    const char* const point = ++p;
    for (; p != end && is_decimal(*p) && p - point + digits <= kMostDigits; ++p)
      whole = 10 * whole + static_cast<unsigned>(*p - '0');
    power = static_cast<int>(point - p);
    digits += p - point;
  }
  if (digits == 0 || digits > kMostDigits || whole > kMostWhole) return false;
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool down = p != end && *p == '-';
    p += p != end && (*p == '-' || *p == '+') ? 1 : 0;
    int told = 0;
    const char* const begin = p;
    for (; p != end && is_decimal(*p) && p - begin < 4; ++p) told = 10 * told + (*p - '0');
    if (p == begin) return false;
    power += down ? -told : told;
  }
  if (power < -kMostPower || power > kMostPower) return false;
  const auto d = static_cast<double>(whole);
  out = power < 0 ? d / kPowers[-power] : d * kPowers[power];
  if (negative) out = -out;
  at = p;
  return true;
}

CsvTable parse_csv(std::string_view text, const CsvReader& reader) {
  CsvTable table;
  Fields in(text);
  std::string_view field;
  if (!in.next_line()) return table;
  // Names, unless every field is a number.
  std::vector<std::string> first;
  bool numbers = true;
  while (in.next(field)) {
    reader.hold(field.size() + 3 * sizeof(std::string)); // a list doubles when it grows
    if (first.size() % kBetweenPolls == 0) ops::Meter::poll_current();
    first.emplace_back(field);
    numbers = numbers && field_number(field).has_value();
  }
  table.columns = static_cast<std::int64_t>(first.size());
  if (numbers) {
    for (const std::string& f : first) reader.number(*field_number(f));
    table.rows = 1;
  } else {
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (i % kBetweenPolls == 0) ops::Meter::poll_current();
      if (!text::is_utf8(first[i])) in.wrong(1, "a name that is no text in UTF-8");
    }
    table.names = std::move(first);
  }
  while (in.next_line()) {
    const std::uint64_t line = in.line();
    std::int64_t columns = 0;
    for (double fast = 0;; ++columns) {
      if (in.next_number(fast)) {
        if (columns < table.columns) reader.number(fast);
        continue;
      }
      if (!in.next(field)) break;
      const std::optional<double> d = field_number(field);
      if (!d)
        in.wrong(line,
                 fmt::format("field {} is no number: {}; read-table reads columns of text, and tables with other separators",
                             columns + 1, shortened(field)));
      if (columns < table.columns) reader.number(*d);
    }
    if (columns != table.columns) in.wrong(line, fmt::format("{} fields, and {} in the first line", columns, table.columns));
    ++table.rows;
  }
  return table;
}

} // namespace cairn::formats
