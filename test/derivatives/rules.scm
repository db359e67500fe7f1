; The rule of every differentiable procedure against its closed form, in j*, *j and checkpoint-*j.
(define (show x) (write x) (newline))
(define (near? a b) (<= (abs (- a b)) (* 1e-14 (max 1 (abs a) (abs b)))))
(define (all? p l) (or (null? l) (and (p (car l)) (all? p (cdr l)))))
; One argument: value and derivative in the three modes, equal bits in the two reverse ones.
(define (check1 f df points)
  (all? (lambda (x)
          (let ((y (f x)) (d (df x)) (forward (j* f x 1)) (reverse (*j f x 1)) (checkpointed (checkpoint-*j f x 1)))
            (and (near? y (car forward)) (near? d (cdr forward)) (near? y (car reverse)) (near? d (cdr reverse))
                 (equal? reverse checkpointed)
                 (near? (* 3 d) (cdr (*j f x 3))) (near? (* -2.5 d) (cdr (j* f x -2.5))))))
        points))
; Two arguments: partial derivatives by a pair and by capture.
(define (check2 f da db points)
  (all? (lambda (p)
          (let* ((a (car p)) (b (cdr p)) (g (lambda ((cons a b)) (f a b))) (r (*j g p 1)))
            (and (near? (f a b) (car r)) (near? (da a b) (cadr r)) (near? (db a b) (cddr r))
                 (equal? r (checkpoint-*j g p 1))
                 (near? (+ (* 2 (da a b)) (* -3 (db a b))) (cdr (j* g p '(2 . -3))))
                 (near? (da a b) (cdr (j* (lambda (x) (f x b)) a 1))) (near? (db a b) (cdr (j* (lambda (x) (f a x)) b 1)))
                 (near? (da a b) (cdr (*j (lambda (x) (f x b)) a 1))) (near? (db a b) (cdr (*j (lambda (x) (f a x)) b 1))))))
        points))
(define several '(.3 1.7 -2.25 5 -.125))
(define positives '(.3 1.7 2.25 5))
(define pairs '((.3 . 1.7) (-2.25 . .5) (5. . -1.5) (-.7 . -.2)))
(define (one x) 1)
(show (check1 (lambda (x) x) one several))                                      ; expect: #t
(show (check1 (lambda (x) (+ x)) one several))                                  ; expect: #t
(show (check1 (lambda (x) (- x)) (lambda (x) -1) several))                      ; expect: #t
(show (check1 (lambda (x) (+ x x x)) (lambda (x) 3) several))                   ; expect: #t
(show (check1 (lambda (x) (- x 1 x x)) (lambda (x) -1) several))                ; expect: #t
(show (check1 (lambda (x) (* x x x)) (lambda (x) (* 3 x x)) several))           ; expect: #t
(show (check1 (lambda (x) (* 2 x)) (lambda (x) 2) several))                     ; expect: #t
(show (check1 (lambda (x) (* x 2.5)) (lambda (x) 2.5) several))                 ; expect: #t
(show (check1 (lambda (x) (+ 2 x)) one several))                                ; expect: #t
(show (check1 (lambda (x) (- x 2.5)) one several))                              ; expect: #t
(show (check1 (lambda (x) (- 2.5 x)) (lambda (x) -1) several))                  ; expect: #t
(show (check1 (lambda (x) (- 2 x)) (lambda (x) -1) several))                    ; expect: #t
(show (check1 (lambda (x) (/ x)) (lambda (x) (/ -1 (* x x))) several))          ; expect: #t
(show (check1 (lambda (x) (/ x 4)) (lambda (x) .25) several))                   ; expect: #t
(show (check1 (lambda (x) (/ 4 x)) (lambda (x) (/ -4 (* x x))) several))        ; expect: #t
(show (check1 (lambda (x) (/ 2.5 x)) (lambda (x) (/ -2.5 (* x x))) several))    ; expect: #t
(show (check1 (lambda (x) (/ x x)) (lambda (x) 0) several))                     ; expect: #t
(show (check1 (lambda (x) (/ 8 x 2)) (lambda (x) (/ -4 (* x x))) several))      ; expect: #t
(show (check1 sqrt (lambda (x) (/ .5 (sqrt x))) positives))                     ; expect: #t
(show (check1 exp exp several))                                                 ; expect: #t
(show (check1 log (lambda (x) (/ 1. x)) positives))                             ; expect: #t
(show (check1 sin cos several))                                                 ; expect: #t
(show (check1 cos (lambda (x) (- (sin x))) several))                            ; expect: #t
(show (check1 tan (lambda (x) (+ 1 (* (tan x) (tan x)))) several))              ; expect: #t
(show (check1 asin (lambda (x) (/ 1. (sqrt (- 1 (* x x))))) '(.3 -.125 .75)))   ; expect: #t
(show (check1 acos (lambda (x) (/ -1. (sqrt (- 1 (* x x))))) '(.3 -.125 .75)))  ; expect: #t
(show (check1 atan (lambda (x) (/ 1. (+ 1 (* x x)))) several))                  ; expect: #t
(show (check1 abs (lambda (x) (if (< x 0) -1 1)) several))                      ; expect: #t
(show (check1 (lambda (x) (expt x 3)) (lambda (x) (* 3 x x)) several))          ; expect: #t
(show (check1 (lambda (x) (expt x 2.)) (lambda (x) (* 2 x)) several))           ; expect: #t
(show (check1 (lambda (x) (expt x -2)) (lambda (x) (/ -2 (* x x x))) several))  ; expect: #t
(show (check1 (lambda (x) (expt x .5)) (lambda (x) (/ .5 (sqrt x))) positives)) ; expect: #t
(show (check1 (lambda (x) (expt 2 x)) (lambda (x) (* (log 2) (expt 2 x))) several)) ; expect: #t
(show (check1 (lambda (x) (expt x x)) (lambda (x) (* (expt x x) (+ 1 (log x)))) positives)) ; expect: #t
(show (check1 (lambda (x) (exact->inexact x)) one several))                     ; expect: #t
(show (check1 (lambda (x) (max x 1)) (lambda (x) (if (> x 1) 1 0)) several))    ; expect: #t
(show (check1 (lambda (x) (min x 1)) (lambda (x) (if (> x 1) 0 1)) several))    ; expect: #t
(show (check1 (lambda (x) (max 1 (* x x) -7)) (lambda (x) (if (> (* x x) 1) (* 2 x) 0)) several)) ; expect: #t
(show (check1 (lambda (x) (atan x 2)) (lambda (x) (/ 2. (+ 4 (* x x)))) several)) ; expect: #t
(show (check1 (lambda (x) (atan 2 x)) (lambda (x) (/ -2. (+ 4 (* x x)))) several)) ; expect: #t
(show (check2 + (lambda (a b) 1) (lambda (a b) 1) pairs))                       ; expect: #t
(show (check2 - (lambda (a b) 1) (lambda (a b) -1) pairs))                      ; expect: #t
(show (check2 * (lambda (a b) b) (lambda (a b) a) pairs))                       ; expect: #t
(show (check2 / (lambda (a b) (/ 1. b)) (lambda (a b) (/ (- a) (* b b))) pairs)) ; expect: #t
(show (check2 atan (lambda (a b) (/ b (+ (* a a) (* b b)))) (lambda (a b) (/ (- a) (+ (* a a) (* b b)))) pairs)) ; expect: #t
(show (check2 max (lambda (a b) (if (> a b) 1 0)) (lambda (a b) (if (> a b) 0 1)) pairs)) ; expect: #t
(show (check2 min (lambda (a b) (if (> a b) 0 1)) (lambda (a b) (if (> a b) 1 0)) pairs)) ; expect: #t
(show (check2 expt (lambda (a b) (* b (expt a (- b 1)))) (lambda (a b) (* (log a) (expt a b))) '((.3 . 1.7) (2. . -.5) (5. . 3.)))) ; expect: #t
; Procedures that are constant almost everywhere.
(define (flat? f x) (and (zero? (cdr (*j f x 1))) (zero? (cdr (j* f x 1))) (zero? (cdr (checkpoint-*j f x 1)))))
(show (map (lambda (f) (flat? f 2.5)) (list floor ceiling truncate round))) ; expect: (#t #t #t #t)
(show (flat? (lambda (x) (quotient x 2)) 7))                                    ; expect: #t
(show (flat? inexact->exact 7))                                                 ; expect: #t
; Taped numbers and bundles behave as their primal everywhere else.
(define (behaves x)
  (list (number? x) (real? x) (exact? x) (inexact? x) (integer? x) (zero? x) (positive? x) (negative? x) (odd? x) (even? x)
        (= x 3) (eqv? x 3.) (eqv? x 3) (equal? (list x) '(3.)) (eq? x x) (< 2 x 4) (memv x '(1. 3.)) (assv x '((3. . a)))
        (member x '(3.)) (case x ((3) 'three) (else 'other)) ((lambda (3) 'matched) x) (number->string x) (pair? x) (procedure? x)
        (vector-ref '#(a b c d) x) (list-ref '(a b c d) x) (iota x) (length (make-vector-list x)) (quotient x 2) (modulo x 2)
        (floor (/ x 2)) (inexact->exact x) (gcd x 6)))
(define (make-vector-list n) (vector->list (make-vector n 'x)))
(define plain (behaves 3.))
(show plain)                             ; expect: (#t #t #f #t #t #f #t #f #t #f #t #t #f #t #t #t (3.0) (3.0 . a) (3.0) three matched "3.0" #f #f d d (0 1 2) 3 1.0 1.0 1.0 3 3.0)
(show (equal? plain (car (*j behaves 3 0))))            ; expect: #t
(show (equal? plain (car (j* behaves 3 1))))            ; expect: #t
(show (equal? plain (car (checkpoint-*j behaves 3 0)))) ; expect: #t
(*j (lambda (x) (display x) (display " ") (write (list x (vector x))) (newline) x) 3 1) ; expect: 3.0 (3.0 #(3.0))
(j* (lambda (x) (display x) (display " ") (write (list x (vector x))) (newline) x) 3 1) ; expect: 3.0 (3.0 #(3.0))
