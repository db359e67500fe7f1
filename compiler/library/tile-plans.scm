; Plans of tiles (tiles.scm): which operators of a graph (tile-graphs.scm) make up segments; where these are cut is in tile-cuts.scm, what tiles take in
; tile-costs.scm.

(define %bytes-without-budget 67108864) ; of a tile, or a part: little of any computer's memory, and enough for calls of operators not to count
(define %least-bytes 1048576)           ; of a tile, or a part: of fewer, calls of operators would take longer than elements do
(define %bytes-of-file 1048576)         ; of memory that the file of --spill takes: all goes through a buffer
(define %least-in-file 4096)            ; of a part: what stands beside its elements would be no less

; --- stages: the segment of stage 0, then the whole operators that need no more, then the segment of stage 1, and so on. A value that is used
; in another stage, or by a whole operator, or is wanted of f, is a border.

; What goes to a file (tile-files.scm) is the number of a node, or #f.
(define (%plan-of-graph graph counts inputs devices to-file)
  (let ((nodes (vector-ref graph 0)) (wanted (%template-nodes (vector-ref graph 2))))
    (%plan-of nodes (vector-ref graph 1) wanted (filter (lambda (n) (not (%input? (vector-ref nodes n)))) (%distinct wanted)) counts inputs devices to-file)))
