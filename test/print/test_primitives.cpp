// The primitives: values, complaints, and that nothing leaks.
#include "test/print/world.h"
#include "vm/text/number.h"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>

using namespace cairn;
using namespace cairn::value;
using bytecode::Primitive;
using print::testing::World;

namespace {

constexpr const char* kOfNumber = "; (number->string x) is the text of a number, (format \"~a\" x) that of any value";

struct Primitives {
  World world;
  Heap& heap = world.heap();

  // The result as `write` prints it, or the message of the error; takes over the arguments.
  std::string run(Primitive p, std::vector<Value> arguments) {
    std::string text;
    try {
      Value v = print::run_primitive(p, arguments.data(), static_cast<unsigned>(arguments.size()), world);
      text = print::abbreviated(v, world, 200);
      heap.release(v);
    } catch (const print::ProgramError& error) {
      text = error.what();
    }
    for (Value v : arguments) heap.release(v);
    return text;
  }
  Value string(std::string_view text) { return heap.make_string(text); }
  Value list(std::initializer_list<Value> items) {
    Value tail = kNull;
    for (auto i = items.end(); i != items.begin();) tail = heap.cons(*--i, tail);
    return tail;
  }
  ~Primitives() {
    if (heap.live_objects() != 0) FAIL_CHECK("objects leaked: " << heap.live_objects());
  }
};

constexpr Value number(std::int64_t i) { return integer_unchecked(i); }
Value number(int i) { return integer_unchecked(i); }
Value number(double d) { return flonum(d); }
constexpr double kInfinity = std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE_FIXTURE(Primitives, "characters and their codes") {
  CHECK(run(Primitive::char_to_integer, {character('A')}) == "65");
  CHECK(run(Primitive::integer_to_char, {number(955)}) == "#\\\xCE\xBB");
  CHECK(run(Primitive::integer_to_char, {number(97.0)}) == "#\\a");
  CHECK(run(Primitive::integer_to_char, {number(0xD800)}) == "integer->char: expected the code of a character, got 55296");
  CHECK(run(Primitive::integer_to_char, {number(-1)}) == "integer->char: expected the code of a character, got -1");
  CHECK(run(Primitive::char_upcase, {list({number(1), number(2)})}) == "char-upcase: expected a character, got (1 2)");
}

TEST_CASE_FIXTURE(Primitives, "cases and classes of characters") {
  CHECK(run(Primitive::char_upcase, {character('q')}) == "#\\Q");
  CHECK(run(Primitive::char_upcase, {character('1')}) == "#\\1");
  CHECK(run(Primitive::char_downcase, {character(0xC9)}) == "#\\\xC3\xA9");
  CHECK(run(Primitive::char_upcase, {character(0x3C2)}) == "#\\\xCE\xA3");
  CHECK(run(Primitive::char_downcase, {character(0x42F)}) == "#\\\xD1\x8F");
  CHECK(run(Primitive::char_upcase, {character(0x161)}) == "#\\\xC5\xA0");
  CHECK(run(Primitive::char_alphabetic, {character('z')}) == "#t");
  CHECK(run(Primitive::char_alphabetic, {character('7')}) == "#f");
  CHECK(run(Primitive::char_numeric, {character('7')}) == "#t");
  CHECK(run(Primitive::char_whitespace, {character('\t')}) == "#t");
  CHECK(run(Primitive::char_whitespace, {character('x')}) == "#f");
  CHECK(run(Primitive::char_upper_case, {character('Q')}) == "#t");
  CHECK(run(Primitive::char_upper_case, {character('1')}) == "#f");
  CHECK(run(Primitive::char_lower_case, {character('q')}) == "#t");
}

TEST_CASE_FIXTURE(Primitives, "strings are indexed by code points") {
  CHECK(run(Primitive::string_length, {string("a\xC3\xA9z")}) == "3");
  CHECK(run(Primitive::string_ref, {string("abcd"), number(2)}) == "#\\c");
  CHECK(run(Primitive::string_ref, {string("a\xC3\xA9z"), number(2.0)}) == "#\\z");
  CHECK(run(Primitive::string_ref, {string("abcd"), number(7)}) == "string-ref: index 7 is outside 0..3");
  CHECK(run(Primitive::string_ref, {string("abcd"), number(-1)}) == "string-ref: index -1 is outside 0..3");
  CHECK(run(Primitive::string_ref, {string(""), number(0)}) == "string-ref: index 0 is outside an empty string");
  CHECK(run(Primitive::string_ref, {string("abcd"), number(1.5)}) == "string-ref: expected an index, got 1.5");
  CHECK(run(Primitive::string_ref, {string("abcd"), number(kInfinity)}) == "string-ref: expected an index, got +inf.0");
  CHECK(run(Primitive::string_ref, {number(5), number(0)}) == std::string("string-ref: expected a string, got 5") + kOfNumber);
}

TEST_CASE_FIXTURE(Primitives, "substrings") {
  CHECK(run(Primitive::substring, {string("a\xC3\xA9z"), number(1), number(3)}) == "\"\xC3\xA9z\"");
  CHECK(run(Primitive::substring, {string("abc"), number(3), number(3)}) == "\"\"");
  CHECK(run(Primitive::substring, {string("abc"), number(2), number(1)}) == "substring: index 1 is outside 2..3");
  CHECK(run(Primitive::substring, {string("abc"), number(0), number(4)}) == "substring: index 4 is outside 0..3");
}

TEST_CASE_FIXTURE(Primitives, "strings are made, joined and compared") {
  CHECK(run(Primitive::string_append2, {string("ab"), string("c\xC3\xA9")}) == "\"abc\xC3\xA9\"");
  CHECK(run(Primitive::string_append2, {string("ab"), number(1)}) ==
        std::string("string-append: expected a string, got 1") + kOfNumber);
  CHECK(run(Primitive::make_string, {number(3), character(0xE9)}) == "\"\xC3\xA9\xC3\xA9\xC3\xA9\"");
  CHECK(run(Primitive::make_string, {number(-1), character('a')}) == "make-string: expected a count, got -1");
  CHECK(run(Primitive::make_string, {number(std::int64_t{1} << 40), character('a')}) ==
        "make-string: a string cannot be longer than 4 GiB");
  CHECK(run(Primitive::string_compare, {string("abc"), string("abd")}) == "-1");
  CHECK(run(Primitive::string_compare, {string("abc"), string("ab")}) == "1");
  CHECK(run(Primitive::string_compare, {string("z"), string("\xC3\xA9")}) == "-1");
  CHECK(run(Primitive::string_compare, {string("a"), string("a")}) == "0");
  CHECK(run(Primitive::string_compare_ci, {string("aBc"), string("AbC")}) == "0");
  CHECK(run(Primitive::string_compare_ci, {string("AB"), string("abc")}) == "-1");
  CHECK(run(Primitive::string_compare_ci, {string("Z"), string("abc")}) == "1");
}

TEST_CASE_FIXTURE(Primitives, "strings and lists of characters") {
  CHECK(run(Primitive::string_to_list, {string("a\xC3\xA9z")}) == "(#\\a #\\\xC3\xA9 #\\z)");
  CHECK(run(Primitive::string_to_list, {string("")}) == "()");
  CHECK(run(Primitive::list_to_string, {list({character('a'), character(0xE9)})}) == "\"a\xC3\xA9\"");
  CHECK(run(Primitive::list_to_string, {list({character('a'), number(1)})}) ==
        "list->string: expected a list of characters, got (#\\a 1)");
  CHECK(run(Primitive::list_to_string, {heap.cons(character('a'), character('b'))}) ==
        "list->string: expected a list of characters, got (#\\a . #\\b)");
}

TEST_CASE_FIXTURE(Primitives, "symbols are interned") {
  Value a = heap.make_symbol("abc"), s = string("abc");
  Value b = print::run_primitive(Primitive::string_to_symbol, &s, 1, world);
  CHECK(a == b);
  for (Value v : {a, b, s}) heap.release(v);
  CHECK(run(Primitive::symbol_to_string, {heap.make_symbol("abc")}) == "\"abc\"");
  CHECK(run(Primitive::symbol_to_string, {string("abc")}) == "symbol->string: expected a symbol, got \"abc\"");
}

TEST_CASE_FIXTURE(Primitives, "numbers as strings, both ways") {
  CHECK(run(Primitive::number_to_string, {number(-255), number(16)}) == "\"-ff\"");
  CHECK(run(Primitive::number_to_string, {number(0.1)}) == "\"0.1\"");
  CHECK(run(Primitive::number_to_string, {number(1), number(7)}) == "number->string: expected a radix of 2, 8, 10 or 16, got 7");
  CHECK(run(Primitive::number_to_string, {number(0.5), number(2)}) ==
        "number->string: the flonum 0.5 can be written in radix 10 only");
  CHECK(run(Primitive::string_to_number, {string("101"), number(2)}) == "5");
  CHECK(run(Primitive::string_to_number, {string("1e3")}) == "1000.0");
  CHECK(run(Primitive::string_to_number, {string("abc")}) == "#f");
  CHECK(run(Primitive::string_to_number, {string("")}) == "#f");
}

TEST_CASE_FIXTURE(Primitives, "rounding keeps exactness and goes to even") {
  CHECK(run(Primitive::floor, {number(-7)}) == "-7");
  CHECK(run(Primitive::floor, {number(-2.5)}) == "-3.0");
  CHECK(run(Primitive::ceiling, {number(-2.5)}) == "-2.0");
  CHECK(run(Primitive::truncate, {number(-2.5)}) == "-2.0");
  CHECK(run(Primitive::round, {number(2.5)}) == "2.0");
  CHECK(run(Primitive::round, {number(3.5)}) == "4.0");
  CHECK(run(Primitive::round, {number(-0.4)}) == "-0.0");
  CHECK(run(Primitive::round, {string("x")}) == "round: expected a number, got \"x\"");
  world.tape = {flonum(1.5)};
  CHECK(run(Primitive::floor, {taped(0, 0)}) == "1.0");
}

TEST_CASE_FIXTURE(Primitives, "only integers that fit become exact") {
  CHECK(run(Primitive::inexact_to_exact, {number(3.0)}) == "3");
  CHECK(run(Primitive::inexact_to_exact, {number(-0.0)}) == "0");
  CHECK(run(Primitive::inexact_to_exact, {number(5)}) == "5");
  CHECK(run(Primitive::inexact_to_exact, {number(1.5)}) == "inexact->exact: 1.5 is not an integer");
  CHECK(run(Primitive::inexact_to_exact, {number(kInfinity)}) == "inexact->exact: +inf.0 is not an integer");
  CHECK(run(Primitive::inexact_to_exact, {number(-140737488355328.0)}) == "-140737488355328");
  CHECK(run(Primitive::inexact_to_exact, {number(1e31)}) ==
        "inexact->exact: 1e+31 does not fit into the 48 bits of an exact integer");
}

TEST_CASE_FIXTURE(Primitives, "output") {
  run(Primitive::display, {string("a\"b")});
  run(Primitive::write, {string("a\"b")});
  run(Primitive::newline, {});
  run(Primitive::write_char, {character(0xE9)});
  CHECK(world.output == "a\"b\"a\\\"b\"\n\xC3\xA9");
}

TEST_CASE_FIXTURE(Primitives, "reports go to the environment as numbers under names") {
  world.tape = {flonum(2.5)};
  CHECK(run(Primitive::report_list, {list({heap.make_symbol("loss"), taped(0, 0), string("a step"), number(7)})}) ==
        "#<unspecified>");
  REQUIRE(world.reports.size() == 1);
  REQUIRE(world.reports[0].size() == 2);
  CHECK(world.reports[0][0].name == "loss");
  CHECK(world.reports[0][0].value == 2.5);
  CHECK(world.reports[0][1].name == "a step");
  CHECK(world.reports[0][1].value == 7);
  // A list that is none, and names that are too long for a line, are no reports.
  CHECK(run(Primitive::report_list, {number(5)}).starts_with("report: expected names, each followed by its value"));
  CHECK(run(Primitive::report_list, {list({string(std::string(201, 'x')), number(5)})}).find("is no name for a number") !=
        std::string::npos);
  CHECK(run(Primitive::report_list, {heap.cons(string("a"), heap.cons(number(5), number(6)))})
            .starts_with("report: expected names"));
  CHECK(world.reports.size() == 1);
}

TEST_CASE_FIXTURE(Primitives, "write-real returns its very argument") {
  world.tape = {flonum(2.5)};
  Value t = taped(0, 0);
  CHECK(print::run_primitive(Primitive::write_real, &t, 1, world) == t);
  Value b = heap.make_bundle(1, number(3), number(4.0));
  Value same = print::run_primitive(Primitive::write_real, &b, 1, world);
  CHECK(same == b);
  heap.release(same);
  heap.release(b);
  CHECK(world.output == "2.5\n3\n");
  CHECK(run(Primitive::write_real, {kNull}) == "write-real: expected a number, got ()");
}

TEST_CASE_FIXTURE(Primitives, "read-real gives numbers until the input ends") {
  world.inputs = {{true, 7, 0}, {false, 0, 0.5}};
  CHECK(run(Primitive::read_real, {}) == "7");
  CHECK(run(Primitive::read_real, {}) == "0.5");
  CHECK(run(Primitive::read_real, {}) == "read-real: end of input");
}

TEST_CASE_FIXTURE(Primitives, "the command line is a list of strings, repaired where they are no UTF-8") {
  world.command_line = {"one", "\x80\xC3"};
  CHECK(run(Primitive::command_line, {}) == "(\"one\" \"\xEF\xBF\xBD\xEF\xBF\xBD\")");
}

TEST_CASE_FIXTURE(Primitives, "random reals lie in [0, 1)") {
  world.forced = {0, ~std::uint64_t{0}};
  CHECK(run(Primitive::random_real, {}) == "0.0");
  CHECK(run(Primitive::random_real, {}) == "0.9999999999999999");
}

TEST_CASE_FIXTURE(Primitives, "random normals follow Box and Muller to the last digits, and their moments are right") {
  for (std::uint64_t turn = 0; turn < 64; ++turn) {
    world.forced = {(turn * 0x2545F4914F6CDD1D) | 1, turn << 58};
    double u = 1 - static_cast<double>(world.forced[0] >> 11) * 0x1p-53, v = static_cast<double>(turn) / 64;
    double expected = std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v);
    Value result = print::run_primitive(Primitive::random_normal, nullptr, 0, world);
    CHECK(std::abs(result.flonum() - expected) < 4e-15);
  }
  double sum = 0, squares = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    double x = print::run_primitive(Primitive::random_normal, nullptr, 0, world).flonum();
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / kDraws) < 0.03);
  CHECK(std::abs(squares / kDraws - 1) < 0.05);
}

