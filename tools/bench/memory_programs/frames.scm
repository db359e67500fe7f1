; Recursion that is not a tail call, a frame for each number.
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(display (deep 10000000))
(newline)
