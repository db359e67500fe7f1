; Sums over all of 16 M elements and over their rows, n times.
(define x (rand '(4096 4096)))
(define (loop i s) (if (= i 0) s (loop (- i 1) (+ s (sumall x) (sumall (sum x 1))))))
(define (work n) (loop n 0))
(define n (string->number (car (command-line))))
(write (if (= n 0) 0 (tensor? (work n))))
