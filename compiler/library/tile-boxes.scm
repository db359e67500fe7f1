; Which box of each value a tile needs, from the outputs of its segment back; a segment is as tile-plans.scm makes it.

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
  (define (whole-along lines?)
    (fold-left (lambda (box axis n) (if (lines? axis) (cons (%with-item (car box) axis 0) (%with-item (cdr box) axis n)) box))
               box (iota (length (%node-sizes node))) (%node-sizes node)))
  (cond ((not box) #f)
        ((memq (%node-operator node) '(%normalized layer-normalization rms-normalization softmax log-softmax fused-scale-mask-softmax sort argsort top-k cumulative-sum))
         (whole-along (lambda (axis) (not (memv axis (%node-axes node))))))
        ((%in-groups? node) (whole-along (lambda (axis) (= axis 1))))
        (else box)))
; A part of the channels would be of other groups, or of a part of one.
(define (%in-groups? node)
  (let ((at (case (%node-operator node) ((convolve transpose-convolve) 5) ((convolve-add-tied) 6) (else #f))))
    (if at (not (= 1 (%operand (map cdr (%node-operands node)) at 1))) #f)))

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
  (case (%node-operator node)
    ((%normalized)
     (cons (%region (car box) (cdr box))
           (map (lambda (o) (if (tensor? o) (%region (map (lambda (n) 0) (size o)) (size o)) #f)) (cdr described))))
    ((stop-gradient) (list (%region (car box) (cdr box))))
    (else (operand-regions (%node-operator node) described (%node-result node) (car box) (cdr box)))))
(define (%region starts sizes) (let ((zeros (map (lambda (n) 0) sizes))) (list starts sizes zeros zeros)))
