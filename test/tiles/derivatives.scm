; Derivatives of every kind and order through tiles, interruption within them, and what programs may look at.
(define (show x) (write x) (newline))
(define (all? p from to by) (or (> from to) (and (p from) (all? p (+ from by) to by))))
(define (close? a b)
  (cond ((tensor? a) (and (tensor? b) (< (max-value (abs (- a b))) (* 1e-11 (max 1 (max-value (abs a)))))))
        ((pair? a) (and (close? (car a) (car b)) (close? (cdr a) (cdr b))))
        ((number? a) (< (abs (- a b)) (* 1e-11 (max 1 (abs a)))))
        (else (equal? a b))))
(define x (randn '(1 2 7 6) 'f64 'cpu 1))
(define w (randn '(2 2 3 3) 'f64 'cpu 2))
(define p (list w 1.5 (randn '(2) 'f64 'cpu 3) (randn '(2) 'f64 'cpu 4)))
(define (net p x)
  (let ((y (tanh (* (cadr p) (convolve x (car p) 1 1)))))
    (max-pool (+ y (car (batch-normalization-training (convolve y (car p) 1 1) (caddr p) (cadddr p) .1))) 2)))
(define (loss y) (sumall (square (square y))))
(define (whole p+x) (loss (net (car p+x) (cdr p+x))))
(define (by-tiles p+x) (loss (tiled (lambda (x) (net (car p+x) x)) (cdr p+x) 2)))
(define at (cons p x))
(show (close? (whole at) (by-tiles at)))                                          ; expect: #t
(show (close? (gradient whole at) (gradient by-tiles at)))                        ; expect: #t
(show (close? (j* whole at at) (j* by-tiles at at)))                              ; expect: #t
(show (close? (hessian-vector whole at at) (hessian-vector by-tiles at at)))      ; expect: #t
(define (twice f) (lambda (at) (let ((g (cdr (*j f at 1)))) (+ (sumall (square (cdr g))) (square (cadr (car g)))))))
(show (close? (gradient (twice whole) at) (gradient (twice by-tiles) at)))        ; expect: #t
(show (close? (j* (twice whole) at at) (j* (twice by-tiles) at at)))              ; expect: #t
; Tiles inside of tiles are the outer ones.
(show (close? (net p x) (tiled (lambda (x) (tiled (lambda (x) (net p x)) x 2)) x 3))) ; expect: #t
; Where the inner ones refer to what the outer ones divide, too.
(define (beside x) (tiled (lambda (y) (* y (mean x '(2 3) #t))) (cos (* 3 (ones (size x) 'f64 (tensor-residence x)))) 2))
(show (close? (beside x) (tiled beside x 3)))                                     ; expect: #t
(define (among x) (tiled (lambda (y) (tiled (lambda (z) (+ (* 2 x) (* 3 y) (* 5 z))) (sin y) 2)) (cos x) 2))
(show (close? (among x) (tiled among x 3)))                                       ; expect: #t
(define (within y) (lambda (x) (tiled (lambda (z) (convolve (* x z) (car p) 1 1)) y 2)))
(show (close? (gradient (lambda (x) (loss ((within (cos (stop-gradient x))) x))) x) (gradient (lambda (x) (loss (tiled (within (cos (stop-gradient x))) x 3))) x))) ; expect: #t
; Where there are no elements there is nothing to divide.
(show (map size (list (tiled tanh (zeros '(1 0 32 32)) 2) (tiled tanh (zeros '(0 2 8 8)))))) ; expect: ((1 0 32 32) (0 2 8 8))
; The same bits under every schedule, and after every interruption.
(define want (*j by-tiles at 1))
(show (all? (lambda (base) (with-schedule (format "binomial,base=~a,snapshots=3" base) (lambda () (equal? want (checkpoint-*j by-tiles at 1))))) 200 2000 600)) ; expect: #t
(show (with-schedule "bisection,base=300" (lambda () (equal? want (checkpoint-*j by-tiles at 1))))) ; expect: #t
(define total (primops (lambda (at) (*j by-tiles at 1)) at))
(show (all? (lambda (n) (let ((z (interrupt (lambda (at) (*j by-tiles at 1)) at n))) (and (equal? want (resume z)) (= total (+ n (primops resume z))))))
            0 total (quotient total 60)))                                         ; expect: #t
; Updates: the rule is called for each parameter.
(define (descend leaf c state) (cons (- leaf (* .1 c)) state))
(show (close? (cadr (checkpoint-*j-update whole at 1 descend '())) (cadr (checkpoint-*j-update by-tiles at 1 descend '())))) ; expect: #t
; Structures of several inputs and outputs; what is no tensor stays.
(define (both l) (list (ReLU (car l)) (vector (+ (car l) (cadr l)) 'sum 7) (mean (car l) '(2 3))))
(define l (list x (* 2 x)))
(show (equal? (both l) (tiled both l 3)))                                         ; expect: #t
(show (close? (cdr (*j both l (list x (vector x 'sum 0) 0))) (cdr (*j (lambda (l) (tiled both l 3)) l (list x (vector x 'sum 0) 0))))) ; expect: #t
; Max pools, pointwise functions and moves: the same bits.
(define (moves x) (pad (max-pool (ReLU (concat-tensors (list x (exp x)) 1)) 2 1 1) '(0 0 1 2) '(0 0 0 1)))
(show (equal? (moves x) (tiled moves x '(3 2))))                                  ; expect: #t
; Random numbers are those that the whole draws.
(show (equal? (dropout x .5 7) (tiled (lambda (x) (dropout x .5 7)) x 2)))        ; expect: #t
; Integers, and types that change on the way.
(define bytes (cast (* 100 (abs x)) 'u8))
(show (equal? (/ (cast bytes 'f32) 255) (tiled (lambda (x) (/ (cast x 'f32) 255)) bytes 3))) ; expect: #t
; Constants of f, inputs that f gives back, and a value without tensors.
(show (equal? (list x 3 2.5) (tiled (lambda (x) (list x 3 2.5)) x 2)))            ; expect: #t
(show (tiled (lambda (x) (list (size x) (tensor-type x) (tensor-residence x) (tensor? x))) x 2)) ; expect: ((1 2 7 6) f64 cpu #t)
; As it is shown.
(tiled (lambda (x) (show (convolve x w)) x) x 2)                                  ; expect: #<recorded f64 (1 2 5 4)>
; By itself.
(show (close? (net p x) (tiled (lambda (x) (net p x)) x)))                        ; expect: #t
; What it would do. `tanh` is used behind the norm, so a cut there costs nothing; mean and variance are of a whole border.
(define plan (tile-plan (lambda (x) (net p x)) x 2))
(show (map (lambda (segment) (list (car segment) (cadr segment))) plan))           ; expect: (((convolve * tanh) (2 2)) ((convolve) (2 2)) ((mean) (2 2)) ((variance) (2 2)) ((batch-normalization-training + max-pool) (2 2)))
(show (map cadddr plan))                                                          ; expect: (1.0 1.0 1.0 1.0 1.0)
; A halo of four on each side, then less: 2 (1.5 + 1.25) / 2 (1 + 1) along an axis cut in two.
(define two (tile-plan (lambda (x) (convolve (convolve x (ones '(1 1 5 5)) 1 2) (ones '(1 1 5 5)) 1 2)) (zeros '(1 1 16 1)) '(2 1)))
(show (map cadddr two))                                                           ; expect: (1.125)
; Operators by name, and which parts of their operands they need.
(show (equal? (convolve x w 2 1) (apply-operator 'convolve (list x w 2 1))))      ; expect: #t
(show (close? (*j (lambda (a) (sum (apply-operator '%mul (list a 1.5)))) x 1) (*j (lambda (a) (sum (* a 1.5))) x 1))) ; expect: #t
(show (operand-regions 'convolve (list x w 1 1) 0 '(0 0 0 2) '(1 2 3 4)))         ; expect: (((0 0 0 1) (1 2 4 5) (0 0 1 0) (0 0 0 1)) ((0 0 0 0) (2 2 3 3) (0 0 0 0) (0 0 0 0)) #f #f)
(show (tensor->list (with-part (zeros '(3)) (ones '(2)) '(1))))                   ; expect: (0.0 1.0 1.0)
(show (tensor->list (add-part (ones '(3)) (ones '(2)) '(0))))                     ; expect: (2.0 2.0 1.0)
; Where tiles read nothing of what f is made of, the derivative is zeros, as without tiles; 0 is that of what f does not name.
(define (past x) (narrow-tensor (concat-tensors (list x (ones '(1 2 4 6) 'f64 'cpu)) 2) 2 7 4))
(define (same-zeros? f) (equal? (*j (lambda (at) (loss (f (lambda (x) x) at))) at 1) (*j (lambda (at) (loss (f (lambda (g) (lambda (x) (tiled g x 2))) at))) at 1)))
(show (same-zeros? (lambda (in at) ((in (lambda (x) (past (convolve x (car (car at)) 1 1)))) (cdr at)))))          ; expect: #t
(show (same-zeros? (lambda (in at) ((in (lambda (x) (past (+ x (quotient (mean (car (car at))) 2))))) (cdr at)))))   ; expect: #t
(show (cdr (*j (lambda (v) (loss (tiled (lambda (x) (past (* v x))) x 2))) 1.5 1)))                                 ; expect: 0.0
(show (cdr (*j (lambda (v) (loss (tiled (lambda (x) (past x)) x 2))) 1.5 1)))                                       ; expect: 0
