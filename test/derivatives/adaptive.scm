; Bounds that tensors carry, and what decides them: the deviation that an error has in the cotangents of parameters.
(define (show x) (write x) (newline))
(define (seeded shape n) (- (* 2 (rand shape 'f32 'cpu n)) 1))
(define x (ReLU (seeded '(4 4 16 16) 7)))
(define weights (list (* 0.2 (seeded '(8 4 3 3) 8)) (* 0.2 (seeded '(8 8 3 3) 9)) (* 0.1 (seeded '(2048 6) 10))))
(define (net p) (let* (((list a b c) p) (k (ReLU (convolve (ReLU (convolve x a 1 1)) b 1 1))) (y (matmul (view k '(4 2048)) c))) (sum (* y y))))
(define (gradient-of f x) (cdr (*j f x 1.)))
(define both "adaptive,operators=convolution+product")
(define (under policy thunk) (with-lossy-tape policy thunk))
(define exact (gradient-of net weights))
(define (error-of a b) (/ (sqrt (sumall (square (- a b)))) (sqrt (sumall (square a)))))
(define (near a b part) (< (abs (- a b)) (* part (abs b))))
(define specs '("tape" "bisection,base=16" "binomial,base=16,snapshots=2" "sqrt,base=16" "online,base=16" "budget" "auto" "auto,memory=64KiB"))
(define w (* .1 (seeded '(96 8) 3)))
(define a (seeded '(64 96) 4))
(define x2 (ReLU (seeded '(64 96) 5)))
(define (f w) (sum (square (matmul x2 w))))
(define (deviation a b) (sqrt (tensor->number (mean (square (- a b))))))

;;; case bounds-hold-for-what-is-multiplied-with-the-tensor-that-has-them
(define (which bounds policy) (map equal? exact (under policy (lambda () (gradient-of net (allow-error weights bounds))))))
(show (which '(.1 0 0) both)) ; expect: (#f #t #t)
(show (which '(0 .1 0) both)) ; expect: (#t #f #t)
(show (which '(0 0 .1) both)) ; expect: (#t #t #f)
(show (which .1 both)) ; expect: (#f #f #f)
(show (which .1 "adaptive")) ; expect: (#f #f #t)
(show (which 0 both)) ; expect: (#t #t #t)
(show (which .1 "none")) ; expect: (#t #t #t)

;;; case a-bound-of-its-own-comes-before-that-of-the-policy
(define (by policy bounds) (under policy (lambda () (gradient-of net (allow-error weights bounds)))))
(define own (by "absolute=.5,operators=convolution+product" '(.1 .2 .3)))
(show (equal? own (by both '(.1 .2 .3)))) ; expect: #t
(show (equal? (cdr (by "absolute=.2" '(.1 0 0))) (cdr (by "absolute=.2" 0)))) ; expect: #t

;;; case the-value-is-the-same
(show (equal? (car (*j net weights 1.)) (under both (lambda () (car (*j net (allow-error weights .1) 1.)))))) ; expect: #t
(show (equal? (cdr (j* net weights exact)) (under both (lambda () (cdr (j* net (allow-error weights .1) exact)))))) ; expect: #t
(show (equal? (cdr (j* net weights exact)) (under both (lambda () (cdr (j* (lambda (p) (net (allow-error p .1))) weights exact)))))) ; expect: #t

;;; case inside-the-function-or-in-front-of-it
(define inside (under both (lambda () (gradient-of (lambda (p) (net (allow-error p .1))) weights))))
(show (equal? inside (under both (lambda () (gradient-of net (allow-error weights .1)))))) ; expect: #t
(define (again spec) (under both (lambda () (with-schedule spec (lambda () (cdr (checkpoint-*j (lambda (p) (net (allow-error p .1))) weights 1.)))))))
(show (filter (lambda (spec) (not (equal? inside (again spec)))) specs)) ; expect: ()

;;; case copies-carry-it
; flags: --device=emulated
(define x2 (to-device (seeded '(64 96) 4) 'cpu))
(define w (to-device (seeded '(96 8) 3) 'emulated))
(define (g w) (sum (square (matmul x2 (to-device w 'cpu)))))
(define e (under both (lambda () (error-of (gradient-of g w) (gradient-of g (allow-error w .05))))))
(show (and (< 0 e) (< e .2))) ; expect: #t

;;; case views-casts-and-copies-carry-it
(define (through f) (under both (lambda () (let ((e (error-of (gradient-of (lambda (w) (sum (square (matmul a (f w))))) w) (gradient-of (lambda (w) (sum (square (matmul a (f (allow-error w .05)))))) w)))) (and (< 0 e) (< e .2))))))
(show (map through (list (lambda (w) w) (lambda (w) (transpose (contiguous (transpose w)))) (lambda (w) (view (permute (view w '(4 24 8)) '(1 0 2)) '(96 8)))
                         (lambda (w) (cast w 'f64)) (lambda (w) (cast w 'bf16)) (lambda (w) (+ w 0)))))
; expect: (#t #t #t #t #t #f)

;;; case variances-are-sums-of-squares-of-cotangents
; Of a product x w they are what x has that is not 0, times squares.
(define v (under both (lambda () (error-variances f w))))
(define l (* 2 (matmul x2 w)))
(show (< (error-of (matmul (transpose (cast (< 0 x2) 'f32)) (square l)) v) 1e-5)) ; expect: #t
(show (near (under both (lambda () (error-sensitivities f w))) (sqrt (tensor->number (mean v))) 1e-6)) ; expect: #t

;;; case what-was-foreseen-is-what-comes-of-it
(define s (under both (lambda () (error-sensitivities net weights))))
(define bounds (error-bounds s (map (lambda (g) (* .01 (tensor->number (mean (abs g))))) exact)))
(define lossy (under both (lambda () (gradient-of net (allow-error weights bounds)))))
(show (map (lambda (g e) (near (deviation g e) (* .01 (tensor->number (mean (abs g)))) .15)) exact lossy)) ; expect: (#t #t #t)

;;; case dead-channels-are-left-out
(define (half p) (net (cons (concat-tensors (list (narrow-tensor (car p) 0 0 4) (- (* 0 (narrow-tensor (car p) 0 4 4)) 1)) 0) (cdr p))))
(define alive (under both (lambda () (car (error-sensitivities half weights)))))
(define v (under both (lambda () (car (error-variances half weights)))))
(show (map (lambda (i) (= 0 (sumall (narrow-tensor v 0 i 1)))) (iota 8))) ; expect: (#t #t #t #t #t #t #t #t)
(define (dying w) (let ((y (convolve x w 1 1))) (sum (square (narrow-tensor y 1 0 4)))))
(define v (under both (lambda () (error-variances dying (car weights)))))
(show (map (lambda (i) (= 0 (sumall (narrow-tensor v 0 i 1)))) (iota 8))) ; expect: (#f #f #f #f #t #t #t #t)
(show (near (under both (lambda () (error-sensitivities dying (car weights)))) (sqrt (tensor->number (mean (narrow-tensor v 0 0 4)))) 1e-5)) ; expect: #t

;;; case other-uses-add-nothing
(define (decayed p) (+ (net p) (* 5 (sum (square (car p)))) (sum (exp (cadr p))) (* 3 (car (tensor->list (view (caddr p) '(-1)))))))
(show (equal? (under both (lambda () (error-variances net weights))) (under both (lambda () (error-variances decayed weights))))) ; expect: #t

;;; case one-that-is-multiplied-twice-has-the-sum-of-both
(define (twice w) (+ (f w) (f w)))
(show (< (error-of (* 2 (under both (lambda () (error-variances f w)))) (under both (lambda () (error-variances twice w)))) 1e-5)) ; expect: #t

;;; case under-no-policy-nothing-has-an-error
(show (error-sensitivities net weights)) ; expect: (0.0 0.0 0.0)
(show (under "adaptive" (lambda () (map (lambda (s) (> s 0)) (error-sensitivities net weights))))) ; expect: (#t #t #f)

;;; case every-schedule-measures-the-same
(define v (under both (lambda () (error-variances net weights))))
(show (filter (lambda (spec) (not (equal? v (under both (lambda () (with-schedule spec (lambda () (error-variances net weights)))))))) specs)) ; expect: ()

;;; case split-anywhere
(define (from-to p from to step) (if (> from to) '() (if (p from) (from-to p (+ from step) to step) (cons from (from-to p (+ from step) to step)))))
(define (split-alike run)
  (let ((right (run weights)) (total (primops run weights)))
    (from-to (lambda (n) (let ((z (interrupt run weights n))) (and (equal? right (resume z)) (equal? right (resume z))))) 0 total 7)))
(show (split-alike (lambda (p) (under both (lambda () (with-schedule "binomial,base=16" (lambda () (gradient net (allow-error p '(.1 .2 .01)))))))))) ; expect: ()
(show (split-alike (lambda (p) (under both (lambda () (with-schedule "binomial,base=16" (lambda () (error-variances net p)))))))) ; expect: ()

;;; case steps-of-an-adaptive-policy
(define (train policy steps)
  (let loop ((p weights) (state 0) (policy policy) (steps steps) (all '()))
    (if (= steps 0)
        (list p state policy (reverse all))
        (let* ((policy (renew-policy policy net p state))
               ((list value p state) (checkpoint-*j-update net (allow-error p policy) 1. (momentum 1e-5) state)))
          (loop p state policy (- steps 1) (cons (list-ref policy 3) all))))))
(define done (under both (lambda () (train (adaptive-policy .01 3) 6))))
(show (list-ref done 3)) ; expect: (0 2 1 0 2 1)
(show (map (lambda (b) (> b 0)) (list-ref (list-ref done 2) 4))) ; expect: (#t #t #t)
(define plain (train (adaptive-policy .01 3) 6))
(show (map equal? (car plain) (car done))) ; expect: (#f #f #f)
(show (map (lambda (a b) (< (error-of a b) 1e-3)) (car plain) (car done))) ; expect: (#t #t #t)
(show (equal? done (under both (lambda () (train (adaptive-policy .01 3) 6))))) ; expect: #t

;;; case in-place
(define (in-place)
  (let loop ((p (map (lambda (w) (+ w 0)) weights)) (state 0) (policy (adaptive-policy .01 3)) (steps 6))
    (if (= steps 0)
        p
        (let* ((policy (renew-policy policy net p state)) ((list value p state) (checkpoint-*j-update! net (allow-error p policy) 1. (momentum 1e-5) state)))
          (loop p state policy (- steps 1))))))
(define (apart)
  (let loop ((p weights) (state 0) (policy (adaptive-policy .01 3)) (steps 6))
    (if (= steps 0)
        p
        (let* ((policy (renew-policy policy net p state)) ((list value p state) (checkpoint-*j-update net (allow-error p policy) 1. (momentum 1e-5) state)))
          (loop p state policy (- steps 1))))))
(show (equal? (under both in-place) (under both apart))) ; expect: #t

;;; case states-of-rules
(define (bounds-with rule)
  (under both (lambda () (let* (((list value p state) (*j-update net weights 1. rule 0))) (map (lambda (b) (> b 0)) (list-ref (renew-policy (adaptive-policy .1 1) net p state) 4))))))
(show (map bounds-with (list (momentum .001) (nesterov .001) (adam .001) (adamw .001) (lion .001)))) ; expect: ((#t #t #t) (#t #t #t) (#t #t #t) (#t #t #t) (#t #t #t))
(show (under both (lambda () (let* (((list value p state) (*j-update net weights 1. (sgd .001) 0))) (list-ref (renew-policy (adaptive-policy .1 1) net p state) 4))))) ; expect: 0

;;; case structures-with-numbers-vectors-and-none
(define (g p) (* (car p) (sum (square (matmul a (vector-ref (cadr p) 0))))))
(define p (list 2. (vector w) 'name))
(show (under both (lambda () (let ((s (error-sensitivities g p))) (list (car s) (> (vector-ref (cadr s) 0) 0) (caddr s)))))) ; expect: (0.0 #t name)
(show (under both (lambda () (let ((e (gradient g (allow-error p (error-bounds (error-sensitivities g p) .1))))) (equal? (vector-ref (cadr e) 0) (vector-ref (cadr (gradient g p)) 0)))))) ; expect: #f

;;; case checked
(show (check-lossy net weights))
; expect: check-lossy: tensor 1, sizes (8 4 3 3): exact
; expect: check-lossy: tensor 2, sizes (8 8 3 3): exact
; expect: check-lossy: tensor 3, sizes (2048 6): exact
; expect: check-lossy: all together: exact
; expect: ((0.0 . 0.0) (0.0 . 0.0) (0.0 . 0.0) (0.0 . 0.0))

;;; case no-bound
(allow-error weights -1)
; expect error: allow-error: a bound is 0 or a number from 1e-25 to 1e\+25, got -1

;;; case not-a-number
(allow-error weights (/ 0. 0.))
; expect error: allow-error: a bound is 0 or a number from 1e-25 to 1e\+25, got \+nan.0

;;; case bounds-of-another-program
(allow-error weights '(.1 .2))
; expect error: allow-error: expected bounds in a structure like the parameters; where these have a part, there is \(\)

;;; case no-policy
(renew-policy '(.01) net weights 0)
; expect error: renew-policy: expected a policy that adaptive-policy made, got \(0.01\)

;;; case bounds-within-what-is-measured
(define (bounded w) (f (allow-error w .1)))
(show (equal? (under both (lambda () (error-variances f w))) (under both (lambda () (error-variances bounded w))))) ; expect: #t

;;; case a-parameter-without-elements
(define (of-two p) (+ (f (car p)) (sum (cadr p))))
(define two (list w (zeros '(0 3))))
(define renewed (under both (lambda () (renew-policy (adaptive-policy .01 1) of-two two two))))
(show (< 0 (car (list-ref renewed 4)))) ; expect: #t

;;; case policy-of-another-program
(under both (lambda () (allow-error weights (renew-policy (adaptive-policy .1 1) (lambda (w) (sum (square (matmul a w)))) w w))))
; expect error: allow-error: expected bounds in a structure like the parameters; where these have a part, there is [0-9]

;;; case no-state
(renew-policy (adaptive-policy .1 1) net weights (list 1))
; expect error: renew-policy: expected the state of an optimiser in a structure like the parameters

;;; case no-share
(adaptive-policy -1 10)
; expect error: adaptive-policy: expected a share of the momentum above 0 that is finite, such as .01, got -1

;;; case a-share-without-end
(adaptive-policy +inf.0 4)
; expect error: adaptive-policy: expected a share of the momentum above 0 that is finite, such as .01, got \+inf.0

;;; case no-steps
(adaptive-policy .01 0)
; expect error: adaptive-policy: expected a number of steps between renewals, 1 or more, got 0

;;; case a-rule-of-its-own
(define (ruled w) (let ((inner (cdr (*j (lambda (w) (sum (square (matmul a w)))) w 1.)))) (sum (* inner (seeded '(96 8) 12)))))
(under both (lambda () (error-sensitivities ruled w)))
; expect error: error-variances: a parameter goes into a gradient within another one, into tiled, or into a procedure

;;; case a-procedure-with-a-rule
(define-derivative (twice w) (value (+ w w)) (reverse (y c) (list (* 2 c))))
(under both (lambda () (error-variances (lambda (w) (sum (square (matmul a (twice w))))) w)))
; expect error: error-variances: a parameter goes into a gradient within another one, into tiled, or into a procedure with a reverse rule of its own

;;; case tiles
(define images (seeded '(1 2 64 64) 20))
(define kernel (seeded '(2 2 3 3) 21))
(define (tiles w) (sum (square (tiled (lambda (x) (convolve x w 1 1)) images 2))))
(show (under both (lambda () (let ((e (error-of (gradient tiles kernel) (gradient tiles (allow-error kernel .05))))) (and (< 0 e) (< e .1)))))) ; expect: #t
(under both (lambda () (error-variances tiles kernel)))
; expect error: error-variances: a parameter goes into a gradient within another one, into tiled, or into a procedure
