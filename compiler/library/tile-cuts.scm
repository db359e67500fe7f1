; Where segments are cut, and how many tiles each has (tile-plans.scm), by what tiles and borders take (tile-costs.scm).

(define %worth .95)                     ; times the work: what spares less may spare nothing, as work is only foreseen

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

; (work . tiles) for as few tiles as are no heavier than the limit.
(define (%fitted members tiles limit view)
  (let %fitted/loop ((counts (%fewer (%at-most tiles members view) '())))
    (let ((found (%trial members (car counts) view)))
      (if (if (null? (cdr counts)) #t (<= (cdr found) limit)) (cons (car found) (car counts)) (%fitted/loop (cdr counts))))))
(define (%fewer tiles l)
  (if (= 1 (apply * tiles)) (cons tiles l) (%fewer (map (lambda (n) (quotient (+ n n 1) 3)) tiles) (cons tiles l))))
; No more tiles than the largest output has elements along an axis.
(define (%at-most tiles members view)
  (let ((spaces (map (lambda (n) (%node-space (vector-ref (vector-ref view 0) n))) (%outputs members view))))
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

; (bytes first second), or #f where no cut is worth a border. Only halos can be spared.
(define (%best-cut group room tiles limit view)
  (let %best-cut/loop ((left (if (< (car (%trial (car group) (map (lambda (n) 1) tiles) view)) (* %worth (cadr group))) (%cuts (car group) room view) '()))
                       (best #f) (work (* %worth (cadr group))))
    (if (null? left)
        best
        (let* ((bytes (caar left)) (halves (cdar left))
               (first (%fitted (car halves) tiles limit view)) (second (%fitted (cdr halves) tiles limit view))
               (sum (+ (car first) (car second) (* (vector-ref view 3) bytes))))
          (if (< sum work)
              (%best-cut/loop (cdr left) (list bytes (cons (car halves) first) (cons (cdr halves) second)) sum)
              (%best-cut/loop (cdr left) best work))))))
; Cuts (bytes members . members) with light borders, which are what lives on behind them, with its cotangent: where a border is lighter than one
; before, and at each quarter. What others use is a border in any case, so it has no bytes here.
(define (%cuts members room view)
  (let* ((nodes (vector-ref view 0)) (users (vector-ref view 1))
         (none (make-vector (vector-length nodes) #f)) (inside (%marked members none)) (borders (%marked (%kept-of (%outputs members view) members view) none)))
    (define (last-use n) (fold-left max n (filter (lambda (by) (if (< by 0) #f (vector-ref inside by))) (vector-ref users n))))
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

; --- for tiles that were asked for, and for a budget of memory

(define (%grouped-by-tiles stages counts view)
  (let ((limit (fold-left max 0 (map (lambda (members) (if (null? members) 0 (cdr (%trial members counts view)))) stages))))
    (%grouped stages counts limit limit view)))

; Of a budget what is left by inputs and borders with their cotangents, and by parameters with their gradients and those of one tile, is divided
; between a tile and more borders, in the one of some ways that makes least work. Where it would be little, or more work, and there is a file for
; borders (--spill), a tile has a quarter of what memory the file leaves; of little, where tiles would be smaller than pays, it may have a third. Without a budget a tile may hold 64 MiB. Where tiles are dealt over devices, there is one more
; than those at a time, each device has parameters and gradients of its own, and a tile is no heavier than what the smallest of them has left by these.
(define (%grouped-by-budget stages stage-of leaves inputs view devices)
  (let* ((budget (memory-budget)) (nodes (vector-ref view 0)) (most (%largest-of (map %node-space (vector->list nodes))))
         (of-leaves (apply + (map %bytes-of-tensor (vector->list leaves)))) (in-work (+ 1 (length devices))) (on-devices (%room-on-devices devices of-leaves)))
    (define (grouped limit room view) (%grouped stages most (if on-devices (min limit on-devices) limit) room view))
    (define (divided rest part) (let ((limit (max %least-bytes (quotient (* part rest) 4)))) (grouped (quotient limit in-work) (max 0 (- rest limit)) view)))
    (define (work-of grouped) (apply + (map (lambda (groups) (apply + (map cadr groups))) grouped)))
    (if budget
        (let* ((memory (- (quotient (* 9 budget) 10) (* (+ 3 (* 2 (length devices))) of-leaves) (* 2 (apply + (map %bytes-of-tensor inputs)))))
               (borders (filter (lambda (n) (not (eqv? n (vector-ref view 4)))) (append-map (lambda (members) (%kept-of (%outputs members view) members view)) stages)))
               (rest (- memory (%most-of-borders (%spans borders stage-of (length stages) view)))))
          (define (by-file)
            (let* ((memory (- memory %bytes-of-file)) (limit (max (quotient memory 4) (min %least-bytes (max (quotient memory 3) (quotient budget 16))))))
              (grouped (quotient limit in-work) (quotient (%file-budget) 4) (%view-by-file view))))
          (define (in-memory)
            (fold-left (lambda (best part) (let ((new (divided rest part))) (if (< (work-of new) (work-of best)) new best))) (divided rest 2) '(1 3)))
          (cond ((= 0 (%file-budget)) (in-memory))
                ((< rest (quotient memory 2)) (by-file))
                (else (let ((here (in-memory)) (there (by-file))) (if (< (work-of there) (* %worth (work-of here))) there here)))))
        (grouped %bytes-without-budget %bytes-without-budget view))))
(define (%bytes-of-tensor t) (if (tensor? t) (* (%bytes-of (tensor-type t)) (apply * (size t))) 0))
; For one tile, of the memory that the run was told devices have (memory= of --device), by how many tiles each of them has in work; #f where it was told of
; none. What is left by parameters, their gradients and those of one tile is little where these fill the device: then a tile has an eighth.
(define (%room-on-devices devices of-leaves)
  (fold-left (lambda (least device)
               (let ((bytes (%device-budget device)))
                 (if bytes
                     (let* ((share (quotient bytes (+ 1 (length (filter (lambda (other) (eq? other device)) devices)))))
                            (room (max (quotient share 8) (- (quotient (* 9 share) 10) (* 3 of-leaves)))))
                       (if least (min least room) room))
                     least)))
             #f devices))
