; Structures of parameters and what they are drawn from.
(import network)
(define (show x) (write x) (newline))
(define p (list (list->tensor '((1 2) (3 4)) 'f64) 5. (vector 'a (list->tensor '(6) 'f64))))
(define (same? a b) (equal? (parameters->list a) (parameters->list b)))
;;; case structures
(define twice (parameters-map (lambda (x) (* 2 x)) p))
(show (same? (parameters-map2 + p p) twice))                                   ; expect: #t
(show (vector-ref (caddr (parameters-map2 + p p)) 0))                          ; expect: a
(show (same? (parameters-map2 - p 0) p))                                       ; expect: #t
(show (same? (parameters-map2 + 0 p) p))                                       ; expect: #t
(show (parameters->list (parameters-map2 * p '(0 2 0)))) ; expect: (#<tensor f64 (2 2)
; expect: [[0.0 0.0]
; expect:  [0.0 0.0]]> 10.0 #<tensor f64 (1) [0.0]>)
(show (same? (list->parameters (parameters->list twice) p) twice))             ; expect: #t
(show (parameters->tensor p))                                                  ; expect: #<tensor f64 (6) [1.0 2.0 3.0 4.0 5.0 6.0]>
(show (equal? (tensor->parameters (parameters->tensor twice) p) twice))        ; expect: #t
(show (tensor-type (car (tensor->parameters (ones '(3)) (list (ones '(3) 'f64)))))) ; expect: f64
(show (parameters->tensor (parameters-like p 7)))                              ; expect: #<tensor f64 (6) [7.0 7.0 7.0 7.0 7.0 7.0]>
;;; case average
; The weights of torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn(.75), which begins with the first parameters, behind 1, 2, 4 and 8:
; 1, 1.25, 1.9375, 3.453125. With n / (n + 1) it is the mean.
(define (averages decay) (fold-left (lambda (mean x i) (parameters-average mean (list x) (decay i))) (list 1.) '(2. 4. 8.) '(1 2 3)))
(show (averages (lambda (i) .75)))                                             ; expect: (3.453125)
(show (averages (lambda (i) (/ i (+ i 1)))))                                   ; expect: (3.75)
;;; case derivatives
(define (loss v) (let ((p (tensor->parameters v p))) (+ (* (cadr p) (sumall (square (car p)))) (sumall (vector-ref (caddr p) 1)))))
(show (gradient loss (parameters->tensor p)))                                  ; expect: #<tensor f64 (6) [10.0 20.0 30.0 40.0 30.0  1.0]>
(define (both a) (apply + (map (lambda (x) (if (tensor? x) (sumall x) x)) (parameters->list (parameters-map2 * a a)))))
(show (same? (gradient both p) (parameters-map (lambda (x) (* 2 x)) p)))       ; expect: #t
;;; case initialisers
(define (orthonormal? q) (< (max-value (abs (- (matmul (transpose q) q) (eye (cadr (size q)))))) 1e-14))
(show (orthonormal? (orthogonal 7 4 'f64)))                                    ; expect: #t
(show (orthonormal? (orthogonal 40 40 'f64)))                                  ; expect: #t
(show (orthonormal? (transpose (orthogonal 3 8 'f64))))                        ; expect: #t
(show (tensor-type (orthogonal 2 2)))                                          ; expect: f32
(define t (truncated-normal '(20000) 3 2 'f64))
(show (<= (max-value (abs (- t 3))) 4.))                                       ; expect: #t
; The deviation of what is left of a normal distribution within two of its own is .8796.
(show (< (abs (- (/ (sqrt (tensor->number (variance t))) 2) .8796)) .02))      ; expect: #t
(show (< (abs (- (tensor->number (mean t)) 3)) .05))                           ; expect: #t
; PyTorch's fans of [64, 8, 3, 3] are 72 and 576: kaiming_normal_ has a variance of 2 / 72, xavier_uniform_ one of 2 / 648.
(show (< (abs (- (* 36 (tensor->number (variance (he-convolution '(64 8 3 3) 'f64)))) 1)) .1))       ; expect: #t
(show (< (abs (- (* 324 (tensor->number (variance (glorot-convolution '(64 8 3 3) 'f64)))) 1)) .1))  ; expect: #t
(show (<= (max-value (abs (glorot-convolution '(64 8 3 3) 'f64))) (sqrt (/ 6 648))))                 ; expect: #t
;;; case mistakes-alike
(parameters-map2 + p (list 1 2))
; expect error: parameters-map2: expected two structures alike, got parts
;;; case mistakes-few
(list->parameters '(1) '(1 2))
; expect error: list->parameters: there are fewer leaves than the structure has
;;; case mistakes-many
(list->parameters '(1 2 3) '(1 2))
; expect error: list->parameters: so many leaves are left over: 1
;;; case mistakes-vector
(tensor->parameters (zeros '(4)) '(1 2 3))
; expect error: tensor->parameters: expected a vector with as many numbers as the structure
;;; case mistakes-window
(he-convolution '(4))
; expect error: he-convolution: expected sizes \(outputs inputs window ...\), got \(4\)
;;; case mistakes-perceptron
(new-perceptron '())
; expect error: new-perceptron: expected the sizes of input, layers and output, two at least, got \(\)
;;; case mistakes-no-layer
(perceptron tanh '() (zeros '(1 2)))
; expect error: perceptron: expected a list of layers, as \(new-perceptron sizes\) draws them
;;; case mistakes-eye
(eye -1)
; expect error: eye: expected a count, got -1
;;; case mistakes-unsqueeze
(unsqueeze (zeros '(2)) 1.5)
; expect error: unsqueeze: there is no such axis; axis and number of axes are 1.5 2
;;; case dictionaries
; The leaves of a dictionary are its values, in the order of its keys, whatever the order in which they came. Keys that are numbers are none.
(define d (dict 'w (list->tensor '(1 1) 'f64) 'b .5 3 1. "d" 2. 2.5 3.))
(define (loss d) (+ (* (dict-ref d 3) (square (dict-ref d 'b))) (sumall (square (dict-ref d 'w)))))
(define (equal-dictionaries? a b)
  (and (equal? (dict-keys a) (dict-keys b)) (= (dict-size a) (dict-size b)) (same? (dict-values a) (dict-values b))))
(show (list (parameters-count d) (dict-keys d)))                               ; expect: (6 (2.5 3 "d" b w))
(show (parameters->tensor (dict 'a 1. 'b 2. 'c 3.)))                           ; expect: #<tensor f64 (3) [1.0 2.0 3.0]>
(show (parameters->tensor (dict 'c 3. 'b 2. 'a 1.)))                           ; expect: #<tensor f64 (3) [1.0 2.0 3.0]>
(show (equal-dictionaries? (parameters-map (lambda (x) (* 2 x)) d) (dict-map (lambda (k v) (* 2 v)) d))) ; expect: #t
(show (equal-dictionaries? (parameters-map2 + d d) (dict-map (lambda (k v) (* 2 v)) d)))                 ; expect: #t
(define other (dict "d" 2. 'b .5 2.5 3. 3 1. 'w (list->tensor '(1 1) 'f64))) ; another tree
(show (equal-dictionaries? (parameters-map2 + d other) (parameters-map2 + d d))) ; expect: #t
(define (said thunk) (call-with-error-handler list thunk))
(show (said (lambda () (parameters-map2 + (dict 'a 1.) (dict 'b 1.)))))        ; expect: ("parameters-map2: expected dictionaries with the same keys, got those with" ((a) (b)))
(show (said (lambda () (parameters-map2 + (dict 'a 1.) (dict 'a 1. 'b 1.)))))  ; expect: ("parameters-map2: expected dictionaries with the same keys, got those with" ((a) (a b)))
(show (equal-dictionaries? (tensor->parameters (parameters->tensor d) d) d))   ; expect: #t
(define g (dict 'w (list->tensor '(2 2) 'f64) 'b 1. 3 .25 "d" 0 2.5 0))
(show (map (lambda (g2) (equal-dictionaries? g2 g)) (list (cdr (*j loss d 1)) (gradient loss d) (gradient (lambda (d) (loss (dict-set d 'e 1.))) d)))) ; expect: (#t #t #t)
(show (cdr (j* loss d g)))                                                     ; expect: 9.0625
(if (not (check-gradient loss d)) (error "check-gradient does not agree")) ; expect: check-gradient: 6 of 6 derivatives agree with differences, largest error 1.4802969960925338e-10
(define (train update d state n) (if (= n 0) (list d state) (let (((list v d state) (update loss d 1 (adamw .1 .1) state))) (train update d state (- n 1)))))
(define (trained update) (train update (dict-map (lambda (k v) (+ v 0)) d) 0 5))
(define one (trained *j-update))
(show (list (dict-keys (car one)) (dict-size (car one))))                      ; expect: ((2.5 3 "d" b w) 5)
(show (list (dict-keys (cadr one)) (cddr (dict-ref (cadr one) 'b))))           ; expect: ((2.5 3 "d" b w) 5)
(show (map (lambda (update) (equal? (trained update) one)) (list checkpoint-*j-update *j-update! checkpoint-*j-update!))) ; expect: (#t #t #t)
; A derivative of an update: all cotangents together give the same dictionaries.
(define (later rate) (let (((list v d state) (*j-update loss d 1 (momentum rate) 0))) (+ (loss d) (dict-ref state 'b))))
(show (let ((h 1e-5)) (< (abs (- (gradient later .1) (/ (- (later (+ .1 h)) (later (- .1 h))) (* 2 h)))) 1e-6))) ; expect: #t
