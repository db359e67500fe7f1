// Everything that is wrong before the first step, with its exact place and words.
#include "compiler/front/elsewhere.h"
#include "test/front/front_testing.h"

#include <doctest/doctest.h>

using front_testing::core;

TEST_CASE("unbound names are found, with a suggestion where one is near") {
  CHECK(core("(define (f x) (foo x))") == "1:16: unbound name 'foo'");
  CHECK(core("(define (factorial n) (factorail n))") == "1:24: unbound name 'factorail'; did you mean 'factorial'?");
  CHECK(core("(vector-lenght 1)") == "1:2: unbound name 'vector-lenght'; did you mean 'vector-length'?");
  CHECK(core("(lenght '())") == "1:2: unbound name 'lenght'; did you mean 'length'?");
  CHECK(core("(define (f distance) distnace)") == "1:22: unbound name 'distnace'; did you mean 'distance'?");
  CHECK(core("(lamda (x) x)") == "1:2: unbound name 'lamda'; did you mean 'lambda'?");
  CHECK(core("(let ((x 1)) 2) x") == "1:17: unbound name 'x'");
  CHECK(core("(%append/2 '() '())") == "1:2: unbound name '%append/2'");
}

TEST_CASE("what Cairn does not have is named with what to write instead") {
  CHECK(core("(define x 1) (set! x 2)") == "1:15: 'set!' does not exist in Cairn: variables do not change; bind a new one with "
                                           "'let' or pass it to the next round of a loop");
  CHECK(core("(vector-set! 1 2 3)") ==
        "1:2: 'vector-set!' does not exist in Cairn: vectors do not change; (vector-update v i x) gives a new one");
  CHECK(core("(set-car! 1 2)")
            .starts_with("1:2: 'set-car!' does not exist in Cairn: pairs do not change; make a new one with (cons"));
  CHECK(core("(call/cc car)").starts_with("1:2: 'call/cc' does not exist in Cairn: "));
  CHECK(core("(delay 1)").starts_with("1:2: 'delay' does not exist in Cairn: "));
  CHECK(core("(define-syntax a b)").starts_with("1:2: 'define-syntax' does not exist in Cairn: "));
  CHECK(core("(map force '())").starts_with("1:6: 'force' does not exist in Cairn: "));
}

TEST_CASE("builtins and library procedures are called with as many arguments as they take") {
  CHECK(core("(define (f x) (car x 2))") == "1:15: 'car' takes 1 argument, got 2");
  CHECK(core("(*j car 1)") == "1:1: '*j' takes 3 arguments, got 2");
  CHECK(core("(-)") == "1:1: '-' takes at least 1 argument, got 0");
  CHECK(core("(newline 1)") == "1:1: 'newline' takes no arguments, got 1");
  CHECK(core("(atan)") == "1:1: 'atan' takes 1 or 2 arguments, got 0");
  CHECK(core("(length)") == "1:1: 'length' takes 1 argument, got 0");
  CHECK(core("(map car)") == "1:1: 'map' takes at least 2 arguments, got 1");
  CHECK(core("(caddr 1 2)") == "1:1: 'caddr' takes 1 argument, got 2");
}

TEST_CASE("malformed definitions") {
  CHECK(core("(define)") == "1:1: 'define' needs a name and a value");
  CHECK(core("(define x)") == "1:1: 'x' gets no value; write (define x value)");
  CHECK(core("(define x 1 2)") == "1:13: the definition of 'x' has more than one value");
  CHECK(core("(define 5 1)") == "1:9: 'define' needs a name, got 5");
  CHECK(core("(define (5 x) 1)") == "1:10: 'define' needs a name, got 5");
  CHECK(core("(define (f x))") == "1:1: the body of 'f' is empty");
  CHECK(core("(define (f) (+ 1 (define x 2)))") ==
        "1:18: 'define' cannot be an operand or a value; it belongs at the top level or in a body");
  CHECK(core("(define (f) (define x 2))") == "1:13: the body of 'f' ends with a definition; an expression must follow");
  CHECK(core("(define (f) (define x 2) (define x 3) x)") == "1:34: 'x' is defined twice here");
  CHECK(core("(define . 3)") == "1:1: 'define' needs a name and a value");
}

TEST_CASE("malformed parameters and patterns") {
  CHECK(core("(lambda (x))") == "1:1: the body of 'lambda' is empty");
  CHECK(core("(lambda)") == "1:1: 'lambda' needs parameters and a body");
  CHECK(core("(define (f a b a) a)") == "1:16: the name 'a' appears twice here");
  CHECK(core("(define (f (cons a a)) a)") == "1:20: the name 'a' appears twice here");
  CHECK(core("(define (f a . a) a)") == "1:16: the name 'a' appears twice here");
  CHECK(core("(define (f (vector a b)) a)") ==
        "1:12: a pattern is a name, a constant, (cons p q), (list p ...) or (cons* p ... q), got (vector a b)");
  CHECK(core("(define (f (cons a b c)) a)").starts_with("1:12: a pattern is "));
  CHECK(core("(define (f #(a)) a)").starts_with("1:12: a pattern is "));
  CHECK(core("(lambda 5 6)") == "1:9: parameters are written (p ...), (p ... . rest) or rest, got 5");
  CHECK(core("(let ((x 1) (x 2)) x)") == "1:14: the name 'x' appears twice here");
}

