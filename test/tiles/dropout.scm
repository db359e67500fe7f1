; Dropout by tiles drops what it drops of the whole, whatever the tiles, in halos too, and takes one key from the generator as there.
(define (show x) (write x) (newline))
(define (all? p l) (or (null? l) (and (p (car l)) (all? p (cdr l)))))
(define tile-counts '(1 2 (3 2) (11 7) (1 5)))
;;; case masks
(define (masks type shaped)
  (let ((x (cast (shaped (randn '(2 3 11 7) 'f64 #f 1)) type)))
    (all? (lambda (f) (all? (lambda (tiles) (equal? (f x) (tiled f x tiles))) tile-counts))
          (list (lambda (x) (dropout x .5 7))
                (lambda (x) (dropout-planewise x .4 7))
                (lambda (x) (ReLU (dropout (max-pool (dropout x .2 7) 3 1 1) .2 8)))
                (lambda (x) (dropout x 1 7))
                (lambda (x) (dropout x .3 7 '(1 2 3 4) '(4 5 20 12)))
                (lambda (x) (dropout-planewise x .3 7 '(1 2 3 4) '#(4 5 20 12)))))))
(show (all? (lambda (type) (masks type (lambda (x) x))) '(f64 f32 bf16 u8))) ; expect: #t
(show (masks 'f32 (lambda (x) (permute (contiguous (permute x '(0 2 3 1))) '(0 3 1 2))))) ; expect: #t
; They are segments, no borders.
(define x (randn '(2 3 11 7) 'f64 #f 1))
(show (map car (tile-plan (lambda (x) (tanh (dropout-planewise (dropout (ReLU x) .5) .2))) x 2))) ; expect: ((ReLU dropout dropout-planewise tanh))
; Parts of something larger.
(show (equal? (dropout x .5 3 '(1 2 3 4) '(4 5 20 12)) (crop (dropout (pad x '(1 2 3 4) '(1 0 6 1)) .5 3) '(1 2 3 4) (size x)))) ; expect: #t
(show (equal? (dropout-planewise x .5 3 '(1 2 3 4) '(4 5 20 12)) (crop (dropout-planewise (pad x '(1 2 3 4) '(1 0 6 1)) .5 3) '(1 2 3 4) (size x)))) ; expect: #t
;;; case derivatives
(define x (randn '(1 2 9 8) 'f64 #f 1))
(define w (randn '(2 2 3 3) 'f64 #f 2))
(define (net w x) (dropout-planewise (convolve (dropout (tanh (convolve x w 1 1)) .3 5) w 2 1) .5 6))
(define (loss y) (sumall (square (square y))))
(define (whole w+x) (loss (net (car w+x) (cdr w+x))))
(define (by-tiles w+x) (loss (tiled (lambda (x) (net (car w+x) x)) (cdr w+x) '(3 2))))
(define (close? a b)
  (cond ((tensor? a) (< (max-value (abs (- a b))) (* 1e-12 (max-value (abs a)))))
        ((pair? a) (and (close? (car a) (car b)) (close? (cdr a) (cdr b))))
        (else (< (abs (- a b)) (* 1e-12 (abs a))))))
(define at (cons w x))
(show (close? (*j whole at 1) (*j by-tiles at 1)))                        ; expect: #t
(show (close? (j* whole at at) (j* by-tiles at at)))                      ; expect: #t
(show (close? (hessian-vector whole at at) (hessian-vector by-tiles at at))) ; expect: #t
; Keys of the generator: a replay and a sweep draw with them again, so the gradient of a square has its value for x.
(define (drawn x) (sumall (square (dropout-planewise (tiled (lambda (x) (dropout (convolve (dropout x .3) w 1 1) .3)) x '(3 2)) .1))))
(define (euler r) (close? (* 2 (car r)) (sumall (* x (cdr r)))))
(show (list (euler (*j drawn x 1)) (euler (with-schedule "bisection,base=300" (lambda () (checkpoint-*j drawn x 1)))))) ; expect: (#t #t)
;;; case whole
; flags: --seed=7
(define x (sin (arange 60)))
(define (f x) (dropout (dropout x .5) .2))
(define y (f (view x '(1 1 6 10))))
(show (list (sumall y) (random-integer 1000000)))                         ; expect: (-3.60209584236145 247666)
(show (sumall (sin (dropout (view x '(2 3 10)) .5))))                     ; expect: -3.754920244216919
;;; case by-tiles
; flags: --seed=7
(define x (sin (arange 60)))
(define (f x) (dropout (dropout x .5) .2))
(define y (tiled f (view x '(1 1 6 10)) 3))
(show (list (sumall y) (random-integer 1000000)))                         ; expect: (-3.60209584236145 247666)
(show (sumall (sin (tiled (lambda (x) (dropout x .5)) (view x '(2 3 10)) 3)))) ; expect: -3.754920244216919
;;; case in-a-budget
; flags: --memory=12MiB
(define weights (list (randn '(8 1 3 3) 'f32 #f 1) (randn '(8 8 3 3) 'f32 #f 2)))
(define x (+ (expand-tensor (view (sin (arange 640)) '(1 1 640 1)) '(1 1 640 640)) (view (cos (* .1 (arange 640))) '(1 1 1 640))))
(define (net weights x) (max-pool (ReLU (convolve (max-pool (dropout (ReLU (convolve x (car weights) 1 1)) .1) 4) (cadr weights) 1 1)) 4))
(show (map size (cdr (*j (lambda (weights) (sum (square (mean (tiled (lambda (x) (net weights x)) x) '(2 3))))) weights 1)))) ; expect: ((8 1 3 3) (8 8 3 3))
;;; case random-tensors
; What f draws from sizes alone it knows, as its weights.
(define x (randn '(1 2 9 8) 'f64 #f 1))
(define (f x) (tanh (+ x (* .1 (randn (size x) 'f64 #f 3)))))
(show (equal? (f x) (tiled f x '(4 3))))                                  ; expect: #t
(show (equal? (cdr (*j f x x)) (cdr (*j (lambda (x) (tiled f x '(4 3))) x x)))) ; expect: #t
;;; case no-whole
(dropout (ones '(2 3)) .5 7 '(1 1) '(3 3))
; expect error: dropout: a part of shape \(2 3\) from \(1 1\) on is not in a tensor of shape \(3 3\)
;;; case no-sizes
(dropout (ones '(2 3)) .5 7 '(1 1))
; expect error: dropout: where a part begins and the sizes of the whole go together
;;; case overflow
(dropout-planewise (ones '(2 3)) .5 7 '(0 0) '(9007199254740992 9007199254740992))
; expect error: dropout-planewise: a part of shape \(2 3\) from \(0 0\) on is not in a tensor of shape
