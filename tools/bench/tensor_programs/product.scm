; Products of square matrices, n times. Arguments: n, size.
(define n (string->number (car (command-line))))
(define size (string->number (cadr (command-line))))
(define x (randn (list size size)))
(define w (* (/ 1 (sqrt size)) (randn (list size size))))
(define (loop i y) (if (= i 0) y (loop (- i 1) (matmul y w))))
(write (tensor? (loop n x)))
