; The gradient of a long loop: x <- r x (1 - x), from x = 1/2, n times, with respect to r.
;
;     vmrun samples/logistic.scm checkpoint-*j 3000000
;
; prints the last x and its derivative. The first argument chooses the operator, *j (a tape of the whole run) or checkpoint-*j (the same
; bits, in little memory), the second the number of iterations.

(define (logistic n)
  (lambda (r)
    (let loop ((i 0) (x 0.5))
      (if (= i n)
          x
          (loop (+ i 1) (* r x (- 1 x)))))))

(define (operator name)
  (cond ((string=? name "*j") *j)
        ((string=? name "checkpoint-*j") checkpoint-*j)
        (else (error "expected *j or checkpoint-*j, got" name))))

(define (argument i default)
  (let loop ((i i) (arguments (command-line)))
    (cond ((null? arguments) default)
          ((= i 0) (car arguments))
          (else (loop (- i 1) (cdr arguments))))))

; r = 3.2 is in the range where x settles into a cycle of two values, so that the derivative stays finite however long the loop.
(define reverse (operator (argument 0 "checkpoint-*j")))
(define iterations
  (let* ((given (argument 1 "1000000")) (n (string->number given))) (if n n (error "expected the number of iterations behind the operator, got" given))))
(let ((result (reverse (logistic iterations) 3.2 1)))
  (write-real (car result))
  (write-real (cdr result)))
