; DarkNet-53 and DarkNet-19, the backbones of YOLO.
;
;     vmrun samples/networks/darknet.scm --layers=53
;
; prints how many numbers the parameters are (41,609,928, of DarkNet-19 20,842,376), then the losses of --steps steps on --batch random images of --size points, a multiple of 32. --width=4 instead of
; 32 makes a thin one, --count only counts.
(import network)
(import noise)

(define options (command-line-options '((layers 53) (width 32) (classes 1000) (size 256) (batch 1) (steps 2) (rate .01) (count #f))))
(define (wide n) (quotient (* n (options 'width)) 32))

(define (leaky in out window . l) (apply unit (lambda (x) (LeakyReLU x .1)) in out (list window window) l))

; Each stage halves the size, then adds to its input, so many times, what a narrow and a wide convolution make of it.
(define (stages in counts)
  (if (null? counts)
      (in-sequence global-mean (linear-layer in (options 'classes)))
      (let ((out (* 2 in)))
        (in-sequence (leaky in out 3 2 1)
                     (repeat (car counts) (lambda (i) (residual-layer (in-sequence (leaky out in 1) (leaky in out 3 1 1)))))
                     (stages out (cdr counts))))))
(define (darknet53) (in-sequence (leaky 3 (wide 32) 3 1 1) (stages (wide 32) '(1 2 8 8 4))))

; Stages of convolutions that are wide and narrow in turn, and pools between them.
(define (turns in out n) ; n is odd
  (if (= n 1) (leaky in out 3 1 1) (in-sequence (leaky in out 3 1 1) (leaky out (quotient out 2) 1) (turns (quotient out 2) out (- n 2)))))
(define (darknet19)
  (in-sequence (turns 3 (wide 32) 1) (pool 2) (turns (wide 32) (wide 64) 1) (pool 2) (turns (wide 64) (wide 128) 3) (pool 2)
               (turns (wide 128) (wide 256) 3) (pool 2) (turns (wide 256) (wide 512) 5) (pool 2) (turns (wide 512) (wide 1024) 5)
               (convolution-layer (wide 1024) (options 'classes) '(1 1)) global-mean))
(define network (case (options 'layers) ((53) (darknet53)) ((19) (darknet19)) (else (error "expected 53 or 19 layers, got" (options 'layers)))))

(train-on-noise network 3 (of-classes (options 'classes)) options)
