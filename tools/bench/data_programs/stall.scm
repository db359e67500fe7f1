; Steps of training, in turn some that take each batch from a loader and some that take one batch again and again: what is trained, where the
; batches are from, the files, how many of either, width or channels of the network. Writes the seconds of a step with the same batch, of one
; with the loader's, and of the loader's call in it.
(import network)
(define arguments (command-line))
(define what (list-ref arguments 0))
(define place (list-ref arguments 1))
(define examples (list-ref arguments 2))
(define classes (cast (read-npy (list-ref arguments 3)) 'i64))
(define steps (string->number (list-ref arguments 4)))
(define width (string->number (list-ref arguments 5)))
(define seed (if (string=? place "in order") #f 1))

; Of a procedure nobody knows what it will read next.
(define (now source) (cons (car (cadddr source)) (lambda (indices) (read-rows source indices))))
(define (placed source)
  (cond ((string=? place "in memory") (read-rows source 0 (car (cadddr source)))) ((string=? place "shuffled, read now") (now source)) (else source)))

(define relu (function-layer ReLU))
(define convolutional
  (in-sequence (convolution-layer 3 width '(3 3) 2 1) relu (convolution-layer width (* 2 width) '(3 3) 2 1) relu
               (convolution-layer (* 2 width) (* 4 width) '(3 3) 2 1) relu (function-layer (lambda (x) (mean x '(2 3)))) (linear-layer (* 4 width) 10)))
; (batches new-parameters logits)
(define task
  (if (string=? what "perceptron")
      (list (loader-map (lambda (b) (cons (/ (view (car b) '(64 -1)) 255) (cdr b))) (loader (list (placed (npy-array examples)) classes) 64 seed))
            (lambda () (new-perceptron (list 784 width width 10)))
            (lambda (p x) (perceptron ReLU p x)))
      (list (loader-map (lambda (b) (cons (/ (channels-first (car b)) 255) (cdr b)))
                        (loader (list (placed (picture-array (build-list (car (size classes)) (lambda (i) (string-append examples (number->string i) ".png"))) 64 64))
                                      classes) 32 seed))
            (lambda () (layer-parameters convolutional))
            (lambda (p x) (car (layer-train convolutional p (layer-statistics convolutional) x))))))
(define batches (car task))
(define (loss p batch) (tensor->number (cross-entropy-loss ((caddr task) p (car batch)) (cadr batch))))
(define (step p state batch)
  (let (((list value p state) (checkpoint-*j-update! (lambda (p) (loss p batch)) p 1 (adam .001) state)))
    (cons p state)))

(define in-a-row 16) ; so that the thread has no longer than one step for a batch, but for the first
(define same (loader-batch batches 0))
(define (with-same p state n spent)
  (if (= (remainder n in-a-row) 0)
      (list p state spent)
      (let* ((begun (clock)) ((cons p state) (step p state same)))
        (with-same p state (+ n 1) (+ spent (- (clock) begun))))))
(define (with-loader p state n spent waited)
  (if (= (remainder n in-a-row) 0)
      (list p state spent waited)
      (let* ((begun (clock)) (batch (loader-batch batches n)) (there (clock)) ((cons p state) (step p state batch)))
        (with-loader p state (+ n 1) (+ spent (- (clock) begun)) (+ waited (- there begun))))))
(define counted (- in-a-row 1))
(define (rounds p state i of-same of-loader waited)
  (if (>= (* i in-a-row) steps)
      (for-each (lambda (t) (write (/ t (* i counted))) (newline)) (list of-same of-loader waited))
      (let* (((list p state same) (with-same p state (+ 1 (* i in-a-row)) 0))
             ((list p state loaded w) (with-loader p state (+ 1 (* i in-a-row)) 0 0)))
        (rounds p state (+ i 1) (+ of-same same) (+ of-loader loaded) (+ waited w)))))
(let (((list p state spent) (with-same ((cadr task)) 0 (- in-a-row 4) 0))) (rounds p state 0 0 0 0))
