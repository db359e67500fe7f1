; Procedures as inputs, results, tangents and cotangents. Captured numbers are read from the input so that no optimiser knows them.
; input: 2.0 5.0 3.0
(define (show x) (write x) (newline))
(define w0 (read-real))
(define five (read-real))
(define three (read-real))
(define (make-scale w) (lambda (y) (* w y)))
(define r (*j (lambda (g) (g 3)) (make-scale w0) 1))
(show (car r))                                       ; expect: 6.0
(show (procedure? (cdr r)))                          ; expect: #t
(show ((cdr r) 10))                                  ; expect: 30.0
(define rc (checkpoint-*j (lambda (g) (g 3)) (make-scale w0) 1))
(show (list (car rc) ((cdr rc) 10)))                 ; expect: (6.0 30.0)
; A tangent of a procedure is a procedure: here its captured number is the tangent of the captured number.
(define f (j* (lambda (g) (g 3)) (make-scale w0) (make-scale five)))
(show f)                                             ; expect: (6.0 . 15.0)
; 0 stands for the tangent of a procedure.
(show (zero? (cdr (j* (lambda (g) (g 3)) (make-scale w0) 0)))) ; expect: #t
; A procedure as the result.
(define rr (j* (lambda (x) (make-scale (* x x))) three 1))
(show (list ((car rr) 10) ((cdr rr) 10)))            ; expect: (90.0 60.0)
(define rb (*j (lambda (x) (make-scale (* x x))) three (make-scale five)))
(show (list ((car rb) 10) (cdr rb)))                 ; expect: (90.0 30.0)
(show (zero? (cdr (*j (lambda (x) (make-scale (* x x))) three 0)))) ; expect: #t
; Through captured variables of every depth.
(show (*j (lambda (x) ((lambda (y) ((lambda (z) (* x y z)) (* y 2))) (+ x 1))) 3 1)) ; expect: (96.0 . 80.0)
(define ((((curried a) b) c) d) (+ (* a b) (* c d)))
(show (*j (lambda (x) ((((curried x) (* 2 x)) (* 3 x)) 4)) 3 1)) ; expect: (54.0 . 24.0)
; Closures in data.
(define r2 (*j (lambda ((list g (cons h k))) (g (h k))) (list (make-scale w0) (cons (make-scale three) five)) 1))
(show (list (car r2) ((cadr r2) 1) ((car (caddr r2)) 1) (cdr (caddr r2)))) ; expect: (30.0 15.0 10.0 6.0)
; Church numerals.
(define (church n) (lambda (f) (lambda (x) (if (= n 0) x (f (((church (- n 1)) f) x))))))
(show (*j (lambda (x) (((church 10) (lambda (y) (* x y))) 1)) 2 1)) ; expect: (1024.0 . 5120.0)
; Local recursive procedures that capture what is differentiated.
(define (power x n)
  (letrec ((even (lambda (n) (if (= n 0) 1 (* x (odd (- n 1))))))
           (odd (lambda (n) (if (= n 0) 1 (* x (even (- n 1)))))))
    (even n)))
(show (*j (lambda (x) (power x 7)) 2 1))             ; expect: (128.0 . 448.0)
(show (j* (lambda (x) (power x 7)) 2 1))             ; expect: (128.0 . 448.0)
; The Y combinator.
(define (y-combinator f) ((lambda (x) (f (lambda (v) ((x x) v)))) (lambda (x) (f (lambda (v) ((x x) v))))))
(show (*j (lambda (x) ((y-combinator (lambda (self) (lambda (n) (if (= n 0) x (* x (self (- n 1))))))) 3)) 2 1)) ; expect: (16.0 . 32.0)
; What f captures is constant for *j itself ...
(define (outer a) (*j (lambda (x) (* a x)) 3 1))
(show (outer five))                                  ; expect: (15.0 . 5.0)
; ... and an input for an outer derivative.
(show (*j (lambda (a) (car (*j (lambda (x) (* a a x)) 3 1))) 5 1)) ; expect: (75.0 . 30.0)
(show (*j (lambda (a) (cdr (*j (lambda (x) (* a a x)) 3 1))) 5 1)) ; expect: (25.0 . 10.0)
