; Predicates and comparison of numbers; identity and exactness.
(define (show x) (write x) (newline))
(show (list (number? 1) (number? 1.5) (number? 'a) (number? "1")))  ; expect: (#t #t #f #f)
(show (list (complex? 1) (real? 1.5) (rational? 2) (real? 'x)))     ; expect: (#t #t #t #f)
(show (list (integer? 2) (integer? 2.) (integer? 2.5) (integer? 'a))) ; expect: (#t #t #f #f)
(show (list (exact? 1) (exact? 1.) (inexact? 1) (inexact? 1.)))     ; expect: (#t #f #f #t)
(show (list (zero? 0) (zero? 0.) (zero? -0.) (zero? 1)))            ; expect: (#t #t #t #f)
(show (list (positive? 1) (positive? 0) (positive? -.5)))           ; expect: (#t #f #f)
(show (list (negative? -1) (negative? 0) (negative? -0.)))          ; expect: (#t #f #f)
(show (list (odd? 1) (odd? 2) (odd? -3) (odd? 3.)))                 ; expect: (#t #f #t #t)
(show (list (even? 0) (even? 1) (even? -4) (even? 4.)))             ; expect: (#t #f #t #t)
(show (list (= 1 1) (= 1 2) (= 1 1.) (= 0. -0.)))                   ; expect: (#t #f #t #t)
(show (list (= 1 1 1) (= 1 1 2) (= 1 2 1)))                         ; expect: (#t #f #f)
(show (list (< 1 2 3) (< 1 3 2) (< 1 1) (< -1 0.5)))                ; expect: (#t #f #f #t)
(show (list (> 3 2 1) (> 3 1 2) (> 1 1)))                           ; expect: (#t #f #f)
(show (list (<= 1 1 2) (<= 1 2 1) (<= 2 1)))                        ; expect: (#t #f #f)
(show (list (>= 3 3 1) (>= 1 2) (>= 2 1 1)))                        ; expect: (#t #f #t)
(define nan (/ 0. 0.))
(show (list (= nan nan) (< nan 1) (> nan 1) (<= nan 1) (>= nan 1))) ; expect: (#f #f #f #f #f)
(show (list (eqv? nan nan) (equal? nan nan) (eq? nan nan)))         ; expect: (#t #t #t)
(show (list (eqv? 0. -0.) (equal? 0. -0.) (eqv? 0. 0.)))            ; expect: (#f #f #t)
(show (list (eqv? 1 1.) (equal? 1 1.) (eq? 1 1.)))                  ; expect: (#f #f #f)
(show (list (eqv? 2 2) (eq? 2 2) (equal? 2 2) (eq? 2.5 2.5)))       ; expect: (#t #t #t #t)
(show (list (equal? '(1 2) '(1 2.)) (equal? '#(1 2) '#(1 2))))      ; expect: (#f #t)
(show (if (< nan 0) 'less (if (>= nan 0) 'more 'neither)))          ; expect: neither
(show (if (not (< nan 0)) 'not-less 'less))                         ; expect: not-less
(show (if (not (>= nan 0.)) 'not-more 'more))                       ; expect: not-more
(show (if (not (> 0. nan)) 'a 'b))                                  ; expect: a
(show (if (<= nan nan) 'a 'b))                                      ; expect: b
(define inf (/ 1. 0.))
(show (list (< inf inf) (= inf inf) (> inf 1000000) (< (- inf) inf))) ; expect: (#f #t #t #t)
