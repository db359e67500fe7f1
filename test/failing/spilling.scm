; Gradients that put tapes aside into a file, within little memory: each request and each write refused while they do.

(define (layers n f w)
  (let loop ((i 0) (x (fill '(96 96) .5)))
    (if (= i n) (sumall x) (loop (+ i 1) (f x w)))))
(define w (* .1 (randn '(96 96))))

;;; case one gradient
; flags: --spill --memory=2600KiB
(define r (checkpoint-*j (lambda (w) (layers 24 (lambda (x w) (tanh (matmul x w))) w)) w 1))
(write (car r))
(write (sumall (cdr r)))

;;; case gradients that come again, with output, random numbers and an error
; flags: --spill --memory=2600KiB
(define (f x w) (+ (tanh (matmul x w)) (* .01 (randn '(96 96)))))
(define (g w) (layers 18 f w))
(define (guarded f) (call-with-error-handler (lambda (message irritants) (write message) 0) f))
(define (ends w) (layers 18 (lambda (x w) (let ((y (f x w))) (if (> (random-real) .9) (error "ended")) y)) w))
(write (sumall (cdr (checkpoint-*j g w 1))))
(write (guarded (lambda () (car (checkpoint-*j ends w 1)))))
(write (sumall (cdr (checkpoint-*j g w 1))))
(write (random-real))

;;; case a gradient with rules, planned and spilled
; flags: --spill --memory=2600KiB
(define-derivative (activation x) (value (* x (sigmoid x))) (reverse (y c) (let ((s (sigmoid x))) (list (* c (+ s (* y (- 1 s))))))))
(define r (checkpoint-*j (lambda (w) (layers 20 (lambda (x w) (activation (matmul x w))) w)) w 1))
(write (car r))
(write (sumall (cdr r)))

;;; case attention and parts chosen by elements, planned and spilled
; flags: --spill --memory=2600KiB
(define (f x w) (+ (attend (matmul x w) x (tanh x) .3 #t) (* 1e-3 (sumall (masked-select x (< 0 x)))) (* 1e-4 (car (size (nonzero (< .5 x)))))))
(define r (checkpoint-*j (lambda (w) (layers 14 f w)) w 1))
(write (car r))
(write (sumall (cdr r)))

;;; case gradients inside, planned and spilled
; flags: --spill --memory=2600KiB
(define (f w) (sumall (square (tanh (matmul w w)))))
(define (trained rate) (let loop ((i 0) (w w)) (if (= i 12) (f w) (loop (+ i 1) (- w (* rate (cdr (*j f w 1))))))))
(define r (checkpoint-*j trained .01 1))
(write (car r))
(write (cdr r))

;;; case gradients inside that come again, one of them given up
; flags: --memory=2600KiB
(define (f w) (sumall (square (tanh (matmul w w)))))
(define (g w) (let ((y (f w))) (if (> y 0) (error "ended" y)) y))
(define (trained f) (lambda (rate) (let loop ((i 0) (w w)) (if (= i 10) (f w) (loop (+ i 1) (- w (* rate (cdr (*j f w 1)))))))))
(define (guarded thunk) (call-with-error-handler (lambda (message irritants) (write message) 0) thunk))
(write (checkpoint-*j (trained f) .01 1))
(write (guarded (lambda () (checkpoint-*j (trained g) .01 1))))
(write (checkpoint-*j (trained f) .02 1))
