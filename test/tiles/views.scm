; Views by tiles: axes that are moved, merged and divided are followed to where they go, so that what is around such an operator stays one segment.
;;; case segments
; timeout: 300
(define (show x) (write x) (newline))
(define (all? p l) (or (null? l) (and (p (car l)) (all? p (cdr l)))))
(define x (randn '(2 8 12 10) 'f64 #f 1))
(define w (randn '(8 8 3 3) 'f64 #f 2))
(define m (randn '(8 8) 'f64 #f 3))
(define g (randn '(8) 'f64 #f 4))
(define (conv x) (convolve x w 1 1))
(define (close? a b) (< (max-value (abs (- a b))) (* 1e-12 (max 1 (max-value (abs a))))))
; What is tiled, with its work, where values and derivatives are those of the whole, also with a tile for each place.
(define (segments f . input)
  (let ((x (if (null? input) x (car input))))
    (define (same? tiles)
      (let ((by-tiles (lambda (x) (tiled f x tiles))) (c (f x)))
        (and (close? c (by-tiles x)) (close? (cdr (*j f x c)) (cdr (*j by-tiles x c))) (close? (cdr (j* f x x)) (cdr (j* by-tiles x x))))))
    (if (all? same? '(2 (3 4) (12 10) (1 3)))
        (map (lambda (segment) (list (car segment) (cadr segment))) (tile-plan f x '(3 2)))
        'differ)))
; Channels behind space, and back.
(show (segments (lambda (x) (tanh (permute (matmul (GeLU (matmul (layer-normalization (permute (conv x) '(0 2 3 1)) g g) m)) m) '(0 3 1 2)))))) ; expect: (((convolve permute layer-normalization matmul GeLU matmul permute tanh) (3 2)))
(show (segments (lambda (x) (permute (dropout (permute (conv x) '(0 2 3 1)) .5 3) '(0 3 1 2))))) ; expect: (((convolve permute dropout permute) (3 2)))
; They may stay there.
(show (segments (lambda (x) (permute (conv x) '(0 2 3 1))))) ; expect: (((convolve permute) (3 2)))
(show (segments (lambda (x) (let ((t (permute (conv x) '(0 2 3 1)))) (/ (- t (mean t '(0 1 2) #t)) (sqrt (+ 1 (variance t '(0 1 2) #t)))))))) ; expect: (((convolve permute) (3 2)) ((mean) (3 2)) ((variance) (3 2)) ((- + sqrt /) (3 2)))
; Channels shuffled, places that become channels, channels that become places, windows.
(show (segments (lambda (x) (view (transpose (view (conv x) '(2 2 4 12 10)) 1 2) '(2 8 12 10))))) ; expect: (((convolve view transpose view) (3 2)))
(show (segments (lambda (x) (tanh (view (permute (view (conv x) '(2 8 6 2 5 2)) '(0 1 3 5 2 4)) '(2 32 6 5)))))) ; expect: (((convolve view permute view tanh) (3 2)))
(show (segments (lambda (x) (tanh (view (permute (view (conv x) '(2 2 2 2 12 10)) '(0 1 4 2 5 3)) '(2 2 24 20)))))) ; expect: (((convolve view permute view tanh) (3 2)))
(show (segments (lambda (x) (view (permute (view (conv x) '(2 8 4 3 5 2)) '(0 2 4 1 3 5)) '(40 8 3 2))))) ; expect: (((convolve view permute) (3 2)) ((view) #f))
; Channels in the batch; an image without both.
(show (segments (lambda (x) (view (max-pool (view (conv x) '(16 1 12 10)) 2) '(2 8 6 5))))) ; expect: (((convolve view max-pool view) (3 2)))
(show (segments (lambda (x) (view (tanh x) '(12 10))) (randn '(1 1 12 10) 'f64 #f 5))) ; expect: (((tanh view) (3 2)))
; Mirrors, and tensors beside each other.
(show (segments (lambda (x) (tanh (flip (conv x) '(2 3)))))) ; expect: (((convolve flip tanh) (3 2)))
(show (segments (lambda (x) (sum (stack (list (conv x) (tanh x)) 4) '(4))))) ; expect: (((convolve tanh stack sum) (3 2)))
; A part of lines that are computed as wholes, channels in front of space and behind it.
(define (behind x) (permute (conv x) '(0 2 3 1)))
(define (not-tiled names) (filter (lambda (name) (equal? name 'differ)) names))
(show (not-tiled (map (lambda (f) (segments (lambda (x) (let ((y (behind x))) (* y (slice (f y) 3 2 3))))))
                      (list (lambda (y) (softmax y 3)) (lambda (y) (log-softmax y 3)) (lambda (y) (sort y 3)) (lambda (y) (layer-normalization y g g))
                            (lambda (y) (rms-normalization y g)) (lambda (y) (fused-scale-mask-softmax y (list->tensor '(0 1 0 0 1 0 0 0) 'u8) .5)))))) ; expect: ()
(show (not-tiled (map (lambda (f) (segments (lambda (x) (crop (f (conv x)) '(0 1 0 0) '(2 3 12 10)))))
                      (list (lambda (y) (softmax y 1)) (lambda (y) (log-softmax y 1)) (lambda (y) (sort y 1)) (lambda (y) (car (batch-normalization-training y g g 1e-3))))))) ; expect: ()
; Batches are normalised where space lies behind the channels.
(show (segments (lambda (x) (car (batch-normalization-training (permute (tanh x) '(0 3 1 2)) (list->tensor (iota 10)) (ones '(10) 'f64) 1e-3))))) ; expect: (((tanh permute) (3 2)) ((mean) (3 2)) ((variance) (3 2)) ((batch-normalization-training) (3 2)))
; Operators that expect space behind the channels, where it is elsewhere, begin a segment.
(show (segments (lambda (x) (conv (transpose (conv x)))))) ; expect: (((convolve transpose) (3 2)) ((convolve) (3 2)))
(show (segments (lambda (x) (+ (conv x) (pad (transpose x) '(0 0 0 0) '(0 0 2 -2)))))) ; expect: (((convolve transpose) (3 2)) ((pad +) (3 2)))
; Where places are no longer near along one axis, the operator is computed as a whole.
(show (segments (lambda (x) (view (conv x) '(2 8 120))))) ; expect: (((convolve) (3 2)) ((view) #f))
(show (segments (lambda (x) (tanh (view (conv x) '(2 8 8 15)))))) ; expect: (((convolve) (3 2)) ((view) #f) ((tanh) (3 2)))
(show (segments (lambda (x) (matmul (conv x) (transpose x))))) ; expect: (((convolve transpose) (3 2)) ((matmul) #f))
(show (segments (lambda (x) (tanh (view (conv x) '(2 960)))))) ; expect: (((convolve) (3 2)) ((view) #f) ((tanh) #f))
;;; case in-a-budget
; flags: --memory=12MiB
; A layer of 16 channels is 16 MiB.
(define (show x) (write x) (newline))
(define weights (list (randn '(16 1 3 3) 'f32 #f 1) (randn '(16 16) 'f32 #f 2) (ones '(16))))
(define x (expand-tensor (view (sin (arange 512)) '(1 1 512 1)) '(1 1 512 512)))
(define (net w x)
  (let ((y (convolve x (car w) 1 1)))
    (max-pool (+ y (permute (GeLU (matmul (layer-normalization (permute y '(0 2 3 1)) (caddr w) (caddr w)) (cadr w))) '(0 3 1 2))) 8)))
; Sums and sums of squares of loss and gradients are those of an untiled run in f64.
(define (near? a b) (< (abs (- a b)) (* 1e-4 (abs b))))
(show (map (lambda (t sums) (list (near? (sumall t) (car sums)) (near? (sumall (square t)) (cadr sums))))
           (*j (lambda (w) (sum (square (tiled (lambda (x) (net w x)) (stop-gradient x))))) weights 1)
           '((3462704.22 1.19903204895e13) (-631163.349 936766323928.) (11685024.9 1.65713409493e12) (5297839.94 4.09301998512e12)))) ; expect: ((#t #t) (#t #t) (#t #t) (#t #t))
