; Through training: the loss after some steps of gradient descent, by the learning rate, n times. Each step takes a gradient of its own, by *j.
; Arguments: n, steps, rows, width.
(define arguments (map string->number (command-line)))
(define n (car arguments))
(define steps (cadr arguments))
(define rows (caddr arguments))
(define width (cadddr arguments))

(define inputs (randn (list rows width)))
(define targets (sin (matmul inputs (* (/ 1 (sqrt width)) (randn (list width width))))))
(define start (build-list 2 (lambda (i) (* (/ 1 (sqrt width)) (randn (list width width))))))
(define (error-of (list in out)) (/ (sumall (square (- (matmul (tanh (matmul inputs in)) out) targets))) (* rows width)))
(define (trained weights rate steps)
  (if (= steps 0)
      weights
      (trained (map (lambda (w g) (- w (* rate g))) weights (cdr (*j error-of weights 1))) rate (- steps 1))))
(define parameters .1)
(define (loss rate) (error-of (trained start rate steps)))
(define (work) (*j loss parameters 1))
(define (loop i) (if (= i 0) 0 (begin (work) (loop (- i 1)))))
(write (loop n))
