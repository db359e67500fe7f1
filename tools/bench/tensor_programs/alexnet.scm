; AlexNet on random images, forward and back by all parameters, n times. Arguments: n, batch, size of the images.
(define arguments (map string->number (command-line)))
(define n (car arguments))
(define batch (cadr arguments))
(define pixels (caddr arguments))

(define (weights out inputs . window) (* (sqrt (/ 2 inputs)) (randn (cons out window))))
(define (convolution in out k) (list (weights out (* k k in) in k k) (fill (list out) 0)))
(define (linear in out) (list (transpose (weights out in in)) (fill (list out) 0)))
(define (apply-linear x (list w b)) (+ (matmul x w) b))
(define (rectified x (list w b) . how) (ReLU (apply convolve-add-tied x w b how)))

(define parameters
  (list (convolution 3 64 11) (convolution 64 192 5) (convolution 192 384 3) (convolution 384 256 3) (convolution 256 256 3)
        (linear 9216 4096) (linear 4096 4096) (linear 4096 1000)))
(define (network x (list one two three four five six seven eight))
  (let* ((x (max-pool (rectified x one 4 2) 3 2))
         (x (max-pool (rectified x two 1 2) 3 2))
         (x (max-pool (rectified (rectified (rectified x three 1 1) four 1 1) five 1 1) 3 2))
         (x (dropout (view (adaptive-average-pool x 6) (list batch 9216)) .5))
         (x (dropout (ReLU (apply-linear x six)) .5)))
    (apply-linear (ReLU (apply-linear x seven)) eight)))

(define images (randn (list batch 3 pixels pixels)))
(define labels (list->tensor (iota batch) 'i64))
(define (loss parameters) (cross-entropy-loss (network images parameters) labels))
(define (work) (*j loss parameters 1))
(define (loop i) (if (= i 0) 0 (begin (work) (loop (- i 1)))))
(write (loop n))
