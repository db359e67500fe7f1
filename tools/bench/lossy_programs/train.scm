; Small forms of AlexNet, VGG-16 and ResNet-18 learn to read the digits of samples/data, drawn to 32 x 32 points, by steps with a momentum.
;   vmrun [--seed=N] [--lossy=adaptive] train.scm NETWORK WIDTH EPOCHS RATE SHARE EVERY MEASURES
; SHARE of the momentum's mean magnitude is the deviation that errors may give to gradients, in all steps if it is not 0, renewed every so many. It prints the part of
; 359 images held out that is read rightly. With MEASURES above 0 it then allows an error of .01 of the momentum for one batch, and says for the weights of each convolution
; the deviation foreseen, the one found, and the same of single channels of its result: the least and the largest ratio. Each is over so many batches, with the bounds of the first.
(import network)

(define arguments (command-line))
(define network-name (car arguments))
(define numbers (map string->number (cdr arguments)))
(define-values (width epochs rate share every measures) (apply values numbers))

; --- networks

(define relu (function-layer ReLU))
(define pool (function-layer (lambda (x) (max-pool x 2))))
(define flat (function-layer (lambda (x) (view x (list (car (size x)) -1)))))
(define (convolved in out window stride) (in-sequence (convolution-layer in out (list window window) stride (quotient window 2)) relu))

(define (alexnet w)
  (in-sequence (convolved 1 w 5 1) pool (convolved w (* 3 w) 5 1) pool (convolved (* 3 w) (* 6 w) 3 1) (convolved (* 6 w) (* 4 w) 3 1) (convolved (* 4 w) (* 4 w) 3 1) pool flat
               (dropout-layer .5) (linear-layer (* 64 w) 128) relu (dropout-layer .5) (linear-layer 128 10)))

(define (vgg w)
  (define (stage in out count) (if (= count 0) (list pool) (cons (convolved in out 3 1) (stage out out (- count 1)))))
  (apply in-sequence
         (append (stage 1 w 2) (stage w (* 2 w) 2) (stage (* 2 w) (* 4 w) 3) (stage (* 4 w) (* 8 w) 3) (stage (* 8 w) (* 8 w) 3)
                 (list flat (dropout-layer .5) (linear-layer (* 8 w) 64) relu (dropout-layer .5) (linear-layer 64 10)))))

