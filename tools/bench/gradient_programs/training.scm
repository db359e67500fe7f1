; Differentiation through a training loop: gradient descent with *j in every step, and the derivative of the final loss with respect to
; the logarithm of the rate. Arguments: primal, *j or checkpoint-*j; the number of steps of descent.
(define mode (car (command-line)))
(define steps (string->number (cadr (command-line))))
(define points '((-1.0 . -1.2) (0.0 . 0.9) (1.0 . 2.8) (2.0 . 5.1)))
(define (loss (cons slope offset))
  (let loop ((points points) (sum 0.0))
    (if (null? points)
        sum
        (let ((miss (- (+ (* slope (car (car points))) offset) (cdr (car points)))))
          (loop (cdr points) (+ sum (* miss miss)))))))
(define (train log-rate)
  (let ((rate (exp log-rate)))
    (let loop ((i 0) (slope 0.0) (offset 0.0))
      (if (= i steps)
          (loss (cons slope offset))
          (let ((downhill (cdr (*j loss (cons slope offset) 1))))
            (loop (+ i 1) (- slope (* rate (car downhill))) (- offset (* rate (cdr downhill)))))))))
(define start -7.0)
(write-real
 (cond ((string=? mode "primal") (train start))
       ((string=? mode "*j") (cdr (*j train start 1)))
       (else (cdr (checkpoint-*j train start 1)))))
