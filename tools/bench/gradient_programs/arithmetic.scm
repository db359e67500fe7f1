; Scalar arithmetic and little else, so that the time is that of recording and sweeping operations: nine of them an iteration.
; Arguments: primal or *j; the number of iterations.
(define mode (car (command-line)))
(define iterations (string->number (cadr (command-line))))
(define (mixed (cons a b))
  (let loop ((i 0) (a a) (b b))
    (if (= i iterations)
        (+ a b)
        (let* ((c (* a b))
               (d (+ a c))
               (e (- b c)))
          (loop (+ i 1) (* 0.25 (+ d (* e 0.5))) (* 0.5 (- (* e d) b)))))))
(define start (cons 0.7 0.4))
(write-real
 (if (string=? mode "primal")
     (mixed start)
     (car (cdr (*j mixed start 1)))))
