; Reductions along axes of space of a border in parts, or of an array in a file (tiles.scm): each part is reduced, and what it gives is added to that of the others, or compared
; with it, at the place of the result that it lies over. So the border is never in memory as a whole. Where some axes of space stay, there are several
; such places, one behind the other along these.

; Operands are the border, axes, and whether these are kept. Sums of integers and of bf16 are rounded otherwise; means and what else of integers is
; f32 comes of parts in f64. `greatest` and `sum-of-exponentials` are of the library alone: what softmax needs of its line (tile-rewrites.scm).
(define (%reduction? node)
  (let ((operands (%node-operands node)))
    (define (along-axes? i) (if (< i (length operands)) (if (eq? (car (list-ref operands i)) 'is) (list? (cdr (list-ref operands i))) #f) #f))
    (case (%node-operator node)
      ((sum mean variance logsumexp)
       (if (memq (%node-type node) '(f32 f64)) (if (eq? (caar operands) 'node) (if (along-axes? 1) (<= (length operands) 3) #f) #f) #f))
      ((max-over min-over) (if (eq? (caar operands) 'node) (along-axes? 1) #f))
      ((argmax argmin) (eq? (caar operands) 'node))
      ((greatest sum-of-exponentials) #t)
      (else #f))))
; An array in a file is divided into as many parts as tiles were asked for, or so that a part is a sixteenth of the memory budget, along the first axes.
(define (%parts-in-file node counts)
  (let ((space (map (lambda (axis) (list-ref (%node-sizes node) axis)) (%node-axes node))))
    (if counts
        (map min (list-head counts (length space)) space)
        (let %parts-in-file/loop ((space space) (parts (quotient (%bytes-of-node node) (if (memory-budget) (max %least-bytes (quotient (memory-budget) 16)) %bytes-without-budget))))
          (if (null? space)
              '()
              (let ((here (max 1 (min (car space) (+ parts 1))))) (cons here (%parts-in-file/loop (cdr space) (quotient parts here)))))))))
(define (%reduces? node n) (if (%reduction? node) (= n (cdar (%node-operands node))) #f))
; How the operand of a reduction is divided.
(define (%operand-layout node plan) (%parts-of-operand node (vector-ref plan 2)))
(define (%parts-of-operand node layouts) (if (%reduction? node) (vector-ref layouts (cdar (%node-operands node))) #f))

(define (%reduced-from node nodes) (vector-ref nodes (cdar (%node-operands node))))
; In their order. An index of an extreme may be along one axis, or among all elements.
(define (%reduced-axes node nodes)
  (let* ((rank (length (%node-sizes (%reduced-from node nodes)))) (given (%operand (map cdr (%node-operands node)) 1 #f))
         (axes (map (lambda (axis) (if (< axis 0) (+ axis rank) axis)) (cond ((list? given) given) ((number? given) (list given)) (else (iota rank))))))
    (filter (lambda (i) (memv i axes)) (iota rank))))
(define (%reduced-count node nodes)
  (let ((sizes (%node-sizes (%reduced-from node nodes)))) (apply * (map (lambda (axis) (list-ref sizes axis)) (%reduced-axes node nodes)))))
; Sizes, or starts, with another number along the axes that are reduced.
(define (%at-axes axes l other) (map (lambda (i n) (if (memv i axes) other n)) (iota (length l)) l))

; Where parts lie over the result of a reduction: #(node of the border, its tiles, axes that are reduced, sizes of the result with these kept, whether
; all parts lie over all of it, boxes of the parts).
(define (%reduced-places n plan)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n)) (from (%reduced-from node nodes)) (axes (%reduced-axes node nodes)) (counts (%operand-layout node plan)))
    (vector from counts axes (%at-axes axes (%node-sizes from) 1) (%every? (lambda (axis) (memv axis axes)) (%cut-axes counts (%node-axes from)))
            (%part-places (cdar (%node-operands node)) plan))))
(define (%cut-axes counts axes)
  (cond ((if (null? counts) #t (null? axes)) '())
        ((if (car axes) (< 1 (car counts)) #f) (cons (car axes) (%cut-axes (cdr counts) (cdr axes))))
        (else (%cut-axes (cdr counts) (cdr axes)))))
(define (%place-box places tile) (vector-ref (vector-ref places 5) tile))
(define (%result-box places tile)
  (let ((box (%place-box places tile)) (axes (vector-ref places 2))) (cons (%at-axes axes (car box) 0) (%at-axes axes (cdr box) 1))))
; Of a result what is there.
(define (%there-of t places tile) (if (vector-ref places 4) t (%slice t (%result-box places tile))))

; --- values

(define (%reduced n values plan)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n)) (places (%reduced-places n plan)) (parts (vector-ref values (cdar (%node-operands node)))))
    (view (%in-type (%node-type node)
                    (case (%node-operator node)
                      ((sum) (%sum-of-parts parts places))
                      ((mean) (/ (%sum-of-parts parts places) (%reduced-count node nodes)))
                      ((variance)
                       (let ((m (%mean-beside n values plan places)))
                         (/ (%over-parts parts places (lambda (part tile) (%squares-about (%there-of m places tile) part (vector-ref places 2))) +) (%reduced-count node nodes))))
                      ((max-over) (%extreme-of-parts parts places #t))
                      ((min-over) (%extreme-of-parts parts places #f))
                      ((argmax) (cdr (%first-of-parts parts places #t)))
                      ((argmin) (cdr (%first-of-parts parts places #f)))
                      ((greatest) (%greatest-of-parts parts places))
                      ((sum-of-exponentials) (%exponentials-of-parts parts places (vector-ref values (cdr (caddr (%node-operands node))))))
                      (else (let ((most (%greatest-of-parts parts places))) (%log-of-sum most (%exponentials-of-parts parts places most))))))
          (%node-sizes node))))
(define (%in-type type t) (if (eq? type (tensor-type t)) t (cast t type)))
(define (%of-floats part) (if (memq (tensor-type part) '(f32 f64 bf16)) part (cast part 'f64)))
(define (%sum-of-parts parts places) (let ((axes (vector-ref places 2))) (%over-parts parts places (lambda (part tile) (sum part axes #t)) +)))
; The sum of squared distances from m. A part's own mean and variance only read it, where distances would be another tensor of its size.
(define (%squares-about m part axes)
  (let ((sizes (size part)) (part (%of-floats part)))
    (* (apply * (map (lambda (axis) (list-ref sizes axis)) axes)) (+ (variance part axes #t) (square (- (mean part axes #t) m))))))
; What is before the operator in the graph may have the mean already, most often next to it.
(define (%mean-beside n values plan places)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n)) (from (cdar (%node-operands node))))
    (define (known? m)
      (let ((other (vector-ref nodes m)))
        (if (eq? 'mean (%node-operator other)) (if (equal? (%node-operands other) (%node-operands node)) (tensor? (vector-ref values m)) #f) #f)))
    (let %mean/loop ((m (- n 1)))
      (cond ((= m from) (/ (%sum-of-parts (vector-ref values from) places) (%reduced-count node nodes)))
            ((known? m) (view (vector-ref values m) (vector-ref places 3)))
            (else (%mean/loop (- m 1)))))))

; A softmax is a function of each element, of the largest, which is a constant to it, and of the sum of exponentials of distances from that.
(define (%greatest-of-parts parts places)
  (let ((axes (vector-ref places 2))) (stop-gradient (%over-parts parts places (lambda (part tile) (max-over part axes #t)) max))))
(define (%exponentials-of-parts parts places most)
  (%over-parts parts places (lambda (part tile) (sum (exp (- (%of-floats part) (%there-of most places tile))) (vector-ref places 2) #t)) +))
; Where the largest is infinite it is the result.
(define (%log-of-sum most total) (+ most (log (where (= (- most most) 0) total 1))))

; --- extremes

; The derivative goes to the first of equals in row-major order. Where tiles are cut along the first of the axes alone, that is their order too.
(define (%extreme-of-parts parts places largest?)
  (let* ((from (vector-ref places 0)) (axes (vector-ref places 2)) (long (filter (lambda (axis) (< 1 (list-ref (%node-sizes from) axis))) axes)))
    (if (%every? (lambda (axis) (if (memv axis axes) (= axis (car long)) #t)) (%cut-axes (vector-ref places 1) (%node-axes from)))
        (%over-parts parts places (lambda (part tile) ((if largest? max-over min-over) part axes #t)) (if largest? max min))
        (car (%first-of-parts parts places largest?)))))
; (extremes . indices): the first of each line of the whole.
(define (%first-of-parts parts places largest?)
  (let ((axes (vector-ref places 2)) (sizes (%node-sizes (vector-ref places 0))))
    (%over-parts parts places
                 (lambda (part tile)
                   (cons ((if largest? max-over min-over) part axes #t) (%index-in-whole (%first-index part axes largest?) (%place-box places tile) axes sizes)))
                 (lambda ((cons a i) (cons b j))
                   (let ((later? (%later? a i b j largest?))) (cons (where later? b a) (where later? j i)))))))
; Whether b at j comes before a at i: it is more extreme, or a NaN, or as much so and in front of it.
(define (%later? a i b j largest?)
  (where (= a a)
         (where (= b b) (where (= a b) (< j i) (if largest? (< a b) (< b a))) 1)
         (where (= b b) 0 (< j i))))
(define (%first-index part axes largest?)
  (let* ((sizes (size part)) (others (filter (lambda (i) (not (memv i axes))) (iota (length sizes))))
         (lines (view (permute part (append others axes)) (append (map (lambda (i) (list-ref sizes i)) others) '(-1)))))
    (view ((if largest? argmax argmin) lines -1) (%at-axes axes sizes 1))))
; Of indices in a part those in the whole, and those of all places of a part.
(define (%index-in-whole index box axes sizes)
  (let %in-whole/loop ((axes (reverse axes)) (step 1) (left index) (found 0))
    (if (null? axes)
        found
        (let ((extent (list-ref (cdr box) (car axes))))
          (%in-whole/loop (cdr axes) (* step (list-ref sizes (car axes))) (quotient left extent)
                          (+ found (* step (+ (list-ref (car box) (car axes)) (remainder left extent)))))))))
(define (%indices-of-places box axes sizes residence)
  (let %places/loop ((axes (reverse axes)) (step 1) (found 0))
    (if (null? axes)
        found
        (let ((extent (list-ref (cdr box) (car axes))))
          (%places/loop (cdr axes) (* step (list-ref sizes (car axes)))
                        (+ found (view (* step (+ (list-ref (car box) (car axes)) (arange extent 'i64 residence)))
                                       (%with-item (map (lambda (n) 1) sizes) (car axes) extent))))))))

; --- the result, with its axes kept, of what f gives of each part: at each place of the result put together in the order of tiles. Pairs are two results.
(define (%over-parts parts places f together)
  (define (at-place tiles)
    (fold-left (lambda (known tile)
                 (let ((part (%part-of parts places tile)))
                   (if (tensor? part)
                       (let ((new (f part tile))) (if (eqv? known 0) new (together known new)))
                       known)))
               0 tiles))
  (let ((by-place (%tiles-by-place (vector-ref places 1) (%node-axes (vector-ref places 0)) (vector-ref places 2))))
    (if (vector-ref places 4)
        (at-place (car by-place))
        (let %over-parts/loop ((left by-place) (whole 0))
          (if (null? left)
              whole
              (let ((there (filter (lambda (tile) (%place-box places tile)) (car left))))
                (%over-parts/loop (cdr left)
                                  (if (null? there) whole (%with-piece whole (at-place there) (%result-box places (car there)) (vector-ref places 3))))))))))
; Of an array in a file a part is read when it is wanted.
(define (%part-of parts places tile)
  (if (vector? parts)
      (vector-ref parts tile)
      (let ((box (%place-box places tile))) (if box (%read-box parts box) '()))))
(define (%with-piece whole piece box sizes)
  (if (pair? piece)
      (cons (%with-piece (if (pair? whole) (car whole) 0) (car piece) box sizes) (%with-piece (if (pair? whole) (cdr whole) 0) (cdr piece) box sizes))
      (with-part (if (tensor? whole) whole (fill sizes 0 (tensor-type piece) (tensor-residence piece))) piece (car box))))
; Tiles that lie over the same place of the result, in their order.
(define (%tiles-by-place counts axes reduced)
  (if (null? counts)
      '((0))
      (let* ((axis (if (null? axes) #f (car axes))) (numbers (iota (if axis (car counts) 1)))
             (others (%tiles-by-place (cdr counts) (if (null? axes) '() (cdr axes)) reduced)))
        (define (with i tile) (+ i (* (car counts) tile)))
        (if (memv axis reduced)
            (map (lambda (tiles) (append-map (lambda (tile) (map (lambda (i) (with i tile)) numbers)) tiles)) others)
            (append-map (lambda (tiles) (map (lambda (i) (map (lambda (tile) (with i tile)) tiles)) numbers)) others)))))
(define (%plus a b) (cond ((eqv? b 0) a) ((eqv? a 0) b) (else (+ a b))))

; --- derivatives. What comes through a reduction is added to the cotangent of each part when its tile is swept: a term is a procedure of that, or 0, of
; the part, and of the tile.

(define (%with-term n values c terms plan)
  (let* ((node (vector-ref (%plan-nodes plan) n)) (number (cdar (%node-operands node))))
    (if (if (tensor? c) (vector-ref (%plan-varying plan) n) #f)
        (let ((others (vector-ref terms number)) (places (%reduced-places n plan)))
          (vector-update terms number (cons (%term n values (view c (vector-ref places 3)) places plan) (if (pair? others) others '()))))
        terms)))
(define (%term n values c places plan)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n)) (parts (vector-ref values (cdar (%node-operands node)))))
    (define (alone c)
      (lambda (sum part tile) (let ((term (%there-of c places tile))) (if (tensor? sum) (+ sum term) (expand-tensor term (size part))))))
    (define (times c f known)
      (lambda (sum part tile)
        (let ((factor (%there-of c places tile)) (x (f part (%there-of known places tile)))) (if (tensor? sum) (weighted-sum sum x 1 factor) (* factor x)))))
    (case (%node-operator node)
      ((sum) (alone c))
      ((mean) (alone (/ c (%reduced-count node nodes))))
      ((variance) (times (/ (* 2 c) (%reduced-count node nodes)) - (%mean-beside n values plan places)))
      ((sum-of-exponentials) (times c (lambda (part most) (exp (- part most))) (vector-ref values (cdr (caddr (%node-operands node))))))
      ((logsumexp) (times c %slope-of-log-of-sum (view (vector-ref values n) (vector-ref places 3))))
      (else
       (let ((first (cdr (%first-of-parts parts places (eq? 'max-over (%node-operator node))))) (sizes (%node-sizes (vector-ref places 0))))
         (lambda (sum part tile)
           (let ((term (where (= (%indices-of-places (%place-box places tile) (vector-ref places 2) sizes (tensor-residence part)) (%there-of first places tile))
                              (%there-of c places tile) 0)))
             (if (tensor? sum) (+ sum term) term))))))))
; As the operator has it: infinitely much is all of the sum, infinitely little none of it.
(define (%slope-of-log-of-sum part y) (exp (where (= part -inf.0) -inf.0 (where (= part y) 0 (- part y)))))
(define (%with-terms c terms part tile) (fold-left (lambda (c term) (term c part tile)) c terms))
