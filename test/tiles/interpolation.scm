; Interpolation by tiles, by any factor: values, derivatives of the first and second order, and that it is one segment with what is around it.
; timeout: 150
(define (show x) (write x) (newline))
(define x (randn '(2 3 11 7) 'f64 #f 1))
(define w (randn '(3 3 3 3) 'f64 #f 2))
(define (slope-at f x) (cdr (*j (lambda (x) (let ((y (f x))) (sumall (* y (sin y))))) x 1)))
(define (curve f x) (cdr (j* (lambda (x) (slope-at f x)) x (cos x))))
(define (close? a b) (< (max-value (abs (- a b))) 1e-11))
(define (check f x tiles)
  (let ((g (lambda (x) (tiled f x tiles))))
    (list (close? (f x) (g x)) (close? (slope-at f x) (slope-at g x)) (equal? (slope-at g x) (cdr (checkpoint-*j (lambda (x) (let ((y (g x))) (sumall (* y (sin y))))) x 1)))
          (close? (cdr (j* f x (cos x))) (cdr (j* g x (cos x)))) (close? (curve f x) (curve g x)))))
(define (all? p l) (or (null? l) (and (p (car l)) (all? p (cdr l)))))
; Larger, smaller, one of each, a size that stays, whole factors beside others, one element, and many.
(define sizes '((5 3) (18 10) (7 16) (11 10) (22 9) (1 4) (9 1) (12 8) (10 6) (33 7) (30 40)))
(define (checked mode x sizes tiles)
  (map (lambda (sizes) (check (lambda (x) (square (apply interpolate-to-size (sin x) sizes mode))) x tiles)) sizes))
(define (all-of mode) (all? (lambda (tiles) (all? (lambda (l) (equal? l '(#t #t #t #t #t))) (checked mode x sizes tiles))) '(1 (3 2) (7 1))))
(show (all-of '(nearest)))                                                    ; expect: #t
(show (all-of '(linear)))                                                     ; expect: #t
(show (all-of '(linear #t)))                                                  ; expect: #t
; Nearest ones have the bits of the whole.
(show (all? (lambda (sizes) (equal? (interpolate-to-size x sizes 'nearest) (tiled (lambda (x) (interpolate-to-size x sizes 'nearest)) x '(4 3)))) sizes)) ; expect: #t
; In other numbers of dimensions, from one element, and where there is no image in the batch.
(define v (randn '(1 2 6 5 4) 'f64 #f 3))
(show (checked '(linear) v '((9 7 6) (4 5 3)) '(2 3 2)))                      ; expect: ((#t #t #t #t #t) (#t #t #t #t #t))
(show (checked '(linear #t) v '((9 7 6) (4 1 3)) 2))                          ; expect: ((#t #t #t #t #t) (#t #t #t #t #t))
(show (checked '(linear) (randn '(2 2 10) 'f64 #f 4) '((7) (23)) 4))          ; expect: ((#t #t #t #t #t) (#t #t #t #t #t))
(show (checked '(linear #t) (randn '(2 2 1 10) 'f64 #f 4) '((3 7) (1 4)) '(1 3))) ; expect: ((#t #t #t #t #t) (#t #t #t #t #t))
(show (size (tiled (lambda (x) (interpolate-to-size x '(5 9))) (slice x 0 1 1) 2))) ; expect: (0 3 5 9)
; Within a network it is one segment with what is around it; a few points of a large image are a segment of their own.
(define (net x) (convolve (interpolate-to-size (tanh (convolve x w 1 1)) '(17 9) 'linear #t) w 1 1))
(show (check net x '(3 2)))                                                   ; expect: (#t #t #t #t #t)
(define (segments f sizes tiles) (map cadr (tile-plan f (zeros sizes 'f64) tiles)))
(show (segments net (size x) 2))                                              ; expect: ((2 2))
(show (segments (lambda (x) (interpolate-to-size (sin x) '(2 3))) '(1 1 40 40) 4)) ; expect: ((4 4) (2 3))
(show (segments (lambda (x) (interpolate-to-size (sin x) '(10 10))) '(1 1 40 40) 4)) ; expect: ((4 4))
; What is not looked at does not matter, whatever it is; what is infinite stays where it is.
(define odd (where (< x -1.2) +nan.0 (where (> x 1.2) +inf.0 x)))
(define (shown t) (map number->string (tensor->list (view t (list (apply * (size t)))))))
(define (same-shown? f) (equal? (shown (f odd)) (shown (tiled f odd 3))))
(show (same-shown? (lambda (x) (interpolate-to-size x '(7 5) 'nearest))))     ; expect: #t
(define (finite f) (lambda (x) (cast (< (abs (f x)) 1e9) 'f64)))
(show (all? (lambda (mode) (all? (lambda (sizes) (same-shown? (finite (lambda (x) (apply interpolate-to-size x sizes mode))))) '((11 10) (21 13) (5 3) (16 7)))) '((linear) (linear #t)))) ; expect: #t
; Other types.
(define (far a b) (tensor->number (max-over (abs (- (cast a 'f64) (cast b 'f64))))))
(define (typed type mode)
  (let* ((x (cast (* 20 x) type)) (f (lambda (x) (apply interpolate-to-size x '(17 5) mode))) (a (f x)) (b (tiled f x '(3 2))))
    (list (eq? (tensor-type a) (tensor-type b)) (far a b))))
(show (map (lambda (type) (typed type '(nearest))) '(f32 bf16 i64 i8 u8)))    ; expect: ((#t 0.0) (#t 0.0) (#t 0.0) (#t 0.0) (#t 0.0))
(show (map (lambda (type) (let ((l (typed type '(linear)))) (and (car l) (< (cadr l) (if (eq? type 'bf16) .3 2e-5))))) '(f32 bf16 i64 i8 u8))) ; expect: (#t #t #t #t #t)
; Dealt tiles.
(define (dealt x) (tiled (lambda (x) (interpolate-to-size (sin x) '(17 5))) x '(3 2) '(cpu cpu)))
(show (equal? (slope-at dealt x) (slope-at (lambda (x) (tiled (lambda (x) (interpolate-to-size (sin x) '(17 5))) x '(3 2))) x))) ; expect: #t
