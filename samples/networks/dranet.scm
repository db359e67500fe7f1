; DRANet, segmentation by two kinds of attention over a ResNet of any depth: places look at a few places' means, channels at a few channels, and a gate
; says where features of an early stage may sharpen the result.
;
;     vmrun samples/networks/dranet.scm --blocks=101 --size=256
;
; prints how many numbers the parameters are, then the losses of --steps steps on --batch random images of --size points, a multiple of 16. --blocks is 50, 101 or 152; or --middle says how many blocks the long
; stage has, 36 of 152. --width=4 instead of 64 makes a thin one, --count only counts.
(import network)
(import noise)

(define options (command-line-options '((blocks 101) (middle 0) (width 64) (classes 19) (size 256) (batch 2) (steps 2) (rate .01) (count #f))))
(define base (options 'width))

; --- the ResNet; its last stage keeps the size and looks further instead. Gives what the first and the last stage make.

(define (bottleneck in width stride dilation)
  (define layer
    (in-sequence (unit ReLU in width '(1 1)) (unit ReLU width width '(3 3) stride dilation dilation) (unit same width (* 4 width) '(1 1))))
  (in-sequence (if (if (= stride 1) (= in (* 4 width)) #f) (residual-layer layer) (residual-layer layer (unit same in (* 4 width) '(1 1) stride))) relu))
(define (stage in width n stride dilation)
  (let ((later (bottleneck (* 4 width) width 1 dilation)))
    (repeat n (lambda (i) (if (= i 0) (bottleneck in width stride dilation) later)))))
(define (both first rest) (in-sequence first (in-parallel same (in-sequence) rest)))
(define backbone
  (let* ((known (assv (options 'blocks) '((50 3 4 6 3) (101 3 4 23 3) (152 3 8 36 3))))
         (counts (cond ((> (options 'middle) 0) (list 3 8 (options 'middle) 3))
                       (known (cdr known))
                       (else (error "expected --blocks=50, 101 or 152, or --middle, got" (options 'blocks))))))
    (both (in-sequence (unit ReLU 3 base '(7 7) 2 3) (pool 3 2 1) (stage base base (car counts) 1 1))
          (in-sequence (stage (* 4 base) (* 2 base) (cadr counts) 2 1) (stage (* 8 base) (* 4 base) (caddr counts) 2 1)
                       (stage (* 16 base) (* 8 base) (cadddr counts) 1 2)))))

; --- attention. A matrix [places, channels] of images [channels, height, width], and back

(define (as-rows x) (transpose (view x (list (car (size x)) (cadr (size x)) -1))))
(define (as-images rows like) (view (transpose rows) (size like)))

; Of each place to the means of 1, 4, 9 and 36 parts of the image; how much of it is added is learnt from 0 on.
(define (parts n d) (in-sequence (function-layer (lambda (x) (adaptive-average-pool x n))) (unit ReLU d d '(1 1)) (function-layer as-rows)))
(define (attention-of-places d)
  (in-sequence
    (in-parallel same (in-sequence) (concatenated-layers 1 (parts 1 d) (parts 2 d) (parts 3 d) (parts 6 d)))
    (layer-of (lambda () (list (new-linear d (quotient d 4)) (new-linear d (quotient d 4)) (new-linear d d) 0.))
              (lambda ((list query key value part) (list x means))
                (let ((scores (matmul (linear query (as-rows x)) (transpose (linear key means)))))
                  (+ x (* part (as-images (matmul (softmax scores) (linear value means)) x))))))))

; Of each channel to a sixteenth as many, which a convolution makes; to those that are least like it.
(define (attention-of-channels d)
  (in-sequence
    (in-parallel same (in-sequence) (unit ReLU d (quotient d 16) '(1 1)))
    (layer-of (lambda () (list 0.))
              (lambda ((list part) (list x few))
                (let* ((few (as-rows few)) (scores (matmul (transpose (as-rows x)) few)))
                  (+ x (* part (as-images (transpose (matmul (softmax (- (max-over scores -1 #t) scores)) (transpose few))) x))))))))

; --- the decoder: what the early stage saw, as far as the gate lets it pass, beside the late features at its size

(define (larger x y) (interpolate-to-size x (cddr (size y)) 'linear))
(define (gated d)
  (in-sequence
    (in-parallel (lambda ((list early late)) (list early (larger late early))) (on car (unit ReLU (* 4 base) d '(3 3) 1 1)) (on cadr (in-sequence)))
    (in-parallel (lambda ((list gate (list early late))) (concat-tensors (list (* gate early) late) 1))
                 (in-sequence (function-layer (lambda (l) (concat-tensors l 1))) (unit sigmoid (* 2 d) 1 '(1 1)))
                 (in-sequence))
    (unit ReLU (* 2 d) d '(3 3) 1 1)))
(define (on part layer) (in-sequence (function-layer part) layer))

(define dranet
  (let* ((in (* 32 base)) (d (quotient in 4)))
    (in-sequence
      backbone
      (in-parallel same
        (on car (in-sequence))
        (on cadr (in-sequence
                   (concatenated-layers 1
                     (in-sequence (unit ReLU in d '(1 1)) (attention-of-places d) (unit ReLU d d '(3 3) 1 1))
                     (in-sequence (unit ReLU in d '(3 3) 1 1) (attention-of-channels d) (unit ReLU d d '(3 3) 1 1)))
                   (unit ReLU (* 2 d) d '(3 3) 1 1))))
      (gated d)
      (dropout-layer .1)
      (convolution-layer d (options 'classes) '(1 1))
      (function-layer (lambda (y) (let ((points (options 'size))) (interpolate-to-size y (list points points) 'linear)))))))

(train-on-noise dranet 3 (points-of-classes (options 'classes)) options)
