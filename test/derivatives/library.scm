; gradient, jacobian, hessian, hessian-vector, check-gradient.
;;; case gradient
(define (show x) (write x) (newline))
(show (gradient (lambda (x) (* x x)) 3))                                  ; expect: 6.0
(show (gradient (lambda ((list a b)) (* a b)) '(2 5)))                    ; expect: (5.0 2.0)
(show (gradient (lambda (v) (* (vector-ref v 0) (vector-ref v 1))) '#(2 5))) ; expect: #(5.0 2.0)
(show (gradient (lambda ((cons a (list b c))) (+ (* a b) (* b c))) '(2 3 4))) ; expect: (3.0 6.0 3.0)
(show (gradient (lambda (x) (gradient (lambda (y) (* x y y)) x)) 3))      ; expect: 12.0
;;; case jacobian
(define (show x) (write x) (newline))
(show (jacobian (lambda ((list a b)) (list (* a b) (+ a b))) '(2 5)))     ; expect: ((5.0 2.0) (1.0 1.0))
(show (jacobian (lambda (x) (* x x)) 3))                                  ; expect: 6.0
(show (jacobian (lambda (x) (list x (* x x))) 3))                         ; expect: (1.0 6.0)
;;; case hessian
(define (show x) (write x) (newline))
(show (hessian (lambda (x) (* x x x)) 2))                                 ; expect: 12.0
(show (hessian (lambda ((list a b)) (* a a b b)) '(2 5)))                 ; expect: ((50.0 40.0) (40.0 8.0))
;;; case hessian-vector
(define (show x) (write x) (newline))
(show (hessian-vector (lambda (x) (* x x x)) 2 5))                        ; expect: 60.0
(show (hessian-vector (lambda ((list a b)) (* a a b b)) '(2 5) '(1 1)))   ; expect: (90.0 48.0)
(show (hessian-vector (lambda ((list a b)) (* a a b b)) '(2 5) '(1 0)))   ; expect: (50.0 40.0)
;;; case check-gradient-runs
; expect any output
(check-gradient (lambda (x) (* x (sin x))) 3)
(check-gradient (lambda ((list a b)) (* a (exp b))) '(2 .5))
(check-gradient (lambda (v) (atan (vector-ref v 0) (vector-ref v 1))) '#(2 .5))
;;; case as-values
(define (show x) (write x) (newline))
(show (map (lambda (d) (d (lambda (x) (* x x x)) 2)) (list gradient jacobian hessian))) ; expect: (12.0 12.0 12.0)
(show (map procedure? (list j* *j checkpoint-*j gradient with-schedule primops interrupt resume))) ; expect: (#t #t #t #t #t #t #t #t)
(show (map (lambda (d) (cdr (d (lambda (x) (* x x)) 3 1))) (list j* *j checkpoint-*j))) ; expect: (6.0 6.0 6.0)
(show (apply *j (list (lambda (x) (* x x)) 3 1)))                         ; expect: (9.0 . 6.0)
