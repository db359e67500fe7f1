; stop-gradient: the identity whose derivative is zero, in both modes, of any structure, at every level.
(define (show x) (write x) (newline))
(show (stop-gradient '(1 2.5 "text" sym #(3.5 #t) ())))          ; expect: (1 2.5 "text" sym #(3.5 #t) ())
(define (f x) (* x (stop-gradient x)))
(show (j* f 3. 1))                                               ; expect: (9.0 . 3.0)
(show (*j f 3. 1))                                               ; expect: (9.0 . 3.0)
(show (checkpoint-*j f 3. 1))                                    ; expect: (9.0 . 3.0)
(show (gradient (lambda (x) (stop-gradient x)) 3.))              ; expect: 0
(show (cdr (j* (lambda (x) (stop-gradient x)) 3. 1)))            ; expect: 0
; Structures and procedures.
(define (g l) (let ((s (stop-gradient (list->vector l)))) (+ (* (car l) (vector-ref s 1)) (* (cadr l) (vector-ref s 0)))))
(show (gradient g '(3. 5.)))                                     ; expect: (5.0 3.0)
(define (h x) (let ((p (stop-gradient (lambda (y) (* x y))))) (p x)))
(show (gradient h 3.))                                           ; expect: 3.0
; Tensors.
(define (k t) (sumall (* t (stop-gradient t))))
(show (tensor->list (gradient k (list->tensor '(1 2 3) 'f64))))  ; expect: (1.0 2.0 3.0)
(show (tensor->list (cdr (j* (lambda (t) (* t (stop-gradient t))) (list->tensor '(1 2 3) 'f64) (ones '(3) 'f64))))) ; expect: (1.0 2.0 3.0)
; Levels: x * stop(x) * x has the derivatives 2 s x and 2 s, where s is x; nothing comes from s.
(define (m x) (* x (stop-gradient x) x))
(define (d f) (lambda (x) (cdr (*j f x 1.))))
(define (e f) (lambda (x) (cdr (j* f x 1.))))
(define (c f) (lambda (x) (cdr (checkpoint-*j f x 1.))))
(show (map (lambda (f) (f 3.)) (list (d m) (e m) (c m))))        ; expect: (18.0 18.0 18.0)
(show (map (lambda (f) (f 3.)) (list (d (d m)) (d (e m)) (e (d m)) (e (e m)) (c (c m)) (c (e m)) (e (c m))))) ; expect: (6.0 6.0 6.0 6.0 6.0 6.0 6.0)
(show (map (lambda (f) (f 3.)) (list (d (d (d m))) (e (e (e m))) (d (e (c m)))))) ; expect: (0 0 0)
; An inner derivative with a stop that the outer variable passes through too.
(define (inner x) (cdr (*j (lambda (y) (* y (stop-gradient (* x y)))) x 1.)))
(show (inner 3.))                                                ; expect: 9.0
(show ((d inner) 3.))                                            ; expect: 0
(show ((e inner) 3.))                                            ; expect: 0
; In a long run, under every schedule.
(define (long x n) (if (= n 0) x (long (+ (* .999 x) (* 1e-3 (stop-gradient x) x)) (- n 1))))
(define (under spec) (with-schedule spec (lambda () (checkpoint-*j (lambda (x) (long x 3000)) .5 1.))))
(define reference (*j (lambda (x) (long x 3000)) .5 1.))
(show (map (lambda (s) (equal? (under s) reference)) '("tape" "bisection,base=64" "binomial,base=32,snapshots=3" "sqrt,base=128" "online,base=64" "budget,memory=64KiB"))) ; expect: (#t #t #t #t #t #t)
(show (primops stop-gradient 3.))                                ; expect: 2
