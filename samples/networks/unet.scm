; U-Net: what a contracting path sees at each size stands beside what comes back from below, and every point of an image gets its class.
;
;     vmrun samples/networks/unet.scm --size=256
;
; prints how many numbers the parameters are, 31,030,658, then the losses of --steps steps on --batch random images of --size points, a multiple of 16. --width=4 instead of 64 makes
; a thin one, --count only counts.
(import network)
(import noise)

(define options (command-line-options '((width 64) (depth 4) (channels 1) (classes 2) (size 256) (batch 1) (steps 2) (rate .001) (count #f))))

(define (twice in out)
  (in-sequence (convolution-layer in out '(3 3) 1 1) relu (convolution-layer out out '(3 3) 1 1) relu))
(define (unet in width depth)
  (if (= depth 0)
      (twice in width)
      (in-sequence (twice in width)
                   (concatenated-layers 1 (in-sequence)
                     (in-sequence (pool 2) (unet width (* 2 width) (- depth 1)) (transpose-convolution-layer (* 2 width) width '(2 2) 2)))
                   (twice (* 2 width) width))))
(define network
  (in-sequence (unet (options 'channels) (options 'width) (options 'depth)) (convolution-layer (options 'width) (options 'classes) '(1 1))))

(train-on-noise network (options 'channels) (points-of-classes (options 'classes)) options)
