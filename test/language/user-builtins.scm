; A file may define the names of built-in procedures; the library and the syntax go on with their own.
(define (show x) (write x) (newline))
(define (car (cons car cdr)) car)
(define (cdr (cons car cdr)) cdr)
(show (car '(1 . 2)))                 ; expect: 1
(show (cdr '(1 . 2)))                 ; expect: 2
(define (list-ref l i) (if (zero? i) (car l) (list-ref (cdr l) (- i 1))))
(show (list-ref '(a b c) 2))          ; expect: c
(define (append . ignored) 'my-append)
(define (cons a b) 'my-cons)
(define (list . l) 'my-list)
(define (eqv? a b) 'my-eqv)
(show (append '(1) '(2)))             ; expect: my-append
(show (cons 1 2))                     ; expect: my-cons
(show (list 1 2))                     ; expect: my-list
(show `(1 ,(+ 1 1) ,@'(3 4) 5))       ; expect: (1 2 3 4 5)
(show ((lambda r r) 1 2))             ; expect: (1 2)
(show (fold-left + 0 '(1 4 9)))       ; expect: 14
(show (case 2 ((2) 'two) (else 'no))) ; expect: two
(show (assv 2 '((1 . a) (2 . b))))    ; expect: (2 . b)
(show ((lambda ((cons a b)) b) '(1 . 2))) ; expect: 2
(show (do ((i 0 (+ i 1))) ((= i 3) i))) ; expect: 3
(define (iota n) 'my-iota)
(show (iota 3))                       ; expect: my-iota
(define (even? n) (= n 42))
(show (even? 2))                      ; expect: #f
(define map (lambda (f l) 'my-map))
(show (map even? '(1 2)))             ; expect: my-map
(show (vector-map (lambda (x) (+ x 1)) '#(1 2))) ; expect: #(2 3)
(define sqrt 5)
(show sqrt)                           ; expect: 5
