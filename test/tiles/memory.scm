; Within a memory budget that does not grow with the image: values and gradients by as few tiles as it asks for, of tensors and of files.
(define (show x) (write x) (newline))
(define weights (list (randn '(8 1 3 3) 'f32 #f 1) (randn '(8 8 3 3) 'f32 #f 2)))
(define (net weights x) (max-pool (ReLU (convolve (max-pool (ReLU (convolve x (car weights) 1 1)) 4) (cadr weights) 1 1)) 4))
(define (image n) (+ (expand-tensor (view (sin (arange n)) (list 1 1 n 1)) (list 1 1 n n)) (view (cos (* .1 (arange n))) (list 1 1 1 n))))
(define (loss weights x) (sum (square (mean (tiled (lambda (x) (net weights x)) x) '(2 3)))))
(define (far a b) (/ (max-value (abs (- a b))) (max-value (abs a))))
;;; case whole
; flags: --memory=12MiB
; expect error: memory budget
(define x (image 640))
(*j (lambda (weights) (sum (square (mean (net weights x) '(2 3))))) weights 1)
; expect exit: 3
;;; case small
; flags: --memory=12MiB
(define x (image 640))
(define r (*j (lambda (weights) (loss weights x)) weights 1))
(show (memory-budget)) ; expect: 12582912
; Sums and sums of squares of loss and gradients are those of an untiled run in f64, which does not fit into this memory.
(define (near? a b) (< (abs (- a b)) (* 1e-5 (abs b))))
(show (map (lambda (t sums) (list (near? (sumall t) (car sums)) (near? (sumall (square t)) (cadr sums)))) r
           '((4388.4285 19258304.9) (-654.0505 7532049.5) (50153.9622 12537377.8)))) ; expect: ((#t #t) (#t #t) (#t #t))
;;; case large
; flags: --memory=12MiB
(write-npy "large-image.npy" (cast (* 100 (image 512)) 'u8))
(define x (npy-array "large-image.npy"))
(define (of-bytes weights x) (net weights (cast x 'f32)))
(define (loss weights x) (sum (square (mean (tiled (lambda (x) (of-bytes weights x)) x) '(2 3)))))
(define r (*j (lambda (weights) (loss weights x)) weights 1))
(define again (checkpoint-*j (lambda (weights) (loss weights x)) weights 1))
(show (equal? r again)) ; expect: #t
;;; case reduced-as-it-comes
; flags: --memory=12MiB
; Eight channels at full size would be 32 MiB; only a mean of them is wanted, and its gradient.
(write-npy "reduced-image.npy" (cast (* 30 (abs (image 1024))) 'u8))
(define x (npy-array "reduced-image.npy"))
(define (net w x) (let ((y (convolve (cast x 'f32) w 1 1))) (list (mean (square y)) (max-over y '(2 3)) (variance y '(0 2 3)))))
(define (loss w . tiles) (let ((all (apply tiled (lambda (x) (net w x)) x tiles))) (+ (car all) (sum (cadr all)) (sum (caddr all)))))
(define w (car weights))
(define r (*j loss w 1))
(show (size (cdr r))) ; expect: (8 1 3 3)
(show (< (far (cdr r) (cdr (*j (lambda (w) (loss w '(9 5))) w 1))) 1e-5)) ; expect: #t
(show (map (lambda (step) (list (cadr step) (list-ref step 4))) (tile-plan (lambda (x) (mean (tanh (cast x 'f32)))) x '(9 5)))) ; expect: (((9 5) 0) ((9 5) 0))
;;; case of-files
(define x (image 64))
(write-npy "image.npy" x)
(define in-file (npy-array "image.npy"))
(define (gradient-of x) (*j (lambda (weights) (sum (square (tiled (lambda (x) (net weights x)) x '(3 5))))) weights 1))
(show (equal? (gradient-of x) (gradient-of in-file))) ; expect: #t
(show (equal? x (tiled (lambda (x) x) in-file 2))) ; expect: #t
(show (< (far (mean x) (tiled mean in-file 2)) 1e-6)) ; expect: #t
; Its numbers are no parameters.
(show (cdr (*j (lambda (a) (sum (tiled tanh a 2))) in-file 1))) ; expect: ("image.npy" f32 0 (0 0 0 0))
(define volume (view (arange 240) '(2 1 4 5 6)))
(write-npy "volume.npy" (cast volume 'i16))
(show (equal? (cast volume 'i16) (tiled (lambda (x) (* x 1)) (npy-array "volume.npy") '(2 3 1)))) ; expect: #t
; Two channels of three in a row of a file, the highest bytes first.
(show (equal? (cast (index volume '(0 2) #t '(0 2)) 'i16)
              (tiled (lambda (x) (* x 1)) (list "volume.npy" 'i16 128 '(2 1 2 5 6) 120) 2))) ; expect: #t
