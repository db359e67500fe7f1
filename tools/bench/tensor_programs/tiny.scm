; An addition of four elements, n times.
(define t (list->tensor '(1 2 3 4)))
(define (loop i x) (if (= i 0) x (loop (- i 1) (+ x t))))
(define (work n) (loop n t))
(define n (string->number (car (command-line))))
(write (if (= n 0) 0 (tensor? (work n))))
