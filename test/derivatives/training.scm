; Gradient descent with *j inside, differentiated by checkpoint-*j: derivatives of whole training runs.
; timeout: 240
(define (show x) (write x) (newline))
(define (near? a b) (<= (abs (- a b)) (* 1e-9 (max 1e-3 (abs a) (abs b)))))
; Descent on (w - a)^2 / 2 with rate r: w_n = a + (w_0 - a)(1 - r)^n.
(define (descend n r a w0)
  (let loop ((i 0) (w w0))
    (if (= i n)
        w
        (loop (+ i 1) (- w (* r (cdr (*j (lambda (w) (* .5 (- w a) (- w a))) w 1))))))))
(define (final (list r a w0)) (descend 30 r a w0))
(define x '(.1 2. 5.))
(define r (*j final x 1))
(show (near? (car r) (+ 2 (* 3 (expt .9 30)))))                                  ; expect: #t
(show (near? (cadr r) (* 3 -30 (expt .9 29))))                                   ; expect: #t
(show (near? (caddr r) (- 1 (expt .9 30))))                                      ; expect: #t
(show (near? (cadddr r) (expt .9 30)))                                           ; expect: #t
(define (under spec) (with-schedule spec (lambda () (equal? r (checkpoint-*j final x 1)))))
(show (map under '("tape" "bisection,base=16" "binomial,base=32" "binomial,base=64,snapshots=3" "sqrt,base=50" "online,base=32" "auto"))) ; expect: (#t #t #t #t #t #t #t)
; The inner gradient checkpointed too.
(define (descend-c n r a w0)
  (let loop ((i 0) (w w0))
    (if (= i n)
        w
        (loop (+ i 1) (- w (* r (cdr (checkpoint-*j (lambda (w) (* .5 (- w a) (- w a))) w 1))))))))
(define (final-c (list r a w0)) (descend-c 30 r a w0))
(define (under-c spec) (with-schedule spec (lambda () (equal? r (checkpoint-*j final-c x 1)))))
(show (map under-c '("tape" "bisection,base=16" "binomial,base=32" "online,base=32" "auto"))) ; expect: (#t #t #t #t #t)
(show (map (lambda (e) (near? (cdr (j* final x e)) (cdr (j* final-c x e)))) '((1 0 0) (0 1 0) (0 0 1)))) ; expect: (#t #t #t)
(show (near? (cdr (j* final x '(1 0 0))) (cadr r)))                              ; expect: #t
; A small network, two hidden units, trained on four points; the final loss by the learning rate against differences.
(define (forward (list a b c d) x) (+ (* a (/ 1 (+ 1 (exp (- (* b x)))))) (* c (atan (* d x)))))
(define data '((-1. . .5) (-.5 . .2) (.5 . -.3) (1. . .8)))
(define (loss w) (fold-left (lambda (s (cons x y)) (let ((e (- (forward w x) y))) (+ s (* e e)))) 0 data))
(define (train rate)
  (let loop ((i 0) (w '(.1 .2 .3 .4)))
    (if (= i 12)
        (loss w)
        (loop (+ i 1) (map (lambda (w g) (- w (* rate g))) w (cdr (*j loss w 1)))))))
(define h 1e-5)
(define difference (/ (- (train (+ .1 h)) (train (- .1 h))) (* 2 h)))
(define exact (*j train .1 1))
(show (< (abs (- (cdr exact) difference)) 1e-7))                                 ; expect: #t
(show (equal? exact (with-schedule "binomial,base=100" (lambda () (checkpoint-*j train .1 1))))) ; expect: #t
(show (near? (cdr exact) (cdr (j* train .1 1))))                                 ; expect: #t
; Hypergradient descent: two levels of training.
(define (tune n) (let loop ((i 0) (rate .05)) (if (= i n) rate (loop (+ i 1) (- rate (* .01 (cdr (checkpoint-*j train rate 1))))))))
(show (< (train (tune 5)) (train .05)))                                          ; expect: #t
