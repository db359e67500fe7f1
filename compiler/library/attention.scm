; Layers that look along a sequence, [batch, steps, width]. `causal`, #f if it is left out, is #t where no step may see those behind it.

; Each row of q, by how well it goes with the rows of k, a mean of the rows of v; axes in front are a batch.
(define (dot-product-attention q k v . causal)
  (let ((scale (/ 1 (sqrt (car (last-pair (size q)))))) (causal (%flag "dot-product-attention" causal)))
    (if (if (%attends? q) (if (%attends? k) (%attends? v) #f) #f)
        (attend q k v scale (if causal #t #f))
        (let ((scores (matmul (* q scale) (transpose k)))) (matmul (softmax (if causal (%without-later scores) scores)) v)))))

; Whether the operator for it takes such an operand; it is on the processor alone.
(define (%attends? t) (if (%in-one-pass? t) (> (length (size t)) 1) #f))

; By operators that every device has.
(define (%without-later scores)
  (let* ((sizes (reverse (size scores)))
         (numbers (lambda (n) (list->tensor (iota n) 'f32 (tensor-residence scores)))))
    (where (< (unsqueeze (numbers (cadr sizes)) 1) (numbers (car sizes))) -inf.0 scores)))

(define (%flag name l) (if (null? l) #f (%only name l)))

; Attention of so many heads of a sequence to itself; its parameters make queries, keys and values of the input, and the value of what they give.
(define (new-attention width) (list (new-linear width (* 3 width)) (new-linear width width)))
(define (attention heads parameters x . causal)
  (let* (((list in out) parameters)
         (sizes (%sequence-sizes heads x))
         ((list q k v) (map (lambda (t) (%heads heads t)) (split (linear in x) -1 3))))
    (linear out (view (permute (dot-product-attention q k v (%flag "attention" causal)) '(0 2 1 3)) sizes))))

(define (%sequence-sizes heads x)
  (let ((sizes (size x)))
    (if (= (length sizes) 3)
        (if (= (remainder (caddr sizes) heads) 0)
            sizes
            (error "attention: expected a width that is a multiple of the number of heads, got width and heads" (caddr sizes) heads))
        (error "attention: expected a sequence [batch, steps, width], got sizes" sizes))))

; [batch, steps, width] as [batch, heads, steps, width / heads].
(define (%heads heads t)
  (let (((list batch steps width) (size t)))
    (permute (view t (list batch steps heads (quotient width heads))) '(0 2 1 3))))

; A block of a transformer that normalises first: attention, then a layer of so many units (4 times the width) with GeLU, each added to its input.
(define (new-transformer width . units)
  (list (new-layer-norm width) (new-attention width) (new-layer-norm width)
        (let ((units (if (null? units) (* 4 width) (%only "new-transformer" units)))) (new-perceptron (list width units width)))))
(define (transformer heads parameters x . causal)
  (let* (((list norm1 attend norm2 units) parameters)
         (x (+ x (attention heads attend (layer-norm norm1 x) (%flag "transformer" causal)))))
    (+ x (perceptron GeLU units (layer-norm norm2 x)))))
