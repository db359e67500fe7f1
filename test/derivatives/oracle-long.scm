; The logistic map over a million iterations: its sensitivity to r tends to 1/r^2, and cotangents of the first x become denormal.
; timeout: 240
(define (show x) (write x) (newline))
(define (logistic r) (let loop ((i 0) (x .3)) (if (= i 1000000) x (loop (+ i 1) (* r x (- 1 x))))))
(define r (checkpoint-*j logistic 2.8 1))
(show (< (abs (- (cdr r) .12755102040816)) 1e-13)) ; expect: #t
(show (< (abs (- (car r) (/ 1.8 2.8))) 1e-13))     ; expect: #t
