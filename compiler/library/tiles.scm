; Tiles: a procedure of large tensors computed part by part. f runs once on tensors of which sizes alone are known (vm/machine/recorded.h),
; which gives the graph of its operators. Stretches of that graph whose results are made of near parts of their operands are segments: such a
; stretch is computed for one tile of its results after the other, each from the regions of the operands that it needs. What a segment reads and
; what it gives are whole tensors, the borders; what lies between exists for one tile at a time, in the derivative too, which is that of a
; procedure with rules. docs/tiles.md says more.

(define (tiled f x . tiles)
  (let ((inputs (%tile-inputs "tiled" x)))
    (if (%recorded? (car inputs))
        (f x)
        (let ((counts (%tile-counts "tiled" tiles inputs)))
          (%run-graph (%graph-of (f (car (%with-recorded x 0))) inputs) counts inputs)))))

; What tiled would do, by segment: the names of its operators, how many tiles along each axis, bytes that one holds while it is differentiated, and
; its work as a multiple of what it would be without halos.
(define (tile-plan f x . tiles)
  (let* ((inputs (%tile-inputs "tile-plan" x))
         (counts (%tile-counts "tile-plan" tiles inputs))
         (graph (%graph-of (f (car (%with-recorded x 0))) inputs))
         (view (%view-of (vector-ref graph 0) (vector-ref graph 1) (%template-nodes (vector-ref graph 2)))))
    (append-map (lambda ((cons kind segment))
                  (if (eq? kind 'segment)
                      (let* ((members (map (lambda (member) (vector-ref member 0)) (vector-ref segment 1))) (tiles (vector-ref segment 0))
                             (trial (%trial-segment members tiles view))
                             (all (map (lambda (tile) (%tile-takes trial tile view)) (iota (apply * tiles)))))
                        (list (list (map (lambda (n) (%node-operator (vector-ref (vector-ref graph 0) n))) members) tiles
                                    (fold-left (lambda (most tile) (max most (cadr tile))) 0 all)
                                    (exact->inexact (/ (apply + (map car all)) (car (%trial members (map (lambda (n) 1) tiles) view)))))))
                      '()))
                (%steps (vector-ref graph 0) (vector-ref graph 1) (%template-nodes (vector-ref graph 2)) counts inputs))))

(define (%tile-inputs who x)
  (let ((inputs (reverse (%tensors-in x '()))))
    (if (null? inputs) (error (string-append who ": there is no tensor in") x) inputs)))

; How many tiles along each axis behind the first two, of at most as many elements as the largest tensor has there.
; #f: as many as memory asks for.
(define (%tile-counts who tiles inputs)
  (if (null? tiles) #f (%checked-tiles who (%only who tiles) (map %sizes-of inputs))))
(define (%checked-tiles who tiles sizes)
  (let* ((space (%largest-space sizes)) (counts (if (number? tiles) (map (lambda (n) tiles) space) tiles)))
    (cond ((null? space) (error (string-append who ": tiles lie along the axes behind the first two, and no tensor has more than two; sizes are") sizes))
          ((not (if (list? counts) (= (length counts) (length space)) #f))
           (error (format "~a: expected a number of tiles, or a list of ~a, one for each axis behind the first two, got" who (length space)) tiles))
          (else
           (for-each (lambda (n most)
                       (if (not (if (integer? n) (<= 1 n most) #f))
                           (error (format "~a: along an axis of ~a elements there are 1 to ~a tiles, not" who most most) n)))
                     counts space)
           (map inexact->exact counts)))))
(define (%largest-space sizes)
  (let ((spaces (map %space sizes)))
    (map (lambda (i) (fold-left (lambda (most space) (if (< i (length space)) (max most (list-ref space i)) most)) 0 spaces))
         (iota (fold-left (lambda (most space) (max most (length space))) 0 spaces)))))
(define (%space sizes) (if (< (length sizes) 3) '() (cddr sizes)))

; --- recording. An array in a file stands for a tensor that is read tile by tile.

(define (%recorded? v)
  (if (vector? v) (if (= (vector-length v) 7) (eq? (vector-ref v 0) '%recorded) #f) #f))
(define (%recorded type sizes residence operands) (vector '%recorded type sizes residence '%input operands 0))

(define (%tile-array? x) (if (list? x) (if (<= 4 (length x) 5) (if (string? (car x)) (if (symbol? (cadr x)) (list? (cadddr x)) #f) #f) #f) #f))
; In a derivative its numbers may have become flonums.
(define (%exact-array x) (cons* (car x) (cadr x) (inexact->exact (caddr x)) (map inexact->exact (cadddr x)) (map inexact->exact (cddddr x))))
(define (%array-type name)
  (let* ((text (symbol->string name)) (n (string-length text))
         (here (if (if (< 3 n) (string=? "-be" (substring text (- n 3) n)) #f) (substring text 0 (- n 3)) text)))
    (cond ((string=? here "u16") 'i32) ((string=? here "u32") 'i64) ((string=? here "f16") 'f32) (else (string->symbol here)))))
(define (%type-of t) (if (tensor? t) (tensor-type t) (%array-type (cadr t))))
(define (%sizes-of t) (if (tensor? t) (size t) (cadddr t)))
(define (%residence-of t) (tensor-residence (if (tensor? t) t (fill '() 0))))

; The tensors in pairs and vectors of x, the last first.
(define (%tensors-in x l)
  (cond ((tensor? x) (cons x l))
        ((%tile-array? x) (cons (%exact-array x) l))
        ((pair? x) (%tensors-in (cdr x) (%tensors-in (car x) l)))
        ((vector? x) (fold-left (lambda (l x) (%tensors-in x l)) l (vector->list x)))
        (else l)))

; x with recorded tensors in the place of its tensors, numbered in their order from n on; and the next number.
(define (%with-recorded x n)
  (cond ((if (tensor? x) #t (%tile-array? x))
         (let ((t (if (tensor? x) x (%exact-array x)))) (cons (%recorded (%type-of t) (%sizes-of t) (%residence-of t) n) (+ n 1))))
        ((pair? x)
         (let* ((a (%with-recorded (car x) n)) (d (%with-recorded (cdr x) (cdr a))))
           (cons (cons (car a) (car d)) (cdr d))))
        ((vector? x) (let ((l (%with-recorded (vector->list x) n))) (cons (list->vector (car l)) (cdr l))))
        (else (cons x n))))

; A box of an array, as tensors of the last two axes that are read one after the other.
(define (%read-box array box)
  (let* ((sizes (cadddr array)) (rank (length sizes)) (starts (car box)) (extents (cdr box))
         (width (list-ref sizes (- rank 1)))
         (strides (%strides sizes (if (null? (cddddr array)) #f (car (cddddr array)))))
         (rows (list-ref extents (- rank 2))) (columns (list-ref extents (- rank 1)))
         (bytes (%bytes-of-name (cadr array))))
    (define (blocks axis at)
      (if (= axis (- rank 2))
          (list (read-rows (list (car array) (cadr array) (+ (caddr array) (* bytes (+ at (* (list-ref starts axis) (list-ref strides axis)) (list-ref starts (+ axis 1)))))
                                 (list rows columns) (list-ref strides axis))
                           0 rows))
          (append-map (lambda (i) (blocks (+ axis 1) (+ at (* (+ i (list-ref starts axis)) (list-ref strides axis))))) (iota (list-ref extents axis)))))
    (to-device (view (stack (blocks 0 0) 0) extents) (%residence-of array))))
(define (%strides sizes first)
  (if (null? (cdr sizes)) '(1) (let ((rest (%strides (cdr sizes) #f))) (cons (if first first (* (cadr sizes) (car rest))) rest))))
(define (%bytes-of-name name)
  (let ((text (symbol->string name)))
    (cond ((char=? #\8 (string-ref text 1)) 1)
          ((string=? "16" (substring text 1 3)) 2)
          ((string=? "32" (substring text 1 3)) 4)
          ((string=? "64" (substring text 1 3)) 8)
          (else 2))))

; --- the graph: #(nodes leaves template), nodes and leaves as vectors. A node is #(operator operands result type sizes residence); inputs come
; first and have the operator %input. An operand is (node . n), (leaf . k), (number k . value), (list operand ...) or (is . constant); leaves are
; the tensors and numbers that f knew. The template is f's value with operands in the place of tensors.

(define (%node operator operands result type sizes residence) (vector operator operands result type sizes residence))
(define (%node-operator n) (vector-ref n 0))
(define (%node-operands n) (vector-ref n 1))
(define (%node-result n) (vector-ref n 2))
(define (%node-type n) (vector-ref n 3))
(define (%node-sizes n) (vector-ref n 4))
(define (%node-residence n) (vector-ref n 5))

; What has been seen: #(seen nodes leaves node-count leaf-count), lists with the last first. `seen` has (operands result . operand) for each
; application of an operator, known by the list of its operands, which results share.
(define (%graph-of y inputs)
  (let* ((nodes (map (lambda (t) (%node '%input '() 0 (%type-of t) (%sizes-of t) (%residence-of t))) inputs))
         (seen (vector '() (reverse nodes) '() (length nodes) 0))
         (y+seen (%visit-structure y seen))
         (seen (cdr y+seen)))
    (vector (list->vector (reverse (vector-ref seen 1))) (list->vector (reverse (vector-ref seen 2))) (car y+seen))))

(define (%visit-structure v seen)
  (cond ((if (tensor? v) #t (number? v)) (%visit v seen))
        ((pair? v)
         (let* ((a (%visit-structure (car v) seen)) (d (%visit-structure (cdr v) (cdr a))))
           (cons (cons 'pair (cons (car a) (car d))) (cdr d))))
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
    (cons (operand k) (vector-update (vector-update seen 2 (cons v (vector-ref seen 2))) 4 (+ k 1)))))

(define (%new-node node seen)
  (let ((n (vector-ref seen 3)))
    (cons (cons 'node n) (vector-update (vector-update seen 1 (cons node (vector-ref seen 1))) 3 (+ n 1)))))

(define (%visit-recorded v seen)
  (let ((operator (vector-ref v 4)) (operands (vector-ref v 5)) (result (vector-ref v 6)))
    (if (eq? operator '%input)
        (cons (cons 'node operands) seen)
        (let ((known (%known operands result (vector-ref seen 0))))
          (if known
              (cons known seen)
              (let* ((l (%visit-all operands seen))
                     (made (%visit-operator operator (car l) result (vector-ref v 1) (vector-ref v 2) (vector-ref v 3) (cdr l)))
                     (seen (cdr made)))
                (cons (car made) (vector-update seen 0 (cons (cons operands (cons result (car made))) (vector-ref seen 0))))))))))

(define (%known operands result l)
  (cond ((null? l) #f)
        ((if (eq? operands (caar l)) (= result (cadar l)) #f) (cddar l))
        (else (%known operands result (cdr l)))))

; Batch normalisation in training is a mean and a variance of everything, and of these a pointwise function.
(define (%visit-operator operator operands result type sizes residence seen)
  (if (if (eq? operator 'batch-normalization-training) (if (memq type '(f32 f64)) (eq? (caar operands) 'node) #f) #f)
      (%visit-normalization operands result type residence seen)
      (%new-node (%node operator operands result type sizes residence) seen)))

(define (%visit-normalization operands result type residence seen)
  (let* ((x (car operands))
         (sizes (%node-sizes (list-ref (reverse (vector-ref seen 1)) (cdr x))))
         (channels (cadr sizes))
         (axes (cons 0 (map (lambda (i) (+ i 2)) (iota (- (length sizes) 2)))))
         (kept (cons 1 (cons channels (map (lambda (n) 1) (cddr sizes)))))
         (reduced (lambda (operator seen)
                    (let* ((operands (list x (cons 'is axes) (cons 'is #t)))
                           (known (%known-node operator operands (vector-ref seen 1) (- (vector-ref seen 3) 1))))
                      (if known (cons known seen) (%new-node (%node operator operands 0 type kept residence) seen)))))
         (m (reduced 'mean seen))
         (v (reduced 'variance (cdr m)))
         (vector-of (lambda (t seen) (%new-node (%node 'view (list t (cons 'is (list channels))) 0 type (list channels) residence) seen))))
    (cond ((= result 1) (vector-of (car m) (cdr v)))
          ((= result 2) (vector-of (car v) (cdr v)))
          (else
           (%new-node (%node '%normalized (list x (cadr operands) (caddr operands) (car m) (car v) (if (null? (cdddr operands)) (cons 'is 1e-5) (cadddr operands)))
                             0 type sizes residence)
                      (cdr v))))))

(define (%known-node operator operands l n)
  (cond ((null? l) #f)
        ((if (eq? operator (%node-operator (car l))) (equal? operands (%node-operands (car l))) #f) (cons 'node n))
        (else (%known-node operator operands (cdr l) (- n 1)))))

; The numbers of the nodes among operands.
(define (%nodes-in operands)
  (append-map (lambda (o) (cond ((eq? (car o) 'node) (list (cdr o))) ((eq? (car o) 'list) (%nodes-in (cdr o))) (else '()))) operands))

; --- which nodes are computed by tiles: those whose elements are made of near ones, along the axes behind the first two

(define (%near? node nodes leaves)
  (let ((operator (%node-operator node)) (operands (%node-operands node)) (space (%space (%node-sizes node))))
    (cond ((%input? node) #f)
          ((if (null? space) #t (< (apply * space) 2)) #f)
          ((memq operator '(convolve convolve-add-tied transpose-convolve max-pool average-pool concat-tensors
                            narrow-tensor crop chunk slice pad expand-tensor))
           #t)
          ((memq operator '(interpolate-nearest interpolate-linear)) (%whole-factors? node nodes))
          ((%pointwise? operator) #t)
          ((memq operator '(softmax log-softmax fused-scale-mask-softmax sum mean max-over min-over prod norm logsumexp variance argmax argmin
                            sort argsort batch-normalization-test))
           (%near-along-space? node nodes leaves))
          (else #f))))
(define (%pointwise? operator)
  (if (memq operator '(where tanh sigmoid ReLU GeLU GeLU-tanh SiLU softplus square sign erf sinh cosh asinh acosh atanh log1p expm1 LeakyReLU ELU
                       cast to-device contiguous floor ceiling truncate round not-equal quotient remainder modulo weighted-sum weighted-square-sum))
      #t
      (char=? (string-ref (symbol->string operator) 0) #\%)))

; An element needs one place of every operand along the axes behind the first two.
(define (%near-along-space? node nodes leaves)
  (let* ((sizes (%node-sizes node))
         (one (append (list-head sizes 2) (map (lambda (n) 1) (cddr sizes))))
         (regions (operand-regions (%node-operator node) (map (lambda (o) (%described o nodes leaves)) (%node-operands node)) (%node-result node)
                                   (map (lambda (n) 0) sizes) one)))
    (not (memv #f (map (lambda (o region) (if (eq? (car o) 'node) (if region (= 1 (apply * (%space (cadr region)))) #t) #t))
                       (%node-operands node) regions)))))

; Sizes that are multiplied or divided by whole numbers; and then corners do not stay corners.
(define (%whole-factors? node nodes)
  (let ((operands (%node-operands node)))
    (if (eq? (caar operands) 'node)
        (if (equal? (%operand (map cdr operands) 2 #f) #f)
            (not (memv #f (map (lambda (from to)
                                 (if (= 0 (remainder to from)) #t (if (eq? (%node-operator node) 'interpolate-nearest) (= 0 (remainder from to)) #f)))
                               (%space (%node-sizes (vector-ref nodes (cdar operands)))) (%space (%node-sizes node)))))
            #f)
        #f)))

; The operand as operand-regions takes it.
(define (%described o nodes leaves)
  (case (car o)
    ((node) (%description (vector-ref nodes (cdr o))))
    ((leaf) (vector-ref leaves (cdr o)))
    ((number) (cddr o))
    ((list) (map (lambda (o) (%described o nodes leaves)) (cdr o)))
    (else (cdr o))))
(define (%description node) (%recorded (%node-type node) (%node-sizes node) (%node-residence node) 0))

; --- stages: the segment of stage 0, then the whole operators that need no more, then the segment of stage 1, and so on. A value that is used
; in another stage, or by a whole operator, or is wanted of f, is a border.

(define (%run-graph graph counts inputs)
  (let* ((nodes (vector-ref graph 0))
         (leaves (vector-ref graph 1))
         (template (vector-ref graph 2))
         (steps (%steps nodes leaves (%template-nodes template) counts inputs))
         (values (list->vector (append inputs (map (lambda (i) #f) (iota (- (vector-length nodes) (length inputs))))))))
    (%filled template (%run-steps steps values nodes leaves (%template-nodes template)) leaves)))

; Counts of tiles, or #f: as many as the memory budget asks for.
(define (%steps nodes leaves wanted counts inputs)
  (let* ((near (vector-map (lambda (node) (%near? node nodes leaves)) nodes))
         (stages (%stages nodes near))
         (all (iota (vector-length nodes)))
         (stages-of (lambda (keep?) (map (lambda (stage) (filter (lambda (n) (if (keep? n) (= stage (vector-ref stages n)) #f)) all))
                                         (iota (+ 1 (fold-left max 0 (vector->list stages)))))))
         (near-nodes (stages-of (lambda (n) (vector-ref near n))))
         (whole-nodes (stages-of (lambda (n) (%whole? n nodes near))))
         (view (%view-of nodes leaves wanted)))
    (apply append
           (map (lambda (groups whole)
                  (append (map (lambda (group) (cons 'segment (%segment-of (car group) (cdr group) view))) groups)
                          (map (lambda (n) (cons 'whole n)) whole)))
                (map (lambda (groups) (map (lambda ((cons* members work tiles)) (cons members tiles)) groups))
                     (if counts (%grouped-by-tiles near-nodes counts view) (%grouped-by-budget near-nodes leaves inputs view)))
                whole-nodes))))

; Nodes, by node those that use it, and its operands as operand-regions takes them.
(define (%view-of nodes leaves wanted)
  (vector nodes (%users nodes wanted)
          (vector-map (lambda (node) (map (lambda (o) (%described o nodes leaves)) (%node-operands node))) nodes)))

(define (%grouped-by-tiles stages counts view)
  (let ((limit (fold-left max 0 (map (lambda (members) (if (null? members) 0 (cdr (%trial members counts view)))) stages))))
    (%grouped stages counts limit limit view)))

; Of a budget what is left by inputs and borders with their cotangents, and by parameters with their gradients and those of one tile, is divided
; between a tile and more borders, in the one of some ways that makes least work. Without a budget a tile may hold 64 MiB.
(define (%grouped-by-budget stages leaves inputs view)
  (let* ((budget (memory-budget)) (nodes (vector-ref view 0)) (most (%largest-space (map %node-sizes (vector->list nodes)))))
    (define (bytes-of type sizes) (* (%bytes-of type) (apply * sizes)))
    (define (bytes-of-tensor t) (if (tensor? t) (bytes-of (tensor-type t) (size t)) 0))
    (define (bytes-of-node n) (let ((node (vector-ref nodes n))) (bytes-of (%node-type node) (%node-sizes node))))
    (define (divided rest part) (let ((limit (max 1048576 (quotient (* part rest) 4)))) (%grouped stages most limit (max 0 (- rest limit)) view)))
    (define (work-of grouped) (apply + (map (lambda (groups) (apply + (map cadr groups))) grouped)))
    (if budget
        (let ((rest (- (quotient (* 9 budget) 10) (* 3 (apply + (map bytes-of-tensor (vector->list leaves)))) (* 2 (apply + (map bytes-of-tensor inputs)))
                       (* 2 (apply + (map bytes-of-node (append-map (lambda (members) (%outputs members view)) stages)))))))
          (fold-left (lambda (best part) (let ((new (divided rest part))) (if (< (work-of new) (work-of best)) new best))) (divided rest 2) '(1 3)))
        (%grouped stages most 67108864 67108864 view))))

(define (%stages nodes near)
  (let %stages/loop ((n 0) (stages (make-vector (vector-length nodes) 0)))
    (if (= n (vector-length nodes))
        stages
        (%stages/loop (+ n 1)
                      (vector-update stages n
                                     (fold-left (lambda (stage m)
                                                  (max stage
                                                       (+ (vector-ref stages m)
                                                          (if (if (vector-ref near n) (%whole? m nodes near) #f) 1 0))))
                                                0 (%nodes-in (%node-operands (vector-ref nodes n)))))))))
(define (%input? node) (eq? (%node-operator node) '%input))
(define (%whole? n nodes near) (if (vector-ref near n) #f (not (%input? (vector-ref nodes n)))))

; By node those that use it; -1 is whoever called f.
(define (%users nodes wanted)
  (let ((used (lambda (by) (lambda (users n) (vector-update users n (cons by (vector-ref users n)))))))
    (let %users/loop ((n 0) (users (fold-left (used -1) (make-vector (vector-length nodes) '()) wanted)))
      (if (= n (vector-length nodes))
          users
          (%users/loop (+ n 1) (fold-left (used n) users (%nodes-in (%node-operands (vector-ref nodes n)))))))))

; What others than the members use of them.
(define (%outputs members view)
  (let ((inside (%marked members (make-vector (vector-length (vector-ref view 0)) #f))) (users (vector-ref view 1)))
    (filter (lambda (n) (%any? (lambda (by) (if (< by 0) #t (not (vector-ref inside by)))) (vector-ref users n))) members)))
(define (%marked numbers marks) (fold-left (lambda (marks n) (vector-update marks n #t)) marks numbers))
(define (%any? holds? l) (if (null? l) #f (if (holds? (car l)) #t (%any? holds? (cdr l)))))

; A segment: #(tiles members inputs outputs leaves nodes): members are #(number node dead), dead are the numbers that no later member needs;
; inputs and outputs are numbers, leaves the numbers of those that members use, in their order; nodes has (number . node) of inputs and members.
(define (%segment-of members tiles view)
  (let* ((nodes (vector-ref view 0))
         (outputs (%outputs members view))
         (none (make-vector (vector-length nodes) #f))
         (used (%marked (append-map (lambda (n) (%nodes-in (%node-operands (vector-ref nodes n)))) members) none))
         (inside (%marked members none))
         (inputs (filter (lambda (n) (if (vector-ref used n) (not (vector-ref inside n)) #f)) (iota (vector-length nodes)))))
    (vector tiles (%with-dead (reverse members) nodes (%marked outputs none) '()) inputs outputs
            (append-map (lambda (n) (%leaves-in (%node-operands (vector-ref nodes n)))) members)
            (map (lambda (n) (cons n (vector-ref nodes n))) (append inputs members)))))

(define (%with-dead members nodes kept l)
  (if (null? members)
      l
      (let* ((node (vector-ref nodes (car members)))
             (dead (filter (lambda (m) (not (vector-ref kept m))) (%distinct (%nodes-in (%node-operands node))))))
        (%with-dead (cdr members) nodes (%marked dead kept) (cons (vector (car members) node dead) l)))))
(define (%distinct l) (if (null? l) '() (if (memv (car l) (cdr l)) (%distinct (cdr l)) (cons (car l) (%distinct (cdr l))))))

(define (%leaves-in operands)
  (append-map (lambda (o) (case (car o) ((leaf) (list (cdr o))) ((number) (list (cadr o))) ((list) (%leaves-in (cdr o))) (else '()))) operands))

; --- cuts: halos grow with the length of a segment, and so does what a tile holds while it is differentiated; a cut costs a border and its
; cotangent. A stage is cut where that spares most work, as long as all these borders together hold no more than one tile of the longest segments
; does. Every segment has as few tiles as its tiles are no heavier with.

; By stage a list of (members work . tiles), of tiles no heavier than the limit, as far as there may be so many.
(define (%grouped stages tiles limit room view)
  (let %grouped/loop ((stages stages) (room room) (groups '()))
    (cond ((null? stages) (reverse groups))
          ((null? (car stages)) (%grouped/loop (cdr stages) room (cons '() groups)))
          (else
           (let ((cut+room (%tile-cut (list (cons (car stages) (%fitted (car stages) tiles limit view))) room tiles limit view)))
             (%grouped/loop (cdr stages) (cdr cut+room) (cons (car cut+room) groups)))))))

; (work . bytes) that tiles of these members take, by one in the middle: work times as many as its outputs are of all.
(define (%trial members tiles view)
  (let* ((segment+prepared (%trial-segment members tiles view))
         (found (%tile-takes segment+prepared (%middle-tile tiles (%space (%node-sizes (vector-ref (vector-ref view 0) (car (vector-ref (car segment+prepared) 3)))))) view))
         (all (apply + (map (lambda (n) (apply * (%node-sizes (vector-ref (vector-ref view 0) n)))) (vector-ref (car segment+prepared) 3)))))
    (cons (* (car found) (/ all (max 1 (caddr found)))) (cadr found))))
(define (%trial-segment members tiles view)
  (let ((nodes (vector-ref view 0)))
    (cons (vector tiles '() '() (%outputs members view) '() (map (lambda (n) (cons n (vector-ref nodes n))) members))
          (fold-left (lambda (l n) (cons (cons (vector n (vector-ref nodes n) '()) (vector-ref (vector-ref view 2) n)) l)) '() members))))

; Of one tile: work, bytes that it holds while it is differentiated, and elements of its outputs.
(define (%tile-takes segment+prepared tile view)
  (let* ((work (%tile-work (car segment+prepared) (cdr segment+prepared) tile))
         (elements (map (lambda ((cons member (cons box regions))) (apply * (cdr box))) (car work)))
         (nodes (map (lambda (w) (vector-ref (car w) 1)) (car work)))
         (bytes (map (lambda (node n) (* n (%bytes-of (%node-type node)))) nodes elements)))
    (list (apply + (map (lambda (w node n) (* n (%work-of-element node (vector-ref (vector-ref view 2) (vector-ref (car w) 0))))) (car work) nodes elements))
          (+ (apply + bytes) (* 2 (fold-left max 0 bytes)))
          (apply + (map (lambda (box) (if box (apply * (cdr box)) 0)) (caddr work))))))
; Near the middle, but where a tile of the first output is as long as any.
(define (%middle-tile tiles space)
  (cond ((null? tiles) 0)
        ((null? space) (* (car tiles) (%middle-tile (cdr tiles) '())))
        (else (+ (%longest (quotient (car tiles) 2) (car tiles) (car space)) (* (car tiles) (%middle-tile (cdr tiles) (cdr space)))))))
(define (%longest i count n)
  (if (>= (- (quotient (* (+ i 1) n) count) (quotient (* i n) count)) (quotient (+ n count -1) count)) i (%longest (remainder (+ i 1) count) count n)))
(define (%bytes-of type) (case type ((f64 i64) 8) ((f32 i32) 4) ((bf16 i16) 2) (else 1)))
; Of what is no product most of the time goes into memory.
(define (%work-of-element node described)
  (if (memq (%node-operator node) '(convolve convolve-add-tied transpose-convolve))
      (/ (* 2 (apply * (size (cadr described)))) (cadr (%node-sizes node)))
      16))

; (work . tiles) for as few tiles as are no heavier than the limit.
(define (%fitted members tiles limit view)
  (let %fitted/loop ((counts (%fewer (%at-most tiles members view) '())))
    (let ((found (%trial members (car counts) view)))
      (if (if (null? (cdr counts)) #t (<= (cdr found) limit)) (cons (car found) (car counts)) (%fitted/loop (cdr counts))))))
(define (%fewer tiles l)
  (if (= 1 (apply * tiles)) (cons tiles l) (%fewer (map (lambda (n) (quotient (+ n n 1) 3)) tiles) (cons tiles l))))
; No more tiles than the largest output has elements along an axis.
(define (%at-most tiles members view)
  (let ((spaces (map (lambda (n) (%space (%node-sizes (vector-ref (vector-ref view 0) n)))) (%outputs members view))))
    (map (lambda (n i) (min n (fold-left (lambda (most space) (max most (if (< i (length space)) (list-ref space i) 1))) 1 spaces))) tiles (iota (length tiles)))))

; Groups (members work . tiles) cut further, and what is left of the room for borders.
(define (%tile-cut groups room tiles limit view)
  (let %cut/loop ((groups groups) (room room) (done '()))
    (if (null? groups)
        (cons (reverse done) room)
        (let ((cut (%best-cut (car groups) room tiles limit view)))
          (if cut
              (%cut/loop (append (cdr cut) (cdr groups)) (- room (car cut)) done)
              (%cut/loop (cdr groups) room (cons (car groups) done)))))))

; (bytes first second), or #f where no cut is worth a border: a twentieth of the work of the group.
(define (%best-cut group room tiles limit view)
  (let %best-cut/loop ((left (%cuts (car group) room view)) (best #f) (work (* .95 (cadr group))))
    (if (null? left)
        best
        (let* ((bytes (caar left)) (halves (cdar left))
               (first (%fitted (car halves) tiles limit view)) (second (%fitted (cdr halves) tiles limit view))
               (sum (+ (car first) (car second) (* 4 bytes))))
          (if (< sum work)
              (%best-cut/loop (cdr left) (list bytes (cons (car halves) first) (cons (cdr halves) second)) sum)
              (%best-cut/loop (cdr left) best work))))))
; Cuts with light borders, which are what lives on behind them, with its cotangent: where a border is lighter than one before, and at each quarter.
; (bytes members . members) What others use is a
; border in any case.
(define (%cuts members room view)
  (let* ((nodes (vector-ref view 0)) (users (vector-ref view 1))
         (borders (%marked (%outputs members view) (make-vector (vector-length nodes) #f))))
    (define (last-use n) (fold-left max n (vector-ref users n)))
    (define (bytes-of n) (let ((node (vector-ref nodes n))) (* 2 (%bytes-of (%node-type node)) (apply * (%node-sizes node)))))
    (define quarters (map (lambda (i) (quotient (* i (length members)) 4)) '(1 2 3)))
    (let %cuts/loop ((first '()) (rest members) (alive '()) (before 0) (cuts '()))
      (if (null? (cdr rest))
          (let ((in-order (sort-list (lambda (a b) (< (car a) (car b))) cuts))) (list-head in-order (min 8 (length in-order))))
          (let* ((n (car rest))
                 (alive (filter (lambda ((cons last bytes)) (> last n)) (if (vector-ref borders n) alive (cons (cons (last-use n) (bytes-of n)) alive))))
                 (bytes (apply + (map cdr alive)))
                 (first (cons n first)))
            (%cuts/loop first (cdr rest) alive bytes
                        (if (if (<= bytes room) (if (< bytes before) #t (memv (length first) quarters)) #f)
                            (cons (cons bytes (cons (reverse first) (cdr rest))) cuts)
                            cuts)))))))

; --- running: values by number, #f where there are none yet or no longer

(define (%run-steps steps values nodes leaves wanted)
  (fold-left (lambda (values (cons step dead))
               (let ((values (if (eq? (car step) 'whole)
                                 (vector-update values (cdr step) (%whole-value (vector-ref nodes (cdr step)) values leaves))
                                 (%with-values (vector-ref (cdr step) 3) (%run-segment (cdr step) values leaves) values))))
                 (fold-left (lambda (values n) (vector-update values n #f)) values dead)))
             values (%with-dropped (reverse steps) nodes (%marked wanted (make-vector (vector-length nodes) #f)) '())))

; (step . numbers that no later step reads), of steps from the last one.
(define (%with-dropped steps nodes kept l)
  (if (null? steps)
      l
      (let* ((read (if (eq? (caar steps) 'whole) (%nodes-in (%node-operands (vector-ref nodes (cdar steps)))) (vector-ref (cdar steps) 2)))
             (dead (filter (lambda (n) (not (vector-ref kept n))) (%distinct read))))
        (%with-dropped (cdr steps) nodes (%marked dead kept) (cons (cons (car steps) dead) l)))))
(define (%with-values numbers new values)
  (if (null? numbers) values (%with-values (cdr numbers) (cdr new) (vector-update values (car numbers) (car new)))))

(define (%whole-value node values leaves)
  (let* ((operands (map (lambda (o) (%operand-value o values leaves)) (%node-operands node)))
         (operator (%node-operator node)))
    (if (eq? operator '%normalized) (%normalized operands) (%result (apply-operator operator operands) (%node-result node)))))
(define (%operand-value o values leaves)
  (case (car o)
    ((node) (%in-memory (vector-ref values (cdr o))))
    ((leaf) (vector-ref leaves (cdr o)))
    ((number) (vector-ref leaves (cadr o)))
    ((list) (map (lambda (o) (%operand-value o values leaves)) (cdr o)))
    (else (cdr o))))
(define (%in-memory t) (if (tensor? t) t (%read-box t (cons (map (lambda (n) 0) (cadddr t)) (cadddr t)))))
(define (%result value result) (if (pair? value) (list-ref value result) value))

(define (%run-segment segment values leaves)
  (%segment (lambda () segment) (map (lambda (n) (vector-ref values n)) (vector-ref segment 2))
            (map (lambda (k) (vector-ref leaves k)) (vector-ref segment 4))))

; The value of f: its template with values in it.
(define (%template-nodes t)
  (case (car t)
    ((node) (list (cdr t)))
    ((pair) (append (%template-nodes (cadr t)) (%template-nodes (cddr t))))
    ((vector) (%template-nodes (cdr t)))
    (else '())))
(define (%filled t values leaves)
  (case (car t)
    ((pair) (let ((a (%filled (cadr t) values leaves))) (cons a (%filled (cddr t) values leaves))))
    ((vector) (list->vector (%filled (cdr t) values leaves)))
    (else (%operand-value t values leaves))))

; --- a segment as one operation: its arguments are kept, and its value; what lies between comes and goes tile by tile

(define (%segment plan inputs leaves)
  (%with-rules (lambda ((list plan inputs leaves)) (%segment-value (plan) inputs leaves))
               (lambda ((list plan inputs leaves) y (list dplan dinputs dleaves)) (%segment-forward (plan) inputs leaves dinputs dleaves))
               (lambda ((list plan inputs leaves) y c) (cons 0 (%segment-reverse (plan) inputs leaves c)))
               (list plan inputs leaves)))

(define (%segment-value segment inputs leaves)
  (let* ((prepared (%prepared segment leaves)) (tiles (apply * (vector-ref segment 0))))
    (let %segment/loop ((tile 0) (borders (%new-borders segment)))
      (if (= tile tiles)
          borders
          (let* ((work (%tile-work segment prepared tile))
                 (parts (%tile-values segment (car work) (cadr work) (caddr work) (%slices inputs (cadr work)) leaves)))
            (%segment/loop (+ tile 1) (%with-parts borders parts (caddr work))))))))

(define (%segment-forward segment inputs leaves dinputs dleaves)
  (let* ((prepared (%prepared segment leaves)) (tiles (apply * (vector-ref segment 0))))
    (let %segment/loop ((tile 0) (borders (%new-borders segment)))
      (if (= tile tiles)
          borders
          (let* ((work (%tile-work segment prepared tile))
                 (parts (cdr (j* (lambda ((cons slices leaves)) (%tile-values segment (car work) (cadr work) (caddr work) slices leaves))
                                 (cons (%slices inputs (cadr work)) leaves)
                                 (cons (%slices dinputs (cadr work)) dleaves)))))
            (%segment/loop (+ tile 1) (%with-parts borders parts (caddr work))))))))

; The cotangents of inputs and leaves: each tile is computed again, on a tape of its own.
(define (%segment-reverse segment inputs leaves c)
  (let* ((prepared (%prepared segment leaves)) (tiles (apply * (vector-ref segment 0))))
    (let %segment/loop ((tile 0) (dinputs (map %zero-border inputs)) (dleaves (map (lambda (leaf) 0) leaves)))
      (if (= tile tiles)
          (list dinputs dleaves)
          (let* ((work (%tile-work segment prepared tile))
                 (g (cdr (*j (lambda ((cons slices leaves)) (%tile-values segment (car work) (cadr work) (caddr work) slices leaves))
                             (cons (%slices inputs (cadr work)) leaves)
                             (%slices c (caddr work))))))
            (%segment/loop (+ tile 1) (%plus-parts dinputs (car g) (cadr work)) (%plus dleaves (cdr g))))))))

(define (%new-borders segment)
  (map (lambda (n)
         (let ((node (cdr (assv n (vector-ref segment 5))))) (%border (%node-sizes node) (%node-type node) (%node-residence node))))
       (vector-ref segment 3)))
(define (%zero-border t) (if (if (tensor? t) (%has-derivative? t) #f) (%border (size t) (tensor-type t) (tensor-residence t)) 0))
; Channels lie closest, as convolutions and norms have them.
(define (%border sizes type residence)
  (if (< (length sizes) 3)
      (fill sizes 0 type residence)
      (let ((last (- (length sizes) 1)))
        (permute (fill (append (cons (car sizes) (cddr sizes)) (list (cadr sizes))) 0 type residence)
                 (cons 0 (cons last (map 1+ (iota (- last 1)))))))))

; Parts of whole tensors, #() where there is no box.
(define (%slices wholes boxes) (map %slice wholes boxes))
(define (%slice whole box)
  (cond ((not box) '())
        ((%tile-array? whole) (%read-box whole box))
        ((not (tensor? whole)) whole)
        ((equal? (size whole) (cdr box)) whole)
        (else (crop whole (car box) (cdr box)))))

; Each whole is given up before its part goes in, so that this happens in its memory.
(define (%with-parts wholes parts boxes)
  (if (null? wholes)
      '()
      (let* ((whole (car wholes)) (wholes (cdr wholes))
             (new (if (tensor? (car parts)) (with-part whole (car parts) (caar boxes)) whole)))
        (cons new (%with-parts wholes (cdr parts) (cdr boxes))))))
(define (%plus-parts wholes parts boxes)
  (if (null? wholes)
      '()
      (let* ((whole (car wholes)) (wholes (cdr wholes))
             (new (if (if (tensor? (car parts)) (tensor? whole) #f) (add-part whole (car parts) (caar boxes)) whole)))
        (cons new (%plus-parts wholes (cdr parts) (cdr boxes))))))
(define (%plus sums new)
  (if (null? sums)
      '()
      (let* ((sum (car sums)) (sums (cdr sums))
             (next (cond ((eqv? (car new) 0) sum) ((eqv? sum 0) (car new)) (else (+ sum (car new))))))
        (cons next (%plus sums (cdr new))))))

; --- one tile: which box of each value is needed, from the outputs back

; (member . descriptions of its operands), the last member first.
(define (%prepared segment leaves)
  (let ((nodes (vector-ref segment 5)))
    (let %prepared/loop ((members (vector-ref segment 1)) (leaves leaves) (l '()))
      (if (null? members)
          l
          (let ((described+leaves (%described-here (%node-operands (vector-ref (car members) 1)) nodes leaves)))
            (%prepared/loop (cdr members) (cdr described+leaves) (cons (cons (car members) (car described+leaves)) l)))))))
(define (%described-here operands nodes leaves)
  (if (null? operands)
      (cons '() leaves)
      (let* ((o (car operands))
             (a (case (car o)
                  ((node) (cons (%description (cdr (assv (cdr o) nodes))) leaves))
                  ((leaf) (cons (car leaves) (cdr leaves)))
                  ((number) (cons (cddr o) (cdr leaves)))
                  ((list) (%described-here (cdr o) nodes leaves))
                  (else (cons (cdr o) leaves))))
             (d (%described-here (cdr operands) nodes (cdr a))))
        (cons (cons (car a) (car d)) (cdr d)))))

; (work boxes-of-inputs boxes-of-outputs): work is (member box . regions of operands) in order, without members that nobody needs. A box is
; (starts . sizes).
(define (%tile-work segment prepared tile)
  (let* ((nodes (vector-ref segment 5))
         (out (map (lambda (n) (%output-box (%node-sizes (cdr (assv n nodes))) (vector-ref segment 0) tile)) (vector-ref segment 3)))
         (boxes (fold-left (lambda (boxes n box) (if box (%with-box boxes n box) boxes)) '() (vector-ref segment 3) out)))
    (let %tile-work/loop ((members prepared) (boxes boxes) (work '()))
      (if (null? members)
          (list work (map (lambda (n) (%box-of n boxes)) (vector-ref segment 2)) out)
          (let* ((member (caar members)) (n (vector-ref member 0)) (box (%box-of n boxes)))
            (if box
                (let ((regions (%regions (vector-ref member 1) (cdar members) box)) (boxes (remove (lambda (entry) (= n (car entry))) boxes)))
                  (%tile-work/loop (cdr members) (%with-boxes (%node-operands (vector-ref member 1)) regions boxes) (cons (cons member (cons box regions)) work)))
                (%tile-work/loop (cdr members) boxes work)))))))

(define (%output-box sizes counts tile)
  (let %output-box/loop ((space (%space sizes)) (counts counts) (tile tile) (starts '()) (extents '()))
    (cond ((not (null? counts))
           (let* ((count (car counts)) (i (remainder tile count)))
             (if (null? space)
                 (if (= i 0) (%output-box/loop space (cdr counts) (quotient tile count) starts extents) #f)
                 (let* ((n (car space)) (start (quotient (* i n) count)) (extent (- (quotient (* (+ i 1) n) count) start)))
                   (if (= extent 0)
                       #f
                       (%output-box/loop (cdr space) (cdr counts) (quotient tile count) (cons start starts) (cons extent extents)))))))
          ((null? space) (cons (append '(0 0) (reverse starts)) (append (list-head sizes 2) (reverse extents))))
          (else (%output-box/loop (cdr space) '() tile (cons 0 starts) (cons (car space) extents))))))

(define (%box-of n boxes) (let ((found (assv n boxes))) (if found (cdr found) #f)))
(define (%with-box boxes n box)
  (cond ((null? boxes) (list (cons n box)))
        ((= n (caar boxes)) (cons (cons n (%hull (cdar boxes) box)) (cdr boxes)))
        (else (cons (car boxes) (%with-box (cdr boxes) n box)))))
(define (%hull a b)
  (if (equal? a b)
      a
      (let ((starts (map min (car a) (car b))))
        (cons starts (map - (map max (map + (car a) (cdr a)) (map + (car b) (cdr b))) starts)))))
(define (%with-boxes operands regions boxes)
  (cond ((null? operands) boxes)
        ((if (car regions) (eq? (caar operands) 'node) #f)
         (%with-boxes (cdr operands) (cdr regions) (%with-box boxes (cdar operands) (%region-box (car regions)))))
        ((if (car regions) (eq? (caar operands) 'list) #f)
         (%with-boxes (cdr operands) (cdr regions) (%with-boxes (cdar operands) (car regions) boxes)))
        (else (%with-boxes (cdr operands) (cdr regions) boxes))))
(define (%region-box region) (cons (car region) (cadr region)))

; Regions are (starts sizes before behind), #f of what is not looked at.
(define (%regions node described box)
  (if (eq? (%node-operator node) '%normalized)
      (cons (%region (car box) (cdr box))
            (map (lambda (o) (if (tensor? o) (%region (map (lambda (n) 0) (size o)) (size o)) #f)) (cdr described)))
      (operand-regions (%node-operator node) described (%node-result node) (car box) (cdr box))))
(define (%region starts sizes) (let ((zeros (map (lambda (n) 0) sizes))) (list starts sizes zeros zeros)))

; --- one tile: values. What is known so far is a list of (number box . value).

(define (%tile-values segment work in-boxes out-boxes slices leaves)
  (let %tile/loop ((work work)
                   (known (append-map (lambda (n box slice) (if box (list (cons n (cons box slice))) '())) (vector-ref segment 2) in-boxes slices))
                   (leaves (%leaves-by-member (vector-ref segment 1) leaves)))
    (if (null? work)
        (map (lambda (n box) (if box (%known-part n box known) '())) (vector-ref segment 3) out-boxes)
        (let* ((member (caar work)) (box (cadar work)) (regions (cddar work)) (node (vector-ref member 1))
               (operands (car (%operand-parts (%node-operands node) regions known (cdr (assv (vector-ref member 0) leaves)))))
               (known (%without (vector-ref member 2) known))
               (value (%part node operands regions box segment)))
          (%tile/loop (cdr work) (cons (cons (vector-ref member 0) (cons box value)) known) leaves)))))

(define (%leaves-by-member members leaves)
  (if (null? members)
      '()
      (let ((count (length (%leaves-in (%node-operands (vector-ref (car members) 1))))))
        (cons (cons (vector-ref (car members) 0) (list-head leaves count)) (%leaves-by-member (cdr members) (list-tail leaves count))))))

(define (%without numbers known)
  (if (null? numbers) known (filter (lambda (entry) (not (memv (car entry) numbers))) known)))
(define (%known-part n box known)
  (let ((entry (cdr (assv n known))))
    (if (equal? (car entry) box) (cdr entry) (crop (cdr entry) (map - (car box) (caar entry)) (cdr box)))))

; The operands of a member from their regions, and the leaves that are left. A list leaves out members that are not looked at.
(define (%operand-parts operands regions known leaves)
  (if (null? operands)
      (cons '() leaves)
      (let* ((o (car operands)) (region (car regions))
             (a (case (car o)
                  ((node) (cons (if region (%known-part (cdr o) (%region-box region) known) #f) leaves))
                  ((leaf) (cons (if region (%slice (car leaves) (%region-box region)) (car leaves)) (cdr leaves)))
                  ((number) (cons (car leaves) (cdr leaves)))
                  ((list)
                   (let ((l (%operand-parts (cdr o) region known leaves)))
                     (cons (append-map (lambda (t region) (if region (list t) '())) (car l) region) (cdr l))))
                  (else (cons (cdr o) leaves))))
             (d (%operand-parts (cdr operands) (cdr regions) known (cdr a))))
        (cons (cons (car a) (car d)) (cdr d)))))

; The box of a node's value, of the regions of its operands.
(define (%part node operands regions box segment)
  (let ((operator (%node-operator node)))
    (case operator
      ((convolve) (%convolved operator (%with-padding-alone node operands box segment 0 2) (%or-no-padding (car regions) box) 2))
      ((convolve-add-tied) (%convolved operator (%with-padding-alone node operands box segment 0 3) (%or-no-padding (car regions) box) 3))
      ((transpose-convolve) (if (car regions) (%transpose-convolved operands (car regions) box) (fill (cdr box) 0 (%node-type node) (%node-residence node))))
      ((max-pool)
       (let* ((operands (%with-padding-alone node operands box segment -inf.0 2)) (region (%or-no-padding (car regions) box)) (both (%both-sides region)))
         (max-pool (%padded (car operands) region both -inf.0) (cadr operands) (%operand operands 2 (cadr operands)) both)))
      ((average-pool) (%average-pooled (%with-padding-alone node operands box segment 0 2) (%or-no-padding (car regions) box)))
      ((narrow-tensor crop chunk) (car operands))
      ((slice)
       (let ((axis (%axis "slice" (cadr operands) (length (cdr box)))))
         (slice (car operands) axis 0 (list-ref (size (car operands)) axis) (%operand operands 4 1))))
      ((pad)
       (if (car regions)
           (pad (car operands) (caddr (car regions)) (cadddr (car regions)) (%operand operands 3 0))
           (fill (cdr box) (%operand operands 3 0) (%node-type node) (%node-residence node))))
      ((expand-tensor) (expand-tensor (car operands) (cdr box)))
      ((interpolate-nearest interpolate-linear)
       (%interpolated operator (car operands) (car regions) box
                      (%node-sizes (cdr (assv (cdar (%node-operands node)) (vector-ref segment 5)))) (%node-sizes node)))
      ((%normalized) (%normalized operands))
      (else (%result (apply-operator operator operands) (%node-result node))))))

(define (%operand operands i otherwise)
  (cond ((null? operands) otherwise)
        ((= i 0) (if (boolean? (car operands)) otherwise (car operands)))
        (else (%operand (cdr operands) (- i 1) otherwise))))
(define (%each-axis x space) (if (number? x) (map (lambda (n) x) space) (if (vector? x) (vector->list x) x)))

; Windows may lie in the padding alone: then there is no region, and the padding that they see is the first operand. Strides stand at k.
(define (%with-padding-alone node operands box segment number k)
  (if (not (boolean? (car operands)))
      operands
      (let* ((from (cdr (assv (cdar (%node-operands node)) (vector-ref segment 5))))
             (space (cddr (cdr box)))
             (pool (memq (%node-operator node) '(max-pool average-pool)))
             (windows (if pool (%each-axis (cadr operands) space) (%space (size (cadr operands)))))
             (strides (%each-axis (%operand operands k (if pool windows 1)) space))
             (dilation (%each-axis (if pool 1 (%operand operands (+ k 2) 1)) space)))
        (cons (fill (append (list (cadr box) (cadr (%node-sizes from))) (map (lambda (n s w d) (+ (* (- n 1) s) (* d (- w 1)) 1)) space strides windows dilation))
                    number (%node-type from) (%node-residence from))
              (cdr operands)))))
(define (%or-no-padding region box) (if region region (%region (car box) (cdr box))))

; Padding that both sides of an axis have is the operator's; what one side has beyond that is put there.
(define (%both-sides region) (map min (cddr (caddr region)) (cddr (cadddr region))))
(define (%padded t region both number)
  (let ((before (map - (caddr region) (append '(0 0) both))) (behind (map - (cadddr region) (append '(0 0) both))))
    (if (= 0 (+ (apply + before) (apply + behind))) t (pad t before behind number))))

(define (%convolved operator operands region k)
  (let ((both (%both-sides region)))
    (apply-operator operator
                    (append (cons (%padded (car operands) region both 0) (list-head (cdr operands) (- k 1)))
                            (list (%operand operands k 1) both (%operand operands (+ k 2) 1) (%operand operands (+ k 3) 1))))))

; Where padding does not count, a window at a border is divided by as many elements as are there.
(define (%average-pooled operands region)
  (let* ((t (car operands)) (sizes (cadr operands)) (strides (%operand operands 2 sizes)) (both (%both-sides region))
         (pooled (average-pool (%padded t region both 0) sizes strides both #t)))
    (if (if (%operand-given? operands 4 #t) #t (= 0 (+ (apply + (caddr region)) (apply + (cadddr region)))))
        pooled
        (/ pooled (average-pool (%padded (fill (append '(1 1) (%space (size t))) 1 (tensor-type t) (tensor-residence t)) region both 0)
                                sizes strides both #t)))))
; A flag, which may be #f.
(define (%operand-given? operands i otherwise) (if (< i (length operands)) (list-ref operands i) otherwise))

; The transpose of the region alone, of which the box is cut out; where it begins and ends along each axis.
(define (%transpose-convolved operands region box)
  (let* ((space (cddr (car region)))
         (strides (%each-axis (%operand operands 2 1) space)) (padding (%each-axis (%operand operands 3 0) space))
         (all (transpose-convolve (car operands) (cadr operands) strides 0 (%operand operands 4 1) (%operand operands 5 1)))
         (first (map (lambda (from a s p) (- (+ from p) (* a s))) (cddr (car box)) space strides padding)))
    (%cut-out all first (cddr (cdr box)))))
(define (%cut-out t first count)
  (let ((before (append '(0 0) (map - first))) (behind (append '(0 0) (map - (map + first count) (%space (size t))))))
    (pad t before behind)))

(define (%interpolated operator t region box from to)
  (let* ((up (map (lambda (n m) (if (= 0 (remainder m n)) (quotient m n) 1)) (cddr from) (cddr to)))
         (down (map (lambda (n m) (if (= 0 (remainder m n)) 1 (quotient n m))) (cddr from) (cddr to)))
         (larger (if (= 1 (apply * up)) t (apply-operator operator (list t (map * (cddr (size t)) up)))))
         (near (%decimated larger 2 down)))
    (crop near
          (append '(0 0) (map (lambda (from a f g) (if (= g 1) (- from (* a f)) 0)) (cddr (car box)) (cddr (car region)) up down))
          (cdr box))))
(define (%decimated t axis steps)
  (cond ((null? steps) t)
        ((= 1 (car steps)) (%decimated t (+ axis 1) (cdr steps)))
        (else (%decimated (slice t axis 0 (list-ref (size t) axis) (car steps)) (+ axis 1) (cdr steps)))))

; x less mean, over deviation, times scale, plus shift; mean and variance have their axes. The operator takes these two for constants. As the same
; function of constants and of both, through scale and shift, it has their derivatives of every order: the factor is 1, the sum adds 0.
(define (%normalized operands)
  (let* ((scale (cadr operands)) (epsilon (list-ref operands 5))
         (m (view (list-ref operands 3) (size scale))) (v (view (list-ref operands 4) (size scale)))
         (m0 (stop-gradient m)) (v0 (stop-gradient v))
         (deviation (sqrt (+ v epsilon))))
    (batch-normalization-test (car operands) (* scale (/ (sqrt (+ v0 epsilon)) deviation)) (+ (caddr operands) (* (- m0 m) (/ scale deviation))) m0 v0 epsilon)))
