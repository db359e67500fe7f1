; Runs of what is tiled (tiles.scm), along a plan (tile-plans.scm): values, and one tile of them. Which boxes a tile needs is in tile-boxes.scm, how
; an operator is computed on these in tile-parts.scm; derivatives are in tile-sweeps.scm.

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

; (step . numbers that no later step reads), of steps from the last one.
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
    (case operator
      ((%normalized) (%normalized operands))
      ((stop-gradient) (stop-gradient (car operands)))
      (else (%result (apply-operator operator operands) (%node-result node))))))
(define (%operand-value o values leaves)
  (case (car o)
    ((node) (%in-memory (vector-ref values (cdr o))))
    ((leaf) (vector-ref leaves (cdr o)))
    ((number) (vector-ref leaves (cadr o)))
    ((list) (map (lambda (o) (%operand-value o values leaves)) (cdr o)))
    (else (cdr o))))
(define (%in-memory t) (if (tensor? t) t (%read-all t)))
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
    (let %segment/loop ((tile 0) (done '()) (borders (%new-borders segment layouts plan #f)))
      (define (again) (%segment/loop 0 '() (%new-borders segment layouts plan #t))) ; a file that was begun is gone
      (cond ((if (< tile tiles) (< (length done) (%in-work deals)) #f)
             (let* ((work (%tile-work segment prepared tile)) (deal (%deal-of tile deals))
                    (slices (%slices-there segment prepared tile (cadr work) values (car deal) plan)))
               (%segment/loop (+ tile 1)
                              (append done
                                      (list (cons (caddr work)
                                                  (%tile-values segment (car deal) (car work) (cadr work) (caddr work) slices (%leaves-of segment (cdr deal))))))
                              borders)))
            ((pair? done)
             (let* ((boxes (caar done)) (parts (cdar done)) (done (cdr done)) (borders (%with-parts borders layouts (%all-there parts home) boxes plan)))
               (if (memq #f borders) (again) (%segment/loop tile done borders))))
            (else
             (let ((ended (map (lambda (border layout)
                                 (cond (layout (list->vector (reverse border))) ((pair? border) (%file-finished border)) (else border)))
                               borders layouts)))
               (if (memq #f ended) (again) ended)))))))
(define (%leaves-of segment leaves) (map (lambda (k) (vector-ref leaves k)) (vector-ref segment 4)))

(define (%new-borders segment layouts plan again?)
  (map (lambda (n layout)
         (cond (layout '())
               ((%plan-file plan n) (if again? (%file-begun (car (%plan-file plan n)) #f) (%plan-file plan n)))
               (else (let ((node (cdr (assv n (vector-ref segment 5))))) (%border-of node (%node-sizes node))))))
       (vector-ref segment 3) layouts))
(define (%border-of node sizes) (%border sizes (%node-type node) (%node-residence node)))
; Channels lie closest, as convolutions and norms have them.
(define (%border sizes type residence)
  (if (< (length sizes) 3)
      (fill sizes 0 type residence)
      (let ((last (- (length sizes) 1)))
        (permute (fill (append (cons (car sizes) (cddr sizes)) (list (cadr sizes))) 0 type residence)
                 (cons 0 (cons last (map 1+ (iota (- last 1)))))))))

; Of what goes to a file, (file . number) stands for the whole, or #f where that file is gone.
; Each whole is given up before its part goes in, so that this happens in its memory. Of what stays in parts the last one comes first, and 0 is
; where there is none.
(define (%with-parts wholes layouts parts boxes plan)
  (if (null? wholes)
      '()
      (let* ((whole (car wholes)) (wholes (cdr wholes)) (part (car parts))
             (new (cond ((car layouts) (cons (if (tensor? part) (%aside (%own part) plan) 0) whole))
                        ((not (tensor? part)) whole)
                        ((pair? whole) (%with-part-put whole part (caar boxes)))
                        (else (with-part whole part (caar boxes))))))
        (cons new (%with-parts wholes (cdr layouts) (cdr parts) (cdr boxes) plan)))))
; Elements of its own: what a tile gives may be a part of something larger.
(define (%own t) (with-part (%border (size t) (tensor-type t) (tensor-residence t)) t (map (lambda (n) 0) (size t))))
(define (%aside t plan) (%put-aside t (%plan-aside? plan)))

; --- parts of values, #() where there is no box

; What a tile reads, on a device. While the tile is computed, what the next one reads of files is read.
(define (%slices-there segment prepared tile boxes values device plan)
  (let ((slices (%all-there (%slices (vector-ref segment 2) values boxes plan) device)) (next (+ tile 1)))
    (if (if (< next (apply * (vector-ref segment 0))) (%any? (lambda (n) (%file-array? (vector-ref values n))) (vector-ref segment 2)) #f)
        (for-each (lambda (n box) (if (if box (%file-array? (vector-ref values n)) #f) (%read-box-ahead (vector-ref values n) box)))
                  (vector-ref segment 2) (cadr (%tile-work segment prepared next))))
    slices))

(define (%slices numbers values boxes plan)
  (map (lambda (n box) (if box (%slice-of (vector-ref values n) n box plan) '())) numbers boxes))
(define (%slice-of value n box plan)
  (if (%layout n plan) (%slice-of-parts value (%layout n plan) (vector-ref (%plan-nodes plan) n) box) (%slice value box)))
(define (%slice whole box)
  (cond ((%file-array? whole) (%read-box whole box))
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
