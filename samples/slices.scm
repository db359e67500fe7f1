; A computation in time slices: a counter is interrupted every 1,000 steps and resumed, and what it computes does not change.
;
;     vmrun samples/slices.scm

(define (sum n) (let loop ((i 0) (total 0)) (if (= i n) total (loop (+ i 1) (+ total i)))))

(define (in-slices f x slice)
  (let loop ((capsule (interrupt f x slice)) (slices 1))
    (if (capsule-finished? capsule)
        (cons (resume capsule) slices)
        (loop (interrupt resume capsule slice) (+ slices 1)))))

(define whole (sum 100000))
(define sliced (in-slices sum 100000 1000))

(display "in one go:  ") (write whole) (newline)
(display "in slices:  ") (write (car sliced)) (newline)
(display "equal:      ") (write (= whole (car sliced))) (newline)
