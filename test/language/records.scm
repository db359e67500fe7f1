; Records and several values.
;;; case all
(define (show x) (write x) (newline))
(define-record-type point (make-point y x) point? (x point-x point-with-x) (y point-y))
(define p (make-point 2 1))
(show p)                                                         ; expect: #(point 1 2)
(show (list (point-x p) (point-y p) (point? p) (point? 5) (point? '#(point 1)) (point? '#(other 1 2)))) ; expect: (1 2 #t #f #f #f)
(show (list (point-with-x p 7) p))                               ; expect: (#(point 7 2) #(point 1 2))
(show (gradient (lambda (p) (* (point-x p) (point-y p))) (make-point 5. 3.))) ; expect: #(point 5.0 3.0)
(show (map point-x (list p (make-point 1 9))))                   ; expect: (1 9)
(define (local a)
  (define-record-type pair-of (of left right) pair-of? (left left-of) (right right-of with-right))
  (let ((p (with-right (of a 2) 3))) (list (left-of p) (right-of p))))
(show (local 1))                                                 ; expect: (1 3)
(define (divided a b) (values (quotient a b) (remainder a b)))
(show (let-values (((q r) (divided 17 5)) ((x) (values 'one))) (list q r x))) ; expect: (3 2 one)
(show (let*-values (((a b) (values 1 2)) ((c . d) (values (+ a b) a b))) (list a b c d))) ; expect: (1 2 3 (1 2))
(show (let-values (((a b . c) (values 1 2 3 4))) (list a b c)))  ; expect: (1 2 (3 4))
(show (let-values () 5))                                         ; expect: 5
(define-values (one (cons two three) . more) (list 1 '(2 . 3) 4 5))
(show (list one two three more))                                 ; expect: (1 2 3 (4 5))
(define-values ((cons only both)) '(6 . 7))
(show (list only both))                                          ; expect: (6 7)
(define (inner x)
  (define-values (q r) (divided x 5))
  (define (twice) (* 2 (+ q r)))
  (twice))
(show (inner 17))                                                ; expect: 10
(define-values (later-one later-two) (list (lambda () later-two) 8))
(show (later-one))                                               ; expect: 8
(show (gradient (lambda (x) (define-values (a (cons b c)) (list x (cons x 2))) (* a b c)) 3.)) ; expect: 12.0
;;; case define-values-that-do-not-match
(define-values (a b) (list 1)) ; expect error: no pattern matches \(\); are there fewer elements than the pattern has names\?
;;; case define-values-of-one-name-twice
; expect exit: 2
; expect error: .*the name 'a' appears twice here
(define-values (a (list b a)) (list 1 2))
;;; case define-values-before-it-is-defined
(define-values (a b) (list b 1)) ; expect error: b is used before its definition has run
;;; case accessor-of-another
(define-record-type point (make-point x y) point? (x point-x) (y point-y))
(point-x 5)
; expect error: point-x: expected a record of type point, got 5
;;; case field-that-is-none
(define-record-type point (make-point x z) point? (x point-x) (y point-y))
; expect exit: 2
; expect error: 'z' is no field
;;; case field-left-out
(define-record-type point (make-point x) point? (x point-x) (y point-y))
; expect exit: 2
; expect error: each of its fields once
;;; case field-twice
(define-record-type point (make-point x x) point? (x point-x) (y point-y))
(make-point 1 1)
; expect exit: 2
; expect error: each of its fields once
;;; case values-that-do-not-fit
(let-values (((a b) (values 1 2 3))) a)
; expect error: no pattern matches \(3\); are there more elements than the pattern has names\?
;;; case one-name-without-a-list
(let-values ((a (values 1 2))) a)
; expect exit: 2
; expect error: stand in a list