TEST_CASE_FIXTURE(Primitives, "random integers are unbiased") {
  world.forced = {0, 5}; // 2^64 mod 3 is 1, so a draw of 0 is refused
  CHECK(run(Primitive::random_integer, {number(3)}) == "2");
  CHECK(run(Primitive::random_integer, {number(1.0)}) == "0");
  CHECK(run(Primitive::random_integer, {number(0)}) == "random-integer: expected a positive integer, got 0");
  CHECK(run(Primitive::random_integer, {number(2.5)}) == "random-integer: expected a positive integer, got 2.5");
}

TEST_CASE_FIXTURE(Primitives, "only capsules are asked for their steps") {
  CHECK(run(Primitive::is_capsule, {kNull}) == "#f");
  CHECK(run(Primitive::capsule_steps, {number(1)}) == "capsule-steps: expected a capsule, got 1");
  CHECK(run(Primitive::capsule_finished, {kNull}) == "capsule-finished?: expected a capsule, got ()");
}

TEST_CASE_FIXTURE(Primitives, "a budget holds for strings under construction, and nothing leaks when it is exceeded") {
  heap.set_budget(1 << 20);
  Value arguments[] = {number(1 << 21), character('a')};
  CHECK_THROWS_AS(print::run_primitive(Primitive::make_string, arguments, 2, world), BudgetExceeded);
  Value text = string(std::string(100000, 'a'));
  CHECK_THROWS_AS(print::run_primitive(Primitive::string_to_list, &text, 1, world), BudgetExceeded);
  heap.release(text);
}
