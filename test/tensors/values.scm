; Operators on tensors, forward. Numbers as lists, so that the residence does not show.
(define (show t) (write (if (tensor? t) (tensor->list t) t)) (newline))
(define t (list->tensor '((1 2 3) (4 5 6))))
(define u (list->tensor '(1.5 -2 0) 'f64))
;;; case lists-and-numbers
(show t) ; expect: ((1.0 2.0 3.0) (4.0 5.0 6.0))
(show (list->tensor '#(#(1 2) (3 4)) 'i64)) ; expect: ((1 2) (3 4))
(show (list->tensor 5)) ; expect: 5.0
(show (list->tensor '())) ; expect: ()
(show (size (list->tensor '(() ())))) ; expect: (2 0)
(show (tensor->number (list->tensor '((7)) 'u8))) ; expect: 7
(show (map (lambda (t) (tensor->list (- t 1))) (list (list->tensor '(0 200) 'u8) (list->tensor '(-128 1) 'i8) (list->tensor '(.5))))) ; expect: ((255 199) (127 0) (-0.5))
(show (map tensor-type (list t u (< t 3) (list->tensor '(1) 'bf16)))) ; expect: (f32 f64 u8 bf16)
(show (map tensor? (list t 1 '(1) (sum t)))) ; expect: (#t #f #f #t)
(show (size t)) ; expect: (2 3)
;;; case arithmetic
(show (+ t 1)) ; expect: ((2.0 3.0 4.0) (5.0 6.0 7.0))
(show (- 10 t)) ; expect: ((9.0 8.0 7.0) (6.0 5.0 4.0))
(show (* t t)) ; expect: ((1.0 4.0 9.0) (16.0 25.0 36.0))
(show (/ u 2)) ; expect: (0.75 -1.0 0.0)
(show (- u)) ; expect: (-1.5 2.0 -0.0)
(show (+ t u)) ; expect: ((2.5 0.0 3.0) (5.5 3.0 6.0))
(show (+ t u t)) ; expect: ((3.5 2.0 6.0) (9.5 8.0 12.0))
(show (apply + (list u u u))) ; expect: (4.5 -6.0 0.0)
(show (max u 1)) ; expect: (1.5 1.0 1.0)
(show (abs u)) ; expect: (1.5 2.0 0.0)
(show (expt u 2)) ; expect: (2.25 4.0 0.0)
(show (sqrt (list->tensor '(4 9) 'f64))) ; expect: (2.0 3.0)
(show (< t 3)) ; expect: ((1 1 0) (0 0 0))
(show (>= t 3)) ; expect: ((0 0 1) (1 1 1))
(show (= u (list->tensor '(1.5 2 0)))) ; expect: (1 0 1)
(show (where (< u 0) 7 u)) ; expect: (1.5 7.0 0.0)
(show (ReLU u)) ; expect: (1.5 0.0 0.0)
(show (LeakyReLU u .5)) ; expect: (1.5 -1.0 0.0)
(show (LeakyReLU (list->tensor '(-inf.0 +nan.0 -2. 3.)) 0.)) ; expect: (-0.0 +nan.0 -0.0 3.0)
(show (map tensor->list (map square (list u)))) ; expect: ((2.25 4.0 0.0))
;;; case promotion
(define (type a b) (tensor-type (+ (list->tensor '(1) a) (list->tensor '(1) b))))
(show (map type '(u8 u8 i32 i64 i32 bf16 bf16 bf16 f32) '(i8 i32 f32 i8 bf16 u8 f32 i16 f64))) ; expect: (i16 i32 f64 i64 f32 bf16 f32 f32 f64)
(show (tensor-type (+ (list->tensor '(1) 'i32) 1))) ; expect: i32
(show (tensor-type (+ (list->tensor '(1) 'i32) 1.5))) ; expect: f64
(show (tensor-type (/ (list->tensor '(1) 'i32) 2))) ; expect: f64
(show (cast u 'i8)) ; expect: (1 -2 0)
;;; case numbers-beside-integers
(define bytes (list->tensor '(1 2) 'i8))
(show (+ bytes -128)) ; expect: (-127 -126)
(show (* 127 bytes)) ; expect: (127 -2)
(show (< bytes 300)) ; expect: (1 1)
(show (= bytes 300)) ; expect: (0 0)
(show (where (list->tensor '(1 0)) bytes 127)) ; expect: (1 127)
(show (tensor-type (/ bytes 300))) ; expect: f32
(show (+ (list->tensor '(1) 'i32) 300000)) ; expect: (300001)
(show (+ bytes 300.)) ; expect: (301.0 302.0)
;;; case views
(show (view t '(3 -1))) ; expect: ((1.0 2.0) (3.0 4.0) (5.0 6.0))
(show (transpose t)) ; expect: ((1.0 4.0) (2.0 5.0) (3.0 6.0))
(show (view (transpose t) '(2 3))) ; expect: ((1.0 4.0 2.0) (5.0 3.0 6.0))
(show (permute (view t '(1 2 3)) '(2 0 1))) ; expect: (((1.0 4.0)) ((2.0 5.0)) ((3.0 6.0)))
(show (narrow-tensor t 1 1 2)) ; expect: ((2.0 3.0) (5.0 6.0))
(show (expand-tensor (narrow-tensor t 0 1 1) '(2 2 3))) ; expect: (((4.0 5.0 6.0) (4.0 5.0 6.0)) ((4.0 5.0 6.0) (4.0 5.0 6.0)))
(show (concat-tensors (list t t) 0)) ; expect: ((1.0 2.0 3.0) (4.0 5.0 6.0) (1.0 2.0 3.0) (4.0 5.0 6.0))
(show (pad t '(0 -1) '(1 1) 9)) ; expect: ((2.0 3.0 9.0) (5.0 6.0 9.0) (9.0 9.0 9.0))
;;; case sums-and-products
(show (sum t)) ; expect: 21.0
(show (sum t 0)) ; expect: (5.0 7.0 9.0)
(show (sum t '(0 1) #t)) ; expect: ((21.0))
(show (mean t -1)) ; expect: (2.0 5.0)
(show (max-over t)) ; expect: 6.0
(show (matmul t (transpose t))) ; expect: ((14.0 32.0) (32.0 77.0))
(show (matmul t (list->tensor '(1 0 -1)))) ; expect: (-2.0 -2.0)
(show (dot u u)) ; expect: 6.25
(show (sumall t)) ; expect: 21.0
(show (max-value u)) ; expect: 1.5
(show (outer (list->tensor '(1 2)) (list->tensor '(3 4)))) ; expect: ((3.0 4.0) (6.0 8.0))
(show (addmv (list->tensor '(1 1)) t (list->tensor '(1 0 0)))) ; expect: (2.0 5.0)
(show (baddbmm 1 (view t '(1 2 3)) (view t '(1 3 2)))) ; expect: (((23.0 29.0) (50.0 65.0)))
(show (sum (softmax t) 1)) ; expect: (1.0 1.0)
;;; case new-tensors
(show (fill '(2) 3)) ; expect: (3.0 3.0)
(show (tensor-type (fill '(2) 3 'i16))) ; expect: i16
(show (size (randn '(2 0 3)))) ; expect: (2 0 3)
(show (equal? (randn '(3)) (randn '(3)))) ; expect: #f
(show (let ((r (rand '(1000)))) (list (tensor->number (sum (< r 0))) (tensor->number (sum (>= r 1)))))) ; expect: (0 0)
(show (< (abs (tensor->number (mean (randn '(10000) 'f64)))) .05)) ; expect: #t
;;; case names-of-scorch
(define c (list->cpu-double-tensor '(1 2)))
(show c) ; expect: (1.0 2.0)
(show (map (lambda (f) (f c)) (list cpu-double-tensor? cpu-float-tensor? gpu-double-tensor? cpu-byte-tensor?))) ; expect: (#t #f #f #f)
(show (tensor-type (cpu-long c))) ; expect: i64
(show (fill-cpu-int '(2) 3)) ; expect: (3 3)
(show (size (randn-cpu-float '(2 2)))) ; expect: (2 2)
(show (normal-cpu-double '(2) 5 0)) ; expect: (5.0 5.0)
;;; case equality
(show (equal? t (list->tensor '((1 2 3) (4 5 6))))) ; expect: #t
(show (equal? t (list->tensor '((1 2 3) (4 5 6)) 'f64))) ; expect: #f
(show (eqv? u (+ u 0.))) ; expect: #t
(show (equal? (list t 1) (list (+ t 1) 1))) ; expect: #f
;;; case memory-used-again-is-not-seen
(define (loop i x) (if (= i 0) x (loop (- i 1) (+ (* x x) 1))))
(show (let* ((a (list->tensor '(1 2) 'f64)) (b (loop 3 a))) (list (tensor->list a) (tensor->list b)))) ; expect: ((1.0 2.0) (26.0 677.0))
(show (let* ((a (list->tensor '(1 2) 'f64)) (v (view a '(2 1))) (b (+ a 1))) (map tensor->list (list v b)))) ; expect: (((1.0) (2.0)) (2.0 3.0))
;;; case steps
(define halves (list->tensor '(-1.5 -.5 .5 1.5 2.5) 'f64))
(show (map tensor->list (list (floor halves) (ceiling halves) (truncate halves) (round halves)))) ; expect: ((-2.0 -1.0 0.0 1.0 2.0) (-1.0 -0.0 1.0 2.0 3.0) (-1.0 -0.0 0.0 1.0 2.0) (-2.0 -0.0 0.0 2.0 2.0))
(show (floor (list->tensor '(3 -4) 'i32))) ; expect: (3 -4)
(show (cdr (*j (lambda (x) (* x (floor x))) halves (fill 5 1 'f64)))) ; expect: (-2.0 -1.0 0.0 1.0 2.0)
(show (tensor->list (cdr (j* (lambda (x) (* x (floor x))) halves (fill 5 1 'f64))))) ; expect: (-2.0 -1.0 0.0 1.0 2.0)
(show (not-equal u (list->tensor '(1.5 2 0)))) ; expect: (0 1 0)
;;; case draws
(show (categorical (list->tensor '((0 0 1000) (1000 0 0)) 'f32))) ; expect: (2 0)
(show (categorical (list->tensor '(0 1000) 'f64))) ; expect: 1
(define draws (categorical (expand-tensor (log (list->tensor '(.2 .3 .5) 'f64)) (list 20000 3))))
(show (size draws)) ; expect: (20000)
(define (near? index share) (< (abs (- (tensor->number (mean (cast (= draws index) (quote f64)))) share)) .02))
(show (list (near? 0 .2) (near? 1 .3) (near? 2 .5))) ; expect: (#t #t #t)
(show (< 485 (tensor->number (mean (cast (categorical (fill '(20000 1000) 0 'bf16)) 'f64))) 515)) ; expect: #t
;;; case slices
(show (slice t 1 0 3 2)) ; expect: ((1.0 3.0) (4.0 6.0))
(show (slice t -1 1 3)) ; expect: ((2.0 3.0) (5.0 6.0))
(show (map tensor->list (split t 1 2))) ; expect: (((1.0 2.0) (4.0 5.0)) ((3.0) (6.0)))
(show (gradient (lambda (x) (sumall (square (slice x 1 0 3 2)))) t)) ; expect: ((2.0 0.0 6.0) (8.0 0.0 12.0))
(show (index-of-max (list->tensor '((1 5) (7 2))))) ; expect: 2
(show (index-of-max t 0)) ; expect: (1 1 1)
(show (resize t '(3 2))) ; expect: ((1.0 2.0) (3.0 4.0) (5.0 6.0))
;;; case interpolation
(define x (list->tensor '(((1 2 3 4))) 'f64))
(define square-of-two (list->tensor '((((1 2) (3 4))))))
(show (interpolate x 2 'nearest)) ; expect: (((1.0 1.0 2.0 2.0 3.0 3.0 4.0 4.0)))
(show (interpolate x 2)) ; expect: (((1.0 1.25 1.75 2.25 2.75 3.25 3.75 4.0)))
(show (interpolate x 1.75 'linear #t)) ; expect: (((1.0 1.5 2.0 2.5 3.0 3.5 4.0)))
(show (interpolate x '(.5))) ; expect: (((1.5 3.5)))
(show (interpolate-to-size square-of-two '(2 3) 'bilinear #t)) ; expect: ((((1.0 1.5 2.0) (3.0 3.5 4.0))))
(show (interpolate-to-size x 3 'nearest)) ; expect: (((1.0 2.0 3.0)))
(show (upsample-nearest square-of-two '(1 2))) ; expect: ((((1.0 1.0 2.0 2.0) (3.0 3.0 4.0 4.0))))
(show (downsample-nearest x 2)) ; expect: (((1.0 3.0)))
(show (decimate x 3)) ; expect: (((1.0 4.0)))
(show (decimate square-of-two 1 2)) ; expect: ((((1.0) (3.0))))
(show (gradient (lambda (x) (sumall (square (interpolate x 2)))) x)) ; expect: (((4.75 8.0 12.0 15.25)))
(show (adaptive-max-pool x 2)) ; expect: (((2.0 4.0)))
(show (map tensor->list (initialize-batch-normalization 2))) ; expect: ((1.0 1.0) (0.0 0.0) (0.0 0.0) (1.0 1.0))
(show (map tensor-type (initialize-batch-normalization 2 'f64))) ; expect: (f64 f64 f64 f64)
(show (cholesky (list->tensor '((1 1) (1 1)) 'f64))) ; expect: ((1.0 0.0) (1.0 +nan.0))
;;; case derivatives-at-zeros
(define z (list->tensor '(0 3 0) 'f64))
(define (product x) (tensor->number (prod x)))
(show (gradient product z)) ; expect: (0.0 0.0 0.0)
(show (cdr (j* (lambda (x) (gradient product x)) z (list->tensor '(1 0 2) 'f64)))) ; expect: (6.0 0.0 3.0)
(show (cdr (j* (lambda (x) (cdr (j* prod x (list->tensor '(1 0 0) 'f64)))) z (list->tensor '(0 0 1) 'f64)))) ; expect: 3.0
(show (cdr (*j (lambda (x) (cdr (j* prod x (list->tensor '(1 0 0) 'f64)))) z 1))) ; expect: (0.0 0.0 3.0)
(define singular (list->tensor '((1 2) (2 4)) 'f64))
(show (cdr (j* (lambda (x) (gradient (lambda (y) (tensor->number (determinant y))) x)) singular (list->tensor '((1 0) (0 0)) 'f64)))) ; expect: ((0.0 0.0) (0.0 1.0))
(show (cdr (j* determinant singular (list->tensor '((1 1) (0 1)) 'f64)))) ; expect: 3.0
;;; case conversions
(define (as type . l) (tensor->list (cast (list->tensor l 'f64) type)))
(show (as 'i64 1e30 -1e30 +inf.0 -inf.0 +nan.0 -1.9)) ; expect: (9223372036854775808.0 -9223372036854775808.0 9223372036854775808.0 -9223372036854775808.0 0 -1)
(show (as 'i32 1e30 -1e30 2147483647.9 -2147483649 +nan.0)) ; expect: (2147483647 -2147483648 2147483647 -2147483648 0)
(show (as 'u8 300 -1 255.9 +inf.0 +nan.0)) ; expect: (255 0 255 255 0)
(show (as 'i8 300 -300 -128.5 127.5)) ; expect: (127 -128 -128 127)
(show (map (lambda (type) (tensor->number (fill '() 1e30 type))) '(u8 i8 i16 i32))) ; expect: (255 127 32767 2147483647)
(show (list->tensor '(300 -300) 'i8)) ; expect: (127 -128)
(show (pad (list->tensor '(1) 'u8) '(1) '(0) 300)) ; expect: (255 1)
(show (cast (list->tensor '(300 -1) 'i32) 'u8)) ; expect: (44 255)
(show (list->tensor '(140737488355327 140737488355328 -140737488355328) 'i64)) ; expect: (140737488355327 140737488355328.0 -140737488355328)
;;; case signs-of-denormals
(show (sign (list->tensor '(1e-310 -1e-310 0. 2. -3. +nan.0) 'f64))) ; expect: (0.0 0.0 0.0 1.0 -1.0 +nan.0)
;;; case quotients-of-integers
(define (quotient-type type) (tensor-type (/ (list->tensor '(1) type) (list->tensor '(2) type))))
(show (map quotient-type '(u8 i8 i16 i32 i64))) ; expect: (f32 f32 f32 f64 f64)
;;; case norms-beyond-the-range-of-squares
(show (tensor->list (norm (list->tensor '((3e200 -4e200) (3 4)) 'f64) '(1))))  ; expect: (4.9999999999999995e+200 5.0)
(show (tensor->list (norm (list->tensor '((3e200 3) (-4e200 4)) 'f64) '(0))))  ; expect: (4.9999999999999995e+200 5.0)
(show (norm (list->tensor '(3e-200 -4e-200) 'f64)))                             ; expect: 5e-200
(show (norm (list->tensor '(1e308 1e308 1e308 1e308) 'f64)))                    ; expect: +inf.0
(show (norm (list->tensor '(-inf.0 1) 'f64)))                                   ; expect: +inf.0
(show (norm (list->tensor '(1e200 +nan.0) 'f64)))                               ; expect: +nan.0
(show (norm (list->tensor '(0 0) 'f64)))                                        ; expect: 0.0
(show (norm (expand-tensor (list->tensor '(1e-170) 'f64) '(100000))))           ; expect: 3.1622776601683794e-168
(show (norm (list->tensor '(1e20 0) 'f32) '(0) #f 3))                           ; expect: 100000002004087734272.0
(show (norm (list->tensor '(10 -40) 'f32) '(0) #f 400))                         ; expect: 40.0
;;; case tensors-without-axes-and-numbers
(define m (list->tensor '((2 1) (1 2)) 'f64))
(show (map (lambda (t) (and (tensor? t) (null? (size t)))) (list (sum u) (mean u) (max-over u) (min-over u) (prod u) (norm u) (logsumexp u) (variance u) (argmax u) (argmin u)
  (matmul u u) (determinant m) (mean-squared-error u u) (+ (sum u) 1)))) ; expect: (#t #t #t #t #t #t #t #t #t #t #t #t #t #t)
(show (map number? (list (tensor->number (sum u)) (tensor->list (sum u)) (sumall u) (max-value u) (dot u u) (index-of-max u) (max 1 2)))) ; expect: (#t #t #t #t #t #t #t)
;;; case products-of-bytes
(define bytes (list->tensor '(200 200 200) 'u8))
(show (list (dot bytes (list->tensor '(2 2 2) 'u8)) (tensor->number (sum (* bytes 2))) (tensor->number (matmul bytes (list->tensor '(2 2 2) 'u8)))
  (dot (cast bytes 'i64) (list->tensor '(2 2 2) 'u8)) (sumall bytes))) ; expect: (432 432 176 1200 600)
;;; case differences-with-constants
(show (- (list->tensor '(5 6) 'u8) 2)) ; expect: (3 4)
(show (- (list->tensor '(5 6) 'u8) 2 1)) ; expect: (2 3)
(show (- (list->tensor '(-128 -1) 'i8) -128)) ; expect: (0 127)
(show (+ (list->tensor '(5 6) 'u8) 2)) ; expect: (7 8)
;;; case one-element-where-a-number-is-wanted
(define u (list->tensor '(1.5 2.5)))
(show (size (write-real (mean u))))
; expect: 2.0
; expect: ()
(show (size (write-real (sum (list->tensor '(3 4) 'i64) 0 #t))))
; expect: 7
; expect: (1)
(show (record-loss (record-loss '() (mean u)) (sum u))) ; expect: (2.0 . 1)
(show (format "~6,2f|~f" (mean u) (sum u))) ; expect: "  2.00|4.000000"
(show (tensor->list (cdr (*j (lambda (x) (mean (square x))) u 1)))) ; expect: (1.5 2.5)
(show (tensor->list (cdr (checkpoint-*j (lambda (x) (sum (square x) 0 #t)) u 2)))) ; expect: (6.0 10.0)
(show (cadr (*j-update (lambda (x) (cons (mean x) 5)) u '(2 . 0) (lambda (x c s) (cons (- x c) '())) '()))) ; expect: (0.5 1.5)
;;; case divisions
(define a (list->tensor '(7 -7 7 -7 0) 'i64))
(define b (list->tensor '(2 2 -2 -2 3) 'i64))
(show (quotient a b)) ; expect: (3 -3 -3 3 0)
(show (remainder a b)) ; expect: (1 -1 1 -1 0)
(show (modulo a b)) ; expect: (1 1 -1 -1 0)
(define (by-numbers f) (map f (tensor->list a) (tensor->list b)))
(show (map (lambda (f) (equal? (tensor->list (f a b)) (by-numbers f))) (list quotient remainder modulo))) ; expect: (#t #t #t)
(define large (list->tensor '(140737488355327 -140737488355327) 'i64))
(show (modulo (+ (* large 60000) 1) 10)) ; expect: (1 1)
(show (map tensor->list (list (quotient a 0.5) (modulo (list->tensor '(5.5 -5.5)) 2)))) ; expect: ((14.0 -14.0 14.0 -14.0 0.0) (1.5 0.5))
(show (map tensor-type (list (quotient (cast a 'i8) (cast b 'i16)) (modulo 7 (cast b 'i32)) (remainder a 2.)))) ; expect: (i16 i32 f64)
(show (quotient (list->tensor '((7) (9)) 'i64) (list->tensor '(2 4) 'i64))) ; expect: ((3 1) (4 2))
(show (list (tensor->list (quotient a (list->tensor '(0 0 0 0 0) 'i64))) (tensor->list (modulo a (list->tensor '(0 0 0 0 0) 'i64))))) ; expect: ((0 0 0 0 0) (0 0 0 0 0))
(show (tensor->list (quotient (cast (list->tensor '(-128 127)) 'i8) (list->tensor '(-1 -1) 'i8)))) ; expect: (-128 -127)
(show (cdr (*j (lambda (x) (* x (modulo x 3.))) (list->tensor '(4 8.5) 'f64) (fill '(2) 1 'f64)))) ; expect: (1.0 2.5)
;;; case ranges-of-a-type
(show (map tensor-type (list (arange 3) (arange 3 'i64) (arange 1 3 'f64) (arange 0 6 2 'i32) (linspace 0 1 3 'f64)))) ; expect: (f32 i64 f64 i32 f64)
(define (listed n x step type) (list->tensor (iota n x step) type))
(show (map (lambda (type) (equal? (arange 10001 type) (listed 10001 0 1 type))) '(i32 i64 bf16 f32 f64))) ; expect: (#t #t #t #t #t)
(show (list (equal? (arange 90000 5 -7 'f64) (listed 12857 90000 -7 'f64)) (equal? (arange 0 1 .0001) (listed 10000 0 .0001 'f32)))) ; expect: (#t #t)
(show (map tensor->list (list (arange 1 3 'i64) (arange 0 1 .5 'f64 'cpu) (linspace 0 1 1 'f64)))) ; expect: ((1 2) (0.0 0.5) (0.0))
;;; case split-into-sizes
(show (map tensor->list (split t 1 '(2 1)))) ; expect: (((1.0 2.0) (4.0 5.0)) ((3.0) (6.0)))
(show (map size (split t -1 '(0 3)))) ; expect: ((2 0) (2 3))
;;; case quantiles
(define q (list->tensor '((3 1 2 10) (5 5 0 1)) 'f64))
(show (tensor->list (median q))) ; expect: 2.5
(show (median q 1)) ; expect: (2.5 3.0)
(show (tensor->list (quantile (list->tensor '(4 1 3) 'i64) .25))) ; expect: 2.0
(show (map (lambda (p) (tensor->list (quantile q p -1))) '(0 1))) ; expect: ((1.0 0.0) (10.0 5.0))
(show (tensor->list (quantile (list->tensor '(1 +inf.0 2)) .5))) ; expect: 2.0
(show (gradient (lambda (x) (sumall (median x 1))) q)) ; expect: ((0.5 0.0 0.5 0.0) (0.5 0.0 0.0 0.5))
;;; case many-numbers-take-the-memory-of-their-tensor
; flags: --memory=1MiB
(display (sumall (arange 20000 'f64))) ; expect: 199990000.0
