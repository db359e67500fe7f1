; Which nodes of a graph (tile-graphs.scm) are computed by tiles, and along which of their axes tiles lie. Axes of space are those of inputs behind the
; first two. Of most nodes they are at the same places; where axes are moved, merged or divided, each is followed to where it goes, so that what
; puts channels last, say, multiplies them, and puts them back is one segment with what is around it.

; A node with its axes, by axis of space that of the node, or #f where there is none, and whether it is near: made of near elements along these.
; `apart`: of those along its usual axes, where operands have them elsewhere; these are borders in front of it. `bins`: operands are borders in any case:
; a few bins of a large image, or points that stand for it, would be as few tiles for all that is in front of them.
(define (%with-axes node nodes leaves)
  (let* ((near? (%near? node nodes leaves))
         (as-usual? (%every? (lambda (m) (%as-usual? (vector-ref nodes m))) (%nodes-in (%node-operands node))))
         (followed (if (if (%input? node) #t (if near? as-usual? #f)) #f (%followed-axes node nodes leaves))))
    (%with-lines (vector-update (vector-update node 7 (if followed followed (%usual-axes (%node-sizes node))))
                                8 (cond (followed #t) ((if near? (%bins? node nodes) #f) 'bins) ((if near? as-usual? #f) #t) (near? 'apart) (else #f))))))
; Lines that are computed as a whole lie along other axes than those of space. A part of the channels would be of other groups, or of a part of one.
(define (%with-lines node)
  (vector-update node 9
                 (case (%node-operator node)
                   ((%normalized layer-normalization rms-normalization softmax log-softmax fused-scale-mask-softmax sort argsort top-k cumulative-sum)
                    (filter (lambda (axis) (not (memv axis (%node-axes node)))) (iota (length (%node-sizes node)))))
                   ((convolve transpose-convolve convolve-add-tied) (if (%in-groups? node) '(1) '()))
                   (else '()))))
(define (%in-groups? node)
  (not (= 1 (%operand (map cdr (%node-operands node)) (if (eq? (%node-operator node) 'convolve-add-tied) 6 5) 1))))
(define (%bins? node nodes)
  (case (%node-operator node)
    ((adaptive-max-pool adaptive-average-pool) #t)
    ((interpolate-nearest interpolate-linear)
     (%any? (lambda ((cons from to)) (if (< to 64) (< (* 4 to) from) #f))
            (map cons (%space (%node-sizes (vector-ref nodes (cdar (%node-operands node))))) (%space (%node-sizes node)))))
    (else #f)))
(define (%usual-axes sizes) (map (lambda (i) (+ i 2)) (iota (length (%space sizes)))))
(define (%as-usual? node) (equal? (%node-axes node) (%usual-axes (%node-sizes node))))
(define (%every? holds? l) (not (%any? (lambda (x) (not (holds? x))) l)))

; Sizes along the axes of space; #f, or 1, where there is none.
(define (%node-places node) (map (lambda (axis) (if axis (list-ref (%node-sizes node) axis) #f)) (%node-axes node)))
(define (%node-space node) (map (lambda (n) (if n n 1)) (%node-places node)))

; Where axes of space are in the result, by the regions of its elements: an axis goes where that axis of the result is which moves the region along it.
; #f: an element is made of several places, or of others in different operands; a half of the result along an axis is not made of a half; or there
; are no places to divide. Operands that are computed as a whole do not count
; beside others, as they are there in any case, nor do small ones.
(define (%followed-axes node nodes leaves)
  (let* ((sizes (%node-sizes node)) (rank (length sizes))
         (all (map (lambda (m) (vector-ref nodes m)) (%nodes-in (%node-operands node))))
         (from (%that-count all)))
    (if (if (%moves? node) (not (%any-empty? node nodes)) #f)
        (let* ((from-which (%of-regions node nodes leaves)) (zeros (map (lambda (n) 0) sizes)) (ones (map (lambda (n) 1) sizes)))
          (define (regions starts extents) (%node-regions node (%regions node from-which (cons starts extents))))
          (let* ((first (regions zeros ones))
                 (by-axis (map (lambda (axis n)
                                 (if (= n 1)
                                     #f
                                     (cons (regions (%with-item zeros axis (- n 1)) ones) (regions zeros (%with-item ones axis (quotient (+ n 1) 2))))))
                               (iota rank) sizes))
                 (found (map (lambda (i) (%followed-axis i from all first by-axis)) (iota (fold-left max 0 (map (lambda (n) (length (%node-axes (list-ref all n)))) from)))))
                 (there (filter (lambda (axis) axis) found)))
            (if (if (pair? there) (if (memq 'far found) #f (= (length there) (length (%distinct there)))) #f) found #f)))
        #f)))
; The numbers of these nodes among them.
(define (%that-count all)
  (let* ((numbers (iota (length all)))
         (near (filter (lambda (i) (let ((node (list-ref all i))) (if (%input? node) #t (%node-near? node)))) numbers))
         (some (if (null? near) numbers near))
         (elements (map (lambda (node) (apply * (%node-sizes node))) all))
         (most (fold-left (lambda (most i) (max most (list-ref elements i))) 0 some)))
    (filter (lambda (i) (<= most (* 2 (list-ref elements i)))) some)))
; Of the operands that are nodes.
(define (%node-regions node regions)
  (append-map (lambda (o region)
                (case (car o)
                  ((node) (list region))
                  ((list) (append-map (lambda (o region) (if (eq? (car o) 'node) (list region) '())) (cdr o) region))
                  (else '())))
              (%node-operands node) regions))

; An axis of the result, #f where no operand has this one, or `far`.
(define (%followed-axis i from all first by-axis)
  (fold-left (lambda (known n)
               (let* ((node (list-ref all n)) (axes (%node-axes node)) (axis (if (< i (length axes)) (list-ref axes i) #f))
                      (size (if axis (list-ref (%node-sizes node) axis) 1)))
                 (define (of regions part) (list-ref (part (list-ref regions n)) axis))
                 (define (there? regions) (if (list-ref regions n) #t #f))
                 (define (one? regions) (if (there? regions) (= 1 (of regions cadr)) #t))
                 (if (if (= size 1) #t (eq? known 'far))
                     known
                     (let* ((numbers (iota (length by-axis)))
                            (moving (filter (lambda (axis)
                                              (let ((regions (list-ref by-axis axis)))
                                                (if regions (if (there? first) (if (there? (car regions)) (not (= (of first car) (of (car regions) car))) #f) #f) #f)))
                                            numbers)))
                       (cond ((not (there? first)) known)
                             ((not (if (one? first) (%every? (lambda (regions) (if regions (one? (car regions)) #t)) by-axis) #f)) 'far)
                             ((null? moving) 'far)
                             ((if known (not (= known (car moving))) #f) 'far)
                             ((< (quotient (+ size 1) 2) (of (cdr (list-ref by-axis (car moving))) cadr)) 'far)
                             (else (car moving)))))))
             #f from))

; What is computed on regions of its operands as on the whole, or as %part does, wherever axes of space are. Vectors of batch normalisation are those of all channels.
(define (%moves? node)
  (let ((operator (%node-operator node)))
    (if (%pointwise? operator)
        (not (eq? operator '%normalized))
        (memq operator '(view permute transpose flip stack concat-tensors narrow-tensor crop chunk slice pad expand-tensor lower-triangle upper-triangle dropout dropout-planewise matmul
                         layer-normalization rms-normalization softmax log-softmax fused-scale-mask-softmax sum mean max-over min-over prod norm logsumexp
                         variance argmax argmin sort argsort top-k cumulative-sum gather)))))

; There is nothing to divide in what has no elements, and nothing to read of it.
(define (%any-empty? node nodes)
  (%any? (lambda (node) (= 0 (apply * (%node-sizes node)))) (cons node (map (lambda (n) (vector-ref nodes n)) (%nodes-in (%node-operands node))))))

; --- where all axes are at their usual places

(define (%near? node nodes leaves)
  (let ((operator (%node-operator node)) (space (%space (%node-sizes node))))
    (cond ((%input? node) #f)
          ((if (null? space) #t (< (apply * space) 2)) #f)
          ((%any-empty? node nodes) #f)
          ((memq operator '(convolve convolve-add-tied transpose-convolve max-pool average-pool adaptive-max-pool adaptive-average-pool concat-tensors
                            narrow-tensor crop chunk slice pad expand-tensor lower-triangle upper-triangle dropout dropout-planewise
                            interpolate-nearest interpolate-linear))
           #t)
          ((%pointwise? operator) #t)
          ((memq operator '(softmax log-softmax fused-scale-mask-softmax sum mean max-over min-over prod norm logsumexp variance argmax argmin
                            sort argsort top-k cumulative-sum gather batch-normalization-test))
           (%near-along-space? node nodes leaves))
          (else #f))))
(define (%pointwise? operator)
  (if (memq operator '(where tanh sigmoid ReLU GeLU GeLU-tanh SiLU softplus square sign erf sinh cosh asinh acosh atanh log1p expm1 LeakyReLU ELU
                       cast to-device contiguous stop-gradient floor ceiling truncate round not-equal quotient remainder modulo weighted-sum weighted-square-sum))
      #t
      (char=? (string-ref (symbol->string operator) 0) #\%)))

; An element needs one place of every operand along the axes behind the first two. The last one is asked, as it may be made of all before it.
(define (%near-along-space? node nodes leaves)
  (let* ((sizes (%node-sizes node))
         (one (append (list-head sizes 2) (map (lambda (n) 1) (cddr sizes))))
         (regions (operand-regions (%node-operator node) (map (lambda (o) (%described o nodes leaves)) (%node-operands node)) (%node-result node)
                                   (map - sizes one) one)))
    (not (memv #f (map (lambda (o region) (if (eq? (car o) 'node) (if region (= 1 (apply * (%space (cadr region)))) #t) #t))
                       (%node-operands node) regions)))))
