// See metrics.h. Rows are numbers and commas, so only the header needs quotes.
#include "metrics.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace cairn::tools {

namespace {

constexpr std::string_view kOwnColumns = "#report,#steps,#time";

// The shortest text that reads back as the same number.
std::string number_text(double d) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, d).ptr};
}

std::string quoted(const std::string& name) {
  if (name.find_first_of(",\" ") == std::string::npos) return name;
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

// The names that follow the table's own columns in its first line; nothing if that is none which `header` wrote.
std::optional<std::vector<std::string>> names_in(std::string_view line) {
  if (!line.starts_with(kOwnColumns)) return std::nullopt;
  line.remove_prefix(kOwnColumns.size());
  std::vector<std::string> names;
  while (!line.empty()) {
    if (line.front() != ',') return std::nullopt;
    line.remove_prefix(1);
    std::string name;
    if (line.starts_with('"')) {
      for (line.remove_prefix(1); !line.empty(); line.remove_prefix(1)) {
        if (line.front() == '"') {
          if (!line.starts_with("\"\"")) break;
          line.remove_prefix(1);
        }
        name += line.front();
      }
      if (line.empty()) return std::nullopt;
      line.remove_prefix(1);
    } else {
      const std::size_t end = std::min(line.find(','), line.size());
      name = line.substr(0, end);
      line.remove_prefix(end);
    }
    names.push_back(std::move(name));
  }
  return names;
}

// Whether it may be what a run had written of its first line when it was killed.
bool begins_a_header(std::string_view content) {
  if (content.size() <= kOwnColumns.size()) return kOwnColumns.starts_with(content);
  return content.starts_with(kOwnColumns) && content[kOwnColumns.size()] == ',' && content.find('\n') == std::string_view::npos;
}

} // namespace

std::string MetricsFile::header() const {
  std::string line(kOwnColumns);
  for (const std::string& name : names_) line += ',' + quoted(name);
  return line + '\n';
}

// What a row of the table says. Fields that are no numbers, which nobody but another program can have written, are left out.
Report MetricsFile::report_of(std::string_view row) const {
  Report report;
  for (std::size_t column = 0; !row.empty(); ++column) {
    const std::string_view field = row.substr(0, row.find(','));
    row.remove_prefix(std::min(row.size(), field.size() + 1));
    const char* const end = field.data() + field.size();
    double value = 0;
    if (column == 0)
      std::from_chars(field.data(), end, report.number);
    else if (column == 1)
      std::from_chars(field.data(), end, report.steps);
    else if (std::from_chars(field.data(), end, value).ec != std::errc())
      continue;
    else if (column == 2)
      report.time = value;
    else if (column - 3 < names_.size())
      report.values.emplace_back(names_[column - 3], value);
  }
  return report;
}

void MetricsFile::begin() {}

bool MetricsFile::go_on(std::string_view content, std::uint64_t reports, std::string& error) {
  const auto cut = [&](std::size_t length) {
    if (file_.cut(length)) return true;
    error = file_.path() + ": error: cannot be cut back: " + std::strerror(errno) + "\n";
    return false;
  };
  if (begins_a_header(content)) return cut(0); // no report came behind it
  std::size_t end = content.find('\n');
  const auto names = end == std::string_view::npos ? std::nullopt : names_in(content.substr(0, end));
  if (!names) {
    error = file_.path() + ": error: is no table that --metrics wrote, so a resumed run cannot go on in it\n";
    return false;
  }
  empty_ = false;
  for (const std::string& name : *names) {
    columns_.emplace(name, names_.size());
    names_.push_back(name);
  }
  for (++end; end < content.size();) {
    const std::size_t next = content.find('\n', end);
    if (next == std::string_view::npos) break;
    std::uint64_t number = 0;
    const char* const begin = content.data() + end;
    if (std::from_chars(begin, content.data() + next, number).ec != std::errc() || number > reports) break;
    last_ = number;
    if (on_earlier) on_earlier(report_of(content.substr(end, next - end)));
    end = next + 1;
  }
  return cut(end);
}

// Columns behind the others, which are empty in the rows that are there. Nothing has changed where it is false.
bool MetricsFile::widen(const std::vector<std::string>& added) {
  std::string old, wide, error;
  const std::size_t before = names_.size();
  for (const std::string& name : added) names_.push_back(name);
  auto give_up = [&](std::string message) {
    names_.resize(before);
    return failed(std::move(message));
  };
  if (empty_) {
    if (!append(header())) return give_up(fault());
  } else {
    if (!file_.read(old)) return give_up(file_.path() + ": error: cannot be read: " + std::strerror(errno) + "\n");
    wide = header();
    std::string_view rest(old);
    rest.remove_prefix(rest.find('\n') + 1);
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      wide += rest.substr(0, end);
      wide.append(added.size(), ',');
      wide += '\n';
    }
    replaced_ += wide.size();
    if (!file_.replace(wide, error)) return give_up(error);
  }
  empty_ = false;
  for (std::size_t i = before; i < names_.size(); ++i) columns_.emplace(names_[i], i);
  return true;
}

bool MetricsFile::put(const Report& report) {
  constexpr std::uint64_t kMostReplaced = std::uint64_t{384} << 20, kLongest = std::uint64_t{16} << 20;
  const bool may_widen = replaced_ < kMostReplaced && file_.length() < kLongest;
  std::vector<std::string> added;
  for (const auto& [name, value] : report.values) {
    if (columns_.contains(name)) continue;
    if (may_widen && names_.size() + added.size() < kMostNames)
      added.push_back(name);
    else
      full_ = true;
  }
  if ((empty_ || !added.empty()) && !widen(added)) return false;
  std::vector<std::string> fields(names_.size());
  for (const auto& [name, value] : report.values)
    if (const auto column = columns_.find(name); column != columns_.end()) fields[column->second] = number_text(value);
  char time[32];
  std::string row = std::to_string(report.number) + ',' + std::to_string(report.steps) + ',';
  row.append(time, std::to_chars(time, time + sizeof time, report.time, std::chars_format::fixed, 6).ptr);
  for (const std::string& field : fields) row += ',' + field;
  return append(row + '\n');
}

} // namespace cairn::tools
