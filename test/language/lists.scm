; Pairs and lists.
(define (show x) (write x) (newline))
(show (cons 'a '()))                            ; expect: (a)
(show (cons '(a) '(b c d)))                     ; expect: ((a) b c d)
(show (cons "a" '(b c)))                        ; expect: ("a" b c)
(show (cons 'a 3))                              ; expect: (a . 3)
(show (cons '(a b) 'c))                         ; expect: ((a b) . c)
(show (car '(a b c)))                           ; expect: a
(show (cdr '((a) b c d)))                       ; expect: (b c d)
(show (cdr '(1 . 2)))                           ; expect: 2
(define t '(((1 . 2) . (3 . 4)) . ((5 . 6) . (7 . 8))))
(show (list (caar t) (cadr t) (cdar t) (cddr t))) ; expect: ((1 . 2) (5 . 6) (3 . 4) (7 . 8))
(show (list (caaar t) (caadr t) (cadar t) (caddr t) (cdaar t) (cdadr t) (cddar t) (cdddr t))) ; expect: (1 5 3 7 2 6 4 8)
(define u '((((1 . 2) . (3 . 4)) . ((5 . 6) . (7 . 8))) . (((9 . 10) . (11 . 12)) . ((13 . 14) . (15 . 16)))))
(show (list (caaaar u) (caaadr u) (caadar u) (caaddr u))) ; expect: (1 9 5 13)
(show (list (cadaar u) (cadadr u) (caddar u) (cadddr u))) ; expect: (3 11 7 15)
(show (list (cdaaar u) (cdaadr u) (cdadar u) (cdaddr u))) ; expect: (2 10 6 14)
(show (list (cddaar u) (cddadr u) (cdddar u) (cddddr u))) ; expect: (4 12 8 16)
(show (list (pair? '(a . b)) (pair? '(a)) (pair? '()) (pair? '#(a b)))) ; expect: (#t #t #f #f)
(show (list (null? '()) (null? '(a)) (null? #f)))  ; expect: (#t #f #f)
(show (list (list? '(a b c)) (list? '()) (list? '(a . b)) (list? 5) (list? '(a b . c)))) ; expect: (#t #t #f #f #f)
(show (list 'a (+ 3 4) 'c))                     ; expect: (a 7 c)
(show (list))                                   ; expect: ()
(show (length '(a b c)))                        ; expect: 3
(show (length '(a (b) (c d e))))                ; expect: 3
(show (length '()))                             ; expect: 0
(show (append '(x) '(y)))                       ; expect: (x y)
(show (append '(a) '(b c d)))                   ; expect: (a b c d)
(show (append '(a (b)) '((c))))                 ; expect: (a (b) (c))
(show (append '(a b) '(c . d)))                 ; expect: (a b c . d)
(show (append '() 'a))                          ; expect: a
(show (append))                                 ; expect: ()
(show (append '(1)))                            ; expect: (1)
(show (append '(1) '() '(2 3) '() '(4)))        ; expect: (1 2 3 4)
(show (reverse '(a b c)))                       ; expect: (c b a)
(show (reverse '(a (b c) d (e (f)))))           ; expect: ((e (f)) d (b c) a)
(show (reverse '()))                            ; expect: ()
(show (list-tail '(a b c d) 2))                 ; expect: (c d)
(show (list-tail '(a b) 2))                     ; expect: ()
(show (list-tail '(a b c) 1.))                  ; expect: (b c)
(show (list-ref '(a b c d) 2))                  ; expect: c
(show (list-ref '(a b c d) 2.))                 ; expect: c
(show (memq 'c '(a b c d e)))                   ; expect: (c d e)
(show (memq (list 'a) '(b (a) c)))              ; expect: #f
(show (member (list 'a) '(b (a) c)))            ; expect: ((a) c)
(show (memv 101 '(100 101 102)))                ; expect: (101 102)
(show (memv 1. '(1 2)))                         ; expect: #f
(show (member "b" '("a" "b")))                  ; expect: ("b")
(show (assq 'b '((a 1) (b 2))))                 ; expect: (b 2)
(show (assq 'd '((a 1) (b 2))))                 ; expect: #f
(show (assq (list 'a) '(((a)) ((b)) ((c)))))    ; expect: #f
(show (assoc (list 'a) '(((a)) ((b)) ((c)))))   ; expect: ((a))
(show (assv 5 '((2 3) (5 7) (11 13))))          ; expect: (5 7)
(show (map cadr '((a b) (d e) (g h))))          ; expect: (b e h)
(show (map (lambda (n) (expt n n)) '(1 2 3 4 5))) ; expect: (1 4 27 256 3125)
(show (map + '(1 2 3) '(4 5 6)))                ; expect: (5 7 9)
(show (map list '(1 2) '(3 4) '(5 6)))          ; expect: ((1 3 5) (2 4 6))
(show (map car '()))                            ; expect: ()
(show (map (lambda (x) (cons x x)) '(1)))       ; expect: ((1 . 1))
(for-each (lambda (x) (display x) (display ",")) '(1 2 3)) ; expect: 1,2,3,
(newline)
(for-each (lambda (a b) (display (+ a b)) (display " ")) '(1 2) '(10 20)) ; expect: 11 22
(newline)
(show (apply + '(3 4)))                         ; expect: 7
(show (apply + 1 2 '(3 4)))                     ; expect: 10
(show (apply list '()))                         ; expect: ()
(show (apply (lambda (a . r) (list a r)) 1 '(2 3))) ; expect: (1 (2 3))
(define (compose f g) (lambda args (f (apply g args))))
(show ((compose sqrt *) 12 75))                 ; expect: 30
(show (apply max '(3 9 2)))                     ; expect: 9
(show (apply apply (list + (list 1 2))))        ; expect: 3
(show (cons* 1 2 '(3 4)))                       ; expect: (1 2 3 4)
(show (cons* 1 2 3))                            ; expect: (1 2 . 3)
(show (cons* 1))                                ; expect: 1
(show (fold-left cons '() '(1 2 3)))            ; expect: (((() . 1) . 2) . 3)
(show (fold-left - 10 '(1 2 3)))                ; expect: 4
(show (fold-left + 0 '()))                      ; expect: 0
(show (fold-right cons '() '(1 2 3)))           ; expect: (1 2 3)
(show (fold-right - 10 '(1 2 3)))               ; expect: -8
(show (fold-right list 'end '(1 2)))            ; expect: (1 (2 end))
(show (filter odd? '(1 2 3 4 5)))               ; expect: (1 3 5)
(show (filter odd? '(2 4)))                     ; expect: ()
(show (filter odd? '()))                        ; expect: ()
(show (iota 3))                                 ; expect: (0 1 2)
(show (iota 0))                                 ; expect: ()
(show (iota 3.))                                ; expect: (0 1 2)
(show (list-copy '(1 2 3)))                     ; expect: (1 2 3)
(show (build-list 4 (lambda (i) (* i i))))      ; expect: (0 1 4 9)
(show (build-list 0 car))                       ; expect: ()
(show (equal? '(a (b) c) '(a (b) c)))           ; expect: #t
(show (equal? '(a (b) c) '(a (b) d)))           ; expect: #f
(show (equal? "abc" "abc"))                     ; expect: #t
(show (equal? '(1 . 2) '(1 2)))                 ; expect: #f
(show (equal? (make-vector 5 'a) (make-vector 5 'a))) ; expect: #t
(show (equal? '#(1 2) '#(1 2 3)))               ; expect: #f
(show (eq? '() '()))                            ; expect: #t
(show (let ((x (list 1 2))) (eq? x x)))         ; expect: #t
(show (let ((x (list 1 2))) (eqv? x (list 1 2)))) ; expect: #f
(show (eq? 'a 'a))                              ; expect: #t
(show (eq? 'abc 'ABC))                          ; expect: #f
(show (let ((p (lambda (x) x))) (eq? p p)))     ; expect: #t
(show (eqv? "" "a"))                            ; expect: #f
(show (list (procedure? car) (procedure? 'car) (procedure? (lambda (x) x)) (procedure? '(lambda (x) x)))) ; expect: (#t #f #t #f)
(show (list (boolean? #f) (boolean? 0) (boolean? '()))) ; expect: (#t #f #f)
(show (list (not 3) (not (list 3)) (not #f) (not '()))) ; expect: (#f #f #t #f)
(show (procedure? (car (list car cdr))))        ; expect: #t
(show ((car (list + *)) 3 4))                   ; expect: 7
(show (map (lambda (f) (f 6 3)) (list + - * / quotient expt max))) ; expect: (9 3 18 2 2 216 6)
(show (map (lambda (f) (f 4)) (list - sqrt abs list vector zero?))) ; expect: (-4 2 4 (4) #(4) #f)
