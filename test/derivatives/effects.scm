; Output and input inside derivatives happen once and in order, under every schedule.
;;; case output-inside-reverse-mode
(define (f x) (let loop ((i 0) (y x)) (if (= i 5) y (begin (display i) (loop (+ i 1) (* y 1.1))))))
(*j f 2 1) (newline)                     ; expect: 01234
(j* f 2 1) (newline)                     ; expect: 01234
(checkpoint-*j f 2 1) (newline)          ; expect: 01234
;;; case output-under-every-schedule
(define (f x) (let loop ((i 0) (y x)) (if (= i 20) y (begin (display i) (display ",") (loop (+ i 1) (* y (sin y)))))))
(define (under spec) (with-schedule spec (lambda () (checkpoint-*j f 2 1))) (newline))
(under "tape")                           ; expect: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,
(under "bisection,base=16")              ; expect: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,
(under "binomial,base=16")               ; expect: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,
(under "binomial,base=16,snapshots=2")   ; expect: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,
(under "binomial,base=16,passes=2")      ; expect: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,
(under "sqrt,base=16")                   ; expect: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,
(under "online,base=16")                 ; expect: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,
(under "online,base=16,snapshots=2")     ; expect: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,
(under "auto")                           ; expect: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,
;;; case input-under-a-schedule
; input: 1 2 3 4 5 6 7 8 9 10 99
(define (f x) (let loop ((i 0) (s 0)) (if (= i 10) s (loop (+ i 1) (+ s (* x (read-real)))))))
(define r (with-schedule "binomial,base=16,snapshots=2" (lambda () (checkpoint-*j f 2 1))))
(write r) (newline)                      ; expect: (110.0 . 55.0)
(write (read-real)) (newline)            ; expect: 99
;;; case input-and-output-mixed
; input: 3 1 4 1 5 9 2 6
(define (f x) (let loop ((i 0) (s 0)) (if (= i 8) s (loop (+ i 1) (+ s (* x (write-real (read-real))))))))
(write (with-schedule "bisection,base=16" (lambda () (checkpoint-*j f 2 1)))) (newline)
; expect: 3
; expect: 1
; expect: 4
; expect: 1
; expect: 5
; expect: 9
; expect: 2
; expect: 6
; expect: (62.0 . 31.0)
;;; case input-in-nested-checkpoints
; input: 1 2 3 4 5 6
(define (g x) (let loop ((i 0) (s 0)) (if (= i 3) s (loop (+ i 1) (+ s (* x x (write-real (read-real))))))))
(define (f x) (+ (cdr (checkpoint-*j g x 1)) (cdr (checkpoint-*j g x 1))))
; g' = 2x(1+2+3) and 2x(4+5+6): f = 2x 21, f' = 42
(write (with-schedule "binomial,base=16" (lambda () (checkpoint-*j f 1.5 1)))) (newline)
; expect: 1
; expect: 2
; expect: 3
; expect: 4
; expect: 5
; expect: 6
; expect: (63.0 . 42.0)
;;; case random-numbers-are-the-same-in-replays
(define (f x) (let loop ((i 0) (y x)) (if (= i 20) y (loop (+ i 1) (* y (+ .5 (random-real)))))))
; The derivative of a product of constants is value / x.
(define r (with-schedule "binomial,base=16" (lambda () (checkpoint-*j f 2 1))))
(write (< (abs (- (cdr r) (/ (car r) 2))) 1e-14)) (newline) ; expect: #t
(define (dropout l) (fold-left + 0 (map (lambda (x) (if (< (random-real) .5) 0 (* 2 x))) l)))
(define s (with-schedule "bisection,base=16" (lambda () (checkpoint-*j dropout (iota 50) 1))))
(define (kept l i) (if (null? l) 0 (+ (* (car l) i) (kept (cdr l) (+ i 1)))))
(write (= (car s) (kept (cdr s) 0))) (newline)              ; expect: #t
;;; case output-of-an-inner-primops
(define (f x) (display "f") x)
(write (exact? (primops f 1))) (newline) ; expect: f#t
;;; case output-in-nested-derivatives
(define (f x) (display "f") (* x x))
(define (g x) (display "g") (cdr (*j f x 1)))
(*j g 3 1) (newline)                     ; expect: gf
(j* g 3 1) (newline)                     ; expect: gf
(checkpoint-*j g 3 1) (newline)          ; expect: gf
(define (gc x) (display "g") (cdr (checkpoint-*j f x 1)))
(with-schedule "bisection,base=16" (lambda () (checkpoint-*j gc 3 1))) (newline) ; expect: gf
;;; case output-before-an-error-inside
(define (f x) (display "once") (newline) (let loop ((i 0) (y x)) (if (= i 20) (car y) (loop (+ i 1) (* y y)))))
(with-schedule "binomial,base=16" (lambda () (checkpoint-*j f 1 1))) ; expect: once
; expect error: car
; expect location: 1
;;; case long-output
(define (f x) (let loop ((i 0) (y x)) (if (= i 100) y (begin (if (= 0 (modulo i 10)) (begin (write i) (display " "))) (loop (+ i 1) (* y 1.01))))))
(with-schedule "online,base=16,snapshots=3" (lambda () (checkpoint-*j f 2 1))) (newline) ; expect: 0 10 20 30 40 50 60 70 80 90
;;; case interrupted-while-writing
(define (f x) (let loop ((i 0) (y x)) (if (= i 6) y (begin (display i) (loop (+ i 1) (* y 1.1))))))
(define (h x) (with-schedule "binomial,base=16" (lambda () (checkpoint-*j f x 1))))
(define total (primops h 2)) (newline)   ; expect: 012345
(define (stepwise z) (if (capsule-finished? z) (resume z) (stepwise (interrupt resume z 9))))
(stepwise (interrupt h 2 0)) (newline)   ; expect: 012345
