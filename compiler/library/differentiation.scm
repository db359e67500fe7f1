; Differentiation made convenient, on top of j* and checkpoint-*j. Reverse mode runs under the schedule in force.

; (thunk) with gradients planned for so many bytes, a number or text such as "64MiB", of those that the machine has.
(define (with-memory bytes thunk)
  (with-schedule (string-append "auto,memory=" (cond ((string? bytes) bytes)
                                                     ((number? bytes) (number->string (if (integer? bytes) (inexact->exact bytes) bytes)))
                                                     (else (error "with-memory: expected a number of bytes, or a size as \"64MiB\", got" bytes)))) thunk))

; The gradient of f, whose value is a number, at x: a structure like x.
(define (gradient f x) (cdr (checkpoint-*j f x 1)))

; The value of f at x with every number in it replaced by that number's gradient, so the rows stand in the order and the kind of structure
; (list, vector, nested) of the value. A tensor in the value is replaced by a structure like x with a tensor at each leaf: its shape is that of
; the value's, followed by that of the leaf. f runs once for its value, and then forward for each number of x or, if those are as many as
; the numbers of the value or more, in reverse for each of these: so the mode is a matter of sizes alone.
(define (jacobian f x)
  (let* ((y (f x)) (columns (%number-count x 0 #t)) (rows (%number-count y 0 #f)))
    (let ((by-columns (if (if columns (if rows (< 0 columns rows) #f) #f) (%columns f x) #f)))
      (if by-columns (%of-columns x by-columns y (lambda (dy) dy)) (%rows f x y (lambda (seed) seed))))))

; How many numbers there are to differentiate, beside n; #f where something else captures some. Tensors of integers have none, or are
; something else.
(define (%number-count v n integers)
  (cond ((not n) #f)
        ((number? v) (+ n 1))
        ((pair? v) (%number-count (cdr v) (%number-count (car v) n integers) integers))
        ((vector? v) (%number-count (vector->list v) n integers))
        ((tensor? v) (if (%has-derivative? v) (+ n (apply * (size v))) (if integers n #f)))
        ((if (procedure? v) #t (capsule? v)) #f)
        (else n)))

; At each leaf of x the list of the tangents of f's value in the directions of its numbers; #f where forward mode is not to be had, as a
; procedure of the host may have no rule for it.
(define (%columns f x)
  (call-with-error-handler (lambda (message irritants) #f) (lambda () (%columns-of f x x (lambda (seed) seed)))))
(define (%columns-of f x part embed)
  (cond ((number? part) (list (cdr (j* f x (embed 1)))))
        ((pair? part)
         (let ((a (%columns-of f x (car part) (lambda (seed) (embed (cons seed 0))))))
           (cons a (%columns-of f x (cdr part) (lambda (seed) (embed (cons 0 seed)))))))
        ((vector? part)
         (let ((zeros (make-vector (vector-length part) 0)))
           (build-vector (vector-length part)
                         (lambda (i) (%columns-of f x (vector-ref part i) (lambda (seed) (embed (vector-update zeros i seed))))))))
        ((if (tensor? part) (%has-derivative? part) #f)
         (build-list (apply * (size part)) (lambda (i) (cdr (j* f x (embed (%one-at i part)))))))
        (else '())))

; The value's part y with, in the place of each number or tensor in it, a structure like x of what (pick tangent) has there.
(define (%of-columns x columns y pick)
  (define (part-of pick get) (lambda (dy) (let ((whole (pick dy))) (if (eqv? whole 0) 0 (get whole)))))
  (cond ((if (number? y) #t (tensor? y)) (%of-column x columns y pick))
        ((pair? y)
         (let ((a (%of-columns x columns (car y) (part-of pick car)))) (cons a (%of-columns x columns (cdr y) (part-of pick cdr)))))
        ((vector? y)
         (build-vector (vector-length y) (lambda (i) (%of-columns x columns (vector-ref y i) (part-of pick (lambda (v) (vector-ref v i)))))))
        (else y)))
(define (%of-column x columns y pick)
  (cond ((number? x) (%whole-tangent y (pick (car columns))))
        ((pair? x)
         (let ((a (%of-column (car x) (car columns) y pick))) (cons a (%of-column (cdr x) (cdr columns) y pick))))
        ((vector? x) (build-vector (vector-length x) (lambda (i) (%of-column (vector-ref x i) (vector-ref columns i) y pick))))
        ((not (tensor? x)) x)
        ((not (%has-derivative? x)) 0)
        ((number? y) (view (list->tensor (map pick columns) (tensor-type x) (tensor-residence x)) (size x)))
        ((null? columns) (fill (append (size y) (size x)) 0 (tensor-type x) (tensor-residence x)))
        (else
         (let ((flat (list (apply * (size y)))))
           (view (to-device (cast (stack (map (lambda (dy) (view (%whole-tangent y (pick dy)) flat)) columns) 1) (tensor-type x)) (tensor-residence x))
                 (append (size y) (size x)))))))
(define (%whole-tangent y dy) (if (if (tensor? y) (eqv? dy 0) #f) (%zeros-like y) dy))

; The rows of the part y of f's value; (embed seed) is the cotangent of the whole value that has `seed` at that part and 0 elsewhere.
(define (%rows f x y embed)
  (cond ((number? y) (cdr (checkpoint-*j f x (embed 1))))
        ((pair? y)
         (cons (%rows f x (car y) (lambda (seed) (embed (cons seed 0))))
               (%rows f x (cdr y) (lambda (seed) (embed (cons 0 seed))))))
        ((vector? y)
         (let ((zeros (make-vector (vector-length y) 0)))
           (build-vector (vector-length y)
                         (lambda (i)
                           (%rows f x (vector-ref y i) (lambda (seed) (embed (vector-update zeros i seed))))))))
        ((tensor? y)
         (if (%has-derivative? y)
             (%stacked x (build-list (apply * (size y)) (lambda (i) (cdr (checkpoint-*j f x (embed (%one-at i y)))))) y)
             (error "jacobian: elements of the value are integers, which have no derivatives:" y)))
        ((procedure? y) (error "jacobian: the value holds a procedure, which has no rows:" y))
        (else y)))

; A tensor like t that is 1 at its i-th element in row-major order, else 0.
(define (%one-at i t)
  (to-device (view (one-hot i (apply * (size t)) (tensor-type t)) (size t)) (tensor-residence t)))

; Rows, which are like x (0: a part that does not matter), one for each element of y: at each leaf of x one tensor of them all.
(define (%stacked x rows y)
  (define (part pick)
    (%stacked (pick x) (map (lambda (row) (if (eqv? row 0) 0 (pick row))) rows) y))
  (cond ((number? x) (view (list->tensor rows (tensor-type y) (tensor-residence y)) (size y)))
        ((pair? x) (let ((a (part car))) (cons a (part cdr))))
        ((vector? x) (build-vector (vector-length x) (lambda (i) (part (lambda (v) (vector-ref v i))))))
        ((tensor? x)
         (if (%has-derivative? x)
             (let ((zeros (fill (append (size y) (size x)) 0 (tensor-type x) (tensor-residence x))))
               (if (null? rows)
                   zeros
                   (view (stack (map (lambda (row) (if (eqv? row 0) (%zeros-like x) row)) rows) 0) (size zeros))))
             0))
        ((procedure? x) (error "jacobian: x holds a procedure, whose captured values have no place in a tensor:" x))
        (else x)))

(define (%zeros-like t) (fill (size t) 0 (tensor-type t) (tensor-residence t)))

; The second derivative: x with every number in it replaced by a structure like x, and every tensor as in a jacobian.
(define (hessian f x)
  (jacobian (lambda (x) (gradient (lambda (x) (%number (f x))) x)) x))

; A tensor without axes as the number it holds: its cotangent is a number too then, wherever it comes from.
(define (%number y)
  (if (if (tensor? y) (null? (size y)) #f) (sumall y) y))

; The hessian at x applied to v, a structure like x, without building it: forward mode over reverse mode.
(define (hessian-vector f x v)
  (cdr (j* (lambda (x) (gradient f x)) x v)))

; Each leaf of x replaced as soon as its cotangent is complete. Where a derivative of all this is taken, by way of all cotangents together.
(define (*j-update f x c rule state) (%*j-update f x c (%rule "*j-update" rule) state %by-all-cotangents))
(define (checkpoint-*j-update f x c rule state) (%checkpoint-*j-update f x c (%rule "checkpoint-*j-update" rule) state %checkpoint-by-all-cotangents))
(define (*j-update! f x c rule state) (%*j-update! f x c (%rule "*j-update!" rule) state %by-all-cotangents))
(define (checkpoint-*j-update! f x c rule state) (%checkpoint-*j-update! f x c (%rule "checkpoint-*j-update!" rule) state %checkpoint-by-all-cotangents))

(define (%by-all-cotangents f x c rule state) (%update-with (*j f x c) x rule state))
(define (%checkpoint-by-all-cotangents f x c rule state) (%update-with (checkpoint-*j f x c) x rule state))

(define (%update-with y+g x rule state)
  (let ((x+state (%updated x (cdr y+g) rule state (not (null? state)))))
    (list (car y+g) (car x+state) (cdr x+state))))

; The pair of x and its state, updated. An exact 0 stands for zeros.
(define (%updated x g rule state stateful)
  (define (part of pick) (if (eqv? of 0) 0 (pick of)))
  (define (state-part pick) (if stateful (part state pick) '()))
  (cond ((or (number? x) (and (tensor? x) (%has-derivative? x)))
         (if (if (tensor? x) (if (tensor? g) (not (equal? (size x) (size g))) #f) #f)
             (error "an update: the sizes of a parameter and of its gradient differ:" (size x) (size g)))
         (let ((leaf+state (rule (if (tensor? x) x (exact->inexact x)) g state)))
           (if stateful leaf+state (%without-state leaf+state))))
        ((pair? x)
         (let* ((a (%updated (car x) (part g car) rule (state-part car) stateful))
                (d (%updated (cdr x) (part g cdr) rule (state-part cdr) stateful)))
           (cons (cons (car a) (car d)) (if stateful (cons (cdr a) (cdr d)) '()))))
        ((vector? x)
         (let ((all (build-vector (vector-length x)
                                  (lambda (i)
                                    (define (at v) (vector-ref v i))
                                    (%updated (at x) (part g at) rule (state-part at) stateful)))))
           (cons (vector-map car all) (if stateful (vector-map cdr all) '()))))
        ((tensor? x) (cons x state))
        (else (cons x (if stateful x '())))))

(define (%without-state leaf+state)
  (if (null? (cdr leaf+state))
      leaf+state
      (error "an update: the rule gave a state, and there is none: begin with 0 for one of zeros, or give back '()" (cdr leaf+state))))

(define (%has-derivative? x) (memv (tensor-type x) '(f32 f64 bf16)))

; Of define-derivative, the rule that was left out. The other is linear in its last argument, so its derivative by that, at any point, is
; itself, and the transpose of it is what is missing. (What a reverse rule calls 0 is put as a constant of the right shape.)
(define (%forward-by-reverse reverse x y tangents)
  (cdr (*j (lambda (cotangent) (map (lambda (part tangent) (if (eqv? part 0) tangent part)) (reverse x y cotangent) tangents)) y tangents)))
(define (%reverse-by-forward forward x y cotangent) (cdr (*j (lambda (tangents) (forward x y tangents)) x cotangent)))
