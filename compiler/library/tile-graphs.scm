; Graphs of what is tiled (tiles.scm), recorded on tensors of which sizes alone are known. What is recorded as other operators than f says is in
; tile-rewrites.scm; which operators can be computed by parts, in tile-axes.scm.

; --- recording. An array in a file stands for a tensor that is read tile by tile.

; An input is known by its number and by the text of its recording, which no other one has, whatever its letters.
; It has no place, -1; that of an array in a file is -2, so that errors say how to give it other sizes.
(define (%recorded type sizes residence number recording place) (vector '%recorded type sizes residence '%input number recording place))

(define (%type-of t) (if (tensor? t) (tensor-type t) (%array-type t)))
(define (%sizes-of t) (if (tensor? t) (size t) (cadddr t)))
(define (%residence-of t) (if (tensor? t) (tensor-residence t) (%array-residence)))

; The tensors in pairs and vectors of x, the last first.
(define (%tensors-in who x l)
  (cond ((tensor? x) (cons x l))
        ((%file-array? x) (cons (%exact-array who x) l))
        ((pair? x) (%tensors-in who (cdr x) (%tensors-in who (car x) l)))
        ((vector? x) (fold-left (lambda (l x) (%tensors-in who x l)) l (vector->list x)))
        (else l)))

; x with others in the place of its tensors, which are given in their order; and those that are left.
(define (%with-tensors x l)
  (cond ((if (tensor? x) #t (%file-array? x)) l)
        ((pair? x)
         (let* ((a (%with-tensors (car x) l)) (d (%with-tensors (cdr x) (cdr a))))
           (cons (cons (car a) (car d)) (cdr d))))
        ((vector? x) (let ((l (%with-tensors (vector->list x) l))) (cons (list->vector (car l)) (cdr l))))
        (else (cons x l))))
(define (%recorded-inputs inputs recording)
  (map (lambda (t n) (%recorded (%type-of t) (%sizes-of t) (%residence-of t) n recording (if (tensor? t) -1 -2))) inputs (iota (length inputs))))

; --- the graph: #(nodes leaves template others?), nodes and leaves as vectors; `others?`: it has inputs of another recording, around this one. A node is #(operator operands result type sizes residence place axes near lines);
; inputs come first and have the operator %input, and the result 1 where they are arrays in files; `axes`, `near` and `lines` are in tile-axes.scm. An
; operand is (node . n), (leaf . k), (number k . value), (list operand ...) or (is . constant); leaves are the tensors and numbers that f knew. The
; template is f's value with operands in the place of tensors.

(define (%node operator operands result type sizes residence place) (vector operator operands result type sizes residence place '() #f '()))
(define (%node-operator n) (vector-ref n 0))
(define (%node-operands n) (vector-ref n 1))
(define (%node-result n) (vector-ref n 2))
(define (%in-file? n) (if (eq? (%node-operator n) '%input) (= 1 (%node-result n)) #f))
(define (%node-type n) (vector-ref n 3))
(define (%node-sizes n) (vector-ref n 4))
(define (%node-residence n) (vector-ref n 5))
(define (%node-place n) (vector-ref n 6))
(define (%node-axes n) (vector-ref n 7))
(define (%node-near? n) (vector-ref n 8))
(define (%node-lines n) (vector-ref n 9))

; What has been seen: #(seen nodes leaves node-count leaf-count alike recording others?), vectors with room for more. `seen` has (operands result . operand) for each
; application of an operator, known by the list of its operands, which results share; `alike` has (operands . tensor) for what is made otherwise.
(define (%graph-of y inputs recording)
  (let* ((none (make-vector 16 #f))
         (seen (fold-left (lambda (seen t) (cdr (%new-node (%node '%input '() (if (tensor? t) 0 1) (%type-of t) (%sizes-of t) (%residence-of t) -1) seen))) (vector '() none none 0 0 '() recording #f) inputs))
         (y+seen (%visit-structure y seen))
         (seen (cdr y+seen)))
    (define (filled v n) (list->vector (list-head (vector->list v) n)))
    (vector (filled (vector-ref seen 1) (vector-ref seen 3)) (filled (vector-ref seen 2) (vector-ref seen 4)) (car y+seen) (vector-ref seen 7))))

(define (%visit-structure v seen)
  (cond ((if (tensor? v) #t (number? v)) (%visit v seen))
        ((pair? v)
         (let* ((a (%visit-structure (car v) seen)) (d (%visit-structure (cdr v) (cdr a))))
           (cons (cons 'pair (cons (car a) (car d))) (cdr d))))
        ((capsule? v) (%refuse-recorded "f gives a capsule, and what a run within f holds is recorded: resume it within f, or interrupt outside"))
        ((vector? v)
         (let ((l (%visit-structure (vector->list v) seen))) (cons (cons 'vector (car l)) (cdr l))))
        (else
         (%refuse-recorded "f gives a procedure that holds a tensor of which only type and sizes are known, as f runs once on sizes alone: let f give that tensor, and make the procedure outside, of what `tiled` gives"
                           v (vector-ref seen 6))
         (cons (cons 'is v) seen))))

(define (%visit v seen)
  (cond ((%recorded? v) (%visit-recorded v seen))
        ((tensor? v) (%new-leaf v (lambda (k) (cons 'leaf k)) seen))
        ((number? v) (if (exact? v) (cons (cons 'is v) seen) (%new-leaf v (lambda (k) (cons 'number (cons k (stop-gradient v)))) seen)))
        ((if (vector? v) (if (< 0 (vector-length v)) (tensor? (vector-ref v 0)) #f) #f) (%visit (vector->list v) seen))
        ((if (pair? v) (tensor? (car v)) #f)
         (let ((l (%visit-all v seen))) (cons (cons 'list (car l)) (cdr l))))
        (else (cons (cons 'is v) seen))))

(define (%visit-all l seen)
  (if (null? l)
      (cons '() seen)
      (let* ((a (%visit (car l) seen)) (d (%visit-all (cdr l) (cdr a))))
        (cons (cons (car a) (car d)) (cdr d)))))

(define (%new-leaf v operand seen)
  (let ((k (vector-ref seen 4)))
    (cons (operand k) (vector-update (vector-update seen 2 (%with-next (vector-ref seen 2) k v)) 4 (+ k 1)))))

(define (%new-node node seen)
  (let* ((n (vector-ref seen 3)) (nodes (vector-ref seen 1)))
    (cons (cons 'node n) (vector-update (vector-update seen 1 (%with-next nodes n (%with-axes node nodes (vector-ref seen 2)))) 3 (+ n 1)))))
(define (%with-next v n x)
  (vector-update (if (< n (vector-length v)) v (list->vector (append (vector->list v) (vector->list v)))) n x))

(define (%visit-recorded v seen)
  (if (eq? (vector-ref v 4) '%input)
      (if (eq? (vector-ref v 6) (vector-ref seen 6))
          (cons (cons 'node (vector-ref v 5)) seen)
          (%new-node (%node '%input '() 0 (vector-ref v 1) (vector-ref v 2) (vector-ref v 3) -1) (vector-update seen 7 #t)))
      (let* ((operands (vector-ref v 5)) (result (vector-ref v 6)) (known (%known operands result (vector-ref seen 0))))
        (if known
            (cons known seen)
            (let* ((alike (%made-alike v seen))
                   (made (if (%same? (car alike) v)
                             (let ((l (%visit-all operands (cdr alike))))
                               (%visit-operator (%node (vector-ref v 4) (car l) result (vector-ref v 1) (vector-ref v 2) (vector-ref v 3) (vector-ref v 7)) (cdr l)))
                             (%visit (car alike) (cdr alike))))
                   (seen (cdr made)))
              (cons (car made) (vector-update seen 0 (cons (cons operands (cons result (car made))) (vector-ref seen 0)))))))))

(define (%known operands result l)
  (cond ((null? l) #f)
        ((if (eq? operands (caar l)) (= result (cadar l)) #f) (cddar l))
        (else (%known operands result (cdr l)))))

; The numbers of the nodes among operands.
(define (%nodes-in operands)
  (if (null? operands)
      '()
      (let ((o (car operands)) (others (%nodes-in (cdr operands))))
        (cond ((eq? (car o) 'node) (cons (cdr o) others))
              ((eq? (car o) 'list) (append (%nodes-in (cdr o)) others))
              (else others)))))

; The operand as operand-regions takes it.
(define (%described o nodes leaves)
  (case (car o)
    ((node) (%description (vector-ref nodes (cdr o))))
    ((leaf) (vector-ref leaves (cdr o)))
    ((number) (cddr o))
    ((list) (map (lambda (o) (%described o nodes leaves)) (cdr o)))
    (else (cdr o))))
(define (%description node) (%recorded (%node-type node) (%node-sizes node) (%node-residence node) 0 "" -1))
