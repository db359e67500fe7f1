; Errors before running: exit code 2, a located message, and nothing of the program has run.
;;; case unbound-name
(display "not printed")
(foo 1)
; expect exit: 2
; expect error: foo
; expect location: 2:2
;;; case unbound-name-inside-a-procedure-never-called
(define (f x)
  (+ x
     (undefined-thing x)))
; expect exit: 2
; expect error: undefined-thing
; expect location: 3:7
;;; case misspelt-name
(define (factorial n) (if (= n 0) 1 (* n (factorail (- n 1)))))
; expect exit: 2
; expect error: factorail.*factorial
; expect location: 1:43
;;; case misspelt-built-in
(write (vector-lenght '#(1)))
; expect exit: 2
; expect error: vector-lenght.*vector-length
;;; case misspelt-local
(define (f distance) (* distnace 2))
; expect exit: 2
; expect error: distnace.*distance
;;; case set!
(define x 1)
(set! x 2)
; expect exit: 2
; expect error: set!
; expect location: 2
;;; case set-car!
(define (f p) (set-car! p 2))
; expect exit: 2
; expect error: set-car!.*cons
; expect location: 1
;;; case set-cdr!
(define (f p) (set-cdr! p 2))
; expect exit: 2
; expect error: set-cdr!.*cons
;;; case vector-set!
(define (f v) (vector-set! v 0 1))
; expect exit: 2
; expect error: vector-set!.*vector-update
; expect location: 1
;;; case vector-fill!
(define (f v) (vector-fill! v 0))
; expect exit: 2
; expect error: vector-fill!
;;; case string-set!
(define (f s) (string-set! s 0 #\a))
; expect exit: 2
; expect error: string-set!
;;; case call/cc
(call-with-current-continuation (lambda (k) (k 1)))
; expect exit: 2
; expect error: call-with-current-continuation
;;; case recursive-binding-that-captures-itself
(define (f) (letrec ((a (cons 1 (lambda () a)))) a))
; expect exit: 2
; expect error: a
; expect location: 1
;;; case recursive-binding-that-captures-a-later-one
(define (f) (letrec ((a (list (lambda () b))) (b (lambda () a))) a))
; expect exit: 2
; expect error: b
;;; case internal-define-that-captures-itself
(define (f)
  (define a (list (lambda () a)))
  a)
; expect exit: 2
; expect error: a
; expect location: 2
;;; case missing-parenthesis
(define (f x)
  (+ x 1)
(write (f 1))
; expect exit: 2
; expect error: (unbalanced|unclosed|missing|end of (the )?(file|input|text)|never closed|not closed)
; expect location: 1:1
;;; case extra-parenthesis
(define (f x) x))
(write (f 1))
; expect exit: 2
; expect error: \)
; expect location: 1:17
;;; case unterminated-string
(write "abc)
; expect exit: 2
; expect error: string
; expect location: 1:8
;;; case unterminated-block-comment
(write 1)
#| no end
; expect exit: 2
; expect error: comment
; expect location: 2:1
;;; case unterminated-vector
(write '#(1 2
; expect exit: 2
; expect error: error:
; expect location: 1:9
;;; case quote-at-the-end
(write 1)
'
; expect exit: 2
; expect error: error:
;;; case dot-at-the-start-of-a-list
(write '( . 1))
; expect exit: 2
; expect error: \.
; expect location: 1:11
;;; case two-data-after-a-dot
(write '(1 . 2 3))
; expect exit: 2
; expect error: error:
;;; case nothing-after-a-dot
(write '(1 . ))
; expect exit: 2
; expect error: error:
;;; case unknown-character-name
(write #\bogus)
; expect exit: 2
; expect error: bogus
; expect location: 1:8
;;; case unknown-hash-syntax
(write #q)
; expect exit: 2
; expect error: #q
; expect location: 1:8
;;; case bad-escape-in-a-string
(write "\q")
; expect exit: 2
; expect error: error:
;;; case dotted-call
(car . 1)
; expect exit: 2
; expect error: error:
;;; case if-without-branches
(if #t)
; expect exit: 2
; expect error: if
; expect location: 1:1
;;; case if-with-too-many-parts
(define (f) (if 1 2 3 4))
; expect exit: 2
; expect error: if
; expect location: 1:13
;;; case lambda-without-a-body
(lambda (x))
; expect exit: 2
; expect error: lambda
; expect location: 1
;;; case define-without-a-value
(define x)
; expect exit: 2
; expect error: define
; expect location: 1
;;; case define-of-a-number
(define 5 1)
; expect exit: 2
; expect error: define
;;; case define-as-an-expression
(define (f) (+ 1 (define x 2)))
; expect exit: 2
; expect error: define
; expect location: 1:18
;;; case body-that-ends-in-a-definition
(define (f) (define x 2))
; expect exit: 2
; expect error: error:
; expect location: 1
;;; case let-without-bindings
(let x)
; expect exit: 2
; expect error: let
;;; case let-with-a-malformed-binding
(let ((x 1 2)) x)
; expect exit: 2
; expect error: let
; expect location: 1
;;; case let-with-a-name-twice
(let ((x 1) (x 2)) x)
; expect exit: 2
; expect error: x.*twice|twice.*x|duplicate|more than once
;;; case parameter-twice
(define (f a b a) a)
; expect exit: 2
; expect error: a.*twice|twice.*a|duplicate|more than once
; expect location: 1
;;; case pattern-variable-twice
(define (f (cons a a)) a)
; expect exit: 2
; expect error: a.*twice|twice.*a|duplicate|more than once
;;; case malformed-pattern
(define (f (vector a b)) a)
; expect exit: 2
; expect error: pattern|parameter
; expect location: 1
;;; case cons-pattern-with-three-parts
(define (f (cons a b c)) a)
; expect exit: 2
; expect error: pattern|parameter|cons
;;; case cond-else-not-last
(cond (else 1) (#t 2))
; expect exit: 2
; expect error: else
;;; case cond-with-an-empty-clause
(cond ())
; expect exit: 2
; expect error: cond
;;; case cond-arrow-without-a-receiver
(cond (1 =>))
; expect exit: 2
; expect error: =>
;;; case case-without-a-list-of-data
(case 1 (1 2))
; expect exit: 2
; expect error: case
;;; case do-without-a-test
(do ((i 0)))
; expect exit: 2
; expect error: do
;;; case unquote-outside-quasiquote
(define (f x) ,x)
; expect exit: 2
; expect error: unquote
;;; case syntax-as-a-value
(define (f) (list if))
; expect exit: 2
; expect error: if
; expect location: 1:19
;;; case syntax-in-operator-position-of-apply
(apply and '(#t #f))
; expect exit: 2
; expect error: and
; expect location: 1:8
;;; case wrong-number-of-arguments-of-a-built-in
(define (f x) (car x 2))
; expect exit: 2
; expect error: car.*1 argument[^s].*2
; expect location: 1:15
;;; case too-few-arguments-of-a-derivative
(define (f x) (*j f x))
; expect exit: 2
; expect error: \*j.*3 arguments.*2
; expect location: 1:15
;;; case include-of-a-missing-file
(include "no-such-file.scm")
; expect exit: 2
; expect error: no-such-file\.scm
; expect location: 1
;;; case import-of-a-missing-library
(import no-such-library)
; expect exit: 2
; expect error: no-such-library
; expect location: 1
;;; case empty-quote
(quote)
; expect exit: 2
; expect error: quote
;;; case control-character
(write "ab")
; expect exit: 2
; expect error: error:
; expect location: 1:10
;;; case else-outside-cond
(write (else 1))
; expect exit: 2
; expect error: else
;;; case let-that-uses-an-earlier-name
(let ((width 1) (area (* width 2))) area)
; expect exit: 2
; expect error: unbound name 'width'; the values of a 'let' do not see its names: write 'let\*', where each sees those before it
; expect location: 1:26
;;; case let-that-uses-its-own-name
(let ((down (lambda (n) (if (= n 0) 0 (down (- n 1)))))) (down 3))
; expect exit: 2
; expect error: unbound name 'down'; .*write 'letrec' for a procedure that calls itself
;;; case let-that-uses-an-unknown-name
(let ((a 1) (b (let ((c 2)) (+ cc c)))) b)
; expect exit: 2
; expect error: unbound name 'cc'
;;; case sizes-that-are-no-list
(view (arange 6) 2 3)
; expect exit: 2
; expect error: 'view' takes 2 arguments, got 3; several integers are one argument, a list: '\(2 3\)
;;; case sizes-of-a-procedure-of-the-library-that-are-no-list
(reshape (arange 6) 2 3)
; expect exit: 2
; expect error: 'reshape' takes 2 arguments, got 3; several integers are one argument
;;; case too-few-sizes
(view (arange 6))
; expect exit: 2
; expect error: 'view' takes 2 arguments, got 1$
;;; case tensors-that-are-no-list
(stack (arange 2) (arange 2) 0)
; expect exit: 2
; expect error: 'stack' takes 2 arguments, got 3; tensors are one argument, a list, and the axis is the other: \(list a b\)
