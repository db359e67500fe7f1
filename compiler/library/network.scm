; What networks are made of: (import network) names it, though all of it is in reach without. Parameters are plain nested structures
; (parameters.scm); a layer is a procedure of its parameters and its input, in this order and behind what shapes it, and what begins with
; "new-" draws parameters. Layers with a state are in recurrent.scm, those that look along a sequence in attention.scm, losses and metrics in
; losses.scm, rules that change parameters in optimisers.scm.

; Weights and shift of a linear layer, and the layer.
(define (new-linear inputs outputs) (list (glorot inputs outputs) (fill (list outputs) 0)))
(define (linear parameters x)
  (let (((list weights shift) parameters)) (+ (matmul x weights) shift)))

; Linear layers of these sizes with a function between them.
(define (new-perceptron sizes)
  (if (if (pair? sizes) (pair? (cdr sizes)) #f)
      (map new-linear sizes (cdr sizes))
      (error "new-perceptron: expected the sizes of input, layers and output, two at least, got" sizes)))
(define (perceptron f layers x)
  (if (not (pair? layers))
      (error "perceptron: expected a list of layers, as (new-perceptron sizes) draws them, in (perceptron f layers x), got" layers)
      (let %perceptron/loop ((layers layers) (x x))
        (if (null? (cdr layers))
            (linear (car layers) x)
            (%perceptron/loop (cdr layers) (f (linear (car layers) x)))))))

; Weights [outputs, inputs / groups, window ...] and shift of a convolution, and the layer, with what may follow in convolve: strides, padding,
; dilation and groups.
(define (new-convolution inputs outputs window . groups)
  (if (not (list? window)) (error "new-convolution: expected a window such as '(3 3), got" window))
  (let ((groups (if (null? groups) 1 (%only "new-convolution" groups))))
    (list (he-convolution (cons* outputs (quotient inputs groups) window)) (fill (list outputs) 0))))
(define (convolution parameters x . l)
  (let (((list weights shift) parameters)) (apply convolve-add-tied x weights shift l)))

; A table with a row for each of so many things; the operator (embedding table indices) is the layer. And the table of sines and cosines
; that tells positions apart.
(define (new-embedding things width) (randn (list things width)))
(define (sinusoids steps width . l)
  (define (wave i j)
    (let ((angle (/ i (expt 10000 (/ (- j (remainder j 2)) width))))) (if (even? j) (sin angle) (cos angle))))
  (apply list->tensor (build-list steps (lambda (i) (build-list width (lambda (j) (wave i j))))) l))

; --- normalisations: scale and shift; the operators have those behind the input

(define (%new-norm width) (list (fill (list width) 1) (fill (list width) 0)))
(define (new-layer-norm width) (%new-norm width))
(define (layer-norm parameters x)
  (let (((list scale shift) parameters)) (layer-normalization x scale shift)))
(define (new-group-norm channels) (%new-norm channels))
(define (group-norm groups parameters x)
  (let (((list scale shift) parameters)) (group-normalization x scale shift groups)))
(define (new-rms-norm width) (list (fill (list width) 1)))
(define (rms-norm parameters x) (rms-normalization x (car parameters)))

; By the batch's own mean and variance: the value and the moving (mean variance) of the batches so far, to which this one adds a tenth. Behind
; training the layer is batch-norm-test with those. Both take an epsilon, 1e-5 if it is left out, behind the input.
(define (new-batch-norm channels) (%new-norm channels))
(define (new-batch-statistics channels) (list (fill (list channels) 0) (fill (list channels) 1)))
(define (batch-norm parameters statistics x . l)
  (let* (((list scale shift) parameters)
         ((list y mean variance) (batch-normalization-training x scale shift (%epsilon "batch-norm" l)))
         (n (/ (apply * (size x)) (car (size scale)))))
    (if (= n 1) (error "batch-norm: one number for each channel has no variance; give a larger batch than one of sizes" (size x)))
    (list y (list (+ (* .9 (car statistics)) (* .1 mean)) (+ (* .9 (cadr statistics)) (* (/ (* .1 n) (- n 1)) variance))))))
(define (batch-norm-test parameters statistics x . l)
  (let (((list scale shift) parameters) ((list mean variance) statistics))
    (batch-normalization-test x scale shift mean variance (%epsilon "batch-norm-test" l))))
(define (%epsilon name l) (if (null? l) 1e-5 (%only name l)))

; --- layers made of layers (layer parameters x)

; One after the other, each with its own of the list of parameters.
(define (stacked layer parameters x) (fold-left (lambda (x p) (layer p x)) x parameters))

; What the layer adds to its input.
(define (residual layer parameters x) (+ x (layer parameters x)))

; Each layer sees, along an axis, the input and the values of all layers before it.
(define (dense-block axis layer parameters x)
  (stacked (lambda (p x) (concat-tensors (list x (layer p x)) axis)) parameters x))
