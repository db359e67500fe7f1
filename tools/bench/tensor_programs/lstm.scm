; An LSTM over a long sequence of random vectors, forward and back by all parameters, n times. Arguments: n, length, batch, inputs, hidden units.
(define arguments (map string->number (command-line)))
(define n (car arguments))
(define length-of-sequence (cadr arguments))
(define batch (caddr arguments))
(define inputs (cadddr arguments))
(define hidden (list-ref arguments 4))

; The four gates by one product of the input and the state before.
(define (step state x (list from-input from-hidden bias))
  (let* ((gates (+ (matmul x from-input) (matmul (car state) from-hidden) bias))
         (cell (+ (* (sigmoid (chunk gates 1 4 0)) (cdr state)) (* (sigmoid (chunk gates 1 4 1)) (tanh (chunk gates 1 4 2))))))
    (cons (* (sigmoid (chunk gates 1 4 3)) (tanh cell)) cell)))

(define parameters
  (list (* .1 (randn (list inputs (* 4 hidden)))) (* .1 (randn (list hidden (* 4 hidden)))) (fill (list (* 4 hidden)) 0)))
(define sequence (build-list length-of-sequence (lambda (i) (randn (list batch inputs)))))
(define start (let ((zero (fill (list batch hidden) 0))) (cons zero zero)))
(define (loss-over sequence parameters) (mean (square (car (fold-left (lambda (state x) (step state x parameters)) start sequence)))))
(define (loss parameters) (loss-over sequence parameters))
; Libraries make their kernels for products of new sizes at the first call, in a time that has nothing to do with the length.
(define kernels-are-made
  (begin (*j (lambda (parameters) (loss-over (list (car sequence) (cadr sequence)) parameters)) parameters 1) #t))
(define (work) (*j loss parameters 1))
(define (loop i) (if (= i 0) 0 (begin (work) (loop (- i 1)))))
(write (loop n))
