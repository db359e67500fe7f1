; What every network of this folder does when it is run: it says of how many numbers its parameters are and, but for --count, trains for some steps on random images
; and prints the loss before each. What a user of such a network replaces by data.

; statistics of batch-norm go along: the loss hands them on, and no gradient comes from them.
(define (train-on-noise network channels classes options)
  (let ((p (layer-parameters network)))
    (write-real (parameters-count p))
    (if (options 'count)
        'counted
        (let ((x (randn (list (options 'batch) channels (options 'size) (options 'size))))
              (y (list->tensor (map (lambda (i) (modulo i classes)) (iota (options 'batch))) 'i64)))
          (train-network network p (layer-statistics network) 0 (options 'steps) (sgd (options 'rate))
                         (lambda (logits) (tensor->number (cross-entropy-loss logits y))) x)))))

(define (train-network network p statistics state steps rule loss-of x)
  (if (> steps 0)
      (let (((list (cons loss statistics) p state)
             (checkpoint-*j-update! (lambda (p) (let (((cons y s) (layer-train network p statistics x))) (cons (loss-of y) s)))
                                    p '(1 . 0) rule state)))
        (write-real loss)
        (train-network network p statistics state (- steps 1) rule loss-of x))))

; What several of them are made of: a convolution without shift, batch-norm and a function behind it; all places of an image as one row.
(define (unit f in out window . l)
  (in-sequence (apply plain-convolution-layer in out window l) (batch-norm-layer out) (function-layer f)))
(define relu (function-layer ReLU))
(define flatten (function-layer (lambda (x) (view x (list (car (size x)) -1)))))
(define (pool window . l) (function-layer (lambda (x) (apply max-pool x window l))))
(define global-mean (function-layer (lambda (x) (mean x '(2 3)))))
(define (repeat n f) (apply in-sequence (build-list n f)))
