; Takeuchi's function in its original form (it returns y): four calls for each that recurs, one of them a tail call.
(define (tarai x y z)
  (if (< y x)
      (tarai (tarai (- x 1) y z) (tarai (- y 1) z x) (tarai (- z 1) x y))
      y))
(display (tarai 12 6 0))
(newline)
