// See json.h.
#include "vm/formats/json.h"

#include "vm/text/exact.h"
#include "vm/text/number.h"
#include "vm/text/utf8.h"

#include <charconv>
#include <cmath>
#include <vector>

namespace cairn::formats {

namespace {

constexpr std::size_t kBytesBetweenPolls = 1 << 16;

std::uint32_t four_digits(HeaderText& in) {
  std::uint32_t unit = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = in.take();
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) in.wrong("expected four hexadecimal digits");
    unit = unit * 16 + static_cast<std::uint32_t>(digit);
  }
  return unit;
}

std::uint32_t escaped(HeaderText& in) {
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  const char c = in.take();
  if (const std::size_t i = kLetters.find(c); i != std::string_view::npos) return static_cast<std::uint32_t>(kMeant[i]);
  if (c != 'u') in.wrong("no such escape in JSON");
  std::uint32_t unit = four_digits(in);
  if (unit >= 0xD800 && unit < 0xDC00) {
    if (in.take() != '\\' || in.take() != 'u') in.wrong("half of a pair of surrogates");
    const std::uint32_t low = four_digits(in);
    if (low < 0xDC00 || low > 0xDFFF) in.wrong("half of a pair of surrogates");
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }
  if (!text::is_code_point(unit)) in.wrong("half of a pair of surrogates");
  return unit;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void digits(HeaderText& in, std::string& out) {
  if (!is_digit(in.peek())) in.wrong("a number without digits where they belong");
  while (is_digit(in.peek())) out += in.take();
}

void number(HeaderText& in, JsonSink& sink) {
  std::string text;
  if (in.peek() == '-') text += in.take();
  const bool zero = in.peek() == '0';
  const std::size_t first = text.size();
  digits(in, text);
  if (zero && text.size() - first > 1) in.wrong("a number begins with 0");
  bool whole = true;
  if (in.peek() == '.') {
    whole = false;
    text += in.take();
    digits(in, text);
  }
  if (in.peek() == 'e' || in.peek() == 'E') {
    whole = false;
    text += in.take();
    if (in.peek() == '+')
      in.take();
    else if (in.peek() == '-')
      text += in.take();
    digits(in, text);
  }
  std::int64_t integer = 0;
  const char* const end = text.data() + text.size();
  if (whole && std::from_chars(text.data(), end, integer).ec == std::errc() && fits_integer(integer)) {
    sink.integer(integer);
    return;
  }
  double d = 0;
  if (std::from_chars(text.data(), end, d).ec == std::errc::result_out_of_range) d = text::beyond_range(text);
  sink.number(d);
}

} // namespace

std::string json_text(HeaderText& in) {
  in.expect('"');
  std::string out;
  for (char c = in.take(); c != '"'; c = in.take()) {
    if (static_cast<unsigned char>(c) < 0x20) in.wrong("a control character in a text");
    if (c == '\\')
      text::append_code_point(out, escaped(in));
    else
      out += c;
  }
  return out;
}

void parse_json(std::string_view text, JsonSink& sink) {
  HeaderText in(text, 0);
  for (std::size_t at = 0, next = 0; at < text.size();) {
    if (at >= next) {
      ops::Meter::poll_current();
      next = at + kBytesBetweenPolls;
    }
    const std::size_t begin = at;
    if (text::next_code_point(text, at) == text::kMalformed) throw FormatError(begin, "is no text in UTF-8");
  }
  in.accept("\xEF\xBB\xBF"); // a mark that some programs write before UTF-8
  std::vector<bool> objects; // what is open, from the outermost on
  const auto key = [&] {
    sink.text(json_text(in));
    in.expect(':');
  };
  for (bool more = true; more;) { // one value each time, or the beginning of one
    in.skip_blanks();
    bool opened = false;
    switch (in.peek()) {
    case '{':
    case '[': {
      const bool object = in.take() == '{';
      sink.begin();
      opened = !in.accept(object ? '}' : ']');
      if (opened) {
        objects.push_back(object);
        if (object) key();
      } else {
        sink.end(object);
      }
      break;
    }
    case '"':
      sink.text(json_text(in));
      break;
    case 't':
    case 'f':
    case 'n':
      if (in.accept("true"))
        sink.truth(true);
      else if (in.accept("false"))
        sink.truth(false);
      else if (in.accept("null"))
        sink.null();
      else
        in.wrong("no value of JSON");
      break;
    default:
      if (in.peek() != '-' && !is_digit(in.peek())) in.wrong(in.done() ? "ends too early" : "no value of JSON");
      number(in, sink);
    }
    if (opened) continue;
    for (more = false; !objects.empty() && !more;) {
      const bool object = objects.back();
      more = in.accept(',');
      if (more && object) key();
      if (more) break;
      in.expect(object ? '}' : ']');
      objects.pop_back();
      sink.end(object);
    }
  }
  in.skip_blanks();
  if (!in.done()) in.wrong("something follows the value");
}

void append_json(std::string& out, std::string_view text) {
  constexpr std::string_view kLetters = "\"\\\b\f\n\r\t", kWritten = "\"\\bfnrt";
  constexpr char kHexadecimal[] = "0123456789abcdef";
  for (const char c : text) {
    if (const std::size_t i = kLetters.find(c); i != std::string_view::npos)
      out += {'\\', kWritten[i]};
    else if (static_cast<unsigned char>(c) < 0x20)
      out += {'\\', 'u', '0', '0', kHexadecimal[c >> 4], kHexadecimal[c & 15]};
    else
      out += c;
  }
}

} // namespace cairn::formats
