; Builtins as values. A call with known operands is expanded by the compiler; these definitions serve (apply + l), (map list a b) and the
; like. Inside them a call of the same name is such an expanded call, not a recursion.

(define (+ . l)
  (if (null? l)
      0
      (let %+/loop ((sum (+ (car l))) (l (cdr l)))
        (if (null? l) sum (%+/loop (+ sum (car l)) (cdr l))))))

(define (* . l)
  (if (null? l)
      1
      (let %*/loop ((product (* (car l))) (l (cdr l)))
        (if (null? l) product (%*/loop (* product (car l)) (cdr l))))))

(define (- x . l)
  (if (null? l)
      (- x)
      (let %-/loop ((x x) (l l))
        (if (null? l) x (%-/loop (- x (car l)) (cdr l))))))

(define (/ x . l)
  (if (null? l)
      (/ x)
      (let %//loop ((x x) (l l))
        (if (null? l) x (%//loop (/ x (car l)) (cdr l))))))

(define (max x . l)
  (let %max/loop ((x (if (null? l) (max x) x)) (l l))
    (if (null? l) x (%max/loop (max x (car l)) (cdr l)))))

(define (min x . l)
  (let %min/loop ((x (if (null? l) (min x) x)) (l l))
    (if (null? l) x (%min/loop (min x (car l)) (cdr l)))))

; A call with one operand. (Of a list that happens to have one, as (apply max l), that is the value.)
(define (%max/1 x)
  (if (tensor? x)
      (error "max: one tensor has no other to be compared with; (max-over t axes) is the largest along axes, (max-value t) that of all:" x)
      (max x)))
(define (%min/1 x)
  (if (tensor? x)
      (error "min: one tensor has no other to be compared with; (min-over t axes) is the smallest along axes or, without axes, of all:" x)
      (min x)))

(define (= x . l)
  (let %=/loop ((x (begin (= x) x)) (l l))
    (if (null? l) #t (if (= x (car l)) (%=/loop (car l) (cdr l)) #f))))

(define (< x . l)
  (let %</loop ((x (begin (< x) x)) (l l))
    (if (null? l) #t (if (< x (car l)) (%</loop (car l) (cdr l)) #f))))

(define (> x . l)
  (let %>/loop ((x (begin (> x) x)) (l l))
    (if (null? l) #t (if (> x (car l)) (%>/loop (car l) (cdr l)) #f))))

(define (<= x . l)
  (let %<=/loop ((x (begin (<= x) x)) (l l))
    (if (null? l) #t (if (<= x (car l)) (%<=/loop (car l) (cdr l)) #f))))

(define (>= x . l)
  (let %>=/loop ((x (begin (>= x) x)) (l l))
    (if (null? l) #t (if (>= x (car l)) (%>=/loop (car l) (cdr l)) #f))))

(define (list . l) l)

(define (cons* x . l)
  (if (null? l) x (cons x (%cons*-list (car l) (cdr l)))))

(define (%cons*-list x l)
  (if (null? l) x (cons x (%cons*-list (car l) (cdr l)))))

(define (vector . l) (list->vector l))

(define (apply f x . l) (apply f (%cons*-list x l)))

(define (error message . irritants) (%error (cons message irritants)))

(define (atan y . x) (if (null? x) (atan y) (atan y (%only "atan" x))))

(define (make-vector n . fill) (if (null? fill) (make-vector n) (make-vector n (%only "make-vector" fill))))

(define (make-string n . fill) (if (null? fill) (make-string n) (make-string n (%only "make-string" fill))))

(define (string->number s . radix)
  (if (null? radix) (string->number s) (string->number s (%only "string->number" radix))))

(define (number->string x . radix)
  (if (null? radix) (number->string x) (number->string x (%only "number->string" radix))))

(define (random-real . key) (if (null? key) (random-real) (random-real (%only "random-real" key))))

(define (random-normal . key) (if (null? key) (random-normal) (random-normal (%only "random-normal" key))))

(define (random-integer n . key) (if (null? key) (random-integer n) (random-integer n (%only "random-integer" key))))

; The element of a list of optional arguments that may hold just one.
(define (%only name l)
  (if (null? (cdr l)) (car l) (error (string-append name ": too many arguments"))))
; Optional arguments, and for those that are left out at the end what stands in `all`.
(define (%optional name l all)
  (cond ((null? l) all)
        ((null? all) (error (string-append name ": too many arguments")))
        (else (cons (car l) (%optional name (cdr l) (cdr all))))))

; An optional argument that says whether something holds: 0 would count as true.
(define (%boolean name what x)
  (if (boolean? x) x (error (string-append name ": " what ", is #t or #f, got") x)))

(define (zero? x) (zero? x))
(define (positive? x) (positive? x))
(define (negative? x) (negative? x))
(define (1+ x) (1+ x))
(define (-1+ x) (-1+ x))

(define (caar p) (caar p))
(define (cadr p) (cadr p))
(define (cdar p) (cdar p))
(define (cddr p) (cddr p))
(define (caaar p) (caaar p))
(define (caadr p) (caadr p))
(define (cadar p) (cadar p))
(define (caddr p) (caddr p))
(define (cdaar p) (cdaar p))
(define (cdadr p) (cdadr p))
(define (cddar p) (cddar p))
(define (cdddr p) (cdddr p))
(define (caaaar p) (caaaar p))
(define (caaadr p) (caaadr p))
(define (caadar p) (caadar p))
(define (caaddr p) (caaddr p))
(define (cadaar p) (cadaar p))
(define (cadadr p) (cadadr p))
(define (caddar p) (caddar p))
(define (cadddr p) (cadddr p))
(define (cdaaar p) (cdaaar p))
(define (cdaadr p) (cdaadr p))
(define (cdadar p) (cdadar p))
(define (cdaddr p) (cdaddr p))
(define (cddaar p) (cddaar p))
(define (cddadr p) (cddadr p))
(define (cdddar p) (cdddar p))
(define (cddddr p) (cddddr p))
