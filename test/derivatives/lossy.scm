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
; expect error: with-lossy-tape: lossy policy: 'pool' names no operators; operators=convolution\+product names all that there are

;;; case operators-twice
(with-lossy-tape "absolute=1,operators=product+product" (lambda () 1))
; expect error: with-lossy-tape: lossy policy: 'product' is there twice

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
