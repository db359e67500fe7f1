; A gradient that does not fit: layers with skips, 1,024 rows of 64 numbers at once. Every layer makes four times as much as it passes on.
;
;     vmrun --memory=40MiB samples/layers.scm checkpoint-*j 48
;
; prints the loss of so many layers and the sum of the magnitudes of its gradient. With *j it takes 90 MiB, with checkpoint-*j what it is given.
; docs/memory.md goes through it.

(define (layers parameters x)
  (if (null? parameters)
      x
      (let ((in (caar parameters)) (out (cdar parameters)))
        (layers (cdr parameters) (+ x (matmul (GeLU (matmul x in)) out))))))

(define (random-parameters depth)
  (if (= depth 0)
      '()
      (cons (cons (* .1 (randn '(64 256))) (* .05 (randn '(256 64)))) (random-parameters (- depth 1)))))

(define inputs (randn '(1024 64)))
(define (loss parameters) (mean (square (layers parameters inputs))))

(define (magnitude gradient)
  (if (null? gradient)
      0
      (+ (sumall (abs (caar gradient))) (sumall (abs (cdar gradient))) (magnitude (cdr gradient)))))

(define (operator name)
  (cond ((string=? name "*j") *j)
        ((string=? name "checkpoint-*j") checkpoint-*j)
        (else (error "expected *j or checkpoint-*j, got" name))))
(define (depth word) (let ((n (string->number word))) (if n n (error "expected the number of layers behind the operator, got" word))))
(define arguments (append (command-line) (list-tail '("checkpoint-*j" "48") (min 2 (length (command-line)))))) ; what is not given
(let ((result ((operator (car arguments)) loss (random-parameters (depth (cadr arguments))) 1)))
  (write-real (sumall (car result)))
  (write-real (magnitude (cdr result))))
