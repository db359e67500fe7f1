; Exact integers hold 48 bits; a result that does not fit becomes a flonum, and never wraps.
(define (show x) (write x) (newline))
(show 140737488355327)                        ; expect: 140737488355327
(show -140737488355328)                       ; expect: -140737488355328
(show 140737488355328)                        ; expect: 140737488355328.0
(show (+ 140737488355327 0))                  ; expect: 140737488355327
(show (+ 140737488355327 1))                  ; expect: 140737488355328.0
(show (- -140737488355328 1))                 ; expect: -140737488355329.0
(show (- -140737488355328))                   ; expect: 140737488355328.0
(show (abs -140737488355328))                 ; expect: 140737488355328.0
(show (* 70368744177664 2))                   ; expect: 140737488355328.0
(show (* 70368744177664 -2))                  ; expect: -140737488355328
(show (expt 2 46))                            ; expect: 70368744177664
(show (expt 2 47))                            ; expect: 140737488355328.0
(show (expt -2 47))                           ; expect: -140737488355328
(show (= (expt 2 63) 9223372036854775808.))   ; expect: #t
(show (* 10000000000000 10000000000000))      ; expect: 1e+26
(show (* 140737488355327 140737488355327))    ; expect: 1.9807040628565803e+28
(show (quotient -140737488355328 -1))         ; expect: 140737488355328.0
(show (/ -140737488355328 -1))                ; expect: 140737488355328.0
(show (exact? (expt 3 29)))                   ; expect: #t
(show (exact? (expt 3 40)))                   ; expect: #f
(define (factorial n) (if (= n 0) 1 (* n (factorial (- n 1)))))
(show (factorial 15))                         ; expect: 1307674368000
(show (factorial 16))                         ; expect: 20922789888000
(show (factorial 17))                         ; expect: 355687428096000.0
(show (= (factorial 20) 2432902008176640000.)) ; expect: #t
(define (loop i x) (if (= i 0) x (loop (- i 1) (+ x 1))))
(show (loop 3 140737488355325))               ; expect: 140737488355328.0
(show (loop 2 140737488355325))               ; expect: 140737488355327
(define (fib n a b) (if (= n 0) a (fib (- n 1) b (+ a b))))
(show (fib 60 0 1))                           ; expect: 1548008755920
(show (< (abs (- 1 (/ (fib 100 0 1) 354224848179261915075.))) 1e-15)) ; expect: #t
