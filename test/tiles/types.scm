; Types and precision are those of the whole: what is not of the type of the result is not rounded to its own on the way, nor taken for a condition.
(define (show x) (write x) (newline))
(define (in-f64 t) (cast t 'f64))
(define (near? a b)
  (if (pair? a)
      (and (near? (car a) (car b)) (near? (cdr a) (cdr b)))
      (or (null? a)
          (and (eq? (tensor-type a) (tensor-type b))
               (<= (max-value (abs (- (in-f64 a) (in-f64 b)))) (* (if (eq? 'f64 (tensor-type a)) 1e-13 1e-6) (max-value (abs (in-f64 a)))))))))
(define x (+ 3 (* 5 (randn '(3 2 13 11) 'f64 #f 9))))
(define types '((bf16 f32) (bf16 f64) (f32 f64) (f64 f32) (u8 f32) (u8 f64) (i32 f32) (f32 bf16) (bf16 bf16)))
(define (by-types f) (map (lambda ((list of-x of-scale)) (near? (f (cast x of-x) of-scale) (tiled (lambda (x) (f x of-scale)) (cast x of-x) 3))) types))
;;; case norms
(define (batch x type) (batch-normalization-training x (fill '(2) 1.5 type) (fill '(2) .5 type)))
(show (by-types batch))                                                           ; expect: (#t #t #t #t #t #t #t #t #t)
(show (by-types (lambda (x type) (cdr (batch (tanh x) type)))))                   ; expect: (#t #t #t #t #t #t #t #t #t)
(show (by-types (lambda (x type) (group-normalization x (fill '(2) 1.5 type) (fill '(2) .5 type) 1)))) ; expect: (#t #t #t #t #t #t #t #t #t)
(show (by-types (lambda (x type) (batch-norm (new-batch-norm 2) (new-batch-statistics 2) (cast x (if (eq? type 'f32) 'bf16 type)))))) ; expect: (#t #t #t #t #t #t #t #t #t)
; As f sees them.
(show (tiled (lambda (x) (map tensor-type (batch x 'f32))) (cast x 'bf16) 3))     ; expect: (f32 f32 f32)
; No rounding on the way back either.
(define (slope apply-to) (gradient (lambda (scale) (sumall (* (sin x) (car (apply-to (lambda (x) (batch-normalization-training x scale (zeros '(2) 'f32))) (cast x 'bf16)))))) (ones '(2) 'f32)))
(show (near? (slope (lambda (f x) (f x))) (slope (lambda (f x) (tiled f x 3)))))   ; expect: #t
;;; case pools-of-bf16
; Rounded once, as in the whole.
(define (pooled x) (average-pool x 3 2 1 #f))
(define coarse (cast x 'bf16))
(show (max-value (abs (- (in-f64 (pooled coarse)) (in-f64 (tiled pooled coarse 3)))))) ; expect: 0.0
(show (map (lambda (type) (near? (pooled (cast x type)) (tiled pooled (cast x type) 3))) '(f64 f32 u8 i32))) ; expect: (#t #t #t #t)
;;; case means-of-integers
(define (reduced type) (let ((x (cast (* 8 (abs x)) type)))
  (map (lambda (f) (near? (f x) (tiled f x 3)))
       (map (lambda (reduced) (lambda (x) (reduced (flip x '(2)) '(2 3)))) (list sum mean variance logsumexp max-over min-over)))))
(show (map reduced '(u8 i16 i32)))                                                ; expect: ((#t #t #t #t #t #t) (#t #t #t #t #t #t) (#t #t #t #t #t #t))
(write-npy "bytes.npy" (cast (* 8 (abs x)) 'u8))
(define in-file (npy-array "bytes.npy"))
(show (map (lambda (f) (near? (f (read-npy "bytes.npy")) (tiled f in-file 3))) (list mean variance logsumexp max-over))) ; expect: (#t #t #t #t)
;;; case bytes-that-are-no-condition
(define bytes (cast (* 8 (abs x)) 'u8))
(define (same? f) (equal? (f bytes) (tiled f bytes 2)))
(show (map same? (list (lambda (x) (squeeze (unsqueeze x 0)))
                       (lambda (x) (view (view (> x 9) '(3 2 143)) '(3 2 13 11)))
                       (lambda (x) (sum (view (> x 9) '(3 2 143)) '(2)))
                       (lambda (x) (list (> x 9) x (vector x)))
                       (lambda (x) (roll (concat-tensors (list x (flip x '(3))) 1) 2 3))
                       (lambda (x) (where (> x 9) x (max-pool x 3 1 1))))))         ; expect: (#t #t #t #t #t #t)
