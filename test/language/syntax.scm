; Every syntactic form, one after the other.
(define (show x) (write x) (newline))
; --- define and lambda
(define x 28)
(show x)                                            ; expect: 28
(define y (+ x 1))
(show y)                                            ; expect: 29
(define add3 (lambda (x) (+ x 3)))
(show (add3 3))                                     ; expect: 6
(show ((lambda (x) (+ x x)) 4))                     ; expect: 8
(show ((lambda x x) 3 4 5 6))                       ; expect: (3 4 5 6)
(show ((lambda x x)))                               ; expect: ()
(show ((lambda (x y . z) z) 3 4 5 6))               ; expect: (5 6)
(show ((lambda (x y . z) z) 3 4))                   ; expect: ()
(define (rest-only . r) r)
(show (rest-only))                                  ; expect: ()
(show (rest-only 1 2))                              ; expect: (1 2)
(define (head a . r) (list a r))
(show (head 1 2 3))                                 ; expect: (1 (2 3))
(define ((adder a) b) (+ a b))
(show ((adder 3) 4))                                ; expect: 7
(define (((curried a) b) c) (list a b c))
(show (((curried 1) 2) 3))                          ; expect: (1 2 3)
(define ((no-arguments)) 5)
(show ((no-arguments)))                             ; expect: 5
(define ((curried-rest a . b) . c) (list a b c))
(show ((curried-rest 1 2 3) 4 5))                   ; expect: (1 (2 3) (4 5))
(define (several) 1 2 3)
(show (several))                                    ; expect: 3
(define (internal x)
  (define a (* x 2))
  (define (twice y) (* y 2))
  (+ a (twice x)))
