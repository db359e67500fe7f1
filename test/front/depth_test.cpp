// Long programs are expanded whatever their length; deeply nested ones up to a stated depth, then refused with a message.
#include "compiler/front/expander.h"
#include "test/front/front_testing.h"

#include <doctest/doctest.h>

using front_testing::complaint;

namespace {

constexpr std::size_t kLong = 100'000, kQuiteLong = 20'000, kTooDeep = 10'000;

struct Nesting {
  std::string open, inside, close;
  std::string deep(std::size_t levels) const {
    return front_testing::repeat(open, levels) + inside + front_testing::repeat(close, levels);
  }
};

} // namespace

TEST_CASE("forms of very many parts") {
  for (const std::string& text : {
           "(begin " + front_testing::repeat("1 ", kLong) + ")",
           "(cond " + front_testing::repeat("(1 2)", kLong) + ")",
           "(cond " + front_testing::repeat("(1)", kQuiteLong) + ")",
           "(case 1 " + front_testing::repeat("((1 2) 3)", kQuiteLong) + ")",
           "'(" + front_testing::repeat("1 ", kLong) + ")",
           "`(" + front_testing::repeat(",1 ", kQuiteLong) + ")",
           "(list " + front_testing::repeat("1 ", kQuiteLong) + ")",
           "(+ " + front_testing::repeat("1 ", kQuiteLong) + ")",
           "(and " + front_testing::repeat("1 ", kQuiteLong) + ")",
           "(or " + front_testing::repeat("1 ", kQuiteLong) + ")",
           "(let* (" + front_testing::repeat("(x 1)", kQuiteLong) + ") x)",
           "(lambda ((list " + front_testing::repeat("1 ", kQuiteLong) + ")) 2)",
           "(define (f) " + front_testing::repeat("(define x 1)", 1) + front_testing::repeat("1 ", kLong) + ")",
           front_testing::repeat("(define x 1)", kLong),
       })
    CHECK(complaint(text).empty());
}

TEST_CASE("twenty thousand internal definitions") {
  std::string text = "(define (f) ";
  for (std::size_t i = 0; i < kQuiteLong; ++i) text += fmt::format("(define (g{}) (g{}))", i, (i + 1) % kQuiteLong);
  text += "(define x (g0)) x)";
  CHECK(complaint(text).empty());
}

TEST_CASE("every form nests deeply, and what is too deep is a located message") {
  for (const Nesting& n : {
           Nesting{"(+ 1 ", "2", ")"},
           Nesting{"(", "1", ")"},
           Nesting{"(if 1 ", "2", " 3)"},
           Nesting{"(if (or 1 (car ", "2", ")) 3 4)"},
           Nesting{"(lambda (x) ", "2", ")"},
           Nesting{"(let ((x ", "2", ")) x)"},
           Nesting{"(let ((x 1)) ", "2", ")"},
           Nesting{"(let loop ((x 1)) ", "2", ")"},
           Nesting{"(letrec ((f (lambda () ", "2", "))) f)"},
           Nesting{"(cond (1 => ", "car", "))"},
           Nesting{"(case 1 ((1) ", "2", "))"},
           Nesting{"(do () (1 ", "2", "))"},
           Nesting{"`(", "2", " ,1)"},
           Nesting{"`(1 ,", "2", ")"},
           Nesting{"(and 1 ", "2", ")"},
           Nesting{"(or 1 ", "2", ")"},
       }) {
    CAPTURE(n.open);
    CHECK(complaint(n.deep(500)) == "");
    CHECK(complaint(n.deep(kTooDeep)).ends_with(": nested too deeply"));
  }
  Nesting sum{"(+ 1 ", "2", ")"};
  CHECK(complaint(sum.deep(2000)).empty());
  CHECK(complaint(sum.deep(kLong)) == fmt::format("1:{}: nested too deeply", 1 + 5 * cairn::compiler::kDeepestNesting));
  std::string head = front_testing::repeat("(", kQuiteLong) + "f" + front_testing::repeat(")", kQuiteLong);
  CHECK(complaint("(define " + head + " 1)").ends_with(": nested too deeply"));
  CHECK(complaint("'" + head).empty());
}

TEST_CASE("calls of very many operands do not nest as deeply as they are long, and keep their order") {
  std::string operands;
  for (int i = 0; i < 2500; ++i) operands += fmt::format("{} ", i);
  std::string list = front_testing::core("(list " + operands + ")");
  CHECK(list.starts_with("(library:%append/2 (cons 0 (cons 1 "));
  CHECK(list.find("(library:%append/2 (cons 1000 (cons 1001 ") != std::string::npos);
  CHECK(list.find("(cons 999 '())") != std::string::npos);
  CHECK(list.find("(cons 2499 '())") != std::string::npos);
  CHECK(front_testing::core("(+ " + operands + ")").starts_with("(let ((so-far (+ (+ (+ "));
}
