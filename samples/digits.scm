; Handwritten digits: a small convolutional network learns to read images of 8 x 8 points (samples/data/README.md says whose).
;
;     vmrun samples/digits.scm --epochs=10
;
; prints the mean loss of each epoch, then the part of 359 images that it has not seen in training which it reads rightly: more than .97. --save=FILE writes
; the parameters as safetensors, --load=FILE begins with those (--epochs=0 only tests), --pictures=FOLDER draws what it has learnt, --data=FILE is where the images are.
; It reports losses and the accuracy: vmrun's --metrics, --events and --report write them down.
; Another --seed of vmrun's draws other parameters and batches; the images held out stay the same.
(import network)

(define option (command-line-options '((epochs 10) (batch 32) (save #f) (load #f) (pictures #f) (data "samples/data/digits.npy"))))

; Which images are held out is a matter of these numbers, whose order is that of a generator by Lehmer.
(define (numbers n x) (if (= n 0) '() (cons x (numbers (- n 1) (modulo (* 16807 x) 2147483647)))))
(define rows (read-npy (option 'data)))
(define mixed (embedding rows (argsort (list->tensor (numbers (car (size rows)) 2026) 'f64))))
(define images (view (/ (cast (narrow-tensor mixed 1 0 64) 'f32) 16) '(-1 1 8 8)))
(define classes (cast (squeeze (narrow-tensor mixed 1 64 1) 1) 'i64))
(define held-out 359)
(define seen (- (car (size rows)) held-out))
(define (test-part t) (narrow-tensor t 0 seen held-out))

(define reader
  (in-sequence (convolution-layer 1 16 '(3 3) 1 1) (function-layer ReLU) (convolution-layer 16 32 '(3 3) 1 1) (function-layer ReLU)
               (function-layer (lambda (x) (max-pool x 2))) (dropout-layer .25) (function-layer (lambda (x) (view x '(-1 512))))
               (linear-layer 512 64) (function-layer ReLU) (dropout-layer .25) (linear-layer 64 10)))
(define none (layer-statistics reader))
(define (logits p) (layer-test reader p none (test-part images)))

; A batch: images, and which digits they are.
(define ((loss-of batch) p)
  (tensor->number (cross-entropy-loss (car (layer-train reader p none (embedding images batch))) (embedding classes batch))))

(define (epoch p state rule)
  (let ((order (argsort (rand (list seen)))))
    (let loop ((p p) (state state) (at 0) (total 0))
      (if (>= at seen)
          (list p state (/ total seen))
          (let* ((n (min (option 'batch) (- seen at)))
                 ((list value p state) (checkpoint-*j-update! (loss-of (narrow-tensor order 0 at n)) p 1 rule state)))
            (report 'loss value)
            (loop p state (+ at n) (+ total (* n value))))))))

(define rate (cosine-rate .003 (option 'epochs)))
(define (train p state i losses) ; (epoch loss), the last first
  (if (= i (option 'epochs))
      (finish p (reverse losses))
      (let* (((list p state mean) (epoch p state (adam (rate i)))) (losses (cons (list (+ i 1) (write-real mean)) losses)))
        (report 'step (+ i 1) 'of (option 'epochs) 'epoch-loss mean 'rate (rate i))
        (train p state (+ i 1) losses))))

(define (draw p losses)
  (plot-lines (string-append (option 'pictures) "/digits-loss.svg")
              '((title "Handwritten digits: training") (x "epoch") (y "mean cross entropy") (log-y #t)) (list->tensor losses))
  (plot-heat-map (string-append (option 'pictures) "/digits-confusion.svg")
                 '((title "What is read in the digits held out") (x "read as") (y "written") (width 520) (height 460))
                 (confusion-matrix (logits p) (test-part classes))))

(define (finish p losses)
  (if (option 'save) (save-parameters (option 'save) p))
  (report 'accuracy (write-real (accuracy (logits p) (test-part classes))))
  (if (option 'pictures) (draw p losses)))

(train (let ((p (layer-parameters reader))) (if (option 'load) (load-parameters (option 'load) p) p)) 0 0 '())
