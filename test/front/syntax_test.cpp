// Every form of the language becomes the core it stands for.
#include "test/front/front_testing.h"

#include <doctest/doctest.h>

using front_testing::core;

TEST_CASE("definitions, calls and constants") {
  CHECK(core("(define (f x) (+ x 1)) (f 2)") == "(define f (lambda (x) (+ x 1)))\n(f 2)");
  CHECK(core("(define x 1) (define l (lambda r r)) (define (m a . b) b)") ==
        "(define x 1)\n(define l (lambda (. r) r))\n(define m (lambda (a . b) b))");
  CHECK(core("(define ((f a) b) a)") == "(define f (lambda (a) (lambda (b) a)))");
  CHECK(core("(define (((f)) . c) c)") == "(define f (lambda () (lambda () (lambda (. c) c))))");
  CHECK(core("() #(1 2) \"s\" #\\a 'x '(1 . 2)") == "'()\n'#(1 2)\n\"s\"\n#\\a\n'x\n'(1 . 2)");
  CHECK(core("(begin (define a 1) (begin) (begin a))") == "(define a 1)\na");
  CHECK(core("((lambda (x) x) 1)") == "((lambda (x) x) 1)");
}

TEST_CASE("let, let* and named let") {
  CHECK(core("(let ((x 1) (y 2)) (if (< x y) x y))") == "(let ((x 1) (y 2)) (if (< x y) x y))");
  CHECK(core("(let ((x 1)) (let ((x x)) x))") == "(let ((x 1)) (let ((x.1 x)) x.1))");
  CHECK(core("(let* ((x 1) (x (+ x 1))) x)") == "(let ((x 1)) (let ((x.1 (+ x 1))) x.1))");
  CHECK(core("(let () 1)") == "1");
  CHECK(core("(let loop ((i 0)) (if (= i 9) i (loop (+ i 1))))") ==
        "(letrec ((loop (lambda (i) (if (= i 9) i (loop (+ i 1)))))) (loop 0))");
  CHECK(core("(define (loop) 1) (let loop ((i (loop))) i)") ==
        "(define loop (lambda () 1))\n(letrec ((loop (lambda (i) i))) (loop (loop)))");
}

TEST_CASE("conditionals") {
  CHECK(core("(if 1 2)") == "(if 1 2 #f)");
  CHECK(core("(cond (1 2 3) ((car '(4))) (5 => list) (else 6))") ==
        "(if 1 (begin 2 3) (let ((t (car '(4)))) (if t t (let ((t.1 5)) (if t.1 (library:list t.1) 6)))))");
  CHECK(core("(cond (1 2))") == "(if 1 2 #f)");
  CHECK(core("(and) (and 1) (and 1 2 3)") == "#t\n1\n(if 1 (if 2 3 #f) #f)");
  CHECK(core("(or) (or 1) (or 1 2)") == "#f\n1\n(let ((t 1)) (if t t 2))");
  CHECK(core("(if (or 1 (and 2 3)) 4 5)") == "(if (if 1 #t (if 2 3 #f)) 4 5)");
  CHECK(core("(case 1 ((2 a) 3) (() 4) (else 5))") ==
        "(let ((key 1)) (if (if (if (number? key) (= key 2) #f) #t (eqv? key 'a)) 3 (if #f 4 5)))");
  CHECK(core("(case 1 ((\"s\") 2))") == "(let ((key 1)) (if (eqv? key \"s\") 2 #f))");
}

TEST_CASE("do") {
  CHECK(core("(do ((i 0 (+ i 1)) (j 5)) ((= i j) i) (display i))") ==
        "(letrec ((do (lambda (i j) (if (= i j) i (begin (display i) (do (+ i 1) j)))))) (do 0 5))");
  CHECK(core("(do () (#t))") == "(letrec ((do (lambda () (if #t #f (do))))) (do))");
}

TEST_CASE("quasiquotation") {
  CHECK(core("`(1 2)") == "'(1 2)");
  CHECK(core("(define x 1) `(a ,x b c)") == "(define x 1)\n(cons 'a (cons x '(b c)))");
  CHECK(core("(define x 1) `(,@x) `(,@x b) `(a . ,x) `,x") == "(define x 1)\nx\n(library:%append/2 x '(b))\n(cons 'a x)\nx");
  CHECK(core("(define x 1) `#(1 ,x)") == "(define x 1)\n(list->vector (cons 1 (cons x '())))");
  CHECK(core("(define x 1) `(a `(b ,(c ,x)))") == "(define x 1)\n(cons 'a (cons (cons 'quasiquote (cons (cons 'b (cons (cons "
                                                  "'unquote (cons (cons 'c (cons x '())) '())) '())) '())) '()))");
  CHECK(core("(define x 1) `((a b) (,x))") == "(define x 1)\n(cons '(a b) (cons (cons x '()) '()))");
}

