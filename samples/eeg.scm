; Which of some classes does a stretch of EEG belong to? Four classifiers: EEGNet, a convolutional network along time, a perceptron and an LSTM.
;
;     vmrun samples/eeg.scm --model=eegnet                 or cnn, mlp, lstm
;     vmrun samples/eeg.scm --edf=FILE.edf --seconds=2     trials begin at the annotations of a recording, whose texts are the classes
;
; prints how many numbers the parameters are, the loss in the last epoch, and the part of the trials held out, a quarter, that is told apart. Without a recording trials are made: in noise, each class
; has a rhythm of its own in some of the channels, at any phase.
(import network)
(define option (command-line-options '((model "eegnet") (edf #f text) (seconds 1) (epochs 20) (batch 32) (rate .003) (channels 8) (trials 480))))

; --- trials [n, channels, samples] and their classes

(define pi (* 4 (atan 1)))
(define (made-trials n count)
  (let* ((each (list->tensor (map (lambda (i) (modulo i count)) (iota n)) 'i64))
         (rhythms (embedding (list->tensor '(6 10 15 22)) each))
         (places (embedding (randn (list count (option 'channels))) each))
         (turns (+ (* (view rhythms '(-1 1)) (* 2 pi (linspace 0 (/ 127 128) 128))) (* 2 pi (rand (list n 1)))))
         (signals (* .5 (unsqueeze places 2) (unsqueeze (sin turns) 1))))
    (list (+ signals (randn (size signals))) each count)))

; Signals of the first one's rate, less their means, by their deviations; a trial that the recording does not hold to its end is left out.
(define (recorded-trials path seconds)
  (let* ((recording (read-edf path))
         (part (lambda (name l) (cdr (assoc name l))))
         (signals (part "signals" recording)) (notes (part "annotations" recording))
         (rate (part "rate" (car signals)))
         (all (stack (map (lambda (signal) (part "samples" signal)) (filter (lambda (signal) (= (part "rate" signal) rate)) signals)) 0))
         (centred (- all (mean all 1 #t)))
         (measured (/ centred (+ 1e-6 (sqrt (mean (square centred) 1 #t)))))
         (n (round (* rate seconds)))
         (whole (filter (lambda ((list onset duration text)) (<= (+ (round (* rate onset)) n) (cadr (size measured)))) notes))
         ((cons names numbers) (text-classes (map caddr whole))))
    (list (stack (map (lambda ((list onset duration text)) (narrow-tensor measured 1 (round (* rate onset)) n)) whole) 0)
          numbers
          (length names))))

(define data (if (option 'edf) (recorded-trials (option 'edf) (option 'seconds)) (made-trials (option 'trials) 4)))
(define kinds (caddr data))
(define order (argsort (rand (list (car (size (car data)))))))
(define trials (embedding (car data) order))
(define classes (embedding (cadr data) order))
(define seen (- (car (size trials)) (quotient (car (size trials)) 4)))
(define held-out (- (car (size trials)) seen))
(define channels (cadr (size trials)))
(define samples (caddr (size trials)))

; --- classifiers of [batch, channels, samples]

(define elu (function-layer ELU))
(define (shaped f) (function-layer (lambda (x) (view x (f (car (size x)))))))
(define flat (shaped (lambda (n) (list n -1))))
(define (padded before behind) (function-layer (lambda (x) (pad x (list 0 0 0 before) (list 0 0 0 behind)))))
(define (averaged n) (function-layer (lambda (x) (average-pool x (list 1 n)))))

; Filters in time, each weighing the channels in two ways, then along time again, each filter by itself and all together.
(define (eegnet)
  (in-sequence (shaped (lambda (n) (list n 1 channels samples)))
               (padded 31 32) (plain-convolution-layer 1 8 '(1 64)) (batch-norm-layer 8)
               (plain-convolution-layer 8 16 (list channels 1) 1 0 1 8) (batch-norm-layer 16) elu (averaged 4) (dropout-layer .25)
               (padded 7 8) (plain-convolution-layer 16 16 '(1 16) 1 0 1 16) (plain-convolution-layer 16 16 '(1 1)) (batch-norm-layer 16) elu (averaged 8)
               (dropout-layer .25) flat (linear-layer (* 16 (quotient (quotient samples 4) 8)) kinds)))
(define (cnn)
  (define (stage in out) (in-sequence (plain-convolution-layer in out '(7) 2 3) (batch-norm-layer out) (function-layer ReLU)))
  (in-sequence (stage channels 32) (stage 32 32) (stage 32 64) (function-layer (lambda (x) (mean x 2))) (dropout-layer .25) (linear-layer 64 kinds)))
(define (mlp)
  (in-sequence flat (linear-layer (* channels samples) 64) (function-layer ReLU) (dropout-layer .5) (linear-layer 64 kinds)))
(define (recurrent)
  (in-sequence (layer-of (lambda () (new-lstm channels 32)) (lambda (p x) (caadr (unroll lstm p (permute x '(0 2 1)) 0)))) (linear-layer 32 kinds)))

(define network
  (let ((known (assoc (option 'model) (list (cons "eegnet" eegnet) (cons "cnn" cnn) (cons "mlp" mlp) (cons "lstm" recurrent)))))
    (if known ((cdr known)) (error "expected eegnet, cnn, mlp or lstm, got" (option 'model)))))

; --- training

(define batches
  (loader-keep-last (loader (list (narrow-tensor trials 0 0 seen) (narrow-tensor classes 0 0 seen)) (option 'batch) (random-integer 1000000000))))
(define ((loss-of (list trials classes) statistics) p)
  (let (((cons y statistics) (layer-train network p statistics trials)))
    (cons (tensor->number (cross-entropy-loss y classes)) statistics)))
(define (epoch i p statistics state)
  (let loop ((p p) (statistics statistics) (state state) (n (* i (loader-batches batches))) (total 0))
    (if (= n (* (+ i 1) (loader-batches batches)))
        (list p statistics state (/ total seen))
        (let* ((batch (loader-batch batches n))
               ((list (cons value statistics) p state)
                (checkpoint-*j-update! (loss-of batch statistics) p '(1 . 0) (adam (option 'rate)) state)))
          (loop p statistics state (+ n 1) (+ total (* (car (size (cadr batch))) value)))))))
(define (train i p statistics state)
  (let (((list p statistics state mean) (epoch i p statistics state)))
    (report 'step (+ i 1) 'of (option 'epochs) 'loss mean)
    (if (>= (+ i 1) (option 'epochs))
        (begin
          (write-real mean)
          (write-real (accuracy (layer-test network p statistics (narrow-tensor trials 0 seen held-out)) (narrow-tensor classes 0 seen held-out))))
        (train (+ i 1) p statistics state))))

(define (begin-with p) (write-real (parameters-count p)) (train 0 p (layer-statistics network) 0))
(begin-with (layer-parameters network))
