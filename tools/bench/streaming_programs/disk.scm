; Tensors of 16 MiB that go to a disk and come back, once. The argument is their number. Nothing is looked at before all is asked for, so that nobody waits.
(define n (string->number (car (command-line))))
(define all (map (lambda (i) (fill '(4194304) (* 1. (+ i 1)))) (iota n)))
(define largest (map max-over all))
(write (filter (lambda (i) (not (= (+ i 1) (tensor->number (list-ref largest i))))) (iota n)))
