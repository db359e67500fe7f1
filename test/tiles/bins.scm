; Adaptive pools by tiles: bins of one size, of several, overlapping, and more bins than places; values, derivatives, and what a tile reads.
(define (show x) (write x) (newline))
(define x (randn '(2 3 12 10) 'f64 #f 1))
(define w (randn '(3 3 3 3) 'f64 #f 2))
(define (slope-at f x) (cdr (*j (lambda (x) (let ((y (f x))) (sumall (* y (sin y))))) x 1)))
(define (curve f x) (cdr (j* (lambda (x) (slope-at f x)) x (cos x))))
(define (close? a b) (< (max-value (abs (- a b))) 1e-11))
(define (check f x tiles)
  (let ((by-tiles (lambda (x) (tiled f x tiles))))
    (list (close? (f x) (by-tiles x)) (equal? (f x) (by-tiles x)) (close? (slope-at f x) (slope-at by-tiles x)) (equal? (by-tiles x) (by-tiles x)) (close? (curve f x) (curve by-tiles x)))))
(define (maxima sizes) (lambda (x) (adaptive-max-pool (sin x) sizes)))
(define (means sizes) (lambda (x) (square (adaptive-average-pool (sin x) sizes))))
(define (all-of kind) (map (lambda (sizes) (check (kind sizes) x '(3 2))) '((4 5) (5 3) (7 7) (12 10) (12 3) (15 4))))
(show (all-of maxima))
; expect: ((#t #t #t #t #t) (#t #t #t #t #t) (#t #t #t #t #t) (#t #t #t #t #t) (#t #t #t #t #t) (#t #t #t #t #t))
(show (map (lambda (l) (list (car l) (caddr l) (cadddr l) (list-ref l 4))) (all-of means)))
; expect: ((#t #t #t #t) (#t #t #t #t) (#t #t #t #t) (#t #t #t #t) (#t #t #t #t) (#t #t #t #t))
; In other numbers of dimensions, and with what is around.
(define v (randn '(1 2 7 6 5) 'f64 #f 3))
(show (check (maxima '(3 4 2)) v '(2 1 2)))                                 ; expect: (#t #t #t #t #t)
(show (car (check (means '(3 4 2)) v 2)))                                   ; expect: #t
(show (caddr (check (means '(3)) (randn '(2 2 10) 'f64 #f 4) 3)))           ; expect: #t
(define (net x) (convolve (adaptive-average-pool (ReLU (convolve x w 1 1)) '(7 5)) w 1 1))
(show (car (check net x 3)))                                                ; expect: #t
(show (caddr (check net x 3)))                                              ; expect: #t
; Equal elements: the first has the derivative, as of the whole.
(define flat (floor (* 2 (randn '(1 1 11 9) 'f64 #f 5))))
(define (first-of-equals f) (cdr (*j (lambda (x) (sumall (f x))) flat 1)))
(define (coarse x) (adaptive-max-pool x '(4 4)))
(show (equal? (first-of-equals coarse) (first-of-equals (lambda (x) (tiled coarse x 3))))) ; expect: #t
; NaN and infinity stay in their bins.
(define odd (where (< flat -1) (where (< flat -2) +nan.0 +inf.0) flat))
(define (shown t) (map (lambda (row) (map number->string row)) (tensor->list (view t '(4 4)))))
(show (equal? (shown (coarse odd)) (shown (tiled coarse odd 3))))           ; expect: #t
(define (blurred x) (adaptive-average-pool x '(4 4)))
(show (equal? (shown (cast (< (blurred odd) 1e9) 'f64)) (shown (cast (< (tiled blurred odd 3) 1e9) 'f64)))) ; expect: #t
; A window of a pool all of whose elements are -inf has its derivative at the first that is in the image, at its edges too.
(define (weighed f x) (cdr (*j (lambda (x) (let ((y (f x))) (sumall (* y (view (arange 1 (+ 1 (apply * (size y))) 1 'f64) (size y)))))) x 1)))
(define (as-untiled f x tiles) (equal? (weighed f x) (weighed (lambda (x) (tiled f x tiles)) x)))
(define pools (map (lambda (p) (lambda (x) (apply max-pool x p))) '(((3 3) 2 1) ((3 3) 1 1) ((2 3) (1 2) (1 1)) ((4 4) 2 2) ((5 4) (3 1) (2 1)) ((4 5) (1 3) (2 0)))))
(define low (list (fill '(1 1 11 9) -inf.0 'f64) (where (< flat 0) -inf.0 flat)))
(show (map (lambda (f) (map (lambda (x) (list (as-untiled f x 3) (as-untiled f x '(4 1)))) low)) pools))
; expect: (((#t #t) (#t #t)) ((#t #t) (#t #t)) ((#t #t) (#t #t)) ((#t #t) (#t #t)) ((#t #t) (#t #t)) ((#t #t) (#t #t)))
; Its operand is a border, and neither has more tiles than the heavier of both asks for. One bin is the largest of all, which goes from part to part.
(show (map cadr (tile-plan (lambda (x) (adaptive-max-pool (sin x) '(2 2))) x '(4 5)))) ; expect: ((2 2) (2 2))
(show (map cadr (tile-plan (lambda (x) (adaptive-max-pool (sin x) 1)) x '(4 5))))      ; expect: ((4 5) (4 5))
;;; case integers
(define x (cast (floor (* 20 (randn '(1 2 9 8) 'f64 #f 1))) 'i32))
(show (equal? (adaptive-max-pool x '(4 3)) (tiled (lambda (x) (adaptive-max-pool x '(4 3))) x 2))) ; expect: #t
(show (equal? (adaptive-max-pool (* 3 x) 1) (tiled (lambda (x) (adaptive-max-pool (* 3 x) 1)) x 2))) ; expect: #t
