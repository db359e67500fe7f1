; A chain of pointwise functions on 16 M elements, n times.
(define x (rand '(4096 4096)))
(define (loop i y) (if (= i 0) y (loop (- i 1) (+ (* (ReLU y) .5) x))))
(define (work n) (loop n x))
(define n (string->number (car (command-line))))
(write (if (= n 0) 0 (tensor? (work n))))
