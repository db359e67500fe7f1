; Arithmetic on exact integers and flonums: results, exactness, contagion.
(define (show x) (write x) (newline))
(show (+))                      ; expect: 0
(show (*))                      ; expect: 1
(show (+ 7))                    ; expect: 7
(show (+ 1 2 3 4))              ; expect: 10
(show (* 2 3 4))                ; expect: 24
(show (- 5))                    ; expect: -5
(show (- 10 1 2 3))             ; expect: 4
(show (- 0.))                   ; expect: -0.0
(show (/ 2))                    ; expect: 0.5
(show (/ 1))                    ; expect: 1
(show (/ -1))                   ; expect: -1
(show (/ 6 3))                  ; expect: 2
(show (/ 1 3))                  ; expect: 0.3333333333333333
(show (/ 4 6))                  ; expect: 0.6666666666666666
(show (/ 6 4))                  ; expect: 1.5
(show (/ 12 2 3))               ; expect: 2
(show (/ 0 5))                  ; expect: 0
(show (/ -7 2))                 ; expect: -3.5
(show (/ 1. 4))                 ; expect: 0.25
(show (/ 6. 3))                 ; expect: 2.0
(show (+ 1 2.))                 ; expect: 3.0
(show (- 2.5 .5))               ; expect: 2.0
(show (* 2 .5))                 ; expect: 1.0
(show (+ .1 .2))                ; expect: 0.30000000000000004
(show (/ 5 0.))                 ; expect: +inf.0
(show (/ -5 0.))                ; expect: -inf.0
(show (/ 0. 0.))                ; expect: +nan.0
(show (/ 1 -0.))                ; expect: -inf.0
(show (- (/ 1. 0.) (/ 1. 0.)))  ; expect: +nan.0
(show (quotient 17 5))          ; expect: 3
(show (quotient -17 5))         ; expect: -3
(show (quotient 17 -5))         ; expect: -3
(show (quotient 7. 2))          ; expect: 3.0
(show (remainder 13 4))         ; expect: 1
(show (remainder -13 4))        ; expect: -1
(show (remainder 13 -4))        ; expect: 1
(show (remainder -13 -4))       ; expect: -1
(show (remainder -13 -4.))      ; expect: -1.0
(show (modulo 13 4))            ; expect: 1
(show (modulo -13 4))           ; expect: 3
(show (modulo 13 -4))           ; expect: -3
(show (modulo -13 -4))          ; expect: -1
(show (modulo 12 4))            ; expect: 0
(show (modulo -12 4))           ; expect: 0
(show (modulo -13 4.))          ; expect: 3.0
(show (gcd 32 -36))             ; expect: 4
(show (gcd))                    ; expect: 0
(show (gcd 0 5))                ; expect: 5
(show (gcd 12 18 27))           ; expect: 3
(show (lcm 32 -36))             ; expect: 288
(show (lcm))                    ; expect: 1
(show (lcm 32. -36))            ; expect: 288.0
(show (abs -7))                 ; expect: 7
(show (abs 7))                  ; expect: 7
(show (abs -7.5))               ; expect: 7.5
(show (abs -0.))                ; expect: 0.0
(show (max 3 4))                ; expect: 4
(show (max 1 5 3))              ; expect: 5
(show (max 7))                  ; expect: 7
(show (max 3.9 4))              ; expect: 4.0
(show (max 4 3.9))              ; expect: 4.0
(show (min 3 4))                ; expect: 3
(show (min 3 4.))               ; expect: 3.0
(show (min 5 2 8))              ; expect: 2
(show (min -1.5 2.))            ; expect: -1.5
(show (floor 2.5))              ; expect: 2.0
(show (floor -2.5))             ; expect: -3.0
(show (floor 7))                ; expect: 7
(show (ceiling 2.1))            ; expect: 3.0
(show (ceiling -2.1))           ; expect: -2.0
(show (truncate 2.9))           ; expect: 2.0
(show (truncate -2.9))          ; expect: -2.0
(show (round 2.5))              ; expect: 2.0
(show (round 3.5))              ; expect: 4.0
(show (round -2.5))             ; expect: -2.0
(show (round 2.6))              ; expect: 3.0
(show (round 7))                ; expect: 7
(show (sqrt 16))                ; expect: 4
(show (sqrt 16.))               ; expect: 4.0
(show (sqrt 2))                 ; expect: 1.4142135623730951
(show (sqrt 0))                 ; expect: 0
(show (sqrt .25))               ; expect: 0.5
(show (sqrt -4.))               ; expect: +nan.0
(show (sqrt 1000000000000))     ; expect: 1000000
(show (sqrt 1000000000001))     ; expect: 1000000.0000005
(show (expt 2 10))              ; expect: 1024
(show (expt 3 0))               ; expect: 1
(show (expt 0 0))               ; expect: 1
(show (expt -2 3))              ; expect: -8
(show (expt 2 -1))              ; expect: 0.5
(show (expt 2. 3))              ; expect: 8.0
(show (expt 4 .5))              ; expect: 2.0
(show (expt 10 2))              ; expect: 100
(show (exp 0.))                 ; expect: 1.0
(show (exp 1))                  ; expect: 2.718281828459045
(show (log 1.))                 ; expect: 0.0
(show (log 10))                 ; expect: 2.302585092994046
(show (log 0.))                 ; expect: -inf.0
(show (sin 0.))                 ; expect: 0.0
(show (cos 0.))                 ; expect: 1.0
(show (tan 0.))                 ; expect: 0.0
(show (sin 1))                  ; expect: 0.8414709848078965
(show (asin 1.))                ; expect: 1.5707963267948966
(show (acos 1.))                ; expect: 0.0
(show (atan 1))                 ; expect: 0.7853981633974483
(show (atan 1 -1))              ; expect: 2.356194490192345
(show (atan -1 -1))             ; expect: -2.356194490192345
(show (atan 1 2))               ; expect: 0.4636476090008061
(show (atan 0. -1))             ; expect: 3.141592653589793
(show (exact->inexact 1))       ; expect: 1.0
(show (exact->inexact 1.5))     ; expect: 1.5
(show (inexact->exact 2.))      ; expect: 2
(show (inexact->exact -7.))     ; expect: -7
(show (inexact->exact 5))       ; expect: 5
(show (numerator 6))            ; expect: 6
(show (denominator 6))          ; expect: 1
(show (numerator .75))          ; expect: 3.0
(show (denominator .75))        ; expect: 4.0
(show (let ((x 1) (y 2)) (+ x (* y 3))))                 ; expect: 7
(show (+ 1 (* 2 (- 3 (/ 8 (+ 2 2))))))                   ; expect: 3
(show (apply + (iota 101)))                              ; expect: 5050
(show (gcd 4 0.))               ; expect: 4.0
(show (gcd 0. 4))               ; expect: 4.0
(show (gcd 4. 6))               ; expect: 2.0
(show (gcd 4 -6.))              ; expect: 2.0
(show (gcd 12 18 0.))           ; expect: 6.0
(show (gcd 12 18))              ; expect: 6
(show (gcd -4))                 ; expect: 4
(show (gcd))                    ; expect: 0
(show (lcm 32 -36))             ; expect: 288
(show (lcm 32. -36))            ; expect: 288.0
(show (lcm 0 3.))               ; expect: 0.0
(show (lcm 0. 3))               ; expect: 0.0
(show (map exact? (list (gcd 3 2.) (lcm 3 2.) (gcd 3 2) (lcm 3 2)))) ; expect: (#f #f #t #t)
