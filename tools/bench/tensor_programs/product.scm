; Products of matrices of 1024 by 1024, n times.
(define x (randn '(1024 1024)))
(define w (* .03 (randn '(1024 1024))))
(define (loop i y) (if (= i 0) y (loop (- i 1) (matmul y w))))
(define (work n) (loop n x))
(define n (string->number (car (command-line))))
(write (if (= n 0) 0 (tensor? (work n))))
