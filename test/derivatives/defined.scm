; define-derivative: rules written in the language.
;;; case all
(define (show x) (write x) (newline))
(define (near? a b) (<= (abs (- a b)) (* 1e-12 (max 1 (abs a) (abs b)))))
(define (d f) (lambda (x) (cdr (*j f x 1.))))
(define (e f) (lambda (x) (cdr (j* f x 1.))))
(define (c f) (lambda (x) (cdr (checkpoint-*j f x 1.))))
(define all-modes (list d e c))
(define (compose l f) (if (null? l) f ((car l) (compose (cdr l) f))))
(define (orders n) (if (= n 0) '(()) (append-map (lambda (l) (map (lambda (m) (cons m l)) all-modes)) (orders (- n 1)))))
; Both rules; that they are called is seen by a factor that is wrong on purpose.
(define-derivative (odd-square x)
  (value (* x x))
  (forward (y dx) (* 20 x dx))
  (reverse (y c) (list (* 200 x c))))
(show (odd-square 3))                                            ; expect: 9
(show (j* odd-square 3. 1))                                      ; expect: (9.0 . 60.0)
(show (*j odd-square 3. 1))                                      ; expect: (9.0 . 600.0)
(show (checkpoint-*j odd-square 3. 1))                           ; expect: (9.0 . 600.0)
(show (map odd-square '(1 2)))                                   ; expect: (1 4)
; Several arguments, of any kind. A stable logarithm of a sum.
(define-derivative (log-add a b)
  (value (let ((m (max a b))) (+ m (log (+ (exp (- a m)) (exp (- b m)))))))
  (forward (y da db) (+ (* da (exp (- a y))) (* db (exp (- b y)))))
  (reverse (y c) (list (* c (exp (- a y))) (* c (exp (- b y))))))
(define (plain a b) (log (+ (exp a) (exp b))))
(define (along f) (lambda (x) (f (* x x) (sin x))))
(show (map (lambda (n)
             (map (lambda (modes) (near? ((compose modes (along log-add)) .7) ((compose modes (along plain)) .7))) (orders n)))
           '(1 2)))                                              ; expect: ((#t #t #t) (#t #t #t #t #t #t #t #t #t))
(show (let ((l (map (lambda (modes) (near? ((compose modes (along log-add)) .7) ((compose modes (along plain)) .7))) (orders 3)))) (list (length l) (length (filter (lambda (b) b) l))))) ; expect: (27 27)
(show (gradient (lambda ((list a b)) (log-add a b)) '(1000. 1000.))) ; expect: (0.5 0.5)
(show (check-gradient (lambda ((list a b)) (log-add a b)) '(.3 .9))) ; expect any output
; One rule gives the other.
(define-derivative (cube-r x) (value (* x x x)) (reverse (y c) (list (* 3 x x c))))
(define-derivative (cube-f x) (value (* x x x)) (forward (y dx) (* 3 x x dx)))
(show (map (lambda (f) (map (lambda (modes) ((compose modes f) 2.)) (orders 1))) (list cube-r cube-f))) ; expect: ((12.0 12.0 12.0) (12.0 12.0 12.0))
(show (map (lambda (f) (map (lambda (modes) ((compose modes f) 2.)) (orders 2))) (list cube-r cube-f))) ; expect: ((12.0 12.0 12.0 12.0 12.0 12.0 12.0 12.0 12.0) (12.0 12.0 12.0 12.0 12.0 12.0 12.0 12.0 12.0))
(show (map (lambda (f) (filter (lambda (x) (not (near? x 6.))) (map (lambda (modes) ((compose modes f) 2.)) (orders 3)))) (list cube-r cube-f))) ; expect: (() ())
; Structures and tensors; patterns as parameters; a part that does not matter.
(define-derivative (affine (list w b) x how)
  (value (+ (matmul x w) b))
  (reverse (y c) (list (list (matmul (transpose x) c) (sum c 0)) (matmul c (transpose w)) 0)))
(define w (list->tensor '((1 2 3) (4 5 6)) 'f64))
(define b (list->tensor '(.5 .25 -1) 'f64))
(define x (list->tensor '((1 -1) (2 .5) (-3 1) (0 2)) 'f64))
(define (loss f) (lambda ((list w b x)) (sumall (square (f (list w b) x 'plain)))))
(define (same a b) (apply + (map (lambda (a b) (sumall (abs (- a b)))) a b)))
(define (affine-plain (list w b) x how) (+ (matmul x w) b))
(show (< (same (gradient (loss affine) (list w b x)) (gradient (loss affine-plain) (list w b x))) 1e-10)) ; expect: #t
(define v (list (randn '(2 3) 'f64) (randn '(3) 'f64) (randn '(4 2) 'f64)))
(show (< (same (hessian-vector (loss affine) (list w b x) v) (hessian-vector (loss affine-plain) (list w b x) v)) 1e-9)) ; expect: #t
; A rule that is not linear: the cotangent is cut off.
(define-derivative (clipped x) (value x) (forward (y dx) dx) (reverse (y c) (list (max -1 (min 1 c)))))
(show (gradient (lambda (x) (* 100 (clipped x))) 3.))            ; expect: 1.0
(show (gradient (lambda (x) (* .5 (clipped x))) 3.))             ; expect: 0.5
; Long runs: the same bits under every schedule, in pairs and with an inner derivative.
(define (step x) (let ((y (log-add x (* .5 x)))) (- y (* .45 (cdr (*j (lambda (z) (log-add z .1)) x 1.))))))
(define (long x n) (if (= n 0) x (long (step x) (- n 1))))
(define (run x) (long x 300))
(define reference (*j run .5 1.))
(define (under spec) (with-schedule spec (lambda () (checkpoint-*j run .5 1.))))
(show (map (lambda (s) (equal? (under s) reference)) '("tape" "bisection,base=16" "binomial,base=16,snapshots=3" "sqrt,base=64" "online,base=16" "budget,memory=64KiB" "auto"))) ; expect: (#t #t #t #t #t #t #t)
(define (second spec) (with-schedule spec (lambda () (checkpoint-*j (lambda (x) (cdr (checkpoint-*j (lambda (x) (long x 12)) x 1.))) .5 1.))))
(show (map (lambda (s) (equal? (second s) (second "tape"))) '("bisection,base=16" "binomial,base=16,snapshots=2" "online,base=16"))) ; expect: (#t #t #t)
(show (near? (cdr (second "tape")) ((e (d (lambda (x) (long x 12)))) .5))) ; expect: #t
; Steps are the same whether a derivative is taken or not, and a run may be split anywhere.
(define (split-everywhere f x)
  (let ((n (primops f x)) (y (f x)))
    (let loop ((i 0)) (if (> i n) #t (if (equal? (resume (interrupt f x i)) y) (loop (+ i 1)) i)))))
(show (split-everywhere (lambda (x) (*j (lambda (x) (log-add x (* x x))) x 1.)) .5)) ; expect: #t
(show (split-everywhere (lambda (x) (j* (lambda (x) (log-add x (* x x))) x 1.)) .5)) ; expect: #t
(define (gradient-through n) (lambda (x) (log-add (resume (interrupt (lambda (x) (log-add x (* x x))) x n)) x)))
(show (let loop ((i 0)) (if (> i 40) #t (if (equal? (*j (gradient-through i) .5 1.) (checkpoint-*j (gradient-through i) .5 1.)) (loop (+ i 1)) i)))) ; expect: #t
; What the value gives may be its argument, a structure, or a constant.
(define-derivative (both x) (value (list x (* 2 x) 'name 7)) (forward (y dx) (list dx (* 2 dx) 'name 0)) (reverse (y (list a b s k)) (list (+ a (* 2 b)))))
(show (gradient (lambda (x) (let (((list a b n k) (both x))) (+ a (* b b) k))) 3.)) ; expect: 25.0
(show (gradient (lambda (x) (car (both x))) 3.))                 ; expect: 1.0
(show (j* both 3. 1))                                            ; expect: ((3.0 6.0 name 7) 1.0 2.0 name 0)
; Updates of leaves that only the rule reads.
(define-derivative (ignores w x) (value x) (forward (y dw dx) (+ dx (sumall (* dw w)))) (reverse (y c) (list (* c w) c)))
(define (train! t) (cadr (*j-update! (lambda ((list w)) (let ((y (ignores w 2.))) (+ y (sumall (* 3 w))))) (list t) 1 (lambda (leaf c s) (cons (- leaf (* .5 c)) '())) '())))
(show (tensor->list (car (train! (list->tensor '(1 2) 'f64)))))  ; expect: (-1.0 -0.5)
;;; case wrong-shape
(define-derivative (f x) (value (* x x)) (reverse (y c) (list "no")))
(gradient f 3.)
; expect error: the reverse rule of f
;;; case too-few-cotangents
(define-derivative (f a b) (value (* a b)) (reverse (y c) (list (* b c))))
(gradient (lambda (x) (f x x)) 3.)
; expect error: the reverse rule of f
;;; case wrong-tangent
(define-derivative (f x) (value (* x x)) (forward (y dx) (list dx)))
(j* f 3. 1)
; expect error: the forward rule
;;; case arity
(define-derivative (f a b) (value (* a b)) (reverse (y c) (list c c)))
(f 1)
; expect error: f.*2 arguments, got 1
;;; case within-a-procedure
(define (g c) (define-derivative (f x) (value (* c x)) (reverse (y c) (list c))) (f 1))
; expect exit: 2
; expect error: 'define-derivative' belongs at the top level
;;; case without-rules
(define-derivative (f x) (value x))
; expect exit: 2
; expect error: is written
;;; case names-of-a-forward-rule
(define-derivative (f a b) (value (* a b)) (forward (y da) da))
; expect exit: 2
; expect error: 3 in all
;;; case looked-over
(define-derivative (right x) (value (* x x x)) (forward (y dx) (* 3 x x dx)) (reverse (y c) (list (* 3 x x c))))
(define-derivative (wrong-forward x) (value (* x x x)) (forward (y dx) (* 2 x x dx)) (reverse (y c) (list (* 3 x x c))))
(define-derivative (wrong-reverse x) (value (* x x x)) (forward (y dx) (* 3 x x dx)) (reverse (y c) (list (* 2 x x c))))
(let ((agreed (map (lambda (f) (check-gradient f 2.)) (list right wrong-forward wrong-reverse))))
  (if (not (equal? agreed '(#t #f #f))) (error "looked over wrongly" agreed)))
; expect any output
