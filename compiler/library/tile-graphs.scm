; Graphs of what is tiled (tiles.scm), recorded on tensors of which sizes alone are known. Which of their operators can be computed by parts is in
; tile-axes.scm.

; --- recording. An array in a file stands for a tensor that is read tile by tile.

(define (%recorded type sizes residence operands) (vector '%recorded type sizes residence '%input operands 0 -1))

(define (%type-of t) (if (tensor? t) (tensor-type t) (%array-type t)))
(define (%sizes-of t) (if (tensor? t) (size t) (cadddr t)))
(define (%residence-of t) (if (tensor? t) (tensor-residence t) (%array-residence)))

; The tensors in pairs and vectors of x, the last first.
(define (%tensors-in who x l)
  (cond ((tensor? x) (cons x l))
        ((%file-array? x) (cons (%exact-array who x) l))
        ((pair? x) (%tensors-in who (cdr x) (%tensors-in who (car x) l)))
        ((vector? x) (fold-left (lambda (l x) (%tensors-in who x l)) l (vector->list x)))
        (else l)))

; x with others in the place of its tensors, which are given in their order; and those that are left.
(define (%with-tensors x l)
  (cond ((if (tensor? x) #t (%file-array? x)) l)
        ((pair? x)
         (let* ((a (%with-tensors (car x) l)) (d (%with-tensors (cdr x) (cdr a))))
           (cons (cons (car a) (car d)) (cdr d))))
        ((vector? x) (let ((l (%with-tensors (vector->list x) l))) (cons (list->vector (car l)) (cdr l))))
        (else (cons x l))))
(define (%recorded-inputs inputs) (map (lambda (t n) (%recorded (%type-of t) (%sizes-of t) (%residence-of t) n)) inputs (iota (length inputs))))

; --- the graph: #(nodes leaves template), nodes and leaves as vectors. A node is #(operator operands result type sizes residence place axes near lines);
; inputs come first and have the operator %input, and the result 1 where they are arrays in files; `axes`, `near` and `lines` are in tile-axes.scm. An operand is (node . n), (leaf . k), (number k . value), (list operand ...) or (is . constant); leaves are
; the tensors and numbers that f knew. The template is f's value with operands in the place of tensors.

(define (%node operator operands result type sizes residence place) (vector operator operands result type sizes residence place '() #f '()))
(define (%node-operator n) (vector-ref n 0))
(define (%node-operands n) (vector-ref n 1))
(define (%node-result n) (vector-ref n 2))
(define (%in-file? n) (if (eq? (%node-operator n) '%input) (= 1 (%node-result n)) #f))
(define (%node-type n) (vector-ref n 3))
(define (%node-sizes n) (vector-ref n 4))
(define (%node-residence n) (vector-ref n 5))
(define (%node-place n) (vector-ref n 6))
(define (%node-axes n) (vector-ref n 7))
(define (%node-near? n) (vector-ref n 8))
(define (%node-lines n) (vector-ref n 9))

; What has been seen: #(seen nodes leaves node-count leaf-count alike), vectors with room for more. `seen` has (operands result . operand) for each
; application of an operator, known by the list of its operands, which results share; `alike` has (operands . tensor) for what is made otherwise.
(define (%graph-of y inputs)
  (let* ((none (make-vector 16 #f))
         (seen (fold-left (lambda (seen t) (cdr (%new-node (%node '%input '() (if (tensor? t) 0 1) (%type-of t) (%sizes-of t) (%residence-of t) -1) seen))) (vector '() none none 0 0 '()) inputs))
         (y+seen (%visit-structure y seen))
         (seen (cdr y+seen)))
    (define (filled v n) (list->vector (list-head (vector->list v) n)))
    (vector (filled (vector-ref seen 1) (vector-ref seen 3)) (filled (vector-ref seen 2) (vector-ref seen 4)) (car y+seen))))

(define (%visit-structure v seen)
  (cond ((if (tensor? v) #t (number? v)) (%visit v seen))
        ((pair? v)
         (let* ((a (%visit-structure (car v) seen)) (d (%visit-structure (cdr v) (cdr a))))
           (cons (cons 'pair (cons (car a) (car d))) (cdr d))))
        ((capsule? v) (error "f gives a capsule, and what a run within f holds is recorded: resume it within f, or interrupt outside"))
        ((vector? v)
         (let ((l (%visit-structure (vector->list v) seen))) (cons (cons 'vector (car l)) (cdr l))))
        (else (cons (cons 'is v) seen))))

(define (%visit v seen)
  (cond ((%recorded? v) (%visit-recorded v seen))
        ((tensor? v) (%new-leaf v (lambda (k) (cons 'leaf k)) seen))
        ((number? v) (if (exact? v) (cons (cons 'is v) seen) (%new-leaf v (lambda (k) (cons 'number (cons k (stop-gradient v)))) seen)))
        ((if (vector? v) (if (< 0 (vector-length v)) (tensor? (vector-ref v 0)) #f) #f) (%visit (vector->list v) seen))
        ((if (pair? v) (tensor? (car v)) #f)
         (let ((l (%visit-all v seen))) (cons (cons 'list (car l)) (cdr l))))
        (else (cons (cons 'is v) seen))))

(define (%visit-all l seen)
  (if (null? l)
      (cons '() seen)
      (let* ((a (%visit (car l) seen)) (d (%visit-all (cdr l) (cdr a))))
        (cons (cons (car a) (car d)) (cdr d)))))

(define (%new-leaf v operand seen)
  (let ((k (vector-ref seen 4)))
    (cons (operand k) (vector-update (vector-update seen 2 (%with-next (vector-ref seen 2) k v)) 4 (+ k 1)))))

(define (%new-node node seen)
  (let* ((n (vector-ref seen 3)) (nodes (vector-ref seen 1)))
    (cons (cons 'node n) (vector-update (vector-update seen 1 (%with-next nodes n (%with-axes node nodes (vector-ref seen 2)))) 3 (+ n 1)))))
(define (%with-next v n x)
  (vector-update (if (< n (vector-length v)) v (list->vector (append (vector->list v) (vector->list v)))) n x))

(define (%visit-recorded v seen)
  (if (eq? (vector-ref v 4) '%input)
      (cons (cons 'node (vector-ref v 5)) seen)
      (let* ((operands (vector-ref v 5)) (result (vector-ref v 6)) (known (%known operands result (vector-ref seen 0))))
        (if known
            (cons known seen)
            (let* ((alike (%made-alike v seen))
                   (made (if (%same? (car alike) v)
                             (let ((l (%visit-all operands (cdr alike))))
                               (%visit-operator (%node (vector-ref v 4) (car l) result (vector-ref v 1) (vector-ref v 2) (vector-ref v 3) (vector-ref v 7)) (cdr l)))
                             (%visit (car alike) (cdr alike))))
                   (seen (cdr made)))
              (cons (car made) (vector-update seen 0 (cons (cons operands (cons result (car made))) (vector-ref seen 0)))))))))

(define (%known operands result l)
  (cond ((null? l) #f)
        ((if (eq? operands (caar l)) (= result (cadar l)) #f) (cddar l))
        (else (%known operands result (cdr l)))))

; Batch normalisation in training is a mean and a variance of everything, and of these a pointwise function.
(define (%visit-operator node seen)
  (if (if (eq? (%node-operator node) 'batch-normalization-training)
          (if (memq (%node-type node) '(f32 f64)) (eq? (caar (%node-operands node)) 'node) #f)
          #f)
      (%visit-normalization node seen)
      (%new-node node seen)))

(define (%visit-normalization node seen)
  (let* ((operands (%node-operands node)) (result (%node-result node)) (type (%node-type node))
         (part-of (lambda (operator operands sizes) (%node operator operands 0 type sizes (%node-residence node) (%node-place node))))
         (x (car operands))
         (sizes (%node-sizes (vector-ref (vector-ref seen 1) (cdr x))))
         (channels (cadr sizes))
         (axes (cons 0 (map (lambda (i) (+ i 2)) (iota (- (length sizes) 2)))))
         (kept (cons 1 (cons channels (map (lambda (n) 1) (cddr sizes)))))
         (reduced (lambda (operator seen)
                    (let* ((operands (list x (cons 'is axes) (cons 'is #t)))
                           (known (%known-node operator operands (vector-ref seen 1) (- (vector-ref seen 3) 1))))
                      (if known (cons known seen) (%new-node (part-of operator operands kept) seen)))))
         (m (reduced 'mean seen))
         (v (reduced 'variance (cdr m)))
         (vector-of (lambda (t seen) (%new-node (part-of 'view (list t (cons 'is (list channels))) (list channels)) seen))))
    (cond ((= result 1) (vector-of (car m) (cdr v)))
          ((= result 2) (vector-of (car v) (cdr v)))
          (else
           (%new-node (part-of '%normalized (list x (cadr operands) (caddr operands) (car m) (car v) (if (null? (cdddr operands)) (cons 'is 1e-5) (cadddr operands)))
                               sizes)
                      (cdr v))))))

; (tensor . seen): what has the same value by operators that tiles know; v itself where it is made by one.
(define (%made-alike v seen)
  (let* ((operator (vector-ref v 4)) (operands (vector-ref v 5)) (known (assv operands (vector-ref seen 5))))
    (cond ((eq? operator '%input) (cons v seen))
          (known (cons (cdr known) seen))
          (else
           (let* ((others (%made-of-others operator operands (vector-ref v 1) (vector-ref v 2)))
                  (others+seen (cond ((tensor? others) (cons others seen))
                                     ((eq? operator 'view) (%before-views (car operands) (vector-ref v 2) seen))
                                     (else (%made-along-space operator operands (vector-ref v 2) seen)))))
             (if (tensor? (car others+seen))
                 (let* ((alike (if (%recorded? (car others+seen)) (%made-alike (car others+seen) (cdr others+seen)) others+seen)) (seen (cdr alike)))
                   (cons (car alike) (vector-update seen 5 (cons (cons operands (car alike)) (vector-ref seen 5)))))
                 (cons v (cdr others+seen))))))))
; Recorded tensors have no elements to be compared by.
(define (%same? a b) (if (%recorded? a) (eq? (vector-ref a 5) (vector-ref b 5)) #f))
(define (%made-of-others operator operands type sizes)
  (cond ((%of-groups? operator type sizes) (%group-normalized operands))
        ((memq operator '(sum mean variance max-over min-over logsumexp)) (%reduced-alike operator operands))
        ((if (memq operator '(mean-squared-error binary-cross-entropy-with-logits adaptive-average-pool adaptive-max-pool)) (not (%in-full? operands)) #f) #f)
        ((eq? operator 'mean-squared-error) (mean (square (- (car operands) (cadr operands)))))
        ((eq? operator 'binary-cross-entropy-with-logits) (mean (- (softplus (car operands)) (* (cadr operands) (car operands)))))
        ((eq? operator 'adaptive-average-pool) (%pooled-to-one mean operands))
        ((eq? operator 'adaptive-max-pool) (%pooled-to-one max-over operands))
        ((eq? operator 'roll) (%rolled (car operands) (cadr operands) (caddr operands)))
        ((eq? operator 'tile) (%repeated (car operands) (cadr operands)))
        (else #f)))
; What had this shape before it was viewed under another one, or #f.
(define (%before-views x sizes seen)
  (if (%recorded? x)
      (let* ((alike (%made-alike x seen)) (x (car alike)) (t (if (%recorded? x) (if (eq? (vector-ref x 4) 'view) (car (vector-ref x 5)) #f) #f)))
        (cond ((not (if t (tensor? t) #f)) (cons #f (cdr alike)))
              ((equal? (size t) sizes) (cons t (cdr alike)))
              (else (%before-views t sizes (cdr alike)))))
      (cons #f seen)))

; Sums over all axes, over one, over axes that are counted from the end, and variances of another count, as those over a list of axes that tiles know.
(define (%reduced-alike operator operands)
  (let* ((x (car operands)) (rank (length (size x))) (given (%operand operands 1 #f)) (keep? (if (pair? (cdr operands)) (pair? (memv #t (cdr operands))) #f))
         (axes (if given (map (lambda (axis) (%axis (symbol->string operator) axis rank)) (%each-axis given '(0))) (iota rank)))
         (count (apply * (map (lambda (axis) (list-ref (size x) axis)) axes))) (less (%operand operands 3 0)))
    (define (reduced) (apply-operator operator (list x axes keep?)))
    (cond ((not (if (memq operator '(max-over min-over)) #t (memq (tensor-type x) '(f32 f64)))) #f)
          ((= less 0) (if (equal? axes given) #f (reduced)))
          ((< less count) (* (reduced) (/ count (- count less))))
          (else #f))))

; Along axes of space of what is computed by tiles: (tensor . seen), #f where there is nothing to do. Softmax is a pointwise function of two reductions,
; which go from part to part. What is reduced along an axis that a view merged is so along those that it was merged of.
(define (%made-along-space operator operands sizes seen)
  (let ((x (car operands)) (softmax? (memq operator '(softmax log-softmax))))
    (if (if (if softmax? #t (memq operator '(sum mean variance max-over min-over logsumexp))) (if (%recorded? x) (memq (tensor-type x) '(f32 f64)) #f) #f)
        (let* ((below (%below-views x (if softmax? (list (%axis "softmax" (%operand operands 1 -1) (length sizes))) (cadr operands)))) (t (car below)) (axes (cdr below))
               (visited (%visit t seen)) (node (vector-ref (vector-ref (cdr visited) 1) (cdar visited))))
          (cons (cond ((not (if (if (%node-near? node) #t (%in-file? node)) (%any? (lambda (axis) (memv axis axes)) (%node-axes node)) #f)) #f)
                      (softmax? (%as-shaped (%softmax-apart operator t axes) sizes))
                      ((%same? t x) #f)
                      (else (%as-shaped (apply-operator operator (list t axes (= (length sizes) (length (size t))))) sizes)))
                (cdr visited)))
        (cons #f seen))))
(define (%as-shaped t sizes) (if (equal? (size t) sizes) t (view t sizes)))
; The tensor under views, and its axes that these merged to the ones that are given.
(define (%below-views x axes)
  (if (if (eq? (vector-ref x 4) 'view) (%recorded? (car (vector-ref x 5))) #f)
      (let* ((t (car (vector-ref x 5))) (merged (if (memv 0 (size t)) #f (%merged-axes (size t) (size x) axes))))
        (if merged (%below-views t merged) (cons x axes)))
      (cons x axes)))
; #f: only a part of what was merged to an axis would be reduced.
(define (%merged-axes from to axes)
  (let %merged/loop ((from from) (to to) (i 0) (j 0) (found '()))
    (if (if (null? from) (null? to) #f)
        found
        (let* ((counts (%stretch from to)) (these (iota (car counts) i))
               (given (filter (lambda (axis) (memv axis axes)) (iota (cdr counts) j))))
          (if (if (null? given) #t (= (length given) (cdr counts)))
              (%merged/loop (list-tail from (car counts)) (list-tail to (cdr counts)) (+ i (car counts)) (+ j (cdr counts))
                            (append found (if (null? given) '() these)))
              #f)))))
(define (%softmax-apart operator x axes)
  (let ((kept (map (lambda (i n) (if (memv i axes) 1 n)) (iota (length (size x))) (size x))))
    (define (reduced name operands) (vector '%recorded (tensor-type x) kept (tensor-residence x) name (cons x (cons axes operands)) 0 -1))
    (let* ((most (reduced 'greatest '())) (total (reduced 'sum-of-exponentials (list most))) (distance (- x most)))
      (if (eq? operator 'softmax) (/ (exp distance) total) (- distance (log total))))))
(define (%pooled-to-one reduced operands)
  (let ((space (cddr (iota (length (size (car operands)))))))
    (if (%every? (lambda (n) (= n 1)) (%each-axis (cadr operands) space)) (reduced (car operands) space #t) #f)))
; Sums of integers and of bf16 are rounded otherwise, and squares of integers wrap.
(define (%in-full? operands) (%every? (lambda (x) (if (tensor? x) (memq (tensor-type x) '(f32 f64)) #t)) operands))

; Two parts that change places along each axis.
(define (%rolled x shifts axes)
  (fold-left (lambda (x by axis)
               (let* ((n (list-ref (size x) axis)) (k (if (= n 0) 0 (modulo by n))))
                 (if (= k 0) x (concat-tensors (list (narrow-tensor x axis (- n k) k) (narrow-tensor x axis 0 (- n k))) axis))))
             x (%each-axis shifts '(0)) (map (lambda (axis) (%axis "roll" axis (length (size x)))) (%each-axis axes '(0)))))
; Copies one behind the other along each axis, where they are not very many.
(define (%repeated x counts)
  (let ((counts (%each-axis counts '(0))))
    (if (%every? (lambda (n) (<= 1 n 64)) counts)
        (fold-left (lambda (x axis n) (if (= n 1) x (concat-tensors (map (lambda (i) x) (iota n)) axis))) x (iota (length counts)) counts)
        #f)))

; Normalisation of groups is pointwise but for means and variances over space of each channel, of which a group's are made: its variance is the mean
; of theirs and the variance of their means.
(define (%of-groups? operator type sizes)
  (if (eq? operator 'group-normalization) (if (memq type '(f32 f64)) (< 1 (apply * (%space sizes))) #f) #f))
(define (%group-normalized operands)
  (let* ((x (car operands)) (groups (list-ref operands 3)) (sizes (size x)) (channels (cadr sizes)) (ones (map (lambda (n) 1) (cddr sizes)))
         (by-group (list (* (car sizes) groups) (quotient channels groups)))
         (axes (map (lambda (i) (+ i 2)) (iota (length ones))))
         (means (view (mean x axes #t) by-group)) (variances (view (variance x axes #t) by-group)))
    (define (by-channel t) (reshape (expand-tensor t by-group) (append (list (car sizes) channels) ones)))
    (define (along t) (view t (append (list 1 channels) ones)))
    (+ (* (- x (by-channel (mean means '(1) #t)))
          (* (by-channel (/ 1 (sqrt (+ (mean variances '(1) #t) (variance means '(1) #t) (%operand operands 4 1e-5))))) (along (cadr operands))))
       (along (caddr operands)))))

; Among the nodes behind the operand, the last first.
(define (%known-node operator operands nodes n)
  (cond ((= n (cdar operands)) #f)
        ((if (eq? operator (%node-operator (vector-ref nodes n))) (equal? operands (%node-operands (vector-ref nodes n))) #f) (cons 'node n))
        (else (%known-node operator operands nodes (- n 1)))))

; The numbers of the nodes among operands.
(define (%nodes-in operands)
  (append-map (lambda (o) (cond ((eq? (car o) 'node) (list (cdr o))) ((eq? (car o) 'list) (%nodes-in (cdr o))) (else '()))) operands))

; The operand as operand-regions takes it.
(define (%described o nodes leaves)
  (case (car o)
    ((node) (%description (vector-ref nodes (cdr o))))
    ((leaf) (vector-ref leaves (cdr o)))
    ((number) (cddr o))
    ((list) (map (lambda (o) (%described o nodes leaves)) (cdr o)))
    (else (cdr o))))
(define (%description node) (%recorded (%node-type node) (%node-sizes node) (%node-residence node) 0))
