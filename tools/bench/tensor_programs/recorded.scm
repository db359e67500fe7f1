; An addition of four elements, n times on a tape that nobody sweeps: no number of the result hangs on it.
(define t (list->tensor '(1 2 3 4)))
(define (loop i x) (if (= i 0) x (loop (- i 1) (+ x t))))
(define (work n) (*j (lambda (x) (loop n x) 1) t 1))
(define n (string->number (car (command-line))))
(write (if (= n 0) 0 (pair? (work n))))
