; DenseNet-121: what a layer makes stands beside all that was there before it.
;
;     vmrun samples/networks/densenet.scm
;
; prints how many numbers the parameters are, 7,978,856, then the losses of --steps steps on --batch random images of --size points. --growth=4 makes a thin one,
; --count only counts; --blocks is one of 121, 169, 201.
(import network)
(import noise)

(define options (command-line-options '((blocks 121) (growth 32) (classes 1000) (size 224) (batch 2) (steps 2) (rate .01) (count #f))))
(define growth (options 'growth))

; Normalised first, then a convolution.
(define (normalised in out window . l)
  (in-sequence (batch-norm-layer in) relu (apply plain-convolution-layer in out window l)))
(define (dense in n)
  (repeat n (lambda (i)
    (concatenated-layers 1 (in-sequence) (in-sequence (normalised (+ in (* i growth)) (* 4 growth) '(1 1)) (normalised (* 4 growth) growth '(3 3) 1 1))))))
(define (blocks in counts)
  (let ((out (+ in (* growth (car counts)))))
    (in-sequence (dense in (car counts))
                 (if (null? (cdr counts))
                     (in-sequence (batch-norm-layer out) relu global-mean (linear-layer out (options 'classes)))
                     (in-sequence (normalised out (quotient out 2) '(1 1)) (mean-pool 2) (blocks (quotient out 2) (cdr counts)))))))
(define chosen
  (let ((entry (assv (options 'blocks) '((121 6 12 24 16) (169 6 12 32 32) (201 6 12 48 32)))))
    (if entry (cdr entry) (error "expected --blocks=121, 169 or 201, got" (options 'blocks)))))
(define densenet (in-sequence (unit ReLU 3 (* 2 growth) '(7 7) 2 3) (pool 3 2 1) (blocks (* 2 growth) chosen)))

(train-on-noise densenet 3 (of-classes (options 'classes)) options)
