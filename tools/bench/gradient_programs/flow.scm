; vmrun flow.scm OPERATOR STEPS: Euler's steps along x' = tanh(x w) from time 0 to 10, and the gradient of the mean square of where they end with
; respect to the matrix w. The result hardly depends on the number of steps, so that other programs can be compared.
(define (flow x w h n) (if (= n 0) (/ (sumall (square x)) 4096) (flow (+ x (* h (tanh (matmul x w)))) w h (- n 1))))
(define operator (car (command-line)))
(define steps (string->number (cadr (command-line))))
(define x (sin (view (list->tensor (iota 4096)) '(128 32))))
(define w (* .1 (cos (view (list->tensor (iota 1024)) '(32 32)))))
(define (f w) (flow x w (/ 10. steps) steps))
(define result (if (equal? operator "*j") (*j f w 1) (checkpoint-*j f w 1)))
(write-real (car result))
(write-real (sqrt (sumall (square (cdr result)))))
