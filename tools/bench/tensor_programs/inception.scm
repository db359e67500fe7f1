; Blocks of four branches on random images, forward and back by all parameters, n times: 1x1; 1x1 and 3x3; 1x1 and 5x5; a pool and 1x1.
; Their results stand behind each other as the channels of the next. Arguments: n, batch, size of the images, channels of a branch, blocks.
(define arguments (map string->number (command-line)))
(define n (car arguments))
(define batch (cadr arguments))
(define pixels (caddr arguments))
(define channels (cadddr arguments))
(define blocks (list-ref arguments 4))
(define all (* 4 channels))

(define (unit in out k)
  (list (* (sqrt (/ 2 (* in k k))) (randn (list out in k k))) (fill (list out) 1) (fill (list out) 0)))
(define (applied x (list w scale shift))
  (ReLU (car (batch-normalization-training (convolve x w 1 (quotient (list-ref (size w) 2) 2)) scale shift))))

(define half (quotient channels 2))
(define (block)
  (list (unit all channels 1)
        (list (unit all channels 1) (unit channels channels 3))
        (list (unit all half 1) (unit half channels 5))
        (unit all channels 1)))
(define (branched x (list one three five pooled))
  (concat-tensors
   (list (applied x one) (fold-left applied x three) (fold-left applied x five) (applied (max-pool x 3 1 1) pooled))
   1))

(define parameters
  (list (* .2 (randn (list all 3 3 3))) (build-list blocks (lambda (i) (block))) (* .01 (randn (list all 10)))))
(define images (randn (list batch 3 pixels pixels)))
(define labels (list->tensor (iota batch) 'i64))
(define (loss (list stem blocks last))
  (let ((x (fold-left branched (convolve images stem 1 1) blocks)))
    (cross-entropy-loss (matmul (view (adaptive-average-pool x 1) (list batch all)) last) labels)))
(define (work) (*j loss parameters 1))
(define (loop i) (if (= i 0) 0 (begin (work) (loop (- i 1)))))
(write (loop n))
