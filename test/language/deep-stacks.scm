; Deep stacks inside interrupted and resumed computations.
(define (show x) (write x) (newline))
(define (count n) (if (= n 0) 0 (+ 1 (count (- n 1)))))
(define z (interrupt count 300000 1000000))
(show (capsule-finished? z))                    ; expect: #f
(show (resume z))                               ; expect: 300000
(show (resume z))                               ; expect: 300000
(define (nest n) (if (= n 0) 'bottom (list (nest (- n 1)))))
(define (unnest x n) (if (pair? x) (unnest (car x) (+ n 1)) (list x n)))
(show (unnest (nest 1000000) 0))                ; expect: (bottom 1000000)