(define (resnet w)
  (define (unit f in out window stride)
    (in-sequence (plain-convolution-layer in out (list window window) stride (quotient window 2)) (batch-norm-layer out) (function-layer f)))
  (define (same x) x)
  (define (block in out stride)
    (let ((layer (in-sequence (unit ReLU in out 3 stride) (unit same out out 3 1))))
      (in-sequence (if (if (= stride 1) (= in out) #f) (residual-layer layer) (residual-layer layer (unit same in out 1 stride))) relu)))
  (define (stage in out stride) (in-sequence (block in out stride) (block out out 1)))
  (in-sequence (unit ReLU 1 w 3 1) (stage w w 1) (stage w (* 2 w) 2) (stage (* 2 w) (* 4 w) 2) (stage (* 4 w) (* 8 w) 2)
               (function-layer (lambda (x) (mean x '(2 3)))) (linear-layer (* 8 w) 10)))

(define network
  ((cdr (assoc network-name (list (cons "alexnet" alexnet) (cons "vgg" vgg) (cons "resnet" resnet)))) width))

; --- images: the file has a row for each, its points and which digit it is

(define data (read-npy "samples/data/digits.npy"))
(define held-out 359)
(define seen (- (car (size data)) held-out))
(define order (shuffled-indices (car (size data)) 2026 0))
(define (images rows) (interpolate-to-size (view (/ (cast (narrow-tensor rows 1 0 64) 'f32) 16) '(-1 1 8 8)) '(32 32) 'bilinear))
(define (classes rows) (cast (squeeze (narrow-tensor rows 1 64 1) 1) 'i64))
(define unseen (embedding data (narrow-tensor order 0 seen held-out)))
(define batches (loader (subset data (narrow-tensor order 0 0 seen)) 32 (random-integer 1000000000)))
(define steps (* epochs (loader-batches batches)))

; --- training

; The statistics of batch-norm that a step leaves are computed beside its gradient, which gives a number alone.
(define ((loss-of rows statistics) p) (tensor->number (cross-entropy-loss (car (layer-train network p statistics (images rows))) (classes rows))))
(define (statistics-behind p statistics rows) (if (equal? network-name "resnet") (cdr (layer-train network p statistics (images rows))) statistics))

(define rates (cosine-rate rate (max 1 steps)))
(define (train p state statistics policy n)
  (if (= n steps)
      (list p state statistics)
      (let* ((rows (loader-batch batches n))
             (policy (if policy (renew-policy policy (loss-of rows statistics) p state) policy))
             (behind (statistics-behind p statistics rows))
             ((list value p state) (*j-update (loss-of rows statistics) (if policy (allow-error p policy) p) 1 (momentum (rates n)) state)))
        (train p state behind policy (+ n 1)))))

(define (read-rightly p statistics)
  (accuracy (concat-tensors (map (lambda (i) (layer-test network p statistics (images (narrow-tensor unseen 0 (car i) (cdr i))))) (list (cons 0 180) (cons 180 179))) 0)
            (classes unseen)))

; --- deviations

; Without dropout, which draws anew each time.
(define ((measured-loss rows statistics) p)
  (let ((x (images rows)))
    (tensor->number (cross-entropy-loss (if (equal? network-name "resnet") (car (layer-train network p statistics x)) (layer-test network p statistics x)) (classes rows)))))

(define (live-mean t) (let ((t (cast t 'f64))) (/ (sumall t) (max 1 (sumall (< (* 1e-7 (max-value t)) t))))))
(define (channels t) (map (lambda (i) (narrow-tensor t 0 i 1)) (iota (car (size t)))))
(define (convolution? w) (if (tensor? w) (= (length (size w)) 4) #f))

; Of each weights of a convolution the list of variances foreseen and squares found, over all and by channel of the result.
(define (measure-batch p statistics bounds rows)
  (let* ((f (measured-loss rows statistics))
         (variances (parameters->list (error-variances f p)))
         (exact (parameters->list (with-lossy-tape "none" (lambda () (cdr (*j f p 1))))))
         (lossy (parameters->list (cdr (*j f (allow-error p bounds) 1)))))
    (apply append
           (map (lambda (w bound v a b)
                  (if (if (convolution? w) (> bound 0) #f)
                      (let ((foreseen (* (/ (* bound bound) 3) (cast v 'f64))) (found (square (cast (- b a) 'f64))))
                        (list (list (size w) bound (cons (sumall foreseen) (sumall found))
                                    (map (lambda (x y) (cons (sumall x) (sumall y))) (channels foreseen) (channels found)) (live-mean foreseen))))
                      '()))
                (parameters->list p) (parameters->list bounds) variances exact lossy))))
(define (add-pairs a b) (cons (+ (car a) (car b)) (+ (cdr a) (cdr b))))
(define (add-layers a b)
  (list (car a) (cadr a) (add-pairs (caddr a) (caddr b)) (map add-pairs (cadddr a) (cadddr b)) (list-ref a 4)))
(define (ratio pair) (sqrt (/ (cdr pair) (max 1e-300 (car pair)))))
(define (say-layer (list sizes bound both by-channel mean))
  (let ((ratios (map ratio (filter (lambda (pair) (> (car pair) (* 1e-7 (car both)))) by-channel))))
    (write (list sizes bound (sqrt mean) (ratio both) (length ratios) (apply min ratios) (apply max ratios)))
    (newline)))

(define (measure p state statistics)
  (let* ((next (lambda (i) (loader-batch batches (+ steps i))))
         (bounds (list-ref (renew-policy (adaptive-policy .01 1) (measured-loss (next 0) statistics) p state) 4))
         (bounds (if (number? bounds) (parameters-map (lambda (leaf) 0) p) bounds)))
    (let loop ((i 1) (sums (measure-batch p statistics bounds (next 0))))
      (if (< i measures)
          (loop (+ i 1) (map add-layers sums (measure-batch p statistics bounds (next i))))
          (for-each say-layer sums)))))

(let* (((list p state statistics) (train (layer-parameters network) 0 (layer-statistics network) (if (> share 0) (adaptive-policy share every) #f) 0)))
  (write (read-rightly p statistics))
  (newline)
  (if (> measures 0) (measure p state statistics)))
