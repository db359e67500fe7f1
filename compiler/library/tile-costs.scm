; What a tile takes, work and bytes, and what borders hold at once (tile-plans.scm). Nothing but regions and what operators declare has a part in it.

(define %work-of-element-moved 16)      ; of what is no convolution most of the time goes into memory: some elements, of 4 bytes, are read and written
(define %work-of-border-byte 4)         ; it is written, and read twice, with halos; its cotangent is written as often as tiles reach it
(define %work-of-byte-in-file 100)      ; a disk has so much less a second than a processor computes

; (work . bytes) that tiles of these members take, by one in the middle: work times as many as its outputs are of all.
(define (%trial members tiles view)
  (let* ((segment+prepared (%trial-segment members tiles view))
         (found (%tile-takes segment+prepared (%middle-tile tiles (%node-places (vector-ref (vector-ref view 0) (car (vector-ref (car segment+prepared) 3))))) view))
         (all (apply + (map (lambda (n) (apply * (%node-sizes (vector-ref (vector-ref view 0) n)))) (vector-ref (car segment+prepared) 3)))))
    (cons (* (car found) (/ all (max 1 (caddr found)))) (cadr found))))
(define (%trial-segment members tiles view)
  (let ((nodes (vector-ref view 0)))
    (cons (vector tiles '() (%inputs-of members nodes) (%outputs members view) '() nodes)
          (fold-left (lambda (l n) (cons (cons (vector n (vector-ref nodes n) '()) (vector-ref (vector-ref view 2) n)) l)) '() members))))

; Of one tile: work, bytes that it holds while it is differentiated, and elements of its outputs. What it reads is there, what rules or later members
; read of its values, and beside them two of the largest, a value and its cotangent, or two cotangents.
(define (%tile-takes segment+prepared tile view)
  (let ((of-tile (%tile-work (car segment+prepared) (cdr segment+prepared) tile)) (stays (vector-ref view 6)))
    (let %takes/loop ((left (car of-tile)) (work 0) (bytes (%bytes-read (vector-ref (car segment+prepared) 2) (cadr of-tile) view)) (most 0))
      (if (null? left)
          (list work (+ bytes (* 2 most)) (fold-left (lambda (n box) (if box (+ n (%elements-of box)) n)) 0 (caddr of-tile)))
          (let* ((member (caar left)) (number (vector-ref member 0)) (n (%elements-of (cadar left))) (more (* n (%bytes-of (%node-type (vector-ref member 1))))))
            (%takes/loop (cdr left) (+ work (* n (vector-ref (vector-ref view 5) number)))
                         (+ bytes (if (vector-ref stays number) more 0) (%bytes-laid-out (vector-ref member 1) (cddar left)))
                         (max most more)))))))
(define (%bytes-read numbers boxes view)
  (apply + (map (lambda (n box) (if box (* (%elements-of box) (%bytes-of (%node-type (vector-ref (vector-ref view 0) n)))) 0)) numbers boxes)))
; Adaptive pools lay out each bin in as many places as the longest has, along one axis after the other.
(define (%bytes-laid-out node regions)
  (if (memq (%node-operator node) '(adaptive-max-pool adaptive-average-pool))
      (* 4 (%bytes-of (%node-type node)) (apply * (cadr (car regions))))
      0))
; Whether reverse rules read operand i, or the result where that is #f: of steps that are made of several operators their operands, and not the result.
(define (%rule-reads? operator i)
  (if (memq operator '(%normalized stop-gradient greatest sum-of-exponentials)) (number? i) (%derivative-reads? operator i)))
; By node, whether its part stays while a tile is differentiated: rules read it, or members that do not stand just behind it. Of what goes to a file
; there are no derivatives.
(define (%staying nodes users to-file)
  (define (reads? by n)
    (let ((node (vector-ref nodes by)))
      (%any? (lambda (i) (if (memv n (%nodes-in (list (list-ref (%node-operands node) i)))) (%rule-reads? (%node-operator node) i) #f))
             (iota (length (%node-operands node))))))
  (list->vector
   (map (lambda (n node users)
          (cond ((if (null? users) #t (%input? node)) #f)
                ((pair? (cdr users)) #t)
                ((if (< 0 (car users)) (not (= (car users) (+ n 1))) #f) #t)
                (to-file #f)
                ((%rule-reads? (%node-operator node) #f) #t)
                ((< (car users) 0) #f)
                (else (reads? (car users) n))))
        (iota (vector-length nodes)) (vector->list nodes) (vector->list users))))
(define (%elements-of box) (fold-left (lambda (product n) (* product n)) 1 (cdr box)))
; Near the middle, but where a tile of the first output is as long as any.
(define (%middle-tile tiles space)
  (cond ((null? tiles) 0)
        ((null? space) (* (car tiles) (%middle-tile (cdr tiles) '())))
        ((not (car space)) (* (car tiles) (%middle-tile (cdr tiles) (cdr space))))
        (else (+ (%longest (quotient (car tiles) 2) (car tiles) (car space)) (* (car tiles) (%middle-tile (cdr tiles) (cdr space)))))))
(define (%longest i count n)
  (if (>= (- (quotient (* (+ i 1) n) count) (quotient (* i n) count)) (quotient (+ n count -1) count)) i (%longest (remainder (+ i 1) count) count n)))
(define (%bytes-of type) (case type ((f64 i64) 8) ((f32 i32) 4) ((bf16 i16) 2) (else 1)))
(define (%work-of-element node from)
  (if (memq (%node-operator node) '(convolve convolve-add-tied transpose-convolve))
      (/ (* 2 (apply * (size (cadr from)))) (max 1 (cadr (%node-sizes node))))
      %work-of-element-moved))

; --- borders

; What borders take at most while there is a sweep, of (bytes first . last): the stages, or steps, that make one and that read it last. Values go when
; the sweep has passed what made them; cotangents are there from their last reader on. All are there when the sweep begins at the last one.
(define (%most-of-borders spans)
  (let* ((count (+ 1 (fold-left max 0 (map cddr spans))))
         (made (fold-left (lambda (made (cons* bytes first last)) (vector-update made first (+ (vector-ref made first) bytes))) (make-vector count 0) spans))
         (read (fold-left (lambda (read (cons* bytes first last)) (vector-update read last (+ (vector-ref read last) bytes))) (make-vector count 0) spans)))
    (let %most/loop ((s 0) (held 0) (most 0))
      (if (= s count)
          most
          (let ((held (+ held (* 2 (vector-ref made s))))) (%most/loop (+ s 1) (- held (vector-ref read s)) (max most held)))))))
; Of nodes that are kept, by the number of the stage or step of each node.
(define (%spans kept stage-of last view)
  (map (lambda (n)
         (cons (%bytes-of-node (vector-ref (vector-ref view 0) n))
               (cons (vector-ref stage-of n)
                     (fold-left (lambda (latest by) (max latest (if (< by 0) last (vector-ref stage-of by)))) (vector-ref stage-of n) (vector-ref (vector-ref view 1) n)))))
       kept))
; What borders take at most in the sweep of some step, with what each step has beside them, of (cotangent? bytes first . last): the value of one goes when
; the step that made it is swept. What its readers' parts give to cotangents comes as those of what they made go: either all of one or of the other are there.
(define (%most-of-sweep spans beside)
  (fold-left (lambda (most s beside)
               (define (held there?) (fold-left (lambda (sum (cons* cotangent? bytes first last)) (if (there? cotangent? first last) (+ sum bytes) sum)) 0 spans))
               (max most
                    (+ beside (held (lambda (cotangent? first last) (<= first s)))
                       (max (held (lambda (cotangent? first last) (if cotangent? (if (<= first s) (< s last) #f) #f)))
                            (held (lambda (cotangent? first last) (if cotangent? (if (< first s) (<= s last) #f) #f)))))))
             0 (iota (length beside)) beside))
