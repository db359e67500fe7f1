; Tapes that keep operands of products with an error: only cotangents of what is multiplied with them show it, and they are the same however the gradient is
; computed.
(define (show x) (write x) (newline))
(define (seeded shape) (- (* 2 (rand shape 'f32 'cpu 7)) 1))
(define x (seeded '(2 4 16 16)))
(define weights (list (* 0.2 (seeded '(8 4 3 3))) (* 0.2 (seeded '(8 8 3 3))) (* 0.1 (seeded '(2048 6)))))
(define (net-of x p)
  (let* (((list a b c) p) (h (ReLU (convolve x a 1 1))) (k (ReLU (convolve h b 1 1))) (y (matmul (view k '(2 2048)) c))) (sum (* y y))))
(define (net p) (net-of x p))
(define (gradient-of f x) (cdr (*j f x 1.0)))
(define (under policy thunk) (with-lossy-tape policy thunk))
(define both "relative=0.02,operators=convolution+product")
(define exact (gradient-of net weights))
(define lossy (under both (lambda () (gradient-of net weights))))
(define (error-of a b) (/ (sqrt (sumall (square (- a b)))) (sqrt (sumall (square a)))))
(define (square t) (* t t))
(define specs '("tape" "bisection,base=16" "binomial,base=16,snapshots=2" "sqrt,base=16" "online,base=16" "budget" "auto" "auto,memory=64KiB" "budget,memory=1MiB"))

;;; case all-weights-show-an-error-that-is-small
(show (map (lambda (a b) (let ((e (error-of a b))) (and (< 0 e) (< e .1)))) exact lossy)) ; expect: (#t #t #t)

;;; case the-policy-says-of-which-operators
(define (which policy) (map equal? exact (under policy (lambda () (gradient-of net weights)))))
(show (which "relative=0.05")) ; expect: (#f #f #t)
(show (which "relative=0.05,operators=convolution")) ; expect: (#f #f #t)
(show (which "relative=0.05,operators=product")) ; expect: (#t #t #f)
(show (which "absolute=0.05,operators=product+convolution")) ; expect: (#f #f #f)
(show (which "none")) ; expect: (#t #t #t)

;;; case the-form-says-how-it-is-kept-and-not-what
(define (in-form form) (under (string-append both ",form=" form) (lambda () (gradient-of net weights))))
(show (list (equal? lossy (in-form "small")) (equal? lossy (in-form "fast")))) ; expect: (#t #t)
(show (equal? lossy (under "relative=0.02,form=small,operators=convolution+product" (lambda () (cdr (checkpoint-*j net weights 1.0)))))) ; expect: #t

;;; case only-what-is-multiplied-with-it-shows-the-error
(define (of-x x) (net-of x weights))
(show (equal? (gradient-of of-x x) (under both (lambda () (gradient-of of-x x))))) ; expect: #t

;;; case the-value-is-the-same
(show (equal? (car (*j net weights 1.0)) (under both (lambda () (car (*j net weights 1.0)))))) ; expect: #t
(show (equal? (cdr (j* net weights exact)) (under both (lambda () (cdr (j* net weights exact)))))) ; expect: #t

;;; case every-schedule-comes-to-the-same-gradient
(define (by spec) (under both (lambda () (with-schedule spec (lambda () (cdr (checkpoint-*j net weights 1.0)))))))
(show (filter (lambda (spec) (not (equal? lossy (by spec)))) specs)) ; expect: ()

;;; case a-step-is-a-step
(define (steps policy) (primops (lambda (p) (under policy (lambda () (gradient-of net p)))) weights))
(show (= (steps "none") (steps both))) ; expect: #t

;;; case a-policy-is-in-force-in-its-thunk-alone-and-inside-another-one
(define first (under both (lambda () (under "none" (lambda () (gradient-of net weights))))))
(show (equal? exact first)) ; expect: #t
(show (equal? exact (gradient-of net weights))) ; expect: #t
(show (under both (lambda () (under "none" (lambda () 1)) (equal? lossy (gradient-of net weights))))) ; expect: #t

;;; case inside-the-function-it-holds-for-what-is-recorded-there
(define (half p) (let* (((list a b c) p) (h (ReLU (under both (lambda () (convolve x a 1 1))))) (k (ReLU (convolve h b 1 1))) (y (matmul (view k '(2 2048)) c))) (sum (* y y))))
(define g (gradient-of half weights))
(show (list (equal? (car g) (car lossy)) (equal? (cdr g) (cdr exact)))) ; expect: (#t #t)
(show (filter (lambda (spec) (not (equal? g (with-schedule spec (lambda () (cdr (checkpoint-*j half weights 1.0))))))) specs)) ; expect: ()

;;; case split-anywhere
(define (from-to p from to step) (if (> from to) '() (if (p from) (from-to p (+ from step) to step) (cons from (from-to p (+ from step) to step)))))
(define (run p) (under both (lambda () (with-schedule "binomial,base=16" (lambda () (cdr (checkpoint-*j net p 1.0)))))))
(define total (primops run weights))
(show (from-to (lambda (n) (let ((z (interrupt run weights n))) (and (equal? lossy (resume z)) (equal? lossy (resume z)) (= total (+ n (primops resume z)))))) 0 total 3)) ; expect: ()
(define (cut n) (lambda (p) (resume (interrupt net p n))))
(show (from-to (lambda (n) (equal? lossy (under both (lambda () (cdr (checkpoint-*j (cut n) weights 1.0)))))) 0 (primops net weights) 1)) ; expect: ()

;;; case tensors-in-any-order-with-gaps-and-of-any-type
(define (net-on x) (lambda (w) (sum (square (matmul x w)))))
(define (errors x w policy) (error-of (gradient-of (net-on x) w) (under policy (lambda () (gradient-of (net-on x) w)))))
(define (small type policy) (let ((x (cast (seeded '(64 96)) type)) (w (cast (seeded '(96 3)) type)))
  (map (lambda (x) (let ((e (errors x w policy))) (and (< 0 e) (< e .1)))) (list x (transpose (contiguous (transpose x))) (narrow-tensor (concat-tensors (list x x) 1) 1 5 96)))))
(show (map (lambda (type) (small type "relative=0.02,operators=product")) '(f32 f64 bf16))) ; expect: ((#t #t #t) (#t #t #t) (#t #t #t))

;;; case small-tensors-integers-and-empty-ones-stay-as-they-are
(define (same x w) (equal? (gradient-of (lambda (w) (sum (matmul x w))) w) (under "absolute=1,operators=product" (lambda () (gradient-of (lambda (w) (sum (matmul x w))) w)))))
(show (same (seeded '(10 10)) (seeded '(10 3)))) ; expect: #t
(show (same (cast (* 100 (seeded '(100 100))) 'i32) (seeded '(100 3)))) ; expect: #t
(show (same (fill '(0 5000) 0.) (seeded '(5000 3)))) ; expect: #t

;;; case what-is-no-number-and-infinities-are-kept
(define n (concat-tensors (list (fill '(1 2000) (/ 0. 0.)) (fill '(1 2000) (/ 1. 0.)) (fill '(1 2000) 0.5)) 0))
(define (of w) (sum (* (list->tensor '((0.) (1.) (1.))) (matmul n w))))
(define got (under "absolute=0.1,operators=product" (lambda () (gradient-of of (seeded '(2000 1))))))
(show (equal? got (gradient-of of (seeded '(2000 1))))) ; expect: #t

;;; case derivatives-of-lossy-gradients
(define (inner p) (let ((g (under both (lambda () (gradient-of net p))))) (apply + (map (lambda (t) (sumall (square t))) g))))
(define want (cdr (*j inner weights 1.0)))
(show (filter (lambda (spec) (not (equal? want (with-schedule spec (lambda () (cdr (checkpoint-*j inner weights 1.0))))))) '("tape" "bisection,base=16" "binomial,base=64,snapshots=3" "auto"))) ; expect: ()

;;; case batch-normalization-keeps-its-normalised-operand
(define (unit x w scale shift) (car (batch-normalization-training (convolve x w 1 1) scale shift)))
(define (normed-of x (list a s1 t1 b s2 t2)) (let ((y (unit (ReLU (unit x a s1 t1)) b s2 t2))) (sum (* (sin y) (seeded (size y))))))
(define (normed p) (normed-of x p))
(define p (list (car weights) (+ 2 (seeded '(8))) (seeded '(8)) (cadr weights) (seeded '(8)) (fill '(8) .1)))
(define norms "relative=.01,operators=batch-normalization")
(define exact (gradient-of normed p))
(define lossy (under norms (lambda () (gradient-of normed p))))
(show (map (lambda (a b) (let ((e (error-of a b))) (cond ((= e 0) 'exact) ((< e .05) 'near) (else e)))) exact lossy)) ; expect: (near near near near near exact)
(show (equal? (car (*j normed p 1.0)) (under norms (lambda () (car (*j normed p 1.0)))))) ; expect: #t
(show (equal? exact (under "relative=.01,operators=product" (lambda () (gradient-of normed p))))) ; expect: #t
(show (map equal? exact (under "relative=.01" (lambda () (gradient-of normed p))))) ; expect: (#f #t #t #f #t #t)
(show (equal? lossy (under (string-append norms ",form=small") (lambda () (gradient-of normed p))))) ; expect: #t
(define all "relative=.01,operators=convolution+product+batch-normalization")
(define lossy (under all (lambda () (gradient-of normed p))))
(define (by spec) (under all (lambda () (with-schedule spec (lambda () (cdr (checkpoint-*j normed p 1.0)))))))
(show (filter (lambda (spec) (not (equal? lossy (by spec)))) specs)) ; expect: ()
(define (run p) (under all (lambda () (with-schedule "binomial,base=16" (lambda () (cdr (checkpoint-*j normed p 1.0)))))))
(define (from-to p from to step) (if (> from to) '() (if (p from) (from-to p (+ from step) to step) (cons from (from-to p (+ from step) to step)))))
(show (from-to (lambda (n) (equal? lossy (resume (interrupt run p n)))) 0 (primops run p) 7)) ; expect: ()

;;; case with-next-to-no-error-the-rule-of-what-was-normalised-is-that-of-the-operand
(define (sums x s t epsilon) (let (((list y m v) (batch-normalization-training x s t epsilon))) (+ (sum (* (sin y) (seeded (size y)))) (sum (* m m)) (sum (sin (* 3 v))))))
(define (near? type epsilon)
  (let* ((x (cast (concat-tensors (list (+ 5 (seeded '(4 3 12 12))) (* 1e-3 (seeded '(4 2 12 12))) (fill '(4 1 12 12) 2.)) 1) type))
         (p (list x (cast (seeded '(6)) type) (cast (seeded '(6)) type)))
         (f (lambda ((list x s t)) (sums x s t epsilon)))
         (exact (gradient-of f p)))
    (map (lambda (a b) (let ((e (error-of (cast a 'f64) (cast b 'f64)))) (< e (if (eq? type 'f64) 1e-12 2e-5)))) exact (under "absolute=1e-20,operators=batch-normalization" (lambda () (gradient-of f p))))))
(show (map (lambda (type) (near? type 1e-5)) '(f32 f64))) ; expect: ((#t #t #t) (#t #t #t))
(show (near? 'f64 .1)) ; expect: (#t #t #t)

;;; case variances-that-a-lean-tape-let-go-of-are-computed-again
(define x (seeded '(2 4 24 24)))
(define (kernel shape) (* .1 (seeded shape)))
(define (f (list p s))
  (let* ((z (* x p)) (h (sin (car (batch-normalization-training z s s)))) (y (convolve (convolve h (kernel '(8 4 5 5)) 1 2) (kernel '(16 8 5 5)) 1 2)))
    (+ (sum (convolve (sin y) (kernel '(16 16 5 5)))) (sum (sin y)))))
(define p (list (+ 2 (seeded '(2 4 1 1))) (fill '(4) 1.)))
(define (under-norms thunk) (under "relative=.02,operators=batch-normalization" thunk))
(define lossy (under-norms (lambda () (gradient-of f p))))
(show (map equal? lossy (gradient-of f p))) ; expect: (#f #f)
(show (filter (lambda (spec) (not (equal? lossy (under-norms (lambda () (with-schedule spec (lambda () (cdr (checkpoint-*j f p 1.0))))))))) (append '("auto,memory=100KiB") specs))) ; expect: ()
(define (run p) (under-norms (lambda () (gradient-of f p))))
(define (from-to p from to step) (if (> from to) '() (if (p from) (from-to p (+ from step) to step) (cons from (from-to p (+ from step) to step)))))
(show (from-to (lambda (n) (equal? lossy (resume (interrupt run p n)))) 0 (primops run p) 5)) ; expect: ()

;;; case normalised-channels-that-have-no-number-are-constant-or-have-one-element
(define (of x n) (lambda (p) (sumall (sin (car (batch-normalization-training (* x (car p)) (cadr p) (caddr p)))))))
(define (both x n)
  (let ((p (list 2. (fill (list n) 1.) (fill (list n) .5))))
    (list (gradient-of (of x n) p) (under "absolute=.1,operators=batch-normalization" (lambda () (gradient-of (of x n) p))))))
(define (numbers t) (map (lambda (c) (= 0 (- c c))) (tensor->list t)))
; Beside NaN and infinity, channels have an error; these have what they have without one.
(define x (concat-tensors (list (seeded '(4 2 64 64)) (fill '(4 1 64 64) (/ 0. 0.)) (fill '(4 1 64 64) (/ 1. 0.)) (fill '(4 1 64 64) 3.)) 1))
(define found (both x 5))
(define exact (car found))
(define lossy (cadr found))
(show (numbers (cadr exact))) ; expect: (#t #t #f #f #t)
(show (equal? (numbers (cadr exact)) (numbers (cadr lossy)))) ; expect: #t
(show (< (error-of (narrow-tensor (cadr exact) 0 0 2) (narrow-tensor (cadr lossy) 0 0 2)) .02)) ; expect: #t
(define (channel t) (tensor->list (narrow-tensor t 0 4 1)))
(show (list (channel (cadr exact)) (channel (cadr lossy)))) ; expect: ((0.0) (0.0))
; Variance 0: what was normalised is 0, which comes back as it was.
(show (apply equal? (both (fill '(2 8 16 16) 3.) 8))) ; expect: #t
(show (apply equal? (both (seeded '(1 2000 1 1)) 2000))) ; expect: #t
(show (apply equal? (both (fill '(4 0 30 30) 1.) 0))) ; expect: #t

;;; case a-batch-without-elements-has-no-mean-with-a-policy-either
(under "absolute=.1,operators=batch-normalization" (lambda () (gradient-of (lambda (s) (sumall (car (batch-normalization-training (fill '(0 5 30 30) 1.) s s)))) (fill '(5) 1.))))
; expect error: batch-normalization-training: a tensor of shape \(0 5 30 30\) has no mean

;;; case errors-of-what-was-normalised-have-no-mean
(define y (+ 1 (* 3 (seeded '(2 4 32 32)))))
(define c (+ (* .1 y) (- (rand '(2 4 32 32) 'f32 'cpu 8) .5)))
(define (of-y (list y s)) (sum (* c (car (batch-normalization-training y s (fill '(4) 0.))))))
(define p (list y (fill '(4) 2.)))
(define exact (gradient-of of-y p))
(define lossy (under "absolute=.3,operators=batch-normalization" (lambda () (gradient-of of-y p))))
(define d (- (car lossy) (car exact)))
; The statistics of an operand with such errors would make the cotangent less by 0.02, and its error is no larger than that of the part that is in proportion to y.
(show (< .05 (error-of (car exact) (car lossy)) .15)) ; expect: #t
(show (< (abs (- 1 (/ (sumall (* (car lossy) (car exact))) (sumall (square (car exact)))))) 8e-3)) ; expect: #t
(show (< 0 (error-of (cadr exact) (cadr lossy)) .02)) ; expect: #t

;;; case other-normalizations-keep-their-normalised-operand
(define q (list (+ 2 (seeded '(8 16 16))) (seeded '(8 16 16)) (+ 1 (seeded '(16))) (+ 2 (seeded '(8))) (seeded '(8)) (car weights)))
(define (normed (list s t r a b w))
  (let* ((y (layer-normalization (convolve x w 1 1) s t)) (z (rms-normalization (sin y) r)) (u (group-normalization (tanh z) a b 2))) (sum (* (sin u) (seeded (size u))))))
(define exact (gradient-of normed q))
(define (with operators) (under (string-append "relative=.01,operators=" operators) (lambda () (gradient-of normed q))))
(define (which operators) (map (lambda (a b) (let ((e (error-of a b))) (cond ((= e 0) 'exact) ((< e .05) 'near) (else e)))) exact (with operators)))
(show (which "layer-normalization")) ; expect: (near exact exact exact exact near)
(show (which "rms-normalization")) ; expect: (near near near exact exact near)
(show (which "group-normalization")) ; expect: (near near near near exact near)
(show (which "batch-normalization+product")) ; expect: (exact exact exact exact exact exact)
(define all "rms-normalization+layer-normalization+convolution+group-normalization")
(define lossy (with all))
(show (map (lambda (a b) (< 0 (error-of a b) .05)) exact lossy)) ; expect: (#t #t #t #t #f #t)
(show (equal? lossy (with (string-append all ",form=small")))) ; expect: #t
(define policy (string-append "relative=.01,operators=" all))
(define (by spec) (under policy (lambda () (with-schedule spec (lambda () (cdr (checkpoint-*j normed q 1.0)))))))
(show (filter (lambda (spec) (not (equal? lossy (by spec)))) specs)) ; expect: ()
(define (run q) (under policy (lambda () (with-schedule "binomial,base=16" (lambda () (cdr (checkpoint-*j normed q 1.0)))))))
(define (from-to p from to step) (if (> from to) '() (if (p from) (from-to p (+ from step) to step) (cons from (from-to p (+ from step) to step)))))
(show (from-to (lambda (n) (equal? lossy (resume (interrupt run q n)))) 0 (primops run q) 7)) ; expect: ()
(show (< (error-of 1. (car (*j normed q 1.0))) 1e9)) ; expect: #t

;;; case with-next-to-no-error-the-rules-of-other-normalizations-are-those-of-the-operand
(define (near? f shape vector type)
  (let* ((x (cast (+ (* 3 (seeded shape)) (* 1e-3 (seeded shape)) 5) type)) (p (list x (cast (seeded vector) type) (cast (+ .5 (seeded vector)) type)))
         (g (lambda (p) (let ((y (apply f p))) (sum (* (sin y) (seeded (size y)))))))
         (exact (gradient-of g p))
         (lossy (under "absolute=1e-20,operators=layer-normalization+rms-normalization+group-normalization" (lambda () (gradient-of g p)))))
    (map (lambda (a b) (< (error-of (cast (+ a 1e-9) 'f64) (cast (+ b 1e-9) 'f64)) (if (eq? type 'f64) 1e-12 2e-5))) exact lossy)))
(define cases
  (list (list (lambda (x s t) (layer-normalization x s t)) '(4 5 60) '(60)) (list (lambda (x s t) (layer-normalization x s t .1)) '(7 30 8) '(30 8))
        (list (lambda (x s t) (layer-normalization x s t)) '(40 40) '(40 40)) (list (lambda (x s t) (layer-normalization (transpose x) s t)) '(90 20) '(90))
        (list (lambda (x s t) (* t (rms-normalization x s))) '(4 5 60) '(60)) (list (lambda (x s t) (* t (rms-normalization x s .1))) '(7 30 8) '(30 8))
        (list (lambda (x s t) (group-normalization x s t 1)) '(3 6 9 8) '(6)) (list (lambda (x s t) (group-normalization x s t 3 .1)) '(3 6 9 8) '(6))
        (list (lambda (x s t) (group-normalization x s t 6)) '(3 6 90) '(6)) (list (lambda (x s t) (group-normalization x s t 4)) '(200 8) '(8))
        (list (lambda (x s t) (group-normalization (permute x '(0 3 1 2)) s t 3)) '(3 9 8 6) '(6)) (list (lambda (x s t) (group-normalization (permute x '(1 2 0)) s t 2)) '(50 30 4) '(4))))
(show (filter (lambda (found) (member #f found)) (map (lambda ((list f shape vector)) (near? f shape vector 'f32)) cases))) ; expect: ()
(show (filter (lambda (found) (member #f found)) (map (lambda ((list f shape vector)) (near? f shape vector 'f64)) cases))) ; expect: ()

;;; case each-element-of-what-was-normalised-is-within-the-bound
; With ones for one row and zeros for the others the cotangent of scale is that row, normalised.
(define y (+ 3 (* 2 (seeded '(40 300)))))
(define (farthest f bound policy)
  (define (rows i) (gradient-of (lambda (s) (sumall (narrow-tensor (f y s) 0 i 1))) (fill '(300) 1.)))
  (/ (fold-left (lambda (most i) (max most (tensor->number (max-over (abs (- (rows i) (under policy (lambda () (rows i)))))))))  0 '(0 7 39)) bound))
(define zeros-300 (fill '(300) 0.))
(define (within? f name) (let ((part (farthest f .05 (string-append "absolute=.05,operators=" name)))) (< .9 part 1.0001)))
(show (within? (lambda (y s) (layer-normalization y s zeros-300)) "layer-normalization")) ; expect: #t
(show (within? (lambda (y s) (rms-normalization y s)) "rms-normalization")) ; expect: #t
(show (within? (lambda (y s) (group-normalization y s zeros-300 4)) "group-normalization")) ; expect: #t

;;; case errors-of-other-normalised-operands-have-no-mean
(define y (+ 1 (* 3 (seeded '(8 1024)))))
(define c (+ (* .1 y) (- (rand '(8 1024) 'f32 'cpu 8) .5)))
(define (ones-of n) (fill (list n) 1.))
(define (bias f name)
  (let* ((of-y (lambda (y) (sum (* c (f y))))) (exact (gradient-of of-y y)) (lossy (under (string-append "absolute=.3,operators=" name) (lambda () (gradient-of of-y y)))))
    (list (< .02 (error-of exact lossy) .15) (< (abs (- 1 (/ (sumall (* lossy exact)) (sumall (square exact))))) 1.2e-2))))
(show (bias (lambda (y) (layer-normalization y (ones-of 1024) (ones-of 1024))) "layer-normalization")) ; expect: (#t #t)
(show (bias (lambda (y) (rms-normalization y (ones-of 1024))) "rms-normalization")) ; expect: (#t #t)
(show (bias (lambda (y) (group-normalization y (ones-of 1024) (ones-of 1024) 2)) "group-normalization")) ; expect: (#t #t)

;;; case rows-that-have-no-number-or-are-constant
(define all "absolute=.1,operators=layer-normalization+rms-normalization+group-normalization")
(define (rows-of v) (concat-tensors (list (seeded '(2 512)) (fill '(1 512) v)) 0))
(define (numbers t) (map (lambda (row) (= 0 (- (sumall row) (sumall row)))) (list (narrow-tensor t 0 0 1) (narrow-tensor t 0 2 1))))
(define (of f v) (let ((g (lambda (x) (sumall (sin (f x)))))) (list (gradient-of g (rows-of v)) (under all (lambda () (gradient-of g (rows-of v)))))))
(define functions
  (list (lambda (x) (layer-normalization x (fill '(512) 2.) (fill '(512) 1.))) (lambda (x) (rms-normalization x (fill '(512) 2.))) (lambda (x) (group-normalization x (fill '(512) 2.) (fill '(512) 1.) 2))))
(show (map (lambda (f) (map numbers (of f (/ 0. 0.)))) functions)) ; expect: (((#t #f) (#t #f)) ((#t #f) (#t #f)) ((#t #f) (#t #f)))
(show (map (lambda (f) (map numbers (of f (/ 1. 0.)))) functions)) ; expect: (((#t #f) (#t #f)) ((#t #f) (#t #f)) ((#t #f) (#t #f)))
(show (map (lambda (f) (map (lambda (t) (tensor->list (narrow-tensor (narrow-tensor t 0 2 1) 1 0 1))) (of f 0.))) (list (car functions) (caddr functions)))) ; expect: ((((0.0)) ((0.0))) (((0.0)) ((0.0))))
(show (map (lambda (f) (size (under all (lambda () (gradient-of (lambda (x) (sumall (f x))) (fill '(0 512) 1.)))))) functions)) ; expect: ((0 512) (0 512) (0 512))

;;; case variances-are-followed-through-a-batch-normalization-that-has-an-error
(define all "relative=.01,operators=convolution+batch-normalization")
(define (f (list w s)) (sum (square (car (batch-normalization-training (convolve x w 1 1) s (fill '(8) 0.))))))
(define p (list (car weights) (+ 2 (seeded '(8)))))
(define v (under all (lambda () (error-variances f p))))
(show (list (< 0 (sumall (car v))) (sumall (cadr v)))) ; expect: (#t 0.0)

;;; case by-the-flag
; flags: --lossy=relative=0.02,operators=convolution+product
(show (equal? exact lossy)) ; expect: #t
(show (equal? lossy (under "none" (lambda () (gradient-of net weights))))) ; expect: #f

;;; case a-bound-below-zero
(with-lossy-tape "absolute=-1" (lambda () 1))
; expect error: with-lossy-tape: lossy policy 'absolute=-1': a bound is a number from 1e-25 to 1e\+25

;;; case a-bound-that-is-no-number
(with-lossy-tape "relative=+nan.0" (lambda () 1))
; expect error: with-lossy-tape: lossy policy 'relative=\+nan.0': a bound is a number from 1e-25 to 1.0

;;; case a-bound-larger-than-the-data
(with-lossy-tape "relative=1.5" (lambda () 1))
; expect error: with-lossy-tape: lossy policy 'relative=1.5': a bound is a number from 1e-25 to 1.0

;;; case no-bound
(with-lossy-tape "absolute" (lambda () 1))
; expect error: with-lossy-tape: lossy policy 'absolute=': a bound is a number

;;; case no-policy
(with-lossy-tape "adapt" (lambda () 1))
; expect error: with-lossy-tape: there is no lossy policy 'adapt'; there are none, adaptive, absolute=BOUND and relative=BOUND

;;; case adaptive-has-no-bound
(with-lossy-tape "adaptive=1" (lambda () 1))
; expect error: with-lossy-tape: lossy policy 'adaptive=1': adaptive has no bound of its own, tensors get theirs by allow-error

;;; case no-operators
(with-lossy-tape "absolute=1,operators=pool" (lambda () 1))
; expect error: with-lossy-tape: lossy policy: 'pool' names no operators; operators=convolution\+product\+batch-normalization\+layer-normalization\+rms-normalization\+group-normalization names all that there are

;;; case operators-twice
(with-lossy-tape "absolute=1,operators=product+product" (lambda () 1))
; expect error: with-lossy-tape: lossy policy: 'product' is there twice

;;; case adaptive-is-about-products
(with-lossy-tape "adaptive,operators=convolution+batch-normalization" (lambda () 1))
; expect error: with-lossy-tape: lossy policy: adaptive has no bound for batch-normalization, since bounds by parameter are about products; relative=BOUND has one

;;; case no-form
(with-lossy-tape "absolute=1,form=tiny" (lambda () 1))
; expect error: with-lossy-tape: lossy policy: there is no form 'tiny'; there are fast and small

;;; case an-option-twice
(with-lossy-tape "absolute=1,form=small,form=small" (lambda () 1))
; expect error: with-lossy-tape: lossy policy: form= is there twice

;;; case no-option
(with-lossy-tape "absolute=1,size=3" (lambda () 1))
; expect error: with-lossy-tape: lossy policy: there is no option 'size'

;;; case no-policy-with-options
(with-lossy-tape "none,form=small" (lambda () 1))
; expect error: with-lossy-tape: lossy policy: 'none' keeps everything exactly, so nothing may stand behind it

;;; case nothing-behind-the-comma
(with-lossy-tape "relative=1," (lambda () 1))
; expect error: with-lossy-tape: lossy policy: there is no option ''

;;; case nothing-behind-the-plus
(with-lossy-tape "relative=1,operators=convolution+" (lambda () 1))
; expect error: with-lossy-tape: lossy policy: '' names no operators

;;; case gradients-that-are-infinite-alike
(check-lossy (lambda (x) (sumall (/ x 0.))) (fill '(3) 1.))
; expect: check-lossy: tensor 1, sizes (3): exact
; expect: check-lossy: all together: exact

;;; case no-text
(with-lossy-tape 'none (lambda () 1))
; expect error: with-lossy-tape: expected a string, got none

;;; case no-thunk
(with-lossy-tape "none" 5)
; expect error: 5
