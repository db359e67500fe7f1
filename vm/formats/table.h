// Tables of numbers and texts with any separator: rows of fields, each of which may be in quotes and go on in the next line.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::formats {

// The rows of a text in UTF-8, one after another. Lines without a field are left out.
class TableRows {
public:
  // `hold` is told of bytes that are about to be taken for fields.
  TableRows(std::string_view text, char separator, std::function<void(std::uint64_t)> hold);
  // The next row's fields, until the next is asked for; false: there is none. FormatError.
  bool next(std::vector<std::string_view>& fields);
  std::uint64_t line() const { return row_line_; } // of the row, counted from 1
  [[noreturn]] void wrong(const std::string& message) const;

private:
  void read_row(std::vector<std::string_view>& fields);
  std::string_view quoted();
  std::string_view plain();
  void skip_blanks();
  // A carriage return ends a line, too, as some programs write no other end.
  bool at_end() const { return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  bool separates(char c) const { return c == separator_ || (separator_ == ' ' && c == '\t'); }
  void end_line();

  std::string_view text_;
  char separator_;
  std::function<void(std::uint64_t)> hold_;
  std::size_t at_ = 0, row_begin_ = 0, capacity_ = 0;
  std::uint64_t line_ = 1, row_line_ = 1;
  std::deque<std::string> rewritten_; // fields of the row that are not there as they stand in the text
};

} // namespace cairn::formats
