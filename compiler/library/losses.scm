; Losses beside those that are operators (mean-squared-error, cross-entropy-loss and the two binary-cross-entropy), metrics, and what training
; loops look at. Losses are means, tensors without axes; metrics are numbers.

; Elements that are compared one by one: tensors of other sizes would be stretched, silently.
(define (%compared name a b)
  (if (if (tensor? a) (if (tensor? b) (not (equal? (size a) (size b))) #f) #f)
      (error (string-append name ": the two have different sizes:") (size a) (size b))))
; Of logits [n, classes] a class for each row.
(define (%checked-classes name logits classes)
  (if (> (length (size logits)) 2)
      (error (string-append name (format ": expected logits of two axes, rows and classes; for more axes write (view logits '(-1 ~a)) and (view indices '(-1)); the sizes are"
                                         (car (last-pair (size logits)))))
             (size logits) (if (tensor? classes) (size classes) classes)))
  (if (not (if (tensor? classes) (equal? (size classes) (list (car (size logits)))) #f))
      (error (string-append name ": expected a tensor with a class for each row of the logits, whose sizes are") (size logits) classes)))

(define (mean-absolute-error a b) (%compared "mean-absolute-error" a b) (mean (abs (- a b))))

; The mean over n of the cross entropy of logits [n, classes] at the indices [n], as cross-entropy-loss, with PyTorch's options as an association
; list: (ignore index) leaves rows of that class out, (weights w) weighs rows by their classes and divides by the sum of those weights,
; (smoothing s) gives all classes alike the part s of each row's probability.
(define (cross-entropy-loss-with options logits classes)
  (for-each (lambda (o)
              (if (not (if (pair? o) (if (memq (car o) '(ignore weights smoothing)) (pair? (cdr o)) #f) #f))
                  (error "cross-entropy-loss-with: expected options (ignore index), (weights tensor) or (smoothing part), got" o)))
            options)
  (let* ((option (lambda (name otherwise) (let ((found (assq name options))) (if found (cadr found) otherwise))))
         (checked (%checked-classes "cross-entropy-loss-with" logits classes))
         (ignored (option 'ignore #f))
         (kept (if ignored (not-equal classes ignored) #f))
         (classes (if ignored (where kept classes 0) classes))
         (weights (option 'weights #f))
         (weights (if (list? weights) (list->tensor weights (tensor-type logits) (tensor-residence logits)) weights))
         (weights (cond ((not weights) #f)
                        ((if (tensor? weights) (equal? (size weights) (cdr (size logits))) #f) (expand-tensor weights (size logits)))
                        (else (error "cross-entropy-loss-with: weights are a tensor or a list with a number for each class, got" weights))))
         (smoothing (option 'smoothing 0))
         (checked (if (if (number? smoothing) (if (>= smoothing 0) (<= smoothing 1) #f) #f)
                      #t
                      (error "cross-entropy-loss-with: smoothing is a number from 0 to 1, got" smoothing)))
         (logarithms (log-softmax logits 1))
         (of-class (lambda (t) (view (gather t (unsqueeze classes 1) 1) (size classes))))
         (sum-of-rows (lambda (rows) (sum (if ignored (where kept rows 0) rows))))
         (of-rows (if (tensor? weights) (of-class weights) #f))
         (hard (sum-of-rows (if (tensor? weights) (* of-rows (of-class logarithms)) (of-class logarithms))))
         (soft (if (= smoothing 0) 0 (sum-of-rows (sum (if (tensor? weights) (* weights logarithms) logarithms) 1))))
         (total (cond ((tensor? weights) (sum-of-rows of-rows)) (ignored (cast (sum kept) (tensor-type logits))) (else (car (size classes))))))
    (- (/ (+ (* (- 1 smoothing) hard) (* (/ smoothing (cadr (size logits))) soft)) total))))

; Half the square of a difference up to delta (1), and a line from there.
(define (huber-loss a b . delta)
  (%compared "huber-loss" a b)
  (let ((delta (if (null? delta) 1 (%only "huber-loss" delta))) (distance (abs (- a b))))
    (if (not (if (number? delta) (> delta 0) #f)) (error "huber-loss: where the line begins is a number above 0, got" delta))
    (let ((near (* .5 (square distance))) (far (* delta (- distance (* .5 delta)))) (is-near (< distance delta)))
      (mean (if (boolean? is-near) (if is-near near far) (where is-near near far))))))

; How far scores are from being at least 1 on the side of the target, which is 1 or -1.
(define (hinge-loss scores targets) (%compared "hinge-loss" scores targets) (mean (max 0 (- 1 (* scores targets)))))

; Of logits [n, classes] the mean over n of the divergence of softmax from the probabilities given, and of the entropy of both. No term comes
; from classes of probability 0.
(define (soft-cross-entropy-loss logits probabilities)
  (%compared "soft-cross-entropy-loss" logits probabilities)
  (/ (- (sum (* probabilities (where (= probabilities 0) 0 (log-softmax logits))))) (car (size logits))))
(define (kl-divergence logits probabilities)
  (%compared "kl-divergence" logits probabilities)
  (let* ((none (= probabilities 0)) (logarithms (log (where none 1 probabilities))))
    (/ (sum (* probabilities (- logarithms (where none 0 (log-softmax logits))))) (car (size logits)))))

; --- metrics

; The part of logits [n, classes] whose largest is at the index given.
(define (accuracy logits classes)
  (%checked-classes "accuracy" logits classes)
  (tensor->number (mean (cast (= (argmax logits 1) classes) 'f64))))

; How often each class (row) was taken for each (column).
(define (confusion-matrix logits classes)
  (let ((n (cadr (size logits))))
    (matmul (transpose (one-hot classes n)) (one-hot (argmax logits 1) n))))

; The part of them whose index is among those of the k largest.
(define (top-k-accuracy k logits classes)
  (%checked-classes "top-k-accuracy" logits classes)
  (let (((list values indices) (top-k logits k)))
    (/ (sumall (= indices (unsqueeze classes 1))) (exact->inexact (car (size logits))))))

; As many equally likely choices are as hard to guess among.
(define (perplexity logits classes) (exp (tensor->number (cross-entropy-loss logits classes))))

; The part of the variance of the targets that predictions explain.
(define (r-squared predictions targets)
  (%compared "r-squared" predictions targets)
  (- 1 (/ (sumall (square (- targets predictions))) (sumall (square (- targets (mean targets)))))))

; --- training loops

; The least loss so far and how many have come since: '() is the first record. Stop where (cdr record) is as large as patience. A NaN is no
; better than any number, and any number better than a NaN.
(define (record-loss record given)
  (let ((loss (tensor->number given)))
    (if (cond ((null? record) #t) ((= (car record) (car record)) (< loss (car record))) (else (= loss loss)))
        (cons loss 0)
        (cons (car record) (+ (cdr record) 1)))))

; The pair of value and gradient of the mean of (f p batch) over a list of batches, whose runs are on tape one at a time.
(define (batched-gradient f p batches)
  (let ((n (length batches)))
    (define (one batch) (checkpoint-*j (lambda (p) (f p batch)) p (/ 1 n)))
    (if (= n 0)
        (error "batched-gradient: there is no batch")
        (let %batched-gradient/loop ((sum (one (car batches))) (l (cdr batches)))
          (if (null? l)
              (cons (/ (car sum) n) (cdr sum))
              (let ((next (one (car l))))
                (%batched-gradient/loop (cons (+ (car sum) (car next)) (parameters-map2 + (cdr sum) (cdr next))) (cdr l))))))))
