; Splits of an outer run inside an operator in the middle that holds several others: each of those meets numbers of the copy of the middle's tape that
; is in work, whatever copies the snapshots of the outer run have.
(define (slope f x y) (cdr (*j f x y)))
(define (twice x) (* (slope (lambda (u) (* u u)) x x) (slope (lambda (u) (* u u)) x x)))
(define (many n) (lambda (x) (let loop ((i 0) (s 0.)) (if (= i n) s (loop (+ i 1) (+ s (slope (lambda (u) (* u u x)) (+ x i) 1)))))))
;;; case two-inner-operators-under-online-base-16
; flags: --checkpoint=online,base=16
(write (checkpoint-*j (lambda (x) (begin (*j twice x 1) 1)) .3 1)) (newline)  ; expect: (1 . 0)
(write (checkpoint-*j (lambda (x) (slope twice x 1)) .5 1)) (newline)         ; expect: (2.0 . 12.0)
(write (checkpoint-*j (lambda (x) (slope (lambda (x) (slope twice x 1)) x x)) .5 1)) (newline) ; expect: (6.0 . 36.0)
;;; case two-inner-operators-under-sqrt-base-16
; flags: --checkpoint=sqrt,base=16
(write (checkpoint-*j (lambda (x) (begin (*j twice x 1) 1)) .3 1)) (newline)  ; expect: (1 . 0)
(write (checkpoint-*j (lambda (x) (slope twice x 1)) .5 1)) (newline)         ; expect: (2.0 . 12.0)
(write (checkpoint-*j (lambda (x) (slope (lambda (x) (slope twice x 1)) x x)) .5 1)) (newline) ; expect: (6.0 . 36.0)
;;; case two-inner-operators-under-binomial-base-16
; flags: --checkpoint=binomial,base=16
(write (checkpoint-*j (lambda (x) (begin (*j twice x 1) 1)) .3 1)) (newline)  ; expect: (1 . 0)
(write (checkpoint-*j (lambda (x) (slope twice x 1)) .5 1)) (newline)         ; expect: (2.0 . 12.0)
(write (checkpoint-*j (lambda (x) (slope (lambda (x) (slope twice x 1)) x x)) .5 1)) (newline) ; expect: (6.0 . 36.0)
;;; case two-inner-operators-under-binomial-base-16-snapshots-2
; flags: --checkpoint=binomial,base=16,snapshots=2
(write (checkpoint-*j (lambda (x) (begin (*j twice x 1) 1)) .3 1)) (newline)  ; expect: (1 . 0)
(write (checkpoint-*j (lambda (x) (slope twice x 1)) .5 1)) (newline)         ; expect: (2.0 . 12.0)
(write (checkpoint-*j (lambda (x) (slope (lambda (x) (slope twice x 1)) x x)) .5 1)) (newline) ; expect: (6.0 . 36.0)
;;; case two-inner-operators-under-bisection-base-16
; flags: --checkpoint=bisection,base=16
(write (checkpoint-*j (lambda (x) (begin (*j twice x 1) 1)) .3 1)) (newline)  ; expect: (1 . 0)
(write (checkpoint-*j (lambda (x) (slope twice x 1)) .5 1)) (newline)         ; expect: (2.0 . 12.0)
(write (checkpoint-*j (lambda (x) (slope (lambda (x) (slope twice x 1)) x x)) .5 1)) (newline) ; expect: (6.0 . 36.0)
;;; case two-inner-operators-under-tape
; flags: --checkpoint=tape
(write (checkpoint-*j (lambda (x) (begin (*j twice x 1) 1)) .3 1)) (newline)  ; expect: (1 . 0)
(write (checkpoint-*j (lambda (x) (slope twice x 1)) .5 1)) (newline)         ; expect: (2.0 . 12.0)
(write (checkpoint-*j (lambda (x) (slope (lambda (x) (slope twice x 1)) x x)) .5 1)) (newline) ; expect: (6.0 . 36.0)
;;; case a-gradient-through-two-thousand
; flags: --checkpoint=online
(write (checkpoint-*j (lambda (x) (slope (many 2000) x 1)) .5 1)) (newline)   ; expect: (4002000.0 . 8000.0)
;;; case twenty-outer-and-five-hundred-inner
(define (outer x) (let loop ((i 0) (s 0.)) (if (= i 20) s (loop (+ i 1) (+ s (slope (many 500) (+ x i) 1))))))
(write (checkpoint-*j outer .5 1)) (newline)                                  ; expect: (5390000.0 . 40000.0)
