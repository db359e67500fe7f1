; Derivatives of programs that interrupt and resume; interruption of programs that differentiate.
(define (show x) (write x) (newline))
(define (all? p from to) (or (> from to) (and (p from) (all? p (+ from 1) to))))
(define (g x) (let loop ((i 0) (y x) (l '())) (if (= i 5) (fold-left + y l) (loop (+ i 1) (* x y) (cons (sin y) l)))))
(define total (primops g 1.5))
(define want (*j g 1.5 1))
(define want-forward (j* g 1.5 1))
; f x = resume (interrupt g x n) has the derivative of g for every n, by the same bits.
(define (through n) (lambda (x) (resume (interrupt g x n))))
(show (all? (lambda (n) (equal? want-forward (j* (through n) 1.5 1))) 0 (+ total 2)))             ; expect: #t
(define (close? r) (and (= (car r) (car want)) (< (abs (- (cdr r) (cdr want))) 1e-12)))
(show (all? (lambda (n) (close? (*j (through n) 1.5 1))) 0 (+ total 2)))                          ; expect: #t
(show (all? (lambda (n) (with-schedule "binomial,base=16" (lambda () (equal? (*j (through n) 1.5 1) (checkpoint-*j (through n) 1.5 1))))) 0 (+ total 2))) ; expect: #t
; Two capsules deep.
(define (through2 n m) (lambda (x) (resume (interrupt resume (interrupt g x n) m))))
(show (all? (lambda (n) (close? (*j (through2 n (- total n)) 1.5 1))) 0 total))                   ; expect: #t
(show (all? (lambda (n) (let ((f (through2 n 13))) (equal? (*j f 1.5 1) (with-schedule "bisection,base=16" (lambda () (checkpoint-*j f 1.5 1)))))) 0 total)) ; expect: #t
; A capsule used twice: twice the derivative.
(define (twice n) (lambda (x) (let ((z (interrupt g x n))) (+ (resume z) (resume z)))))
(show (all? (lambda (n) (let ((r (*j (twice n) 1.5 1))) (and (= (car r) (* 2 (car want))) (< (abs (- (cdr r) (* 2 (cdr want)))) 1e-12)))) 0 (+ total 2))) ; expect: #t
(show (all? (lambda (n) (let ((f (twice n))) (equal? (*j f 1.5 1) (with-schedule "sqrt,base=16" (lambda () (checkpoint-*j f 1.5 1)))))) 0 total)) ; expect: #t
; One half of the program outside the differentiated part: the rule of divide and conquer.
(define (divided n)
  (let* ((z (interrupt g 1.5 n)) (r (*j (lambda (z) (resume z)) z 1))) (car r)))
(show (all? (lambda (n) (= (car want) (divided n))) 0 total))                                     ; expect: #t
; primops of something differentiated counts, and carries no derivative.
(show (let ((r (*j (lambda (x) (primops g x)) 1.5 1))) (list (= (car r) total) (zero? (cdr r))))) ; expect: (#t #t)
(show (let ((r (*j (lambda (x) (* x (capsule-steps (interrupt g x 20)))) 1.5 1))) r))             ; expect: (30.0 . 20.0)
; Derivatives interrupted after every possible number of steps give the same bits.
(define (f x) (* x (sin x) (if (> x 1) x 1)))
(define (interrupted-everywhere? h x want)
  (let ((total (primops h x)))
    (all? (lambda (n)
            (let ((z (interrupt h x n)))
              (and (equal? want (resume z)) (= total (+ (capsule-steps z) (primops resume z))))))
          0 total)))
(define (derivative-everywhere? h x) (interrupted-everywhere? h x (h x)))
(show (derivative-everywhere? (lambda (x) (j* f x 1)) 1.5))                                       ; expect: #t
(show (derivative-everywhere? (lambda (x) (*j f x 1)) 1.5))                                       ; expect: #t
(show (derivative-everywhere? (lambda (x) (checkpoint-*j f x 1)) 1.5))                            ; expect: #t
(show (derivative-everywhere? (lambda (x) (with-schedule "binomial,base=16" (lambda () (checkpoint-*j g x 1)))) 1.5)) ; expect: #t
(show (derivative-everywhere? (lambda (x) (with-schedule "online,base=16" (lambda () (checkpoint-*j g x 1)))) 1.5)) ; expect: #t
(show (derivative-everywhere? (lambda (x) (with-schedule "bisection,base=16" (lambda () (checkpoint-*j g x 1)))) 1.5)) ; expect: #t
(show (derivative-everywhere? (lambda (x) (*j (lambda (x) (cdr (*j f x 1))) x 1)) 1.5))           ; expect: #t
(show (derivative-everywhere? (lambda (x) (j* (lambda (x) (cdr (*j f x 1))) x 1)) 1.5))           ; expect: #t
(show (derivative-everywhere? (lambda (x) (*j (lambda (x) (cdr (j* f x 1))) x 1)) 1.5))           ; expect: #t
(show (derivative-everywhere? (lambda (x) (*j (through 20) x 1)) 1.5))                            ; expect: #t
; One step at a time, and a capsule of a half-done derivative used twice.
(define (stepwise z) (if (capsule-finished? z) (resume z) (stepwise (interrupt resume z 1))))
(show (equal? want (stepwise (interrupt (lambda (x) (*j g x 1)) 1.5 0))))                         ; expect: #t
(show (equal? want (stepwise (interrupt (lambda (x) (with-schedule "binomial,base=16" (lambda () (checkpoint-*j g x 1)))) 1.5 0)))) ; expect: #t
(define half (interrupt (lambda (x) (*j g x 1)) 1.5 (quotient (primops (lambda (x) (*j g x 1)) 1.5) 2)))
(show (list (equal? want (resume half)) (equal? want (resume half))))                             ; expect: (#t #t)
; Differentiation of a program that interrupts its own inner derivative.
(define (outer x) (let ((z (interrupt (lambda (y) (cdr (*j (lambda (y) (* x y y)) y 1))) x 30))) (resume z)))
(show (*j outer 3 1))                                                                             ; expect: (18.0 . 12.0)
(show (j* outer 3 1))                                                                             ; expect: (18.0 . 12.0)
(define (outer-at n) (lambda (x) (resume (interrupt (lambda (y) (cdr (*j (lambda (y) (* x y y)) y 1))) x n))))
(show (all? (lambda (n) (equal? '(18. . 12.) (*j (outer-at n) 3 1))) 0 60))                       ; expect: #t
(show (all? (lambda (n) (equal? '(18. . 12.) (j* (outer-at n) 3 1))) 0 60))                       ; expect: #t
(show (all? (lambda (n) (equal? '(18. . 12.) (with-schedule "bisection,base=16" (lambda () (checkpoint-*j (outer-at n) 3 1))))) 0 60)) ; expect: #t
; A capsule made inside a derivative and resumed outside keeps no tape.
(define leaked (car (*j (lambda (x) (list (* x x) (interrupt g x 20))) 1.5 0)))
(show (= (resume (cadr leaked)) (g 1.5)))                                                         ; expect: #t
