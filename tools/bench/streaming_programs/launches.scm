; Launches of kernels on tensors of 1,000 numbers, one behind the other: 200 layers forward and back in each step, about a thousand launches. Argument: how many
; steps. Prints it.
(define steps (string->number (car (command-line))))
(define t (* 0.001 (randn '(1000))))
(define (layers i x) (if (= i 0) x (layers (- i 1) (* (+ x t) x))))
(define (gradient w) (cdr (*j (lambda (w) (sumall (layers 200 w))) w 1)))
(define (train n w) (if (> n 0) (train (- n 1) (- w (* 0.001 (gradient w)))) w))
(train steps t)
(write steps)
