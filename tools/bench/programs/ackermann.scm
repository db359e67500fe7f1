; Ackermann's function: deep recursion by small steps, tail calls between.
(define (ackermann m n)
  (cond ((= m 0) (+ n 1))
        ((= n 0) (ackermann (- m 1) 1))
        (else (ackermann (- m 1) (ackermann m (- n 1))))))
(define (repeat i sum) (if (= i 0) sum (repeat (- i 1) (+ sum (ackermann 2 (+ 300 i))))))
(display (+ (ackermann 3 8) (repeat 20 0)))
(newline)
