; Which box of each value a tile needs, from the outputs of its segment back; a segment is as tile-plans.scm makes it.

; (member . descriptions of its operands), the last member first.
(define (%prepared segment leaves)
  (fold-left (lambda (l member) (cons (cons member (map (lambda (o) (%described o (vector-ref segment 5) leaves)) (%node-operands (vector-ref member 1)))) l))
             '() (vector-ref segment 1)))

; (work boxes-of-inputs boxes-of-outputs): work is (member box . regions of operands) in order, without members that nobody needs. A box is
; (starts . sizes).
(define (%tile-work segment prepared tile)
  (let* ((nodes (vector-ref segment 5))
         (out (map (lambda (n) (%output-box (vector-ref nodes n) (vector-ref segment 0) tile)) (vector-ref segment 3)))
         (boxes (fold-left (lambda (boxes n box) (if box (%with-box boxes n box) boxes)) '() (vector-ref segment 3) out)))
    (let %tile-work/loop ((members prepared) (boxes boxes) (work '()))
      (if (null? members)
          (list work (map (lambda (n) (%box-of n boxes)) (vector-ref segment 2)) out)
          (let* ((member (caar members)) (n (vector-ref member 0)) (box (%box-of n boxes)))
            (if box
                (let* ((box (%whole-lines (vector-ref member 1) box)) (regions (%regions (vector-ref member 1) (cdar members) box)) (boxes (remove (lambda (entry) (= n (car entry))) boxes)))
                  (%tile-work/loop (cdr members) (%with-boxes (%node-operands (vector-ref member 1)) regions boxes) (cons (cons member (cons box regions)) work)))
                (%tile-work/loop (cdr members) boxes work)))))))

; What is computed of whole lines gives whole lines, whatever part of them is wanted.
(define (%whole-lines node box)
  (fold-left (lambda (box axis) (cons (%with-item (car box) axis 0) (%with-item (cdr box) axis (list-ref (%node-sizes node) axis)))) box (%node-lines node)))
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
(define (%with-item l i x) (if (= i 0) (cons x (cdr l)) (cons (car l) (%with-item (cdr l) (- i 1) x))))

(define (%box-of n boxes) (let ((found (assv n boxes))) (if found (cdr found) #f)))
(define (%with-box boxes n box)
  (cond ((null? boxes) (list (cons n box)))
        ((= n (caar boxes)) (cons (cons n (%hull (cdar boxes) box)) (cdr boxes)))
        (else (cons (car boxes) (%with-box (cdr boxes) n box)))))
(define (%hull a b)
  (if (equal? a b)
      a
      (let ((starts (map (lambda (a b) (min a b)) (car a) (car b))))
        (cons starts (map (lambda (a b start) (- (max a b) start)) (%ends a) (%ends b) starts)))))
; Where boxes overlap, which they do.
(define (%overlap a b)
  (let ((starts (map (lambda (a b) (max a b)) (car a) (car b))))
    (cons starts (map (lambda (a b start) (- (min a b) start)) (%ends a) (%ends b) starts))))
(define (%ends box) (map (lambda (start size) (+ start size)) (car box) (cdr box)))
; A box as seen from the beginning of another.
(define (%inside box part) (cons (map (lambda (start from) (- start from)) (car part) (car box)) (cdr part)))
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
