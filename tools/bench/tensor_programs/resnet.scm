; ResNet on random images, forward and back by all parameters, n times. Arguments: n, batch, size of the images and, if it is not to be
; ResNet-50, the channels of its stem, 64 there, and the blocks of its four stages: 3 8 36 3 are those of ResNet-152.
(define arguments (map string->number (command-line)))
(define n (car arguments))
(define batch (cadr arguments))
(define pixels (caddr arguments))
(define shape (if (null? (cdddr arguments)) '(64 3 4 6 3) (cdddr arguments)))
(define channels (car shape))

; A convolution without bias and what normalises its result: (weights scale shift).
(define (unit in out k)
  (list (* (sqrt (/ 2 (* out k k))) (randn (list out in k k))) (fill (list out) 1) (fill (list out) 0)))
(define (normalised x (list w scale shift) stride)
  (car (batch-normalization-training (convolve x w stride (quotient (list-ref (size w) 2) 2)) scale shift)))

; 1x1, 3x3 with the stride, 1x1; and a projection where the shape changes.
(define (block in wide first?)
  (append (list (unit in wide 1) (unit wide wide 3) (unit wide (* 4 wide) 1)) (if first? (list (unit in (* 4 wide) 1)) '())))
(define (bottleneck x (cons* a b c projection) stride)
  (let ((y (normalised (ReLU (normalised (ReLU (normalised x a 1)) b stride)) c 1)))
    (ReLU (+ y (if (null? projection) x (normalised x (car projection) stride))))))

(define (stage in wide blocks) (cons (block in wide #t) (build-list (- blocks 1) (lambda (i) (block (* 4 wide) wide #f)))))
(define (staged x (cons first more) stride) (fold-left (lambda (x b) (bottleneck x b 1)) (bottleneck x first stride) more))

; Four stages, each of twice the channels of the one before.
(define (stages in wide blocks) (if (null? blocks) '() (cons (stage in wide (car blocks)) (stages (* 4 wide) (* 2 wide) (cdr blocks)))))

(define parameters
  (append (cons (unit 3 channels 7) (stages channels channels (cdr shape)))
          (list (* .01 (randn (list (* 32 channels) 1000))) (fill '(1000) 0))))
(define (network x (list stem one two three four weights bias))
  (let* ((x (max-pool (ReLU (normalised x stem 2)) 3 2 1))
         (x (staged (staged (staged (staged x one 1) two 2) three 2) four 2)))
    (+ (matmul (view (adaptive-average-pool x 1) (list batch (* 32 channels))) weights) bias)))

(define images (randn (list batch 3 pixels pixels)))
(define labels (list->tensor (iota batch) 'i64))
(define (loss parameters) (cross-entropy-loss (network images parameters) labels))
(define (work) (*j loss parameters 1))
(define (loop i) (if (= i 0) 0 (begin (work) (loop (- i 1)))))
(write (loop n))
