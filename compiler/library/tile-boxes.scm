; Which box of each value a tile needs, from the outputs of its segment back; a segment is as tile-plans.scm makes it.

; (member . what its regions are made of), the last member first.
(define (%prepared segment leaves)
  (fold-left (lambda (l member) (cons (cons member (%of-regions (vector-ref member 1) (vector-ref segment 5) leaves)) l)) '() (vector-ref segment 1)))

; (work boxes-of-inputs boxes-of-outputs): work is (member box . regions of operands) in order, without members that nobody needs. A box is
; (starts . sizes).
(define (%tile-work segment prepared tile)
  (let* ((nodes (vector-ref segment 5))
         (out (map (lambda (n) (%output-box (vector-ref nodes n) (vector-ref segment 0) tile)) (vector-ref segment 3)))
         (boxes (fold-left (lambda (boxes n box) (if box (%with-box boxes n box) boxes)) (make-vector (vector-length nodes) #f) (vector-ref segment 3) out)))
    (let %tile-work/loop ((members prepared) (boxes boxes) (work '()))
      (if (null? members)
          (list work (map (lambda (n) (vector-ref boxes n)) (vector-ref segment 2)) out)
          (let* ((member (caar members)) (box (vector-ref boxes (vector-ref member 0))))
            (if box
                (let* ((box (%with-whole-lines (vector-ref member 1) box)) (regions (%regions (vector-ref member 1) (cdar members) box)))
                  (%tile-work/loop (cdr members) (%with-boxes (%node-operands (vector-ref member 1)) regions boxes) (cons (cons member (cons box regions)) work)))
                (%tile-work/loop (cdr members) boxes work)))))))

; What is computed of whole lines gives whole lines, whatever part of them is wanted.
(define (%with-whole-lines node box) (if (null? (%node-lines node)) box (%whole-lines box (%node-lines node) (%node-sizes node))))
; Of a tile, #f where it has none: what lacks an axis of space is all in the first tile along that.
(define (%output-box node counts tile) (%part-box (%node-sizes node) (%node-axes node) counts tile))
(define (%with-item l i x) (if (= i 0) (cons x (cdr l)) (cons (car l) (%with-item (cdr l) (- i 1) x))))

; Boxes by number, #f where nothing is wanted.
(define (%with-box boxes n box)
  (let ((known (vector-ref boxes n))) (vector-update boxes n (if known (%hull known box) box))))
(define (%with-boxes operands regions boxes)
  (cond ((null? operands) boxes)
        ((not (car regions)) (%with-boxes (cdr operands) (cdr regions) boxes))
        ((eq? (caar operands) 'node) (%with-boxes (cdr operands) (cdr regions) (%with-box boxes (cdar operands) (%region-box (car regions)))))
        ((eq? (caar operands) 'list) (%with-boxes (cdr operands) (cdr regions) (%with-boxes (cdar operands) (car regions) boxes)))
        (else (%with-boxes (cdr operands) (cdr regions) boxes))))
(define (%region-box region) (cons (car region) (cadr region)))

; Regions are (starts sizes before behind), #f of what is not looked at. They are made of the operands as operand-regions takes them, or of what
; is the same for every box: a norm reads its vectors as a whole.
(define (%of-regions node nodes leaves)
  (let ((described (map (lambda (o) (%described o nodes leaves)) (%node-operands node))))
    (if (eq? (%node-operator node) '%normalized)
        (map (lambda (o) (if (tensor? o) (%region (map (lambda (n) 0) (size o)) (size o)) #f)) (cdr described))
        described)))
(define (%regions node from box)
  (case (%node-operator node)
    ((%normalized) (cons (%region (car box) (cdr box)) from))
    ((stop-gradient) (list (%region (car box) (cdr box))))
    (else (operand-regions (%node-operator node) from (%node-result node) (car box) (cdr box)))))
(define (%region starts sizes) (let ((zeros (map (lambda (n) 0) sizes))) (list starts sizes zeros zeros)))
