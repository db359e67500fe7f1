; The helpers of the library on every structure that *j takes.
(define (show x) (write x) (newline))
(define (lists x)
  (cond ((tensor? x) (tensor->list x))
        ((pair? x) (cons (lists (car x)) (lists (cdr x))))
        ((vector? x) (vector-map lists x))
        (else x)))
(define t (list->tensor '(1 2 3) 'f64))
(define m (list->tensor '((1 2) (3 4)) 'f64))
;;; case jacobian-of-a-tensor-by-a-tensor
(show (lists (jacobian (lambda (x) (* x x)) t))) ; expect: ((2.0 0.0 0.0) (0.0 4.0 0.0) (0.0 0.0 6.0))
(show (size (jacobian (lambda (x) (matmul m (view x '(2 3)))) (randn '(6) 'f64)))) ; expect: (2 3 6)
(show (lists (jacobian (lambda (x) (sum x 0)) m))) ; expect: (((1.0 0.0) (1.0 0.0)) ((0.0 1.0) (0.0 1.0)))
(show (lists (jacobian sum t))) ; expect: (1.0 1.0 1.0)
(show (lists (jacobian sumall t))) ; expect: (1.0 1.0 1.0)
(show (tensor-type (jacobian (lambda (x) (* x x)) (cast t 'f32)))) ; expect: f32
;;; case jacobian-of-a-tensor-by-a-number
(show (lists (jacobian (lambda (x) (* x t)) 5))) ; expect: (1.0 2.0 3.0)
;;; case jacobian-of-structures
(show (lists (jacobian (lambda ((list a b)) (* a b)) (list t 2)))) ; expect: (((2.0 0.0 0.0) (0.0 2.0 0.0) (0.0 0.0 2.0)) (1.0 2.0 3.0))
(show (lists (jacobian (lambda (v) (* (vector-ref v 0) 3)) (vector t 'a t)))) ; expect: #(((3.0 0.0 0.0) (0.0 3.0 0.0) (0.0 0.0 3.0)) a ((0.0 0.0 0.0) (0.0 0.0 0.0) (0.0 0.0 0.0)))
(show (lists (jacobian (lambda (x) (list (sumall x) (* 2 x))) (narrow-tensor t 0 0 2)))) ; expect: ((1.0 1.0) ((2.0 0.0) (0.0 2.0)))
(show (lists (jacobian (lambda (x) (vector x (list x 1))) 3))) ; expect: #(1.0 (1.0 0))
(show (lists (jacobian (lambda (p) (* (car p) 2)) (cons t (list->tensor '(1) 'i32))))) ; expect: (((2.0 0.0 0.0) (0.0 2.0 0.0) (0.0 0.0 2.0)) . 0)
;;; case jacobian-of-nothing
(show (size (jacobian (lambda (x) (narrow-tensor x 0 0 0)) t))) ; expect: (0 3)
(show (size (jacobian (lambda (x) (* x x)) (fill '(0 2) 1 'f64)))) ; expect: (0 2 0 2)
;;; case hessians
(show (lists (hessian (lambda (x) (sumall (* x (* x x)))) t))) ; expect: ((6.0 0.0 0.0) (0.0 12.0 0.0) (0.0 0.0 18.0))
(show (size (hessian (lambda (x) (sumall (* x x))) m))) ; expect: (2 2 2 2)
(show (lists (hessian (lambda (x) (sumall x)) (narrow-tensor t 0 0 2)))) ; expect: ((0.0 0.0) (0.0 0.0))
(show (lists (hessian (lambda ((list a b)) (* a a (sumall b))) (list 3 (narrow-tensor t 0 0 2))))) ; expect: ((6.0 (6.0 6.0)) ((6.0 6.0) ((0.0 0.0) (0.0 0.0))))
;;; case hessian-vector
(show (lists (hessian-vector (lambda (x) (sumall (* x (* x x)))) t (list->tensor '(1 0 2) 'f64)))) ; expect: (6.0 0.0 36.0)
(show (lists (hessian-vector (lambda ((list a b)) (* a a (sumall b))) (list 3 t) (list 1 0)))) ; expect: (12.0 (6.0 6.0 6.0))
;;; case jacobian-of-a-jacobian
(show (lists (jacobian (lambda (x) (jacobian (lambda (y) (* y y)) x)) (narrow-tensor t 0 0 2)))) ; expect: (((2.0 0.0) (0.0 0.0)) ((0.0 0.0) (0.0 2.0)))
;;; case procedures-have-no-rows
(jacobian (lambda (x) (list x (lambda (y) (* x y)))) 3) ; expect error: jacobian: the value holds a procedure
;;; case procedures-in-no-tensor
(jacobian (lambda (p) (* t ((car p) 2))) (let ((a 3.)) (list (lambda (x) (* a x))))) ; expect error: jacobian: x holds a procedure
;;; case rows-by-a-procedure
(define (by c) (lambda (x) (* c x)))
(show ((jacobian (lambda (f) (f 2)) (by 3)) 5)) ; expect: 10.0
;;; case integers-in-a-value
(jacobian (lambda (x) (cast x 'i32)) t) ; expect error: jacobian: elements of the value are integers
;;; case checks-look-at-tensors
; expect any output
(define (agrees? f x) (if (not (check-gradient f x)) (error "they do not agree" x)))
(agrees? (lambda (x) (sumall (* x (sin x)))) t)
(agrees? sumall m)
(agrees? (lambda (x) (sum (square x))) (cast m 'f32))
(agrees? (lambda ((list a v c)) (* a (sumall (* (vector-ref v 0) c)))) (list 2 (vector t) t))
(agrees? (lambda (p) (* (car p) (sumall (cast (cdr p) 'f64)))) (cons 3 (list->tensor '(1 2) 'i32)))
(agrees? (lambda (x) (* 2 (tensor->number (car x)))) (list (fill '() 3 'f64)))
;;; case checks-count-elements
(check-gradient (lambda (p) (* (car p) (sumall (cadr p)))) (list 2 (fill '(2 3) 0 'f64))) ; expect: check-gradient: 7 of 7 derivatives agree with differences, largest error 0.0
;;; case checks-find-what-is-wrong
; expect any output
(define (refused? f x) (if (check-gradient f x) (error "they agree" x)))
(refused? (lambda (x) (sumall (floor (* 1e7 x)))) t)
(refused? (lambda (x) (sumall (* 3 (floor (* 1e7 (car x)))))) (list t 1 2))
(refused? (lambda (x) (sumall (floor (* 1e7 (vector-ref x 1))))) (vector 1 t))
;;; case checks-of-large-and-small-values
; expect any output
; What is wrong is found whatever the size of f, and what is right is not called wrong.
(define-derivative (right x) (value (* x x x)) (forward (y dx) (* 3 x x dx)) (reverse (y c) (list (* 3 c x x))))
(define-derivative (wrong x) (value (* x x x)) (forward (y dx) (* 3 x x dx)) (reverse (y c) (list (* 2 c x x))))
(define-derivative (wrong-forward x) (value (* x x x)) (forward (y dx) (* 2 x x dx)) (reverse (y c) (list (* 3 c x x))))
(define-derivative (dead x) (value (tanh x)) (reverse (y c) (list (* 0 c))))
(define (judged f x)
  (let ((verdicts (map (lambda (g) (check-gradient (f g) x)) (list right wrong wrong-forward))))
    (if (not (equal? verdicts '(#t #f #f))) (error "judged wrongly" verdicts x))))
(for-each (lambda (k) (judged (lambda (g) (lambda (x) (+ k (g x)))) 1.)) '(0 1e3 1e5 -1e6 1e9 1e12))
(for-each (lambda (k) (judged (lambda (g) (lambda (x) (* k (sumall (g x))))) (list->tensor '(.1 1 5 40)))) '(1 1e-6 1e-20 1e20))
(judged (lambda (g) (lambda ((list a b)) (+ (g a) (* 1000 b)))) '(1. 100.))
(judged (lambda (g) (lambda (x) (sumall (g x)))) (list->tensor '(.1 1 5 400)))
; Rounded to f32 where nothing says so.
(define data (list->tensor '(.3 -1.7 2.9)))
(judged (lambda (g) (lambda (x) (sumall (square (* data (g x)))))) .7)
(judged (lambda (g) (lambda (x) (sum (cast (g x) 'f32)))) (list->tensor '(1 2)))
(for-each (lambda (f) (if (check-gradient f .5) (error "zero agrees" f)))
          (list (lambda (x) (+ 5e6 (* 10 (dead x)))) (lambda (x) (* 1e-6 (dead x))) (lambda (x) (sumall (square (- (* 300 data) (dead x)))))))
; Where f bends within the first step, a narrower one tells.
(for-each (lambda (f x) (if (not (check-gradient f x)) (error "it does not agree" x)))
          (list (lambda (x) (let loop ((i 0) (y x)) (if (= i 20) y (loop (+ i 1) (* 4 y (- 1 y)))))) abs log (lambda (x) (/ 1 x)) sqrt floor (lambda (x) (sin (* 1000 x))) (lambda (x) 1))
          '(.3 1e-6 1e-5 1e-3 1e-9 3.5 1. 2.))
;;; case checks-that-rounding-forbids
(define-derivative (wrong x) (value (* x x x)) (reverse (y c) (list (* 2 c x x))))
(show (check-gradient (lambda (x) (+ 1e16 (wrong x))) 1.))
; expect: check-gradient: number 1: derivative 2.0 cannot be told from rounding: the difference is 5.555555555555557, uncertain by 15.111111111111116
; expect: check-gradient: 0 of 1 derivatives agree with differences, largest error 0.0
; expect: check-gradient: in forward mode the derivative in one direction, 2.745113160479349, cannot be told from rounding: the difference is 5.555555555555555, uncertain by 12.33333333333334
; expect: #f
;;; case checks-of-derivatives-beside-much-larger-ones
(show (check-gradient (lambda ((list a b)) (+ (* 1e-16 a) (sin b))) '(1. 2.)))
; expect: check-gradient: 2 of 2 derivatives agree with differences, largest error 2.7829019464762906e-11; 1 of them by being too small for rounding beside the largest
; expect: #t
;;; case nothing-to-check
(show (check-gradient (lambda (x) 1) '()))  ; expect: check-gradient: there is no number to check
; expect: #f
(show (check-gradient (lambda (x) 1) (fill '(0) 1 'f64)))  ; expect: check-gradient: there is no number to check
; expect: #f
(show (check-gradient (lambda (x) 1) (list 'a (list->tensor '(1) 'i8))))  ; expect: check-gradient: there is no number to check
; expect: #f
;;; case procedures-cannot-be-checked
(check-gradient (lambda (f) (f 2)) (let ((a 3.)) (lambda (x) (* a x)))) ; expect error: check-gradient: what this holds cannot be changed
;;; case jacobian-by-columns
; With fewer numbers than the value has, forward mode: once for each. The same by rows, and of structures.
(define calls 0)
(define (tall x) (* (view (arange 12 'f64) '(6 2)) (+ (* x x) 1)))
(define (wide x) (list (tall x) (sumall x) 'done (vector (* 2 (tensor->number (sum (* x x)))) 5)))
(define two (list->tensor '(2 3) 'f64))
(define by-columns (jacobian tall two))
(show (size by-columns))                             ; expect: (6 2 2)
(show (equal? by-columns (stack (map (lambda (c) (stack (map (lambda (i) (gradient (lambda (x) (index (tall x) c i)) two)) '(0 1)) 0)) (iota 6)) 0))) ; expect: #t
(define parts (jacobian wide two))
(show (list (equal? (car parts) by-columns) (tensor->list (cadr parts)) (caddr parts) (lists (cadddr parts)))) ; expect: (#t (1.0 1.0) done #((8.0 12.0) (0.0 0.0)))
; By a number, and by a structure with what has no derivative.
(show (lists (jacobian (lambda (x) (list (* 2 x) (* x t) 7)) 3))) ; expect: (2.0 (1.0 2.0 3.0) 0)
(define mixed (list 2. (vector (cast two 'f32) 'a) (list->tensor '(1 2) 'i32)))
(define (of-mixed p) (* (car p) (concat-tensors (list (vector-ref (cadr p) 0) (vector-ref (cadr p) 0)) 0)))
(show (map lists (jacobian of-mixed mixed))) ; expect: ((2.0 3.0 2.0 3.0) #(((2.0 0.0) (0.0 2.0) (2.0 0.0) (0.0 2.0)) a) 0)
(show (tensor-type (vector-ref (cadr (jacobian of-mixed mixed)) 0))) ; expect: f32
; Forward mode takes steps in proportion to the numbers of x, not to those of the value.
(define (steps n) (primops (lambda (x) (jacobian (lambda (x) (* x (fill (list n) 1 'f64))) x)) 2))
(show (= (steps 10) (steps 1000))) ; expect: #t
;;; case jacobian-by-columns-inside-others
(define (f x) (* (list->tensor '(1 2 3 4) 'f64) (* x x x)))
(show (gradient (lambda (x) (sumall (jacobian f x))) 2.)) ; expect: 120.0
(show (cdr (*j (lambda (x) (sumall (jacobian f x))) 2. 1.))) ; expect: 120.0
(show (cdr (j* (lambda (x) (sumall (jacobian f x))) 2. 1.))) ; expect: 120.0
(show (tensor->list (jacobian (lambda (x) (jacobian f x)) 2.))) ; expect: (12.0 24.0 36.0 48.0)
(define-derivative (double x) (value (* 2 x)) (reverse (y c) (list (* 2 c))))
(show (lists (jacobian (lambda (x) (list (double x) (double (* x x)))) 3.))) ; expect: (2.0 12.0)
;;; case keys-of-a-tangent
(j* (lambda (d) (dict-map (lambda (k v) (* v v)) d)) (dict 'a 1. 'b 3.) (dict 'x 1. 'y 7.))
; expect error: j\*: the tangent has x in the place of a, which stands for itself
;;; case keys-of-a-cotangent
(*j (lambda (d) (dict-map (lambda (k v) (* v v)) d)) (dict 'a 1. 'b 3.) (dict "a" 1. 'b 7.))
; expect error: \*j: the cotangent has "a" in the place of a, which stands for itself
;;; case keys-of-a-state
(*j-update (lambda (d) (* (dict-ref d 'a) (dict-ref d 'b))) (dict 'a 1. 'b 3.) 1 (momentum .1) (dict 'a 1. 'c 7.))
; expect error: \*j-update: the state has
;;; case texts-of-a-tangent
(write (j* (lambda (l) (list (car l) (* 2 (cadr l)))) (list "ab" 1.) (list (string-append "a" "b") 3.))) ; expect: (("ab" 2.0) "ab" 6.0)
