; Parameters: plain nested structures of pairs, vectors, numbers and tensors, whose leaves are the numbers and the tensors. Everything else in
; them stands for itself, and so do keys of dictionaries. What is done with all leaves at once is here, and what leaves are drawn from.

(define (parameters-map f p)
  (cond ((pair? p) (cons (parameters-map f (car p)) (parameters-map f (cdr p))))
        ((vector? p) (vector-map (lambda (x) (parameters-map f x)) p))
        ((%leaf? p) (f p))
        (else p)))

(define (parameters-fold f seed p)
  (cond ((pair? p) (parameters-fold f (parameters-fold f seed (car p)) (cdr p)))
        ((vector? p) (parameters-fold f seed (vector->list p)))
        ((%leaf? p) (f seed p))
        (else seed)))

; The norm of all leaves together. Norms of leaves are taken beside the largest, whose square could be too large a number, and in f64, as that of
; f32 could be.
(define (parameters-norm p)
  (let* ((norms (parameters-fold (lambda (l leaf) (cons (%norm-of-leaf leaf) l)) '() p)) (most (apply max 0 norms)))
    (if (= most (* 2 most)) most (* most (sqrt (apply + (map (lambda (n) (square (/ n most))) norms)))))))

(define (%norm-of-leaf leaf)
  (let ((n (tensor->number (norm leaf))))
    (if (if (tensor? leaf) (= n (* 2 n)) #f) (tensor->number (norm (cast leaf 'f64))) n)))

(define (%leaf? p) (if (tensor? p) #t (number? p)))

; Leaf by leaf of two structures. In the place of any part of either an exact 0 stands for zeros, as it does in gradients.
(define (parameters-map2 f a b)
  (cond ((if (%leaf? a) (%leaf? b) #f) (f a b))
        ((eqv? a 0) (parameters-map (lambda (leaf) (f 0 leaf)) b))
        ((eqv? b 0) (parameters-map (lambda (leaf) (f leaf 0)) a))
        ((if (pair? a) (pair? b) #f) (cons (parameters-map2 f (car a) (car b)) (parameters-map2 f (cdr a) (cdr b))))
        ((if (%dict-node? a) (%dict-node? b) #f) (%dict-map2 f a b))
        ((if (vector? a) (if (vector? b) (= (vector-length a) (vector-length b)) #f) #f)
         (vector-map (lambda (x y) (parameters-map2 f x y)) a b))
        ((if (%inner? a) #t (%inner? b)) (error "parameters-map2: expected two structures alike, got parts" a b))
        (else a)))

; Trees of the same keys may differ, as they depend on the order in which the keys came.
(define (%dict-map2 f a b)
  (%dict-map (lambda (key x)
               (if (if (= (dict-size a) (dict-size b)) (dict-has? b key) #f)
                   (parameters-map2 f x (dict-ref b key))
                   (error "parameters-map2: expected dictionaries with the same keys, got those with" (dict-keys a) (dict-keys b))))
             a))

; What cannot stand for itself beside something else.
(define (%inner? p) (if (pair? p) #t (if (vector? p) #t (%leaf? p))))

; The leaves in order, and how many numbers they hold.
(define (parameters->list p) (reverse (parameters-fold (lambda (done leaf) (cons leaf done)) '() p)))
(define (parameters-count p)
  (parameters-fold (lambda (n leaf) (+ n (%leaf-count leaf))) 0 p))
(define (%leaf-count leaf) (if (tensor? leaf) (apply * (size leaf)) 1))

; A structure like p, whose leaves are those of a list.
(define (list->parameters leaves p)
  (let ((all (%with-leaves p leaves)))
    (if (null? (cdr all)) (car all) (error "list->parameters: so many leaves are left over:" (length (cdr all))))))

; The structure, and the leaves that are left.
(define (%with-leaves p leaves)
  (cond ((pair? p)
         (let* ((a (%with-leaves (car p) leaves)) (d (%with-leaves (cdr p) (cdr a))))
           (cons (cons (car a) (car d)) (cdr d))))
        ((vector? p) (let ((l (%with-leaves (vector->list p) leaves))) (cons (list->vector (car l)) (cdr l))))
        ((not (%leaf? p)) (cons p leaves))
        ((null? leaves) (error "list->parameters: there are fewer leaves than the structure has"))
        (else leaves)))

; All numbers in one vector, of the type to which those of the leaves are promoted, and back again: a structure like p.
(define (parameters->tensor p)
  (concat-tensors (map (lambda (leaf) (if (tensor? leaf) (view leaf '(-1)) (list->tensor (list leaf) 'f64))) (parameters->list p)) 0))
(define (tensor->parameters t p)
  (let ((total (parameters-count p)))
    (if (equal? (size t) (list total))
        (list->parameters (%cut t 0 (parameters->list p)) p)
        (error "tensor->parameters: expected a vector with as many numbers as the structure; those and the sizes are" total (size t)))))
(define (%cut t start leaves)
  (if (null? leaves)
      '()
      (let* ((leaf (car leaves)) (n (%leaf-count leaf)) (part (narrow-tensor t 0 start n)))
        (cons (if (tensor? leaf) (cast (view part (size leaf)) (tensor-type leaf)) (sumall part)) (%cut t (+ start n) (cdr leaves))))))

; A structure like p in which every number is x.
(define (parameters-like p x)
  (parameters-map (lambda (leaf) (if (tensor? leaf) (fill (size leaf) x (tensor-type leaf) (tensor-residence leaf)) x)) p))

; The moving average of parameters, of which so much remains at each step. With n / (n + 1) after n steps it is the mean of them all.
(define (parameters-average average p decay)
  (parameters-map2 (lambda (average leaf) (+ (* decay average) (* (- 1 decay) leaf))) average p))

; --- initialisers of matrices [inputs, outputs]

(define (glorot inputs outputs . l) (%glorot inputs outputs (list inputs outputs) l))
(define (he inputs outputs . l) (%he inputs (list inputs outputs) l))
(define (%glorot inputs outputs sizes l)
  (%check-fan (+ inputs outputs) sizes)
  (* (sqrt (/ 6 (+ inputs outputs))) (- (* 2 (apply rand sizes l)) 1)))
(define (%check-fan n sizes)
  (if (not (> n 0)) (error "how many inputs and outputs a layer has are numbers above 0, got" sizes)))
(define (%he inputs sizes l) (%check-fan inputs sizes) (* (sqrt (/ 2 inputs)) (apply randn sizes l)))

; The same of the weights of a convolution, [outputs, inputs / groups, sizes of the window ...], where each window counts.
(define (glorot-convolution sizes . l)
  (let ((window (%window "glorot-convolution" sizes)))
    (%glorot (* window (cadr sizes)) (* window (car sizes)) sizes l)))
(define (he-convolution sizes . l) (%he (* (%window "he-convolution" sizes) (cadr sizes)) sizes l))
(define (%window name sizes)
  (if (if (pair? sizes) (pair? (cdr sizes)) #f)
      (apply * (cddr sizes))
      (error (string-append name ": expected sizes (outputs inputs window ...), got") sizes)))

; Normal numbers within two deviations of the mean: those beyond are drawn again.
(define (truncated-normal sizes mean deviation . l)
  (+ mean (* deviation (%within-two (apply randn sizes l)))))
(define (%within-two t)
  (let ((beyond (< 2 (abs t))))
    (if (= (sumall beyond) 0)
        t
        (%within-two (where beyond (randn (size t) (tensor-type t) (tensor-residence t)) t)))))

; A matrix with orthonormal columns or, if it has fewer rows than columns, rows: all such matrices are equally likely, since the triangular
; factor of the normal matrix has a positive diagonal. The second round takes away the error that the first one's squares have made.
(define (orthogonal rows columns . l)
  (if (< rows columns)
      (transpose (apply orthogonal columns rows l))
      (let ((like (apply fill '(1) 0 l)))
        (to-device (cast (%orthonormal (%orthonormal (randn (list rows columns) 'f64 'cpu))) (tensor-type like)) (tensor-residence like)))))
(define (%orthonormal a) (transpose (triangular-solve (cholesky (matmul (transpose a) a)) (transpose a))))
