; A small DenseNet on random images, forward and back by all parameters, n times. Arguments: n, batch, size of the images, growth, and the layers of
; each of its blocks. What a layer makes stands beside all that was there before it, so the state grows towards the end of each block.
(define arguments (map string->number (command-line)))
(define n (car arguments))
(define batch (cadr arguments))
(define pixels (caddr arguments))
(define growth (cadddr arguments))
(define blocks (list-tail arguments 4))

; What normalises the operand, and a convolution without bias: (scale shift weights).
(define (unit in out k) (list (fill (list in) 1) (fill (list in) 0) (* (sqrt (/ 2 (* in k k))) (randn (list out in k k)))))
(define (applied x (list scale shift w))
  (convolve (ReLU (car (batch-normalization-training x scale shift))) w 1 (quotient (list-ref (size w) 2) 2)))

(define (layers in count) (build-list count (lambda (i) (list (unit (+ in (* i growth)) (* 4 growth) 1) (unit (* 4 growth) growth 3)))))
(define (layered x (list narrow wide)) (concat-tensors (list x (applied (applied x narrow) wide)) 1))

; Blocks, and behind each but the last a transition to half of the channels and half of the size: ((layers . transition) ...).
(define (parameters-from in blocks)
  (let ((out (+ in (* growth (car blocks)))))
    (if (null? (cdr blocks))
        (list (cons (layers in (car blocks)) (* .01 (randn (list out 10)))))
        (cons (cons (layers in (car blocks)) (unit out (quotient out 2) 1)) (parameters-from (quotient out 2) (cdr blocks))))))
(define (network x (cons (cons block last) more))
  (let ((x (fold-left layered x block)))
    (if (null? more)
        (matmul (view (adaptive-average-pool x 1) (list batch -1)) last)
        (network (average-pool (applied x last) 2) more))))

(define parameters (cons (* .2 (randn (list (* 2 growth) 3 3 3))) (parameters-from (* 2 growth) blocks)))
(define images (randn (list batch 3 pixels pixels)))
(define labels (list->tensor (iota batch) 'i64))
(define (loss (cons stem more)) (cross-entropy-loss (network (convolve images stem 1 1) more) labels))
(define (work) (*j loss parameters 1))
(define (loop i) (if (= i 0) 0 (begin (work) (loop (- i 1)))))
(write (loop n))
