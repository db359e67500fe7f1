; Derivatives through tensors: the same in every mode, under every schedule, to the bit.
(define (show x) (write x) (newline))
(define (lists x) (cond ((tensor? x) (tensor->list x)) ((pair? x) (cons (lists (car x)) (lists (cdr x)))) (else x)))
(define t (list->tensor '((.1 .2 .3) (.4 .5 .6)) 'f64))
(define w (list->tensor '((.7 -.2 .3) (.4 .5 -.6)) 'f64))
(define y (list->tensor '((1 1 1) (1 2 3)) 'f64))
(define specs '("tape" "bisection,base=16" "binomial,base=16" "binomial,base=16,snapshots=1" "binomial,base=16,snapshots=3" "sqrt,base=16" "online,base=16" "auto" "budget" "budget,memory=1" "budget,memory=100KiB" "budget,memory=400KiB"))
(define (same-under-all f x y)
  (let ((want (*j f x y)))
    (null? (filter (lambda (spec) (not (equal? want (with-schedule spec (lambda () (checkpoint-*j f x y)))))) specs))))
(define (near? a b) (< (tensor->number (max-over (abs (- a b)))) 1e-12))
(define (from-to p from to) (if (> from to) '() (if (p from) (from-to p (+ from 1) to) (cons from (from-to p (+ from 1) to)))))
(define (bad-splits f x)
  (let ((want (f x)) (total (primops f x)))
    (from-to (lambda (n) (let ((z (interrupt f x n))) (and (equal? want (resume z)) (equal? want (resume z)) (= total (+ n (primops resume z))))))
             0 total)))
;;; case first-order
(show (lists (*j (lambda (x) (* x x)) (list->tensor '(1 2) 'f64) (list->tensor '(1 10) 'f64)))) ; expect: ((1.0 4.0) 2.0 40.0)
(show (lists (j* (lambda (x) (* x x)) (list->tensor '(1 2) 'f64) (list->tensor '(1 10) 'f64)))) ; expect: ((1.0 4.0) 2.0 40.0)
(show (lists (gradient sumall t))) ; expect: ((1.0 1.0 1.0) (1.0 1.0 1.0))
(show (lists (gradient (lambda (x) (* (car x) (sumall (cdr x)))) (cons 2 t)))) ; expect: (2.1 (2.0 2.0 2.0) (2.0 2.0 2.0))
(show (lists (*j (lambda (x) (list (car x) (cadr x) 1)) (list t w) (list 0 y 0)))) ; expect: ((((0.1 0.2 0.3) (0.4 0.5 0.6)) ((0.7 -0.2 0.3) (0.4 0.5 -0.6)) 1) 0 ((1.0 1.0 1.0) (1.0 2.0 3.0)))
;;; case each-path-is-a-place
(show (lists (gradient (lambda (x) (+ (sumall (car x)) (* 2 (sumall (cadr x))))) (list t t)))) ; expect: (((1.0 1.0 1.0) (1.0 1.0 1.0)) ((2.0 2.0 2.0) (2.0 2.0 2.0)))
;;; case what-does-not-matter-is-0
(show (cdr (*j (lambda (x) (car x)) (list t w) y))) ; expect any output
(show (cdr (*j (lambda (x) 5) t 1)))
;;; case integers-have-no-derivative
(show (lists (*j (lambda (x) (* (car x) (cast (cdr x) 'f64))) (cons (list->tensor '(2.) 'f64) (list->tensor '(3) 'i32)) (list->tensor '(1))))) ; expect: ((6.0) (3.0) . 0)
;;; case schedules
(define (layer x w) (+ (tanh (* x w)) (* .1 x)))
(define (net p) (let loop ((i 0) (x (car p))) (if (= i 40) x (loop (+ i 1) (layer x (cdr p))))))
(show (same-under-all net (cons t w) y)) ; expect: #t
(define (deep p) (let loop ((i 0)) (if (= i 30) (car p) (layer (loop (+ i 1)) (cdr p)))))
(show (same-under-all deep (cons t w) y)) ; expect: #t
(define (dense p) (let loop ((i 0) (x (car p))) (if (= i 20) (sumall (* x x)) (loop (+ i 1) (tanh (matmul x (cdr p)))))))
(define m (list->tensor '((.1 .2 -.3) (.3 -.1 .5) (.7 .2 .1)) 'f64))
(show (same-under-all dense (cons t m) 1)) ; expect: #t
;;; case numbers-and-tensors
(define (mixed p)
  (let loop ((i 0) (x (car p)) (s (cadr p)))
    (if (= i 20) (list x (* s s) (tensor->list x)) (loop (+ i 1) (+ (* s (sin x)) x) (+ s (car (cadr (tensor->list (* .01 x)))))))))
(show (same-under-all mixed (list t .5) (list y 1. '((1 0 2) (0 1 0))))) ; expect: #t
(define (packed p) (let loop ((i 0) (a (car p)) (x (cdr p))) (if (= i 15) (sumall x) (loop (+ i 1) (sin a) (* x (list->tensor (list a (* a a) 1.) 'f64))))))
(show (same-under-all packed (cons .5 t) 1)) ; expect: #t
;;; case captured-and-constant
(define (outside x) (let ((c (* 2 w))) (let loop ((i 0) (x x)) (if (= i 12) x (loop (+ i 1) (* (sin x) (+ c w)))))))
(show (same-under-all outside t y)) ; expect: #t
;;; case inside-capsules
(define (cut x) (let ((z (interrupt (lambda (x) (let loop ((i 0) (x x)) (if (= i 8) x (loop (+ i 1) (sin (* 2 x)))))) x 30))) (+ (resume z) (resume z))))
(show (same-under-all cut t y)) ; expect: #t
(show (bad-splits cut t)) ; expect: ()
(show (bad-splits (lambda (x) (*j cut x y)) t)) ; expect: ()
(show (bad-splits (lambda (x) (with-schedule "binomial,base=16,snapshots=2" (lambda () (checkpoint-*j cut x y)))) t)) ; expect: ()
(show (bad-splits (lambda (x) (j* cut x y)) t)) ; expect: ()
;;; case second-order
(define (h x) (sumall (* x (* x (exp x)))))
(define (dh x) (cdr (*j h x 1)))
(define second (* y (* (+ 2 (+ (* 4 t) (* t t))) (exp t))))
(show (near? second (cdr (*j dh t y)))) ; expect: #t
(show (near? second (cdr (j* dh t y)))) ; expect: #t
(show (near? second (cdr (*j (lambda (x) (cdr (j* h x y))) t 1)))) ; expect: #t
(show (near? (* y second) (list->tensor (list (list 1) (list 1)) 'f64))) ; expect: #f
(show (same-under-all dh t y)) ; expect: #t
(show (same-under-all (lambda (x) (cdr (checkpoint-*j h x 1))) t y)) ; expect: #t
(show (near? (hessian-vector h t y) second)) ; expect: #t
(show (tensor->list (hessian prod (list->tensor '(2. 3.) 'f64)))) ; expect: ((0.0 1.0) (1.0 0.0))
;;; case random-numbers-replay
(define (noisy x) (let loop ((i 0) (x x)) (if (= i 10) x (loop (+ i 1) (* (tanh x) (rand '(2 3) 'f64))))))
(show (equal? (lists (with-schedule "binomial,base=16,snapshots=2" (lambda () (cdr (checkpoint-*j noisy t y))))) 1)) ; expect: #f
;;; case auto-cuts-by-what-tensors-hold
; A thousand layers of 16 KiB, of which a quarter fits.
; flags: --memory=8MiB
(define (layers p) (let loop ((i 0) (x (car p))) (if (= i 1000) (sumall x) (loop (+ i 1) (tanh (+ x (cdr p)))))))
(define large (cons (fill '(64 64) .1) (fill '(64 64) .01)))
(define by-auto (checkpoint-*j layers large 1))
(show (equal? by-auto (with-schedule "bisection,base=64" (lambda () (checkpoint-*j layers large 1))))) ; expect: #t
;;; case lean-tapes-have-the-same-bits
; Attention, norms and activations of 8 KiB and more, some of which a lean tape does not keep.
(define width 32)
(define mask (- 1 (lower-triangle (fill '(64 64) 1 'f64))))
(define (attended x (list q k v))
  (+ x (matmul (fused-scale-mask-softmax (matmul (matmul x q) (transpose (matmul x k))) mask .2) (matmul x v))))
(define (block x (list scale shift attention up down))
  (let* ((x (attended (layer-normalization x scale shift) attention))
         (y (GeLU (matmul x up))))
    (+ x (matmul (sigmoid (* y (tanh y))) down))))
(define (some sizes) (* .2 (randn sizes 'f64)))
(define (parameters n)
  (build-list n (lambda (i) (list (some '(32)) (some '(32)) (list (some '(32 32)) (some '(32 32)) (some '(32 32))) (some '(32 64)) (some '(64 32))))))
(define (loss p) (mean (square (fold-left block (fill '(64 32) .1 'f64) p))))
(define p (parameters 10))
(define (within spec) (with-schedule spec (lambda () (checkpoint-*j loss p 1))))
(define whole (within "tape"))
(show (equal? whole (within "budget,memory=8MiB"))) ; expect: #t
(show (equal? whole (within "budget,memory=3MiB"))) ; expect: #t
(show (equal? whole (within "budget,memory=2MiB"))) ; expect: #t
(show (equal? whole (within "budget,memory=1500KiB"))) ; expect: #t
(show (equal? whole (with-memory 2000000 (lambda () (checkpoint-*j loss p 1))))) ; expect: #t
(show (equal? whole (with-memory 2e6 (lambda () (checkpoint-*j loss p 1))))) ; expect: #t
;;; case the-same-on-one-tape
; flags: --memory=8MiB
; expect exit: 3
(define (layers p) (let loop ((i 0) (x (car p))) (if (= i 1000) (sumall x) (loop (+ i 1) (tanh (+ x (cdr p)))))))
(*j layers (cons (fill '(64 64) .1) (fill '(64 64) .01)) 1) ; expect error: memory budget of 8.0 MiB exceeded
;;; case gradients-at-the-ends
(define (slopes f . l) (tensor->list (gradient (lambda (x) (sumall (f x))) (list->tensor l 'f64))))
(show (slopes GeLU-tanh 1e308 -1e308 +inf.0 -inf.0)) ; expect: (1.0 0.0 1.0 0.0)
(show (slopes GeLU +inf.0 -inf.0)) ; expect: (1.0 0.0)
(show (slopes SiLU 1e308 +inf.0)) ; expect: (1.0 1.0)
(show (slopes asinh 1e200)) ; expect: (1e-200)
(show (slopes (lambda (x) (logsumexp x)) -inf.0 -inf.0)) ; expect: (0.0 0.0)
(show (slopes (lambda (x) (logsumexp x)) -inf.0 2)) ; expect: (0.0 1.0)
;;; case a-tensor-of-integers-alone
(gradient (lambda (x) (sumall (* x 2))) (list->tensor '(1 2) 'i32)) ; expect error: #<tensor i32 \(2\).*> has no derivatives.*cast
;;; case integers-alone-under-tape
(*j (lambda (x) (* x 2)) (list->tensor '(1 2) 'u8) (list->tensor '(1 1))) ; expect error: #<tensor u8 \(2\).*> has no derivatives.*cast
;;; case a-derivative-of-a-derivative-whose-value-has-a-constant-tensor
(define (f x) (list (* x x x) (fill '(2) 1. 'f64)))
(define c (list 1 (fill '(2) 1. 'f64)))
(show (cdr (*j (lambda (x) (cdr (*j f x c))) 2. 1)))                       ; expect: 12.0
(show (cdr (checkpoint-*j (lambda (x) (cdr (checkpoint-*j f x c))) 2. 1))) ; expect: 12.0
(show (cdr (j* (lambda (x) (cdr (*j f x c))) 2. 1)))                       ; expect: 12.0
(show (cdr (*j (lambda (x) (cdr (j* (lambda (x) (cdr (*j f x c))) x 1))) 2. 1))) ; expect: 6.0
;;; case norms-beyond-the-range-of-squares
(define (slopes scale type p)
  (let ((f (lambda (x) (norm x '(0) #f p))) (x (list->tensor (list (* 3 scale) (* -4 scale) 0) type)))
    (list (tensor->list (cdr (*j f x (list->tensor 1 type)))) (tensor->number (cdr (j* f x (list->tensor '(0 1 0) type)))))))
(show (slopes 1e200 'f64 2))  ; expect: ((0.6000000000000001 -0.8 0.0) -0.8)
(show (slopes 1e-200 'f64 2)) ; expect: ((0.6 -0.8 0.0) -0.8)
(show (slopes 1e200 'f64 3))  ; expect: ((0.4448513517305355 -0.7908468475209521 0.0) -0.7908468475209521)
(show (slopes 1e-200 'f64 3)) ; expect: ((0.4448513517305355 -0.7908468475209521 0.0) -0.7908468475209521)
(show (slopes 10 'f32 400))   ; expect: ((0.0 -1.0 0.0) -1.0)
(show (slopes 1 'f64 3))      ; expect: ((0.4448513517305356 -0.7908468475209521 0.0) -0.7908468475209521)
;;; case second-derivatives-of-norms-beyond-the-range-of-squares
(define (bent scale type p)
  (let ((f (lambda (x) (norm x '(0) #f p))) (x (list->tensor (list (* 3 scale) (* -4 scale) 0) type)) (one (list->tensor 1 type)) (first (list->tensor '(1 0 0) type)))
    (list (tensor->number (cdr (j* f x x)))
          (tensor->list (* scale (cdr (*j (lambda (x) (dot first (cdr (*j f x one)))) x 1))))
          (tensor->list (* scale (cdr (j* (lambda (x) (cdr (*j f x one))) x first)))))))
(show (bent 1 'f64 2)) ; expect: (5.0 (0.128 0.096 0.0) (0.128 0.096 0.0))
(show (bent 1e200 'f64 2)) ; expect: (5e+200 (0.128 0.09600000000000002 0.0) (0.128 0.09600000000000002 0.0))
(show (bent 1e-200 'f64 2)) ; expect: (4.9999999999999993e-200 (0.128 0.096 0.0) (0.128 0.096 0.0))
(show (bent 1e-30 'f32 2)) ; expect: (5.000000015855384e-30 (0.12799999117851257 0.09600000828504562 0.0) (0.12799999117851257 0.09600000828504562 0.0))
(show (bent 1 'f64 3)) ; expect: (4.497941445275416 (0.20857499275277855 0.156431244564584 0.0) (0.20857499275277855 0.156431244564584 0.0))
(show (bent 1e200 'f64 3)) ; expect: (4.4979414452754146e+200 (0.20857499275277855 0.15643124456458396 0.0) (0.20857499275277855 0.15643124456458396 0.0))
(show (bent 1e-200 'f64 3)) ; expect: (4.4979414452754153e-200 (0.20857499275277855 0.15643124456458393 0.0) (0.20857499275277855 0.15643124456458393 0.0))
;;; case no-derivative-passes-through-constants
(show (cdr (*j (lambda (x) (modulo x 3.)) 4. 1)))                        ; expect: 0
(show (cdr (*j (lambda (x) (exact (* 2 x))) 4. 1)))                      ; expect: 0
(show (cdr (*j (lambda (x) (* 2 (inexact x))) 4. 1)))                    ; expect: 2.0
(show (cdr (*j (lambda (x) (sumall (fill '(2) x 'f64))) 4. 1)))          ; expect: 0
(show (cdr (*j (lambda (x) (sumall (* x (fill '(2) 1. 'f64)))) 4. 1)))   ; expect: 2.0
;;; case a-planned-gradient-inside-one-that-is-cut
; What a plan is made from is the same in every replay: else the inner gradient goes other ways in a replay and loses its cotangent.
(define (net w x) (let loop ((i 0) (x x)) (if (= i 20) (sumall (square x)) (loop (+ i 1) (tanh (+ x (matmul x w)))))))
(define (train w)
  (let loop ((k 0) (w w))
    (if (= k 4) (sumall (square w)) (loop (+ k 1) (- w (* .01 (cdr (checkpoint-*j (lambda (w) (net w (fill '(4 32) .3))) w 1.))))))))
(define w (* .1 (randn '(32 32))))
(define (planned w) (with-schedule "budget,memory=150KiB" (lambda () (train w))))
(define whole (with-schedule "tape" (lambda () (checkpoint-*j train w 1.))))
(for-each (lambda (s) (show (equal? whole (with-schedule s (lambda () (checkpoint-*j planned w 1.))))))
          '("bisection,base=16" "bisection,base=1000" "binomial,base=700,snapshots=3" "budget,memory=150KiB"))
; expect: #t
; expect: #t
; expect: #t
; expect: #t
