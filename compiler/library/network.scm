; What networks are made of: (import network) names it, though all of it is in reach without. Parameters are plain nested structures of
; pairs, vectors, numbers and tensors; a layer is a procedure of its parameters and its input, and what begins with "new-" draws parameters.

; --- structures of parameters

(define (parameters-map f p)
  (cond ((pair? p) (cons (parameters-map f (car p)) (parameters-map f (cdr p))))
        ((vector? p) (vector-map (lambda (x) (parameters-map f x)) p))
        ((if (tensor? p) #t (number? p)) (f p))
        (else p)))

(define (parameters-fold f seed p)
  (cond ((pair? p) (parameters-fold f (parameters-fold f seed (car p)) (cdr p)))
        ((vector? p) (parameters-fold f seed (vector->list p)))
        ((if (tensor? p) #t (number? p)) (f seed p))
        (else seed)))

; The leaves in order, and how many numbers they hold.
(define (parameters->list p) (reverse (parameters-fold (lambda (done leaf) (cons leaf done)) '() p)))
(define (parameters-count p)
  (parameters-fold (lambda (n leaf) (+ n (if (tensor? leaf) (apply * (size leaf)) 1))) 0 p))

; --- initialisers of matrices [inputs, outputs]

(define (glorot inputs outputs . l)
  (* (sqrt (/ 6 (+ inputs outputs))) (- (* 2 (apply rand (list inputs outputs) l)) 1)))
(define (he inputs outputs . l)
  (* (sqrt (/ 2 inputs)) (apply randn (list inputs outputs) l)))

; --- layers

; Weights and shift of a linear layer, and the layer.
(define (new-linear inputs outputs) (list (glorot inputs outputs) (fill (list outputs) 0)))
(define (linear parameters x)
  (let (((list weights shift) parameters)) (+ (matmul x weights) shift)))

; Linear layers of these sizes with a function between them.
(define (new-perceptron sizes)
  (if (null? (cdr sizes)) '() (cons (new-linear (car sizes) (cadr sizes)) (new-perceptron (cdr sizes)))))
(define (perceptron f layers x)
  (if (null? (cdr layers))
      (linear (car layers) x)
      (perceptron f (cdr layers) (f (linear (car layers) x)))))

; --- metrics

; The part of logits [n, classes] whose largest is at the index given.
(define (accuracy logits classes)
  (tensor->number (mean (cast (= (argmax logits 1) classes) 'f64))))

; How often each class (row) was taken for each (column).
(define (confusion-matrix logits classes)
  (let ((n (cadr (size logits))))
    (matmul (transpose (one-hot classes n)) (one-hot (argmax logits 1) n))))
