// Primitives on characters, strings and symbols. A string of ASCII only is indexed directly, any other is walked: both take time
// proportional to the string at most.
#include "vm/print/call.h"
#include "vm/print/characters.h"
#include "vm/text/utf8.h"

#include <algorithm>

namespace cairn::print {

using namespace value;

namespace {

constexpr std::uint64_t kMostTextBytes = 0xFFFFFFF0;

// The byte at which code point `index` begins; the end of the text if there are as many.
std::size_t byte_of(const Call& call, const Text* t, std::uint64_t index) {
  if (t->bytes == t->length) return index;
  constexpr std::uint64_t kMany = 1 << 16;
  std::string_view text = t->view();
  std::size_t at = 0;
  for (std::uint64_t n = 0; n < index; ++n) {
    if (n % kMany == 0) call.spend(std::min(kMany, index - n));
    text::next_code_point(text, at);
  }
  return at;
}

// All of a text, a piece at a time; f(piece) may stop by returning false. Pieces may end inside of a code point.
template <class F> void for_each_piece(const Call& call, std::string_view text, F&& f) {
  constexpr std::size_t kPiece = 1 << 16;
  for (; !text.empty(); text.remove_prefix(std::min(kPiece, text.size()))) {
    call.spend(std::min(kPiece, text.size()));
    if (!f(text.substr(0, kPiece))) return;
  }
}

void check_length(const Call& call, std::uint64_t bytes) {
  if (bytes > kMostTextBytes) call.complain("a string cannot be longer than 4 GiB");
}

std::size_t utf8_bytes(std::uint32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

Value sign(int order) { return integer_unchecked(order < 0 ? -1 : order > 0 ? 1 : 0); }

} // namespace

namespace primitives {

// --- characters
Value char_to_integer(const Call& call) { return integer_unchecked(call.character(0)); }
Value integer_to_char(const Call& call) {
  std::int64_t code = call.integer(0, "the code of a character");
  if (!text::is_code_point(code)) call.wrong(0, "the code of a character");
  return character(static_cast<std::uint32_t>(code));
}
Value char_upcase(const Call& call) { return character(upcase(call.character(0))); }
Value char_downcase(const Call& call) { return character(downcase(call.character(0))); }
Value char_alphabetic(const Call& call) { return boolean(is_alphabetic(call.character(0))); }
Value char_numeric(const Call& call) { return boolean(is_numeric(call.character(0))); }
Value char_whitespace(const Call& call) { return boolean(is_whitespace(call.character(0))); }
Value char_upper_case(const Call& call) { return boolean(downcase(call.character(0)) != call.character(0)); }
Value char_lower_case(const Call& call) { return boolean(upcase(call.character(0)) != call.character(0)); }

// --- strings
Value string_length(const Call& call) { return integer_unchecked(call.string(0)->length); }

Value string_ref(const Call& call) {
  const Text* t = call.string(0);
  std::size_t at = byte_of(call, t, call.index(1, 0, std::int64_t{t->length} - 1));
  return character(text::next_code_point(t->view(), at));
}

Value substring(const Call& call) {
  const Text* t = call.string(0);
  std::uint64_t begin = call.index(1, 0, t->length);
  std::uint64_t end = call.index(2, static_cast<std::int64_t>(begin), t->length);
  std::size_t first = byte_of(call, t, begin), last = byte_of(call, t, end);
  StringBuilder made(call, last - first);
  made.put(t->view().substr(first, last - first));
  return made.take();
}

Value string_append2(const Call& call) {
  const Text *a = call.string(0), *b = call.string(1);
  std::uint64_t bytes = std::uint64_t{a->bytes} + b->bytes;
  check_length(call, bytes);
  StringBuilder made(call, bytes);
  made.put(a->view());
  made.put(b->view());
  return made.take();
}

// The order of UTF-8 bytes is the order of code points.
Value string_compare(const Call& call) {
  std::string_view a = call.string(0)->view(), b = call.string(1)->view();
  int order = 0;
  for_each_piece(call, a.substr(0, std::min(a.size(), b.size())), [&](std::string_view piece) {
    order = piece.compare({b.data() + (piece.data() - a.data()), piece.size()});
    return order == 0;
  });
  return order != 0 ? sign(order) : sign((a.size() > b.size()) - (a.size() < b.size()));
}

Value string_compare_ci(const Call& call) {
  std::string_view a = call.string(0)->view(), b = call.string(1)->view();
  std::size_t i = 0, j = 0, since = 0;
  constexpr std::size_t kMany = 1 << 16;
  for (call.spend(kWorkOfReading * std::min({a.size(), b.size(), kMany})); i < a.size() && j < b.size();) {
    if (i - since >= kMany) {
      call.spend(kWorkOfReading * kMany);
      since = i;
    }
    std::uint32_t c = fold_case(text::next_code_point(a, i)), d = fold_case(text::next_code_point(b, j));
    if (c != d) return sign(c < d ? -1 : 1);
  }
  return sign((i < a.size()) - (j < b.size()));
}

Value list_to_string(const Call& call) {
  std::uint64_t bytes = 0;
  constexpr std::uint64_t kMany = 1 << 16;
  std::uint64_t count = 0;
  Value rest = call.argument(0);
  for (; rest.is_pair(); rest = rest.pair()->cdr) {
    if (++count % kMany == 0) call.spend(kMany * sizeof(Value));
    if (!is_character(rest.pair()->car)) call.wrong(0, "a list of characters");
    bytes += utf8_bytes(code_point(rest.pair()->car));
  }
  if (rest != kNull) call.wrong(0, "a list of characters");
  check_length(call, bytes);
  call.spend(count % kMany * sizeof(Value));
  StringBuilder made(call, bytes);
  std::string one;
  for (rest = call.argument(0); rest.is_pair(); rest = rest.pair()->cdr) {
    one.clear();
    text::append_code_point(one, code_point(rest.pair()->car));
    made.put(one);
  }
  return made.take();
}

Value string_to_list(const Call& call) {
  std::string_view text = call.string(0)->view();
  Owned list(call.heap(), kNull);
  constexpr std::uint64_t kMany = 1 << 16;
  std::uint64_t left = call.string(0)->length;
  for (std::size_t end = text.size(); end > 0; --left) {
    if (left % kMany == 0 || end == text.size()) call.spend((left % kMany == 0 ? kMany : left % kMany) * sizeof(Value));
    std::size_t begin = end - 1;
    while ((static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    end = begin;
    list.push(character(text::next_code_point(text, begin)));
  }
  return list.take();
}

Value make_string(const Call& call) {
  std::int64_t count = call.integer(0, "a count");
  if (count < 0) call.wrong(0, "a count");
  std::string one;
  text::append_code_point(one, call.character(1));
  std::uint64_t bytes = static_cast<std::uint64_t>(count) * one.size();
  check_length(call, bytes);
  StringBuilder made(call, bytes);
  for (std::int64_t i = 0; i < count; ++i) made.put(one);
  return made.take();
}

// --- symbols
Value string_to_symbol(const Call& call) {
  call.spend(call.string(0)->bytes);
  return call.heap().make_symbol(call.string(0)->view());
}
Value symbol_to_string(const Call& call) {
  StringBuilder made(call, call.symbol(0)->bytes);
  made.put(call.symbol(0)->view());
  return made.take();
}

} // namespace primitives

} // namespace cairn::print
