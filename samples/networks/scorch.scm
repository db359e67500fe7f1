; The names by which programs for SCORCH put networks together: what shapes a layer comes first, then its parameters, then its input, each in a call of
; its own, and (sequential-layer f ...) is one layer after the other. Import it and write ((fc-layer) p) and the like; addmm and layer-normalization
; have two operands then.

(define (sequential-layer . layers) (lambda (x) (fold-left (lambda (y layer) (layer y)) x layers)))

(define (((convolution-layer-no-bias padding (list strides dilation)) weights) x) (convolve x weights strides padding dilation))
(define (((convolution-layer padding (list strides dilation)) (list weights shift)) x) (convolve-add-tied x weights shift strides padding dilation))
(define (((batch-normalization-training-layer) (list scale shift)) x) (car (batch-normalization-training x scale shift)))
(define (((fc-layer) (list weights shift)) x) (+ (matmul x weights) shift))

; Without parameters.
(define (((ReLU-layer)) x) (ReLU x))
(define (((GeLU-layer)) x) (GeLU x))
(define (((flatten-layer)) x) (view x (list (car (size x)) -1)))
(define (((max-pool-layer window padding strides)) x) (max-pool x window strides padding))
(define (((average-pool-layer window padding strides)) x) (average-pool x window strides padding))

; Of matrices of a row for each step.
(define (addmm a b) (matmul a b))
(define (layer-normalization x p) (layer-norm p x))
(define (concat l) (concat-tensors l -1))
(define (mask scores index)
  (where (< index (arange (car (last-pair (size scores))))) -inf.0 scores))
(define (first l) (car l))
(define (rest l) (cdr l))
