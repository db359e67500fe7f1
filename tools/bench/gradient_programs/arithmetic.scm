; Scalar arithmetic and little else, so that the time is that of recording and sweeping operations: nine of them an iteration.
; A rotation and a sum, so that values and cotangents neither grow nor vanish. Arguments: primal, *j or checkpoint-*j; the number of iterations.
(define mode (car (command-line)))
(define iterations (string->number (cadr (command-line))))
(define (turned (cons a b))
  (let loop ((i 0) (a a) (b b) (sum 0.0))
    (if (= i iterations)
        (+ a (+ b sum))
        (loop (+ i 1)
              (- (* 0.8 a) (* 0.6 b))
              (+ (* 0.6 a) (* 0.8 b))
              (- (+ sum (* a b)) 0.01)))))
(define start (cons 0.7 0.4))
(write-real
 (cond ((string=? mode "primal") (turned start))
       ((string=? mode "*j") (car (cdr (*j turned start 1))))
       (else (car (cdr (checkpoint-*j turned start 1))))))
