; Lists in order.
(define (show x) (write x) (newline))
(show (sort-list < '()))                                          ; expect: ()
(show (sort-list < '(2)))                                         ; expect: (2)
(show (sort-list < '(3 1 2 1 5 0)))                               ; expect: (0 1 1 2 3 5)
(show (sort-list > '(3 1 2.5)))                                   ; expect: (3 2.5 1)
(show (sort-list string<? '("pear" "apple" "fig")))               ; expect: ("apple" "fig" "pear")
; What is alike keeps its order.
(define (by-length a b) (< (string-length a) (string-length b)))
(show (sort-list by-length '("bb" "a" "cc" "b" "aa" "c")))        ; expect: ("a" "b" "c" "bb" "cc" "aa")
(define numbers (build-list 3000 (lambda (i) (remainder (* 7919 i) 3001))))
(define in-order (map inexact->exact (tensor->list (sort (list->tensor numbers 'f64)))))
(show (equal? (sort-list (lambda (a b) (< (car a) (car b))) (map list numbers)) (map list in-order))) ; expect: #t
; A derivative goes to where each number came from.
(show (gradient (lambda (l) (apply + (map * (sort-list < l) '(1 10 100)))) '(3. 1. 2.))) ; expect: (100.0 1.0 10.0)
