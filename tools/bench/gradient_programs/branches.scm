; A recursion over a complete binary tree: the sum of a function of its leaves, which hang on the number at the root by a factor and a
; shift at each branch. Arguments: primal, *j or checkpoint-*j; the depth.
(define mode (car (command-line)))
(define depth (string->number (cadr (command-line))))
(define (branches x (cons factor shift) depth)
  (if (= depth 0)
      (sin x)
      (+ (branches (+ (* factor x) shift) (cons factor shift) (- depth 1))
         (branches (- (* factor x) shift) (cons factor shift) (- depth 1)))))
(define (sum (cons x rates)) (branches x rates depth))
(define (total g) (+ (car g) (cadr g) (cddr g)))
(define parameters (cons .7 (cons .9 .3)))
(write-real
 (cond ((string=? mode "primal") (sum parameters))
       ((string=? mode "*j") (total (cdr (*j sum parameters 1))))
       (else (total (cdr (checkpoint-*j sum parameters 1))))))
