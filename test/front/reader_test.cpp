// The reader: what each spelling reads as, where each complaint points, and that depth costs memory only.
#include "compiler/front/datum.h"
#include "compiler/front/reader.h"
#include "test/front/front_testing.h"

#include <doctest/doctest.h>

using namespace cairn::compiler;

namespace {

std::string read(const std::string& text) {
  Arena arena;
  Arena::Installed installed(&arena);
  try {
    check_text(text, 0);
    std::string out;
    for (const DatumPtr& d : read_all(text, 0, 0, text.size())) out += (out.empty() ? "" : " ") + datum_text(*d);
    return out;
  } catch (const Complaint& c) {
    auto position = cairn::text::position_of(text, c.diagnostic.span.begin);
    return fmt::format("{}:{}: {}", position.line, position.column, c.diagnostic.message);
  }
}

} // namespace

TEST_CASE("lists, vectors and abbreviations read as they are written") {
  CHECK(read("(a (b) . c) #(1 (2)) () (a . (b . (c . ())))") == "(a (b) . c) #(1 (2)) () (a b c)");
  CHECK(read("'a `(b ,c ,@d) ''e") == "'a `(b ,c ,@d) ''e");
  CHECK(read("(quote a)(quote a b)(quote . a)") == "'a (quote a b) (quote . a)");
}

TEST_CASE("symbols are case-sensitive and may look like arithmetic") {
  CHECK(read("*j j* checkpoint-*j + - ... 1+ -1+ Abc abc x->y größe a.b") ==
        "*j j* checkpoint-*j + - ... 1+ -1+ Abc abc x->y größe a.b");
}

TEST_CASE("numbers, booleans, characters and strings") {
  CHECK(read("2 -7 2. .5 1e3 #x1F +inf.0 1/2") == "2 -7 2.0 0.5 1000.0 31 +inf.0 0.5");
  CHECK(read("#t #f #true #false") == "#t #f #t #f");
  CHECK(read("#\\a #\\space #\\( #\\newline #\\tab #\\nul #\\x41 #\\x #\\λ #\\Space") ==
        "#\\a #\\space #\\( #\\newline #\\tab #\\nul #\\A #\\x #\\λ #\\space");
  CHECK(read(R"("a\"b\\c\n\t\x3bb;" "two \
    parts")") == R"("a\"b\\c\n\tλ" "two parts")");
}

TEST_CASE("comments of all three kinds are left out") {
  CHECK(read("a ; b\nc #| d #| e |# f |# g #;(h i) j #; #; k l m (n #;o)") == "a c g j m (n)");
  CHECK(read("\xEF\xBB\xBF") == "\xEF\xBB\xBF"); // the loader takes a byte order mark away
}

TEST_CASE("complaints of the reader point at the cause") {
  CHECK(read("(a\n (b)") == "1:1: this '(' is never closed");
  CHECK(read("a (b (c)\n d") == "1:3: this '(' is never closed");
  CHECK(read("a #(b") == "1:3: this '#(' is never closed");
  CHECK(read("(a))") == "1:4: this ')' closes nothing");
  CHECK(read("(a ')") == "1:4: nothing follows this '");
  CHECK(read("(a #;)") == "1:4: nothing follows this #;");
  CHECK(read("x '") == "1:3: nothing follows this '");
  CHECK(read("\"abc") == "1:1: this string is never closed");
  CHECK(read("\"abc\\") == "1:1: this string is never closed");
  CHECK(read("a #| b #| c |#") == "1:3: this comment is never closed");
  CHECK(read("\"a\\qb\"") == "1:3: unknown escape '\\q' in a string");
  CHECK(read("\"\\xD800;\"") == "1:2: a hexadecimal escape is written \\xHH; with a valid code point");
  CHECK(read("#\\bogus") == "1:1: unknown character '#\\bogus'");
  CHECK(read("#q") == "1:1: unknown syntax '#q'");
  CHECK(read("#e1.5") == "1:1: '#e1.5' is no integer, and exact numbers are integers; without #e it is 1.5");
  CHECK(read("#E1/3") == "1:1: '#E1/3' is no integer, and exact numbers are integers; without #E it is 0.3333333333333333");
  CHECK(read("#ex") == "1:1: unknown syntax '#ex'");
  CHECK(read("a [b]") == "1:3: '[' has no meaning here");
  CHECK(read(". a") == "1:1: '.' belongs inside a list");
  CHECK(read("( . a)") == "1:3: '.' needs an element before it");
  CHECK(read("(a .)") == "1:4: nothing follows this '.'");
  CHECK(read("(a . b c)") == "1:8: only one datum may follow '.'");
  CHECK(read("(a . b . c)") == "1:8: a list has one '.' at most");
  CHECK(read("#(a . b)") == "1:5: '.' belongs inside a list");
}

TEST_CASE("bytes that are no UTF-8 and control characters are refused") {
  CHECK(read("ab\n\"\xFF\"") == "2:2: byte 0xFF is not valid UTF-8");
  CHECK(read("\xC0\x80") == "1:1: byte 0xC0 is not valid UTF-8");
  CHECK(read("a\x01") == "1:2: control character U+0001");
  CHECK(read("λ\x7F") == "1:2: control character U+007F");
  CHECK(read("a\f") == "1:2: control character U+000C");
}

TEST_CASE("a million nested parentheses, quotes and comments are read and freed") {
  constexpr std::size_t kDepth = 1'000'000;
  std::string nested = front_testing::repeat("(", kDepth) + front_testing::repeat(")", kDepth);
  CHECK(read(nested) == nested);
  CHECK(read(front_testing::repeat("(", kDepth)) == fmt::format("1:{}: this '(' is never closed", kDepth));
  CHECK(read(front_testing::repeat("#|", kDepth) + front_testing::repeat("|#", kDepth)).empty());
  CHECK(read(front_testing::repeat("'", kDepth / 10) + "a").size() == kDepth / 10 + 1);
  std::string list = "(" + front_testing::repeat("a ", kDepth / 10) + "a)";
  CHECK(read(list) == list);
}

TEST_CASE("long data are cut in messages, never inside a character") {
  Arena arena;
  Arena::Installed installed(&arena);
  std::string text = "(" + front_testing::repeat("λ ", 100) + ")";
  CHECK(datum_text(*read_all(text, 0, 0, text.size())[0], 8) == "(λ λ ...");
}
