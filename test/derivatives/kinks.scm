; What derivatives are at kinks and singular points.
(define (show x) (write x) (newline))
(define (zero-derivative? f x)
  (and (= 0 (cdr (*j f x 1))) (= 0 (cdr (j* f x 1))) (= 0 (cdr (checkpoint-*j f x 1)))))
(define (derivatives f x) (list (cdr (*j f x 1)) (cdr (j* f x 1)) (cdr (checkpoint-*j f x 1))))
; A conditional takes the branch that runs.
(show (*j (lambda (x) (if (> x 0) x (- 0 x))) 0 1))          ; expect: (0.0 . -1.0)
(show (j* (lambda (x) (if (> x 0) x (- 0 x))) 0 1))          ; expect: (0.0 . -1.0)
(show (*j (lambda (x) (if (>= x 0) x (- 0 x))) 0 1))         ; expect: (0.0 . 1.0)
; |x| has derivative 0 at 0.
(show (zero-derivative? abs 0))                              ; expect: #t
(show (zero-derivative? abs -0.))                            ; expect: #t
; max and min take the first of equal arguments.
(show (derivatives (lambda (x) (max x 2)) 2))                ; expect: (1.0 1.0 1.0)
(show (zero-derivative? (lambda (x) (max 2 x)) 2))           ; expect: #t
(show (derivatives (lambda (x) (min x 2)) 2))                ; expect: (1.0 1.0 1.0)
(show (zero-derivative? (lambda (x) (min 2 x)) 2))           ; expect: #t
(show (let ((r (*j (lambda ((cons a b)) (max a b)) '(2 . 2) 1))) (list (cadr r) (zero? (cddr r))))) ; expect: (1.0 #t)
(show (let ((r (*j (lambda ((list a b c)) (max a b c)) '(1 4 4) 1))) (map zero? (cdr r)))) ; expect: (#t #f #t)
; sqrt at 0 has an infinite derivative; IEEE arithmetic from there.
(show (derivatives sqrt 0))                                  ; expect: (+inf.0 +inf.0 +inf.0)
(show (derivatives (lambda (x) (- (sqrt x))) 0))             ; expect: (-inf.0 -inf.0 -inf.0)
(show (derivatives log 0.))                                  ; expect: (+inf.0 +inf.0 +inf.0)
(show (derivatives / 0.))                                    ; expect: (-inf.0 -inf.0 -inf.0)
; A cotangent that is absent meets no infinite partial.
(show (*j (lambda (x) (car (list 1. (sqrt x)))) 0 1))        ; expect: (1.0 . 0)
(show (*j (lambda ((cons a b)) (let ((unused (sqrt a))) b)) '(0 . 5) 1)) ; expect: (5.0 0 . 1.0)
(show (*j (lambda ((cons a b)) (list (sqrt a) b)) '(0 . 5) '(0 1))) ; expect: ((0.0 5.0) 0 . 1.0)
; Integer powers at 0.
(show (derivatives (lambda (x) (expt x 1)) 0))               ; expect: (1.0 1.0 1.0)
(show (zero-derivative? (lambda (x) (expt x 2)) 0))          ; expect: #t
(show (zero-derivative? (lambda (x) (expt x 0)) 0))          ; expect: #t
(show (derivatives (lambda (x) (expt x 3)) -2))              ; expect: (12.0 12.0 12.0)
; x * x at 0, and a present zero.
(show (derivatives (lambda (x) (* x x)) 0))                  ; expect: (0.0 0.0 0.0)
(show (*j (lambda (x) (* 0. x)) 3 1))                        ; expect: (0.0 . 0.0)
