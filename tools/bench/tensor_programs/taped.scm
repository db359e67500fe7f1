; The same as part of a gradient: a sum and a tanh of four elements, n times, forward and back.
(define t (list->tensor '(.1 .2 .3 .4)))
(define (loop i x) (if (= i 0) x (loop (- i 1) (tanh (+ x t)))))
(define (work n) (*j (lambda (x) (sumall (loop n x))) t 1))
(define n (string->number (car (command-line))))
(write (if (= n 0) 0 (tensor? (work n))))
