// Warnings: what is remarked on, at which place, in which order, and above all what is not.
#include "test/front/front_testing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

// What a program includes, from the disk.
struct Disk : cairn::compiler::Files {
  Answer read(const std::string& folder, const std::string& path, std::string& text, std::string&) override {
    std::ifstream file(std::filesystem::path(folder) / path);
    text.assign(std::istreambuf_iterator<char>(file), {});
    return file ? Answer::given : Answer::none;
  }
};

// The warnings of a program, one a line as "LINE:COLUMN: message"; of another file than the first with its number in front.
std::string warnings(std::string text, bool exports = false, const std::string& name = "test.scm") {
  Disk files;
  cairn::compiler::Options options;
  options.exports = exports;
  options.files = &files;
  cairn::compiler::Program program = cairn::compiler::expand(name, std::move(text), options);
  std::string out;
  for (const cairn::compiler::Diagnostic& d : program.warnings) {
    auto position = cairn::text::position_of(program.sources().at(d.span.file).text, d.span.begin);
    if (d.span.file != 0) out += fmt::format("{}:", d.span.file);
    out += fmt::format("{}:{}: {}\n", position.line, position.column, d.message);
  }
  if (!out.empty()) out.pop_back();
  return out;
}

} // namespace

TEST_CASE("names that a let, a letrec or an inner definition binds should be used") {
  CHECK(warnings("(let ((x 1) (y 2)) y)") == "1:8: 'x' is never used");
  CHECK(warnings("(let* ((x 1) (y x)) 3)") == "1:15: 'y' is never used");
  CHECK(warnings("(letrec ((f (lambda () 1))) 3)") == "1:11: 'f' is never used");
  CHECK(warnings("(let loop ((i 0)) i)") == "1:6: 'loop' is never used");
  CHECK(warnings("(define (f x) (define y 2) (define (g) x) x) (f 1)") == "1:23: 'y' is never used\n1:37: 'g' is never used");
  CHECK(warnings("(let ((x 1)) (let ((f (lambda () x))) (f)))").empty());
  CHECK(warnings("(let ((x 1)) `(1 ,x))").empty());
}

TEST_CASE("names that an interface forces on the writer need not be used") {
  CHECK(warnings("(define (f x y . z) y) (f 1 2)").empty());
  CHECK(warnings("(map (lambda (x) 1) '(1))").empty());
  CHECK(warnings("(let (((cons a b) (cons 1 2))) a)").empty());
  CHECK(warnings("(let* (((list a b) (list 1 2))) a)").empty());
  CHECK(warnings("(do ((i 0 (+ i 1)) (j 0)) ((= i 3) i))").empty());
  CHECK(warnings("(let loop ((i 0) (s 0)) (if (= i 3) i (loop (+ i 1) 0)))").empty());
  CHECK(warnings("(let ((_x 1)) 2)").empty());
}

TEST_CASE("definitions of the main file should be used by something else than themselves") {
  CHECK(warnings("(define (f) (f))\n(define g 1)\n(define (h) 1)\n(h)") == "1:10: 'f' is never used\n2:9: 'g' is never used");
  CHECK(warnings("(define (f) (f))\n(define g 1)\n(h)\n(define (h) 1)", true).empty());
  CHECK(warnings("(define (f x) x) (define (g x) (f x))").empty()); // a file for others to use
  CHECK(warnings("(define _f 1) 2").empty());
}

TEST_CASE("a name that hides another name of the same definition or a definition of the same file") {
  CHECK(warnings("(define (f x)\n  (map (lambda (y) (let ((x 1)) (+ x y))) x))\n(f 1)") == "2:27: 'x' hides the 'x' of line 1");
  CHECK(warnings("(define (f x) (define x 2) x) (f 1)") == "1:23: 'x' hides the 'x' of line 1");
  CHECK(warnings("(define (f (cons a b)) (let ((a 1)) (+ a b))) (f 1)") == "1:31: 'a' hides the 'a' of line 1");
  CHECK(warnings("(define-values (a (cons b c)) (list 1 (cons 2 3)))\n(write a)") == ""); // names in patterns
  CHECK(warnings("(define-record-type point (make x y) is? (x get-x) (y get-y))\n(make 1 2)") == "");
  CHECK(warnings("(define rate 1)\n(define (f) (let ((rate 2)) rate))\n(f)\nrate") ==
        "2:20: 'rate' hides the top-level 'rate' of line 1");
  CHECK(warnings("(define (f x) x)\n(define (g y) y)\n(f (g 1))").empty());
  CHECK(warnings("(define (f list) (car list)) (f '(1))").empty()); // a builtin
  CHECK(warnings("(define (f map) (map 1)) (f car)").empty());      // a name of the library
  CHECK(warnings("(define (f _) (lambda (_) 1)) (f 1)").empty());
}

TEST_CASE("a parameter may hide what it likes") {
  CHECK(warnings("(define (f x)\n  (map (lambda (x) x) x))\n(f 1)").empty());
  CHECK(warnings("(define (f (list a b)) (lambda ((cons a c) . b) (+ a c))) (f '(1 2))").empty());
  CHECK(warnings("(define rate 1)\n(define (f rate) rate)\n(f rate)").empty());
  CHECK(warnings("(define x 1)\n(define-derivative (f x) (value x) (forward (y d) d) (reverse (y c) (list c)))\n(f x)").empty());
}

TEST_CASE("a new version of a value may have its name") {
  CHECK(warnings("(define (f x) (let ((x (+ x 1))) x)) (f 1)").empty());
  CHECK(warnings("(define (f x) (let* ((x (+ x 1)) (x (* x 2))) x)) (f 1)").empty());
  CHECK(warnings("(define (f x n) (let loop ((x x) (i 0)) (if (= i n) x (loop (* x x) (+ i 1))))) (f 1 2)").empty());
  CHECK(warnings("(define (f l) (do ((l l (cdr l))) ((null? l) 0))) (f '())").empty());
  CHECK(warnings("(define (f p) (let (((cons p q) p)) (+ p q))) (f (cons 1 2))").empty());
  CHECK(warnings("(define (f x) (let ((x 1)) x)) (f 1)") == "1:22: 'x' hides the 'x' of line 1");
}

TEST_CASE("warnings come in the order of the text, and not more than a hundred of them") {
  CHECK(warnings("(let ((a 1))\n (let ((b 2))\n 3))") == "1:8: 'a' is never used\n2:9: 'b' is never used");
  std::string many;
  for (int i = 0; i < 150; ++i) many += fmt::format("(let ((x{} 1)) 2)\n", i);
  std::string said = warnings(many);
  CHECK(std::count(said.begin(), said.end(), '\n') == 100);
  CHECK(said.ends_with("101:8: this and 49 more warnings are not shown"));
}

TEST_CASE("other files are warned about inside, not for what they define; the library never is") {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / "cairn_warnings";
  fs::create_directories(folder);
  std::ofstream(folder / "part.scm") << "(define rate 1)\n(define (unused) (let ((x 1)) 2))\n";
  CHECK(warnings("(include \"part.scm\")\n(define (f rate) rate)\n(f 1)", false, (folder / "main.scm").string()) ==
        "1:2:25: 'x' is never used");
  fs::remove_all(folder);
  CHECK(warnings("(write (map + (iota 3) (list-tail '(1 2 3) 1)))\n(write (gradient (lambda (x) (* x x)) 3))").empty());
}
