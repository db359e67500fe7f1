; The sum of squares of a long list by recursion that is not a tail call: in the middle of the run as many frames and pairs are
; alive as the list has elements, and a cut must not cost more than what the interval beside it touches.
; Arguments: primal, steps (of the run), *j or checkpoint-*j; the length of the list.
(define mode (car (command-line)))
(define numbers
  (let loop ((i (string->number (cadr (command-line)))) (list '()))
    (if (= i 0) list (loop (- i 1) (cons (/ 1.0 i) list)))))
(define (squares list)
  (if (null? list)
      0.0
      (+ (* (car list) (car list)) (squares (cdr list)))))
(define (sum list)
  (if (null? list) 0.0 (+ (car list) (sum (cdr list)))))
(write-real
 (cond ((string=? mode "primal") (squares numbers))
       ((string=? mode "steps") (primops squares numbers))
       ((string=? mode "*j") (sum (cdr (*j squares numbers 1))))
       (else (sum (cdr (checkpoint-*j squares numbers 1))))))
