; Numbers read and written: shortest text that reads back the same, always with a point or an exponent.
(define (show x) (write x) (newline))
(show 2.)                       ; expect: 2.0
(show .5)                       ; expect: 0.5
(show -.5)                      ; expect: -0.5
(show +.5)                      ; expect: 0.5
(show -0.)                      ; expect: -0.0
(show 0.)                       ; expect: 0.0
(show +7)                       ; expect: 7
(show -0)                       ; expect: 0
(show 007)                      ; expect: 7
(show 1e3)                      ; expect: 1000.0
(show 1E3)                      ; expect: 1000.0
(show 1e31)                     ; expect: 1e+31
(show 123456789.125)            ; expect: 123456789.125
(show 0.1)                      ; expect: 0.1
(show 3.141592653589793)        ; expect: 3.141592653589793
(show 1.7976931348623157e308)   ; expect: 1.7976931348623157e+308
(show 5e-324)                   ; expect: 5e-324
(show 1e400)                    ; expect: +inf.0
(show +inf.0)                   ; expect: +inf.0
(show -inf.0)                   ; expect: -inf.0
(show +nan.0)                   ; expect: +nan.0
(show #xff)                     ; expect: 255
(show #b101)                    ; expect: 5
(show #o17)                     ; expect: 15
(show #d10)                     ; expect: 10
(show #e2.0)                    ; expect: 2
(show #i3)                      ; expect: 3.0
(show 4/2)                      ; expect: 2
(show 1/2)                      ; expect: 0.5
(show '(1 . 2.5))               ; expect: (1 . 2.5)
(show '(1 .5))                  ; expect: (1 0.5)
(show (number->string 10))      ; expect: "10"
(show (number->string 255 16))  ; expect: "ff"
(show (number->string -5 2))    ; expect: "-101"
(show (number->string 2.5))     ; expect: "2.5"
(show (number->string 100.))    ; expect: "100.0"
(show (string->number "100"))   ; expect: 100
(show (string->number "-17"))   ; expect: -17
(show (string->number "100" 16)) ; expect: 256
(show (string->number "ff" 16)) ; expect: 255
(show (string->number "1e2"))   ; expect: 100.0
(show (string->number ".5"))    ; expect: 0.5
(show (string->number "2."))    ; expect: 2.0
(show (string->number "#xff"))  ; expect: 255
(show (string->number "abc"))   ; expect: #f
(show (string->number "12a"))   ; expect: #f
(show (string->number ""))      ; expect: #f
(show (string->number "-"))     ; expect: #f
(show (string->number "+"))     ; expect: #f
(show (string->number "."))     ; expect: #f
(show (string->number "1 2"))   ; expect: #f
(show (symbol? '...))           ; expect: #t
(show (symbol? '+))             ; expect: #t
(show (symbol? '-))             ; expect: #t
(show (symbol? '1+))            ; expect: #t
(show (symbol? '->x))           ; expect: #t
(define (round-trips? x) (eqv? x (string->number (number->string x))))
(define (all? p l) (or (null? l) (and (p (car l)) (all? p (cdr l)))))
(show (all? round-trips?        ; expect: #t
            (list 0. -0. 1. .1 (/ 1. 3) (/ 2. 3) 1e22 1e23 1e21 123456.789e3 5e-324 2.2250738585072014e-308
                  1.7976931348623157e308 (exp 1) (sqrt 2) (- (sqrt 3)) 9007199254740993. +inf.0 -inf.0 +nan.0 4.35 0.3)))
(show (all? round-trips?        ; expect: #t
            (build-list 300 (lambda (i) (* (exp (- i 150.)) (sin i))))))
