; What every network of this folder does when it is run: it says of how many numbers its parameters are and, but for --count, trains for some steps on random images
; and prints the loss before each. Data of your own take the place of the images and of the loss: `train-on` is given a procedure of no arguments that makes one from the
; number of a step to a pair of images and a loss (resnet.scm has one for files).

; A loss gives, of what the network makes of images, a tensor without axes. Statistics of batch-norm go along: they come beside the loss, and no
; gradient comes from them.
(define (train-on network options batches)
  (let ((p (layer-parameters network)))
    (write-real (parameters-count p))
    (if (not (options 'count)) (train-network network p (layer-statistics network) 0 0 (batches) options))))
(define (train-on-noise network channels loss options)
  (train-on network options
            (lambda () (let ((x (randn (list (options 'batch) channels (options 'size) (options 'size))))) (lambda (n) (cons x loss))))))

(define ((loss-with network statistics loss x) p)
  (let (((cons y statistics) (layer-train network p statistics x))) (cons (tensor->number (loss y)) statistics)))

(define (train-network network p statistics state n batch-of options)
  (if (< n (options 'steps))
      (let* (((cons x loss) (batch-of n))
             ((list (cons value statistics) p state)
              (checkpoint-*j-update! (loss-with network statistics loss x) p '(1 . 0) (sgd (options 'rate)) state)))
        (report 'loss (write-real value))
        (train-network network p statistics state (+ n 1) batch-of options))))

; Image after image is of the next class; each point of images is of any class.
(define (of-classes classes)
  (lambda (y) (cross-entropy-loss y (list->tensor (map (lambda (i) (modulo i classes)) (iota (car (size y)))) 'i64))))
(define (points-of-classes classes)
  (lambda (y)
    (let ((rows (view (permute y '(0 2 3 1)) (list -1 classes))))
      (cross-entropy-loss rows (cast (floor (* classes (rand (list (car (size rows)))))) 'i64)))))

; What several of them are made of: a convolution without shift, batch-norm and a function behind it.
(define (unit f in out window . l)
  (in-sequence (apply plain-convolution-layer in out window l) (batch-norm-layer out) (function-layer f)))
(define (same x) x)
(define relu (function-layer ReLU))
(define flatten (function-layer (lambda (x) (view x (list (car (size x)) -1)))))
(define (pool window . l) (function-layer (lambda (x) (apply max-pool x window l))))
(define (mean-pool window . l) (function-layer (lambda (x) (apply average-pool x window l))))
(define global-mean (function-layer (lambda (x) (mean x '(2 3)))))
(define (repeat n f) (apply in-sequence (build-list n f)))
