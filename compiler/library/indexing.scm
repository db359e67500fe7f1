; Parts of tensors by one word for each axis, the first axes first: an integer takes one position and the axis away, (from to [step]) a range
; up to but without `to`, a tensor of integers those positions in its own shape, #t everything. Integers below 0 count from the end; #f in a
; range stands for the end that is there.

(define (index t . where)
  (if (> (length where) (length (size t))) (error "index: more indices than axes; the sizes are" (size t)))
  (%index-axes t 0 where))

(define (%index-axes t axis where)
  (if (null? where)
      t
      (let ((w (car where)))
        (cond ((eq? w #t) (%index-axes t (+ axis 1) (cdr where)))
              ((number? w) (%index-axes (%index-one t axis w) axis (cdr where)))
              ((pair? w) (%index-axes (%index-range t axis w) (+ axis 1) (cdr where)))
              ((tensor? w) (%index-axes (%index-many t axis w) (+ axis (length (size w))) (cdr where)))
              (else (error "index: expected an integer, a range '(from to), a tensor of integers or #t; (unsqueeze t axis) makes a new axis; got" w))))))

(define (%index-from-end n i) (if (< i 0) (+ n i) i))

(define (%index-whole what i) (if (integer? i) (inexact->exact i) (error (string-append "index: " what " is an integer, got") i)))

(define (%index-one t axis i)
  (let* ((n (list-ref (size t) axis)) (at (%index-from-end n (%index-whole "a position" i))))
    (if (if (>= at 0) (< at n) #f)
        (view (narrow-tensor t axis at 1) (append (list-head (size t) axis) (list-tail (size t) (+ axis 1))))
        (error (format "index: there is no position ~a in axis ~a, whose size is ~a; positions are 0 to ~a, or -1 to ~a from the end" i axis n (- n 1) (- n))))))

(define (%index-range t axis range)
  (if (not (memv (length range) '(2 3))) (error "index: a range is written '(from to) or '(from to step), got" range))
  (let* ((n (list-ref (size t) axis))
         (end (lambda (x there) (if x (min n (max 0 (%index-from-end n (%index-whole "an end of a range" x)))) there)))
         (from (end (car range) 0))
         (step (if (null? (cddr range)) 1 (%index-whole "the step of a range" (caddr range)))))
    (if (< step 1) (error "index: the step of a range is at least 1, got" step))
    (slice t axis from (max from (end (cadr range) n)) step)))

; The axis goes to the front, where embedding takes rows, and what it has become goes back.
(define (%index-many t axis positions)
  (if (eq? (tensor-type positions) 'u8)
      (error "index: a tensor of u8 may be meant as a mask; (masked-select t mask) takes the elements where it is not 0, (where mask a b) chooses by it, and (cast t 'i64) makes indices of it"))
  (if (memq (tensor-type positions) '(f32 f64 bf16 f16))
      (error "index: positions are a tensor of integers, which (cast t 'i64) makes; got one of" (tensor-type positions)))
  (let* ((axes (iota (length (size t))))
         (front (list-head axes axis))
         (behind (list-tail axes (+ axis 1)))
         (many (length (size positions)))
         (at (%positions-in "index" axis (list-ref (size t) axis) positions (tensor-residence t)))
         (rows (embedding (permute t (cons axis (append front behind))) at)))
    (permute rows (append (map (lambda (i) (+ i many)) front)
                          (iota many)
                          (map (lambda (i) (+ i (- many 1))) behind)))))

; Elements at points: the first tensor of indices has their positions along the first axis, the second along the second, and so on; indices
; of several shapes are stretched to one, which takes the place of those axes.
(define (index-points t . where)
  (if (> (length where) (length (size t))) (error "index-points: more indices than axes; the sizes are" (size t)))
  (if (null? where)
      t
      (let %index-points/loop ((where where) (sizes (size t)) (axis 0) (rows 1) (at 0))
        (if (null? where)
            (embedding (view t (cons rows sizes)) at)
            (let ((i (%positions-in "index-points" axis (car sizes) (car where) (tensor-residence t))))
              (%index-points/loop (cdr where) (cdr sizes) (+ axis 1) (* rows (car sizes)) (+ (* at (car sizes)) i)))))))

; Positions counted from 0, of some that may be counted from the end.
(define (%positions-in name axis n given residence)
  (let ((i (cond ((if (number? given) (integer? given) #f) (list->tensor given 'i64 residence))
                 ((if (tensor? given) (memq (tensor-type given) '(i8 i16 i32 i64)) #f) (cast given 'i64))
                 (else (error (string-append name ": expected an integer or a tensor of integers (one of u8 may be meant as a mask), got") given)))))
    (if (not (memv 0 (size i)))
        (let ((least (tensor->number (min-over i))) (most (max-value i)))
          (if (if (< least (- n)) #t (>= most n))
              (error (format "~a: there is no position ~a in axis ~a, whose size is ~a" name (if (>= most n) most least) axis n)))))
    (where (< i 0) (+ i n) i)))

; Parts whose size depends on elements. How many there are is read, as a program reads any number, so these are procedures and no operators;
; the derivative of what is selected goes back to where it lay.

; The row-major positions of the elements that are not 0: sorted by whether they are, equal ones keep their order.
(define (%chosen-positions mask)
  (let ((chosen (cast (not-equal (view mask (list (apply * (size mask)))) 0) 'i64)))
    (narrow-tensor (argsort (- 1 chosen)) 0 0 (sumall chosen))))

; Of a vector the positions themselves; else a row of indices for each, one for each axis. Positions are exact as f64 up to 2^53.
(define (nonzero t)
  (let ((sizes (size t)) (at (%chosen-positions t)))
    (cond ((null? sizes) (error "nonzero: expected a tensor with axes, got one number" t))
          ((null? (cdr sizes)) at)
          (else
           (let loop ((sizes (reverse sizes)) (at (cast at 'f64)) (columns '()))
             (if (null? sizes)
                 (cast (stack columns 1) 'i64)
                 (let ((rest (floor (/ at (max 1 (car sizes))))))
                   (loop (cdr sizes) rest (cons (- at (* rest (car sizes))) columns)))))))))

; A vector of the elements of t where the mask, stretched to the sizes of t, is not 0.
(define (masked-select t mask)
  (let ((at (%chosen-positions (expand-tensor mask (size t)))))
    (view (embedding (view t (list (apply * (size t)) 1)) at) (size at))))
