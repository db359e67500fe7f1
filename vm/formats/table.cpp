// See table.h.
#include "vm/formats/table.h"

#include "ops/meter.h"
#include "vm/formats/format_error.h"

#include <fmt/format.h>

#include <utility>

namespace cairn::formats {

namespace {

constexpr std::size_t kFieldsBetweenPolls = 4096; // fields

} // namespace

TableRows::TableRows(std::string_view text, char separator, std::function<void(std::uint64_t)> hold)
    : text_(text), separator_(separator), hold_(std::move(hold)) {
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3; // a mark that some programs write before UTF-8
}

bool TableRows::next(std::vector<std::string_view>& fields) {
  while (at_ < text_.size()) {
    row_line_ = line_;
    row_begin_ = at_;
    read_row(fields);
    if (fields.size() != 1 || !fields[0].empty()) return true;
  }
  return false;
}

void TableRows::wrong(const std::string& message) const {
  throw FormatError(row_begin_, fmt::format("line {}: {}", row_line_, message));
}

void TableRows::read_row(std::vector<std::string_view>& fields) {
  fields.clear();
  rewritten_.clear();
  for (;;) {
    skip_blanks();
    if (separator_ == ' ' && at_end() && !fields.empty()) break; // blanks at the end separate nothing
    if (fields.size() % kFieldsBetweenPolls == 0) ops::Meter::poll_current();
    if (fields.size() == capacity_) {
      capacity_ = 2 * capacity_ + 64;
      hold_(capacity_ * sizeof(std::string_view)); // with the list that it is copied from
      fields.reserve(capacity_);
    }
    fields.push_back(at_ < text_.size() && text_[at_] == '"' ? quoted() : plain());
    if (at_end()) break;
    if (separator_ == ' ') continue;
    if (text_[at_] != separator_) wrong("something follows a quote");
    ++at_;
  }
  end_line();
}

void TableRows::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || (text_[at_] == '\t' && separator_ != '\t'))) ++at_;
}

std::string_view TableRows::plain() {
  const std::size_t begin = at_;
  while (!at_end() && !separates(text_[at_])) ++at_;
  std::size_t end = at_;
  while (end > begin && (text_[end - 1] == ' ' || (text_[end - 1] == '\t' && separator_ != '\t'))) --end;
  return text_.substr(begin, end - begin);
}

// Two quotes stand for one. An end of a line in the field is one character, however the file writes it.
std::string_view TableRows::quoted() {
  const std::size_t begin = ++at_;
  std::string* rewritten = nullptr;
  const auto rewrite = [&](std::size_t end) {
    if (rewritten != nullptr) return;
    hold_(end - begin + sizeof(std::string));
    rewritten = &rewritten_.emplace_back(text_.substr(begin, end - begin));
  };
  for (;;) {
    if (at_ == text_.size()) wrong("a quote that does not end");
    const char c = text_[at_];
    if (c == '"' && (at_ + 1 == text_.size() || text_[at_ + 1] != '"')) break;
    if (c == '"') rewrite(at_++);
    if (c == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') rewrite(at_++);
    if (text_[at_] == '\n') ++line_;
    if (rewritten != nullptr && rewritten->size() == rewritten->capacity()) {
      hold_(3 * rewritten->capacity()); // with the text that it is copied from
      rewritten->reserve(2 * rewritten->capacity());
    }
    if (rewritten != nullptr) *rewritten += text_[at_];
    ++at_;
  }
  const std::string_view field = rewritten != nullptr ? std::string_view(*rewritten) : text_.substr(begin, at_ - begin);
  ++at_;
  skip_blanks();
  return field;
}

void TableRows::end_line() {
  if (at_ < text_.size() && text_[at_] == '\r') ++at_;
  if (at_ < text_.size() && text_[at_] == '\n') ++at_;
  ++line_;
}

} // namespace cairn::formats
