; Parameters that are patterns.
(define (show x) (write x) (newline))
(define (swap (cons a b)) (cons b a))
(show (swap '(1 . 2)))                          ; expect: (2 . 1)
(define (three (list a b c)) (list c b a))
(show (three '(1 2 3)))                         ; expect: (3 2 1)
(define (most (cons* a b r)) (list a b r))
(show (most '(1 2 3 4)))                        ; expect: (1 2 (3 4))
(show (most '(1 2)))                            ; expect: (1 2 ())
(show (most '(1 2 . 3)))                        ; expect: (1 2 3)
(define (single (cons* a)) a)
(show (single 5))                               ; expect: 5
(define (nothing (list)) 'empty)
(show (nothing '()))                            ; expect: empty
(define (nested (cons (list a b) c)) (list a b c))
(show (nested '((1 2) . 3)))                    ; expect: (1 2 3)
(define (deeper (list (cons a b) (list c (cons* d e)) f)) (list a b c d e f))
(show (deeper '((1 . 2) (3 (4 . 5)) 6)))        ; expect: (1 2 3 4 5 6)
(define (mixed a (cons b c) d) (list a b c d))
(show (mixed 1 '(2 . 3) 4))                     ; expect: (1 2 3 4)
(define (with-rest (cons a b) . r) (list a b r))
(show (with-rest '(1 . 2) 3 4))                 ; expect: (1 2 (3 4))
(show ((lambda ((cons a b)) (+ a b)) (cons 3 4))) ; expect: 7
(define ((curried (cons a b)) (list c d)) (list a b c d))
(show ((curried '(1 . 2)) '(3 4)))              ; expect: (1 2 3 4)
(define (zero 0) 'zero)
(show (zero 0))                                 ; expect: zero
(show (zero 0.))                                ; expect: zero
(show (zero -0.))                               ; expect: zero
(define (tagged (list 1 x)) x)
(show (tagged '(1 5)))                          ; expect: 5
(show (tagged '(1. 6)))                         ; expect: 6
(define (truth #t) 'yes)
(show (truth #t))                               ; expect: yes
(define (null ()) 'null)
(show (null '()))                               ; expect: null
(define (letter #\a) 'letter)
(show (letter #\a))                             ; expect: letter
(define (quoted 'a) 'symbol)
(show (quoted 'a))                              ; expect: symbol
(define (sum-pairs l) (map (lambda ((cons a b)) (+ a b)) l))
(show (sum-pairs '((1 . 2) (3 . 4))))           ; expect: (3 7)
(define (local)
  (define (f (cons a b)) (- a b))
  (f '(5 . 3)))
(show (local))                                  ; expect: 2
(show (letrec ((f (lambda ((cons a r)) (if (null? r) a (f r))))) (f '(1 2 3)))) ; expect: 3
; A file may define car and cdr by patterns, as the programs of the VLAD family do.
(define (my-car (cons car cdr)) car)
(define (my-cdr (cons car cdr)) cdr)
(show (list (my-car '(1 . 2)) (my-cdr '(1 . 2)))) ; expect: (1 2)
