; Derivatives of derivatives in every combination of modes; no perturbation is confused with another.
(define (show x) (write x) (newline))
(define (forward f) (lambda (x) (cdr (j* f x 1))))
(define (reverse-mode f) (lambda (x) (cdr (*j f x 1))))
(define (checkpointed f) (lambda (x) (cdr (checkpoint-*j f x 1))))
(define (checkpointed-finely f)
  (lambda (x) (with-schedule "binomial,base=16" (lambda () (cdr (checkpoint-*j f x 1))))))
(define (bisected f)
  (lambda (x) (with-schedule "bisection,base=16" (lambda () (cdr (checkpoint-*j f x 1))))))
(define modes (list forward reverse-mode checkpointed checkpointed-finely bisected))
(define (every-pair test) (apply append (map (lambda (d1) (map (lambda (d2) (test d1 d2)) modes)) modes)))
(define (all-equal? x l) (or (null? l) (and (equal? x (car l)) (all-equal? x (cdr l)))))
(define (near? a b) (<= (abs (- a b)) (* 1e-13 (max 1 (abs a) (abs b)))))
(define (all-near? x l) (or (null? l) (and (near? x (car l)) (all-near? x (cdr l)))))
; The example of perturbation confusion: 1, and 2 where it is confused.
(show (all-equal? 1. (every-pair (lambda (d1 d2) ((d1 (lambda (x) (* x ((d2 (lambda (y) (+ x y))) 1)))) 1))))) ; expect: #t
; Nested with a captured product.
(show (all-equal? 8. (every-pair (lambda (d1 d2) ((d1 (lambda (x) (* x ((d2 (lambda (y) (* x y))) 1)))) 4))))) ; expect: #t
; Second derivatives.
(show (all-equal? 12. (every-pair (lambda (d1 d2) ((d1 (d2 (lambda (x) (* x x x)))) 2))))) ; expect: #t
(show (all-equal? 160. (every-pair (lambda (d1 d2) ((d1 (d2 (lambda (x) (* x x x x x)))) 2))))) ; expect: #t
(show (all-near? (- (sin 1.)) (every-pair (lambda (d1 d2) ((d1 (d2 sin)) 1.))))) ; expect: #t
(show (all-near? (exp 1.) (every-pair (lambda (d1 d2) ((d1 (d2 exp)) 1.))))) ; expect: #t
(show (all-near? .25 (every-pair (lambda (d1 d2) ((d1 (d2 (lambda (x) (/ x)))) 2.))))) ; expect: #t
(show (all-near? -.25 (every-pair (lambda (d1 d2) ((d1 (d2 log)) 2.))))) ; expect: #t
(show (all-near? (/ -1. 32) (every-pair (lambda (d1 d2) ((d1 (d2 sqrt)) 4.))))) ; expect: #t
(show (all-near? -.5 (every-pair (lambda (d1 d2) ((d1 (d2 atan)) 1.))))) ; expect: #t
(show (all-near? 6.772588722239782 (map (lambda (d) ((d (lambda (x) (exp (* x (log x))))) 2)) modes))) ; expect: #t
; d/dx of x * d/dy (y * x * d/dz (x y z)).
(define (mixed d1 d2) ((d1 (lambda (x) (* x ((d2 (lambda (y) (* y x ((d1 (lambda (z) (* x y z))) 5)))) 3)))) 2))
; inner: d/dz = x y; y x x y = x^2 y^2; d/dy = 2 x^2 y = 6 x^2; times x: 6 x^3; d/dx = 18 x^2 = 72
(show (all-near? 72. (every-pair mixed))) ; expect: #t
; An inner derivative that ignores, or only uses, the outer variable.
(show (all-equal? 2. (every-pair (lambda (d1 d2) ((d1 (lambda (x) (* x ((d2 (lambda (y) (* 2 y))) x)))) 7))))) ; expect: #t
(show (map (lambda (z) (zero? z)) (every-pair (lambda (d1 d2) ((d1 (lambda (x) ((d2 (lambda (y) (* 3 y))) x))) 7))))) ; expect: (#t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t)
(show (map (lambda (z) (zero? z)) (every-pair (lambda (d1 d2) ((d1 (lambda (x) ((d2 (lambda (y) x)) 5))) 7))))) ; expect: (#t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t #t)
; Third order in every combination.
(define (every-triple test)
  (apply append (map (lambda (d1) (apply append (map (lambda (d2) (map (lambda (d3) (test d1 d2 d3)) modes)) modes))) modes)))
(show (all-near? 240. (every-triple (lambda (d1 d2 d3) ((d1 (d2 (d3 (lambda (x) (* x x x x x))))) 2))))) ; expect: #t
(show (all-near? (- (cos 1.)) (every-triple (lambda (d1 d2 d3) ((d1 (d2 (d3 sin))) 1.))))) ; expect: #t
(show (all-near? (exp 2.) (every-triple (lambda (d1 d2 d3) ((d1 (d2 (d3 (lambda (x) (exp x))))) 2.))))) ; expect: #t
(show (all-near? 6. (every-triple (lambda (d1 d2 d3) ((d1 (d2 (d3 (lambda (x) (expt x 3))))) 5.))))) ; expect: #t
; Three levels of captured variables: d/dx (x d/dy (y d/dz (x y z^2) at y) at x) at 2:
; d/dz = 2 x y z = 2 x y^2; times y: 2 x y^3; d/dy = 6 x y^2 = 6 x^3; times x: 6 x^4; d/dx = 24 x^3 = 192
(show (all-near? 192. (every-triple (lambda (d1 d2 d3) ; expect: #t
  ((d1 (lambda (x) (* x ((d2 (lambda (y) (* y ((d3 (lambda (z) (* x y z z))) y)))) x)))) 2)))))
; Fourth order.
(show (map (lambda (d) ((d (d (d (d (lambda (x) (* x x x x x)))))) 2.)) modes)) ; expect: (240.0 240.0 240.0 240.0 240.0)
; An escaped derivative: procedures returned through a derivative keep no perturbation.
(define escaped (car (j* (lambda (x) (lambda (y) (* x y))) 3 1)))
(show (escaped 5))                                     ; expect: 15.0
(show ((forward (lambda (y) (escaped y))) 5))          ; expect: 3.0
(show (let ((r (j* (lambda (x) (lambda (y) (* x (* y y)))) 3 1))) ((forward (cdr r)) 5))) ; expect: 10.0
; Both parts of a nested result matter: x^3 + 2 x^2 at 3.
(show (all-near? 39. (map (lambda (d) ((d (lambda (x) (let ((r (*j (lambda (y) (* x y y)) x 1))) (+ (car r) (cdr r))))) 3)) modes))) ; expect: #t

; Sixteen levels of forward mode are allowed.
(define (nth-derivative n f x) (if (= n 0) (f x) (cdr (j* (lambda (y) (nth-derivative (- n 1) f y)) x 1.0))))
(write (nth-derivative 16 (lambda (x) (* x (* x (exp (- x))))) 0.0)) (newline) ; expect: 240.0
; Levels that do not meet in one number nest as deep as memory allows.
(define (apart n x) (if (= n 0) x (+ x (cdr (j* (lambda (y) (apart (- n 1) 1.5)) 2.0 1.0)))))
(write (apart 1000 1.0)) (newline) ; expect: 1.0
; The derivative of a power by its exponent, at 0, by the base: 1/x. And the other way round, and of tensors.
(define ((by-exponent mode) x) ((mode (lambda (y) (expt x y))) 0.))
(define ((by-base mode) y) ((mode (lambda (x) (expt x y))) 2.))
(show (map (lambda (outer inner) ((outer (by-exponent inner)) 2.)) (list forward forward reverse-mode reverse-mode) (list forward reverse-mode forward reverse-mode))) ; expect: (0.5 0.5 0.5 0.5)
(show (map (lambda (outer inner) ((outer (by-base inner)) 0.)) (list forward forward reverse-mode reverse-mode) (list forward reverse-mode forward reverse-mode))) ; expect: (0.5 0.5 0.5 0.5)
(define two (list->tensor '(2) 'f64))
(define none (list->tensor '(0) 'f64))
(show (tensor->list (cdr (j* (lambda (y) (cdr (*j (lambda (x) (sumall (expt x y))) two 1.))) none (list->tensor '(1) 'f64))))) ; expect: (0.5)
(show (tensor->list (cdr (*j (lambda (y) (sumall (cdr (*j (lambda (x) (sumall (expt x y))) two 1.)))) none 1.)))) ; expect: (0.5)
; A number as the cotangent of a tensor without axes, which the outer derivative has one of such a tensor for.
(define side (fill '(4) 2. 'f64))
(define (mean-square w) (mean (square (* w side))))
(define ((by-scale reverse) r) (sumall (cdr (reverse mean-square (* r side) r))))
(show (map (lambda (outer inner) (outer (by-scale inner) .5 1)) (list j* *j checkpoint-*j *j) (list *j *j checkpoint-*j checkpoint-*j))) ; expect: ((4.0 . 16.0) (4.0 . 16.0) (4.0 . 16.0) (4.0 . 16.0))
