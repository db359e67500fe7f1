; What is reduced along axes of space goes from tile to tile, along some of them too, and so does what softmax needs: values and derivatives of every
; kind as of the whole, and no border in memory as a whole.
;;; case along-some-axes
; timeout: 300
(define (show x) (write x) (newline))
(define x (randn '(2 3 13 11) 'f64 #f 1))
(define w (randn '(3 3 3 3) 'f64 #f 2))
(define (close? a b)
  (cond ((pair? a) (and (close? (car a) (car b)) (close? (cdr a) (cdr b))))
        ((tensor? a) (and (equal? (size a) (size b)) (< (max-value (abs (- a b))) (* 1e-12 (max 1 (max-value (abs a)))))))
        (else (equal? a b))))
(define (all? holds? l) (or (null? l) (and (holds? (car l)) (all? holds? (cdr l)))))
; How many tiles along each axis every step of it has, or whatever is not as without tiles.
(define (check f)
  (define (g x) (f (tanh (convolve x w 1 1))))
  (define c (cos (g x)))
  (define (slope f) (lambda (x) (cdr (*j f x c))))
  (define (twice f) (lambda (x) (sumall (square ((slope f) x)))))
  (define (same? tiles)
    (let ((h (lambda (x) (tiled g x tiles))))
      (and (close? (g x) (h x)) (close? ((slope g) x) ((slope h) x)) (equal? (*j h x c) (checkpoint-*j h x c)) (close? (cdr (j* g x (sin x))) (cdr (j* h x (sin x))))
           (close? (gradient (twice g) x) (gradient (twice h) x)) (close? (cdr (j* (slope g) x x)) (cdr (j* (slope h) x x))))))
  (if (all? same? '((4 3) (13 2) (1 5)))
      (map (lambda (step) (list (if (null? (cdar step)) (caar step) (length (car step))) (cadr step))) (tile-plan g x '(4 3)))
      'differ))
(show (check (lambda (z) (sum z 3))))                  ; expect: ((2 (4 3)) (sum (4 3)))
(show (check (lambda (z) (mean z '(0 2) #t))))         ; expect: ((2 (4 3)) (mean (4 3)))
(show (check (lambda (z) (variance z 2))))             ; expect: ((2 (4 3)) (variance (4 3)))
(show (check (lambda (z) (logsumexp (* 50 z) '(2))))) ; expect: ((3 (4 3)) (logsumexp (4 3)))
(show (check (lambda (z) (logsumexp z))))              ; expect: ((2 (4 3)) (logsumexp (4 3)))
(show (check (lambda (z) (max-over z 3))))             ; expect: ((2 (4 3)) (max-over (4 3)))
(show (check (lambda (z) (min-over z '(2 -1) #t))))    ; expect: ((2 (4 3)) (min-over (4 3)))
(show (check (lambda (z) (adaptive-max-pool z 1))))    ; expect: ((2 (4 3)) (max-over (4 3)))
; What is around one is tiled.
(show (check (lambda (z) (convolve (/ (- z (mean z 3 #t)) (sqrt (+ 1 (variance z 3 #t)))) w 1 1)))) ; expect: ((2 (3 2)) (mean (3 2)) (variance (3 2)) (5 (4 3)))
(show (check (lambda (z) (softmax z 3))))              ; expect: ((2 (4 3)) (greatest (4 3)) (sum-of-exponentials (4 3)) (3 (4 3)))
(show (check (lambda (z) (log-softmax (* 100 z) 2))))  ; expect: ((3 (4 3)) (greatest (4 3)) (sum-of-exponentials (4 3)) (3 (4 3)))
(show (check (lambda (z) (softmax (permute z '(0 2 3 1)) 1)))) ; expect: ((3 (4 3)) (greatest (4 3)) (sum-of-exponentials (4 3)) (3 (4 3)))
; Along channels, wherever they are, it is the operator.
(show (check (lambda (z) (softmax (permute (softmax z 1) '(0 2 3 1)))))) ; expect: ((5 (4 3)))
; Axes that a view merged, also in several steps; a view that takes it back is none.
(define (flat z) (view z '(2 3 143)))
(define (weights z) (view (softmax (flat z)) (size z)))
(show (check (lambda (z) (sum (flat (* z (weights z))) 2)))) ; expect: ((2 (4 3)) (greatest (4 3)) (sum-of-exponentials (4 3)) (4 (4 3)) (sum (4 3)))
(show (check (lambda (z) (view (log-softmax (view (flat z) '(2 429)) 1) '(2 3 13 11))))) ; expect: ((2 (4 3)) (greatest (4 3)) (sum-of-exponentials (4 3)) (log #f) (2 (4 3)))
(show (check (lambda (z) (variance (view z '(6 143)) 1)))) ; expect: ((2 (4 3)) (variance (4 3)) (view #f))
(show (check (lambda (z) (mean (view z '(858))))))     ; expect: ((2 (4 3)) (mean (4 3)))
(show (check (lambda (z) (max-over (view z '(2 39 11)) 1)))) ; expect: ((2 (4 3)) (max-over (4 3)))
; A border that is needed as a whole, too.
(show (check (lambda (z) (+ (softmax z 3) (cumulative-sum z 2))))) ; expect: ((2 (4 3)) (greatest #f) (sum-of-exponentials #f) (cumulative-sum #f) (4 (4 3)))
(show (check (lambda (z) (+ (* (logsumexp z 2 #t) (max-over z '(2 3) #t)) (cumulative-sum z 2))))) ; expect: ((2 (4 3)) (logsumexp #f) (max-over #f) (cumulative-sum #f) (2 (4 3)))
; A part of what was merged is not followed.
(show (check (lambda (z) (sum (view z '(2 3 11 13)) 2)))) ; expect: ((2 (4 3)) (view #f) (sum #f))
; Other numbers of axes.
(show (let ((v (randn '(1 2 6 5 4) 'f64 #f 3)) (f (lambda (z) (let ((z (sin z))) (* (softmax z 3) (max-over z '(2 4) #t))))))
        (list (close? (f v) (tiled f v '(3 2 2))) (close? (cdr (*j f v (cos v))) (cdr (*j (lambda (z) (tiled f z '(3 2 2))) v (cos v))))))) ; expect: (#t #t)
;;; case extremes
; The derivative goes to the first of equals in row-major order, whatever tile that is in, and a NaN wins: numbers of the whole, in any type.
(define (show x) (write x) (newline))
(define x (/ (floor (* 4 (randn '(2 3 13 11) 'f64 #f 1))) 4))
(define (far a b) (max-value (abs (where (= a b) 0 (where (= a a) (- a b) (where (= b b) +inf.0 0))))))
(define (same? a b)
  (if (tensor? a) (and (equal? (size a) (size b)) (equal? (tensor-type a) (tensor-type b)) (= 0 (far a b))) (equal? a b)))
(define (all? holds? l) (or (null? l) (and (holds? (car l)) (all? holds? (cdr l)))))
(define (check f)
  (define (g x) (f (* -2 x)))
  (define c (randn (size (g x)) 'f64 #f 5))
  (define dx (randn (size x) 'f64 #f 6))
  (all? (lambda (tiles)
          (let ((h (lambda (x) (tiled g x tiles))))
            (and (same? (g x) (h x)) (same? (cdr (*j g x c)) (cdr (*j h x c))) (same? (cdr (j* g x dx)) (cdr (j* h x dx))))))
        '((4 3) (13 2) (1 5) (4 1))))
(show (map check (list (lambda (z) (max-over z 3)) (lambda (z) (max-over z '(2 3) #t)) min-over (lambda (z) (min-over z '(0 2))) (lambda (z) (min-over z '(3 0 1))))))
; expect: (#t #t #t #t #t)
(show (map check (list argmax (lambda (z) (argmin z -1 #t)) (lambda (z) (argmax z 2)) (lambda (z) (max-over (permute z '(0 2 3 1)) '(1 2))))))
; expect: (#t #t #t #t)
(define (with-none z) (where (< z -2) +nan.0 z))
(show (map check (list (lambda (z) (max-over (with-none z) '(2 3))) (lambda (z) (min-over (with-none z) 3)) (lambda (z) (argmin (with-none z))))))
; expect: (#t #t #t)
(show (map check (list (lambda (z) (max-over (cast z 'i16) 2)) (lambda (z) (cast (min-over (cast z 'u8) '(2 3)) 'f64)) (lambda (z) (max-over (cast z 'bf16) '(0 2 3)))
                       (lambda (z) (min-over (cast z 'f32) 2)))))
; expect: (#t #t #t #t)
(show (map cadr (tile-plan (lambda (x) (let ((z (cast x 'i16))) (list (max-over z) (argmax z) (argmin z 2)))) x '(4 3)))) ; expect: ((4 3) (4 3) (4 3) (4 3))
; Infinite elements, and lines of nothing else.
(define (edges of)
  (define (edge f x)
    (let* ((h (lambda (x) (f (* 1 x)))) (g (lambda (x) (tiled h x 3))) (y (h x)) (c (cos (where (= (- y y) 0) y 1))))
      (and (< (far y (g x)) 1e-12) (< (far (cdr (*j h x c)) (cdr (*j g x c))) 1e-12))))
  (map (lambda (f) (map (lambda (x) (edge f x)) (list (where (< x -1) -inf.0 x) (where (< x 100) -inf.0 x) (where (< x -1) +inf.0 x)))) of))
(show (edges (list (lambda (z) (logsumexp z '(2 3))) (lambda (z) (logsumexp z 2)) (lambda (z) (softmax z 2)) (lambda (z) (log-softmax z 3)))))
; expect: ((#t #t #t) (#t #t #t) (#t #t #t) (#t #t #t))
;;; case in-f32
; The error of softmax against f64 is that of the operator.
(define (show x) (write x) (newline))
(define x (* 40 (randn '(1 2 64 48) 'f64 #f 1)))
(define (error-of f) (let ((y (f x)) (z (cast (f (cast x 'f32)) 'f64))) (max-value (/ (abs (- y z)) (max y 1e-30)))))
(define (f z) (softmax (* z 1) 2))
(show (< (error-of (lambda (x) (tiled f x '(8 3)))) (* 2 (error-of f)))) ; expect: #t
;;; case dealt
(define (show x) (write x) (newline))
(define x (randn '(1 2 12 10) 'f64 'cpu 1))
(define (f x) (let ((z (tanh x))) (+ (* z (max-over z '(2 3) #t) (sum z 2 #t)) (softmax z 3))))
(define (all devices) (list (*j (lambda (x) (apply tiled f x 3 devices)) x (cos x)) (j* (lambda (x) (apply tiled f x 3 devices)) x (cos x))))
(show (equal? (all '()) (all '((cpu cpu)))))    ; expect: #t
;;; case stopped
(define (show x) (write x) (newline))
(define (all? p from to by) (or (> from to) (and (p from) (all? p (+ from by) to by))))
(define x (randn '(1 2 6 5) 'f64 #f 1))
(define (f x) (let ((z (tanh x))) (+ (* (logsumexp z 2 #t) (max-over (ReLU z) '(2 3) #t)) (log-softmax z 3))))
(define (run x) (*j (lambda (x) (tiled f x 2)) x (cos x)))
(define want (run x))
(define total (primops run x))
(show (all? (lambda (n) (let ((z (interrupt run x n))) (and (equal? want (resume z)) (= total (+ n (primops resume z)))))) 0 total (quotient total 40))) ; expect: #t
;;; case not-kept
; timeout: 300
; What reductions alone read is not kept: each tile is computed again in the sweep, which what comes through them goes into. Beside maps, several of one
; border, of borders that follow each other, and within losses.
(define (show x) (write x) (newline))
(define x (randn '(2 3 13 11) 'f64 #f 1))
(define w (randn '(3 3 3 3) 'f64 #f 2))
(define mask (cast (< 0 (randn '(2 3 13 11) 'f64 #f 3)) 'f64))
(define (far a b)
  (cond ((pair? a) (max (far (car a) (car b)) (far (cdr a) (cdr b))))
        ((tensor? a) (if (equal? (size a) (size b)) (/ (max-value (abs (- a b))) (max 1 (max-value (abs a)))) +inf.0))
        ((equal? a b) 0)
        (else +inf.0)))
(define (check f)
  (define (g x) (f (tanh (convolve x w 1 1))))
  (define c (map (lambda (y) (cos (* 3 y))) (g x)))
  (define (slope f) (lambda (x) (cdr (*j f x c))))
  (define (twice f) (lambda (x) (sumall (square ((slope f) x)))))
  (define (same? tiles . devices)
    (let ((h (lambda (x) (apply tiled g x tiles devices))))
      (and (< (far (*j g x c) (*j h x c)) 1e-12) (equal? (*j h x c) (checkpoint-*j h x c)) (< (far (j* g x (sin x)) (j* h x (sin x))) 1e-12)
           (< (far (gradient (twice g) x) (gradient (twice h) x)) 1e-12) (< (far (j* (slope g) x x) (j* (slope h) x x)) 1e-12))))
  (define (all devices) (let ((h (lambda (x) (apply tiled g x '(4 3) devices)))) (list (*j h x c) (j* h x (cos x)))))
  (list (same? '(4 3)) (same? '(1 5)) (equal? (all '()) (all '((cpu cpu)))) (map (lambda (step) (list-ref step 4)) (tile-plan g x '(4 3)))))
(show (check (lambda (z) (list (mean z) (variance z 3) (logsumexp (* 20 z) '(2 3)) (max-over z 2 #t) (min-over (* 20 z) 3))))) ; expect: (#t #t #t (0 0 0 0 0 0))
; A map beside one, and a loss per pixel with its mean.
(show (check (lambda (z) (list (tanh z) (mean (square z)))))) ; expect: (#t #t #t (0 0))
(show (check (lambda (z) (list (binary-cross-entropy-with-logits z mask)))))  ; expect: (#t #t #t (0 0))
(show (check (lambda (z) (let ((loss (- (softplus z) (* z mask)))) (list loss (mean (* loss mask))))))) ; expect: (#t #t #t (6864 0))
; What is read further on within its own segment, too; and in another one it is kept.
(show (check (lambda (z) (list (sum z 3) (max-over (convolve z w 1 1) '(2 3)))))) ; expect: (#t #t #t (0 0 0))
(show (check (lambda (z) (let ((y (square z))) (list (mean (* y (variance y '(2 3) #t)))))))) ; expect: (#t #t #t (6864 48 0 0))
; Of types that have no derivative.
(show (let ((f (lambda (x) (let ((z (cast (* 9 (convolve x w 1 1)) 'i16))) (list (max-over z '(2 3)) (argmax z) (argmin z 2)))))) (equal? (f x) (tiled f x '(4 3))))) ; expect: #t
; Where a channel lies far from zero, in f32: no tile's rounding is carried on.
(show (let* ((x (cast (+ 1000 (randn '(1 2 96 80) 'f64 #f 4)) 'f32)) (f (lambda (x) (variance (* 1 x) '(2 3)))) (y (f (cast x 'f64))))
        (map (lambda (tiles) (< (max-value (abs (- (cast (tiled f x tiles) 'f64) y))) 2e-6)) '(4 (12 8) (48 40))))) ; expect: (#t #t #t)
;;; case not-kept-and-stopped
(define (show x) (write x) (newline))
(define (all? p from to by) (or (> from to) (and (p from) (all? p (+ from by) to by))))
(define x (randn '(1 2 6 5) 'f64 #f 1))
(define (f x) (let ((z (tanh x))) (* (variance z 2 #t) (logsumexp z '(2 3) #t) (max-over (ReLU z) '(2 3) #t))))
(define (run x) (*j (lambda (x) (tiled f x 2)) x (cos (f x))))
(define want (run x))
(define total (primops run x))
(show (all? (lambda (n) (let ((z (interrupt run x n))) (and (equal? want (resume z)) (= total (+ n (primops resume z)))))) 0 total (quotient total 60))) ; expect: #t
;;; case of-files
; An array in a file is reduced part by part, however it is divided, also where what is local reads it as well.
(define (show x) (write x) (newline))
(define x (randn '(2 3 13 11) 'f64 #f 3))
(write-npy "reduced.npy" x)
(define in-file (npy-array "reduced.npy"))
(define (far f . tiles) (max-value (abs (- (f x) (apply tiled f in-file tiles)))))
(define fs
  (list (lambda (x) (mean x '(2 3))) (lambda (x) (sum x 3)) (lambda (x) (variance x '(0 2 3) #t)) (lambda (x) (max-over x 2)) (lambda (x) (cast (argmax x 3) 'f64))
        (lambda (x) (logsumexp x '(2 3))) (lambda (x) (softmax x 3)) (lambda (x) (log-softmax (view x '(2 3 -1)) 2))
        (lambda (x) (/ (- x (mean x '(2 3) #t)) (sqrt (+ 1e-5 (variance x '(2 3) #t)))))))
(show (map (lambda (f) (< (max (far f 4) (far f) (far f '(13 1))) 1e-14)) fs)) ; expect: (#t #t #t #t #t #t #t #t #t)
(show (map cadr (tile-plan (lambda (x) (softmax x 2)) in-file '(3 11)))) ; expect: ((3 11) (3 11) (3 11))
(define (net w x) (sum (square (* w (softmax (- x (mean x '(2 3) #t)) 3))) '(2 3)))
(define w (randn '(3 1 1) 'f64 #f 4))
(define (gradient-of x tiles) (gradient (lambda (w) (sum (if tiles (tiled (lambda (x) (net w x)) x tiles) (net w x)))) w))
(show (< (max-value (abs (- (gradient-of x #f) (gradient-of in-file 3)))) 1e-13)) ; expect: #t
;;; case fewer-places
; What is reduced has fewer places than there are tiles.
(define (show x) (write x) (newline))
(define x (randn '(1 1 6 6) 'f64 #f 1))
(define (f x) (list (softmax (average-pool x 2) 2) (tanh x) (sum (average-pool x 3) 3)))
(show (map (lambda (a b) (< (max-value (abs (- a b))) 1e-15)) (f x) (tiled f x 5))) ; expect: (#t #t #t)
;;; case of-bytes
(define x (cast (abs (* 50 (randn '(1 2 6 5) 'f64 #f 1))) 'u8))
(define (f x) (list (roll x '(1) '(2)) (tile x '(1 1 2 1)) (max-over x) (min-over x)))
(write (equal? (f x) (tiled f x 2))) ; expect: #t
