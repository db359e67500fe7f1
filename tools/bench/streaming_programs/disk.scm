; Tensors of 16 MiB that go to a disk and come back, once: the arguments are their number and whether they come back.
(define n (string->number (car (command-line))))
(define all (map (lambda (i) (fill '(4194304) (* 1. (+ i 1)))) (iota n)))
(define wrong (if (equal? (cadr (command-line)) "back") (filter (lambda (i) (not (= (+ i 1) (tensor->number (max-over (list-ref all i)))))) (iota n)) '()))
(write wrong)
