; Reductions along axes of space of a border that tiles give, or of an array in a file (tiles.scm): each part is reduced, and what it gives is put together
; with that of the others, in the order of tiles, at the place of the result that it lies over. Where some axes of space stay, there are several such
; places, one behind the other along these. A part is reduced as it comes from its tile, and kept only where others read it too; so of a border that
; reductions alone read no more than a part is ever in memory, and an array in a file is read part by part.

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
; Of a result what is there, where the part is.
(define (%there-of t places tile part)
  (let ((there (if (vector-ref places 4) t (%slice t (%result-box places tile)))))
    (if (eq? (tensor-residence there) (tensor-residence part)) there (to-device there (tensor-residence part)))))

; --- values

; What reads parts as they come from their tiles: all but what needs another reduction of all parts first.
(define (%takes-parts? node n)
  (if (%node-near? node) #f (if (eq? (%node-operator node) 'sum-of-exponentials) #f (%reduces? node n))))

; A reduction while parts come: #(number places reducer states), by place of the result (tile . state), the first tile that lies over it, or 0.
(define (%reduction n values plan)
  (let ((places (%reduced-places n plan))) (vector n places (%reducer n values places plan) (make-vector (%place-of-tile #f places) 0))))
(define (%with-part-reduced reduction part tile)
  (if (tensor? part)
      (let* ((reducer (vector-ref reduction 2)) (states (vector-ref reduction 3)) (place (%place-of-tile tile (vector-ref reduction 1)))
             (known (vector-ref states place)) (new ((vector-ref reducer 0) part tile)))
        (vector-update reduction 3
                       (vector-update states place (if (pair? known) (cons (car known) ((vector-ref reducer 1) (cdr known) new)) (cons tile new)))))
      reduction))
; Values with the result, and with what its derivative is made of beside that, if there is to be one.
(define (%with-reduced reduction values plan)
  (let* (((list n places reducer states) (vector->list reduction))
         (pieces (map (lambda ((cons tile state)) (cons tile ((vector-ref reducer 2) state))) (filter pair? (vector->list states))))
         (all (if (vector-ref places 4)
                  (cdar pieces)
                  (fold-left (lambda (whole (cons tile piece)) (%with-piece whole piece (%result-box places tile) (vector-ref places 3))) 0 pieces))))
    (vector-update (vector-update values n (let ((node (vector-ref (%plan-nodes plan) n))) (view (%in-type (%node-type node) (car all)) (%node-sizes node))))
                   (%beside n plan) (if (vector-ref (%plan-varying plan) n) (cdr all) #f))))
; Where that stands among the values.
(define (%beside n plan) (+ n (vector-length (%plan-nodes plan))))
; Of parts that are there, or of an array in a file, of which each is read when it is wanted.
(define (%reduced n values plan)
  (let* ((node (vector-ref (%plan-nodes plan) n)) (parts (vector-ref values (cdar (%node-operands node)))) (tiles (apply * (%operand-layout node plan))))
    (let %reduced/loop ((tile 0) (reduction (%reduction n values plan)))
      (if (= tile tiles)
          (%with-reduced reduction values plan)
          (%reduced/loop (+ tile 1) (%with-part-reduced reduction (%part-of parts (vector-ref reduction 1) tile) tile))))))
(define (%part-of parts places tile)
  (if (vector? parts)
      (vector-ref parts tile)
      (let ((box (%place-box places tile))) (if box (%read-box parts box) '()))))

; #(of-part together ended): the state that a part gives, that of two, the first one's tiles in front, and of the last one the result and what is
; beside it, or 0. All have the axes that are reduced.
(define (%reducer n values places plan)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n)) (axes (vector-ref places 2)) (count (%reduced-count node nodes)))
    (define (alone t) (cons t 0))
    (define (sum-of part tile) (sum part axes #t))
    (case (%node-operator node)
      ((sum) (vector sum-of + alone))
      ((mean) (vector sum-of + (lambda (total) (alone (/ total count)))))
      ((variance)
       (vector (lambda (part tile)
                 (let ((n (%count-along axes (size part))) (part (%of-floats part))) (list n (mean part axes #t) 0 (* n (variance part axes #t)))))
               %squares-together
               (lambda ((list n from further squares)) (cons (/ squares count) (+ from (/ further count))))))
      ((max-over) (%extreme places #t (vector-ref (%plan-varying plan) n)))
      ((min-over) (%extreme places #f (vector-ref (%plan-varying plan) n)))
      ((argmax) (%first-extreme places #t (lambda ((cons a i)) (alone i))))
      ((argmin) (%first-extreme places #f (lambda ((cons a i)) (alone i))))
      ((greatest) (vector (lambda (part tile) (%greatest part axes)) max alone))
      ((sum-of-exponentials)
       (let ((most (vector-ref values (cdr (caddr (%node-operands node))))))
         (vector (lambda (part tile) (sum (exp (- (%of-floats part) (%there-of most places tile part))) axes #t)) + alone)))
      (else (vector (lambda (part tile) (let* ((part (%of-floats part)) (most (%greatest part axes))) (cons most (sum (exp (- part (%bounded most))) axes #t))))
                    %exponentials-together
                    (lambda ((cons most total)) (let ((y (+ most (log (where (%bounded? most) total 1))))) (cons y y))))))))
(define (%in-type type t) (if (eq? type (tensor-type t)) t (cast t type)))
(define (%of-floats part) (if (memq (tensor-type part) '(f32 f64 bf16)) part (cast part 'f64)))
(define (%count-along axes sizes) (exact->inexact (apply * (map (lambda (axis) (list-ref sizes axis)) axes))))
; (count from further squares): how many elements, the mean of the first part, the sum of what the others lie further, which stays small wherever zero is,
; and the sum of squared distances from the mean of all. Those about two means are more by what these lie apart. What comes is one part.
(define (%squares-together (list n from further squares) (list m mean none others))
  (let* ((distance (- mean from)) (apart (- distance (/ further n))))
    (list (+ n m) from (+ further (* m distance)) (+ squares others (* (square apart) (* n (/ m (+ n m))))))))
; The largest is a constant to a function of it and of the sum of exponentials of distances from it. Where it is infinite it is the result.
(define (%greatest part axes) (stop-gradient (max-over part axes #t)))
(define (%bounded? most) (= (- most most) 0))
(define (%bounded most) (where (%bounded? most) most 0))
(define (%exponentials-together (cons a total) (cons b other))
  (let ((most (max a b)))
    (define (less from) (exp (where (= from most) 0 (- from most))))
    (cons most (+ (* total (less a)) (* other (less b))))))

; --- extremes

; The derivative goes to the first of equals in row-major order, of which it needs the index. Where tiles are cut along the first of the axes alone, that
; is their order too.
(define (%extreme places largest? varies?)
  (let* ((from (vector-ref places 0)) (axes (vector-ref places 2)) (long (filter (lambda (axis) (< 1 (list-ref (%node-sizes from) axis))) axes)))
    (if (if varies? #f (%every? (lambda (axis) (if (memv axis axes) (= axis (car long)) #t)) (%cut-axes (vector-ref places 1) (%node-axes from))))
        (vector (lambda (part tile) ((if largest? max-over min-over) part axes #t)) (if largest? max min) (lambda (t) (cons t 0)))
        (%first-extreme places largest? (lambda (extreme+index) extreme+index)))))
; Its states are (extremes . indices), of the first of each line.
(define (%first-extreme places largest? ended)
  (let ((axes (vector-ref places 2)) (sizes (%node-sizes (vector-ref places 0))))
    (vector (lambda (part tile)
              (cons ((if largest? max-over min-over) part axes #t) (%index-in-whole (%first-index part axes largest?) (%place-box places tile) axes sizes)))
            (lambda ((cons a i) (cons b j))
              (let ((later? (%later? a i b j largest?))) (cons (where later? b a) (where later? j i))))
            ended)))
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

; --- places of the result

; Pairs are two results.
(define (%with-piece whole piece box sizes)
  (cond ((pair? piece)
         (cons (%with-piece (if (pair? whole) (car whole) 0) (car piece) box sizes) (%with-piece (if (pair? whole) (cdr whole) 0) (cdr piece) box sizes)))
        ((tensor? piece) (with-part (if (tensor? whole) whole (fill sizes 0 (tensor-type piece) (tensor-residence piece))) piece (car box)))
        (else whole)))
; The number of the place over which a tile lies, along the axes that stay; of no tile how many places there are.
(define (%place-of-tile tile places)
  (let %place/loop ((counts (if (vector-ref places 4) '() (vector-ref places 1))) (axes (%node-axes (vector-ref places 0))) (tile tile) (place 0) (step 1))
    (if (null? counts)
        (if tile place step)
        (let ((stays? (if (null? axes) #f (if (car axes) (not (memv (car axes) (vector-ref places 2))) #f))))
          (%place/loop (cdr counts) (if (null? axes) '() (cdr axes)) (if tile (quotient tile (car counts)) #f)
                       (if (if tile stays? #f) (+ place (* step (remainder tile (car counts)))) place)
                       (if stays? (* step (car counts)) step))))))
(define (%plus a b) (cond ((eqv? b 0) a) ((eqv? a 0) b) (else (+ a b))))

; --- derivatives. What comes through a reduction is added to the cotangent of each part when its tile is swept. A term is a procedure of that, or 0, of
; the part, and of the tile; of sums and means #(places cotangent), of variances #(places factor mean), as what is added of a mean and of a variance,
; which each norm has, is added in one pass over memory.

(define (%with-term n values c terms plan)
  (let* ((node (vector-ref (%plan-nodes plan) n)) (number (cdar (%node-operands node))))
    (if (if (tensor? c) (vector-ref (%plan-varying plan) n) #f)
        (let ((others (vector-ref terms number)) (places (%reduced-places n plan)))
          (vector-update terms number (cons (%term n values (view c (vector-ref places 3)) places plan) (if (pair? others) others '()))))
        terms)))
(define (%term n values c places plan)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n)) (beside (vector-ref values (%beside n plan))))
    (define (times c f known)
      (lambda (sum part tile)
        (let ((factor (%there-of c places tile part)) (x (f part (%there-of known places tile part)))) (if (tensor? sum) (weighted-sum sum x 1 factor) (* factor x)))))
    (case (%node-operator node)
      ((sum) (vector places c))
      ((mean) (vector places (/ c (%reduced-count node nodes))))
      ((variance) (vector places (/ (* 2 c) (%reduced-count node nodes)) beside))
      ((sum-of-exponentials) (times c (lambda (part most) (exp (- part most))) (vector-ref values (cdr (caddr (%node-operands node))))))
      ((logsumexp) (times c %slope-of-log-of-sum beside))
      (else
       (let ((sizes (%node-sizes (vector-ref places 0))))
         (lambda (sum part tile)
           (let ((term (where (= (%indices-of-places (%place-box places tile) (vector-ref places 2) sizes (tensor-residence part)) (%there-of beside places tile part))
                              (%there-of c places tile part) 0)))
             (if (tensor? sum) (+ sum term) term))))))))
; As the operator has it: infinitely much is all of the sum, infinitely little none of it.
(define (%slope-of-log-of-sum part y) (exp (where (= part -inf.0) -inf.0 (where (= part y) 0 (- part y)))))
(define (%with-terms c terms part tile)
  (define (there term i) (%there-of (vector-ref term i) (vector-ref term 0) tile part))
  (define (of-variance? term) (if (vector? term) (= 3 (vector-length term)) #f))
  (let %terms/loop ((c c) (terms terms))
    (if (null? terms)
        c
        (let ((term (car terms)) (more (cdr terms)))
          (cond ((procedure? term) (%terms/loop (term c part tile) more))
                ((of-variance? term)
                 (let ((x (- part (there term 2)))) (%terms/loop (if (tensor? c) (weighted-sum c x 1 (there term 1)) (* (there term 1) x)) more)))
                ((not (tensor? c)) (%terms/loop (expand-tensor (there term 1) (size part)) more))
                ((if (pair? more) (of-variance? (car more)) #f)
                 (let ((other (car more))) (%terms/loop (apply-operator '%add-deviations (list c (there term 1) part (there other 2) (there other 1))) (cdr more))))
                (else (%terms/loop (+ c (there term 1)) more)))))))
; Of a part that is not kept, within the tape of its tile: a number whose derivative these are. Its cotangent is 1.
(define (%as-terms part terms tile)
  (%with-rules (lambda ((list part)) (fill '() 0 (tensor-type part) (tensor-residence part)))
               (lambda ((list part) y (list dpart)) (sum (* dpart (%with-terms 0 terms part tile))))
               (lambda ((list part) y c) (list (%with-terms 0 terms part tile)))
               (list part)))
