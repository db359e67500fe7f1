; Layers as values, of which networks are put together: a layer knows how to draw its parameters and what to do with them, so that a network is
; described once. What moves along while it trains and is no parameter, the statistics of batch-norm, goes through it beside the input.

; A layer is #(new-parameters new-statistics train test): (train parameters statistics x) gives (value . statistics'), (test parameters statistics x)
; the value.
(define (layer-parameters layer) ((vector-ref layer 0)))
(define (layer-statistics layer) ((vector-ref layer 1)))
(define (layer-train layer parameters statistics x) ((vector-ref layer 2) parameters statistics x))
(define (layer-test layer parameters statistics x) ((vector-ref layer 3) parameters statistics x))

; Of a procedure that draws parameters and one of parameters and input; of a procedure of the input alone; of two that do not the same in training.
(define (layer-of new f)
  (vector new (lambda () '())
          (lambda (p s x) (%check-none "layer-train" s) (cons (f p x) s))
          (lambda (p s x) (%check-none "layer-test" s) (f p x))))
; Whoever hands statistics on in the place of parameters hands parameters on in the place of statistics.
(define (%check-none name s)
  (if (pair? s)
      (error (string-append name ": this layer has no statistics, () are expected; are two arguments in each other's place, (" name " layer parameters statistics x)? got") s)))
(define (function-layer f) (layer-of (lambda () '()) (lambda (p x) (f x))))
(define (dropout-layer probability)
  (vector (lambda () '()) (lambda () '()) (lambda (p s x) (cons (dropout x probability) s)) (lambda (p s x) x)))

(define (linear-layer inputs outputs) (layer-of (lambda () (new-linear inputs outputs)) linear))
(define (convolution-layer inputs outputs window . l)
  (layer-of (lambda () (new-convolution inputs outputs window (%groups-of l))) (lambda (p x) (apply convolution p x l))))
(define (plain-convolution-layer inputs outputs window . l)
  (layer-of (lambda () (list (car (new-convolution inputs outputs window (%groups-of l))))) (lambda (p x) (apply convolve x (car p) l))))
(define (transpose-convolution-layer inputs outputs window . l)
  (layer-of (lambda () (list (he-convolution (cons* inputs (quotient outputs (%groups-of l)) window)) (fill (list outputs) 0)))
            (lambda (p x)
              (let ((y (apply transpose-convolve x (car p) l)))
                (+ y (view (cadr p) (cons outputs (map (lambda (n) 1) (cddr (size y))))))))))

; strides, padding, dilation, groups, and of a transposed convolution what is added to the sizes
(define (%groups-of l) (if (>= (length l) 4) (cadddr l) 1))

(define (batch-norm-layer channels . l)
  (let ((epsilon (%epsilon "batch-norm-layer" l)))
    (vector (lambda () (new-batch-norm channels)) (lambda () (new-batch-statistics channels))
            (lambda (p s x) (let ((both (batch-norm p (%begun s) x epsilon))) (cons (car both) (cadr both))))
            (lambda (p s x) (batch-norm-test p (%begun s) x epsilon)))))
(define (layer-norm-layer width) (layer-of (lambda () (new-layer-norm width)) layer-norm))

; --- layers made of layers, whose parameters are the list of those of their parts

(define (%check-layers name layers)
  (for-each (lambda (layer)
              (cond ((procedure? layer)
                     (error (string-append name ": expected layers, got a procedure; a layer of it is made by function-layer, as in (function-layer ReLU):") layer))
                    ((not (vector? layer))
                     (error (string-append name ": expected layers" (if (pair? layer) (string-append "; of a list of them (apply " name " layers)") "") ", got") layer))))
            layers))
; A state of 0 is where optimisers begin; statistics begin with the layer's.
(define (%begun s)
  (if (eqv? s 0) (error "layer-train, layer-test: expected statistics, got 0; begin with (layer-statistics layer)") s))

(define (in-sequence . layers)
  (%check-layers "in-sequence" layers)
  (vector (lambda () (map layer-parameters layers))
          (lambda () (map layer-statistics layers))
          (lambda (p s x)
            (let %in-sequence/loop ((layers layers) (p p) (s (%begun s)) (x x) (done '()))
              (if (null? layers)
                  (cons x (reverse done))
                  (let ((both (layer-train (car layers) (car p) (car s) x)))
                    (%in-sequence/loop (cdr layers) (cdr p) (cdr s) (car both) (cons (cdr both) done))))))
          (lambda (p s x)
            (let %in-sequence/test ((layers layers) (p p) (s (%begun s)) (x x))
              (if (null? layers) x (%in-sequence/test (cdr layers) (cdr p) (cdr s) (layer-test (car layers) (car p) (car s) x)))))))

; All of them see the input; (combine list) of what they make of it.
(define (in-parallel combine . layers)
  (%check-layers "in-parallel" layers)
  (vector (lambda () (map layer-parameters layers))
          (lambda () (map layer-statistics layers))
          (lambda (p s x)
            (let ((all (map (lambda (layer p s) (layer-train layer p s x)) layers p (%begun s))))
              (cons (combine (map car all)) (map cdr all))))
          (lambda (p s x) (combine (map (lambda (layer p s) (layer-test layer p s x)) layers p (%begun s))))))

; The input, or what a shortcut makes of it, is added.
(define (residual-layer layer . shortcut)
  (in-parallel (lambda (l) (+ (car l) (cadr l))) layer (if (null? shortcut) (in-sequence) (%only "residual-layer" shortcut))))
; What each layer makes of the input, one behind the other along an axis.
(define (concatenated-layers axis . layers) (apply in-parallel (lambda (l) (concat-tensors l axis)) layers))
