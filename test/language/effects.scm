; Output, input, arguments, random numbers, assert.
;;; case write-real
(define (show x) (write x) (newline))
(show (write-real 2.5)) ; expect: 2.5
                        ; expect: 2.5
(show (+ 1 (write-real 3))) ; expect: 3
                        ; expect: 4
;;; case display-and-write
(display "a \"b\"") (newline)    ; expect: a "b"
(write "a \"b\"") (newline)      ; expect: "a \"b\""
(display '(1 "two" #\3 four 5.)) (newline) ; expect: (1 two 3 four 5.0)
(write '(1 "two" #\3 four 5.)) (newline) ; expect: (1 "two" #\3 four 5.0)
(write #t) (write #f) (newline)  ; expect: #t#f
(display (list car)) (newline)   ; expect: (#<procedure>)
(display '()) (newline)          ; expect: ()
(display (list '() (list '()) (vector))) (newline) ; expect: (() (()) #())
;;; case read-real
; input: 1 2.5
; input: -3
; input:
; input: 1e3 .5 4/2 +inf.0
(define (show x) (write x) (newline))
(show (read-real)) ; expect: 1
(show (read-real)) ; expect: 2.5
(show (+ (read-real) 1)) ; expect: -2
(show (list (read-real) (read-real) (read-real) (read-real))) ; expect: (1000.0 0.5 2 +inf.0)
;;; case read-real-order
; input: 1 2 3
(write (list (read-real) (read-real) (read-real))) ; expect: (1 2 3)
;;; case end-of-input
; input: 1
(write (read-real)) ; expect: 1
(read-real)
; expect error: read-real.*end of (the )?input
; expect location: 3
;;; case no-number-in-input
; input: 1 apple
(write (read-real)) ; expect: 1
(read-real)
; expect error: read-real.*apple
;;; case command-line
; args: alpha 7 "two words"
(write (command-line)) ; expect: ("alpha" "7" "two words")
;;; case command-line-without-arguments
(write (command-line)) ; expect: ()
;;; case command-line-looks-like-an-option
; args: --seed=5 -x
(write (command-line)) ; expect: ("--seed=5" "-x")
;;; case random-ranges
(define (all? p l) (or (null? l) (and (p (car l)) (all? p (cdr l)))))
(define reals (build-list 1000 (lambda (i) (random-real))))
(write (all? (lambda (x) (and (<= 0 x) (< x 1) (inexact? x))) reals)) (newline) ; expect: #t
(define mean (/ (apply + reals) 1000))
(write (< .45 mean .55)) (newline) ; expect: #t
(define integers (build-list 1000 (lambda (i) (random-integer 6))))
(write (all? (lambda (x) (and (exact? x) (<= 0 x) (< x 6))) integers)) (newline) ; expect: #t
(write (map (lambda (k) (and (memv k integers) #t)) (iota 6))) (newline) ; expect: (#t #t #t #t #t #t)
(define normals (build-list 4000 (lambda (i) (random-normal))))
(define m (/ (apply + normals) 4000))
(define v (/ (apply + (map (lambda (x) (* (- x m) (- x m))) normals)) 4000))
(write (list (< -.1 m .1) (< .85 v 1.15))) (newline) ; expect: (#t #t)
(write (random-integer 1)) (newline) ; expect: 0
;;; case random-integer-of-zero
(random-integer 0)
; expect error: random-integer
;;; case random-integer-of-a-fraction
(random-integer 2.5)
; expect error: random-integer.*2\.5
;;; case assert-true
(assert (= 1 1))
(assert 5)
(write 'fine) ; expect: fine
;;; case assert-false
(display "before") ; expect: before
(assert (= 1 2))
; expect error: assert
; expect location: 2
;;; case error-with-irritants
(error "no good:" 42 'sym "str" '(1 "x"))
; expect error: no good: 42 sym "str" \(1 "x"\)
; expect location: 1:1
;;; case error-without-irritants
(define (f x) (if (> x 0) x (error "must be positive")))
(write (f 1)) ; expect: 1
(f -1)
; expect error: must be positive
; expect location: 1
;;; case output-before-an-error-is-kept
(display "kept") (newline) ; expect: kept
(display "also kept")      ; expect: also kept
(car 5)
; expect error: car
;;; case read-in-a-loop
; input: 3 10 20 30
(define (sum n) (if (= n 0) 0 (+ (read-real) (sum (- n 1)))))
(write (sum (read-real))) ; expect: 60
;;; case report
(define (show x) (write x) (newline))
(report 'a 1 "b c" 2.5 'd (list->tensor '((3))))
(show (cdr (*j (lambda (x) (report 'x x) (* x x)) 3. 1.))) ; expect: 6.0
(show (cdr (checkpoint-*j (lambda (x) (report 'x x 't (* x (ones '(1)))) (* x x)) 3. 1.))) ; expect: 6.0
(show (cdr (j* (lambda (x) (report 'x x 't (* x (ones '(1)))) (* x x)) 3. 1.))) ; expect: 6.0
;;; case report-of-ones-own
(define (report x) (list x))
(write (report 5)) ; expect: (5)
