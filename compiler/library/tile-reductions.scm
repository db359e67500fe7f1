; Reductions along axes of space of a border in parts (tiles.scm): each part is reduced, and what it gives is added to that of the others, or compared
; with it, at the place of the result that it lies over. So the border is never in memory as a whole. Where some axes of space stay, there are several
; such places, one behind the other along these.

; Operands are the border, a list of axes, and whether these are kept. Sums of integers and of bf16 are rounded otherwise.
(define (%reduction? node)
  (if (memq (%node-operator node) '(sum mean variance))
      (let ((operands (%node-operands node)))
        (if (memq (%node-type node) '(f32 f64))
            (if (<= 2 (length operands) 3) (if (eq? (caar operands) 'node) (if (eq? (caadr operands) 'is) (list? (cdadr operands)) #f) #f) #f)
            #f))
      #f))
(define (%reduces? node n) (if (%reduction? node) (= n (cdar (%node-operands node))) #f))
; How the operand of a reduction is divided.
(define (%operand-layout node plan) (%parts-of-operand node (%plan-nodes plan) (vector-ref plan 2)))
(define (%parts-of-operand node nodes layouts) (if (%reduction? node) (vector-ref layouts (cdar (%node-operands node))) #f))

(define (%reduced-from node nodes) (vector-ref nodes (cdar (%node-operands node))))
(define (%reduced-axes node) (cdadr (%node-operands node)))
(define (%reduced-count node nodes)
  (let ((sizes (%node-sizes (%reduced-from node nodes)))) (apply * (map (lambda (axis) (list-ref sizes axis)) (%reduced-axes node)))))
; Sizes, or starts, with another number along the axes that are reduced.
(define (%at-axes axes l other) (map (lambda (i n) (if (memv i axes) other n)) (iota (length l)) l))
; The place of the result, its axes kept, over which a part lies; and what of a result is there.
(define (%collapsed box axes) (cons (%at-axes axes (car box) 0) (%at-axes axes (cdr box) 1)))
(define (%there-of t box axes) (%slice t (%collapsed box axes)))

; --- values

(define (%reduced n values plan)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n)) (axes (%reduced-axes node)))
    (view (case (%node-operator node)
            ((sum) (%sum-of-parts n values plan (lambda (part box) (sum part axes #t))))
            ((mean) (%mean-of-parts n values plan))
            (else
             (let ((m (%mean-beside n values plan)))
               (/ (%sum-of-parts n values plan (lambda (part box) (%squares-about (%there-of m box axes) part axes))) (%reduced-count node nodes)))))
          (%node-sizes node))))
(define (%sum-of-parts n values plan f) (%over-parts n values plan f +))
(define (%mean-of-parts n values plan)
  (let ((node (vector-ref (%plan-nodes plan) n)))
    (/ (%sum-of-parts n values plan (lambda (part box) (sum part (%reduced-axes node) #t))) (%reduced-count node (%plan-nodes plan)))))
; The sum of squared distances from m. A part's own mean and variance only read it, where distances would be another tensor of its size.
(define (%squares-about m part axes)
  (let ((sizes (size part)))
    (* (apply * (map (lambda (axis) (list-ref sizes axis)) axes)) (+ (variance part axes #t) (square (- (mean part axes #t) m))))))
; What is before the operator in the graph may have the mean already.
(define (%mean-beside n values plan)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n))
         (known (filter (lambda (m)
                          (let ((other (vector-ref nodes m)))
                            (if (eq? 'mean (%node-operator other)) (if (equal? (%node-operands other) (%node-operands node)) (tensor? (vector-ref values m)) #f) #f)))
                        (iota n))))
    (if (pair? known)
        (view (vector-ref values (car known)) (%at-axes (%reduced-axes node) (%node-sizes (%reduced-from node nodes)) 1))
        (%mean-of-parts n values plan))))

; The result, with its axes kept, of what f gives of each part and its box: at each place of the result put together in the order of tiles.
(define (%over-parts n values plan f together)
  (let* ((node (vector-ref (%plan-nodes plan) n)) (number (cdar (%node-operands node))) (from (vector-ref (%plan-nodes plan) number))
         (parts (vector-ref values number)) (counts (%layout number plan)) (axes (%reduced-axes node)) (sizes (%at-axes axes (%node-sizes from) 1)))
    (define (at-place tiles)
      (fold-left (lambda (known tile)
                   (let ((part (vector-ref parts tile)))
                     (if (tensor? part)
                         (let ((new (f part (%output-box from counts tile)))) (if (eqv? known 0) new (together known new)))
                         known)))
                 0 tiles))
    (let %over-parts/loop ((places (%tiles-by-place counts (%node-axes from) axes)) (whole 0))
      (if (null? places)
          whole
          (let ((box (%collapsed (%output-box from counts (caar places)) axes)) (piece (at-place (car places))))
            (if (equal? (cdr box) sizes)
                piece
                (%over-parts/loop (cdr places) (with-part (if (eqv? whole 0) (fill sizes 0 (tensor-type piece) (tensor-residence piece)) whole) piece (car box)))))))))
; Tiles that lie over the same place of the result, in their order.
(define (%tiles-by-place counts axes reduced)
  (if (null? counts)
      '((0))
      (let* ((axis (if (null? axes) #f (car axes))) (numbers (iota (if axis (car counts) 1)))
             (others (%tiles-by-place (cdr counts) (if (null? axes) '() (cdr axes)) reduced)))
        (define (with i tiles) (map (lambda (tile) (+ i (* (car counts) tile))) tiles))
        (if (memv axis reduced)
            (map (lambda (tiles) (append-map (lambda (tile) (map (lambda (i) (+ i (* (car counts) tile))) numbers)) tiles)) others)
            (append-map (lambda (tiles) (map (lambda (i) (with i tiles)) numbers)) others)))))
(define (%plus a b) (cond ((eqv? b 0) a) ((eqv? a 0) b) (else (+ a b))))

; --- derivatives. What comes through a reduction is added to each part when its tile is swept: a term is a procedure of the part and its box.

(define (%with-term n values c terms plan)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n)) (number (cdar (%node-operands node))))
    (if (if (tensor? c) (vector-ref (%plan-varying plan) n) #f)
        (let ((others (vector-ref terms number)) (c (view c (%at-axes (%reduced-axes node) (%node-sizes (vector-ref nodes number)) 1))))
          (vector-update terms number (cons (%term n values c plan) (if (pair? others) others '()))))
        terms)))
(define (%term n values c plan)
  (let* ((node (vector-ref (%plan-nodes plan) n)) (axes (%reduced-axes node)) (count (%reduced-count node (%plan-nodes plan))))
    (define (scaled c) (lambda (part box) (%there-of c box axes)))
    (case (%node-operator node)
      ((sum) (scaled c))
      ((mean) (scaled (/ c count)))
      (else
       (let ((c (/ (* 2 c) count)) (m (%mean-beside n values plan)))
         (lambda (part box) (* (%there-of c box axes) (- part (%there-of m box axes)))))))))
(define (%with-terms c terms part box)
  (if (null? terms)
      c
      (%with-terms (let ((term ((car terms) part box))) (if (tensor? c) (+ c term) (expand-tensor term (size part)))) (cdr terms) part box)))
