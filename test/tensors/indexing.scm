; index, draws from keys, multinomial, clock.
;;; case all
(define (show x) (write x) (newline))
(define (list-of t) (tensor->list t))
(define t (list->tensor '((0 1 2 3) (10 11 12 13) (20 21 22 23)) 'i64))
(show (list-of (index t)))                                       ; expect: ((0 1 2 3) (10 11 12 13) (20 21 22 23))
(show (list-of (index t 1)))                                     ; expect: (10 11 12 13)
(show (list-of (index t -1 -2)))                                 ; expect: 22
(show (list-of (index t #t 2)))                                  ; expect: (2 12 22)
(show (list-of (index t '(1 3))))                                ; expect: ((10 11 12 13) (20 21 22 23))
(show (list-of (index t '(0 #f 2) '(-3 -1))))                    ; expect: ((1 2) (21 22))
(show (list-of (index t #t '(#f 100))))                          ; expect: ((0 1 2 3) (10 11 12 13) (20 21 22 23))
(show (size (index t '(2 1))))                                   ; expect: (0 4)
(define i (list->tensor '(2 0) 'i64))
(show (list-of (index t i)))                                     ; expect: ((20 21 22 23) (0 1 2 3))
(show (list-of (index t #t i)))                                  ; expect: ((2 0) (12 10) (22 20))
(show (list-of (index t i '(1 3))))                              ; expect: ((21 22) (1 2))
(define j (list->tensor '((0 1) (2 2)) 'i64))
(show (list-of (index t j 1)))                                   ; expect: ((1 11) (21 21))
(show (list-of (index t #t j)))                                  ; expect: (((0 1) (2 2)) ((10 11) (12 12)) ((20 21) (22 22)))
(show (list-of (index (list->tensor '(5 6 7)) i)))               ; expect: (7.0 5.0)
(show (list-of (gradient (lambda (x) (sumall (square (index x i '(1 3))))) (cast t 'f64)))) ; expect: ((0.0 2.0 4.0 0.0) (0.0 0.0 0.0 0.0) (0.0 42.0 44.0 0.0))
; By masks: sizes that depend on elements.
(define m (list->tensor '((0 1 0) (2 0 3))))
(show (list-of (nonzero m)))                                     ; expect: ((0 1) (1 0) (1 2))
(show (list-of (nonzero (transpose m))))                         ; expect: ((0 1) (1 0) (2 1))
(show (list-of (nonzero (list->tensor '(0 5 0 7)))))             ; expect: (1 3)
(show (map size (list (nonzero (fill '(2 2) 0)) (nonzero (fill '(0 3 1) 1)) (nonzero (fill '(0) 1))))) ; expect: ((0 2) (0 3) (0))
(show (list-of (masked-select m (< 1 m))))                       ; expect: (2.0 3.0)
(show (list-of (masked-select m (list->tensor '(1 0 1)))))       ; expect: (0.0 0.0 2.0 3.0)
(show (list-of (masked-select (cast (transpose m) 'i64) (transpose m)))) ; expect: (2 1 3)
(show (size (masked-select m (fill '(1) 0))))                    ; expect: (0)
(show (list-of (masked-select m (* m +nan.0))))                  ; expect: (0.0 1.0 0.0 2.0 0.0 3.0)
(define (of-large x) (sumall (square (masked-select x (< 1 x)))))
(show (list-of (gradient of-large m)))                           ; expect: ((0.0 0.0 0.0) (4.0 0.0 6.0))
(show (list-of (cdr (checkpoint-*j of-large m 1))))              ; expect: ((0.0 0.0 0.0) (4.0 0.0 6.0))
(show (list-of (gradient (lambda (x) (sumall (* x (gradient of-large x)))) m))) ; expect: ((0.0 0.0 0.0) (8.0 0.0 12.0))
(show (cdr (j* of-large m m)))                                   ; expect: 26.0
; Keys: draws are functions of them, and of the machine's own numbers nothing is used.
(show (list (= (random-real 5) (random-real 5)) (= (random-real 5) (random-real 6)) (= (random-normal 5) (random-normal 5)) (= (random-integer 1000 5) (random-integer 1000 5)))) ; expect: (#t #f #t #t)
(show (list (equal? (rand '(3) 'f64 #f 5) (rand '(3) 'f64 #f 5)) (equal? (rand '(3) 'f64 #f 5) (rand '(3) 'f64 #f 6)) (equal? (randn '(2) #f #f 5) (randn '(2) #f #f 5)))) ; expect: (#t #f #t)
(define keys (split-key 7 100))
(show (list (length keys) (equal? keys (split-key 7 100)) (dict-size (list->dict (map list keys))) (>= (apply min keys) 0))) ; expect: (100 #t 100 #t)
(show (let ((m (mean (stack (map (lambda (k) (rand '(50) 'f64 #f k)) keys) 0)))) (< .48 (tensor->number m) .52))) ; expect: #t
(show (equal? (dropout (ones '(8)) .5 3) (dropout (ones '(8)) .5 3))) ; expect: #t
(show (equal? (categorical (ones '(4 9)) 3) (categorical (ones '(4 9)) 3))) ; expect: #t
(show (integer? (random-key)))                                   ; expect: #t
(define draws (multinomial (list->tensor '((1 0 3) (0 1 0))) 4000 11))
(show (list (size draws) (sumall (index draws 1)) (max-value (index draws 1)))) ; expect: ((2 4000) 4000 1)
(define share (/ (sumall (= (index draws 0) 2)) 4000))
(show (list (< .7 share .8) (sumall (= (index draws 0) 1))))     ; expect: (#t 0)
(show (size (multinomial (list->tensor '(.5 .5)) 3)))            ; expect: (3)
; A clock: what a replay is told is what was told first.
(define (timed x) (let* ((a (clock)) (y (* x a)) (b (clock))) (if (>= b a) y (error "backwards"))))
(show (let ((p (checkpoint-*j timed 1. 1.))) (= (car p) (cdr p)))) ; expect: #t
(show (let ((p (with-schedule "bisection,base=16" (lambda () (checkpoint-*j (lambda (x) (timed (timed x))) 1. 1.))))) (= (car p) (cdr p)))) ; expect: #t
;;; case position
(index (ones '(3)) 3)
; expect error: index: there is no position 3 in axis
;;; case too-many-indices
(index (ones '(3)) 0 0)
; expect error: index: more indices than axes
;;; case mask
(index (ones '(3)) (< (ones '(3)) 2))
; expect error: index: a tensor of u8 may be meant as a mask
;;; case what-is-that
(index (ones '(3)) 'x)
; expect error: index: expected an integer, a range
;;; case key
(rand '(3) #f #f 'k)
; expect error: rand: operand 4: expected a key, which is an integer, got k
;;; case weights-that-nothing-can-be-drawn-with
(define (show x) (write x) (newline))
(define (said thunk) (call-with-error-handler (lambda (message irritants) message) thunk))
(define (weights l) (said (lambda () (multinomial (list->tensor l) 3))))
(show (weights '(0 0)))            ; expect: "multinomial: all weights of a row are 0 in"
(show (weights '((1 2) (0 0))))    ; expect: "multinomial: all weights of a row are 0 in"
(show (weights '(-1 2)))           ; expect: "multinomial: weights are finite and not negative, got"
(show (weights '(+nan.0 2)))       ; expect: "multinomial: weights are finite and not negative, got"
(show (weights '(+inf.0 2)))       ; expect: "multinomial: weights are finite and not negative, got"
(define (logits l) (said (lambda () (categorical (list->tensor l)))))
(show (logits '(+nan.0 2)))        ; expect: "categorical: a logit is a NaN in"
(show (logits '(-inf.0 -inf.0)))   ; expect: "categorical: the largest logit of each row is finite, got"
(show (logits '(+inf.0 1)))        ; expect: "categorical: the largest logit of each row is finite, got"
(show (tensor->list (logits '((-inf.0 1) (2 -inf.0))))) ; expect: (1 0)
(show (map size (list (categorical (zeros '(0 3))) (multinomial (zeros '(0 3)) 2)))) ; expect: ((0) (0 2))
(show (tensor->list (cdr (*j (lambda (x) (sumall (* x (cast (multinomial (exp x) 2 5) (quote f32))))) (zeros (quote (2))) 1)))) ; expect: (0.0 0.0)
;;; case points
(define (show x) (write (if (tensor? x) (tensor->list x) x)) (newline))
(define t (view (arange 24) '(2 3 4)))
(define i (list->tensor '(0 1 -1) 'i64))
(define j (list->tensor '(2 0 1) 'i64))
(show (size (index t (list->tensor '(0 1) 'i64) j))) ; expect: (2 3 4)
(show (index-points t i j))                    ; expect: ((8.0 9.0 10.0 11.0) (12.0 13.0 14.0 15.0) (16.0 17.0 18.0 19.0))
(show (index-points t i j (list->tensor '(-1) 'i32))) ; expect: (11.0 15.0 19.0)
(show (index-points t (unsqueeze i 1) j 0))    ; expect: ((8.0 0.0 4.0) (20.0 12.0 16.0) (20.0 12.0 16.0))
(show (index-points t 1 2 3))                  ; expect: 23.0
(show (size (index-points t (zeros '(0) 'i64)))) ; expect: (0 3 4)
(show (size (index-points t)))                 ; expect: (2 3 4)
(show (gradient (lambda (m) (sumall (square (index-points m j j)))) (view (arange 9) '(3 3)))) ; expect: ((0.0 0.0 0.0) (0.0 8.0 0.0) (0.0 0.0 16.0))
(show (index (arange 4) (list->tensor '(-1 0) 'i32)))   ; expect: (3.0 0.0)
(show (index (arange 4) '(1. 3.)))             ; expect: (1.0 2.0)
(show (index (arange 4) 2.))                   ; expect: 2.0
(show (size (index t #t (list->tensor '() 'i64)))) ; expect: (2 0 4)
;;; case no-such-position-in-a-tensor
(index (arange 4) (list->tensor '(1 4) 'i64))
; expect error: index: there is no position 4 in axis 0, whose size is 4
