; Runs of what is tiled (tiles.scm), along a plan (tile-plans.scm): values, and one tile of them. Derivatives are in tile-sweeps.scm.

; --- running: values by number, #f where there are none yet or no longer. A border that only tiles and sums over space read stays in the parts
; that the tiles of its segment gave (%layouts): a vector of these.

; (outputs values): values are those that a sweep will read, if there is to be one, and else #f.
(define (%graph-values plan inputs leaves keep?)
  (let* ((values (%run-steps plan inputs leaves keep?)) (outputs (%plan-outputs plan)))
    (list (map (lambda (n) (vector-ref values n)) outputs)
          (if keep?
              (vector-map (lambda (value) (if (tensor? value) (%put-aside value #f) value))
                          (%with-values (append outputs (iota (length inputs))) (map (lambda (n) #f) (append outputs inputs)) values))
              #f))))

(define (%run-steps plan inputs leaves keep?)
  (let* ((nodes (%plan-nodes plan)) (steps (%plan-steps plan))
         (deals (%deals plan leaves))
         (kept (%marked (append (%plan-outputs plan) (if keep? (append-map (lambda (step) (%step-reads step nodes)) steps) '()))
                        (make-vector (vector-length nodes) #f))))
    (fold-left (lambda (values (cons step dead))
                 (let ((values (if (eq? (car step) 'whole)
                                   (vector-update values (cdr step) (%whole-value (cdr step) values leaves plan))
                                   (%with-values (vector-ref (cdr step) 3) (%segment-value (cdr step) values leaves deals plan) values))))
                   (fold-left (lambda (values n) (vector-update values n #f)) values dead)))
               (list->vector (append inputs (map (lambda (i) #f) (iota (- (vector-length nodes) (length inputs))))))
               (%with-dropped (reverse steps) nodes kept '()))))

; Tiles are dealt by turns over devices, which have copies of the leaves: a vector of (device . leaves). Without devices all is where it is, and the
; device is #f. One tile more is in work than there are devices, so that the device from which a tile is fetched has another one, whose copies and
; kernels lie beside that fetching; each comes home, to where the image is, in its turn, and is added there. So sums are the same as of one device.
(define (%deals plan leaves)
  (if (null? (%plan-devices plan))
      (vector (cons #f leaves))
      (list->vector (map (lambda (device) (cons device (vector-map (lambda (leaf) (%there leaf device)) leaves))) (%plan-devices plan)))))
(define (%in-work deals) (if (car (vector-ref deals 0)) (+ 1 (vector-length deals)) 1))
(define (%deal-of tile deals) (vector-ref deals (remainder tile (vector-length deals))))
(define (%there t device) (if (if device (tensor? t) #f) (to-device t device) t))
(define (%all-there l device) (if device (map (lambda (t) (%there t device)) l) l))
(define (%home plan) (if (null? (%plan-devices plan)) #f (%node-residence (vector-ref (%plan-nodes plan) 0))))
(define (%residence-there node device) (if device device (%node-residence node)))

; (step . numbers that no later; (step . numbers that no later step reads), of steps from the last one.
(define (%with-dropped steps nodes kept l)
  (if (null? steps)
      l
      (let ((dead (filter (lambda (n) (not (vector-ref kept n))) (%distinct (%step-reads (car steps) nodes)))))
        (%with-dropped (cdr steps) nodes (%marked dead kept) (cons (cons (car steps) dead) l)))))
(define (%step-reads step nodes)
  (if (eq? (car step) 'whole) (%nodes-in (%node-operands (vector-ref nodes (cdr step)))) (vector-ref (cdr step) 2)))
(define (%with-values numbers new values)
  (if (null? numbers) values (%with-values (cdr numbers) (cdr new) (vector-update values (car numbers) (car new)))))

(define (%whole-value n values leaves plan)
  (let ((node (vector-ref (%plan-nodes plan) n)))
    (if (%operand-layout node plan) (%reduced n values plan) (%applied node values leaves))))
(define (%applied node values leaves)
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

; --- a segment: its outputs, in their order

(define (%segment-value segment values leaves deals plan)
  (let* ((prepared (%prepared segment (%leaves-of segment leaves))) (tiles (apply * (vector-ref segment 0))) (home (%home plan))
         (layouts (map (lambda (n) (%layout n plan)) (vector-ref segment 3))))
    (let %segment/loop ((tile 0) (done '()) (borders (%new-borders segment layouts)))
      (cond ((if (< tile tiles) (< (length done) (%in-work deals)) #f)
             (let* ((work (%tile-work segment prepared tile)) (deal (%deal-of tile deals))
                    (slices (%slices-there segment prepared tile (cadr work) values (car deal) plan)))
               (%segment/loop (+ tile 1)
                              (append done
                                      (list (cons (caddr work)
                                                  (%tile-values segment (car deal) (car work) (cadr work) (caddr work) slices (%leaves-of segment (cdr deal))))))
                              borders)))
            ((pair? done)
             (let* ((boxes (caar done)) (parts (cdar done)) (done (cdr done)))
               (%segment/loop tile done (%with-parts borders layouts (%all-there parts home) boxes plan))))
            (else (map (lambda (border layout) (if layout (list->vector (reverse border)) border)) borders layouts))))))
(define (%leaves-of segment leaves) (map (lambda (k) (vector-ref leaves k)) (vector-ref segment 4)))

(define (%new-borders segment layouts)
  (map (lambda (n layout) (if layout '() (let ((node (cdr (assv n (vector-ref segment 5))))) (%border-of node (%node-sizes node)))))
       (vector-ref segment 3) layouts))
(define (%border-of node sizes) (%border sizes (%node-type node) (%node-residence node)))
; Channels lie closest, as convolutions and norms have them.
(define (%border sizes type residence)
  (if (< (length sizes) 3)
      (fill sizes 0 type residence)
      (let ((last (- (length sizes) 1)))
        (permute (fill (append (cons (car sizes) (cddr sizes)) (list (cadr sizes))) 0 type residence)
                 (cons 0 (cons last (map 1+ (iota (- last 1)))))))))

; Each whole is given up before its part goes in, so that this happens in its memory. Of what stays in parts the last one comes first, and 0 is
; where there is none.
(define (%with-parts wholes layouts parts boxes plan)
  (if (null? wholes)
      '()
      (let* ((whole (car wholes)) (wholes (cdr wholes)) (part (car parts))
             (new (cond ((car layouts) (cons (if (tensor? part) (%aside (%own part) plan) 0) whole))
                        ((tensor? part) (with-part whole part (caar boxes)))
                        (else whole))))
        (cons new (%with-parts wholes (cdr layouts) (cdr parts) (cdr boxes) plan)))))
; Elements of its own: what a tile gives may be a part of something larger.
(define (%own t) (with-part (%border (size t) (tensor-type t) (tensor-residence t)) t (map (lambda (n) 0) (size t))))
(define (%aside t plan) (%put-aside t (%plan-aside? plan)))

; --- parts of values, #() where there is no box

; What a tile reads, on a device. While the tile is computed, what the next one reads of files is read.
(define (%slices-there segment prepared tile boxes values device plan)
  (let ((slices (%all-there (%slices (vector-ref segment 2) values boxes plan) device)) (next (+ tile 1)))
    (if (if (< next (apply * (vector-ref segment 0))) (%any? (lambda (n) (%tile-array? (vector-ref values n))) (vector-ref segment 2)) #f)
        (for-each (lambda (n box) (if (if box (%tile-array? (vector-ref values n)) #f) (%read-box-ahead (vector-ref values n) box)))
                  (vector-ref segment 2) (cadr (%tile-work segment prepared next))))
    slices))

(define (%slices numbers values boxes plan)
  (map (lambda (n box) (if box (%slice-of (vector-ref values n) n box plan) '())) numbers boxes))
(define (%slice-of value n box plan)
  (if (%layout n plan) (%slice-of-parts value (%layout n plan) (vector-ref (%plan-nodes plan) n) box) (%slice value box)))
(define (%slice whole box)
  (cond ((%tile-array? whole) (%read-box whole box))
        ((not (tensor? whole)) whole)
        ((equal? (size whole) (cdr box)) whole)
        (else (crop whole (car box) (cdr box)))))

; Of the parts that it overlaps; 0 where none of them is there.
(define (%slice-of-parts parts counts node box)
  (let %slice/loop ((tiles (%overlapped counts node box)) (whole 0))
    (if (null? tiles)
        whole
        (let* ((tile (car tiles)) (part (vector-ref parts tile)))
          (if (tensor? part)
              (let* ((place (%output-box node counts tile)) (both (%overlap place box))
                     (piece (%slice part (%inside place both))))
                (if (equal? both box)
                    piece
                    (%slice/loop (cdr tiles) (with-part (if (tensor? whole) whole (%border-of node (cdr box))) piece (car (%inside box both))))))
              (%slice/loop (cdr tiles) whole))))))
; A box as seen from the beginning of another.
(define (%inside box part) (cons (map - (car part) (car box)) (cdr part)))
(define (%overlap a b)
  (let ((starts (map max (car a) (car b))))
    (cons starts (map - (map min (map + (car a) (cdr a)) (map + (car b) (cdr b))) starts))))

; The tiles that a box of an output reaches.
(define (%overlapped counts node box)
  (filter (lambda (tile) (%output-box node counts tile))
          (let %overlapped/loop ((counts counts) (axes (%node-axes node)))
            (cond ((null? counts) '(0))
                  ((if (null? axes) #t (not (car axes)))
                   (map (lambda (tile) (* (car counts) tile)) (%overlapped/loop (cdr counts) (if (null? axes) '() (cdr axes)))))
                  (else
                   (let* ((count (car counts)) (n (list-ref (%node-sizes node) (car axes))) (rest (%overlapped/loop (cdr counts) (cdr axes)))
                          (start (list-ref (car box) (car axes))) (extent (list-ref (cdr box) (car axes)))
                          (first (quotient (- (* (+ start 1) count) 1) n))
                          (last (quotient (- (* (+ start extent) count) 1) n)))
                     (append-map (lambda (i) (map (lambda (tile) (+ first i (* count tile))) rest)) (iota (+ 1 (- last first))))))))))

; --- means, variances and sums over space, of a border in parts

(define (%reduced n values plan)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n)) (from (cdar (%node-operands node)))
         (parts (vector-ref values from)) (axes (%reduced-axes node)) (count (%reduced-count node nodes)))
    (view (case (%node-operator node)
            ((sum) (%sum-of-parts (lambda (part) (sum part axes #t)) parts))
            ((mean) (/ (%sum-of-parts (lambda (part) (sum part axes #t)) parts) count))
            (else
             (let ((m (%mean-beside n values plan)))
               (/ (%sum-of-parts (lambda (part) (%squares-about m part axes)) parts) count))))
          (%node-sizes node))))
(define (%reduced-axes node) (cdadr (%node-operands node)))
(define (%reduced-count node nodes)
  (let ((sizes (%node-sizes (vector-ref nodes (cdar (%node-operands node))))))
    (apply * (map (lambda (axis) (list-ref sizes axis)) (%reduced-axes node)))))
(define (%sum-of-parts f parts)
  (fold-left (lambda (total part) (if (tensor? part) (%plus total (f part)) total)) 0 (vector->list parts)))
; The sum of squared distances from m. A part's own mean and variance only read it, where distances would be another tensor of its size.
(define (%squares-about m part axes)
  (let ((sizes (size part)))
    (* (apply * (map (lambda (axis) (list-ref sizes axis)) axes)) (+ (variance part axes #t) (square (- (mean part axes #t) m))))))
; What is before the operator in the graph may have the mean already.
(define (%mean-beside n values plan)
  (let* ((nodes (%plan-nodes plan)) (node (vector-ref nodes n)) (sizes (%node-sizes (vector-ref nodes (cdar (%node-operands node)))))
         (axes (%reduced-axes node))
         (known (filter (lambda (m)
                        (let ((other (vector-ref nodes m)))
                          (if (eq? 'mean (%node-operator other)) (if (equal? (%node-operands other) (%node-operands node)) (tensor? (vector-ref values m)) #f) #f)))
                      (iota n))))
    (if (pair? known)
        (view (vector-ref values (car known)) (map (lambda (i size) (if (memv i axes) 1 size)) (iota (length sizes)) sizes))
        (/ (%sum-of-parts (lambda (part) (sum part axes #t)) (vector-ref values (cdar (%node-operands node)))) (%reduced-count node nodes)))))
(define (%plus a b) (cond ((eqv? b 0) a) ((eqv? a 0) b) (else (+ a b))))

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
         (out (map (lambda (n) (%output-box (cdr (assv n nodes)) (vector-ref segment 0) tile)) (vector-ref segment 3)))
         (boxes (fold-left (lambda (boxes n box) (if box (%with-box boxes n box) boxes)) '() (vector-ref segment 3) out)))
    (let %tile-work/loop ((members prepared) (boxes boxes) (work '()))
      (if (null? members)
          (list work (map (lambda (n) (%box-of n boxes)) (vector-ref segment 2)) out)
          (let* ((member (caar members)) (n (vector-ref member 0)) (box (%whole-lines (vector-ref member 1) (%box-of n boxes))))
            (if box
                (let ((regions (%regions (vector-ref member 1) (cdar members) box)) (boxes (remove (lambda (entry) (= n (car entry))) boxes)))
                  (%tile-work/loop (cdr members) (%with-boxes (%node-operands (vector-ref member 1)) regions boxes) (cons (cons member (cons box regions)) work)))
                (%tile-work/loop (cdr members) boxes work)))))))

; What is computed of whole lines gives whole lines, whatever part of them is wanted: these lie along other axes than those of space.
(define (%whole-lines node box)
  (if (if box (memq (%node-operator node) '(%normalized layer-normalization rms-normalization softmax log-softmax fused-scale-mask-softmax sort argsort top-k cumulative-sum)) #f)
      (fold-left (lambda (box axis n)
                   (if (memv axis (%node-axes node)) box (cons (%with-item (car box) axis 0) (%with-item (cdr box) axis n))))
                 box (iota (length (%node-sizes node))) (%node-sizes node))
      box))

; Of a tile, #f where it has none: what lacks an axis of space is all in the first tile along that.
(define (%output-box node counts tile)
  (let %output-box/loop ((counts counts) (axes (%node-axes node)) (tile tile) (box (cons (map (lambda (n) 0) (%node-sizes node)) (%node-sizes node))))
    (if (null? counts)
        box
        (let* ((count (car counts)) (i (remainder tile count)) (axis (if (null? axes) #f (car axes))) (axes (if (null? axes) '() (cdr axes))))
          (if axis
              (let* ((n (list-ref (%node-sizes node) axis)) (start (quotient (* i n) count)) (extent (- (quotient (* (+ i 1) n) count) start)))
                (if (= extent 0)
                    #f
                    (%output-box/loop (cdr counts) axes (quotient tile count) (cons (%with-item (car box) axis start) (%with-item (cdr box) axis extent)))))
              (if (= i 0) (%output-box/loop (cdr counts) axes (quotient tile count) box) #f))))))
(define (%with-item l i x) (append (list-head l i) (cons x (list-tail l (+ i 1)))))

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

; --- one tile: values, on a device, or where they are. What is known so far is a list of (number box . value).

(define (%tile-values segment device work in-boxes out-boxes slices leaves)
  (let %tile/loop ((work work)
                   (known (append-map (lambda (n box slice) (if box (list (cons n (cons box slice))) '())) (vector-ref segment 2) in-boxes slices))
                   (leaves (%leaves-by-member (vector-ref segment 1) leaves)))
    (if (null? work)
        (map (lambda (n box) (if box (%known-part n box known) '())) (vector-ref segment 3) out-boxes)
        (let* ((member (caar work)) (box (cadar work)) (regions (cddar work)) (node (vector-ref member 1))
               (operands (car (%operand-parts (%node-operands node) regions known (cdr (assv (vector-ref member 0) leaves)))))
               (known (%without (vector-ref member 2) known))
               (value (%part node operands regions box segment device)))
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
(define (%part node operands regions box segment device)
  (let ((operator (%node-operator node)))
    (case operator
      ((convolve) (%convolved operator (%with-padding-alone node operands box segment device 0 2) (%or-no-padding (car regions) box) 2))
      ((convolve-add-tied) (%convolved operator (%with-padding-alone node operands box segment device 0 3) (%or-no-padding (car regions) box) 3))
      ((transpose-convolve) (if (car regions) (%transpose-convolved operands (car regions) box) (fill (cdr box) 0 (%node-type node) (%residence-there node device))))
      ((max-pool)
       (let* ((operands (%with-padding-alone node operands box segment device -inf.0 2)) (region (%or-no-padding (car regions) box)) (both (%both-sides region)))
         (max-pool (%padded (car operands) region both -inf.0) (cadr operands) (%operand operands 2 (cadr operands)) both)))
      ((average-pool) (%average-pooled (%with-padding-alone node operands box segment device 0 2) (%or-no-padding (car regions) box)))
      ((adaptive-max-pool adaptive-average-pool)
       (%pooled-by-bins operator (car operands) (car regions) box
                        (%node-sizes (cdr (assv (cdar (%node-operands node)) (vector-ref segment 5)))) (%node-sizes node)))
      ((narrow-tensor crop chunk) (car operands))
      ((dropout dropout-planewise) (%dropped operator operands box (%node-sizes node)))
      ((slice)
       (let ((axis (%axis "slice" (cadr operands) (length (cdr box)))))
         (slice (car operands) axis 0 (list-ref (size (car operands)) axis) (%operand operands 4 1))))
      ((pad)
       (if (car regions)
           (pad (car operands) (caddr (car regions)) (cadddr (car regions)) (%operand operands 3 0))
           (fill (cdr box) (%operand operands 3 0) (%node-type node) (%residence-there node device))))
      ((lower-triangle upper-triangle) (apply-operator operator (list (car operands) (%diagonal-there (%operand operands 1 0) (car box)))))
      ((expand-tensor) (expand-tensor (car operands) (cdr box)))
      ((view) (%viewed (car operands) (car regions) box (%node-sizes (cdr (assv (cdar (%node-operands node)) (vector-ref segment 5)))) (%node-sizes node)))
      ((interpolate-nearest interpolate-linear)
       (%interpolated operator (car operands) (car regions) box
                      (%node-sizes (cdr (assv (cdar (%node-operands node)) (vector-ref segment 5)))) (%node-sizes node)))
      ((%normalized) (%normalized operands))
      ((to-device) (if device (car operands) (apply-operator operator operands)))
      (else (%result (apply-operator operator operands) (%node-result node))))))

; A diagonal of the whole as a part sees it that begins there.
(define (%diagonal-there k starts)
  (let ((rest (list-tail starts (- (length starts) 2)))) (+ k (- (car rest) (cadr rest)))))

(define (%operand operands i otherwise)
  (cond ((null? operands) otherwise)
        ((= i 0) (if (boolean? (car operands)) otherwise (car operands)))
        (else (%operand (cdr operands) (- i 1) otherwise))))
(define (%each-axis x space) (if (number? x) (map (lambda (n) x) space) (if (vector? x) (vector->list x) x)))

; Windows may lie in the padding alone: then there is no region, and the padding that they see is the first operand. Strides stand at k.
(define (%with-padding-alone node operands box segment device number k)
  (if (not (boolean? (car operands)))
      operands
      (let* ((from (cdr (assv (cdar (%node-operands node)) (vector-ref segment 5))))
             (space (cddr (cdr box)))
             (pool (memq (%node-operator node) '(max-pool average-pool)))
             (windows (if pool (%each-axis (cadr operands) space) (%space (size (cadr operands)))))
             (strides (%each-axis (%operand operands k (if pool windows 1)) space))
             (dilation (%each-axis (if pool 1 (%operand operands (+ k 2) 1)) space)))
        (cons (fill (append (list (cadr box) (cadr (%node-sizes from))) (map (lambda (n s w d) (+ (* (- n 1) s) (* d (- w 1)) 1)) space strides windows dilation))
                    number (%node-type from) (%residence-there from device))
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

; Bins of n positions: the i-th of m begins at i n / m, rounded down, and ends at (i + 1) n / m, rounded up. Windows have one size: where bins differ
; along an axis, or overlap, each is laid out in as many places as the longest has. The rest of these have its last element, which changes no maximum and
; gets no derivative, as an equal one comes first; or for averages zeros.
(define (%pooled-by-bins operator t region box from to)
  (let ((average? (eq? operator 'adaptive-average-pool)) (ones (map (lambda (n) 1) from)))
    (define (bins-along i)
      (let ((n (list-ref from i)) (m (list-ref to i)) (first (list-ref (car region) i)))
        (map (lambda (j) (cons (- (quotient (* j n) m) first) (- (quotient (+ (* (+ j 1) n) m -1) m) first)))
             (iota (list-ref (cdr box) i) (list-ref (car box) i)))))
    (let %bins/loop ((i 2) (t t) (windows '()) (parts 1))
      (if (= i (length from))
          (let ((windows (reverse windows)))
            (if average? (* parts (average-pool t windows windows 0 #t)) (max-pool t windows windows 0)))
          (let* ((bins (bins-along i)) (lengths (map (lambda (bin) (- (cdr bin) (car bin))) bins)) (most (apply max lengths)) (n (list-ref (size t) i)))
            (define (places (cons begin end)) (map (lambda (place) (if (< place end) place (if average? n (- end 1)))) (iota most begin)))
            (if (= n (* most (length bins)))
                (%bins/loop (+ i 1) t (cons most windows) parts)
                (%bins/loop (+ i 1)
                            (%index-many (if average? (pad t (map (lambda (n) 0) from) (%with-item (map (lambda (n) 0) from) i 1)) t)
                                         i (list->tensor (append-map places bins) 'i64 (tensor-residence t)))
                            (cons most windows)
                            (* parts (view (list->tensor (map (lambda (length) (/ (exact->inexact most) length)) lengths) (tensor-type t) (tensor-residence t))
                                           (%with-item ones i (length bins)))))))))))

; What the whole drops there; it may be a part of something larger itself.
(define (%dropped operator operands box sizes)
  (apply-operator operator
                  (append (list-head operands 3)
                          (list (map + (car box) (%each-axis (%operand operands 3 (map (lambda (n) 0) sizes)) '())) (%operand operands 4 sizes)))))

; Stretches of axes with the same number of elements correspond. In each the region is a run of elements, the box is in rows along the first axis of the
; result: the run is cut, or filled with zeros that are cut off, to whole rows.
(define (%viewed t region box from to)
  (let %viewed/loop ((from from) (starts (car region)) (extents (cadr region)) (to to) (to-starts (car box)) (to-extents (cdr box))
                     (runs '()) (before '()) (behind '()) (rows '()) (firsts '()))
    (if (if (null? from) (null? to) #f)
        (let* ((flat (view t (reverse runs)))
               (whole (if (%every? (lambda (n) (= n 0)) (append before behind)) flat (pad flat (reverse before) (reverse behind)))))
          (%slice (view whole rows) (cons firsts (cdr box))))
        (let* ((counts (%stretch from to)) (n (car counts)) (m (cdr counts)))
          (define (position starts sizes) (fold-left (lambda (at start size) (+ start (* at size))) 0 starts sizes))
          (let* ((run (apply * (list-head extents n))) (start (position (list-head starts n) (list-head from n)))
                 (row (if (= m 0) 1 (apply * (cdr (list-head to m)))))
                 (first (if (= m 0) 0 (* row (car to-starts)))) (last (if (= m 0) 1 (* row (+ (car to-starts) (car to-extents))))))
            (%viewed/loop (list-tail from n) (list-tail starts n) (list-tail extents n) (list-tail to m) (list-tail to-starts m) (list-tail to-extents m)
                          (cons run runs) (cons (- start first) before) (cons (- last (+ start run)) behind)
                          (append rows (if (= m 0) '() (cons (car to-extents) (cdr (list-head to m)))))
                          (append firsts (if (= m 0) '() (cons 0 (cdr (list-head to-starts m)))))))))))
; How many axes of each make up the next stretch.
(define (%stretch from to)
  (define (size-of l n) (if (null? l) 1 (list-ref l n)))
  (let %stretch/loop ((n (min 1 (length from))) (m (min 1 (length to))) (a (size-of from 0)) (b (size-of to 0)))
    (cond ((= a b) (cons n m))
          ((< a b) (%stretch/loop (+ n 1) m (* a (list-ref from n)) b))
          (else (%stretch/loop n (+ m 1) a (* b (list-ref to m)))))))

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
