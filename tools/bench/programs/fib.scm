; Doubly recursive Fibonacci numbers: calls, returns, comparison and addition of small integers.
(define (fibonacci n)
  (if (< n 2)
      n
      (+ (fibonacci (- n 2)) (fibonacci (- n 1)))))
(display (fibonacci 33))
(newline)
