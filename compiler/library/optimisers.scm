; Optimisers: rules for *j-update! and checkpoint-*j-update!. Each procedure gives a rule, (rule leaf cotangent state) -> (leaf' . state'), that
; serves a tensor and a number alike. The state of all of them begins as 0, whatever the structure of the parameters. What counts steps
; counts them in the state of each leaf, so that a rate may change from step to step without anything else being lost. The formulas and
; the defaults are PyTorch's.

(define (sgd rate) (lambda (leaf cotangent state) (cons (- leaf (* rate cotangent)) state)))

(define (momentum rate . l)
  (let ((decay (if (null? l) .9 (%only "momentum" l))))
    (lambda (leaf cotangent velocity)
      (let ((velocity (+ (* decay velocity) cotangent)))
        (cons (- leaf (* rate velocity)) velocity)))))

(define (nesterov rate . l)
  (let ((decay (if (null? l) .9 (%only "nesterov" l))))
    (lambda (leaf cotangent velocity)
      (let ((velocity (+ (* decay velocity) cotangent)))
        (cons (- leaf (* rate (+ cotangent (* decay velocity)))) velocity)))))

(define (adagrad rate)
  (lambda (leaf cotangent squares)
    (let ((squares (+ squares (* cotangent cotangent))))
      (cons (- leaf (* rate (/ cotangent (+ (sqrt squares) 1e-10)))) squares))))

(define (rmsprop rate . l)
  (let ((decay (if (null? l) .99 (%only "rmsprop" l))))
    (lambda (leaf cotangent squares)
      (let ((squares (+ (* decay squares) (* (- 1 decay) (* cotangent cotangent)))))
        (cons (- leaf (* rate (/ cotangent (+ (sqrt squares) 1e-8)))) squares)))))

; The state is (mean squares . steps).
(define (adam rate . l) (%adam rate 0 l))

; Weights decay apart from the gradient, by rate times the second number (.01).
(define (adamw rate . l)
  (if (null? l) (%adam rate .01 '()) (%adam rate (car l) (cdr l))))

(define (%adam rate decay l)
  (let ((beta1 (if (null? l) .9 (car l)))
        (beta2 (if (if (null? l) #t (null? (cdr l))) .999 (%only "adam" (cdr l)))))
    (lambda (leaf cotangent state)
      (%adam-step leaf cotangent (if (pair? state) state '(0 0 . 0)) rate (- 1 (* rate decay)) beta1 beta2))))

(define (%adam-step leaf cotangent state rate kept beta1 beta2)
  (let* (((cons* mean squares steps) state)
         (steps (+ steps 1))
         (fused (if (%in-one-pass? leaf) (%in-one-pass? cotangent) #f))
         (mean (if fused (weighted-sum mean cotangent beta1 (- 1 beta1)) (+ (* beta1 mean) (* (- 1 beta1) cotangent))))
         (squares
          (if fused
              (weighted-square-sum squares cotangent beta2 (- 1 beta2))
              (+ (* beta2 squares) (* (- 1 beta2) (* cotangent cotangent))))))
    (let ((rate (/ rate (- 1 (expt beta1 steps)))) (root (sqrt (- 1 (expt beta2 steps)))))
      (cons (if fused
                (adam-step leaf mean squares kept rate root)
                (- (if (= kept 1) leaf (* kept leaf)) (* rate (/ mean (+ (/ (sqrt squares) root) 1e-8)))))
            (cons* mean squares steps)))))

; Whether what a rule does to it goes in one pass over its elements: operators for that are on the processor alone.
(define (%in-one-pass? t) (if (tensor? t) (if (memq (tensor-residence t) '(cpu emulated)) #t #f) #f))

; The direction is the sign alone; weights decay by rate times the second number (0).
(define (lion rate . l)
  (let ((kept (if (null? l) 1 (- 1 (* rate (%only "lion" l))))))
    (lambda (leaf cotangent mean)
      ; Both means are steps from the old one towards the cotangent.
      (let ((distance (- cotangent mean)))
        (cons (- (if (= kept 1) leaf (* kept leaf)) (* rate (%sign (+ mean (* .1 distance))))) (+ mean (* .01 distance)))))))

(define (%sign x)
  (cond ((tensor? x) (sign x)) ((> x 0) 1) ((< x 0) -1) (else 0)))

; A rule whose cotangents are first limited to [-most, most]. (The norm of the whole gradient does not exist while rules run.)
(define (clip-by-value most rule)
  (lambda (leaf cotangent state) (rule leaf (max (- most) (min most cotangent)) state)))

; A rule whose cotangents are first scaled so that the norm of each leaf's is at most this.
(define (clip-by-leaf-norm most rule)
  (lambda (leaf cotangent state)
    (let ((norm (if (tensor? cotangent) (sqrt (tensor->number (sum (* cotangent cotangent)))) (abs cotangent))))
      (rule leaf (if (> norm most) (* (/ most norm) cotangent) cotangent) state))))

; --- rates that change: of the number of the step, from 0 on

(define (step-rate rate factor every) (lambda (step) (* rate (expt factor (quotient step every)))))

(define (cosine-rate rate steps)
  (lambda (step) (* rate .5 (+ 1 (cos (/ (* 4 (atan 1) (min step steps)) steps))))))

; Rises linearly for so many steps, then is the other.
(define (warm-up steps rate)
  (lambda (step) (if (< step steps) (* (/ (+ step 1) steps) (rate 0)) (rate (- step steps)))))
