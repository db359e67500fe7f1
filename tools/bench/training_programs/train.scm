; Steps of Adam on a network of the library's layers, batches and all. Arguments: the network, steps to warm up, steps that count, its sizes. Prints the
; seconds that the steps took which count, and the loss in the last of them.
(import network)

(define arguments (command-line))
(define name (car arguments))
(define numbers (map string->number (cdr arguments)))
(define warm (car numbers))
(define steps (cadr numbers))
(define sizes (cddr numbers))

; Each network is (new-parameters statistics loss batches): (loss p statistics batch) is the loss and the statistics behind it. Updates in place
; need parameters that nothing else holds, so they are drawn last.
(define (plain loss) (lambda (p s batch) (cons (loss p batch) s)))
(define (classified f) (lambda (p batch) (tensor->number (cross-entropy-loss (f p (car batch)) (cadr batch)))))
(define (of-layers network batches)
  (list (lambda () (layer-parameters network)) (layer-statistics network)
        (lambda (p s batch)
          (let (((cons y s) (layer-train network p s (car batch)))) (cons (tensor->number (cross-entropy-loss y (cadr batch))) s)))
        batches))
(define (drawn-classes n kinds) (cast (floor (* kinds (rand (list n)))) 'i64))
(define relu (function-layer ReLU))
(define flatten (function-layer (lambda (x) (view x (list (car (size x)) -1)))))

; Sizes: width.
(define (perceptron-784 width)
  (list (lambda () (new-perceptron (list 784 width width 10))) '() (plain (classified (lambda (p x) (perceptron ReLU p x))))
        (loader (list (rand '(4096 784)) (drawn-classes 4096 10)) 64 1)))

; Images of 28 points: two convolutions, a pool, two linear layers. Sizes: channels.
(define (convolutional channels)
  (of-layers (in-sequence (convolution-layer 1 channels '(3 3) 1 1) relu (convolution-layer channels (* 2 channels) '(3 3) 1 1) relu
                          (function-layer (lambda (x) (max-pool x 2))) flatten (linear-layer (* 2 channels 196) 128) relu (linear-layer 128 10))
             (loader (list (rand '(2048 1 28 28)) (drawn-classes 2048 10)) 32 1)))

; Sequences of 28 steps of 28 numbers. Sizes: width.
(define (recurrent width)
  (list (lambda () (list (new-lstm 28 width) (new-linear width 10))) '()
        (plain (classified (lambda (p x) (linear (cadr p) (caadr (unroll lstm (car p) x 0))))))
        (loader (list (rand '(2048 28 28)) (drawn-classes 2048 10)) 64 1)))

; Sizes: blocks, width, heads, kinds of tokens, tokens of a text, texts of a batch.
(define (gpt blocks width heads kinds tokens texts)
  (list (lambda ()
          (list (* .02 (new-embedding kinds width)) (* .02 (new-embedding tokens width)) (build-list blocks (lambda (i) (new-transformer width)))
                (new-layer-norm width)))
        '()
        (plain (lambda ((list table positions layers norm) text)
                 (let ((x (+ (embedding table (narrow-tensor text 1 0 tokens)) positions)))
                   (tensor->number
                    (cross-entropy-loss (view (matmul (layer-norm norm (stacked (lambda (p x) (transformer heads p x #t)) layers x)) (transpose table)) (list -1 kinds))
                                        (view (narrow-tensor text 1 1 tokens) '(-1)))))))
        (loader (windows (drawn-classes 100000 kinds) (+ tokens 1)) texts 1)))

; ResNet-50 on a file of images of bytes, mirrored at random. Sizes: points, images of a batch. The file is the next argument.
(define (resnet points batch)
  (define (unit f in out window . l) (in-sequence (apply plain-convolution-layer in out window l) (batch-norm-layer out) (function-layer f)))
  (define (same x) x)
  (define (bottleneck in width stride)
    (let ((layer (in-sequence (unit ReLU in width '(1 1)) (unit ReLU width width '(3 3) stride 1) (unit same width (* 4 width) '(1 1)))))
      (in-sequence (if (= in (* 4 width)) (residual-layer layer) (residual-layer layer (unit same in (* 4 width) '(1 1) stride))) relu)))
  (define (stage in width stride count)
    (apply in-sequence (bottleneck in width stride) (build-list (- count 1) (lambda (i) (bottleneck (* 4 width) width 1)))))
  (of-layers (in-sequence (unit ReLU 3 64 '(7 7) 2 3) (function-layer (lambda (x) (max-pool x 3 2 1)))
                          (stage 64 64 1 3) (stage 256 128 2 4) (stage 512 256 2 6) (stage 1024 512 2 3)
                          (function-layer (lambda (x) (mean x '(2 3)))) (linear-layer 2048 1000))
             (loader-map (lambda (b) (list (random-flip (/ (- (cast (car b) 'f32) 128) 64)) (cadr b)))
                         (loader (list (npy-array "images.npy") (drawn-classes (car (cadddr (npy-array "images.npy"))) 1000)) batch 1))))

; Channels of 128 samples by EEGNet. Sizes: channels.
(define (eegnet channels)
  (define (padded before behind) (function-layer (lambda (x) (pad x (list 0 0 0 before) (list 0 0 0 behind)))))
  (define elu (function-layer ELU))
  (define (averaged n) (function-layer (lambda (x) (average-pool x (list 1 n)))))
  (of-layers (in-sequence (padded 31 32) (plain-convolution-layer 1 8 '(1 64)) (batch-norm-layer 8)
                          (plain-convolution-layer 8 16 (list channels 1) 1 0 1 8) (batch-norm-layer 16) elu (averaged 4) (dropout-layer .25)
                          (padded 7 8) (plain-convolution-layer 16 16 '(1 16) 1 0 1 16) (plain-convolution-layer 16 16 '(1 1)) (batch-norm-layer 16) elu
                          (averaged 8) (dropout-layer .25) flatten (linear-layer (* 16 4) 4))
             (loader (list (randn (list 512 1 channels 128)) (drawn-classes 512 4)) 32 1)))

(define network
  (apply (cdr (assoc name (list (cons "mlp" perceptron-784) (cons "conv" convolutional) (cons "lstm" recurrent) (cons "gpt" gpt) (cons "resnet" resnet)
                                (cons "eegnet" eegnet))))
         sizes))
(define loss (caddr network))
(define batches (cadddr network))

(define (train p s state n begin-at)
  (let* ((batch (loader-batch batches n))
         ((list (cons value s) p state) (*j-update! (lambda (p) (loss p s batch)) p '(1 . 0) (adam .001) state))
         (n (+ n 1)))
    (cond ((= n (+ warm steps)) (write-real (- (clock) begin-at)) (write-real value))
          ((= n warm) (train p s state n (clock)))
          (else (train p s state n begin-at)))))
(train ((car network)) (cadr network) 0 0 (clock))
