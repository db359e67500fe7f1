// Located messages: place, line, caret, and that hostile text does not reach the terminal.
#include "vm/text/diagnostic.h"
#include "vm/text/utf8.h"

#include <doctest/doctest.h>

using namespace cairn;

namespace {

std::string show(const std::string& text, std::uint32_t begin, std::uint32_t end) {
  text::Source source{"a.scm", text};
  text::Span span{0, begin, end};
  return text::render(&source, &span, "error", "wrong");
}

} // namespace

TEST_CASE("positions count lines and code points from one") {
  std::string source = "(a\n \xC3\xA9(b))\n";
  CHECK(text::position_of(source, 0).line == 1);
  CHECK(text::position_of(source, 0).column == 1);
  CHECK(text::position_of(source, 6).line == 2);
  CHECK(text::position_of(source, 6).column == 3);
  CHECK(text::position_of(source, 11).line == 3);
  CHECK(text::position_of(source, 4000).line == 3);
}

TEST_CASE("a message shows its line and a caret under the span") {
  CHECK(show("one\n(car 1)\ntwo", 5, 8) == "a.scm:2:2: error: wrong\n(car 1)\n ^~~\n");
  CHECK(show("(car 1)", 7, 7) == "a.scm:1:8: error: wrong\n(car 1)\n       ^\n");
  CHECK(show("(a\n b)", 0, 6) == "a.scm:1:1: error: wrong\n(a\n^~\n");
  CHECK(show("(a)\r\n(b)", 0, 8) == "a.scm:1:1: error: wrong\n(a)\n^~~\n");
}

TEST_CASE("tabs keep the caret in place") { CHECK(show("\t\t(x)", 2, 5) == "a.scm:1:3: error: wrong\n\t\t(x)\n\t\t^~~\n"); }

TEST_CASE("control characters, what nobody sees, and malformed bytes of a line are not printed as they are") {
  CHECK(show("a\x1b[2Jb\xFFz", 5, 6) == "a.scm:1:6: error: wrong\na\\x1b;[2Jb?z\n         ^\n");
  CHECK(show("a\xE2\x80\xAEz", 0, 1) == "a.scm:1:1: error: wrong\na\\x202e;z\n^\n");
  CHECK(show("(a\xE2\x80\x8B b)", 1, 5) == "a.scm:1:2: error: wrong\n(a\\x200b; b)\n ^~~~~~~~\n");
  CHECK(show("(a\xEF\xBB\xBF)", 2, 5) == "a.scm:1:3: error: wrong\n(a\\xfeff;)\n  ^~~~~~~\n");
  CHECK(show("\\\xF3\xA0\x80\xA0", 5, 5) == "a.scm:1:3: error: wrong\n\\\\xe0020;\n         ^\n");
  CHECK(text::shortened("a\tb\xE2\x81\xA6"
                        "c\n",
                        100) == "a\tb\\x2066;c\n");
  CHECK(text::shown_name("a b\n\x1b[2J\xFF.scm") == "a b\\xa;\\x1b;[2J?.scm");
}

TEST_CASE("very long lines are cut around the caret") {
  std::string shown = show(std::string(5000, 'a') + "b" + std::string(5000, 'c'), 5000, 5001);
  CHECK(shown.size() < 500);
  CHECK(shown.find("...aaa") != std::string::npos);
  CHECK(shown.find("ccc...") != std::string::npos);
  std::size_t line = shown.find('\n') + 1, caret_line = shown.find('\n', line) + 1;
  CHECK(shown[line + shown.find('^', caret_line) - caret_line] == 'b');
  const std::string all = show(std::string(5000, 'a'), 0, 5000); // the mark is cut where the line is
  CHECK(all.ends_with("\n^" + std::string(139, '~') + "\n"));
}

TEST_CASE("without a text or a place the message stands alone") {
  text::Source stripped{"a.scm", ""};
  text::Span span{0, 3, 4};
  CHECK(text::render(nullptr, nullptr, "error", "wrong") == "error: wrong\n");
  CHECK(text::render(&stripped, &span, "error", "wrong") == "a.scm: error: wrong\n");
  CHECK(text::render(&stripped, nullptr, "warning", "odd") == "a.scm: warning: odd\n");
}

TEST_CASE("only strict UTF-8 passes") {
  CHECK(text::is_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
  for (const char* bad : {"\xC0\x80", "\x80", "\xC3", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE0\x80\x80", "\xF8\x88\x80\x80\x80"})
    CHECK(!text::is_utf8(bad));
  std::string all;
  for (std::uint32_t c : {0x41u, 0xE9u, 0x20ACu, 0x1F600u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string one;
    text::append_code_point(one, c);
    std::size_t at = 0;
    CHECK(text::next_code_point(one, at) == c);
    CHECK(at == one.size());
  }
}
