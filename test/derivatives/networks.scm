; Tensors by NumPy's names, and what networks are made of.
(import network)
(define (show x) (write x) (newline))
(define (l t) (show (tensor->list t)))
;;; case values
(l (zeros '(2 2)))                 ; expect: ((0.0 0.0) (0.0 0.0))
(show (ones '(2) 'f64))            ; expect: #<tensor f64 (2) [1.0 1.0]>
(l (zeros-like (ones '(2))))       ; expect: (0.0 0.0)
(show (ones-like (zeros '(2) 'i8)))        ; expect: #<tensor i8 (2) [1 1]>
(l (arange 4))                     ; expect: (0.0 1.0 2.0 3.0)
(l (arange 2 5))                   ; expect: (2.0 3.0 4.0)
(l (arange 0 1 .25))               ; expect: (0.0 0.25 0.5 0.75)
(l (arange 5 0 -2))                ; expect: (5.0 3.0 1.0)
(l (linspace 0 1 5))               ; expect: (0.0 0.25 0.5 0.75 1.0)
(l (linspace 3 4 1))               ; expect: (3.0)
(l (eye 2))                        ; expect: ((1.0 0.0) (0.0 1.0))
(l (diag (arange 1 3)))            ; expect: ((1.0 0.0) (0.0 2.0))
(l (diag (list->tensor '((1 +inf.0) (3 4))))) ; expect: (1.0 4.0)
(show (size (reshape (arange 6) '(2 -1))))    ; expect: (2 3)
(l (cumsum (arange 4) 0))          ; expect: (0.0 1.0 3.0 6.0)
(show (size (squeeze (zeros '(1 2 1)))))      ; expect: (2)
(show (size (squeeze (zeros '(1 2 1)) -1)))   ; expect: (1 2)
(show (size (unsqueeze (zeros '(2 3)) -1)))   ; expect: (2 3 1)
(show (size (unsqueeze (zeros '(2 3)) 1)))    ; expect: (2 1 3)
;;; case derivatives
(show (check-gradient (lambda (t) (sumall (* (diag t) (unsqueeze (cumsum (squeeze (unsqueeze t 0)) 0) 1)))) (list->tensor '(1 2 3))))
; expect any output
(assert (check-gradient (lambda (t) (sumall (square (diag (reshape t '(2 2)))))) (list->tensor '(1 2 3 4))))
(define weights (new-perceptron '(2 3 1)))
(assert (check-gradient (lambda (p) (sumall (perceptron tanh p (ones '(2 2) 'f64)))) weights))
;;; case mistakes-squeeze
(squeeze (zeros '(1 2)) 1)
; expect error: squeeze: only an axis of size 1 can go; axis and sizes are 1 \(1 2\)
;;; case mistakes-diag
(diag (zeros '(2 3)))
; expect error: diag: expected a vector or a square matrix, got sizes \(2 3\)
;;; case networks
(define p (list 1 (vector 2. (ones '(2))) 'a))
(show (parameters-map (lambda (x) (* 2 x)) p)) ; expect: (2 #(4.0 #<tensor f32 (2) [2.0 2.0]>) a)
(show (parameters-count p))                     ; expect: 4
(show (parameters->list p))                     ; expect: (1 2.0 #<tensor f32 (2) [1.0 1.0]>)
(show (parameters-count (new-perceptron '(4 8 3)))) ; expect: 67
(show (size (perceptron tanh (new-perceptron '(4 8 3)) (zeros '(5 4))))) ; expect: (5 3)
(show (size (he 4 8)))                          ; expect: (4 8)
(define logits (list->tensor '((1 2) (3 1) (0 1))))
(define classes (list->tensor '(1 0 0) 'i64))
(show (accuracy logits classes))                ; expect: 0.6666666666666666
(l (confusion-matrix logits classes))           ; expect: ((1.0 1.0) (0.0 1.0))
