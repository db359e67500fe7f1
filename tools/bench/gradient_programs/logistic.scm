; A long loop of the logistic map, x <- r x (1 - x), whose result depends on the first x and on r.
; Arguments: primal, *j or checkpoint-*j; the number of iterations.
(define mode (car (command-line)))
(define iterations (string->number (cadr (command-line))))
(define (orbit (cons x r))
  (let loop ((i 0) (x x))
    (if (= i iterations)
        x
        (loop (+ i 1) (* (* r x) (- 1.0 x))))))
(define start (cons 0.3 2.8))
(write-real
 (cond ((string=? mode "primal") (orbit start))
       ((string=? mode "*j") (cdr (cdr (*j orbit start 1))))
       (else (cdr (cdr (checkpoint-*j orbit start 1))))))
