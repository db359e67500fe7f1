; Runs of what is tiled (tiles.scm), along a plan (tile-plans.scm): values, and one tile of them. Which boxes a tile needs is in tile-boxes.scm, how
; an operator is computed on these in tile-parts.scm; derivatives are in tile-sweeps.scm.

; --- running: values by number, #f where there are none yet or no longer. A border that only tiles and reductions over space (tile-reductions.scm) read
; stays in the parts that the tiles of its segment gave (%layouts): a vector of these, or '() where reductions have taken them all. Behind the values of
; all nodes stands what derivatives of reductions are made of (%beside).

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
                                   (%with-whole (cdr step) values leaves plan)
                                   (%with-segment (cdr step) values leaves deals plan))))
                   (fold-left (lambda (values n) (vector-update values n #f)) values dead)))
               (list->vector (append inputs (map (lambda (i) #f) (iota (- (* 2 (vector-length nodes)) (length inputs))))))
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
  (if (eq? (car step) 'whole)
      (%nodes-in (%node-operands (vector-ref nodes (cdr step))))
      (vector-ref (cdr step) 2)))
(define (%with-values numbers new values)
  (if (null? numbers) values (%with-values (cdr numbers) (cdr new) (vector-update values (car numbers) (car new)))))

; What has taken parts as they came has its value by then.
(define (%with-whole n values leaves plan)
  (let ((node (vector-ref (%plan-nodes plan) n)))
    (cond ((tensor? (vector-ref values n)) values)
          ((%operand-layout node plan) (%reduced n values plan))
          (else (vector-update values n (%applied node values leaves 'whole))))))
(define (%applied node values leaves how)
  (let* ((operands (map (lambda (o) (%operand-value o values leaves)) (%node-operands node)))
         (operator (%node-operator node)))
    (case operator
      ((%normalized) (%normalized operands))
      ((stop-gradient) (stop-gradient (car operands)))
      ((greatest) (stop-gradient (max-over (car operands) (cadr operands) #t)))
      ((sum-of-exponentials) (sum (exp (- (car operands) (caddr operands))) (cadr operands) #t))
      (else (%result (%apply-recorded operator operands (%node-place node) how) (%node-result node))))))
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

; --- a segment: values with its outputs, and with the results of reductions that took parts of these

(define (%with-segment segment values leaves deals plan)
  (let* ((outputs (vector-ref segment 3)) (prepared (%prepared segment leaves)) (tiles (apply * (vector-ref segment 0))) (home (%home plan))
         (kept (map (lambda (n) (%kept-as n plan)) outputs)) (none-reduced (map (lambda (n) (%reductions-of n values plan)) outputs)))
    (let %segment/loop ((tile 0) (done '()) (borders (%new-borders segment kept plan #f)) (reduced none-reduced))
      (define (again) (%segment/loop 0 '() (%new-borders segment kept plan #t) none-reduced)) ; a file that was begun is gone
      (cond ((if (< tile tiles) (< (length done) (%in-work deals)) #f)
             (let* ((work (%tile-work segment prepared tile)) (deal (%deal-of tile deals))
                    (slices (%slices-there segment prepared tile (cadr work) values (car deal) plan)))
               (%segment/loop (+ tile 1)
                              (append done
                                      (list (cons (caddr work)
                                                  (%tile-values segment (car deal) (car work) (cadr work) (caddr work) slices (cdr deal) '()
                                                                (lambda (n box known) (if (%parts-kept? n plan) (%own-part n box known segment) (%known-part n box known)))))))
                              borders reduced)))
            ((pair? done)
             (let* ((boxes (caar done)) (parts (%all-there (cdar done) home)) (first (- tile (length done))) (done (cdr done))
                    (reduced (map (lambda (reductions part) (map (lambda (reduction) (%with-part-reduced reduction part first)) reductions)) reduced parts))
                    (borders (%with-parts borders kept parts boxes plan)))
               (if (memq #f borders) (again) (%segment/loop tile done borders reduced))))
            (else
             (let ((ended (map (lambda (border kept)
                                 (cond ((eq? kept 'parts) (list->vector (reverse border))) ((pair? border) (%file-finished border)) (else border)))
                               borders kept)))
               (if (memq #f ended)
                   (again)
                   (fold-left (lambda (values reduction) (%with-reduced reduction values plan)) (%with-values outputs ended values) (append-map (lambda (l) l) reduced)))))))))
(define (%reductions-of n values plan) (map (lambda (by) (%reduction by values plan)) (%plan-takers n plan)))

(define (%kept-as n plan) (cond ((not (%layout n plan)) 'whole) ((%parts-kept? n plan) 'parts) (else 'nothing)))
(define (%new-borders segment kept plan again?)
  (map (lambda (n kept)
         (cond ((not (eq? kept 'whole)) '())
               ((%plan-file plan n) (if again? (%file-begun (car (%plan-file plan n)) #f) (%plan-file plan n)))
               (else (let ((node (vector-ref (vector-ref segment 5) n))) (%border-of node (%node-sizes node))))))
       (vector-ref segment 3) kept))
(define (%border-of node sizes) (%border sizes (%node-type node) (%node-residence node)))
(define (%border sizes type residence) (%channels-first (fill (%channels-last sizes) 0 type residence)))
; Channels lie closest, as convolutions and norms have them.
(define (%channels-first t)
  (let ((last (- (length (size t)) 1)))
    (if (< last 2) t (permute t (cons 0 (cons last (map 1+ (iota (- last 1)))))))))
(define (%channels-last l) (if (< (length l) 3) l (append (cons (car l) (cddr l)) (list (cadr l)))))

; Of what goes to a file, (file . number) stands for the whole, or #f where that file is gone.
; Each whole is given up before its part goes in, so that this happens in its memory. Of what stays in parts the last one comes first, and 0 is
; where there is none.
(define (%with-parts wholes kept parts boxes plan)
  (if (null? wholes)
      '()
      (let* ((whole (car wholes)) (wholes (cdr wholes)) (part (car parts))
             (new (cond ((eq? (car kept) 'nothing) whole)
                        ((eq? (car kept) 'parts) (cons (if (tensor? part) (%aside part plan) 0) whole))
                        ((not (tensor? part)) whole)
                        ((pair? whole) (%with-part-put whole part (caar boxes)))
                        (else (with-part whole part (caar boxes))))))
        (cons new (%with-parts wholes (cdr kept) (cdr parts) (cdr boxes) plan)))))
; With elements of its own, a copy where these are a part of something larger, or lie otherwise.
(define (%own t) (%channels-first (apply-operator '%own (list (%turned t)))))
; Zeros in that place, and the part where its box is there; both lie as borders do.
(define (%among-zeros part box place)
  (let ((before (%channels-last (car (%inside place box)))))
    (%channels-first (pad (%turned part) before (map - (%channels-last (cdr place)) before (%channels-last (cdr box))) 0))))
(define (%turned t) (permute t (%channels-last (iota (length (size t))))))
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
  (if (vector? value) (%slice-of-parts value box (%overlapped n box plan)) (%slice value box)))
(define (%slice whole box)
  (cond ((%file-array? whole) (%read-box whole box))
        ((not (tensor? whole)) whole)
        ((%same-sizes? (size whole) (cdr box)) whole)
        (else (crop whole (car box) (cdr box)))))

; Of the parts that it overlaps, the largest piece first, which makes most of it at once; 0 where none of them is there.
(define (%slice-of-parts parts box tiles)
  (let ((there (filter (lambda ((cons tile place)) (tensor? (vector-ref parts tile))) tiles)))
    (define (piece-of (cons tile place) both) (%slice (vector-ref parts tile) (%inside place both)))
    (if (null? there)
        0
        (let* ((first (%most-within box there)) (both (%overlap (cdr first) box)))
          (cond ((%same-box? (cdr first) box) (vector-ref parts (car first)))
                ((%same-sizes? (cdr both) (cdr box)) (piece-of first both))
                (else
                 (let %slice/loop ((tiles there) (whole (%among-zeros (piece-of first both) both box)))
                   (cond ((null? tiles) whole)
                         ((eq? (car tiles) first) (%slice/loop (cdr tiles) whole))
                         (else
                          (let ((both (%overlap (cdar tiles) box)))
                            (%slice/loop (cdr tiles) (with-part whole (piece-of (car tiles) both) (car (%inside box both))))))))))))))
; Of which tile there is most in the box.
(define (%most-within box tiles)
  (define (elements tile) (%elements-of (%overlap (cdr tile) box)))
  (if (null? (cdr tiles))
      (car tiles)
      (car (fold-left (lambda (most tile) (let ((n (elements tile))) (if (< (cdr most) n) (cons tile n) most))) (cons #f 0) tiles))))

; The tiles that a box of a value in parts reaches, (tile . its box).
(define (%overlapped n box plan)
  (let ((node (vector-ref (%plan-nodes plan) n))) (%parts-reached (%part-places n plan) (%node-sizes node) (%node-axes node) (%layout n plan) box)))

; --- one tile: values, on a device, or where they are. What is known so far is a list of (number box . value). Of the numbers in `unread` nobody but
; reverse rules will look at the value.

(define (%tile-values segment device work in-boxes out-boxes slices leaves unread part-of)
  (let %tile/loop ((work work)
                   (known (filter cadr (map (lambda (n box slice) (cons n (cons box slice))) (vector-ref segment 2) in-boxes slices))))
    (if (null? work)
        (map (lambda (n box) (if box (part-of n box known) '())) (vector-ref segment 3) out-boxes)
        (let* ((member (caar work)) (box (cadar work)) (regions (cddar work)) (node (vector-ref member 1))
               (operands (%operand-parts (%node-operands node) regions known leaves))
               (known (%without (vector-ref member 2) known))
               (how (if (memv (vector-ref member 0) unread) 'unread 'tile))
               (value (%part node operands regions box segment device (lambda (operator operands) (%apply-recorded operator operands (%node-place node) how)))))
          (%tile/loop (cdr work) (cons (cons (vector-ref member 0) (cons box value)) known))))))

(define (%without numbers known)
  (if (null? numbers) known (filter (lambda (entry) (not (memv (car entry) numbers))) known)))
(define (%known-part n box known)
  (let ((entry (cdr (assv n known))))
    (if (%same-sizes? (cdar entry) (cdr box)) (cdr entry) (crop (cdr entry) (car (%inside (car entry) box)) (cdr box)))))

(define (%own-part n box known segment)
  (let ((part (%known-part n box known)))
    (if (if (%gives-its-own? (vector-ref (vector-ref segment 5) n)) (%same-sizes? (cdadr (assv n known)) (cdr box)) #f) part (%own part))))
; What these give, as values and as cotangents of their operand, has elements of its own; anything else may be a part of something larger.
(define (%gives-its-own? node) (memq (%node-operator node) '(convolve %normalized)))

; The operands of a member from their regions. A list leaves out members that are not looked at.
(define (%operand-parts operands regions known leaves)
  (map (lambda (o region)
         (case (car o)
           ((node) (if region (%known-part (cdr o) (%region-box region) known) #f))
           ((leaf) (if region (%slice (vector-ref leaves (cdr o)) (%region-box region)) (vector-ref leaves (cdr o))))
           ((number) (vector-ref leaves (cadr o)))
           ((list) (append-map (lambda (t region) (if region (list t) '())) (%operand-parts (cdr o) region known leaves) region))
           (else (cdr o))))
       operands regions))
