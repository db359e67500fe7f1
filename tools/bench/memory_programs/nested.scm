; A list that nests at its first element, dropped in one go: freeing it may not recurse either.
(define (nested n x) (if (= n 0) x (nested (- n 1) (cons x '()))))
(define (pair-and-drop x) (if (pair? x) 1 0))
(display (+ (pair-and-drop (nested 10000000 0)) 1))
(newline)