TEST_CASE("patterns take values apart, car and cdr together") {
  CHECK(core("(define (f (cons a b)) b)") ==
        "(define f (lambda (part) (if (pair? part) (let ((a (car part)) (b (cdr part))) b) (match-fail part))))");
  CHECK(core("(define (f (list a) x) a)") ==
        "(define f (lambda (part x) (if (pair? part) (let ((a (car part)) (part.1 (cdr part))) "
        "(if (null? part.1) a (match-fail part.1))) (match-fail part))))");
  CHECK(core("(define (f (cons* a b)) b)") == core("(define (f (cons a b)) b)"));
  CHECK(core("(define (f (cons* a)) a)") == "(define f (lambda (a) a))");
  CHECK(core("(define (f 1) 2)") == "(define f (lambda (part) (if (if (number? part) (= part 1) #f) 2 (match-fail part))))");
  CHECK(core("(define (f 'a) 2)") == "(define f (lambda (part) (if (eqv? part 'a) 2 (match-fail part))))");
  CHECK(core("(define (f #t) 2)") == "(define f (lambda (part) (if (eqv? part #t) 2 (match-fail part))))");
  CHECK(core("(define (f ()) 2)") == "(define f (lambda (part) (if (null? part) 2 (match-fail part))))");
  CHECK(core("(define (f (list)) 2)") == "(define f (lambda (part) (if (null? part) 2 (match-fail part))))");
  CHECK(core("(define (f \"s\") 2)") ==
        "(define f (lambda (part) (if (if (string? part) (= (%string-compare part \"s\") 0) #f) 2 (match-fail part))))");
  CHECK(core("(define (f '(1)) 2)") == core("(define (f (list 1)) 2)"));
  CHECK(core("(let (((cons a b) '(1))) a)") ==
        "(let ((part '(1))) (if (pair? part) (let ((a (car part)) (b (cdr part))) a) (match-fail part)))");
  CHECK(core("(let* (((cons a b) '(1)) (c a)) c)") ==
        "(let ((part '(1))) (if (pair? part) (let ((a (car part)) (b (cdr part))) (let ((c a)) c)) (match-fail part)))");
  CHECK(core("(let loop (((cons a b) '(1))) (loop b))") == "(letrec ((loop (lambda (part) (if (pair? part) (let ((a (car part)) "
                                                           "(b (cdr part))) (loop b)) (match-fail part))))) (loop '(1)))");
}

TEST_CASE("patterns match from left to right, depth first") {
  CHECK(core("(define (f (cons (cons a 1) (cons 2 b)) 3) b)") ==
        "(define f (lambda (part part.1) (if (pair? part) (let ((part.2 (car part)) (part.3 (cdr part))) "
        "(if (pair? part.2) (let ((a (car part.2)) (part.4 (cdr part.2))) (if (if (number? part.4) (= part.4 1) #f) "
        "(if (pair? part.3) (let ((part.5 (car part.3)) (b (cdr part.3))) (if (if (number? part.5) (= part.5 2) #f) "
        "(if (if (number? part.1) (= part.1 3) #f) b (match-fail part.1)) (match-fail part.5))) (match-fail part.3)) "
        "(match-fail part.4))) (match-fail part.2))) (match-fail part))))");
}

TEST_CASE("recursive scopes: values in order, each after the procedures it needs, the other procedures last") {
  CHECK(core("(define (f) (define (a) (b)) (define (b) (a)) (a))") ==
        "(define f (lambda () (letrec ((a (lambda () (b))) (b (lambda () (a)))) (a))))");
  CHECK(core("(let () (define x 1) (define (g) x) (define y (g)) (define (h) y) (h))") ==
        "(let ((x 1)) (letrec ((g (lambda () x))) (let ((y (g))) (letrec ((h (lambda () y))) (h)))))");
  CHECK(core("(letrec ((ev? (lambda (n) (od? n))) (k 2) (od? (lambda (n) (ev? k)))) (ev? k))") ==
        "(let ((k 2)) (letrec ((ev? (lambda (n) (od? n))) (od? (lambda (n.1) (ev? k)))) (ev? k)))");
  CHECK(core("(let () (define a 1) (display a) (define b 2) b)") == "(let ((a 1)) (begin (display a) (let ((b 2)) b)))");
  CHECK(core("(let () (begin (define a 1) (define b a)) b)") == "(let ((a 1)) (let ((b a)) b))");
}

