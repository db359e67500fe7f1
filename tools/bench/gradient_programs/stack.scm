; A stack of layers that are products of matrices: each takes a while, and its tape is large beside the budgets of tools/bench/spill.
;
;     vmrun --memory=40MiB stack.scm checkpoint-*j 200

(define layers (string->number (cadr (command-line))))
(define w (* .044 (- (rand '(512 512) 'f32) .5)))
(define x (rand '(1024 512) 'f32))
(define (net w)
  (let loop ((i 0) (h x))
    (if (= i layers) (sum (* h h)) (loop (+ i 1) (+ h (tanh (matmul h w)))))))
(define gradient (if (string=? (car (command-line)) "*j") *j checkpoint-*j))
(define result (gradient net w 1))
(write (car result))
(write (sum (abs (cdr result))))
(newline)
