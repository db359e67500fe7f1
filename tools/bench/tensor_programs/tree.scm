; A recursive network over a complete binary tree, forward and back by all parameters, n times: each leaf is a function of the weights, each
; node one of its two children, which are done one after the other. Arguments: n, depth, rows, width.
(define arguments (map string->number (command-line)))
(define n (car arguments))
(define depth (cadr arguments))
(define rows (caddr arguments))
(define width (cadddr arguments))

(define words (randn (list rows width)))
(define (leaf place (list of-leaf of-left of-right)) (tanh (* (sin (+ place 1)) (matmul words of-leaf))))
(define (node depth place parameters)
  (if (= depth 0)
      (leaf place parameters)
      (let* ((left (node (- depth 1) (* 2 place) parameters)) (right (node (- depth 1) (+ (* 2 place) 1) parameters)))
        (tanh (+ (matmul left (cadr parameters)) (matmul right (caddr parameters)))))))

(define parameters (build-list 3 (lambda (i) (* (/ 1 (sqrt width)) (randn (list width width))))))
(define (loss parameters) (mean (square (node depth 0 parameters))))
(define (work) (*j loss parameters 1))
(define (loop i) (if (= i 0) 0 (begin (work) (loop (- i 1)))))
(write (loop n))
