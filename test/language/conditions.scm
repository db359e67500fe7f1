; when and unless: the last expression, or #f.
(define (show x) (write x) (newline))
;;; case values
(show (when #t 1 2))                    ; expect: 2
(show (when #f 1 2))                    ; expect: #f
(show (unless #f 1 2))                  ; expect: 2
(show (unless 0 1 2))                   ; expect: #f
(when (< 1 2) (show 'a) (show 'b))      ; expect: a
; expect: b
(define (last l) (unless (null? l) (if (null? (cdr l)) (car l) (last (cdr l)))))
(show (last '(1 2 3)))                  ; expect: 3
;;; case without-expressions
(when #t)
; expect error: 'when' needs a test and at least one expression
; expect exit: 2
;;; case tail-calls
(define (count n) (when (> n 0) (count (- n 1))))
(show (count 100000))                   ; expect: #f
;;; case a-name-of-the-program
(define (f when) (when 3))
(show (f 1+))                           ; expect: 4
;;; case patterns-take-several-values-apart
(show (let (((cons a b) '(1 . 2)) ((list c) '(3))) (list a b c))) ; expect: (1 2 3)
