// Text to data: a scanner of tokens and a stack of what is open. Relies on check_text having refused malformed UTF-8, so that
// bytes above 0x7F are always whole characters.
#include "compiler/front/reader.h"

#include "compiler/compiler.h"
#include "compiler/front/datum.h"
#include "vm/text/number.h"
#include "vm/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

namespace cairn::compiler {

void complain(Span span, std::string message) { throw Complaint{{span, std::move(message)}}; }

namespace {

[[noreturn]] void break_off(Span span, std::string message) { throw Incomplete{{{span, std::move(message)}}}; }

bool is_space(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_delimiter(unsigned char c) {
  return is_space(c) || c == '(' || c == ')' || c == '"' || c == ';' || c == '\'' || c == '`' || c == ',' || c == '[' ||
         c == ']' || c == '{' || c == '}' || c == '|';
}

std::optional<std::uint32_t> parse_hex(std::string_view digits) {
  if (digits.empty() || digits.size() > 8) return {};
  std::uint32_t c = 0;
  for (char d : digits) {
    unsigned v = 0;
    if (d >= '0' && d <= '9')
      v = static_cast<unsigned>(d - '0');
    else if (d >= 'a' && d <= 'f')
      v = static_cast<unsigned>(d - 'a') + 10;
    else if (d >= 'A' && d <= 'F')
      v = static_cast<unsigned>(d - 'A') + 10;
    else
      return {};
    c = c << 4 | v;
  }
  return c;
}

struct CharacterName {
  std::string_view name;
  std::uint32_t code_point;
};
constexpr CharacterName kCharacterNames[] = {
    {"space", ' '}, {"newline", '\n'}, {"linefeed", '\n'}, {"tab", '\t'},    {"return", '\r'}, {"nul", 0},     {"null", 0},
    {"page", '\f'}, {"alarm", 7},      {"backspace", 8},   {"delete", 0x7F}, {"rubout", 0x7F}, {"escape", 27}, {"altmode", 27},
};

class Reader {
public:
  Reader(std::uint32_t file, std::size_t begin) : file_(file), at_(begin) {}

  // Reads on to the end of `text`, which begins as it did before. Throws Incomplete where that is inside something; more text,
  // from the next line on, may be read then.
  void read(std::string_view text) {
    text_ = text;
    if (comment_level_ > 0) skip_block_comment();
    if (in_string_) read_string();
    for (;;) {
      poll();
      skip_blank();
      if (at_ == text_.size()) break;
      step();
    }
    if (!open_.empty()) break_off(opening(open_.back()), open_text(open_.back()));
  }
  Vector<DatumPtr> take() { return std::move(done_); }

private:
  // Something begun and not finished: a list, a vector, an abbreviation, a commented datum. check_text has made sure that 32 bits
  // count the bytes of a text.
  struct Open {
    enum class Kind : std::uint8_t { list, vector, prefix, comment } kind;
    std::uint8_t length; // of what opens it
    std::uint32_t begin;
    std::uint32_t first;     // where its elements begin in items_
    std::uint32_t dot;       // byte after the dot of a dotted list, 0 before it
    DatumPtr tail = nullptr; // what follows the dot
  };

  Span span(std::size_t begin, std::size_t end) const {
    return {file_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }

  Span opening(const Open& o) const { return span(o.begin, o.begin + o.length); }
  std::string_view opening_text(const Open& o) const { return text_.substr(o.begin, o.length); }
  // The symbol an abbreviation stands for.
  std::string_view prefix_name(const Open& o) const {
    if (o.length == 2) return "unquote-splicing";
    return text_[o.begin] == '\'' ? "quote" : text_[o.begin] == '`' ? "quasiquote" : "unquote";
  }
  std::string open_text(const Open& o) const {
    switch (o.kind) {
    case Open::Kind::list:
      return "this '(' is never closed";
    case Open::Kind::vector:
      return "this '#(' is never closed";
    default:
      return fmt::format("nothing follows this {}", opening_text(o));
    }
  }
  [[noreturn]] void complain_open(const Open& o) const { complain(opening(o), open_text(o)); }

  void skip_blank() {
    while (at_ < text_.size()) {
      unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (is_space(c)) {
        ++at_;
      } else if (c == ';') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '#' && text_.substr(at_, 2) == "#|") {
        token_ = at_;
        at_ += 2;
        comment_level_ = 1;
        skip_block_comment();
      } else {
        return;
      }
    }
  }

  void skip_block_comment() {
    while (comment_level_ > 0) {
      if (text_.size() - at_ < 2) break_off(span(token_, token_ + 2), "this comment is never closed");
      std::string_view two = text_.substr(at_, 2);
      if (two == "|#")
        --comment_level_, at_ += 2;
      else if (two == "#|")
        ++comment_level_, at_ += 2;
      else
        ++at_;
    }
  }

  void open(Open::Kind kind, std::uint8_t length) {
    open_.push_back({kind, length, static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(items_.size()), 0, nullptr});
    at_ += length;
  }

  // Reads one token at at_, which is no blank.
  void step() {
    char c = text_[at_];
    char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    switch (c) {
    case '(':
      return open(Open::Kind::list, 1);
    case ')':
      return close();
    case '\'':
    case '`':
      return open(Open::Kind::prefix, 1);
    case ',':
      return open(Open::Kind::prefix, next == '@' ? 2 : 1);
    case '"':
      token_ = at_++;
      in_string_ = true;
      return read_string();
    case '[':
    case ']':
    case '{':
    case '}':
    case '|':
      complain(span(at_, at_ + 1), fmt::format("'{}' has no meaning here", c));
    case '#':
      if (next == '(') return open(Open::Kind::vector, 2);
      if (next == ';') return open(Open::Kind::comment, 2);
      if (next == '\\') return read_character();
      return read_token();
    default:
      return read_token();
    }
  }

  void close() {
    if (open_.empty()) complain(span(at_, at_ + 1), "this ')' closes nothing");
    Open& o = open_.back();
    if (o.kind == Open::Kind::prefix || o.kind == Open::Kind::comment) complain_open(o);
    if (o.dot != 0 && o.tail == nullptr) complain(span(o.dot - 1, o.dot), "nothing follows this '.'");
    ++at_;
    Span whole = span(o.begin, at_);
    DatumPtr result = nullptr;
    auto items = std::span(items_).subspan(o.first);
    if (o.kind == Open::Kind::vector) {
      result = make_vector(items, whole);
    } else {
      // The first pair has the span of the whole list; the later ones that of the rest.
      result = o.tail != nullptr ? o.tail : make_null(whole);
      for (std::size_t i = items.size(); i-- > 0;) {
        std::size_t begin = i == 0 ? o.begin : items[i]->span.begin;
        result = make_pair(items[i], result, span(begin, at_));
      }
    }
    items_.resize(o.first);
    open_.pop_back();
    add(result);
  }

  // A complete datum goes to what is open around it, which it may complete in turn.
  void add(DatumPtr d) {
    while (!open_.empty()) {
      poll();
      Open& o = open_.back();
      if (o.kind == Open::Kind::comment) {
        open_.pop_back();
        return;
      }
      if (o.kind == Open::Kind::prefix) {
        Span whole = span(o.begin, at_);
        d = make_pair(make_symbol(prefix_name(o), opening(o)), make_pair(d, make_null(whole), whole), whole);
        open_.pop_back();
        continue;
      }
      if (o.dot == 0) {
        items_.push_back(d);
      } else {
        if (o.tail != nullptr) complain(d->span, "only one datum may follow '.'");
        o.tail = d;
      }
      return;
    }
    done_.push_back(d);
  }

  void read_string() {
    for (;;) {
      if (at_ == text_.size()) break_off_string();
      char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        read_escape();
      } else {
        content_ += c;
        ++at_;
      }
    }
    ++at_;
    in_string_ = false;
    add(make_text(Datum::Kind::string, content_, span(token_, at_)));
    content_.clear();
  }
  [[noreturn]] void break_off_string() const { break_off(span(token_, token_ + 1), "this string is never closed"); }

  void read_escape() {
    std::size_t begin = at_;
    if (begin + 1 == text_.size()) break_off_string();
    ++at_;
    char c = text_[at_];
    switch (c) {
    case '"':
    case '\\':
      content_ += c;
      break;
    case 'n':
      content_ += '\n';
      break;
    case 't':
      content_ += '\t';
      break;
    case 'r':
      content_ += '\r';
      break;
    case 'a':
      content_ += '\a';
      break;
    case '0':
      content_ += '\0';
      break;
    case 'x': {
      std::size_t end = text_.find(';', at_);
      auto code = end == std::string_view::npos ? std::nullopt : parse_hex(text_.substr(at_ + 1, end - at_ - 1));
      if (!code || !text::is_code_point(*code))
        complain(span(begin, at_ + 1), "a hexadecimal escape is written \\xHH; with a valid code point");
      std::string character;
      text::append_code_point(character, *code);
      content_ += character;
      at_ = end;
      break;
    }
    case '\n':
      while (at_ + 1 < text_.size() && (text_[at_ + 1] == ' ' || text_[at_ + 1] == '\t')) ++at_;
      break;
    default: {
      text::next_code_point(text_, at_);
      complain(span(begin, at_), fmt::format("unknown escape '{}' in a string", text_.substr(begin, at_ - begin)));
    }
    }
    ++at_;
  }

  void read_character() {
    std::size_t begin = at_;
    at_ += 2;
    if (at_ == text_.size()) complain(span(begin, at_), "a character must follow #\\");
    std::size_t end = at_;
    std::uint32_t code = text::next_code_point(text_, end);
    std::size_t first = end - at_;
    while (end < text_.size() && !is_delimiter(static_cast<unsigned char>(text_[end]))) ++end;
    std::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    if (name.size() > first) {
      auto named = named_character(name);
      if (!named) complain(span(begin, end), fmt::format("unknown character '#\\{}'", name));
      code = *named;
    }
    Datum* d = make_datum(Datum::Kind::character, span(begin, end));
    d->integer = code;
    add(d);
  }

  static std::optional<std::uint32_t> named_character(std::string_view name) {
    for (const CharacterName& n : kCharacterNames)
      if (n.name.size() == name.size() && std::equal(name.begin(), name.end(), n.name.begin(),
                                                     [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; }))
        return n.code_point;
    if (name[0] == 'x' || name[0] == 'U' || name[0] == 'u')
      if (auto code = parse_hex(name.substr(1)); code && text::is_code_point(*code)) return code;
    return {};
  }

  void read_token() {
    std::size_t begin = at_;
    while (at_ < text_.size() && !is_delimiter(static_cast<unsigned char>(text_[at_]))) ++at_;
    std::string_view token = text_.substr(begin, at_ - begin);
    Span where = span(begin, at_);
    if (token == ".") return read_dot(where);
    if (auto number = text::parse_number(token)) {
      if (number->exact) return add(make_integer(number->integer, where));
      Datum* d = make_datum(Datum::Kind::flonum, where);
      d->flonum = number->flonum;
      return add(d);
    }
    if (token[0] == '#') {
      if (token == "#t" || token == "#true" || token == "#T") return add(make_boolean(true, where));
      if (token == "#f" || token == "#false" || token == "#F") return add(make_boolean(false, where));
      if (token.starts_with("#e") || token.starts_with("#E"))
        if (auto number = text::parse_number(token.substr(2)); number && !number->exact)
          complain(where, fmt::format("'{}' is no integer, and exact numbers are integers; without {} it is {}", token,
                                      token.substr(0, 2), text::format_flonum(number->flonum)));
      complain(where, fmt::format("unknown syntax '{}'", token));
    }
    add(make_symbol(token, where));
  }

  void read_dot(Span where) {
    if (open_.empty() || open_.back().kind == Open::Kind::vector) complain(where, "'.' belongs inside a list");
    Open& o = open_.back();
    if (o.kind != Open::Kind::list) complain_open(o);
    if (items_.size() == o.first) complain(where, "'.' needs an element before it");
    if (o.dot != 0) complain(where, "a list has one '.' at most");
    o.dot = static_cast<std::uint32_t>(at_);
  }

  std::string_view text_;
  std::uint32_t file_;
  std::size_t at_;
  std::size_t token_ = 0;         // where the comment or string in work begins
  std::size_t comment_level_ = 0; // of the block comment in work
  bool in_string_ = false;
  Text content_; // of the string in work
  Vector<Open> open_;
  Vector<DatumPtr> items_; // of all that is open
  Vector<DatumPtr> done_;
};

} // namespace

Vector<DatumPtr> read_all(std::string_view text, std::uint32_t file, std::size_t begin, std::size_t end) {
  Reader reader(file, begin);
  reader.read(text.substr(0, end));
  return reader.take();
}

struct EntryReader::State {
  Arena arena;
  Text text;
  Reader reader{0, 0};
  bool wrong = false;
};

EntryReader::EntryReader() : state_(std::make_unique<State>()) {}
EntryReader::~EntryReader() = default;

bool EntryReader::add(std::string_view lines) {
  State& s = *state_;
  if (s.wrong) return true;
  Arena::Installed installed(&s.arena);
  try {
    check_text(lines, 0);
    s.text += lines;
    s.reader.read(s.text);
    return true;
  } catch (const Incomplete&) {
    return false;
  } catch (const Complaint&) {
    return s.wrong = true;
  }
}

void check_text(std::string_view text, std::uint32_t file) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) complain({file, 0, 0}, "this file is too large");
  for (std::size_t i = 0; i < text.size();) {
    auto begin = static_cast<std::uint32_t>(i);
    std::uint32_t c = text::next_code_point(text, i);
    if (c == text::kMalformed)
      complain({file, begin, begin + 1},
               fmt::format("byte 0x{:02X} is not valid UTF-8", static_cast<unsigned>(static_cast<unsigned char>(text[begin]))));
    bool control = (c < 0x20 && !is_space(static_cast<unsigned char>(c))) || (c >= 0x7F && c < 0xA0);
    if (control) complain({file, begin, static_cast<std::uint32_t>(i)}, fmt::format("control character U+{:04X}", c));
  }
}

} // namespace cairn::compiler
