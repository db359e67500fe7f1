; VGG-16 on random images, forward and back by all parameters, n times. Arguments: n, batch, size of the images, which 32 divides.
(define arguments (map string->number (command-line)))
(define n (car arguments))
(define batch (cadr arguments))
(define pixels (caddr arguments))

(define (weights out inputs . window) (* (sqrt (/ 2 inputs)) (randn (cons out window))))
(define (convolution in out) (list (weights out (* 9 in) in 3 3) (fill (list out) 0)))
(define (linear in out) (list (transpose (weights out in in)) (fill (list out) 0)))
(define (apply-linear x (list w b)) (+ (matmul x w) b))

; Each stage: so many convolutions of so many channels, then a pool.
(define stages '((64 2) (128 2) (256 3) (512 3) (512 3)))
(define (stage in out count) (if (= count 0) '() (cons (convolution in out) (stage out out (- count 1)))))
(define (network-of in stages)
  (if (null? stages) '() (cons (stage in (caar stages) (cadar stages)) (network-of (caar stages) (cdr stages)))))
(define (staged x layers) (max-pool (fold-left (lambda (x (list w b)) (ReLU (convolve-add-tied x w b 1 1))) x layers) 2))

(define of-image (* 512 (square (quotient pixels 32))))
(define parameters (list (network-of 3 stages) (linear of-image 4096) (linear 4096 4096) (linear 4096 1000)))
(define (network x (list stages one two three))
  (let* ((x (view (fold-left staged x stages) (list batch of-image)))
         (x (dropout (ReLU (apply-linear x one)) .5))
         (x (dropout (ReLU (apply-linear x two)) .5)))
    (apply-linear x three)))

(define images (randn (list batch 3 pixels pixels)))
(define labels (list->tensor (iota batch) 'i64))
(define (loss parameters) (cross-entropy-loss (network images parameters) labels))
(define (work) (*j loss parameters 1))
(define (loop i) (if (= i 0) 0 (begin (work) (loop (- i 1)))))
(write (loop n))
