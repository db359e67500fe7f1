; Tensors by the names that people bring from NumPy and PyTorch, where a definition helps more than a hint would: tensors made of nothing but
; their sizes, and other shapes of the same elements. Each is made of operators, so all have derivatives.

(define (zeros sizes . l)
  (cond ((null? l) (fill sizes 0))
        ((null? (cdr l)) (fill sizes 0 (car l)))
        (else (fill sizes 0 (car l) (%only "zeros" (cdr l))))))
(define (ones sizes . l)
  (cond ((null? l) (fill sizes 1))
        ((null? (cdr l)) (fill sizes 1 (car l)))
        (else (fill sizes 1 (car l) (%only "ones" (cdr l))))))
(define (zeros-like t) (fill (size t) 0 (tensor-type t) (tensor-residence t)))
(define (ones-like t) (fill (size t) 1 (tensor-type t) (tensor-residence t)))

; (arange stop), (arange start stop), (arange start stop step): f32, as list->tensor gives, unless type and residence follow.
(define (arange x . l)
  (let* ((numbers (%numbers-first l)) (given (list-tail l (length numbers)))
         (step (if (if (null? numbers) #t (null? (cdr numbers))) 1 (%only "arange" (cdr numbers)))))
    (cond ((= step 0) (error "arange: the step is 0; write another number"))
          ((null? numbers) (%arange x 0 1 given))
          (else (%arange (max 0 (inexact->exact (ceiling (/ (- (car numbers) x) step)))) x step given)))))
; Many whole numbers piece by piece, as a list takes several times the memory of their tensor.
(define (%arange n x step given)
  (let ((piece 4096))
    (if (if (integer? n) (if (< piece n) (if (exact? x) (exact? step) #f) #f) #f)
        (concat-tensors (map (lambda (k) (apply list->tensor (iota (min piece (- n k)) (+ x (* k step)) step) given))
                             (iota (quotient (+ n (- piece 1)) piece) 0 piece))
                        0)
        (apply list->tensor (iota n x step) given))))
(define (%numbers-first l)
  (if (if (pair? l) (number? (car l)) #f) (cons (car l) (%numbers-first (cdr l))) '()))

; Of n numbers the first is a and the last b.
(define (linspace a b n . given)
  (if (if (integer? n) (>= n 0) #f) #t (error "linspace: how many numbers is a count, got" n))
  (apply list->tensor (if (= n 1) (list a) (build-list n (lambda (i) (+ a (/ (* i (- b a)) (- n 1)))))) given))

(define (eye n)
  (%count "eye" n)
  (one-hot (cast (arange n) 'i64) n))

; The number below which a part q, from 0 to 1, of the elements lie, along an axis or of all of them: between the two that are nearest by
; their order, in proportion. NaNs count as the largest.
(define (quantile t q . axis)
  (if (not (if (number? q) (<= 0 q 1) #f)) (error "quantile: expected a part from 0 to 1, got" q))
  (let* ((t (if (%has-derivative? t) t (cast t 'f64)))
         (t (if (null? axis) (view t (list (apply * (size t)))) t))
         (sizes (size t))
         (k (if (null? axis) 0 (%axis "quantile" (%only "quantile" axis) (length sizes))))
         (n (list-ref sizes k)))
    (if (= n 0) (error "quantile: there is no element along the axis; the sizes are" sizes))
    (let* ((place (* q (- n 1))) (below (inexact->exact (floor place))) (sorted (sort t k)))
      (define (at i) (view (narrow-tensor sorted k i 1) (append (list-head sizes k) (list-tail sizes (+ k 1)))))
      (if (= place below)
          (at below)
          (+ (at below) (* (- place below) (- (at (+ below 1)) (at below))))))))
(define (median t . axis) (apply quantile t .5 axis))

; The matrix with a vector on its diagonal, and the diagonal of a square matrix. Elements beside it are chosen away, not multiplied by 0, so
; that infinite ones do not matter.
(define (diag t)
  (let ((sizes (size t)))
    (cond ((if (pair? sizes) (null? (cdr sizes)) #f) (where (eye (car sizes)) t (zeros-like t)))
          ((if (pair? sizes) (if (null? (cddr sizes)) (= (car sizes) (cadr sizes)) #f) #f)
           (sum (where (eye (car sizes)) t (zeros-like t)) 1))
          (else (error "diag: expected a vector or a square matrix, got sizes" sizes)))))

(define (reshape t sizes) (view t sizes))
(define (cumsum t axis) (cumulative-sum t axis))

; Without axes of size 1: all of them, or the one named.
(define (squeeze t . axis)
  (let ((sizes (size t)))
    (if (null? axis)
        (view t (remove (lambda (n) (= n 1)) sizes))
        (let ((k (%axis "squeeze" (%only "squeeze" axis) (length sizes))))
          (if (= (list-ref sizes k) 1)
              (view t (append (list-head sizes k) (list-tail sizes (+ k 1))))
              (error "squeeze: only an axis of size 1 can go; axis and sizes are" k sizes))))))

; With a new axis of size 1 that has the number given.
(define (unsqueeze t axis)
  (let* ((sizes (size t)) (k (%axis "unsqueeze" axis (+ (length sizes) 1))))
    (view t (append (list-head sizes k) (cons 1 (list-tail sizes k))))))

; An axis counted from 0, of one that may be counted from the end.
(define (%axis name axis rank)
  (if (if (integer? axis) (if (< axis rank) (<= (- rank) axis) #f) #f)
      (if (< axis 0) (+ axis rank) axis)
      (error (string-append name ": there is no such axis; axis and number of axes are") axis rank)))
