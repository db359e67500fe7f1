; Errors while running: exit code 1, a located message, the value in it.
;;; case car-of-a-number
(define (f x)
  (car x))
(display "before") ; expect: before
(f 5)
; expect error: car.*pair.*5
; expect location: 2:3
;;; case cdr-of-null
(cdr '())
; expect error: cdr.*pair.*\(\)
; expect location: 1:1
;;; case cadr-too-short
(cadr '(1))
; expect error: (cadr|car).*pair
; expect location: 1:1
;;; case plus-on-a-symbol
(+ 1 'two)
; expect error: \+.*number.*two
; expect location: 1:1
;;; case plus-on-a-list
(define (sum l) (+ l 1))
(sum '(1 2))
; expect error: \+.*number.*\(1 2\)
; expect location: 1:17
;;; case minus-on-a-string
(define (f x) (- x 1))
(f "five")
; expect error: -.*number.*"five"
; expect location: 1
;;; case times-on-a-boolean
(define (f x y) (* x y))
(f 2 #t)
; expect error: \*.*number.*#t
; expect location: 1
;;; case divide-a-procedure
(define (f x) (/ x 2))
(f car)
; expect error: /.*number.*procedure
; expect location: 1
;;; case less-on-a-symbol
(define (f x) (if (< x 1) 'less 'more))
(f 'a)
; expect error: <.*number.*a
; expect location: 1:19
;;; case greater-on-a-symbol
(define (f x) (if (> x 1) 'more 'less))
(f 'a)
; expect error: number.*a
; expect location: 1:19
;;; case equals-on-a-symbol
(define (f x) (= x 1))
(f 'a)
; expect error: =.*number.*a
; expect location: 1
;;; case sqrt-of-a-symbol
(define (f x) (sqrt x))
(f 'a)
; expect error: sqrt.*number.*a
; expect location: 1
;;; case exp-of-a-list
(define (f x) (exp x))
(f '())
; expect error: exp.*number
; expect location: 1
;;; case zero-of-a-symbol
(define (f x) (zero? x))
(f 'a)
; expect error: number.*a
; expect location: 1
;;; case max-of-a-string
(define (f x) (max x 1))
(f "a")
; expect error: max.*number.*"a"
; expect location: 1
;;; case exact-of-a-symbol
(exact? 'a)
; expect error: exact\?.*number.*a
;;; case exact-division-by-zero
(define (f x) (/ 10 x))
(f 0)
; expect error: division by zero
; expect location: 1:15
;;; case exact-division-of-zero-by-zero
(define (f x y) (/ x y))
(f 0 0)
; expect error: division by zero
;;; case quotient-by-zero
(define (f x) (quotient 10 x))
(f 0)
; expect error: (quotient.*)?division by zero
; expect location: 1
;;; case remainder-by-zero
(define (f x) (remainder 10 x))
(f 0)
; expect error: division by zero
;;; case modulo-by-zero
(define (f x) (modulo 10 x))
(f 0)
; expect error: division by zero
;;; case modulo-of-a-fraction
(define (f x) (modulo x 2))
(f 2.5)
; expect error: modulo.*integer.*2\.5
;;; case quotient-of-a-fraction
(define (f x) (quotient x 2))
(f 2.5)
; expect error: quotient.*integer.*2\.5
;;; case constant-division-by-zero-happens-only-when-it-runs
(define (f x) (if x (/ 1 0) 'fine))
(write (f #f)) ; expect: fine
(f #t)
; expect error: division by zero
; expect location: 1:21
;;; case odd-of-a-fraction
(odd? 1.5)
; expect error: integer.*1\.5
;;; case inexact-to-exact-of-a-fraction
(inexact->exact 2.5)
; expect error: inexact->exact.*2\.5.*integer|inexact->exact.*integer.*2\.5
; expect location: 1
;;; case inexact-to-exact-of-infinity
(inexact->exact (/ 1. 0.))
; expect error: inexact->exact.*inf
;;; case call-of-a-number
(define (f x) (x 1))
(f 5)
; expect error: procedure.*5
; expect location: 1:15
;;; case call-of-null
(('()) 1)
; expect error: procedure.*\(\)
;;; case too-few-arguments
(define (f a b) (+ a b))
(define (g h) (h 1))
(g f)
; expect error: f.*2 arguments.*1
; expect location: 2:15
;;; case too-many-arguments
(define (f a b) (+ a b))
(define (g h) (h 1 2 3))
(g f)
; expect error: f.*2 arguments.*3
; expect location: 2:15
;;; case too-few-for-a-rest-parameter
(define (f a b . c) c)
(define (g h) (h 1))
(g f)
; expect error: f.*at least 2 arguments.*1
; expect location: 2:15
;;; case one-argument-is-singular
(define (f a) a)
(define (g h) (h 1 2))
(g f)
; expect error: f.*1 argument[^s].*2
;;; case arity-of-a-lambda-without-a-name
(define (g h) (h 1))
(g (lambda () 1))
; expect error: (expects|takes|expected).*0 arguments.*1
; expect location: 1
;;; case arity-of-a-built-in-as-a-value
(define (g h) (h 1 2))
(g car)
; expect error: car.*1 argument.*2
; expect location: 1
;;; case wrong-number-of-arguments-of-a-known-procedure
(define (f a b) a)
(f 1)
; expect exit: 1|2
; expect error: f.*2 arguments.*1
; expect location: 2:1
;;; case arity-in-apply
(define (f a b) a)
(apply f '(1 2 3))
; expect error: f.*2 arguments.*3
; expect location: 2
;;; case arity-in-map
(define (f a b) a)
(map f '(1 2 3))
; expect error: f.*2 arguments.*1
; expect location: 2
;;; case apply-to-an-improper-list
(define (f l) (apply + l))
(f '(1 . 2))
; expect error: apply.*list
; expect location: 1
;;; case use-before-definition
(define (f) (g))
(f)
(define (g) 1)
; expect error: g.*(before|not been|defined)
; expect location: 1:14
;;; case use-before-definition-of-a-value
(write (+ later 1))
(define later 5)
; expect error: later.*(before|not been|defined)
; expect location: 1:11
;;; case redefined-built-in-used-before-its-definition
(write (car '(1 2)))
(define (car x) 'mine)
; expect error: car.*(before|not been|defined)
; expect location: 1
;;; case letrec-used-too-early
(define (f) (letrec ((a 1) (b (car a))) b))
(f)
; expect error: car
;;; case pattern-cons-on-a-number
(define (f (cons a b)) a)
(f 5)
; expect error: (pattern|match).*5|5.*(pattern|match)
;;; case pattern-list-too-short
(define (f (list a b)) a)
(f '(1))
; expect error: pattern
;;; case pattern-list-too-long
(define (f (list a b)) a)
(f '(1 2 3))
; expect error: pattern
;;; case pattern-constant-differs
(define (f 0) 'zero)
(f 1)
; expect error: (pattern|match).*1|1.*(pattern|match)
;;; case pattern-constant-of-another-type
(define (f 0) 'zero)
(f 'a)
; expect error: (pattern|match).*a|a.*(pattern|match)
;;; case pattern-inside-a-pattern
(define (f (cons (list a 1) b)) a)
(f '((5 2) . 3))
; expect error: (pattern|match)
;;; case vector-index-too-large
(define v (vector 1 2 3))
(define (f i) (vector-ref v i))
(f 3)
; expect error: vector-ref.*3
; expect location: 2:15
;;; case vector-index-negative
(define (f i) (vector-ref (vector 1 2 3) i))
(f -1)
; expect error: vector-ref.*-1
;;; case vector-index-fractional
(define (f i) (vector-ref (vector 1 2 3) i))
(f 1.5)
; expect error: vector-ref.*1\.5
;;; case vector-index-no-number
(define (f i) (vector-ref (vector 1 2 3) i))
(f 'one)
; expect error: vector-ref.*one
;;; case vector-ref-of-a-list
(define (f v) (vector-ref v 0))
(f '(1 2))
; expect error: vector-ref.*vector.*\(1 2\)
;;; case vector-length-of-a-list
(define (f v) (vector-length v))
(f '(1 2))
; expect error: vector-length.*vector.*\(1 2\)
;;; case vector-update-out-of-range
(define (f i) (vector-update (vector 1 2 3) i 0))
(f 3)
; expect error: vector-update.*3
; expect location: 1
;;; case make-vector-negative
(define (f n) (make-vector n 0))
(f -1)
; expect error: make-vector.*-1
;;; case make-vector-of-absurd-length
(define (f n) (make-vector n 0))
(f 100000000000000)
; expect exit: 3
; expect error: memory|budget|make-vector
;;; case list-to-vector-of-an-improper-list
(define (f l) (list->vector l))
(f '(1 . 2))
; expect error: list->vector.*list
;;; case list-ref-too-far
(list-ref '(1 2) 5)
; expect error: list-ref: expected an index below the length of the list; index and length are 5 2
; expect location: 1:1
;;; case list-tail-too-far
(list-tail '(1 2) 5)
; expect error: list-tail
; expect location: 1:1
;;; case length-of-an-improper-list
(length '(1 2 . 3))
; expect error: length
; expect location: 1:1
;;; case reverse-of-a-number
(reverse 5)
; expect error: reverse
; expect location: 1:1
;;; case append-to-a-number
(append 5 '(1))
; expect error: append
; expect location: 1:1
;;; case map-over-a-number
(define (f x)
  (map car x))
(f 5)
; expect error: map
; expect location: 2:3
;;; case error-inside-the-procedure-given-to-map
(define (f x) (* x (car x)))
(map f '(1 2))
; expect error: car.*pair.*1
; expect location: 1:20
;;; case built-in-inside-map
(define (f l)
  (+ 1 (length (map car l))))
(f '((1) 2))
; expect error: car.*pair.*2
; expect location: 2
;;; case fold-left-over-a-number
(fold-left + 0 5)
; expect error: fold-left
; expect location: 1:1
;;; case iota-of-a-fraction
(iota 2.5)
; expect error: iota.*2\.5
;;; case string-ref-out-of-range
(define (f i) (string-ref "abc" i))
(f 3)
; expect error: string-ref.*3
; expect location: 1
;;; case string-length-of-a-symbol
(string-length 'abc)
; expect error: string-length.*string.*abc
;;; case substring-backwards
(substring "hello" 3 1)
; expect error: substring
;;; case string-append-of-a-number
(string-append "a" 5)
; expect error: string.*5
; expect location: 1
;;; case char-upcase-of-a-string
(char-upcase "a")
; expect error: char-upcase.*character.*"a"
;;; case integer-to-char-of-a-surrogate
(integer->char 55296)
; expect error: integer->char.*55296
;;; case integer-to-char-too-large
(integer->char 1114112)
; expect error: integer->char.*1114112
;;; case symbol-to-string-of-a-string
(symbol->string "a")
; expect error: symbol->string.*symbol.*"a"
;;; case list-to-string-of-numbers
(list->string '(1 2))
; expect error: list->string.*character
;;; case write-real-of-a-list
(write-real '(1))
; expect error: write-real.*\(1\)
;;; case call-chain
(define (innermost n x) (if (= n 0) (+ 1 (car x)) (+ 1 (innermost (- n 1) x))))
(define (middle n x) (if (= n 0) (+ 1 (innermost 0 x)) (+ 1 (middle (- n 1) x))))
(define (outermost n x) (if (= n 0) (+ 1 (middle 0 x)) (+ 1 (outermost (- n 1) x))))
(write (+ 1 (outermost 1 7)))
; expect error: car.*pair.*7
; expect location: 1:42
; expect error: in innermost at \S*:2:42[\s\S]*in middle at \S*:3:39[\s\S]*in outermost at \S*:4:42[\s\S]*in outermost at \S*:4:61
; expect error: :5:13
;;; case long-call-chains-are-abbreviated
(define (deep n) (if (= n 0) (car n) (+ 1 (deep (- n 1)))))
(deep 100000)
; expect error: car.*pair.*0
; expect error: (more|\.\.\.)
;;; case irritants-of-any-size-are-abbreviated
(car (make-vector 100000 'x))
; expect error: car.*pair.*#\(x x x.*\.\.\.
;;; case deep-values-in-messages
(define (nest n x) (if (= n 0) x (nest (- n 1) (list x))))
(+ 1 (nest 1000000 'x))
; expect error: \+.*number
;;; case caret-under-wide-text
(define (λf größe) (list "→" (car größe)))
(λf 5)
; expect error: car.*pair.*5
; expect location: 1:30
;;; case infinite-recursion-under-a-budget
; flags: --memory=32MiB
(define (f n) (+ 1 (f (+ n 1))))
(f 0)
; expect exit: 3
; expect error: memory|budget
; expect error: (32 ?MiB|33554432|32\.0)
;;; case infinite-list-under-a-budget
; flags: --memory=32MiB
(define (f l) (f (cons 1 l)))
(f '())
; expect exit: 3
; expect error: memory|budget
;;; case infinite-vector-under-a-budget
; flags: --memory=32MiB
(define (f n) (f (vector n n)))
(f '())
; expect exit: 3
; expect error: memory|budget
;;; case infinite-closures-under-a-budget
; flags: --memory=32MiB
(define (f g) (f (lambda (x) (g x))))
(f car)
; expect exit: 3
; expect error: memory|budget
;;; case growing-strings-under-a-budget
; flags: --memory=32MiB
(define (f s) (f (string-append s s)))
(f "0123456789")
; expect exit: 3
; expect error: memory|budget
;;; case capsules-under-a-budget
; flags: --memory=32MiB
(define (count n) (+ 1 (count (+ n 1))))
(define (f l n) (f (cons (interrupt count 0 1000) l) (+ n 1)))
(f '() 0)
; expect exit: 3
; expect error: memory|budget
;;; case much-garbage-within-a-budget
; flags: --memory=32MiB
(define (f n) (if (= n 0) 'done (begin (make-vector 100000 n) (iota 1000) (f (- n 1)))))
(write (f 200)) ; expect: done
;;; case report-without-a-value
(report 'loss)
; expect error: report: expected names, each followed by its value: \(report 'loss l 'rate r\)
; expect location: 1:1
;;; case report-of-nothing
(report)
; expect error: report: expected a name and its value: \(report 'loss l\)
;;; case report-of-a-tensor
(report 'loss (ones '(2 3)))
; expect error: report: loss is a tensor of shape \(2 3\), which has not one element; say which number of it is meant, such as its sumall, mean or max-value
;;; case report-of-a-word
(report 'loss "low")
; expect error: report: expected a number or a tensor of one element for loss, got "low"
;;; case report-under-a-number
(report 5 5)
; expect error: report: expected a name, a symbol or string, got 5
;;; case index-blames-itself
(index (ones '(2 2)) '(0 2 0))
; expect error: index: the step of a range is at least 1, got 0
;;; case index-of-half-a-step
(index (ones '(2 2)) '(0 2 .5))
; expect error: index: the step of a range is an integer, got 0.5
;;; case index-between-positions
(index (ones '(2 2)) .5)
; expect error: index: a position is an integer, got 0.5
;;; case index-by-floats
(index (ones '(2 2)) (ones '(2)))
; expect error: index: positions are a tensor of integers, which \(cast t 'i64\) makes; got one of f32
;;; case a-number-that-is-none
(quotient 1 +nan.0)
; expect error: quotient: expected an integer, got \+nan.0
;;; case an-infinite-probability
(dropout (ones '(2)) -inf.0)
; expect error: dropout: -inf.0 is not a probability
;;; case report-twice
(report 'a 1 "a" 2)
; expect error: report: two values for a
;;; case report-under-a-line-break
(report "a\nb" 1)
; expect error: report: "a\\nb" is no name for a number: it takes 1 to 200 bytes without line breaks, and no # at the beginning
;;; case report-of-too-much
(apply report (append-map (lambda (i) (list (format "n~a" i) i)) (iota 65)))
; expect error: report: at most 64 values are reported at once
;;; case report-beyond-the-limit
; flags: --output-limit=1KiB
(define (f i) (report 'i i) (f (+ i 1)))
(f 0)
; expect error: the program may write 1024 bytes and no more
; expect exit: 3
;;; case a-budget-that-is-a-guess
; flags: --memory=400KiB
(define (f x) (let loop ((i 0) (y x) (l '())) (if (= i 20000) (fold-left + 0 l) (loop (+ i 1) (* 3.2 y (- 1 y)) (cons y l)))))
(checkpoint-*j f .1 1)
; expect error: cannot be told beforehand; try --memory=800KiB, and twice as much again if that does not do
; expect exit: 3
;;; case a-number-among-strings
(define (label x) (string-append "x" x))
(label 3.2)
; expect error: string-append: expected a string, got 3.2; \(number->string x\) is the text of a number, \(format "~a" x\) that of any value
;;; case a-tensor-as-a-position-of-a-list
(list-ref '(a b c) (argmax (list->tensor '(1 3 2))))
; expect error: list-ref: .*\(tensor->number t\) is the number of a tensor of one element, such as an index by \(argmax t\)
;;; case a-tensor-as-an-index
(vector-ref (vector 1 2) (argmax (list->tensor '(1 3))))
; expect error: vector-ref: expected an index, got #<tensor i64 \(\)>; \(tensor->number t\) is the number of a tensor of one element, \(index-of-max t\)
;;; case the-largest-of-one-tensor
(max (list->tensor '(1 3 2)))
; expect error: max: one tensor has no other to be compared with; \(max-over t axes\) .* \(max-value t\)
;;; case the-smallest-of-one-tensor
(define (f t) (min t))
(f (list->tensor '(1 3 2)))
; expect error: min: one tensor has no other to be compared with; \(min-over t axes\)
; expect location: 1:15
;;; case the-largest-of-a-list-of-one
(write (list (apply max (list (list->tensor '(1 3)))) (max 3) (apply min '(2)) (map max '(1 2))))
; expect: (#<tensor f32 (2) [1.0 3.0]> 3 2 (1 2))
;;; case gradients-planned-for-a-symbol
(with-memory 'little (lambda () 1))
; expect error: with-memory: expected a number of bytes, or a size as "64MiB", got little
