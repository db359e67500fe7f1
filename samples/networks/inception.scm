; Inception v3: windows of several sizes beside each other, and long ones one way after the other.
;
;     vmrun samples/networks/inception.scm --auxiliary
;
; prints how many numbers the parameters are (27,161,264, without --auxiliary 23,834,568), then the losses of --steps steps on --batch random images of --size points, 75 at least and 299 with
; the auxiliary classifier, whose loss counts .4. --width=4 instead of 64 makes a thin one, --count only counts.
(import network)
(import noise)

(define options (command-line-options '((auxiliary #f) (width 64) (classes 1000) (size 299) (batch 2) (steps 2) (rate .01) (count #f))))
(define (wide n) (if (= n 3) 3 (max 1 (quotient (* n (options 'width)) 64))))

(define (conv in out window . l) ; with an epsilon of its own
  (in-sequence (apply plain-convolution-layer (wide in) (wide out) window l) (batch-norm-layer (wide out) .001) relu))
(define (beside . layers) (apply concatenated-layers 1 layers))
(define (one in out) (conv in out '(1 1)))
(define (across in out) (conv in out '(1 7) 1 '(0 3)))
(define (down in out) (conv in out '(7 1) 1 '(3 0)))
(define (pooled in out) (in-sequence (mean-pool 3 1 1) (one in out)))

(define (block-a in pool-out)
  (beside (one in 64) (in-sequence (one in 48) (conv 48 64 '(5 5) 1 2))
          (in-sequence (one in 64) (conv 64 96 '(3 3) 1 1) (conv 96 96 '(3 3) 1 1)) (pooled in pool-out)))
(define (block-b in)
  (beside (conv in 384 '(3 3) 2) (in-sequence (one in 64) (conv 64 96 '(3 3) 1 1) (conv 96 96 '(3 3) 2)) (pool 3 2)))
(define (block-c in n)
  (beside (one in 192) (in-sequence (one in n) (across n n) (down n 192))
          (in-sequence (one in n) (down n n) (across n n) (down n n) (across n 192)) (pooled in 192)))
(define (block-d in)
  (beside (in-sequence (one in 192) (conv 192 320 '(3 3) 2))
          (in-sequence (one in 192) (across 192 192) (down 192 192) (conv 192 192 '(3 3) 2)) (pool 3 2)))
(define (block-e in)
  (define cross (beside (conv 384 384 '(1 3) 1 '(0 1)) (conv 384 384 '(3 1) 1 '(1 0))))
  (beside (one in 320) (in-sequence (one in 384) cross) (in-sequence (one in 448) (conv 448 384 '(3 3) 1 1) cross) (pooled in 192)))

(define stem
  (in-sequence (conv 3 32 '(3 3) 2) (conv 32 32 '(3 3)) (conv 32 64 '(3 3) 1 1) (pool 3 2) (one 64 80) (conv 80 192 '(3 3)) (pool 3 2)
               (block-a 192 32) (block-a 256 64) (block-a 288 64) (block-b 288) (block-c 768 128) (block-c 768 160) (block-c 768 160) (block-c 768 192)))
(define head
  (in-sequence (block-d 768) (block-e 1280) (block-e 2048) global-mean (dropout-layer .5) (linear-layer (wide 2048) (options 'classes))))
(define auxiliary
  (in-sequence (mean-pool 5 3) (one 768 128) (conv 128 768 '(5 5)) global-mean (linear-layer (wide 768) (options 'classes))))

(define class-loss (of-classes (options 'classes)))
(if (options 'auxiliary)
    (train-on-noise (in-sequence stem (in-parallel same head auxiliary)) 3
                    (lambda ((list y extra)) (+ (class-loss y) (* .4 (class-loss extra)))) options)
    (train-on-noise (in-sequence stem head) 3 class-loss options))
