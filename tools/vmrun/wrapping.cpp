// See wrapping.h. Only spaces between elements become line breaks, so the text has the same words; nothing outside of tensors
// changes.
#include "wrapping.h"

#include <algorithm>

namespace cairn::tools {

namespace {

constexpr std::string_view kTensor = "#<tensor ";

class Wrapping {
public:
  Wrapping(std::string_view text, std::size_t columns) : rest_(text), columns_(columns) {}
  std::string done() {
    while (!rest_.empty())
      if (rest_.starts_with(kTensor))
        tensor();
      else if (rest_.starts_with("#\\"))
        copy(std::min<std::size_t>(3, rest_.size())); // a character, which may be a quote
      else if (rest_.front() == '"')
        string();
      else
        copy(1);
    return out_;
  }

private:
  void copy(std::size_t bytes) {
    for (const char c : rest_.substr(0, bytes))
      if (c == '\n')
        column_ = 0;
      else
        column_ += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    out_ += rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }
  void string() {
    copy(1);
    while (!rest_.empty() && rest_.front() != '"') copy(rest_.front() == '\\' && rest_.size() > 1 ? 2 : 1);
    if (!rest_.empty()) copy(1);
  }
  // To the bracket that closes it: there is no other ">" in one.
  void tensor() {
    copy(kTensor.size());
    std::size_t row = SIZE_MAX; // the column of the first element; near the left side where that is far to the right
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == ' ' && row != SIZE_MAX && column_ > row) {
        const std::size_t word = std::min(rest_.find_first_not_of(' '), rest_.size());
        const std::size_t end = std::min(rest_.find_first_of(" \n", word), rest_.size());
        if (column_ + end > columns_) {
          out_ += '\n';
          out_.append(row, ' ');
          column_ = row;
          rest_.remove_prefix(1); // what more there is puts the numbers under each other
        }
        copy(word_length());
        continue;
      }
      copy(1);
      if (c == '[') row = column_ <= columns_ / 2 ? column_ : 2;
      if (c == '>') return;
    }
  }
  // Spaces, and the element behind them.
  std::size_t word_length() const {
    const std::size_t word = std::min(rest_.find_first_not_of(' '), rest_.size());
    return std::min(rest_.find_first_of(" \n[>", word), rest_.size());
  }

  std::string_view rest_;
  const std::size_t columns_;
  std::size_t column_ = 0;
  std::string out_;
};

} // namespace

std::string wrapped_tensors(std::string_view text, std::size_t columns) { return Wrapping(text, columns).done(); }

} // namespace cairn::tools
