; Immutable vectors.
(define (show x) (write x) (newline))
(show (vector 'a 'b 'c))                        ; expect: #(a b c)
(show (vector))                                 ; expect: #()
(show '#(0 (2 2 2 2) "Anna"))                   ; expect: #(0 (2 2 2 2) "Anna")
(show (list (vector? '#(1)) (vector? '(1)) (vector? '#()))) ; expect: (#t #f #t)
(show (vector-length '#(1 2 3)))                ; expect: 3
(show (vector-length (make-vector 0 0)))        ; expect: 0
(show (make-vector 3 'x))                       ; expect: #(x x x)
(show (vector-length (make-vector 4)))          ; expect: 4
(show (vector-ref '#(1 1 2 3 5 8 13 21) 5))     ; expect: 8
(show (vector-ref '#(a b) 1.))                  ; expect: b
(show (vector->list '#(dah dah didah)))         ; expect: (dah dah didah)
(show (vector->list '#()))                      ; expect: ()
(show (list->vector '(dididit dah)))            ; expect: #(dididit dah)
(show (list->vector '()))                       ; expect: #()
(define v (vector 1 2 3))
(show (vector-update v 1 'x))                   ; expect: #(1 x 3)
(show v)                                        ; expect: #(1 2 3)
(show (vector-update v 2. 9))                   ; expect: #(1 2 9)
(show (vector-map (lambda (x) (* x x)) v))      ; expect: #(1 4 9)
(show (vector-map (lambda (x) x) '#()))         ; expect: #()
(show (build-vector 4 (lambda (i) (* 2 i))))    ; expect: #(0 2 4 6)
(show (build-vector 0 car))                     ; expect: #()
(show (let loop ((i 0) (w (make-vector 5 0)))   ; expect: #(0 1 4 9 16)
        (if (= i 5) w (loop (+ i 1) (vector-update w i (* i i))))))
(define (sum v) (do ((i 0 (+ i 1)) (s 0 (+ s (vector-ref v i)))) ((= i (vector-length v)) s)))
(show (sum '#(1 2 3 4)))                        ; expect: 10
(show (sum (build-vector 1000 (lambda (i) i)))) ; expect: 499500
(show (vector (vector 1) '(2) #\3 "4" 'five))   ; expect: #(#(1) (2) #\3 "4" five)
; In-place reuse must never be visible: two updates of one vector are independent.
(define (pair-of-updates w) (let* ((a (vector-update w 0 'a)) (b (vector-update w 0 'b))) (list w a b)))
(show (pair-of-updates (vector 1 2)))           ; expect: (#(1 2) #(a 2) #(b 2))
(define (kept w n) (if (= n 0) '() (cons w (kept (vector-update w 0 n) (- n 1)))))
(show (kept (vector 0) 3))                      ; expect: (#(0) #(3) #(2))
(show (map (lambda (p) (cons (cdr p) (car p))) (let ((l (list (cons 1 2) (cons 3 4)))) (append l l)))) ; expect: ((2 . 1) (4 . 3) (2 . 1) (4 . 3))
