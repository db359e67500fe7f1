; Shapes of inputs, results, tangents and cotangents.
(define (show x) (write x) (newline))
(show (*j (lambda (x) (* x x)) 3 1))                           ; expect: (9.0 . 6.0)
(show (*j (lambda (x) (* x x)) 3. 1.))                         ; expect: (9.0 . 6.0)
(show (j* (lambda (x) (* x x)) 3 1))                           ; expect: (9.0 . 6.0)
(show (checkpoint-*j (lambda (x) (* x x)) 3 1))                ; expect: (9.0 . 6.0)
(show (*j (lambda (x) 7) 3 1))                                 ; expect: (7 . 0)
(show (j* (lambda (x) 7) 3 1))                                 ; expect: (7 . 0)
(show (checkpoint-*j (lambda (x) 7) 3 1))                      ; expect: (7 . 0)
(show (*j (lambda (x) 7.5) 3 1))                               ; expect: (7.5 . 0)
(show (*j (lambda (x) x) 3 1))                                 ; expect: (3.0 . 1.0)
(show (j* (lambda (x) x) 3 1))                                 ; expect: (3.0 . 1.0)
(show (*j (lambda ((cons a b)) (list (* a b) (+ a b))) (cons 2 5) (list 1 10))) ; expect: ((10.0 7.0) 15.0 . 12.0)
(show (checkpoint-*j (lambda ((cons a b)) (list (* a b) (+ a b))) (cons 2 5) (list 1 10))) ; expect: ((10.0 7.0) 15.0 . 12.0)
(show (j* (lambda ((cons a b)) (list (* a b) (+ a b))) (cons 2 5) (cons 1 10))) ; expect: ((10.0 7.0) 25.0 11.0)
(show (*j (lambda (x) (cons x #t)) 3 (cons 1 #t)))             ; expect: ((3.0 . #t) . 1.0)
(show (j* (lambda (x) (cons x #t)) 3 1))                       ; expect: ((3.0 . #t) 1.0 . #t)
(show (*j (lambda ((list a b)) (* a b)) '(2 5) 1))             ; expect: (10.0 5.0 2.0)
(show (*j (lambda (v) (* (vector-ref v 0) (vector-ref v 1))) '#(2 5) 1)) ; expect: (10.0 . #(5.0 2.0))
(show (j* (lambda (v) (* (vector-ref v 0) (vector-ref v 1))) '#(2 5) '#(1 0))) ; expect: (10.0 . 5.0)
(show (*j (lambda (x) (vector x (* 2 x))) 3 '#(1 10)))         ; expect: (#(3.0 6.0) . 21.0)
(show (j* (lambda (x) (vector x (* 2 x))) 3 1))                ; expect: (#(3.0 6.0) . #(1.0 2.0))
(show (*j (lambda ((cons a b)) a) '(1 . 2) 1))                 ; expect: (1.0 1.0 . 0)
(show (*j (lambda (x) 7) '(1 . 2) 1))                          ; expect: (7 0 . 0)
(show (*j (lambda (x) 7) '(1 #(2 3) (4)) 1))                   ; expect: (7 0 #(0 0) (0))
(show (*j car (list 3 #t 'a "s" #\c '()) 1))                   ; expect: (3.0 1.0 #t a "s" #\c ())
(show (*j (lambda (x) 'symbol) 3 'symbol))                     ; expect: (symbol . 0)
(show (*j (lambda (x) (list x 'a "b" #\c '() #f)) 3 (list 1 'a "b" #\c '() #f))) ; expect: ((3.0 a "b" #\c () #f) . 1.0)
(show (j* (lambda (x) (list x 'a "b" #\c '() #f)) 3 1))        ; expect: ((3.0 a "b" #\c () #f) 1.0 a "b" #\c () #f)
(show (*j (lambda (x) '()) 3 '()))                             ; expect: (() . 0)
(show (*j (lambda (x) (list x 7)) 3 (list 1 1)))               ; expect: ((3.0 7) . 1.0)
(show (j* (lambda (x) (list x 7)) 3 1))                        ; expect: ((3.0 7) 1.0 0)
; Exact integers in x become flonums, through pairs and vectors; those made inside stay exact.
(show (car (*j (lambda (x) x) '(1 #(2 3.) (4 . 5)) 0)))        ; expect: (1.0 #(2.0 3.0) (4.0 . 5.0))
(show (car (*j (lambda (x) (list (+ 1 1) (length x))) '(1 2 3) 0))) ; expect: (2 3)
(show (car (j* (lambda (x) (map exact? x)) '(1 2) 0)))         ; expect: (#f #f)
; 0 is accepted for any part of a tangent or cotangent.
(show (j* (lambda ((list a b)) (* a b)) '(2 5) '(0 1)))        ; expect: (10.0 . 2.0)
(show (j* (lambda ((cons a (list b c))) (* a b c)) '(2 3 5) '(1 . 0))) ; expect: (30.0 . 15.0)
(show (*j (lambda (x) (list (* x x) (vector x x))) 3 (list 1 0))) ; expect: ((9.0 #(3.0 3.0)) . 6.0)
(show (zero? (cdr (*j (lambda (x) (list x x)) 3 0))))          ; expect: #t
(show (zero? (cdr (j* (lambda (x) (* x x)) 3 0))))             ; expect: #t
(show (*j (lambda (x) (cons x (lambda (y) y))) 3 (cons 1 0)) ) ; expect: ((3.0 . #<procedure>) . 1.0)
; Sharing: x is a tree, each path its own place; the result is seeded path by path.
(show (let ((v 3.)) (*j (lambda ((list a b)) (* a b)) (list v v) 1))) ; expect: (9.0 3.0 3.0)
(show (let ((v (cons 2 5))) (*j (lambda ((list p q)) (* (car p) (cdr q))) (list v v) 1))) ; expect: (10.0 (5.0 . 0) (0 . 2.0))
(show (*j (lambda (x) (let ((p (cons x x))) (list p p))) 3 '((1 . 2) (3 . 4)))) ; expect: (((3.0 . 3.0) (3.0 . 3.0)) . 10.0)
(show (cdr (*j (lambda (x) (let ((p (cons x x))) (+ (* (car p) (cdr p)) (car p)))) 3 1))) ; expect: 7.0
(show (cdr (*j (lambda (x) (let loop ((i 0) (x x)) (if (= i 30) x (loop (+ i 1) (+ x x))))) 1 1))) ; expect: 1073741824.0
(define (doubled x) (let loop ((i 0) (p x)) (if (= i 60) p (loop (+ i 1) (cons p p)))))
(define (leftmost p) (if (pair? p) (leftmost (car p)) p))
(show (leftmost (car (*j doubled 3 0))))                       ; expect: 3.0
(show (leftmost (cdr (j* doubled 3 1))))                       ; expect: 1.0
(show (leftmost (car (checkpoint-*j doubled 3 0))))            ; expect: 3.0
; Deep and long values.
(define (up-to n) (let loop ((i n) (l '())) (if (= i 0) l (loop (- i 1) (cons i l)))))
(define (sum l) (fold-left + 0 l))
(define long (up-to 100000))
(show (let ((r (*j sum long 1))) (list (= (car r) 5000050000) (length (cdr r)) (= (sum (cdr r)) 100000)))) ; expect: (#t 100000 #t)
(show (let ((r (*j (lambda (x) (map (lambda (i) (* i x)) long)) 2. long))) (cdr r))) ; expect: 333338333350000.0
(define (nest n) (let loop ((i 0) (x 1)) (if (= i n) x (loop (+ i 1) (list x)))))
(define (bottom x) (if (pair? x) (bottom (car x)) x))
(show (bottom (cdr (*j bottom (nest 300000) 5))))              ; expect: 5.0
(define (bottom-of-vectors x) (if (vector? x) (bottom-of-vectors (vector-ref x 0)) x))
(show (bottom-of-vectors (cdr (j* (lambda (x) (let loop ((i 0) (x x)) (if (= i 300000) x (loop (+ i 1) (vector x))))) 1 1)))) ; expect: 1.0
