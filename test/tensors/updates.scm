; *j-update and its kin: leaves replaced one by one, with what all cotangents together would have given.
(define (show x) (write x) (newline))
(define (lists x) (cond ((tensor? x) (tensor->list x)) ((pair? x) (cons (lists (car x)) (lists (cdr x)))) ((vector? x) (vector-map lists x)) (else x)))
(define specs '("tape" "bisection,base=16" "binomial,base=16" "binomial,base=16,snapshots=1" "binomial,base=16,snapshots=3" "sqrt,base=16" "online,base=16" "auto"))
(define (from-to p from to) (if (> from to) '() (if (p from) (from-to p (+ from 1) to) (cons from (from-to p (+ from 1) to)))))
(define (bad-splits f x)
  (let ((want (f x)) (total (primops f x)))
    (from-to (lambda (n) (let ((z (interrupt f x n))) (and (equal? want (resume z)) (equal? want (resume z)) (= total (+ n (primops resume z))))))
             0 total)))
(define (matrix n k) (list->tensor (build-list n (lambda (i) (build-list n (lambda (j) (sin (+ (* 7 i) (* 3 j) k)))))) 'f64))
(define (layers n) (build-list n (lambda (k) (cons (matrix 3 k) (* .1 k)))))
(define (net p) (let loop ((l (cdr p)) (x (car p))) (if (null? l) (sumall (* x x)) (loop (cdr l) (tanh (+ (matmul x (caar l)) (cdar l)))))))
(define (parameters) (cons (matrix 3 .5) (layers 12)))
(define (sized n) (cons (matrix 2 .5) (build-list n (lambda (k) (cons (list->tensor (build-list (+ k 3) (lambda (i) .5)) 'f64) (* .1 k))))))
(define (chain p) (let loop ((l (cdr p)) (x (car p))) (if (null? l) (sumall (* x x)) (loop (cdr l) (tanh (+ (* x (cdar l)) (sumall (caar l))))))))
(define (two) (cons (list->tensor '(1.5 2) 'f64) (list->tensor '(1 2) 'f64)))
(define (descend p g s) (cons (- p (* .1 g)) s))
(define (momentum p g s) (let ((v (+ (* .9 s) g))) (cons (- p (* .1 v)) v)))
; Without updates: x, the structure of its cotangents and the state, walked together.
(define (updated x g rule s)
  (define (part v pick) (if (pair? v) (pick v) v))
  (cond ((or (tensor? x) (number? x)) (rule x g s))
        ((pair? x)
         (let* ((a (updated (car x) (part g car) rule (part s car))) (d (updated (cdr x) (part g cdr) rule (part s cdr))))
           (cons (cons (car a) (car d)) (cons (cdr a) (cdr d)))))
        (else (cons x x))))
(define (all-together f x c rule s) (let* ((r (*j f x c)) (u (updated x (cdr r) rule s))) (list (car r) (car u) (cdr u))))
(define (differing want op) (filter (lambda (spec) (not (equal? want (with-schedule spec (lambda () (op)))))) specs))
;;; case small
(define (f x) (+ (sumall (* (car x) (cadr x))) (* 3 (caddr x))))
(define x (list (list->tensor '(1 2) 'f64) (list->tensor '(3 4) 'f64) 2))
(show (lists (*j-update f x 1 descend '()))) ; expect: (17.0 ((0.7 1.6) (2.9 3.8) 1.7) ())
(show (lists (checkpoint-*j-update f x 1 descend '()))) ; expect: (17.0 ((0.7 1.6) (2.9 3.8) 1.7) ())
(show (lists (*j-update f x 1 momentum (list (list->tensor '(1 10) 'f64) 0 1)))) ; expect: (17.0 ((0.61 0.7) (2.9 3.8) 1.6099999999999999) ((3.9 13.0) (1.0 2.0) 3.9))
(show (lists x)) ; expect: ((1.0 2.0) (3.0 4.0) 2)
;;; case numbers-vectors-procedures
(show (*j-update (lambda (x) (* (vector-ref x 0) (vector-ref x 1))) (vector 2 3) 1 descend '())) ; expect: (6.0 #(1.7 2.8) ())
(show (*j-update (lambda (x) (* x x)) 3 1 descend '())) ; expect: (9.0 2.4 ())
(define (line a b) (lambda (x) (+ (* a x) b)))
(define after (checkpoint-*j-update (lambda (g) (g 2)) (line 3 4) 1 descend '()))
(show ((cadr after) 1)) ; expect: 6.699999999999999
(show (checkpoint-*j-update (lambda (x) (* (car x) (cdr x))) '(2 . 3) 1 momentum '((1 . 1) . 5))) ; expect error: .*expected a number.*
;;; case under-all-schedules
(define want (all-together net (parameters) 1 momentum 0))
(show (equal? want (*j-update net (parameters) 1 momentum 0))) ; expect: #t
(show (differing want (lambda () (checkpoint-*j-update net (parameters) 1 momentum 0)))) ; expect: ()
(show (equal? want (*j-update! net (parameters) 1 momentum 0))) ; expect: #t
(show (differing want (lambda () (checkpoint-*j-update! net (parameters) 1 momentum 0)))) ; expect: ()
;;; case a-leaf-used-all-along
(define (tied p) (let loop ((i 0) (x (car p))) (if (= i 20) (sumall (* x x)) (loop (+ i 1) (tanh (+ (matmul x (cadr p)) (if (= i 5) (caddr p) 0)))))))
(define (three) (list (matrix 3 1) (matrix 3 2) (matrix 3 3)))
(define want (all-together tied (three) 1 momentum 0))
(show (differing want (lambda () (checkpoint-*j-update! tied (three) 1 momentum 0)))) ; expect: ()
(show (equal? want (*j-update! tied (three) 1 momentum 0))) ; expect: #t
;;; case read-first-without-a-derivative
(define (peeks p) (let ((peek (car (tensor->list (cast (car p) 'i32))))) (let loop ((i 0) (x 1.)) (if (= i 20) (* x (sumall (* (car p) (cdr p)))) (loop (+ i 1) (* x .9))))))
(define want (all-together peeks (two) 1 momentum 0))
(show (differing want (lambda () (checkpoint-*j-update! peeks (two) 1 momentum 0)))) ; expect: ()
;;; case derivatives-inside
(define (inner p) (sumall (* (car p) (cdr (*j (lambda (w) (sumall (tanh (* w (cdr p))))) (car p) 1)))))
(define want (all-together inner (two) 1 momentum 0))
(show (equal? want (*j-update! inner (two) 1 momentum 0))) ; expect: #t
(show (differing want (lambda () (checkpoint-*j-update! inner (two) 1 momentum 0)))) ; expect: ()
;;; case derivatives-outside
(define (after-a-step rate) (net (cadr (checkpoint-*j-update net (parameters) 1 (lambda (p g s) (cons (- p (* rate g)) s)) '()))))
(define (by-hand rate) (net (cadr (all-together net (parameters) 1 (lambda (p g s) (cons (- p (* rate g)) s)) '()))))
(define (near? a b) (< (abs (- a b)) 1e-12))
(show (near? (gradient after-a-step .1) (gradient by-hand .1))) ; expect: #t
(show (near? (cdr (j* after-a-step .1 1)) (gradient by-hand .1))) ; expect: #t
;;; case forward-mode-outside
; By the leaves, by the cotangent, by what the rule knows, by the state; tensors and numbers; each kind of update.
(define kinds (list *j-update checkpoint-*j-update *j-update! checkpoint-*j-update!))
(define (mixed p) (+ (sumall (* (car p) (cadr p))) (* (caddr p) (caddr p))))
(define (point k) (list (list->tensor '(1.5 2) 'f64) (list->tensor (list k 2) 'f64) (* 3 k)))
(define (by-rate r) (lambda (p g s) (cons (- p (* r g)) s)))
(define (same-tangents op)
  (for-each
    (lambda (kind) (let ((want (j* (lambda (t) (op (lambda (f x c rule s) (all-together f x c rule s)) t)) .5 1.)) (got (j* (lambda (t) (op kind t)) .5 1.)))
                     (display (equal? (lists want) (lists got))) (display " ")))
    kinds)
  (newline))
(same-tangents (lambda (op t) (cadr (op mixed (point t) 1 (by-rate .1) 0)))) ; expect: #t #t #t #t 
(same-tangents (lambda (op t) (cadr (op mixed (point 2) t (by-rate .1) 0)))) ; expect: #t #t #t #t 
(same-tangents (lambda (op t) (cadr (op mixed (point 2) 1 (by-rate t) 0)))) ; expect: #t #t #t #t 
(same-tangents (lambda (op t) (cdr (op mixed (point 2) 1 momentum (list t t t))))) ; expect: #t #t #t #t 
(same-tangents (lambda (op t) (cadr (op mixed (point t) t (by-rate t) 0)))) ; expect: #t #t #t #t 
;;; case forward-mode-twice-outside
(define kinds (list *j-update checkpoint-*j-update *j-update! checkpoint-*j-update!))
(define (mixed p) (+ (sumall (* (car p) (cadr p))) (* (caddr p) (caddr p))))
(define (point k) (list (list->tensor '(1.5 2) 'f64) (list->tensor (list k 2) 'f64) (* 3 k)))
(define (step kind r k) (mixed (cadr (kind mixed (point k) 1 (lambda (p g s) (cons (- p (* r g)) s)) '()))))
(define (second f) (cdr (j* (lambda (t) (cdr (j* f t 1.))) .5 1.)))
(define (both f) (cdr (j* (lambda (r) (cdr (j* (lambda (k) (f r k)) .5 1.))) .25 1.)))
(define (reverse-over f) (cdr (*j (lambda (t) (cdr (j* f t 1.))) .5 1.)))
(define (forward-over f) (cdr (j* (lambda (t) (cdr (*j f t 1.))) .5 1.)))
; The loss after a step at rate r, r = .5, k = 2, and its second derivatives: polynomials.
(show (map (lambda (kind) (second (lambda (r) (step kind r 2.)))) kinds)) ; expect: (302.0 302.0 302.0 302.0)
(show (map (lambda (kind) (second (lambda (k) (step kind .5 k)))) kinds)) ; expect: (-1.0 -1.0 -1.0 -1.0)
(show (map (lambda (kind) (reverse-over (lambda (r) (step kind r 2.)))) kinds)) ; expect: (302.0 302.0 302.0 302.0)
(show (map (lambda (kind) (forward-over (lambda (r) (step kind r 2.)))) kinds)) ; expect: (302.0 302.0 302.0 302.0)
(show (map (lambda (kind) (both (lambda (r k) (step kind r k)))) kinds)) ; expect: (-18.25 -18.25 -18.25 -18.25)
;;; case the-order-of-turns
; The last layer first; then numbers. The same under all schedules, also where the rule writes.
(define (loud p g s) (display (if (tensor? p) (car (size p)) p)) (display " ") (descend p g s))
(define (quiet-value op) (let ((v (op))) (newline) v))
(define a (quiet-value (lambda () (*j-update chain (sized 4) 1 loud '())))) ; expect: 6 5 4 3 2 0.0 0.1 0.2 0.30000000000000004 
(define b (quiet-value (lambda () (checkpoint-*j-update chain (sized 4) 1 loud '())))) ; expect: 6 5 4 3 2 0.0 0.1 0.2 0.30000000000000004 
(define c (quiet-value (lambda () (with-schedule "binomial,base=16,snapshots=2" (lambda () (checkpoint-*j-update! chain (sized 4) 1 loud '())))))) ; expect: 6 5 4 3 2 0.0 0.1 0.2 0.30000000000000004 
(show (and (equal? a b) (equal? b c))) ; expect: #t
;;; case interrupted-anywhere
(show (bad-splits (lambda (_) (*j-update chain (sized 4) 1 momentum 0)) 0)) ; expect: ()
(show (bad-splits (lambda (_) (with-schedule "binomial,base=16,snapshots=2" (lambda () (checkpoint-*j-update chain (sized 4) 1 momentum 0)))) 0)) ; expect: ()
;;; case a-capsule-keeps-its-leaves
; While it is held, what is given up in one continuation must not be missed in the other. (Before step 16 the arguments are still on their way to the operator, and the capsule holds them.)
(define (go x) (checkpoint-*j-update! chain x 1 momentum 0))
(define want (go (sized 4)))
(define total (primops go (sized 4)))
(define (at n) (interrupt go (sized 4) n))
(define (twice n) (let ((z (at n))) (and (equal? want (resume z)) (equal? want (resume z)))))
(show (from-to twice 16 (- total 1))) ; expect: ()
;;; case gradients-never-exist-together
; 50 leaves of 64 KiB: all cotangents would need as much again.
; flags: --memory=4MiB
(define (wide) (cons (fill '(2 128) .5) (build-list 50 (lambda (k) (fill '(128 128) (* .001 (+ k 1)))))))
(define (deep p) (let loop ((l (cdr p)) (x (car p))) (if (null? l) (sumall (* x x)) (loop (cdr l) (tanh (matmul x (car l)))))))
(show (< 255 (car (*j-update! deep (wide) 1 descend '())) 257)) ; expect: #t
(show (< 255 (car (checkpoint-*j-update! deep (wide) 1 descend '())) 257)) ; expect: #t
;;; case which-otherwise-do-not-fit
; flags: --memory=4MiB
; expect exit: 3
; expect error: .*memory.*
(define (wide) (cons (fill '(2 128) .5) (build-list 50 (lambda (k) (fill '(128 128) (* .001 (+ k 1)))))))
(define (deep p) (let loop ((l (cdr p)) (x (car p))) (if (null? l) (sumall (* x x)) (loop (cdr l) (tanh (matmul x (car l)))))))
(*j deep (wide) 1)
;;; case held-by-somebody-else
(define mine (matrix 3 1))
(*j-update! sumall mine 1 descend '()) ; expect error: \*j-update!: something else holds a leaf of #<tensor f64 \(3 3\).*the definition of mine, which the program may use again; bind it by 'let'.*
mine
;;; case held-by-a-procedure
(define mine (matrix 3 1))
(define (look) mine)
(*j-update! sumall mine 1 descend '()) ; expect error: \*j-update!: something else holds a leaf of #<tensor f64 \(3 3\).*
(look)
;;; case a-definition-whose-last-use-it-is
(define mine (matrix 3 1))
(define first (sumall mine))
(define both (*j-update! sumall mine 1 descend '()))
(define (train m n) (if (= n 0) (sumall m) (train (cadr (checkpoint-*j-update! sumall m 1 descend '())) (- n 1))))
(show (= first (car both))) ; expect: #t
(show (< (train (cadr both) 3) first)) ; expect: #t
(define-values (value m _) (*j-update! sumall (matrix 3 1) 1 descend '()))
(show (< (car (checkpoint-*j-update! sumall m 1 descend '())) value)) ; expect: #t
(define other (list (matrix 3 1)))
(show (< (train (if (pair? other) (matrix 3 2) 0) 2) (* 2 first))) ; expect: #t
;;; case elements-in-common
(define whole (matrix 3 1))
(*j-update! sumall (index whole 0) 1 descend '()) ; expect error: \*j-update!: a leaf of .* has its elements in common with another tensor, as what index, view or slice gives does: \(\* 1 leaf\) has elements of its own; \*j-update does the same.*
whole
;;; case elements-of-its-own
(define whole (matrix 3 1))
(show (pair? (*j-update! sumall (* 1 (index whole 0)) 1 descend '()))) ; expect: #t
(show (size whole)) ; expect: (3 3)
;;; case held-by-the-value
(*j-update! (lambda (x) (cons (sumall x) x)) (matrix 3 1) (cons 1 (matrix 3 2)) descend '()) ; expect error: \*j-update!: something else holds a leaf: the value of the procedure.*
;;; case a-rule-that-gives-no-pair
(*j-update sumall (matrix 3 1) 1 (lambda (p g s) p) '()) ; expect error: \*j-update: expected the pair of a leaf and its state from the rule, got #<tensor.*
;;; case a-rule-that-changes-the-shape
(checkpoint-*j-update! sumall (matrix 3 1) 1 (lambda (p g s) (cons (sumall p) s)) '()) ; expect error: checkpoint-\*j-update!: expected #<tensor f64 \(3 3\).* from the rule, got .*
;;; case a-state-that-there-is-not
(*j-update sumall (matrix 3 1) 1 (lambda (p g s) (cons p g)) '()) ; expect error: \*j-update: the rule gave the state #<tensor f64 \(3 3\).*, and there is none: begin with 0.*
;;; case a-number's-state-that-there-is-not
(checkpoint-*j-update! (lambda (x) (* x x)) 3 1 (lambda (p g s) (cons p 1)) '()) ; expect error: checkpoint-\*j-update!: the rule gave the state 1, and there is none.*
;;; case a-state-that-there-is-not-below-a-derivative
(j* (lambda (a) (*j-update (lambda (x) (* x x)) a 1 (lambda (p g s) (cons p 1)) '())) 3. 1.) ; expect error: .*the rule gave a state, and there is none.*
;;; case a-state-of-another-shape
(*j-update car (list 1 2) 1 descend '(1)) ; expect error: \*j-update: the state.*
;;; case a-rule-that-fails
(define (bad p g s) (if (tensor? p) (error "no" (size p)) (descend p g s)))
(checkpoint-*j-update net (parameters) 1 bad '()) ; expect error: no \(3 3\)
;;; case a-number-beside-a-tensor-that-was-read-first
; Nothing is left of the sweep when the tensor has had its turn: the number's cotangent must not go with it.
(define (descend p g s) (cons (- p g) s))
(define (f x) (let ((l (tensor->list (cadr x)))) (list (car l) (car x))))
(define (updated operator) (let ((x (cadr (operator f (list 2. (list->tensor '(1 2) 'f64)) '(1 1) descend '())))) (list (car x) (tensor->list (cadr x)))))
(write (updated *j-update)) (newline)                                                                 ; expect: (1.0 (0.0 2.0))
(write (updated checkpoint-*j-update)) (newline)                                                      ; expect: (1.0 (0.0 2.0))
(write (with-schedule "binomial,base=16" (lambda () (updated checkpoint-*j-update!)))) (newline)      ; expect: (1.0 (0.0 2.0))
;;; case a-tensor-that-an-operator-inside-reads-behind-a-split
; To the update, what the inner gradient reads is read where that began: its cotangent comes from there.
(define (descend p g s) (cons (- p g) s))
(define (wait n x) (if (= n 0) x (wait (- n 1) (+ x 0))))
(define (inner x) (cdr (*j (lambda (u) (let ((v (wait 40 u))) (* v v (car (tensor->list (cadr x)))))) (car x) 1)))
(define (f x) (* (inner x) (car (tensor->list (caddr x)))))
(define (x) (list 1. (list->tensor '(1 2) 'f64) (list->tensor '(3 4) 'f64)))
(define (updated operator) (map (lambda (p) (if (tensor? p) (tensor->list p) p)) (cadr (operator f (x) 1 descend '()))))
(define (under spec) (with-schedule spec (lambda () (updated checkpoint-*j-update))))
(write (updated *j-update)) (newline)          ; expect: (-5.0 (-5.0 2.0) (1.0 4.0))
(write (under "tape")) (newline)               ; expect: (-5.0 (-5.0 2.0) (1.0 4.0))
(write (under "bisection,base=16")) (newline)  ; expect: (-5.0 (-5.0 2.0) (1.0 4.0))
(write (under "binomial,base=16")) (newline)   ; expect: (-5.0 (-5.0 2.0) (1.0 4.0))
(write (under "online,base=23")) (newline)     ; expect: (-5.0 (-5.0 2.0) (1.0 4.0))
