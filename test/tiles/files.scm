; What is tiled and written to a file: the elements of (tiled f x tiles), at their places, whatever computes them.
(define (show x) (write x) (newline))
(define w (randn '(3 2 3 3) 'f32 'cpu 1))
(define (f x) (max-pool (tanh (convolve x w 1 1)) 2))
(define x (view (sin (arange (* 2 40 36) 'f32 'cpu)) '(1 2 40 36)))
(define (all array) (read-region array (map (lambda (n) 0) (cadddr array)) (cadddr array)))
(define (same? a b) (equal? (to-device a 'cpu) (to-device b 'cpu)))
(define (as-tiled? name f x . tiles) (same? (all (apply tiled->npy name f x tiles)) (apply tiled f x tiles)))
;;; case places
(show (tiled->npy "tile-a.npy" f x '(3 2))) ; expect: ("tile-a.npy" f32 128 (1 3 20 18))
(show (same? (read-npy "tile-a.npy") (tiled f x '(3 2)))) ; expect: #t
(show (map (lambda (tiles) (as-tiled? "tile-b.npy" f x tiles)) '(1 2 7 (1 18) (20 1)))) ; expect: (#t #t #t #t #t)
(show (as-tiled? "tile-b.npy" f x)) ; expect: #t
; Space elsewhere than behind channels, other types, and an array in a file of another one.
(show (as-tiled? "tile-b.npy" (lambda (x) (cast (permute x '(0 2 3 1)) 'i16)) x 3)) ; expect: #t
(show (as-tiled? "tile-b.npy" (lambda (x) (view (not-equal x 0) '(2 40 36))) x 3)) ; expect: #t
(show (as-tiled? "tile-b.npy" tanh (npy-array "tile-a.npy") 5)) ; expect: #t
; Behind a border, summed over one, computed as a whole; the input itself, what f knew, and nothing.
(show (as-tiled? "tile-b.npy" (lambda (x) (let ((y (f x))) (* y (mean y '(2 3) #t)))) x 3)) ; expect: #t
(show (as-tiled? "tile-b.npy" (lambda (x) (mean (f x) '(2 3))) x 3)) ; expect: #t
(show (as-tiled? "tile-b.npy" (lambda (x) (softmax (f x) 3)) x 3)) ; expect: #t
(show (as-tiled? "tile-b.npy" (lambda (x) x) (npy-array "tile-a.npy") 3)) ; expect: #t
(show (as-tiled? "tile-b.npy" (lambda (x) w) x 3)) ; expect: #t
(show (tiled->npy "tile-b.npy" tanh (fill '(1 0 4 4) 1))) ; expect: ("tile-b.npy" f32 128 (1 0 4 4))
;;; case pages-of-TIFF
(define (page-of c h w) (view (sin (arange (* c h w) 'f64 'cpu)) (list 1 c h w)))
(define (as-cast? c h w type tiles)
  (let ((f (lambda (x) (cast (* 50 (+ 1 x)) type))))
    (same? (all (tiled->tiff "tile.tif" f (page-of c h w) tiles)) (f (page-of c h w)))))
(show (tiled->tiff "tile.tif" f x 2)) ; expect: (tiff "tile.tif" 0 (1 3 20 18) f32)
(show (map (lambda (c type tiles) (as-cast? c 300 273 type tiles)) '(1 3 4 2 3 1) '(u8 u8 i16 f64 i32 i64) '(1 2 (1 7) (5 3) 2 3))) ; expect: (#t #t #t #t #t #t)
(show (as-cast? 1 1 1 'i8 1)) ; expect: #t
; Tiles along what becomes channels.
(define y (page-of 300 3 20))
(show (same? (all (tiled->tiff "tile.tif" (lambda (x) (permute (* 1 x) '(0 2 1 3))) y 3)) (permute y '(0 2 1 3)))) ; expect: #t
(show (same? (tiled tanh (tiff-array "tile.tif") 5) (tanh (permute y '(0 2 1 3))))) ; expect: #t
;;; case within-derivatives-of-others
(define ((loss name) p) (sumall (* (square p) (mean (all (tiled->npy name f x 3)) '(2 3)))))
(define (slope r) (sumall (cdr r)))
(define p (ones '(1 3)))
(define slopes (map slope (list (*j (loss "tile-1.npy") p 1) (checkpoint-*j (loss "tile-2.npy") p 1)
                                (with-schedule "binomial,base=200,snapshots=2" (lambda () (checkpoint-*j (loss "tile-3.npy") p 1))))))
(show (map (lambda (s) (equal? s (car slopes))) slopes)) ; expect: (#t #t #t)
;;; case capsules
; Each goes on with the file if it is there, and else begins again.
(define (h n) (car (tiled->npy "tile-c.npy" f x n)))
(define c (interrupt h 3 40000))
(define later (interrupt (lambda (c) (resume c)) c 20000))
(show (list (capsule? c) (capsule? later))) ; expect: (#t #t)
(show (map (lambda (c) (same? (read-npy (resume c)) (tiled f x 3))) (list c later c))) ; expect: (#t #t #t)
(show (filter (lambda (name) (string=? name "tile-c.npy")) (list-folder "."))) ; expect: ("tile-c.npy")
;;; case plans
(show (cadar (tile-plan f x 4 #f #t))) ; expect: (4 4)
;;; case plans-within-memory
; flags: --memory=24MiB
; Two of 1,000 x 1,000 elements are memory to others, and to nobody in a file.
(define ws (list (randn '(8 1 3 3) 'f32 #f 1) (randn '(2 8 3 3) 'f32 #f 2)))
(define (net x) (tanh (convolve (ReLU (convolve x (car ws) 1 1)) (cadr ws) 1 1)))
(show (map (lambda (file?) (cadar (tile-plan net (list "x" 'f32 128 '(1 1 1000 1000)) #f #f file?))) '(#f #t))) ; expect: ((5 5) (3 3))
;;; case varies
(gradient (lambda (w) (mean (read-npy (car (tiled->npy "tile-d.npy" (lambda (x) (convolve x w)) x 2))))) w)
; expect error: tiled->npy: a file has constants, and what f gives may depend on what a derivative is being taken of
;;; case written-between-value-and-sweep
(write-npy "tile-e.npy" x)
(define (loss w) (let ((y (sumall (tiled (lambda (x) (tanh (convolve (to-device x 'cpu) w))) (npy-array "tile-e.npy") 2)))) (write-npy "tile-e.npy" (* 2 x)) y))
(*j loss w 1)
; expect error: error: tiled: read-rows: tile-e\.npy: was written by this program after it had been read, so a gradient could not read the same again
;;; case varies-forward
(j* (lambda (x) (tiled->npy "tile-d.npy" tanh x 2)) x x)
; expect error: tiled->npy: a file has constants
;;; case varies-where-f-does-nothing
(j* (lambda (x) (tiled->npy "tile-d.npy" (lambda (x) x) x 2)) x x)
; expect error: tiled->npy: a file has constants
;;; case in-what-is-tiled
(tiled (lambda (x) (tiled->npy "tile-d.npy" tanh x 2) x) x 2)
; expect error: tiled->npy: a procedure given to `tiled` runs once on sizes alone, so what it computes is not there to be written: write what `tiled` gives
;;; case of-what-is-tiled-around-it
(tiled (lambda (x) (tiled->npy "tile-d.npy" (lambda (y) (* x y)) (sin (ones (size x) 'f32 'cpu)) 2) x) x 2)
; expect error: tiled->npy: a procedure given to `tiled` runs once on sizes alone
;;; case no-single-tensor
(tiled->npy "tile-d.npy" (lambda (x) (list x (tanh x))) x 2)
; expect error: tiled->npy: f gives no single tensor, and a file has one: write each by a call of its own, or put them together along channels
;;; case a-number
(tiled->tiff "tile-d.tif" (lambda (x) 5) x 2)
; expect error: tiled->tiff: f gives no single tensor
;;; case no-path
(tiled->npy 'a f x 2)
; expect error: tiled->npy: expected the path of a file, a string, got a
;;; case no-folder
(tiled->npy "no-such-folder/a.npy" f x 2)
; expect error: error: tiled->npy: no-such-folder/a.npy: the folder no-such-folder is not there; make it first
;;; case not-granted
(tiled->npy "/a.npy" f x 2)
; expect error: error: tiled->npy: /a.npy: may not be written; vmrun grants the current folder
;;; case no-type-of-NumPy
(tiled->npy "tile-d.npy" (lambda (x) (cast x 'bf16)) x 2)
; expect error: tiled->npy: tile-d.npy: NumPy has no elements of type bf16; let f end in \(cast t 'f32\)
;;; case no-type-of-TIFF
(tiled->tiff "tile-d.tif" (lambda (x) (cast x 'bf16)) x 2)
; expect error: tiled->tiff: tile-d.tif: TIFF has no elements of type bf16
;;; case no-page
(tiled->tiff "tile-d.tif" (lambda (x) (concat-tensors (list x x x) 1)) x 2)
; expect error: tiled->tiff: tile-d.tif: a page of TIFF is \[1, channels, height, width\] with 1 to 4 channels, and f gives \(1 6 40 36\); tiled->npy writes
;;; case two-pages
(tiled->tiff "tile-d.tif" tanh (fill '(2 1 4 4) 1) 2)
; expect error: tiled->tiff: tile-d.tif: a page of TIFF is
;;; case tiles-that-cannot-be
(tiled->npy "tile-d.npy" f x 99)
; expect error: error: tiled->npy: along an axis of 40 elements there are 1 to 40 tiles, not 99
;;; case no-devices
(tiled->npy "tile-d.npy" f x 2 'cpu)
; expect error: tiled->npy: expected a list of the names of at least one device, got cpu