TEST_CASE("n-ary builtins become the core's fixed ones, operands from left to right") {
  CHECK(core("(+) (*) (+ 1) (* 2) (+ 1 2 3) (- 1) (/ 2) (- 1 2 3)") ==
        "0\n1\n(* 1 1)\n(* 2 1)\n(+ (+ 1 2) 3)\n(%neg 1)\n(/ 1 2)\n(- (- 1 2) 3)");
  CHECK(core("(< 1 2) (< 1 2 3) (= 1)") ==
        "(< 1 2)\n(let ((x 1) (x.1 2) (x.2 3)) (if (< x x.1) (< x.1 x.2) #f))\n(let ((x.3 1)) (begin (= x.3 x.3) #t))");
  CHECK(core("(max 1 2 3) (min 1)") == "(max (max 1 2) 3)\n(library:%min/1 1)");
  CHECK(core("(list 1 2) (list) (cons* 1 2 3) (cons* 1) (vector 1 2)") ==
        "(cons 1 (cons 2 '()))\n'()\n(cons 1 (cons 2 3))\n1\n(vector 1 2)");
  CHECK(core("(cadr '(1 2)) (cddar '()) (zero? 1) (positive? 2) (1+ 3) (-1+ 4)") ==
        "(car (cdr '(1 2)))\n(cdr (cdr (car '())))\n(= 1 0)\n(> 2 0)\n(+ 3 1)\n(- 4 1)");
  CHECK(core("(apply car '(1)) (apply + 1 2 '(3))") == "(apply car '(1))\n(apply library:+ (cons 1 (cons 2 '(3))))");
  CHECK(core("(error \"m\" 1) (atan 1) (atan 1 2) (make-vector 2) (make-vector 2 'x) (make-string 1)") ==
        "(%error (cons \"m\" (cons 1 '())))\n(atan 1)\n(%atan2 1 2)\n(make-vector 2 0)\n(make-vector 2 'x)\n(make-string 1 "
        "#\\space)");
  CHECK(core("(eq? 1 2) (exact 1.) (real? 1) (*j car 1 2)") == "(eqv? 1 2)\n(inexact->exact 1.0)\n(number? 1)\n(*j car 1 2)");
}

TEST_CASE("a call of a library procedure means the definition for its number of operands where there is one") {
  CHECK(core("(map car '()) (map car '() '()) (map car '() '() '()) (map car '() '() '() '()) (append '() '()) (append)") ==
        "(library:%map/2 car '())\n(library:%map/3 car '() '())\n(library:%map/4 car '() '() '())\n(library:map car '() '() '() "
        "'())\n(library:%append/2 '() "
        "'())\n(library:append)");
}

TEST_CASE("names of the language may be defined by the user and then mean the user's everywhere") {
  CHECK(core("(car 1) (define (car x) x)") == "(car 1)\n(define car (lambda (x) x))");
  CHECK(core("(define (list . l) l) (define (f (list a b)) `(,a ,b)) (list 1)").find("library:list") == std::string::npos);
  CHECK(core("(define (f if) (if 1 2 3 4 5)) (f 1)") == "(define f (lambda (if) (if 1 2 3 4 5)))\n(f 1)");
  CHECK(core("(define (if a) a) (if 1)") == "(define if (lambda (a) a))\n(if 1)");
  CHECK(core("(define (set! a) a) (set! 1)") == "(define set! (lambda (a) a))\n(set! 1)");
  CHECK(core("(let ((else #f)) (cond (else 1)))") == "(let ((else #f)) (if else 1 #f))");
}

TEST_CASE("the library never sees the user's definitions") {
  auto program =
      cairn::compiler::expand("test.scm", "(define (car x) 'mine) (define (append a b) 'mine) (append-map car '())", {});
  std::string text = cairn::compiler::core_text(program, true);
  CHECK(text.find("(define library:append (lambda (. l)") == std::string::npos);
  CHECK(text.find("(library:%append/2 (f") != std::string::npos);
}

TEST_CASE("only the library definitions that are needed are there, before the program, in the order of the library") {
  auto program = cairn::compiler::expand("test.scm", "(define x (list-ref '(1) 0)) (length x)", {});
  REQUIRE(program.forms.size() == 4);
  std::vector<std::string> names;
  for (const auto& form : program.forms)
    names.push_back(form->kind == cairn::compiler::Expr::Kind::set_global ? program.globals()[form->global].name : "-");
  CHECK(names == std::vector<std::string>{"length", "list-ref", "x", "-"});
  CHECK(program.globals()[program.forms[0]->global].library);
  CHECK(program.forms[0]->children[0]->library);
  CHECK_FALSE(program.globals()[program.forms[2]->global].library);
}

TEST_CASE("definitions that are repeated are known to be") {
  auto program = cairn::compiler::expand("test.scm", "(define x 1) (define y 2) (define x 3)", {});
  REQUIRE(program.globals().size() == 2);
  CHECK_FALSE(program.globals()[0].defined_once);
  CHECK(program.globals()[1].defined_once);
}
