; The optimisers of the library against PyTorch 2.15: ten steps at a rate of .1 on x^2 + y^2 / 2 + 2 z^2 in f64 from (1 -2 3), by torch.optim with its
; defaults (momentum .9). Here x and y are a tensor and z is a number. Lion, which torch does not have, moves by exactly the rate.
(import network)
(define (loss (cons t n)) (+ (sumall (* (list->tensor '(1 .5) 'f64) (* t t))) (* 2 n n)))
(define (train update rule p state steps)
  (if (= steps 0)
      (append (tensor->list (car p)) (list (cdr p)))
      (let ((r (update loss p 1 rule state)))
        (train update rule (cadr r) (caddr r) (- steps 1)))))
(define (check name rule expected)
  (define (near? update)
    (let ((got (train update rule (cons (list->tensor '(1 -2) 'f64) 3.) 0 10)))
      (apply max (map (lambda (a b) (abs (- a b))) got expected))))
  (write (cons name (map (lambda (update) (< (near? update) 1e-14)) (list *j-update *j-update! checkpoint-*j-update checkpoint-*j-update!))))
  (newline))
(check 'sgd (sgd .1) '(0.1073741824 -0.6973568802000001 0.01813985279999999)) ; expect: (sgd #t #t #t #t)
(check 'momentum (momentum .1) '(0.004399870600000115 1.1775787776 1.5500362499999993)) ; expect: (momentum #t #t #t #t)
(check 'nesterov (nesterov .1) '(0.05136073566290187 0.6931563432914541 0.06667253967289445)) ; expect: (nesterov #t #t #t #t)
(check 'adagrad (adagrad .1) '(0.5537312003652513 -1.5239794475222779 2.5148772145258924)) ; expect: (adagrad #t #t #t #t)
(check 'rmsprop (rmsprop .1) '(-4.152503438071592e-23 -0.005264079719802977 0.14650168773387157)) ; expect: (rmsprop #t #t #t #t)
(check 'adam (adam .1) '(0.07624915560691209 -1.0245868404728573 2.0141884087452095)) ; expect: (adam #t #t #t #t)
(check 'adamw (adamw .1) '(0.07169549708798648 -1.0097272775024504 1.9892801119035104)) ; expect: (adamw #t #t #t #t)
(check 'epsilon (adam .1 .9 .999 1e-3) '(0.07675012732962444 -1.0251160158073087 2.0142755741088134)) ; expect: (epsilon #t #t #t #t)
(check 'large-epsilon (adam .1 .9 .999 2) '(0.5390267171393774 -1.5188091599012958 2.1609256271668533)) ; expect: (large-epsilon #t #t #t #t)
(check 'no-epsilon (adam .1 .9 .999 0) '(0.0762491505940694 -1.0245868351778613 2.0141884078734633)) ; expect: (no-epsilon #t #t #t #t)
(check 'adamw-epsilon (adamw .1 .01 .9 .999 .01) '(0.07665166503517555 -1.0149735856834257 1.9901485109071113)) ; expect: (adamw-epsilon #t #t #t #t)
(check 'lion (lion .1) '(0. -1. 2.)) ; expect: (lion #t #t #t #t)
(define (show x) (write x) (newline))
(show ((clip-by-value 1 (sgd 1)) 0. 5. 0))                                          ; expect: (-1.0 . 0)
(show ((clip-by-leaf-norm 1 (sgd 1)) (zeros '(2)) (list->tensor '(3 4)) 0))         ; expect: (#<tensor f32 (2) [-0.6 -0.8]> . 0)
(show ((clip-by-leaf-norm 1 (sgd 1)) 0. -3. 0))                                     ; expect: (1.0 . 0)
(show (map (step-rate 1. .5 2) '(0 1 2 5)))                                         ; expect: (1.0 1.0 0.5 0.25)
(show (map (cosine-rate 1. 4) '(0 2 4 9)))                                          ; expect: (1.0 0.5 0.0 0.0)
(show (map (warm-up 4 (step-rate 1. .5 2)) '(0 1 3 4 6)))                           ; expect: (0.25 0.5 1.0 1.0 0.5)
; Numbers whose squares are none of their type.
(show ((clip-by-leaf-norm 1 (sgd .1)) (list->tensor '(1.)) (list->tensor '(1e30)) 0)) ; expect: (#<tensor f32 (1) [0.9]> . 0)
(show (parameters-norm (list 3e30 (list->tensor '(0 4e30) 'f64) 'a '(0))))          ; expect: 5e+30
(show (map parameters-norm (list '() 0 -2 (vector 3. (zeros '(2 0)) 4) (list 1. +inf.0)))) ; expect: (0 0.0 2.0 5.0 +inf.0)
(show (let ((n (parameters-norm (list 1. +nan.0)))) (= n n)))                       ; expect: #f
(show (clip-by-norm 2 (list 3. (list->tensor '(4)))))                               ; expect: (1.2000000000000002 #<tensor f32 (1) [1.6]>)
(show (clip-by-norm 5 (list 3. 'a 4.)))                                             ; expect: (3.0 a 4.0)
; Norms that f32 has no number for, and ratios that it has none for.
(show (clip-by-norm 3e38 (list (fill '(4) 3e38))))                                  ; expect: (#<tensor f32 (4) [1.5e+38 1.5e+38 1.5e+38 1.5e+38]>)
(show (clip-by-norm 3e38 (list (fill '(4) 1e38) 1.)))                               ; expect: (#<tensor f32 (4) [1e+38 1e+38 1e+38 1e+38]> 1.0)
(show (clip-by-norm 1 (list (fill '(4) 3e38))))                                     ; expect: (#<tensor f32 (4) [0.5 0.5 0.5 0.5]>)
(show (clip-by-norm 1 (list (fill '(4) 3e38 'bf16))))                               ; expect: (#<tensor bf16 (4) [0.5 0.5 0.5 0.5]>)
(show (clip-by-norm 3e38 (list 1e308 (fill '(3) 1e308 'f64) 'a)))                   ; expect: (0.0 #<tensor f64 (3) [0.0 0.0 0.0]> a)
(show (clip-by-norm 0 (list 3. (fill '(2) 4.))))                                    ; expect: (0.0 #<tensor f32 (2) [0.0 0.0]>)
(show (clip-by-norm +inf.0 (list 3. (fill '(2) 3e38))))                             ; expect: (3.0 #<tensor f32 (2) [3e+38 3e+38]>)
(show ((clip-by-leaf-norm 1 (sgd 1)) (zeros '(4)) (fill '(4) 3e38) 0))              ; expect: (#<tensor f32 (4) [-0.5 -0.5 -0.5 -0.5]> . 0)
(show (gradient parameters-norm (list 0. (list->tensor '(4 0) 'f64))))              ; expect: (0.0 #<tensor f64 (2) [1.0 0.0]>)
; Rules on gradients that are there already, clipped by the norm of the whole as torch.nn.utils.clip_grad_norm_ does to a norm of 3.
(define (norm-of p) (sqrt (parameters-fold (lambda (sum leaf) (+ sum (sumall (square leaf)))) 0 p)))
(define (clipped p most) (let ((scale (/ most (+ (norm-of p) 1e-6)))) (if (< scale 1) (parameters-map (lambda (leaf) (* scale leaf)) p) p)))
(define ((by-norm gradient) f p c rule state) (let (((cons y g) (gradient f p c))) (cons y (apply-rule rule p (clipped g 3) state))))
(define (check-clipped rule expected)
  (show (map (lambda (gradient)
               (let ((got (train (by-norm gradient) rule (cons (list->tensor '(1 -2) 'f64) 3.) 0 10)))
                 (< (apply max (map (lambda (a b) (abs (- a b))) got expected)) 1e-14)))
             (list *j checkpoint-*j))))
(check-clipped (adam .1) '(0.0563202968031912 -1.007533628838265 1.9993284167509904)) ; expect: (#t #t)
(check-clipped (sgd .1) '(0.33573357204606563 -1.1810445142630661 0.2813281320439841)) ; expect: (#t #t)
(show (apply-rule (sgd .5) (list 1 'a 2.) (list 1. 'a 0) '()))                      ; expect: ((0.5 a 2.0) ())
; The first state written out is the one that 0 stands for.
(define start (cons (list->tensor '(1 -2) 'f64) 3.))
(for-each (lambda (rule)
            (let ((state (rule-state rule start)))
              (show (equal? (train *j-update rule start state 3) (train *j-update rule start 0 3)))))
          (list (sgd .1) (momentum .1) (nesterov .1) (adagrad .1) (rmsprop .1) (adam .1) (adamw .1) (lion .1)))
; expect: #t
; expect: #t
; expect: #t
; expect: #t
; expect: #t
; expect: #t
; expect: #t
; expect: #t
(show (dict->list (rule-state (adam .1) (dict 'b 2. 'w (zeros '(1))))))
; expect: ((b 0 0 . 0) (w #<tensor f32 (1) [0.0]> #<tensor f32 (1) [0.0]> . 0))
(define (said thunk) (call-with-error-handler (lambda (message irritants) message) thunk))
(for-each (lambda (make) (show (said (lambda () (make 'a)))))
          (list sgd momentum nesterov adagrad rmsprop adam adamw lion))
; expect: "sgd: expected a number as the rate, got"
; expect: "momentum: expected a number as the rate, got"
; expect: "nesterov: expected a number as the rate, got"
; expect: "adagrad: expected a number as the rate, got"
; expect: "rmsprop: expected a number as the rate, got"
; expect: "adam: expected a number as the rate, got"
; expect: "adamw: expected a number as the rate, got"
; expect: "lion: expected a number as the rate, got"
(define changing (cosine-rate .1 10))
(show (said (lambda () (adamw changing))))
; expect: "adamw: expected a number as the rate, got a procedure; where the rate changes, each step makes its own rule, such as (adamw ((cosine-rate .1 400) step))"
(show (said (lambda () (sgd "x"))))
; expect: "sgd: expected a number as the rate, got"
(show (map (lambda (update) (said (lambda () (update loss start 1 .1 0)))) (list *j-update *j-update! checkpoint-*j-update checkpoint-*j-update!)))
; expect: ("*j-update: expected a rule, such as (sgd .1), got" "*j-update!: expected a rule, such as (sgd .1), got" "checkpoint-*j-update: expected a rule, such as (sgd .1), got" "checkpoint-*j-update!: expected a rule, such as (sgd .1), got")
(show (said (lambda () (apply-rule .1 start start 0))))
; expect: "apply-rule: expected a rule, such as (sgd .1), got"
(show (said (lambda () (clip-by-value 1 .1))))
; expect: "clip-by-value: expected a rule, such as (sgd .1), got"
(show (said (lambda () (clip-by-leaf-norm 1 .1))))
; expect: "clip-by-leaf-norm: expected a rule, such as (sgd .1), got"
(show (said (lambda () (warm-up 10 .1))))
; expect: "warm-up: expected a procedure from the number of a step to a rate, such as (cosine-rate .1 400) or (lambda (step) .1), got"
; Every setting is looked at where the rule is made, and the message says which it is.
(for-each (lambda (make) (show (call-with-error-handler cons make)))
          (list (lambda () (momentum .1 'x)) (lambda () (nesterov .1 "x")) (lambda () (rmsprop .1 '())) (lambda () (lion .1 #t)) (lambda () (adamw .1 'x))
                (lambda () (adam .1 'x)) (lambda () (adam .1 .9 'x)) (lambda () (adam .1 .9 .999 'x)) (lambda () (adamw .1 0 .9 .999 'x))
                (lambda () (clip-by-value -1 (sgd .1))) (lambda () (clip-by-leaf-norm -1 (sgd .1))) (lambda () (clip-by-leaf-norm 'x (sgd .1)))
                (lambda () (clip-by-norm +nan.0 '(1.))) (lambda () (clip-by-norm (ones '()) '(1.)))))
; expect: ("momentum: expected a number as the decay, got" x)
; expect: ("nesterov: expected a number as the decay, got" "x")
; expect: ("rmsprop: expected a number as the decay, got" ())
; expect: ("lion: expected a number as the decay, got" #t)
; expect: ("adamw: expected a number as the decay, got" x)
; expect: ("adam: expected a number as what the mean keeps, got" x)
; expect: ("adam: expected a number as what the mean of squares keeps, got" x)
; expect: ("adam: expected a number as epsilon, got" x)
; expect: ("adamw: expected a number as epsilon, got" x)
; expect: ("clip-by-value: the largest value is a number that is not negative, got" -1)
; expect: ("clip-by-leaf-norm: the largest norm is a number that is not negative, got" -1)
; expect: ("clip-by-leaf-norm: the largest norm is a number that is not negative, got" x)
; expect: ("clip-by-norm: the largest norm is a number that is not negative, got" +nan.0)
; expect: ("clip-by-norm: the largest norm is a number that is not negative, got" #<tensor f32 () 1.0>)
(for-each (lambda (make) (show (said make)))
          (list (lambda () (momentum .1 .9 0)) (lambda () (lion .1 0 0)) (lambda () (adam .1 .9 .999 1e-8 0)) (lambda () (adamw .1 0 .9 .999 1e-8 0))))
; expect: "momentum: too many arguments"
; expect: "lion: too many arguments"
; expect: "adam: too many arguments"
; expect: "adamw: too many arguments"
;;; case a-tensor-as-rate
; A rate, or a decay, that is a tensor is one for each element or for all, and training can be differentiated by it.
(import network)
(define p (list->tensor '(1. -2.) 'f64))
(define (loss p) (sumall (* (list->tensor '(1 .5) 'f64) (square p))))
(define (steps make rate)
  (let loop ((p p) (state 0) (n 5))
    (if (= n 0) p (let (((list value p state) (*j-update loss p 1 (make rate) state))) (loop p state (- n 1))))))
(define (near? a b) (< (max-value (abs (- a b))) 1e-13)) ; operators that take numbers alone round in another order
(for-each (lambda (make)
            (assert (near? (steps make .1) (steps make (fill '() .1 'f64))))
            (assert (near? (steps make (list->tensor '(.1 .2) 'f64)) (where (list->tensor '(1 0) 'u8) (steps make .1) (steps make .2))))
            (assert (check-gradient (lambda (rate) (loss (steps make rate))) (fill '(2) .1 'f64))))
          (list adam adamw (lambda (rate) (adam .1 .9 .999 (* .01 rate))) momentum))
; expect any output
;;; case cosine-down-to-a-floor
(define rate (cosine-rate 1. 10 .2))
(write (map (lambda (step) (/ (round (* 1e6 (rate step))) 1e6)) '(0 5 10 20)))
; expect: (1.0 0.6 0.2 0.2)
