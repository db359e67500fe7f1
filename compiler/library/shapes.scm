; Tensors by the names that people bring from NumPy and PyTorch, where a definition helps more than a hint would: tensors made of nothing but
; their sizes, and other shapes of the same elements. Each is a line or two of operators, so all have derivatives.

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

; (arange stop), (arange start stop), (arange start stop step): f32, as list->tensor gives.
(define (arange x . l)
  (if (null? l)
      (list->tensor (iota x))
      (let ((step (if (null? (cdr l)) 1 (%only "arange" (cdr l)))))
        (if (= step 0)
            (error "arange: the step is 0; write another number")
            (list->tensor (iota (max 0 (inexact->exact (ceiling (/ (- (car l) x) step)))) x step))))))

; Of n numbers the first is a and the last b.
(define (linspace a b n)
  (if (if (integer? n) (>= n 0) #f) #t (error "linspace: how many numbers is a count, got" n))
  (if (= n 1)
      (list->tensor (list a))
      (list->tensor (build-list n (lambda (i) (+ a (/ (* i (- b a)) (- n 1))))))))

(define (eye n)
  (%count "eye" n)
  (one-hot (cast (arange n) 'i64) n))

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
