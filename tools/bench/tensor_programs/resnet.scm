; ResNet-50 on random images, forward and back by all parameters, n times. Arguments: n, batch, size of the images.
(define arguments (map string->number (command-line)))
(define n (car arguments))
(define batch (cadr arguments))
(define pixels (caddr arguments))

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

(define parameters
  (list (unit 3 64 7) (stage 64 64 3) (stage 256 128 4) (stage 512 256 6) (stage 1024 512 3)
        (* .01 (randn '(2048 1000))) (fill '(1000) 0)))
(define (network x (list stem one two three four weights bias))
  (let* ((x (max-pool (ReLU (normalised x stem 2)) 3 2 1))
         (x (staged (staged (staged (staged x one 1) two 2) three 2) four 2)))
    (+ (matmul (view (adaptive-average-pool x 1) (list batch 2048)) weights) bias)))

(define images (randn (list batch 3 pixels pixels)))
(define labels (list->tensor (iota batch) 'i64))
(define (loss parameters) (cross-entropy-loss (network images parameters) labels))
(define (work) (*j loss parameters 1))
(define (loop i) (if (= i 0) 0 (begin (work) (loop (- i 1)))))
(write (loop n))
