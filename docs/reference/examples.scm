;;; Forms
; define: names a value or a procedure; curried definitions give procedures of procedures
(define (area width height) (* width height))
(area 3 4)
(define ((add a) b) (+ a b))
((add 1) 2)
; lambda: a procedure; its parameters are patterns
((lambda (a (list b c) . more) (list a b c more)) 1 '(2 3) 4 5)
; if: one of two expressions; only #f counts as false
(if (> 2 1) 'yes 'no)
; cond, else, =>: the expressions of the first test that holds; `=>` hands its value to a procedure
(cond ((> 1 2) 'greater) ((assv 2 '((1 . a) (2 . b))) => cdr) (else 'none))
; case: the expressions of the list that has the value
(case (* 2 3) ((2 3 5 7) 'prime) ((1 4 6 8 9) 'composite))
; and: the last value, or the first that is #f
(list (and 1 2) (and #f (car '())))
; or: the first value that is not #f
(list (or #f 2) (or #f #f))
; when: the last of the expressions if the test holds, else #f
(when (> 2 1) 'one 'two)
; unless: the last of the expressions if the test does not hold, else #f
(unless (> 2 1) 'never)
; let: names values for its body; patterns take them apart; with a name in front it is a loop
(let ((x 2) ((list a b) '(3 4))) (+ x (* a b)))
(let loop ((i 0) (sum 0)) (if (= i 5) sum (loop (+ i 1) (+ sum i))))
; let*: names values for its body as `let` does, each value seeing the names before it
(let* ((x 2) (y (* x x))) (+ x y))
; letrec, letrec*: procedures that see each other
(letrec ((even? (lambda (n) (if (= n 0) #t (odd? (- n 1))))) (odd? (lambda (n) (if (= n 0) #f (even? (- n 1)))))) (even? 100))
(letrec* ((one 1) (two (+ one 1))) two)
; let-values, let*-values: names for the values of expressions that give several, which are lists of them
(let-values (((q r) (values 3 2)) ((x) (values 5))) (list q r x))
(let*-values (((q r) (values 3 2)) ((s) (values (+ q r)))) s)
; define-values: defines the names for the values of an expression that gives several, which are a list of them
(define-values (q (cons a b)) (list 1 (cons 2 3)))
(list q a b)
; define-record-type: a constructor, a predicate, and for each field an accessor and, if a third name is given, a procedure that gives a record with another value there
(define-record-type point (make-point x y) point? (x point-x point-with-x) (y point-y))
(let ((p (point-with-x (make-point 1 2) 5))) (list (point? p) (point-x p) (point-y p)))
; define-derivative: a procedure with derivative rules of its own: its value, and the tangent and the cotangents that belong to it
(define-derivative (cube x)
  (value (* x x x))
  (forward (y dx) (* 3 x x dx))
  (reverse (y c) (list (* 3 x x c))))
(gradient cube 2)
; begin: one expression after the other, the value of the last
(begin (display "first ") (+ 1 1))
; do: a loop of variables with their steps, until the test
(do ((i 0 (+ i 1)) (l '() (cons i l))) ((= i 4) l))
; quote: the datum as it is
(quote (a (b 1)))
; quasiquote, unquote, unquote-splicing: a datum with values put in
(let ((x 1) (l '(2 3))) `(a ,x ,@l))
(let ((x 1) (l '(2 3))) (quasiquote (a (unquote x) (unquote-splicing l))))
; include: stands for the text of a file
(write-text "square.scm" "(define (squared x) (* x x))")
(include "square.scm")
(squared 5)
; import: the definitions of a library file, once
(import network)
(procedure? adam)

;;; Equality and truth
; (not x): whether `x` is #f
(list (not #f) (not 0))
; (eq? a b), (eqv? a b): the same thing; they agree on numbers
(list (eq? 'a 'a) (eqv? 2 2.) (eqv? '(1) '(1)))
; (equal? a b): the same structure, numbers of the same exactness, tensors of the same type, shape and elements
(list (equal? '(1 (2 "x")) '(1 (2 "x"))) (equal? (ones '(2)) (ones '(2) 'f64)))
; (boolean? x): whether it is #t or #f
(map boolean? '(#f 0))
; boolean=?
(boolean=? #t #t)
; (symbol? x), (procedure? x): what kind of value it is
(list (symbol? 'a) (procedure? car))

;;; Numbers
; +: sum; of tensors element by element, as all of these
(list (+ 1 2 3) (+ 1 .5))
(+ (list->tensor '(1 2)) 10)
; -: difference, negation
(list (- 10 1 2) (- 5))
; *: product
(list (* 2 3 4) (* 2 .5))
; /: quotient; exact where it is a whole number
(list (/ 6 3) (/ 1 4) (/ 2.))
; =, <, >, <=, >=: comparisons, of any number of numbers; with a tensor 0 and 1 for each element, where `(> a b)` is `(< b a)` and `(>= a b)` is `(<= b a)`
(list (= 1 1.) (< 1 2 3) (> 1 2) (<= 2 2) (>= 1 2))
(< (list->tensor '(1 5)) 3)
; max: the largest
(max 1 5 3)
(max (list->tensor '(-1 2)) 0)
; min: the smallest
(min 1 5 3)
; abs: magnitude
(abs -2.5)
; (quotient a b), (remainder a b), (modulo a b): division of whole numbers towards 0, what is left, and what is left with the sign of `b`
(list (quotient -7 2) (remainder -7 2) (modulo -7 2))
(modulo (list->tensor '(7 -7) 'i64) 3)
; (gcd a ...), (lcm a ...): the greatest common divisor, the least common multiple
(list (gcd 12 18) (lcm 4 6))
; floor: the largest integer that is not larger
(list (floor 2.5) (floor -2.5))
; ceiling: the smallest integer that is not smaller
(ceiling 2.1)
; truncate: the nearest integer towards 0
(truncate -2.7)
; round: the nearest integer, of two the even one
(list (round 2.5) (round 3.5))
; sqrt: square root; exact of squares
(list (sqrt 16) (sqrt 2.25))
; exp: exponential
(exp 0)
; log: natural logarithm
(log 1)
; expt: power
(list (expt 2 10) (expt 2. -1))
; sin, cos, tan, asin, acos: of angles in radians, and their inverses
(map (lambda (f) (f 0)) (list sin cos tan asin acos))
; atan: arc tangent; of two numbers the angle of the point (x, y) given as y and x
(list (atan 0) (atan 1 1))
; (number? x), (complex? x), (real? x), (rational? x), (integer? x): whether it is a number of this kind; all numbers are real, and a flonum without a fraction is an integer
(map (lambda (f) (f 2.)) (list number? complex? real? rational? integer?))
(integer? 2.5)
; (exact? x), (inexact? x): whether a number is exact
(list (exact? 2) (inexact? 2))
; exact, inexact: the same as `inexact->exact` and `exact->inexact`
(list (exact 2.) (inexact 2))
; (inexact->exact x), (exact->inexact x): the same number of the other kind
(list (inexact->exact 2.) (exact->inexact 2))
; (zero? x), (positive? x), (negative? x), (odd? x), (even? x): properties of a number
(list (zero? 0.) (positive? 1) (negative? 1) (odd? 3) (even? 3))
; 1+, -1+
(list (1+ 5) (-1+ 5))
; (numerator x), (denominator x): of the fraction that a number is
(list (numerator .75) (denominator .75))
; (rationalize x tolerance): the simplest number within the tolerance
(rationalize .3 .1)
; (real-part x), (imag-part x), (magnitude x), (angle x): all numbers are real
(list (real-part 2) (imag-part 2) (magnitude -2) (angle 1))
; (number->string x [radix]), (string->number s [radix]): as text, and back; #f if it is none
(list (number->string 255 16) (string->number "1e3") (string->number "x"))
; random-real: uniform from [0, 1)
(let ((x (random-real))) (and (<= 0 x) (< x 1)))
; random-normal: of mean 0 and deviation 1
(number? (random-normal))
; random-integer: one of 0 to n - 1
(< (random-integer 6) 6)

;;; Lists
; (cons a b): the pair of both
(cons 1 '(2 3))
; cons*
(cons* 1 2 '(3))
; (car p), (cdr p): the first and the second part of a pair
(list (car '(1 2)) (cdr '(1 2)))
; caar, cadr, cdar, cddr, caaar, caadr, cadar, caddr, cdaar, cdadr, cddar, cdddr, caaaar, caaadr, caadar, caaddr, cadaar, cadadr, caddar, cadddr, cdaaar, cdaadr, cdadar, cdaddr, cddaar, cddadr, cdddar, cddddr: parts of parts: `(cadr x)` is `(car (cdr x))`
(list (cadr '(1 2 3)) (cddr '(1 2 3)) (caar '((1) 2)) (cadddr '(1 2 3 4)))
; (list a ...): a list of these
(list 1 "two" 'three)
; (null? x), (pair? x), (list? x): whether it is the empty list, a pair, a list, which is the empty one or a pair whose cdr is a list
(list (null? '()) (pair? '()) (list? '(1 . 2)))
; (length l): how many elements
(length '(a b c))
; (append l ...): a list of the elements of all these lists, one list behind the other
(append '(1 2) '(3) '(4 5))
; (reverse l): from the last on
(reverse '(1 2 3))
; (list-ref l k), (list-tail l k): the element at a place, counted from 0; what is left behind so many
(list (list-ref '(a b c) 1) (list-tail '(a b c) 1))
; list-head, last-pair
(list (list-head '(a b c) 2) (last-pair '(a b c)))
; list-copy
(list-copy '(1 2))
; (memq x l), (memv x l), (member x l): the rest of the list from the first such element on, or #f
(list (memq 'b '(a b c)) (memv 4 '(1 2)) (member "x" '("y" "x")))
; (assq x l), (assv x l), (assoc x l): the first pair of the list whose car it is, or #f
(list (assq 'b '((a . 1) (b . 2))) (assv 3 '((1 . 2))) (assoc "k" '(("k" . 5))))
; (map f l ...): `f` of all elements
(map + '(1 2 3) '(10 20 30))
; (for-each f l ...): `f` of all elements, from the first to the last, for its effects
(for-each display '(1 2 3))
; append-map
(append-map (lambda (x) (list x x)) '(1 2))
; (apply f a ... l): calls `f` with these and the elements of the list
(apply max 1 '(5 3))
; fold-left
(fold-left - 10 '(1 2))
; fold-right
(fold-right cons '() '(1 2))
; reduce
(reduce + 0 '(1 2 3))
; filter
(filter odd? '(1 2 3 4 5))
; remove, delete
(list (remove odd? '(1 2 3)) (delete 2 '(1 2 3 2)))
; sort-list
(sort-list < '(3 1 2))
; iota
(iota 5)
; build-list
(build-list 4 (lambda (i) (* i i)))

;;; Dictionaries
;;;; A dictionary maps numbers, characters, strings and symbols to values. Nothing changes one; what adds or removes a key gives a new one. [Dictionaries](../language.md#4-procedures) are, to derivatives and as parameters, structures of their values in ascending order of keys.
; dict, list->dict
(map dict->list (list (dict 'a 1 'b 2) (list->dict '((x . 1)))))
; dict-ref, dict-has?
(let ((d (dict 'a 1))) (list (dict-ref d 'a) (dict-ref d 'b 0) (dict-has? d 'b)))
; dict-set, dict-remove
(map dict->list (list (dict-set (dict 'a 1) 'b 2) (dict-remove (dict 'a 1 'b 2) 'a)))
; dict-update
(dict->list (dict-update (dict 'a 1) 'a (lambda (n) (+ n 1)) 0))
; dict-size, dict-keys, dict-values, dict->list
(let ((d (dict 'b 2 'a 1))) (list (dict-size d) (dict-keys d) (dict-values d) (dict->list d)))
; dict-map, dict-fold
(list (dict->list (dict-map (lambda (key value) (* 10 value)) (dict 'a 1 'b 2))) (dict-fold (lambda (key value sum) (+ value sum)) 0 (dict 'a 1 'b 2)))

;;; Characters and strings
; (char? x), (string? x): whether it is a character, a string
(list (char? #\a) (string? "a"))
; (char->integer c), (integer->char n): its number in Unicode, and back
(list (char->integer #\A) (integer->char 955))
; (char=? a b), (char<? a b), (char>? a b), (char<=? a b), (char>=? a b): by their numbers
(list (char=? #\a #\a) (char<? #\a #\b) (char>? #\a #\b) (char<=? #\b #\b) (char>=? #\a #\b))
; (char-ci=? a b), (char-ci<? a b), (char-ci>? a b), (char-ci<=? a b), (char-ci>=? a b): without case
(list (char-ci=? #\a #\A) (char-ci<? #\a #\B) (char-ci>? #\a #\B) (char-ci<=? #\b #\B) (char-ci>=? #\a #\B))
; (char-alphabetic? c), (char-numeric? c), (char-whitespace? c), (char-upper-case? c), (char-lower-case? c): what kind of character it is
(map (lambda (f) (f #\a)) (list char-alphabetic? char-numeric? char-whitespace? char-upper-case? char-lower-case?))
; (char-upcase c), (char-downcase c): in the other case
(list (char-upcase #\a) (char-downcase #\A))
; (string c ...), (make-string n [c]): of characters
(list (string #\a #\b) (make-string 3 #\z))
; (string-length s), (string-ref s k): how many characters; the one at a place
(list (string-length "λx") (string-ref "abc" 1))
; (substring s start end), (string-append s ...), (string-copy s): parts of strings, and strings of parts
(list (substring "abcdef" 2 4) (string-append "ab" "cd") (string-copy "ab"))
; string-split, string-join
(string-split "a;b;;c" ";")
(string-split "  two words ")
(string-join '("a" "b" "c") ", ")
; string-null?
(string-null? "")
; (string=? a b), (string<? a b), (string>? a b), (string<=? a b), (string>=? a b): in the order of characters
(list (string=? "a" "a") (string<? "a" "b") (string>? "a" "b") (string<=? "b" "b") (string>=? "a" "b"))
; (string-ci=? a b), (string-ci<? a b), (string-ci>? a b), (string-ci<=? a b), (string-ci>=? a b): without case
(list (string-ci=? "a" "A") (string-ci<? "a" "B") (string-ci>? "a" "B") (string-ci<=? "b" "B") (string-ci>=? "a" "B"))
; (string->list s), (list->string l): the characters as a list, and back
(list (string->list "ab") (list->string '(#\x #\y)))
; (symbol->string s), (string->symbol s): the name of a symbol, and back
(list (symbol->string 'abc) (string->symbol "xyz"))

;;; Vectors
; (vector a ...), (make-vector n [x]): of elements
(list (vector 1 2) (make-vector 3 0))
; (vector? x), (vector-length v), (vector-ref v k): whether it is one, how many elements, the one at a place
(let ((v '#(a b c))) (list (vector? v) (vector-length v) (vector-ref v 1)))
; (vector->list v), (list->vector l): the elements as a list, and back
(list (vector->list '#(1 2)) (list->vector '(1 2)))
; vector-map, vector-for-each
(vector-map + '#(1 2) '#(10 20))
(vector-for-each display '#(1 2))
; vector-update
(vector-update '#(a b c) 1 'x)
; build-vector
(build-vector 3 (lambda (i) (* 10 i)))

;;; Input, output, errors
; display, write
(display (list "a" #\b))
(write (list "a" #\b))
; (newline), (write-char c): a character to standard output
(begin (write-char #\x) (newline))
; write-string
(write-string "text")
; write-real
(+ 1 (write-real 5))
; format
(format "~a is ~6,2f~%" "pi" 3.14159)
; values
(values 1 2)
; call-with-error-handler
(call-with-error-handler (lambda (message irritants) (list 'failed message irritants)) (lambda () (+ 1 (car '()))))
; report
(report 'step 3 'of 10 'loss (list->tensor '(0.25)))
; clock
(let ((start (clock))) (>= (- (clock) start) 0))
; read-real
(+ 1 (read-real))
;< 41
; command-line
(command-line)
; (command-line-options known): the procedure from a name to its value on the command line, `--name=value`, or in the list
(define option (command-line-options '((epochs 20) (save #f text))))
(option 'epochs)
; assert, error
(assert (= 1 1))
(call-with-error-handler (lambda (message irritants) (cons message irritants)) (lambda () (error "no luck" 7 'today)))

;;; Files
;;;; A program reads and writes beneath the current folder and where `--read` and `--write` say, into folders that are there. [Files](../language.md#11-files) has what all of this has in common.
; write-text, read-text, file-size
(write-text "greeting.txt" "hello")
(list (read-text "greeting.txt") (file-size "greeting.txt"))
; list-folder
(write-text "greeting.txt" "hello")
(list (member "greeting.txt" (list-folder ".")))
; read-bytes
(write-text "greeting.txt" "hello")
(read-bytes "greeting.txt" 1 2)
; write-npy, read-npy
(write-npy "t.npy" (list->tensor '((1 2) (3 4))))
(read-npy "t.npy")
; write-safetensors, read-safetensors
(write-safetensors "t.safetensors" (list (cons "a" (ones '(2)))))
(read-safetensors "t.safetensors")
; read-csv, write-csv
(write-csv "t.csv" (list->tensor '((1 2) (3 .5))) '("x" "y"))
(read-csv "t.csv")
; read-table, text-classes
(write-text "flowers.csv" "length;kind\n5.1;setosa\n6.3;virginica\n4.9;setosa\n")
(define flowers (cdr (read-table "flowers.csv" #\;)))
(cadr flowers)
(text-classes (cadr flowers))
(text-classes '("setosa" "virginica") '("virginica" "setosa" "versicolor"))
; write-table
(write-table "table.csv" '("length" "kind") (list (list->tensor '(5.1 6.3)) '("setosa" "virginica")))
(read-text "table.csv")
; read-lines
(write-text "t.txt" "one\ntwo\n")
(read-lines "t.txt")
; read-npz, write-npz
(write-npz "t.npz" (list (cons "a" (ones '(2)))))
(read-npz "t.npz")
; read-json, write-json
(write-json "t.json" '(("x" . 1) ("l" . #(1 2.5 #t))))
(read-json "t.json")
; string->json, json->string
(list (string->json "[1, {\"a\": null}]") (json->string '(("a" . 1))))
; read-image, write-png
(write-png "t.png" (list->tensor '((0 255) (128 64)) 'u8))
(read-image "t.png")
; npy-array, idx-array, cifar-array, raw-array, safetensors-arrays, read-rows
(write-npy "t.npy" (list->tensor '((1 2) (3 4) (5 6))))
(npy-array "t.npy")
(read-rows (npy-array "t.npy") '(2 0))
(read-rows (raw-array "t.npy" 'u8) 1 5)
(write-text "t.idx" (list->string (map integer->char '(0 0 8 1 0 0 0 3 65 66 67))))
(read-rows (idx-array "t.idx") 1 2)
(write-text "t.bin" (list->string (map integer->char (cons 7 (build-list 3072 (lambda (i) 65))))))
(size (read-rows (cifar-array "t.bin") 0 1))
(write-safetensors "t.safetensors" (list (cons "a" (ones '(2 3)))))
(safetensors-arrays "t.safetensors")
; read-ahead
(write-npy "t.npy" (list->tensor '((1 2) (3 4) (5 6))))
(read-ahead (npy-array "t.npy") '(0 1))
(read-rows (npy-array "t.npy") '(0 1))
; tiff-array, read-region
(write-text "t.tif" (list->string (map integer->char
  '(73 73 42 0 8 0 0 0 5 0 0 1 3 0 1 0 0 0 3 0 0 0 1 1 3 0 1 0 0 0 2 0 0 0 2 1 3 0 1 0 0 0 8 0 0 0 17 1 3 0 1 0 0 0 74 0 0 0 23 1 3 0 1 0 0 0 6 0 0 0 0 0 0 0 65 66 67 68 69 70))))
(tiff-array "t.tif")
(read-region (tiff-array "t.tif") '(0 0 0 1) '(1 1 2 2))
; tiled->npy, tiled->tiff
(define out (tiled->npy "t.npy" (lambda (x) (* 2 x)) (view (arange 16) '(1 1 4 4)) 2))
out
(read-region out '(0 0 2 0) '(1 1 2 4))
(tiled->tiff "t.tif" sin out)
; picture-array
(write-png "t.png" (list->tensor '((0 255) (128 64)) 'u8))
(read-rows (picture-array '("t.png") 1 1) '(0))
; picture-folder
(call-with-error-handler (lambda (message irritants) message) (lambda () (picture-folder "." 8 8)))
; byte-tokenizer, tokenize, detokenize
(define t (byte-tokenizer))
(list (tokenize t "hi") (detokenize t '(104 105)))
; read-bpe
(define kept (append (build-list 94 (lambda (i) (+ i 33))) (build-list 12 (lambda (i) (+ i 161))) (build-list 82 (lambda (i) (+ i 174)))))
(write-json "vocab.json"
  (append (map (lambda (b i) (cons (string (integer->char b)) i)) kept (iota 188))
          (build-list 68 (lambda (i) (cons (string (integer->char (+ 256 i))) (+ 188 i)))) '(("hi" . 256))))
(write-text "merges.txt" "#version: 0.2\nh i\n")
(tokenize (read-bpe "vocab.json" "merges.txt") "hi hi")
; read-idx
(write-text "t.idx" (list->string (map integer->char '(0 0 8 1 0 0 0 3 65 66 67))))
(read-idx "t.idx")
; read-cifar
(write-text "t.bin" (list->string (map integer->char (cons 7 (build-list 3072 (lambda (i) 65))))))
(map size (let ((both (read-cifar "t.bin"))) (list (car both) (cdr both))))
; cifar-images
(define (byte i) (integer->char (remainder i 100)))
(write-text "t.bin" (list->string (build-list 6146 byte)))
(define both (cifar-images (read-rows (cifar-array "t.bin") 0 2)))
(map size (list (car both) (cdr both)))
; read-edf
(define (column width . l) (apply string-append (map (lambda (s) (string-append s (make-string (- width (string-length s)) #\space))) l)))
(write-text "a.edf"
  (string-append (column 8 "0") (column 80 "" "") (column 8 "01.01.26" "00.00.00" "512") (column 44 "") (column 8 "1" "1") (column 4 "1")
                 (column 16 "Fz") (column 80 "") (column 8 "uV" "0" "10" "0" "10") (column 80 "") (column 8 "2") (column 32 "")
                 (list->string (map integer->char '(1 0 10 0)))))
(read-edf "a.edf")
; save-parameters, load-parameters
(save-parameters "p.safetensors" (list (ones '(2)) .5))
(load-parameters "p.safetensors" (list (zeros '(2)) 0.))

;;; Derivatives
;;;; `f` is a procedure of one operand, `x`, which may be any structure; its cotangent, and a gradient, has that structure too. [Derivatives](../language.md#5-derivatives) has rules of one's own, updates in place, and what the parts of a jacobian look like.
; *j: value and cotangent by reverse mode, from a tape of the whole run
(*j (lambda (x) (* x x x)) 2 1)
; j*: value and tangent by forward mode
(j* (lambda (x) (* x x x)) 2 1)
; checkpoint-*j: as `*j`, to the last bit, within the memory there is
(checkpoint-*j (lambda (x) (let loop ((i 0) (x x)) (if (= i 1000) x (loop (+ i 1) (* 3.2 x (- 1 x)))))) .5 1)
; *j-update, checkpoint-*j-update, *j-update!, checkpoint-*j-update!: a step of training
(define (descent p cotangent state) (cons (- p (* .1 cotangent)) state))
(define (loss p) (expt (- (car p) 3) 2))
(checkpoint-*j-update loss (list 1. 2.) 1 descent 0)
(list (*j-update loss (list 1. 2.) 1 descent 0)
      (*j-update! loss (list 1. 2.) 1 descent 0)
      (checkpoint-*j-update! loss (list 1. 2.) 1 descent 0))
; gradient
(gradient (lambda (p) (* (car p) (cadr p))) (list 2 5))
; jacobian
(jacobian (lambda (p) (list (* (car p) (cadr p)) (+ (car p) 1))) (list 2 5))
; hessian
(hessian (lambda (x) (sumall (* x x x))) (list->tensor '(1 2)))
; hessian-vector
(hessian-vector (lambda (x) (sumall (* x x x))) (list->tensor '(1 2)) (list->tensor '(1 0)))
; check-gradient
(check-gradient (lambda (x) (sin x)) 1.)
; stop-gradient
(gradient (lambda (x) (* x (stop-gradient x))) 3)
; with-lossy-tape
(with-lossy-tape "absolute=1e-3" (lambda () (cdr (*j exp 0. 1))))
; allow-error, error-bounds, error-sensitivities, error-variances
(define x (rand '(64 32) 'f32 'cpu 1))
(define (loss w) (sum (square (matmul x w))))
(define w (rand '(32 4) 'f32 'cpu 2))
(with-lossy-tape "adaptive,operators=product"
  (lambda ()
    (let ((bound (error-bounds (error-sensitivities loss w) 1.)))
      (list bound (size (error-variances loss w)) (check-lossy loss (allow-error w bound))))))
; adaptive-policy, renew-policy
(define policy (adaptive-policy .01 1000))
(renew-policy policy (lambda (w) (sum (square w))) (fill '(2) 1.) 0)
; check-lossy
(with-lossy-tape "relative=1e-2" (lambda () (check-lossy (lambda (w) (sum (square (convolve (rand '(1 1 64 64) 'f32 'cpu 1) w)))) (fill '(2 1 3 3) .1))))
; with-schedule
(with-schedule "binomial,snapshots=4" (lambda () (cdr (checkpoint-*j exp 0. 1))))
; with-memory
(with-memory "64MiB" (lambda () (cdr (checkpoint-*j exp 0. 1))))
; get-streaming-plan, call-with-streaming-plan
(define (total w) (tensor->number (sumall (* w w))))
(define plan (get-streaming-plan total (ones '(2 3))))
(car plan) ; on a device to which tensors stream there are launches in it
(call-with-streaming-plan plan total (ones '(2 3)))
; tiled
(define (halves x) (max-pool (tanh x) 2))
(tiled halves (view (arange 16) '(1 1 4 4)) 2)
; tile-plan
(tile-plan (lambda (x) (ReLU (convolve x (ones '(1 1 3 3)) 1 1))) (ones '(1 1 64 64)) 4)
; memory-budget
(memory-budget)

;;; Steps and capsules
;;;; A capsule is a run that was stopped, a value like any other. [Interruption](../language.md#6-interruption) says what counts as a step and as work, [Schedules](../language.md#7-schedules) what a schedule is.
; primops
(> (primops (lambda (n) (iota n)) 100) 0)
; interrupt, resume
(define (count n) (let loop ((i 0)) (if (= i n) i (loop (+ i 1)))))
(resume (interrupt count 1000 50))
; capsule?, capsule-steps, capsule-finished?
(define (count n) (let loop ((i 0)) (if (= i n) i (loop (+ i 1)))))
(let ((z (interrupt count 1000 50))) (list (capsule? z) (capsule-steps z) (capsule-finished? z)))

;;; Tensors: made, taken apart
;;;; Elements are f32 unless another type is named; types are `u8 i8 i16 i32 i64 f32 f64 bf16`. [Tensors](../language.md#10-tensors) has what holds of all of them.
; list->tensor
(list->tensor '((1 2) (3 4)))
(list->tensor '(1 2) 'i64)
; tensor->list, tensor->number
(list (tensor->list (ones '(2 2))) (tensor->number (sum (ones '(5)))))
; tensor?, size, tensor-type, tensor-residence, tensor-on?
(let ((t (ones '(2 3)))) (list (tensor? t) (size t) (tensor-type t) (tensor-residence t) (tensor-on? t 'cpu)))
; fill
(fill '(2 2) 7)
; zeros, ones, zeros-like, ones-like
(list (zeros '(2)) (ones '(2) 'i64) (zeros-like (ones '(1 2))) (ones-like (zeros '(2))))
; arange, linspace
(list (arange 3) (arange 1 2 .5) (arange 3 'i64) (linspace 0 1 3))
; quantile, median
(list (median (list->tensor '(3 1 2 10))) (quantile (list->tensor '((1 2) (3 6))) .25 1))
; eye, diag
(list (eye 2) (diag (list->tensor '(1 2))) (diag (list->tensor '((1 2) (3 4)))))
; rand
(size (rand '(2 3)))
; randn
(size (randn '(2 3)))
; normal
(size (normal '(2 3) 10 .1))
; categorical
(categorical (list->tensor '((0 100) (100 0))))
; multinomial
(multinomial (list->tensor '(0 1 0)) 3)
; random-key, split-key
(let ((keys (split-key (random-key) 2))) (equal? (car keys) (cadr keys)))
; one-hot
(one-hot (list->tensor '(2 0) 'i64) 3)
; cast
(cast (list->tensor '(1.7 -1.7)) 'i32)
; to-device
(tensor-residence (to-device (ones '(2)) 'cpu))
; contiguous
(contiguous (transpose (list->tensor '((1 2) (3 4)))))

;;; Tensors: shapes and parts
; view, reshape, resize
(list (view (arange 4) '(2 2)) (reshape (arange 4) '(2 -1)) (resize (arange 4) '(4 1)))
; transpose
(transpose (list->tensor '((1 2 3) (4 5 6))))
; permute
(size (permute (zeros '(2 3 4)) '(2 0 1)))
; squeeze, unsqueeze
(list (size (squeeze (ones '(1 3 1)))) (size (unsqueeze (ones '(3)) 0)))
; narrow-tensor
(narrow-tensor (arange 10) 0 2 3)
; slice
(slice (arange 10) 0 1 8 3)
; index
(index (list->tensor '((1 2 3) (4 5 6))) 1 '(0 2))
(index (view (arange 12) '(3 4)) (list->tensor '(0 2) 'i64) (list->tensor '(1 3) 'i64))
; index-points
(index-points (view (arange 12) '(3 4)) (list->tensor '(0 2) 'i64) (list->tensor '(1 3) 'i64))
; masked-select
(let ((t (list->tensor '((1 2 3) (4 5 6))))) (masked-select t (< 3 t)))
; nonzero
(list (nonzero (list->tensor '(0 7 0 8))) (nonzero (list->tensor '((0 1) (1 0)))))
; crop
(crop (list->tensor '((1 2 3) (4 5 6))) '(0 1) '(2 2))
; with-part, add-part
(list (with-part (zeros '(4)) (ones '(2)) '(1)) (add-part (ones '(4)) (ones '(2)) '(1)))
; chunk, split
(list (chunk (arange 5) 0 2 0) (split (arange 4) 0 2) (split (arange 3) 0 '(2 1)))
; decimate
(decimate (view (arange 6) '(1 1 6)) 2)
; expand-tensor
(expand-tensor (list->tensor '(1 2)) '(2 2))
; concat-tensors
(concat-tensors (list (arange 2) (arange 3)) 0)
; stack
(stack (list (arange 2) (arange 2)) 0)
; tile
(tile (arange 2) '(2))
; pad
(pad (arange 2) '(1) '(2) 9)
; flip
(flip (arange 3) '(0))
; roll
(roll (arange 4) '(1) '(0))
; lower-triangle
(lower-triangle (ones '(2 2)))
; upper-triangle
(upper-triangle (ones '(2 2)))
; embedding
(embedding (list->tensor '((1 2) (3 4) (5 6))) (list->tensor '(2 0) 'i64))
; gather
(gather (list->tensor '((1 2) (3 4))) (list->tensor '((1) (0)) 'i64) 1)
; scatter-add
(scatter-add (zeros '(3)) (list->tensor '(0 2 0) 'i64) (list->tensor '(1 2 3)) 0)
; apply-operator
(apply-operator 'concat-tensors (list (list (arange 2) (arange 3)) 0))
; operand-regions
(operand-regions 'max-pool (list (zeros '(1 1 8 8)) 2) 0 '(0 0 1 1) '(1 1 2 3))

;;; Tensors: element by element
;;;; Types are promoted as in NumPy, and a number of the program takes the type of the tensor. Comparisons give tensors of 0 and 1, of type u8. [Tensors](../language.md#10-tensors) has more.
; square
(square (list->tensor '(1 -2)))
; where
(where (list->tensor '(1 0)) 10 (list->tensor '(-1 -2)))
; not-equal
(not-equal (list->tensor '(1 2)) 2)
; sign
(sign (list->tensor '(-3 0 5)))
; tanh
(tanh (list->tensor '(0 1)))
; sigmoid
(sigmoid (list->tensor '(0 1)))
; softplus
(softplus (list->tensor '(0 1)))
; ReLU
(ReLU (list->tensor '(-1 2)))
; LeakyReLU
(LeakyReLU (list->tensor '(-1 2)) .1)
; ELU
(ELU (list->tensor '(-1 2)))
; GeLU
(GeLU (list->tensor '(-1 2)))
; GeLU-tanh
(GeLU-tanh (list->tensor '(-1 2)))
; SiLU
(SiLU (list->tensor '(-1 2)))
; erf
(erf (list->tensor '(0 1)))
; sinh
(sinh (list->tensor '(0 1)))
; cosh
(cosh (list->tensor '(0 1)))
; asinh
(asinh (list->tensor '(0 1)))
; acosh
(acosh (list->tensor '(1 2)))
; atanh
(atanh (list->tensor '(0 .5)))
; log1p
(log1p (list->tensor '(0 1)))
; expm1
(expm1 (list->tensor '(0 1)))
; dropout
(size (dropout (ones '(10)) .5))
; dropout-planewise
(size (dropout-planewise (ones '(2 3 4 4)) .5))

;;; Tensors: along axes
; sum
(sum (list->tensor '((1 2) (3 4))) 0)
; sumall
(sumall (list->tensor '((1 2) (3 4))))
; mean
(mean (list->tensor '((1 2) (3 4))) 1 #t)
; variance
(variance (list->tensor '(1 2 3)))
; max-over
(max-over (list->tensor '((1 2) (4 3))) 1)
; min-over
(min-over (list->tensor '((1 2) (4 3))) 1)
; max-value
(max-value (list->tensor '((1 2) (4 3))))
; argmax
(argmax (list->tensor '((1 2) (4 3))) 1)
; argmin
(argmin (list->tensor '((1 2) (4 3))) 1)
; index-of-max
(index-of-max (list->tensor '((1 2) (4 3))))
; prod
(prod (list->tensor '(2 3 4)))
; norm
(norm (list->tensor '(3 4)))
; logsumexp
(logsumexp (list->tensor '(0 0)))
; softmax
(softmax (list->tensor '(0 0)))
; log-softmax
(log-softmax (list->tensor '(0 0)))
; fused-scale-mask-softmax
(fused-scale-mask-softmax (list->tensor '(0 0 5)) (list->tensor '(0 0 1)) 1)
; cumulative-sum, cumsum
(list (cumulative-sum (list->tensor '(1 2 3)) 0) (cumsum (list->tensor '(1 2 3)) 0))
; sort
(sort (list->tensor '(3 1 2)))
; argsort
(argsort (list->tensor '(3 1 2)))
; top-k
(top-k (list->tensor '(3 1 2)) 2)

;;; Tensors: matrices
; matmul
(matmul (list->tensor '((1 2) (3 4))) (list->tensor '(1 1)))
; dot
(dot (list->tensor '(1 2)) (list->tensor '(3 4)))
; outer
(outer (list->tensor '(1 2)) (list->tensor '(3 4)))
; addmm, addmv, addr, baddbmm
(addmm (ones '(2 2)) (eye 2) (eye 2))
(addmv (ones '(2)) (eye 2) (list->tensor '(1 2)))
(addr (zeros '(2 2)) (list->tensor '(1 2)) (list->tensor '(3 4)))
(baddbmm (ones '(1 2 2)) (ones '(1 2 1)) (ones '(1 1 2)))
; (einsum spec t ...): sums of products of elements where equal letters are equal indices; the sum is over letters that are not behind the arrow
(einsum "ij,ij->i" (list->tensor '((1 2) (3 4))) (list->tensor '((1 1) (2 2))))
(einsum "...i,i->..." (list->tensor '((1 2) (3 4))) (list->tensor '(1 10)))
; determinant
(determinant (list->tensor '((2 0) (1 3))))
; solve
(solve (list->tensor '((2 0) (0 4))) (list->tensor '((2) (2))))
; cholesky
(cholesky (list->tensor '((4 0) (0 9))))
; triangular-solve
(triangular-solve (list->tensor '((2 0) (1 1))) (list->tensor '((2) (3))))

;;; Tensors: images
; convolve
(convolve (ones '(1 1 3 3)) (ones '(1 1 2 2)))
; convolve-add-tied
(convolve-add-tied (ones '(1 1 3 3)) (ones '(1 1 2 2)) (list->tensor '(.5)))
; transpose-convolve
(transpose-convolve (ones '(1 1 2)) (ones '(1 1 2)))
; max-pool
(max-pool (view (arange 4) '(1 1 4)) 2)
; average-pool
(average-pool (view (arange 4) '(1 1 4)) 2)
; adaptive-average-pool
(adaptive-average-pool (view (arange 6) '(1 1 6)) 2)
; adaptive-max-pool
(adaptive-max-pool (view (arange 6) '(1 1 6)) 2)
; interpolate, interpolate-to-size
(interpolate (view (arange 2) '(1 1 2)) 2)
(interpolate-to-size (view (arange 2) '(1 1 2)) '(3) 'nearest)
; interpolate-nearest
(interpolate-nearest (view (arange 2) '(1 1 2)) '(4))
; interpolate-linear
(interpolate-linear (view (arange 2) '(1 1 2)) '(4))
; upsample-nearest, downsample-nearest
(upsample-nearest (view (arange 2) '(1 1 2)) 2)
(downsample-nearest (view (arange 4) '(1 1 4)) 2)
; batch-normalization-training
(car (batch-normalization-training (list->tensor '((1) (3))) (ones '(1)) (zeros '(1))))
; batch-normalization-test, initialize-batch-normalization
(apply batch-normalization-test (list->tensor '((1) (3))) (initialize-batch-normalization 1))
; group-normalization
(group-normalization (list->tensor '((1 3 2 4))) (ones '(4)) (zeros '(4)) 2)
; layer-normalization
(layer-normalization (list->tensor '((1 3))) (ones '(2)) (zeros '(2)))
; rms-normalization
(rms-normalization (list->tensor '((3 4))) (ones '(2)))

;;; Batches
;;;; A loader is a value, and its batch number `n` a function of the two; what a source may be, a tensor, an array in a file, a pair of a number and a procedure, a subset or a list of these, is told in [Batches](../network.md#batches).
; loader, loader-batch, loader-batches
(define l (loader (arange 10) 4 7))
(list (loader-batches l) (size (loader-batch l 0)))
; loader-keep-last, loader-shard, loader-map
(define l (loader (arange 10) 4))
(list (loader-batches (loader-keep-last l)) (loader-batch (loader-map (lambda (t) (* 2 t)) l) 0) (loader-batch (loader-shard l 1 2) 0))
; subset
(define held-out (subset (* 10 (arange 10)) '(7 2 5)))
(loader-batch (loader held-out 2) 0)
; windows
(loader-batch (loader (windows (arange 6) 3) 2) 0)
; shuffled-indices
(size (shuffled-indices 10 7 0))
; random-crop, center-crop
(list (size (random-crop (ones '(2 3 8 8)) '(4 4) 1)) (size (center-crop (ones '(2 3 8 8)) '(4 4))))
; random-flip
(size (random-flip (ones '(2 3 8 8))))
; normalize-channels
(normalize-channels (ones '(1 1 2)) '(.5) '(.5))
; channels-first, channels-last
(list (size (channels-first (ones '(8 6 3)))) (size (channels-last (ones '(3 8 6)))))

;;; Parameters
;;;; Parameters are plain structures of pairs, vectors, dictionaries, numbers and tensors; every number in them is a parameter. [Parameters](../network.md#parameters) has more. Initialisers take a type and a residence behind their operands.
; parameters-map, parameters-map2, parameters-fold
(list (parameters-map (lambda (x) (* 2 x)) '(1. (2. . 3.))) (parameters-map2 + '(1 2) '(10 20)) (parameters-fold + 0 '(1 (2 3))))
; parameters-norm
(parameters-norm (list 3. (list->tensor '(0 4))))
; parameters->list, parameters-count, list->parameters
(define p (list (ones '(2 2)) '(5. 6.)))
(list (parameters-count p) (length (parameters->list p)) (list->parameters '(1 2 3) '(a-name . (0 0 (0)))))
; parameters->tensor, tensor->parameters
(define p (list (ones '(2)) (cons 5. 6.)))
(parameters->tensor p)
(tensor->parameters (arange 4) p)
; parameters-like, parameters-average
(list (parameters-like '(1 (2)) 7) (parameters-average '(1. 2.) '(3. 4.) .5))
; glorot, he
(list (size (glorot 3 4)) (size (he 3 4)))
; glorot-convolution, he-convolution
(list (size (glorot-convolution '(8 3 5 5))) (size (he-convolution '(8 3 5 5))))
; truncated-normal
(< (max-value (abs (truncated-normal '(100) 0 1))) 2.001)
; orthogonal
(let ((q (orthogonal 3 3 'f64))) (< (max-value (abs (- (matmul q (transpose q)) (eye 3)))) 1e-9))

;;; Layers
;;;; `(new-NAME sizes ...)` draws parameters for the layer `NAME`, and `(NAME p x)` applies it to `x`. A state of `0` stands for zeros. [Layers](../network.md#layers) has more.
; new-linear, linear
(size (linear (new-linear 3 5) (ones '(2 3))))
; new-perceptron, perceptron
(size (perceptron tanh (new-perceptron '(3 8 2)) (ones '(4 3))))
; new-convolution, convolution
(size (convolution (new-convolution 3 8 '(3 3)) (ones '(1 3 9 9)) 2 1))
; new-embedding, sinusoids
(list (size (new-embedding 10 4)) (sinusoids 2 2))
; new-layer-norm, layer-norm
(layer-norm (new-layer-norm 2) (list->tensor '((1 3))))
; new-rms-norm, rms-norm
(rms-norm (new-rms-norm 2) (list->tensor '((3 4))))
; new-group-norm, group-norm
(group-norm 2 (new-group-norm 4) (list->tensor '((1 3 2 4))))
; new-batch-norm, new-batch-statistics, batch-norm
(batch-norm (new-batch-norm 1) (new-batch-statistics 1) (list->tensor '((1) (3))))
; batch-norm-test
(batch-norm-test (new-batch-norm 1) (new-batch-statistics 1) (list->tensor '((1) (3))))
; stacked, residual, dense-block
(define (twice p x) (* p x))
(list (stacked twice '(2 3) 1) (residual twice 2 5))
(dense-block 0 (lambda (p x) (* p (sum x '(0) #t))) '(1 2) (list->tensor '(1)))
; new-rnn, rnn
(size (rnn (new-rnn 3 5) (ones '(2 3)) 0))
; new-lstm, lstm
(map size (let ((state (lstm (new-lstm 3 5) (ones '(2 3)) 0))) (list (car state) (cdr state))))
; new-gru, gru
(size (gru (new-gru 3 5) (ones '(2 3)) 0))
; unroll
(size (car (unroll gru (new-gru 3 5) (ones '(2 7 3)) 0)))
; dot-product-attention
(dot-product-attention (zeros '(1 2)) (zeros '(2 2)) (list->tensor '((1 2) (3 4))))
(dot-product-attention (zeros '(1 2)) (zeros '(2 2)) (list->tensor '((1 2) (3 4))) #f (list->tensor '((1 0)) 'u8))
; attend
(attend (zeros '(2 1)) (zeros '(2 1)) (list->tensor '((1 2) (3 4))) 1 #t)
; new-attention, attention
(size (attention 2 (new-attention 4) (ones '(1 6 4)) #t))
; new-transformer, transformer
(size (transformer 2 (new-transformer 4) (ones '(1 6 4))))
; attention-step, transformer-step
(define p (new-transformer 4))
(define first-step (transformer-step 2 p (ones '(1 1 4)) '()))
(list (size (car (transformer-step 2 p (ones '(1 1 4)) (cadr first-step)))) (map size (cadr (attention-step 2 (cadr p) (ones '(1 3 4)) '()))))

;;; Layers as values
;;;; Such a layer knows its parameters and how it is applied. [Layers as values](../network.md#layers-as-values) has a network made of them, and how it is saved.
; layer-parameters, layer-statistics
(define network (in-sequence (linear-layer 2 3) (batch-norm-layer 3)))
(list (parameters-count (layer-parameters network)) (layer-statistics network))
; layer-train, layer-test
(define network (in-sequence (batch-norm-layer 1)))
(layer-train network (layer-parameters network) (layer-statistics network) (list->tensor '((1) (3))))
(layer-test network (layer-parameters network) (layer-statistics network) (list->tensor '((1) (3))))
; linear-layer, layer-norm-layer, batch-norm-layer, dropout-layer
(map (lambda (layer) (layer-test layer (layer-parameters layer) (layer-statistics layer) (list->tensor '((1 3)))))
     (list (layer-norm-layer 2) (batch-norm-layer 2) (dropout-layer .5)))
(define layer (linear-layer 2 5))
(size (layer-test layer (layer-parameters layer) (layer-statistics layer) (list->tensor '((1 3)))))
; convolution-layer, plain-convolution-layer, transpose-convolution-layer
(map (lambda (layer) (parameters-count (layer-parameters layer)))
     (list (convolution-layer 3 8 '(3 3)) (plain-convolution-layer 3 8 '(3 3) 1 1) (transpose-convolution-layer 3 8 '(2 2) 2)))
; function-layer
(layer-test (function-layer ReLU) '() '() (list->tensor '(-1 1)))
; layer-of
(layer-test (layer-of (lambda () 2.) (lambda (p x) (* p x))) 2. '() 21)
; in-sequence
(define add-one (function-layer (lambda (x) (+ x 1))))
(layer-test (in-sequence add-one add-one) '(() ()) '(() ()) 5)
; in-parallel
(layer-test (in-parallel (lambda (l) l) (in-sequence) (function-layer (lambda (x) (* x x)))) '(() ()) '(() ()) 5)
; residual-layer
(layer-test (residual-layer (function-layer (lambda (x) (* x x)))) '(() ()) '(() ()) 5)
; concatenated-layers
(layer-test (concatenated-layers 0 (in-sequence) (function-layer -)) '(() ()) '(() ()) (list->tensor '(1 2)))

;;; Losses and metrics
;;;; Of metrics, `logits` is a matrix with a row for each example and a column for each class, `classes` the vector of the right classes. [Losses and metrics](../network.md#losses-and-metrics) has loops of training.
; mean-squared-error
(mean-squared-error (list->tensor '(1 2)) (list->tensor '(1 4)))
; cross-entropy-loss
(cross-entropy-loss (list->tensor '((0 0) (0 100))) (list->tensor '(0 1) 'i64))
; binary-cross-entropy
(binary-cross-entropy (list->tensor '(.5)) (list->tensor '(1)))
; binary-cross-entropy-with-logits
(binary-cross-entropy-with-logits (list->tensor '(0)) (list->tensor '(1)))
; mean-absolute-error, huber-loss, hinge-loss
(let ((a (list->tensor '(0 3))) (b (list->tensor '(1 1)))) (list (mean-absolute-error a b) (huber-loss a b) (hinge-loss a b)))
; cross-entropy-loss-with
(cross-entropy-loss-with '((ignore -100) (smoothing .1)) (list->tensor '((2 0) (0 3))) (list->tensor '(0 -100) 'i64))
; soft-cross-entropy-loss, kl-divergence
(let ((logits (zeros '(1 2))) (p (list->tensor '((.5 .5))))) (list (soft-cross-entropy-loss logits p) (kl-divergence logits p)))
; accuracy, top-k-accuracy
(let ((logits (list->tensor '((3 2 1) (1 2 3)))) (classes (list->tensor '(0 1) 'i64))) (list (accuracy logits classes) (top-k-accuracy 2 logits classes)))
; confusion-matrix
(confusion-matrix (list->tensor '((1 0) (1 0) (0 1))) (list->tensor '(0 1 1) 'i64))
; perplexity
(perplexity (zeros '(2 8)) (list->tensor '(3 5) 'i64))
; r-squared
(r-squared (list->tensor '(1 2 3)) (list->tensor '(1 2 3)))
; record-loss
(record-loss (record-loss (record-loss '() 5.) 3.) 4.)
; batched-gradient
(batched-gradient (lambda (p batch) (* p batch)) 2. '(1 3))

;;; Optimisers
;;;; Each gives a rule for `*j-update` and its kin, a procedure of a leaf, its gradient and its state. The first state is `0`, whatever the structure of the parameters. [Optimisers](../network.md#optimisers) has rates that change, clipping by the norm of all, and how a state is saved.
; sgd
((sgd .1) 1. 5. 0)
; momentum, nesterov
(list ((momentum .1) 1. 5. 0) ((nesterov .1) 1. 5. 0))
; adagrad, rmsprop
(list ((adagrad .1) 1. 5. 0) ((rmsprop .1) 1. 5. 0))
; adam
((adam .1) 1. 5. 0)
; adamw
((adamw .1) 1. 5. 0)
; weighted-sum, weighted-square-sum
(weighted-sum (list->tensor '(1 2)) (list->tensor '(10 20)) .5 .1)
(weighted-square-sum (list->tensor '(1 2)) (list->tensor '(10 20)) .5 .1)
; (adam-update parameters mean squares cotangent mean-kept mean-new squares-kept squares-new kept rate root): a step of Adam in one pass over its operands
(adam-update (list->tensor '(1 2)) 0 0 (list->tensor '(.5 -.5)) .9 .1 .999 .001 1 .1 1)
; (adam-step parameters mean squares kept rate root): the last part of a step of Adam, parameters from both means
(adam-step (list->tensor '(1 2)) (list->tensor '(.5 -.5)) (list->tensor '(.25 1)) 1 .1 1)
; lion
((lion .1) 1. 5. 0)
; apply-rule
(apply-rule (sgd .1) (list 1. 2.) (list 5. 0) '())
; rule-state
(rule-state (momentum .1) (list 1. 'a (ones '(2))))
; clip-by-value
((clip-by-value 1 (sgd .1)) 1. 5. 0)
; clip-by-leaf-norm
((clip-by-leaf-norm 1 (sgd .1)) 1. -5. 0)
; clip-by-norm
(clip-by-norm 1 '(3. (4.)))
; step-rate, cosine-rate, warm-up
(list ((step-rate .1 .5 10) 25) ((cosine-rate .1 100) 50) ((cosine-rate .1 100 .01) 100) ((warm-up 10 (cosine-rate .1 100)) 4))

;;; Plots
;;;; `labels` is an association list of any of `(title text)`, `(x text)`, `(y text)`, `(width 640)`, `(height 400)`, and of lines and points also `(log-x #t)`, `(log-y #t)` and `(points names)`. [Options and plots](../network.md#options-and-plots) says what a series may be.
; plot-lines, plot-scatter
(plot-lines "a.svg" '((title "Squares") (x "n")) (cons "squares" '(0 1 4 9)) (cons "cubes" '(0 1 8 27)))
(> (file-size "a.svg") 1000)
(plot-scatter "b.svg" '((title "Points")) (cons "squares" '((0 . 0) (1 . 1) (2 . 4))))
(> (file-size "b.svg") 1000)
; plot-histogram
(plot-histogram "a.svg" '((title "Normal")) (randn '(1000)) 20)
(> (file-size "a.svg") 1000)
; plot-image
(plot-image "a.svg" '() (eye 8))
(> (file-size "a.svg") 1000)
; plot-heat-map
(plot-heat-map "a.svg" '((x "column") (y "row")) (list->tensor '((1 2) (3 4))))
(> (file-size "a.svg") 1000)
