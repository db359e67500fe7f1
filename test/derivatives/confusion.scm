; Classic traps: tags of nested derivatives are unique per invocation, and zeros are structural.
(define (show x) (write x) (newline))
(define (df f) (lambda (x) (cdr (j* f x 1))))
(define (dr f) (lambda (x) (cdr (*j f x 1))))
(define (dc f) (lambda (x) (cdr (checkpoint-*j f x 1))))
(define all (list df dr dc))
; The same lambda differentiated inside itself, by one invocation in another.
(define (self d n) (lambda (x) (if (= n 0) (* x x x x) (* x ((d (self d (- n 1))) x)))))
; n = 1: x 4x^3 = 4 x^4; n = 2: x d(4 x^4) = 16 x^4; derivative 64 x^3 at 1
(show (map (lambda (d) ((d (self d 2)) 1)) all))                 ; expect: (64.0 64.0 64.0)
; Recursion through a derivative.
(define (tower d n x) (if (= n 0) x (* x ((d (lambda (y) (* y (tower d (- n 1) y)))) x))))
; tower 1 = x (x^2)' = 2 x^2; tower 2 = x (2 x^3)' = 6 x^3; derivative 18 x^2
(show (map (lambda (d) ((d (lambda (x) (tower d 2 x))) 2)) all)) ; expect: (72.0 72.0 72.0)
; A derivative taken with respect to a variable that is itself perturbed, used outside.
(show (map (lambda (d) ((d (lambda (x) (let ((g (d (lambda (y) (* x y))))) (+ (g x) (g (* x x)))))) 3)) all)) ; expect: (2.0 2.0 2.0)
; Derivative of the derivative's point.
(show (map (lambda (d) ((d (lambda (x) ((d (lambda (y) (* y y y))) (* x x)))) 2)) all)) ; expect: (96.0 96.0 96.0)
; A closure made under one derivative, called under another.
(show (map (lambda (d) ((d (lambda (x) (let ((f (lambda (y) (* x y)))) (* (f 2) ((d f) 5))))) 3)) all)) ; expect: (12.0 12.0 12.0)
; Lists of perturbed values crossing levels.
(show (map (lambda (d) ((d (lambda (x) (fold-left + 0 (map (d (lambda (y) (* x y y))) (list 1 x 2))))) 3)) all)) ; expect: (18.0 18.0 18.0)
; Constants that look like perturbed values.
(show (map (lambda (d) (zero? ((d (lambda (x) (* 3 ((d (lambda (y) 5.)) x)))) 3))) all)) ; expect: (#t #t #t)
; Comparisons inside nested derivatives look at primals.
(show (map (lambda (d) ((d (lambda (x) (if (> ((d (lambda (y) (* y y))) x) 5) (* x x) (- x)))) 3)) all)) ; expect: (6.0 6.0 6.0)
(show (map (lambda (d) ((d (lambda (x) (if (> ((d (lambda (y) (* y y))) x) 5) (* x x) (- x)))) 2)) all)) ; expect: (-1.0 -1.0 -1.0)
; Wolfe: differentiate a fixed point found under a derivative.
(define (fixpoint f x) (let loop ((x x) (i 0)) (if (= i 100) x (loop (f x) (+ i 1)))))
(define (near? a b) (< (abs (- a b)) 1e-12))
(define (golden a) (fixpoint (lambda (x) (/ a (+ 1 x))) 1.))
(define root (/ (- (sqrt 5.) 1) 2))
(show (map (lambda (d) (near? ((d golden) 1) (/ 1 (+ 1 (* 2 root))))) all)) ; expect: (#t #t #t)
; Results keep no trace of a finished derivative.
(define kept (map (lambda (d) ((d (lambda (x) (* x x))) 3)) all))
(show (map (lambda (k) ((df (lambda (x) (* k x))) 1)) kept))     ; expect: (6.0 6.0 6.0)
(define pair (*j (lambda (x) (list x (lambda (y) (* x y)))) 3 0))
(show ((dr (lambda (y) ((cadr (car pair)) y))) 5))               ; expect: 3.0
(show ((df (lambda (y) (* (car (car pair)) y))) 5))              ; expect: 3.0
