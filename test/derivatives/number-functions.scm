; Elementwise functions that tensors have, on numbers: values, derivatives in all modes and to the third order against tensors of f64,
; whose formulas are the same. Kinks and infinite operands too.
;;; case all
(define (show x) (write x) (newline))
(define (all? p l) (or (null? l) (and (p (car l)) (all? p (cdr l)))))
(define (near? a b) (or (and (not (= a a)) (not (= b b))) (= a b) (<= (abs (- a b)) (* 1e-12 (max 1 (abs a) (abs b))))))
(define (derivative f) (lambda (x) (cdr (j* f x 1.))))
(define (forward f) (lambda (x) (cdr (j* f x 1.))))
(define (reverse-of f) (lambda (x) (cdr (*j f x 1.))))
(define (checkpointed f) (lambda (x) (cdr (checkpoint-*j f x 1.))))
; The same function of a number, by a tensor without axes.
(define ((by-tensor f) x) (tensor->number (f (list->tensor x 'f64))))
(define (flonum x) (if (exact? x) (exact->inexact x) x))
(define (agrees? f points)
  (let ((g (by-tensor f)))
    (all? (lambda (x)
            (and (near? (f x) (g x))
                 (near? (flonum ((forward f) x)) (flonum ((reverse-of g) x)))
                 (near? (flonum ((reverse-of f) x)) (flonum ((reverse-of g) x)))
                 (equal? ((reverse-of f) x) ((checkpointed f) x))
                 ; orders 2 and 3, forward and reverse in each other
                 (near? (flonum ((forward (forward f)) x)) (flonum ((reverse-of (reverse-of g)) x)))
                 (near? (flonum ((reverse-of (forward f)) x)) (flonum ((reverse-of (reverse-of g)) x)))
                 (near? (flonum ((forward (checkpointed f)) x)) (flonum ((reverse-of (reverse-of g)) x)))
                 (near? (flonum ((checkpointed (reverse-of f)) x)) (flonum ((reverse-of (reverse-of g)) x)))
                 (near? (flonum ((forward (reverse-of (forward f))) x)) (flonum ((reverse-of (reverse-of (reverse-of g))) x)))))
          points)))
(define points '(-3.5 -1.25 -.3 .2 .75 1.5 4.))
(show (agrees? tanh points))                                     ; expect: #t
(show (agrees? sigmoid points))                                  ; expect: #t
(show (agrees? ReLU points))                                     ; expect: #t
(show (agrees? GeLU points))                                     ; expect: #t
(show (agrees? GeLU-tanh points))                                ; expect: #t
(show (agrees? SiLU points))                                     ; expect: #t
(show (agrees? softplus points))                                 ; expect: #t
(show (agrees? square points))                                   ; expect: #t
(show (agrees? sign points))                                     ; expect: #t
(show (agrees? erf points))                                      ; expect: #t
(show (agrees? sinh points))                                     ; expect: #t
(show (agrees? cosh points))                                     ; expect: #t
(show (agrees? asinh points))                                    ; expect: #t
(show (agrees? acosh '(1.25 1.5 4. 100.)))                       ; expect: #t
(show (agrees? atanh '(-.9 -.25 .1 .5)))                         ; expect: #t
(show (agrees? log1p '(-.9 -.25 .1 4.)))                         ; expect: #t
(show (agrees? expm1 points))                                    ; expect: #t
(show (agrees? (lambda (x) (LeakyReLU x)) points))               ; expect: #t
(show (agrees? (lambda (x) (LeakyReLU x .3)) points))            ; expect: #t
(show (agrees? ELU points))                                      ; expect: #t
(show (agrees? (lambda (x) (ELU x 2)) points))                   ; expect: #t
; Values from tables.
(show (near? (tanh .5) .46211715726000975))                      ; expect: #t
(show (near? (erf .5) .5204998778130465))                        ; expect: #t
(show (near? (GeLU 1.) .8413447460685429))                       ; expect: #t
(show (near? (softplus 1.) 1.3132616875182228))                  ; expect: #t
(show (near? (log1p 1e-10) 9.9999999995e-11))                    ; expect: #t
; Of exact integers, exact ones where the function gives integers.
(show (list (square 3) (square -3.) (ReLU 4) (ReLU -4) (sign -7) (sign 0) (sign 2.5) (abs -3) (- 5)))  ; expect: (9 9.0 4 0 -1 0 1.0 3 -5)
(show (square 100000000))                                        ; expect: 1e+16
(show (tanh 0))                                                  ; expect: 0.0
(show (sqrt 16))                                                 ; expect: 4
; Kinks, and the ends.
(show (map (lambda (f) (list (cdr (j* f 0. 1.)) (cdr (*j f 0. 1.)))) (list ReLU sign square))) ; expect: ((0.0 0.0) (0.0 0.0) (0.0 0.0))
(show (map (lambda (f) (list (f +inf.0) (f -inf.0))) (list tanh sigmoid softplus))) ; expect: ((1.0 -1.0) (1.0 0.0) (+inf.0 0.0))
(show (map (lambda (f) (cdr (*j f 800. 1.))) (list tanh sigmoid softplus GeLU SiLU GeLU-tanh))) ; expect: (0.0 0.0 1.0 1.0 1.0 1.0)
; As values, and on lists of numbers under one operator.
(show (map square '(1 2 3)))                                     ; expect: (1 4 9)
(show (gradient (lambda (l) (apply + (map tanh l))) '(0. 0.)))   ; expect: (1.0 1.0)
; Reductions of a number give the number, and what they do to one element.
(show (map (lambda (f) (f 2.5)) (list sum mean max-over min-over prod logsumexp sumall max-value norm variance))) ; expect: (2.5 2.5 2.5 2.5 2.5 2.5 2.5 2.5 2.5 0.0)
(show (map (lambda (f) (f 3)) (list sum max-over prod sumall max-value mean))) ; expect: (3 3 3 3 3 3.0)
(show (map (lambda (f) (gradient f -2.5)) (list sumall mean max-value prod logsumexp norm))) ; expect: (1.0 1.0 1.0 1.0 1.0 -1.0)
(show (map (lambda (f) (cdr (j* f -2.5 2.))) (list sumall mean max-value prod norm))) ; expect: (2.0 2.0 2.0 2.0 -2.0)
(show ((forward (reverse-of (lambda (x) (* x x (mean (* x x)))))) 2.)) ; expect: 48.0
(show (mean-squared-error 3. 1))                                 ; expect: 4.0
(show (gradient (lambda ((list a b)) (mean-squared-error a b)) '(3. 1.))) ; expect: (4.0 -4.0)
(show (dot 3 4))                                                 ; expect: 12
(show (list (tensor->number 4) (tensor->list 2.5)))              ; expect: (4 2.5)
(show (gradient (lambda (x) (* x (tensor->number x))) 3.))       ; expect: 6.0
; One rule serves a matrix and a scalar bias.
(define (penalty p) (sumall (square p)))
(define (total ps) (apply + (map penalty ps)))
(define g (gradient total (list (fill '(2 2) 1.5) 2.)))
(show (list (sumall (car g)) (cadr g)))                          ; expect: (12.0 4.0)
;;; case axes-of-a-number
(sum 3. 0)
; expect error: sum.*axis
;;; case a-number-for-a-tensor
(softmax 3.)
; expect error: softmax: operand 1: expected a tensor, got 3.0; \(list->tensor x\) is the tensor without axes
;;; case a-tensor-for-a-number
(fill '(2) (list->tensor '(1 2)))
; expect error: expected a number.*\(tensor->number t\)
;;; case no-number
(tanh 'x)
; expect error: tanh: expected a number, got x