(show (internal 5))                                 ; expect: 20
(define (internal-mutual n)
  (define (ev? n) (if (= n 0) #t (od? (- n 1))))
  (define (od? n) (if (= n 0) #f (ev? (- n 1))))
  (ev? n))
(show (internal-mutual 101))                        ; expect: #f
(define (internal-sequence)
  (define a 1)
  (define b (+ a 1))
  (define c (+ a b))
  (list a b c))
(show (internal-sequence))                          ; expect: (1 2 3)
(define (internal-curried)
  (define ((f a) b) (- a b))
  ((f 5) 3))
(show (internal-curried))                           ; expect: 2
; --- conditionals
(show (if (> 3 2) 'yes 'no))                        ; expect: yes
(show (if (> 2 3) 'yes 'no))                        ; expect: no
(show (if '() 'true 'false))                        ; expect: true
(show (if 0 'true 'false))                          ; expect: true
(show (if "" 'true 'false))                         ; expect: true
(show (if #f 'true 'false))                         ; expect: false
(show (cond ((> 3 2) 'greater) ((< 3 2) 'less)))    ; expect: greater
(show (cond ((> 3 3) 'greater) ((< 3 3) 'less) (else 'equal))) ; expect: equal
(show (cond ((assv 'b '((a 1) (b 2))) => cadr) (else #f)))     ; expect: 2
(show (cond ((assv 'z '((a 1) (b 2))) => cadr) (else 'none)))  ; expect: none
(show (cond (#f 1) ((+ 1 1))))                      ; expect: 2
(show (cond (#f 1) (else 1 2 3)))                   ; expect: 3
(show (case (* 2 3) ((2 3 5 7) 'prime) ((1 4 6 8 9) 'composite))) ; expect: composite
(show (case (car '(c d)) ((a e i o u) 'vowel) ((w y) 'semivowel) (else 'consonant))) ; expect: consonant
(show (case 2. ((1) 'one) ((2) 'two) (else 'many))) ; expect: two
(show (case 3 ((1.) 'one) ((3.) 'three) (else 'many))) ; expect: three
(show (case #\a ((#\b) 'b) ((#\a) 'a) (else 'none))) ; expect: a
(show (case #f ((#t) 'true) ((#f) 'false)))         ; expect: false
(show (case '() ((()) 'null) (else 'other)))        ; expect: null
(show (case 5 ((1 2) 'low) (else (show 'side) 'high))) ; expect: side
                                                    ; expect: high
(show (and (= 2 2) (> 2 1)))                        ; expect: #t
(show (and (= 2 2) (< 2 1)))                        ; expect: #f
(show (and 1 2 'c '(f g)))                          ; expect: (f g)
(show (and))                                        ; expect: #t
(show (and 5))                                      ; expect: 5
(show (and #f (car '())))                           ; expect: #f
(show (or (= 2 2) (> 2 1)))                         ; expect: #t
(show (or #f #f #f))                                ; expect: #f
(show (or (memq 'b '(a b c)) (/ 3 0)))              ; expect: (b c)
(show (or))                                         ; expect: #f
(show (or #f 7))                                    ; expect: 7
; --- binding
(show (let ((x 2) (y 3)) (* x y)))                  ; expect: 6
(show (let ((x 2) (y 3)) (let ((x 7) (z (+ x y))) (* z x)))) ; expect: 35
(show (let ((x 2) (y 3)) (let* ((x 7) (z (+ x y))) (* z x)))) ; expect: 70
(show (let () 5))                                   ; expect: 5
(show (let* () 5))                                  ; expect: 5
(show (let* ((a 1) (a (+ a 1)) (a (* a 10))) a))    ; expect: 20
(show (let ((x 1)) (define y 2) (+ x y)))           ; expect: 3
(show (letrec ((even? (lambda (n) (if (zero? n) #t (odd? (- n 1))))) ; expect: #t
               (odd? (lambda (n) (if (zero? n) #f (even? (- n 1))))))
        (even? 88)))
(show (letrec ((a 5) (f (lambda (n) (+ a n)))) (f 1))) ; expect: 6
(show (let loop ((numbers '(3 -2 1 6 -5)) (nonneg '()) (neg '())) ; expect: ((6 1 3) (-5 -2))
        (cond ((null? numbers) (list nonneg neg))
              ((>= (car numbers) 0) (loop (cdr numbers) (cons (car numbers) nonneg) neg))
              (else (loop (cdr numbers) nonneg (cons (car numbers) neg))))))
(show (let loop () 5))                              ; expect: 5
(show (let outer ((i 0) (acc '()))                  ; expect: (3 3 2 2 1 1)
        (if (= i 3)
            acc
            (outer (+ i 1) (let inner ((k 0) (acc acc)) (if (= k 2) acc (inner (+ k 1) (cons (+ i 1) acc))))))))
(show (let f ((n 5)) (if (= n 0) 1 (* n (f (- n 1)))))) ; expect: 120
; --- sequence and iteration
(show (begin 1 2 3))                                ; expect: 3
(show (do ((vec '() (cons i vec)) (i 0 (+ i 1))) ((= i 5) vec))) ; expect: (4 3 2 1 0)
(show (let ((x '(1 3 5 7 9))) (do ((x x (cdr x)) (sum 0 (+ sum (car x)))) ((null? x) sum)))) ; expect: 25
(do ((i 0 (+ i 1))) ((= i 3)) (display i) (display " ")) ; expect: 0 1 2
(newline)
(show (do ((i 0 (+ i 1)) (k 7)) ((= i 3) (display "end ") k))) ; expect: end 7
; --- quotation
(show 'a)                                           ; expect: a
(show '(a b . c))                                   ; expect: (a b . c)
(show '())                                          ; expect: ()
(show ())                                           ; expect: ()
(show '(1 (2 "three" #\4) 5.))                      ; expect: (1 (2 "three" #\4) 5.0)
(show (quote #(a b c)))                             ; expect: #(a b c)
(show `(list ,(+ 1 2) 4))                           ; expect: (list 3 4)
(show (let ((name 'a)) `(list ,name ,name)))        ; expect: (list a a)
(show `(a ,(+ 1 2) ,@(map abs '(4 -5 6)) b))        ; expect: (a 3 4 5 6 b)
(show `((foo ,(- 10 3)) ,@(cdr '(c)) . ,(car '(cons)))) ; expect: ((foo 7) . cons)
(show `#(10 5 ,(sqrt 4) ,@(map sqrt '(16 9)) 8))    ; expect: #(10 5 2 4 3 8)
(show `(1 . ,(+ 1 1)))                              ; expect: (1 . 2)
(show `,(+ 1 2))                                    ; expect: 3
(show `(1 ,@'()))                                   ; expect: (1)
(show `(,@'(1 2) . 3))                              ; expect: (1 2 . 3)
(show `(0 ,@'(1 2)))                                ; expect: (0 1 2)
(show (equal? `(a `(b ,(foo ,(+ 1 3) d) e) f)       ; expect: #t
              (list 'a (list 'quasiquote (list 'b (list 'unquote (list 'foo 4 'd)) 'e)) 'f)))
(show (let ((n1 'x) (n2 'y))                        ; expect: #t
        (equal? `(a `(b ,,n1 ,',n2 d) e)
                (list 'a (list 'quasiquote (list 'b (list 'unquote 'x) (list 'unquote (list 'quote 'y)) 'd)) 'e))))
(show (quasiquote (list (unquote (+ 1 2)) 4)))      ; expect: (list 3 4)
(show (equal? ''a (list 'quote 'a)))                ; expect: #t
; --- local names hide syntax and procedures
(show (let ((list (lambda x 'mine))) (list 1 2)))   ; expect: mine
(show (let ((if (lambda (a b c) (list a b c)))) (if 1 2 3))) ; expect: (1 2 3)
(define (shadow car) (car 5))
(show (shadow (lambda (x) (* x x))))                ; expect: 25
(show (let ((+ *)) (+ 3 4)))                        ; expect: 12