TEST_CASE("malformed expressions") {
  CHECK(core("(car . 1)") == "1:1: an expression cannot be a dotted list");
  CHECK(core("(if #t)") == "1:1: 'if' is written (if test then) or (if test then else)");
  CHECK(core("(list if)") == "1:7: 'if' is syntax, not a value");
  CHECK(core("(let x)") == "1:1: 'let' needs bindings and a body");
  CHECK(core("(let ((x 1 2)) x)") == "1:7: a binding of 'let' is written (name value)");
  CHECK(core("(let 5 x)") == "1:6: the bindings of 'let' are written ((name value) ...)");
  CHECK(core("(cond)") == "1:1: 'cond' needs at least one clause");
  CHECK(core("(cond ())") == "1:7: a clause of 'cond' is written (test expression ...)");
  CHECK(core("(cond (else 1) (#t 2))") == "1:7: 'else' must be the last clause");
  CHECK(core("(cond (1 =>))") == "1:7: a procedure must follow '=>'");
  CHECK(core("(case 1 (1 2))") == "1:10: the data of a clause of 'case' stand in a list");
  CHECK(core("(do ((i 0)))") == "1:1: 'do' is written (do ((name first next) ...) (test result ...) body ...)");
  CHECK(core("(quote)") == "1:1: 'quote' takes one datum");
  CHECK(core(",x") == "1:1: 'unquote' has no meaning here");
  CHECK(core("`(1 . ,@x)") == "1:7: ',@' belongs inside a list or vector");
  CHECK(core("(else 1)") == "1:1: 'else' has no meaning here");
  CHECK(core("(define (f) (begin))") == "1:13: 'begin' needs at least one expression");
  CHECK(core("(define (f) (import x))") == "1:13: 'import' belongs at the top level");
}

TEST_CASE("a value that needs itself or a later one") {
  CHECK(core("(letrec ((a (cons 1 (lambda () a)))) a)") ==
        "1:11: the value of 'a' needs 'a' itself; only a lambda may refer to its own name");
  CHECK(core("(letrec ((a (list (lambda () b))) (b 1)) a)") == "1:11: the value of 'a' needs 'b', which is defined after it");
  CHECK(core("(define (f) (define a (g)) (define (g) b) (define b 1) a)") ==
        "1:21: the value of 'a' needs 'b', which is defined after it");
  CHECK(core("(define (f) (define (g) b) (display (g)) (define b 1) b)") ==
        "1:28: this expression needs 'b', which is defined after it");
}

TEST_CASE("files that cannot be found") {
  CHECK(core("(include \"no-such-file.scm\")") == "1:10: cannot read 'no-such-file.scm': this program is given no files");
  CHECK(core("(import no-such)") == "1:9: cannot find the library 'no-such' in Cairn's own; this program is given no files");
  CHECK(core("(include 5)") == "1:1: 'include' is written (include \"file\")");
  CHECK(core("(import differentiation)").empty());
}

namespace {

// The procedures and forms that an advice names: behind a parenthesis or between single quotes. Single letters stand for
// anything.
std::vector<std::string> advised(std::string_view text) {
  std::vector<std::string> names;
  auto ends = [](char c) { return c == ' ' || c == '(' || c == ')' || c == '\''; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '(' && text[i] != '\'') continue;
    std::size_t end = i + 1;
    while (end < text.size() && !ends(text[end])) ++end;
    bool quoted = text[i] == '\'' && end < text.size() && text[end] == '\'';
    if ((text[i] == '(' || quoted) && end > i + 2) names.emplace_back(text.substr(i + 1, end - i - 1));
    if (quoted) i = end;
  }
  return names;
}

} // namespace

TEST_CASE("names from elsewhere are unbound here, and what is advised instead is not") {
  REQUIRE(advised("write (view t sizes), 'append' or (map f (iota n)); the tools' option") ==
          std::vector<std::string>{"view", "append", "map", "iota"});
  for (const auto table : cairn::compiler::names_elsewhere())
    for (const cairn::compiler::Elsewhere& e : table) {
      CAPTURE(e.name);
      CHECK(core(fmt::format("(define (f) {})", e.name)) ==
            fmt::format("1:13: '{}' does not exist in Cairn: {}", e.name, e.instead));
      for (const std::string& name : advised(e.instead)) {
        std::string said = core(fmt::format("(define (f) {})", name));
        CHECK_MESSAGE(said.find("unbound") == std::string::npos, name);
        CHECK_MESSAGE(said.find("does not exist") == std::string::npos, name);
      }
    }
}

TEST_CASE("names of other languages' modules, and of the program, are known too") {
  CHECK(core("(np.full '(2 3))") == "1:2: 'np.full' does not exist in Cairn: write (fill sizes x)");
  CHECK(core("(torch.nn.functional.relu 1)") == "1:2: 'torch.nn.functional.relu' does not exist in Cairn: write (ReLU t)");
  CHECK(core("(jnp.exp 1)") == "1:2: unbound name 'jnp.exp'; did you mean 'exp'?");
  CHECK(core("(define (graph x) x) (grad 1)") == "1:23: 'grad' does not exist in Cairn: write (gradient f x)");
  CHECK(core("(define (prints x) x) (print 1)") ==
        "1:24: 'print' does not exist in Cairn: write (display x), then (newline); did you mean 'prints'?");
  CHECK(core("(define (len l) l) (len 1)").find("does not exist") == std::string::npos);
  for (const char* name :
       {"clip-grad-norm", "data-loader", "dataloader", "randn-like", "rand_like", "k-fold", "f1_score", "Log-Sigmoid"})
    CHECK_MESSAGE(core(fmt::format("({} 1)", name)).find("does not exist in Cairn") != std::string::npos, name);
  CHECK(core("(t 1)").starts_with("1:2: unbound name"));
}
