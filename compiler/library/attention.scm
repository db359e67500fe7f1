; Layers that look along a sequence, [batch, steps, width]. `causal`, #f if it is left out, is #t where no step may see those behind it.
; `mask`, #f if it is left out, is stretched to the scores, [..., rows of q, rows of k]: one of u8 is not 0 where a row of q sees that of k,
; one of a floating type is added to the scores. Two axes are [rows of q, rows of k], never [batch, rows of k].

; Each row of q, by how well it goes with the rows of k, a mean of the rows of v; axes in front are a batch.
(define (dot-product-attention q k v . l)
  (let* ((scale (/ 1 (sqrt (car (last-pair (size q))))))
         ((list causal mask) (%causal "dot-product-attention" l '(#f #f))))
    (if (if (tensor? mask) #f mask) (error "dot-product-attention: expected a mask, a tensor of u8 or of a floating type, got" mask))
    (if (if (tensor? mask) #f (if (%attends? q) (if (%attends? k) (%attends? v) #f) #f))
        (attend q k v scale causal)
        (let* ((scores (matmul (* q scale) (transpose k))) (scores (if causal (%without-later scores) scores)))
          (matmul (if (tensor? mask) (%masked-softmax scores mask) (softmax scores)) v)))))

; Optional arguments of which the first is `causal`.
(define (%causal name l all)
  (let ((given (%optional name l all)))
    (%boolean name "causal, whether no step sees those behind it" (car given))
    given))

; A row that sees nothing is a mean of nothing: zeros.
(define (%masked-softmax scores mask)
  (let* ((type (tensor-type mask))
         (checked (%check-mask (size mask) (size scores)))
         (seen
          (cond ((eq? type 'u8) (where mask scores -inf.0))
                ((memq type '(f32 f64 bf16)) (+ scores mask))
                (else (error "dot-product-attention: expected a mask of u8, as comparisons give, or of a floating type, got one of" type))))
         (some (max-over (not-equal seen -inf.0) -1 #t)))
    (where some (softmax (where some seen 0)) 0)))

; A mask of padding, [batch, rows of k], has no axis for rows of q, nor one for heads.
(define (%check-mask mask scores)
  (if (not (%stretches? (reverse mask) (reverse scores)))
      (error (format "dot-product-attention: a mask of sizes ~a cannot be stretched to those of the scores, ~a, [..., rows of q, rows of k]~a" mask scores
                     (if (if (= (length mask) 2) (equal? mask (list (car scores) (car (last-pair scores)))) #f)
                         (format "; one of [batch, rows of k] goes with them as ~a" (if (= (length scores) 3) "(unsqueeze mask 1)" "(unsqueeze (unsqueeze mask 1) 1)"))
                         "")))))
(define (%stretches? a b)
  (cond ((null? a) #t) ((null? b) #f) ((if (= (car a) 1) #t (= (car a) (car b))) (%stretches? (cdr a) (cdr b))) (else #f)))

; Whether the operator for it takes such an operand; it is on the processor alone.
(define (%attends? t) (if (%in-one-pass? t) (> (length (size t)) 1) #f))

; By operators that every device has.
(define (%without-later scores)
  (let* ((sizes (reverse (size scores)))
         (numbers (lambda (n) (list->tensor (iota n) 'f32 (tensor-residence scores)))))
    (where (< (unsqueeze (numbers (cadr sizes)) 1) (numbers (car sizes))) -inf.0 scores)))

; Attention of so many heads of a sequence to itself; its parameters make queries, keys and values of the input, and the value of what they give.
(define (new-attention width) (list (new-linear width (* 3 width)) (new-linear width width)))
(define (attention heads parameters x . l)
  (let* (((list in out) parameters)
         ((list causal mask) (%causal "attention" l '(#f #f)))
         (sizes (%sequence-sizes heads x))
         ((list q k v) (map (lambda (t) (%heads heads t)) (split (linear in x) -1 3))))
    (linear out (view (permute (dot-product-attention q k v causal mask) '(0 2 1 3)) sizes))))

; The same, causal, of steps that follow others, as a text is written: the cache is '() in front of the first step, then a list of the keys and
; values of all steps so far, [batch, heads, steps, width / heads]. The value is a list of what became of x and of the next cache.
(define (attention-step heads parameters x cache)
  (let* (((list in out) parameters)
         (sizes (%sequence-sizes heads x))
         ((list q k v) (map (lambda (t) (%heads heads t)) (split (linear in x) -1 3)))
         (before (if (null? cache) 0 (caddr (size (car cache)))))
         ((list k v) (if (null? cache) (list k v) (map (lambda (old new) (concat-tensors (list old new) 2)) cache (list k v))))
         (seen (cond ((= before 0) (dot-product-attention q k v #t))
                     ((= (cadr sizes) 1) (dot-product-attention q k v))
                     (else (dot-product-attention q k v #f (%seen-behind before (cadr sizes) (tensor-residence q)))))))
    (list (linear out (view (permute seen '(0 2 1 3)) sizes)) (list k v))))

; A row for each new step: not 0 at the steps that it sees.
(define (%seen-behind before steps residence)
  (let ((numbers (list->tensor (iota (+ before steps)) 'f32 residence)))
    (>= (unsqueeze (narrow-tensor numbers 0 before steps) 1) numbers)))

(define (%sequence-sizes heads x)
  (let ((sizes (size x)))
    (if (= (length sizes) 3)
        (if (if (> heads 0) (= (remainder (caddr sizes) heads) 0) #f)
            sizes
            (error "attention: expected a width that is a multiple of the number of heads, got width and heads" (caddr sizes) heads))
        (error "attention: expected a sequence [batch, steps, width], got sizes" sizes))))

; [batch, steps, width] as [batch, heads, steps, width / heads].
(define (%heads heads t)
  (let (((list batch steps width) (size t)))
    (permute (view t (list batch steps heads (quotient width heads))) '(0 2 1 3))))

; A block of a transformer: attention, then a layer of so many units (4 times the width) with GeLU, each added to its input. Either what
; they see is normalised, or, where `norms` is after, the sum.
(define (new-transformer width . units)
  (list (new-layer-norm width) (new-attention width) (new-layer-norm width)
        (let ((units (if (null? units) (* 4 width) (%only "new-transformer" units)))) (new-perceptron (list width units width)))))
(define (transformer heads parameters x . l)
  (let (((list causal mask norms) (%causal "transformer" l '(#f #f before))))
    (car (%transformer heads parameters norms x (lambda (p x) (list (attention heads p x causal mask) '()))))))
; A causal one of steps that follow others; the cache is that of attention-step, and the value a list of what became of x and of the next cache.
(define (transformer-step heads parameters x cache . norms)
  (%transformer heads parameters (if (null? norms) 'before (%only "transformer-step" norms)) x
                (lambda (p x) (attention-step heads p x cache))))

; `attend` gives a list of what became of its input and of something that goes along.
(define (%transformer heads parameters norms x attend)
  (let (((list norm1 attention norm2 units) parameters))
    (cond ((eq? norms 'before)
           (let* (((list y along) (attend attention (layer-norm norm1 x))) (x (+ x y)))
             (list (+ x (perceptron GeLU units (layer-norm norm2 x))) along)))
          ((eq? norms 'after)
           (let* (((list y along) (attend attention x)) (x (layer-norm norm1 (+ x y))))
             (list (layer-norm norm2 (+ x (perceptron GeLU units x))) along)))
          (else (error "transformer: expected before or after, a symbol that says where it normalises, got" norms)))))