(define (%run-graph graph plan inputs)
  (let* ((nodes (vector-ref graph 0)) (leaves (vector-ref graph 1)) (outputs (%plan-outputs plan))
         (values (list->vector (append inputs (map (lambda (i) #f) (iota (- (vector-length nodes) (length inputs))))))))
    (if (null? outputs) values (%with-values outputs (%run-plan plan inputs leaves) values))))

; A plan: nodes, steps, by node how its value is divided into parts or #f, the numbers of what is wanted, by node and by leaf whether it may vary,
; whether parts are put aside, the names of the devices over which tiles are dealt, by node the boxes of the parts or #f, (n . file) of what goes to
; a file that was begun, or #f, by node the reductions that take its parts as they come, and by node whether these parts are kept.
(define (%plan-of nodes leaves wanted outputs counts inputs devices to-file)
  (if (pair? devices) (%check-one-residence nodes))
  (let* ((view (%view-of nodes leaves wanted to-file))
         (steps (%steps nodes leaves view counts inputs devices)) (layouts (%layouts steps nodes wanted counts))
         (kept (%kept-parts steps layouts view)) (varying-leaves (vector-map %leaf-varies? leaves)) (varying (%varying nodes inputs varying-leaves)))
    (if (memory-budget) (for-each (lambda (step) (%check-that-it-fits step layouts view counts)) steps))
    (let ((takes (map (lambda (step) (if (eq? (car step) 'segment) (%all-tiles-take (cdr step) view) #f)) steps))
          (plan (vector nodes steps layouts outputs varying varying-leaves (%aside? steps kept view) devices (%places layouts nodes) #f
                        (%takers layouts view) kept)))
      (let ((needs (if (memory-budget) (%sweep-needs plan takes inputs leaves view) '(0 . 0))))
        (if (if (memory-budget) (if to-file #f (%any? (lambda (n) (vector-ref varying n)) outputs)) #f) (%check-that-borders-fit plan takes needs view))
        (%note-plan plan takes needs view))
      plan)))
; The boxes of the parts of values; those that are divided alike share them.
(define (%places layouts nodes)
  (define (alike counts node) (cons counts (cons (%node-axes node) (%node-sizes node))))
  (let ((known (fold-left (lambda (known counts node)
                            (if (if counts (not (assoc (alike counts node) known)) #f)
                                (cons (cons (alike counts node) (list->vector (map (lambda (tile) (%output-box node counts tile)) (iota (apply * counts))))) known)
                                known))
                          '() (vector->list layouts) (vector->list nodes))))
    (list->vector (map (lambda (counts node) (if counts (cdr (assoc (alike counts node) known)) #f)) (vector->list layouts) (vector->list nodes)))))
(define (%check-one-residence nodes)
  (let ((home (%node-residence (vector-ref nodes 0))))
    (for-each (lambda (node)
                (if (not (eq? home (%node-residence node)))
                    (error (format "of what f computes some is on ~a and some on ~a, and tiles are dealt over devices where all is on one: let f move nothing" home (%node-residence node)))))
              (vector->list nodes))))
(define (%plan-nodes plan) (vector-ref plan 0))
(define (%plan-steps plan) (vector-ref plan 1))
(define (%layout n plan) (vector-ref (vector-ref plan 2) n))
(define (%plan-outputs plan) (vector-ref plan 3))
(define (%plan-varying plan) (vector-ref plan 4))
(define (%plan-varying-leaves plan) (vector-ref plan 5))
(define (%plan-aside? plan) (vector-ref plan 6))
(define (%plan-devices plan) (vector-ref plan 7))
(define (%part-places n plan) (vector-ref (vector-ref plan 8) n))
(define (%plan-takers n plan) (vector-ref (vector-ref plan 10) n))
(define (%parts-kept? n plan) (vector-ref (vector-ref plan 11) n))
(define (%plan-file plan n) (let ((n+file (vector-ref plan 9))) (if n+file (if (= n (car n+file)) (cdr n+file) #f) #f)))

; --- what is said of a plan

(define (%note-plan plan takes needs view)
  (let ((nodes (%plan-nodes plan)) (steps (%plan-steps plan)))
    (%note-tiles (map (lambda ((cons kind step) all)
                        (if (eq? kind 'segment)
                            (vector (map (lambda (n) (%node-operator (vector-ref nodes n))) (%members-of step)) (vector-ref step 0) (cadr all) (exact->inexact (car all)) (exact->inexact (caddr all)))
                            (let* ((node (vector-ref nodes step)) (parts (%operand-layout node plan)))
                              (if parts (vector (list (%node-operator node)) parts 0 0. 0.) (cons (%node-operator node) (%bytes-of-node node))))))
                      steps takes)
                 (apply + (map (lambda (step) (%bytes-given step view)) steps)) (if (%plan-aside? plan) (%bytes-in-parts (vector-ref plan 11) nodes) 0)
                 (let ((placed (filter (lambda (node) (<= 0 (%node-place node))) (vector->list nodes)))) (if (null? placed) -1 (%node-place (car placed))))
                 (car needs) (cdr needs))))
; Names of operators as programs say them.
(define (%names-of numbers nodes) (map (lambda (n) (%shown-operator (%node-operator (vector-ref nodes n)))) numbers))
; (work most-bytes work-of-one): of all tiles, of the largest of them, and of one tile that is all, without halos. The first, one in the middle and the
; last along each axis stand for the others.
(define (%all-tiles-take segment view)
  (let* ((members (%members-of segment)) (tiles (vector-ref segment 0)) (trial (%trial-segment members tiles view)))
    (fold-left (lambda ((list work bytes one) (cons tile weight))
                 (let ((takes (%tile-takes trial tile view))) (list (+ work (* weight (car takes))) (max bytes (cadr takes)) one)))
               (list 0 0 (car (%trial members (map (lambda (n) 1) tiles) view)))
               (%telling-tiles tiles (%node-places (vector-ref (vector-ref view 0) (car (vector-ref segment 3))))))))
(define (%telling-tiles tiles space)
  (if (null? tiles)
      '((0 . 1))
      (let* ((count (car tiles)) (n (if (null? space) #f (car space))) (others (%telling-tiles (cdr tiles) (if (null? space) '() (cdr space)))))
        (append-map (lambda ((cons i weight)) (map (lambda ((cons tile times)) (cons (+ i (* count tile)) (* weight times))) others))
                    (cond ((not n) '((0 . 1)))
                          ((< count 4) (map (lambda (i) (cons i 1)) (iota count)))
                          (else (list '(0 . 1) (cons (%longest (quotient count 2) count n) (- count 2)) (cons (- count 1) 1))))))))
; Of what a step gives to others that is kept for them.
(define (%bytes-given step view)
  (apply + (map (lambda (n) (if (%any? (lambda (by) (<= 0 by)) (vector-ref (vector-ref view 1) n)) (%bytes-of-node (vector-ref (vector-ref view 0) n)) 0))
                (if (eq? (car step) 'segment) (%kept-of (vector-ref (cdr step) 3) (%members-of (cdr step)) view) (list (cdr step))))))
(define (%members-of segment) (map (lambda (member) (vector-ref member 0)) (vector-ref segment 1)))

; Where one operator alone takes more than all memory, of one tile or as a whole, nothing would help but to do otherwise. What is pointwise may be done
; in the memory of its operand, and views take none.
(define (%check-that-it-fits step layouts view counts)
  (let* ((nodes (vector-ref view 0)) (budget (memory-budget)))
    (define (named n)
      (let* ((node (vector-ref nodes n)) (place (%text-of-place (%node-place node))))
        (format "~a~a" (%shown-operator (%node-operator node)) (if (string=? place "") "" (format " (in ~a)" place)))))
    (define (said n bytes how cure)
      (error (format "~a does not fit into the memory: ~a, ~a bytes with its result, and --memory has ~a; ~a" (named n) how bytes budget cure)))
    (define (wholes-that-read n)
      (filter (lambda (by) (if (< by 0) #f (let ((node (vector-ref nodes by))) (if (%node-near? node) #f (not (%reduces? node n)))))) (vector-ref (vector-ref view 1) n)))
    (define in-place-of-a-whole "an operator that is local along height and width, one behind a pool, or more memory would help")
    (define (bytes-of node elements) (* (%bytes-of (%node-type node)) elements))
    (define (view? node) (memq (%node-operator node) '(view permute transpose)))
    (if (eq? (car step) 'segment)
        (let* ((segment (cdr step)) (tiles (vector-ref segment 0)) (trial (%trial-segment (%members-of segment) tiles view))
               (tile (%middle-tile tiles (%node-places (vector-ref nodes (car (vector-ref segment 3)))))))
          (for-each (lambda ((cons member (cons box regions)))
                      (let* ((node (vector-ref member 1)) (most (%largest-operand (%node-operands node) regions nodes))
                             (bytes (+ (bytes-of node (apply * (cdr box))) (if (%pointwise? (%node-operator node)) 0 (car most)))))
                        (if (if (view? node) #f (< budget bytes))
                            (said (vector-ref member 0) bytes
                                  (format "a tile of ~a needs of its operand ~a" (cdr box) (cdr most))
                                  (if counts "more tiles, or more memory, would help" "fewer channels, a smaller window, or more memory would help")))))
                    (car (%tile-work (car trial) (cdr trial) tile)))
          (for-each (lambda (n)
                      (if (if (if (vector-ref layouts n) (< 0 (%file-budget)) (eqv? n (vector-ref view 4))) #f (< budget (%bytes-of-node (vector-ref nodes n))))
                          (let ((readers (wholes-that-read n)))
                            (said n (%bytes-of-node (vector-ref nodes n))
                                  (format "all of what it gives, ~a, is needed at once~a" (%node-sizes (vector-ref nodes n))
                                          (if (null? readers) "" (format " by ~a, which is computed as a whole" (named (car readers)))))
                                  (cond ((vector-ref layouts n) "a file for such borders (--spill), or more memory would help")
                                        ((pair? readers) in-place-of-a-whole)
                                        (else "a mean or another sum over it within f, tiled->npy, or more memory would help"))))))
                    (%kept-of (vector-ref segment 3) (%members-of segment) view)))
        (let* ((node (vector-ref nodes (cdr step))) (operands (filter (lambda (n) (not (vector-ref layouts n))) (%nodes-in (%node-operands node))))
               (bytes (+ (%bytes-of-node node) (if (%pointwise? (%node-operator node)) 0 (fold-left max 0 (map (lambda (n) (%bytes-of-node (vector-ref nodes n))) operands))))))
          (if (if (view? node) #f (< budget bytes))
              (said (cdr step) bytes (format "each part of its result needs all of its operand, so it is computed as a whole, ~a" (%node-sizes node))
                    in-place-of-a-whole))))))
; All that segments give is there at once where there is to be a derivative, but what is in a file; and in the sweep of each step what is given up to it,
; with those cotangents that are there in any case, and a tile. What is foreseen of a tile counts half, since it may be less.
(define (%check-that-borders-fit plan takes needs view)
  (let* ((nodes (%plan-nodes plan)) (borders (%borders-of plan view)) (small (filter (lambda (n) (if (%parts-kept? n plan) (not (%goes-to-file? n plan)) #f)) borders))
         (here (if (%plan-aside? plan) (append small (filter (lambda (n) (not (%parts-kept? n plan))) borders)) borders))
         (sure? (%sure-of-cotangents plan view))
         (within (filter (lambda (n) (%every? (lambda (by) (<= 0 by)) (vector-ref (vector-ref view 1) n))) here))
         (bytes (max (apply + (map (lambda (n) (%bytes-of-node (vector-ref nodes n))) here))
                     (%most-of-sweep (%sweep-spans within sure? plan view)
                                     (map (lambda (all) (if (if all (null? (%plan-devices plan)) #f) (quotient (cadr all) 2) 0)) takes)))))
    (define (in-kib bytes) (format "~aKiB" (quotient bytes 1024)))
    (if (< (memory-budget) bytes)
        (error (format "the borders of what is tiled do not fit into the memory: of these, their cotangents and a tile its derivative needs ~a bytes at once, and --memory has ~a; ~a, or --memory=~a would help"
                       bytes (memory-budget)
                       (cond ((< 0 (%file-budget)) (if (pair? small) (format "fewer tiles, as no part of less than ~a bytes goes to the file" %least-in-file) "less that is computed as a whole"))
                             ((= 0 (%file-budget #t)) "a file for them (--spill), with memory for tiles beside it, fewer norms over all places")
                             ((< (%file-budget #t) (cdr needs)) (format "the run went on without its file (--spill), which is too small: one of ~a instead of ~a, fewer norms over all places" (in-kib (cdr needs)) (in-kib (%file-budget #t))))
                             (else "the run went on without its file (--spill), whose buffer takes memory too: fewer norms over all places"))
                       (in-kib (max (car needs) (+ bytes (quotient bytes 8)))))))))
(define (%borders-of plan view)
  (append-map (lambda ((cons kind step)) (if (eq? kind 'segment) (%kept-of (vector-ref step 3) (%members-of step) view) '())) (%plan-steps plan)))
(define (%goes-to-file? n plan) (if (%parts-kept? n plan) (%for-file? (vector-ref (%plan-nodes plan) n) (%parts-kept? n plan)) #f))
; Of which borders there are cotangents in memory whatever of f's value is differentiated: it has one part that varies, and to each of them this goes back
; through more than reductions, of which numbers alone are kept.
(define (%sure-of-cotangents plan view)
  (let* ((nodes (%plan-nodes plan)) (varying (map (lambda (n) (vector-ref (%plan-varying plan) n)) (%plan-outputs plan)))
         (reached (car (%reached (if (= 1 (length (filter (lambda (varies?) varies?) varying))) varying (map (lambda (varies?) #f) varying)) plan))))
    (lambda (n)
      (if (vector-ref reached n)
          (%any? (lambda (by)
                   (let ((node (vector-ref nodes by)))
                     (if (vector-ref reached by) (if (%reduces? node n) #f (memv n (%nodes-in (%passing-operands node)))) #f)))
                 (vector-ref (vector-ref view 1) n))
          #f))))
; (memory . file): bytes that a derivative is foreseen to need, with inputs and parameters, rounded up, and those that all parts for the file take
; there.
(define (%sweep-needs plan takes inputs leaves view)
  (let* ((borders (%borders-of plan view)) (varies? (lambda (n) (vector-ref (%plan-varying plan) n)))
         (for-file (filter (lambda (n) (%goes-to-file? n plan)) borders)))
    (define (rounded bytes) (* 1048576 (+ 1 (quotient (quotient (* 9 bytes) 8) 1048576))))
    (cons (rounded (+ (%most-of-sweep (%sweep-spans borders varies? plan view) (map (lambda (all) (if all (max %least-bytes (cadr all)) 0)) takes))
                      (* 2 (apply + (map %bytes-of-tensor (append inputs (vector->list leaves)))))))
          (rounded (%most-of-sweep (%sweep-spans for-file varies? plan view) (map (lambda (all) 0) takes))))))
(define (%sweep-spans borders cotangent? plan view)
  (let ((steps (%plan-steps plan)))
    (map (lambda (n span) (cons (cotangent? n) span)) borders (%spans borders (%step-numbers steps (%plan-nodes plan)) (length steps) view))))
; (bytes . sizes) of the largest region, of operands that are no lists.
(define (%largest-operand operands regions nodes)
  (fold-left (lambda (most o region)
               (if (if (eq? (car o) 'node) region #f)
                   (let ((bytes (* (%bytes-of (%node-type (vector-ref nodes (cdr o)))) (apply * (cadr region)))))
                     (if (< (car most) bytes) (cons bytes (cadr region)) most))
                   most))
             (cons 0 '()) operands regions))

; Values of segments, where all who use them are other segments, or reductions; and arrays in files that are reduced.
(define (%layouts steps nodes wanted counts)
  (let ((inside (fold-left (lambda (marks (cons kind step)) (if (eq? kind 'segment) (%marked (map (lambda (m) (vector-ref m 0)) (vector-ref step 1)) marks) marks))
                           (make-vector (vector-length nodes) #f) steps))
        (users (%users nodes wanted)))
    (define (by-parts? by n) (if (< by 0) #f (if (vector-ref inside by) #t (%reduces? (vector-ref nodes by) n))))
    (fold-left (lambda (layouts (cons kind step))
                 (if (eq? kind 'segment)
                     (fold-left (lambda (layouts n)
                                  (if (%any? (lambda (by) (not (by-parts? by n))) (vector-ref users n)) layouts (vector-update layouts n (vector-ref step 0))))
                                layouts (vector-ref step 3))
                     layouts))
               (list->vector (map (lambda (node n)
                                    (if (if (%in-file? node) (%any? (lambda (by) (if (< by 0) #f (%reduces? (vector-ref nodes by) n))) (vector-ref users n)) #f)
                                        (%parts-in-file node counts)
                                        #f))
                                  (vector->list nodes) (iota (vector-length nodes))))
               steps)))
; By node the reductions that take its parts as they come from their tiles. What nobody else reads beyond its segment is not kept.
(define (%takers layouts view)
  (let ((nodes (vector-ref view 0)))
    (list->vector (map (lambda (n layout users)
                         (if (if layout (not (%input? (vector-ref nodes n))) #f) (filter (lambda (by) (%takes-parts? (vector-ref nodes by) n)) (%distinct users)) '()))
                       (iota (vector-length nodes)) (vector->list layouts) (vector->list (vector-ref view 1))))))
(define (%kept-parts steps layouts view)
  (fold-left (lambda (kept (cons kind step))
               (if (eq? kind 'segment)
                   (fold-left (lambda (kept n) (vector-update kept n (vector-ref layouts n))) kept (%kept-of (vector-ref step 3) (%members-of step) view))
                   kept))
             (vector-map (lambda (layout) #f) layouts) steps))
; Of outputs of a segment with these members those that others than such reductions read.
(define (%kept-of outputs members view)
  (let ((inside (%marked members (make-vector (vector-length (vector-ref view 0)) #f))))
    (define (keeps? by n) (cond ((< by 0) #t) ((vector-ref inside by) #f) (else (not (%takes-parts? (vector-ref (vector-ref view 0) by) n)))))
    (filter (lambda (n) (%any? (lambda (by) (keeps? by n)) (vector-ref (vector-ref view 1) n))) outputs)))
; Parts that are no smaller than it takes go to the file that waits for them (--spill) where with their cotangents they would take more than half of the
; memory budget: a tile beside a file has a quarter of it.
(define (%aside? steps kept view)
  (if (if (memory-budget) (< 0 (%file-budget)) #f)
      (let* ((nodes (vector-ref view 0))
             (borders (filter (lambda (n) (if (vector-ref kept n) (%for-file? (vector-ref nodes n) (vector-ref kept n)) #f)) (iota (vector-length nodes)))))
        (< (quotient (memory-budget) 2) (%most-of-borders (%spans borders (%step-numbers steps nodes) (length steps) view))))
      #f))
; By node the number of its step; inputs are there from the first one on.
(define (%step-numbers steps nodes)
  (fold-left (lambda (numbers (cons kind step) i)
               (fold-left (lambda (numbers n) (vector-update numbers n i)) numbers (if (eq? kind 'segment) (%members-of step) (list step))))
             (make-vector (vector-length nodes) 0) steps (iota (length steps))))
(define (%bytes-in-parts kept nodes)
  (apply + (map (lambda (node kept) (if (if kept (%for-file? node kept) #f) (%bytes-of-node node) 0)) (vector->list nodes) (vector->list kept))))
(define (%for-file? node counts) (<= %least-in-file (quotient (%bytes-of-node node) (apply * counts))))
(define (%bytes-of-node node) (* (%bytes-of (%node-type node)) (apply * (%node-sizes node))))

(define (%varying nodes inputs varying-leaves)
  (define (varies? varying)
    (lambda (o)
      (case (car o)
        ((node) (vector-ref varying (cdr o)))
        ((leaf) (vector-ref varying-leaves (cdr o)))
        ((number) (vector-ref varying-leaves (cadr o)))
        ((list) (%any? (varies? varying) (cdr o)))
        (else #f))))
  (let %varying/loop ((n (length inputs)) (varying (list->vector (append (map %leaf-varies? inputs) (map (lambda (i) #f) (iota (- (vector-length nodes) (length inputs))))))))
    (if (= n (vector-length nodes))
        varying
        (let ((node (vector-ref nodes n)))
          (%varying/loop (+ n 1) (vector-update varying n (if (memq (%node-type node) '(f32 f64 bf16)) (%any? (varies? varying) (%passing-operands node)) #f)))))))
; Those through which a derivative passes. Of a norm all but what is added to the variance.
(define (%passing-operands node)
  (let ((operator (%node-operator node)) (operands (%node-operands node)))
    (case operator
      ((%normalized) (list-head operands 5))
      ((stop-gradient greatest) '())
      ((sum-of-exponentials) (list (car operands)))
      (else (append-map (lambda (o i) (if (%passes-derivative? operator i) (list o) '())) operands (iota (length operands)))))))
(define (%leaf-varies? v)
  (cond ((tensor? v) (if (%has-derivative? v) (%may-vary? v) #f)) ((number? v) (%may-vary? v)) (else #f)))

; Counts of tiles, or #f: as many as the memory budget asks for.
(define (%steps nodes leaves view counts inputs devices)
  (let* ((near (vector-map %node-near? nodes))
         (stages (%stages nodes near))
         (none (make-vector (+ 1 (fold-left max 0 (vector->list stages))) '()))
         (stages-of (lambda (keep?)
                      (vector->list (fold-left (lambda (found n)
                                                 (if (keep? n) (let ((stage (vector-ref stages n))) (vector-update found stage (cons n (vector-ref found stage)))) found))
                                               none (reverse (iota (vector-length nodes)))))))
         (near-nodes (stages-of (lambda (n) (vector-ref near n))))
         (whole-nodes (stages-of (lambda (n) (%whole? n nodes near)))))
    (apply append
           (map (lambda (groups whole)
                  (append (map (lambda (group) (cons 'segment (%segment-of (car group) (cdr group) view))) groups)
                          (map (lambda (n) (cons 'whole n)) whole)))
                (map (lambda (groups) (map (lambda ((cons* members work tiles)) (cons members tiles)) groups))
                     (if counts (%grouped-by-tiles near-nodes counts view) (%grouped-by-budget near-nodes stages leaves inputs view devices)))
                whole-nodes))))

; Nodes, by node those that use it, what regions of its operands are made of, what work a byte of a border costs, what goes to a file, or #f, by node
; the work of an element, and whether its part stays while a tile is differentiated.
(define (%view-of nodes leaves wanted to-file)
  (let ((from (vector-map (lambda (node) (%of-regions node nodes leaves)) nodes)) (users (%users nodes wanted)))
    (vector nodes users from %work-of-border-byte to-file
            (list->vector (map (lambda (node from) (if (%input? node) 0 (%work-of-element node from))) (vector->list nodes) (vector->list from)))
            (%staying nodes users to-file))))
(define (%view-by-file view) (vector-update view 3 %work-of-byte-in-file))

(define (%stages nodes near)
  (let %stages/loop ((n 0) (stages (make-vector (vector-length nodes) 0)))
    (if (= n (vector-length nodes))
        stages
        (%stages/loop (+ n 1)
                      (vector-update stages n
                                     (fold-left (lambda (stage m)
                                                  (max stage
                                                       (+ (vector-ref stages m)
                                                          (if (if (vector-ref near n)
                                                                  (case (vector-ref near n)
                                                                    ((bins) #t)
                                                                    ((apart) (if (%whole? m nodes near) #t (not (%as-usual? (vector-ref nodes m)))))
                                                                    (else (%whole? m nodes near)))
                                                                  #f)
                                                              1 0))))
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
; inputs and outputs are numbers, leaves the numbers of those that members use; nodes are those of the graph.
(define (%segment-of members tiles view)
  (let* ((nodes (vector-ref view 0)) (outputs (%outputs members view)))
    (vector tiles (%with-dead (reverse members) nodes (%marked outputs (make-vector (vector-length nodes) #f)) '()) (%inputs-of members nodes) outputs
            (append-map (lambda (n) (%leaves-in (%node-operands (vector-ref nodes n)))) members)
            nodes)))

(define (%inputs-of members nodes)
  (let ((inside (%marked members (make-vector (vector-length nodes) #f))))
    (%distinct (sort-list < (filter (lambda (n) (not (vector-ref inside n))) (append-map (lambda (n) (%nodes-in (%node-operands (vector-ref nodes n)))) members))))))

(define (%with-dead members nodes kept l)
  (if (null? members)
      l
      (let* ((node (vector-ref nodes (car members)))
             (dead (filter (lambda (m) (not (vector-ref kept m))) (%distinct (%nodes-in (%node-operands node))))))
        (%with-dead (cdr members) nodes (%marked dead kept) (cons (vector (car members) node dead) l)))))
(define (%distinct l) (if (null? l) '() (if (memv (car l) (cdr l)) (%distinct (cdr l)) (cons (car l) (%distinct (cdr l))))))

(define (%leaves-in operands)
  (append-map (lambda (o) (case (car o) ((leaf) (list (cdr o))) ((number) (list (cadr o))) ((list) (%leaves-in (cdr o))) (else '()))) operands))
