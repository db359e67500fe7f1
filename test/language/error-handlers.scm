; call-with-error-handler: errors of the program as values.
;;; case all
(define (show x) (write x) (newline))
(define (guarded thunk) (call-with-error-handler list thunk))
(show (guarded (lambda () (+ 1 2))))                             ; expect: 3
(show (guarded (lambda () (error "no good:" 1 'two "three"))))   ; expect: ("no good:" (1 two "three"))
(show (guarded (lambda () (error 'first "rest"))))               ; expect: ("first" ("rest"))
(show (guarded (lambda () (car 5))))                             ; expect: ("car: expected a pair, got 5" ())
(show (cadr (guarded (lambda () (error "a procedure" car)))))    ; expect: (#<procedure>)
(show (guarded (lambda () ((lambda ((list a b)) a) '(1)))))      ; expect: ("no pattern matches (); are there fewer elements than the pattern has names?" ())
(show (car (guarded (lambda () (matmul (ones '(2 3)) (ones '(2 3))))))) ; expect: "matmul: the shapes (2 3) and (2 3) do not fit: their inner sizes are 3 and 2"
(show (guarded (lambda () (vector-ref (vector 1 2) 2))))         ; expect: ("vector-ref: the index 2 is beyond the 2 elements" ())
; What was going on is given up, and the program goes on: in a loop, deep in a recursion, in the last place.
(define (deep n) (if (= n 0) (car '()) (+ 1 (deep (- n 1)))))
(show (call-with-error-handler (lambda (m l) 'given-up) (lambda () (deep 100000)))) ; expect: given-up
(define (try i) (call-with-error-handler (lambda (m l) (- i)) (lambda () (if (odd? i) (error "odd" i) i))))
(show (map try (iota 6)))                                        ; expect: (0 -1 2 -3 4 -5)
(define (loop i) (if (= i 100000) 'done (loop (call-with-error-handler (lambda (m l) (car l)) (lambda () (error "next" (+ i 1)))))))
(show (loop 0))                                                  ; expect: done
; Handlers in each other; an error in a handler, or on the way to one, is the next one's.
(show (guarded (lambda () (+ 1 (call-with-error-handler (lambda (m l) (* 10 (car l))) (lambda () (error "inner" 4))))))) ; expect: 41
(show (guarded (lambda () (call-with-error-handler (lambda (m l) (error "again" m l)) (lambda () (error "inner" 4)))))) ; expect: ("again" ("inner" (4)))
(show (guarded (lambda () (call-with-error-handler (lambda (m) m) (lambda () (error "inner" 4)))))) ; expect: ("procedure: expected 1 argument, got 2" ())
(show (guarded (lambda () (call-with-error-handler (lambda (m l) (apply error m l)) (lambda () (error "passed on" 4)))))) ; expect: ("passed on" (4))
(show (guarded (lambda () (call-with-error-handler 5 (lambda () 1))))) ; expect: ("call-with-error-handler: expected a procedure of a message and a list, got 5" ())
(show (guarded (lambda () (call-with-error-handler list 5))))    ; expect: ("the operator is not a procedure: 5; a list of numbers is written with a quote, '(2 3), or (list 2 3)" ())
; The handler goes on in the place of the call.
(define (forever n) (if (= n 0) 'ended (call-with-error-handler (lambda (m l) (forever (- n 1))) (lambda () (error "x")))))
(show (forever 100000))                                          ; expect: ended
; Output, and random numbers, that came before an error have come.
(show (guarded (lambda () (display "said ") (error "then"))))    ; expect: said ("then" ())
; Interrupted at every step, and resumed.
(define (f x) (call-with-error-handler (lambda (m l) (* 2 (car l))) (lambda () (let ((y (* x 3))) (if (> y 4) (error "large" (+ y 1)) y)))))
(define n (primops f 2))
(show (let each ((i 0)) (if (> i n) 'all (if (equal? (resume (interrupt f 2 i)) 14) (each (+ i 1)) i)))) ; expect: all
(show (resume (interrupt (lambda (x) (guarded (lambda () (resume (interrupt (lambda (x) (car x)) x 1))))) 7 9))) ; expect: ("car: expected a pair, got 7" ())
(show (list (guarded (lambda () (primops car 1))) (guarded (lambda () (interrupt car 1 100))) (guarded (lambda () (with-schedule "nonsense" car))))) ; expect any output
; Inside derivatives: what the handler gives has a derivative, what the error carries is constant.
(define (g x) (call-with-error-handler (lambda (m l) (* x (car l))) (lambda () (if (> x 1) (error "large" (* x x)) (* x x)))))
(show (map (lambda (d) (d g 3. 1)) (list *j j* checkpoint-*j)))  ; expect: ((27.0 . 9.0) (27.0 . 9.0) (27.0 . 9.0))
(show (map (lambda (d) (d g .5 1)) (list *j j* checkpoint-*j)))  ; expect: ((0.25 . 1.0) (0.25 . 1.0) (0.25 . 1.0))
(define (second f x) (list (cdr (*j (lambda (x) (cdr (*j f x 1.))) x 1.)) (cdr (j* (lambda (x) (cdr (j* f x 1.))) x 1.)) (cdr (*j (lambda (x) (cdr (j* f x 1.))) x 1.)) (cdr (j* (lambda (x) (cdr (checkpoint-*j f x 1.))) x 1.))))
(show (second g .5))                                             ; expect: (2.0 2.0 2.0 2.0)
; An error that ends a derivative operator, met outside of it.
(define (h x) (* x (call-with-error-handler (lambda (m l) (+ x (car l))) (lambda () (cdr (checkpoint-*j (lambda (y) (if (> y 0) (error "inside" y) y)) x 1))))))
(show (map (lambda (d) (d h 3. 1)) (list *j j* checkpoint-*j)))  ; expect: ((18.0 . 9.0) (18.0 . 9.0) (18.0 . 9.0))
(define (many x n) (if (= n 0) x (many (call-with-error-handler (lambda (m l) (* .999 x)) (lambda () (if (= 0 (remainder n 3)) (error "third" x) (* 1.0005 x)))) (- n 1))))
(define reference (*j (lambda (x) (many x 1000)) .5 1.))
(define (under spec) (with-schedule spec (lambda () (checkpoint-*j (lambda (x) (many x 1000)) .5 1.))))
(show (map (lambda (s) (equal? (under s) reference)) '("tape" "bisection,base=16" "binomial,base=16,snapshots=3" "sqrt,base=64" "online,base=16" "budget,memory=64KiB" "auto"))) ; expect: (#t #t #t #t #t #t #t)
;;; case not-a-budget
(define (grow l) (grow (cons l l)))
(call-with-error-handler (lambda (m l) 'caught) (lambda () (grow '())))
; flags: --memory=4MiB
; expect exit: 3
; expect stderr: memory
;;; case steps-are-none
(define (spin) (spin))
(call-with-error-handler (lambda (m l) 'caught) spin)
; flags: --steps=1000
; expect exit: 75
;;; case uncaught-in-the-handler
(call-with-error-handler (lambda (m l) (car m)) (lambda () (error "x")))
; expect error: car: expected a pair, got "x"
; expect location: 1
;;; case input-in-a-replay
; input: word
(define (f x) (call-with-error-handler (lambda (m l) x) (lambda () (* x (read-real)))))
(checkpoint-*j f 2. 1.)
; expect error: read-real
;;; case input-outside
; input: word
(display (call-with-error-handler (lambda (m l) m) (lambda () (read-real))))
; expect: read-real: the input 'word' is no number
