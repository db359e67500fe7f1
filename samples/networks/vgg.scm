; VGG and AlexNet: one layer after the other.
;
;     vmrun samples/networks/vgg.scm --name=vgg16                vgg11, vgg16, vgg19 or alexnet
;
; prints how many numbers the parameters are (138,357,544, of VGG-19 143,667,240, of AlexNet 61,100,840), then the losses of --steps steps on --batch random images of --size points. --width=4
; instead of 64 makes a thin one, --count only counts.
(import network)
(import noise)

(define options (command-line-options '((name "vgg16") (width 64) (classes 1000) (size 224) (batch 2) (steps 2) (rate .001) (count #f))))
(define (wide n) (quotient (* n (options 'width)) 64))

(define (classifier inputs)
  (in-sequence flatten (linear-layer inputs (wide 4096)) relu (dropout-layer .5) (linear-layer (wide 4096) (wide 4096)) relu (dropout-layer .5)
               (linear-layer (wide 4096) (options 'classes))))
(define (to-size n) (function-layer (lambda (x) (adaptive-average-pool x n))))

; Stages of as many convolutions as the list says.
(define (vgg in outs counts)
  (if (null? counts)
      (in-sequence (to-size 7) (classifier (* 49 in)))
      (let ((out (wide (car outs))))
        (in-sequence (repeat (car counts) (lambda (i) (in-sequence (convolution-layer (if (= i 0) in out) out '(3 3) 1 1) relu)))
                     (pool 2) (vgg out (cdr outs) (cdr counts))))))
(define (alexnet)
  (define (stage in out . l) (in-sequence (apply convolution-layer (if (= in 3) 3 (wide in)) (wide out) l) relu))
  (in-sequence (stage 3 64 '(11 11) 4 2) (pool 3 2) (stage 64 192 '(5 5) 1 2) (pool 3 2) (stage 192 384 '(3 3) 1 1) (stage 384 256 '(3 3) 1 1)
               (stage 256 256 '(3 3) 1 1) (pool 3 2) (to-size 6) (dropout-layer .5) (classifier (* 36 (wide 256)))))
(define network
  (let ((known (assoc (options 'name) '(("vgg11" 1 1 2 2 2) ("vgg16" 2 2 3 3 3) ("vgg19" 2 2 4 4 4)))))
    (cond (known (vgg 3 '(64 128 256 512 512) (cdr known)))
          ((equal? (options 'name) "alexnet") (alexnet))
          (else (error "expected vgg11, vgg16, vgg19 or alexnet, got" (options 'name))))))

(train-on-noise network 3 (of-classes (options 'classes)) options)
