; What a tape keeps in a smaller form, or does without: gradients are the same to the bit under every schedule and at every other split, and right.
; timeout: 300
(define (show x) (write x) (newline))
(define specs '("tape" "bisection,base=16" "binomial,base=16" "binomial,base=16,snapshots=2" "sqrt,base=16" "online,base=16" "auto" "budget" "budget,memory=1" "budget,memory=100KiB" "budget,memory=400KiB"))
(define (same-under-all f x)
  (let ((want (*j f x 1)))
    (null? (filter (lambda (spec) (not (equal? want (with-schedule spec (lambda () (checkpoint-*j f x 1)))))) specs))))
(define (bad-splits f x)
  (let ((want (f x)) (total (primops f x)))
    (let loop ((n 0) (bad '()))
      (if (> n total)
          bad
          (loop (+ n 2)
                (let ((z (interrupt f x n)))
                  (if (and (equal? want (resume z)) (equal? want (resume z)) (= total (+ n (primops resume z)))) bad (cons n bad))))))))
(define (bad-under-splits f x)
  (append (bad-splits (lambda (x) (*j f x 1)) x)
          (bad-splits (lambda (x) (with-schedule "binomial,base=16,snapshots=2" (lambda () (checkpoint-*j f x 1)))) x)))
(define (wave type . sizes) (cast (view (sin (* .37 (list->tensor (iota (apply * sizes)) 'f64))) sizes) type))
; Of what lies in another order than its cotangent.
(define (turned-behind pick)
  (let ((x (randn '(1 1 32 32) 'f32 'cpu 1)) (k (randn '(4 1 3 3) 'f32 'cpu 4)))
    (lambda (w) (sumall (convolve (transpose (pick (convolve x w)) 2 3) k 1 1 1 4)))))
;;; case rectified-and-pooled
; Nobody but the rule of ReLU and that of the pool wants what is rectified, so bits and places do; in the last line somebody else does.
(define (network images)
  (lambda ((list v w))
    (let* ((x (max-pool (ReLU (convolve images v 1 1)) 2))
           (y (max-pool (LeakyReLU (convolve x w 1 1) .2) 3 2 1)))
      (mean (square y)))))
(define (branched images)
  (lambda ((list v w))
    (let* ((x (ReLU (convolve images v 1 1))) (y (max-pool x 3 1 1)))
      (+ (mean (square (convolve (- y x) w 1 1))) (mean (max-pool x 2))))))
(define (check network type)
  (let ((f (network (wave type 2 12 16 16))) (x (list (* .3 (wave type 24 12 3 3)) (* .2 (wave type 12 24 3 3)))))
    (show (list (same-under-all f x) (bad-under-splits f x)))))
(check network 'f32) ; expect: (#t ())
(check network 'f64) ; expect: (#t ())
(check branched 'f32) ; expect: (#t ())
(if (not (check-gradient (network (wave 'f64 1 12 12 12)) (list (* .3 (wave 'f64 16 12 3 3)) (* .2 (wave 'f64 8 16 3 3))))) (error "not its gradient")) ; expect any output
(if (not (check-gradient (branched (wave 'f64 1 12 12 12)) (list (* .3 (wave 'f64 16 12 3 3)) (* .2 (wave 'f64 8 16 3 3))))) (error "not its gradient")) ; expect any output
;;; case cotangents-in-another-order
; Results of convolutions have channels last; what is transposed behind them has cotangents in another order, and the product's sum goes by it.
(for-each (lambda (pick) (show (same-under-all (turned-behind pick) (randn '(4 1 1 1) 'f32 'cpu 2)))) (list ReLU LeakyReLU (lambda (y) (max-pool (ReLU y) 2)) (lambda (y) (ReLU (transpose y 2 3)))))
; expect: #t
; expect: #t
; expect: #t
; expect: #t

;;; case the-larger-and-the-smaller
; Bits say which operand was taken: of two tensors, also where they are equal or one is a NaN; of a tensor and a number, which may be wanted, too; where one is stretched; and in another order of elements.
(define (clipped x low high) (min (max x low) high))
(define (maxout x) (max (narrow-tensor x 1 0 4) (narrow-tensor x 1 4 4)))
(define (chosen images pick)
  (lambda ((list v w))
    (let* ((x (max-pool (pick (convolve images v 1 1)) 2)) (y (+ (pick (convolve x w 1 1)) 0)))
      (+ (sumall y) (mean (square (max-pool y 2)))))))
(define (coarse x) (* .125 (round (* 8 x))))
(define (of-both narrower) (list (* .3 (wave 'f32 8 4 3 3)) (* .2 (wave 'f32 8 narrower 3 3))))
(define bias (wave 'f32 8 1 1))
(for-each
 (lambda ((list pick narrower))
   (let ((f (chosen (wave 'f32 2 4 16 16) pick)) (x (of-both narrower)))
     (show (list (same-under-all f x) (bad-under-splits f x)))))
 (list (list (lambda (x) (clipped x -.5 .5)) 8)
       (list (lambda (x) (maxout (coarse x))) 4)
       (list (lambda (x) (min bias (max (sin x) (cos x)))) 8)
       (list (lambda (x) (max (transpose x 2 3) (* .5 (transpose x 2 3)))) 8)
       (list (lambda (x) (max (ReLU x) (LeakyReLU (max x (/ 0. 0.)) .5))) 8)))
; expect: (#t ())
; expect: (#t ())
; expect: (#t ())
; expect: (#t ())
; expect: (#t ())
(for-each (lambda (pick) (show (same-under-all (turned-behind pick) (randn '(4 1 1 1) 'f32 'cpu 2))))
          (list (lambda (y) (max y 0))
                (lambda (y) (min (transpose y 2 3) (* 2 (transpose y 2 3))))
                (lambda (y) (max y (transpose y 2 3)))
                (lambda (y) (max-pool (max y (sin y)) 2))))
; expect: #t
; expect: #t
; expect: #t
; expect: #t
; The number is an operand whose cotangent is a sum; at ties it is the first operand's.
(define (to-number x) (lambda (t) (let ((y (+ (* 3 (max t (* 2 x))) 0))) (mean (square (+ y 0))))))
(show (same-under-all (to-number (wave 'f32 40 50)) .25)) ; expect: #t
(if (not (check-gradient (to-number (wave 'f64 40 50)) .25)) (error "not its gradient")) ; expect any output
(define (ties pick) (cdr (*j (lambda (x) (let* ((x (+ x 0)) (y (+ (pick x (+ x 0)) 0))) (sumall (+ y 0)))) (wave 'f32 40 50) 1.)))
(define (takes-all pick) (= (sumall (ties pick)) 2000))
(show (list (takes-all max) (takes-all min) (takes-all (lambda (x y) (max y x))))) ; expect: (#t #t #t)
; Derivatives of gradients, forwards and backwards.
(define (bent w) (lambda (x) (let* ((y (matmul x w)) (z (clipped (* y (sin y)) -.5 (max y .25)))) (mean (* z (square (+ z 0)))))))
(define (of-gradient f) (lambda (x) (let* ((c (cdr (*j f x 1.))) (d (+ (max c (* .1 c)) 0))) (sumall (square (+ d 0))))))
(define start (* .5 (wave 'f64 32 24)))
(show (same-under-all (of-gradient (bent (wave 'f64 24 40))) start)) ; expect: #t
(show (bad-under-splits (of-gradient (bent (wave 'f32 24 40))) (cast start 'f32))) ; expect: ()
(if (not (check-gradient (of-gradient (bent (wave 'f64 24 40))) start)) (error "not its gradient")) ; expect any output
(show (let* ((f (bent (wave 'f64 24 40))) (d (wave 'f64 32 24)) (forward (cdr (j* (lambda (x) (cdr (*j f x 1.))) start d)))) (equal? forward (cdr (j* (lambda (x) (cdr (checkpoint-*j f x 1.))) start d))))) ; expect: #t

;;; case done-without
; Normalised tensors, activations, weights of attention, cells: all are computed again, chains of them as well.
(define (block x (list scale shift up down))
  (let* ((y (layer-normalization x scale shift)) (a (softmax (* .25 (matmul y (transpose y))))))
    (+ x (matmul (GeLU (matmul (matmul a y) up)) down))))
(define (stack x) (lambda (p) (mean (square (block (block x p) p)))))
(define (of-block type) (list (+ 1 (wave type 24)) (wave type 24) (* .2 (wave type 24 40)) (* .2 (wave type 40 24))))
(define (cells gates)
  (lambda (start)
    (let loop ((i 0) (c start) (sum 0))
      (if (= i 14) (mean sum) (loop (+ i 1) (+ (* (sigmoid gates) c) (* .1 gates)) (+ sum (* gates (tanh c))))))))
(show (same-under-all (stack (wave 'f64 64 24)) (of-block 'f64))) ; expect: #t
(show (bad-under-splits (stack (wave 'f32 64 24)) (of-block 'f32))) ; expect: ()
(if (not (check-gradient (stack (wave 'f64 64 24)) (of-block 'f64))) (error "not its gradient")) ; expect any output
(show (same-under-all (cells (wave 'f64 24 40)) (wave 'f64 24 40))) ; expect: #t
(show (bad-under-splits (cells (wave 'f32 32 32)) (wave 'f32 32 32))) ; expect: ()
(if (not (check-gradient (cells (wave 'f64 24 40)) (wave 'f64 24 40))) (error "not its gradient")) ; expect any output
