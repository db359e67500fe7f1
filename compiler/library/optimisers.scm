; Optimisers: rules for *j-update!, checkpoint-*j-update! and apply-rule. Each procedure gives a rule, (rule leaf cotangent state) -> (leaf' . state'), that
; serves a tensor and a number alike. The state of all of them begins as 0, whatever the structure of the parameters. What counts steps
; counts them in the state of each leaf, so that a rate may change from step to step without anything else being lost. The formulas and
; the defaults are PyTorch's, but that velocities decay by .9.

; One that does not begin with a rate is an error where it is made, as there the message can name it: the rule runs inside a sweep.
(define (%rate name rate)
  (cond ((procedure? rate)
         (error (string-append name ": expected a number as the rate, got a procedure; where the rate changes, each step makes its own rule, such as (" name
                               " ((cosine-rate .1 400) step))")))
        (else (%setting name "the rate" rate))))
(define (%setting name what x)
  (if (if (number? x) #t (tensor? x)) x (error (string-append name ": expected a number as " what ", got") x)))
(define (%rule name rule)
  (if (procedure? rule) rule (error (string-append name ": expected a rule, such as (sgd .1), got") rule)))

; The same for a gradient that is there already, one that was clipped by its norm, say: (list p state).
(define (apply-rule rule p gradient state)
  (let (((cons p state) (%updated p gradient (%rule "apply-rule" rule) state (not (null? state))))) (list p state)))

; The first state of a rule written out, with zeros in the place of every number: what load-parameters wants as the structure of a file's.
(define (rule-state rule p)
  (parameters-like (cadr (apply-rule rule p (parameters-like p 0) 0)) 0))

(define (sgd rate) (let ((rate (%rate "sgd" rate))) (lambda (leaf cotangent state) (cons (- leaf (* rate cotangent)) state))))

(define (momentum rate . l)
  (let ((rate (%rate "momentum" rate)) (decay (if (null? l) .9 (%setting "momentum" "the decay" (%only "momentum" l)))))
    (lambda (leaf cotangent velocity)
      (let ((velocity (+ (* decay velocity) cotangent)))
        (cons (- leaf (* rate velocity)) velocity)))))

(define (nesterov rate . l)
  (let ((rate (%rate "nesterov" rate)) (decay (if (null? l) .9 (%setting "nesterov" "the decay" (%only "nesterov" l)))))
    (lambda (leaf cotangent velocity)
      (let ((velocity (+ (* decay velocity) cotangent)))
        (cons (- leaf (* rate (+ cotangent (* decay velocity)))) velocity)))))

(define (adagrad rate)
  (let ((rate (%rate "adagrad" rate)))
    (lambda (leaf cotangent squares)
      (let ((squares (+ squares (* cotangent cotangent))))
        (cons (- leaf (* rate (/ cotangent (+ (sqrt squares) 1e-10)))) squares)))))

(define (rmsprop rate . l)
  (let ((rate (%rate "rmsprop" rate)) (decay (if (null? l) .99 (%setting "rmsprop" "the decay" (%only "rmsprop" l)))))
    (lambda (leaf cotangent squares)
      (let ((squares (+ (* decay squares) (* (- 1 decay) (* cotangent cotangent)))))
        (cons (- leaf (* rate (/ cotangent (+ (sqrt squares) 1e-8)))) squares)))))

; The state is (mean squares . steps).
(define (adam rate . l) (%adam "adam" rate 0 l))

; Weights decay apart from the gradient, by rate times the second number (.01).
(define (adamw rate . l)
  (if (null? l) (%adam "adamw" rate .01 '()) (%adam "adamw" rate (%setting "adamw" "the decay" (car l)) (cdr l))))

(define (%adam name rate decay l)
  (let* ((rate (%rate name rate))
         (kept (if (eqv? decay 0) 1 (- 1 (* rate decay))))
         (beta1 (if (null? l) .9 (%setting name "what the mean keeps" (car l))))
         (l (if (null? l) '() (cdr l)))
         (beta2 (if (null? l) .999 (%setting name "what the mean of squares keeps" (car l))))
         (epsilon (if (if (null? l) #t (null? (cdr l))) 1e-8 (%setting name "epsilon" (%only name (cdr l))))))
    (lambda (leaf cotangent state)
      (%adam-step leaf cotangent (if (pair? state) state '(0 0 . 0)) rate kept beta1 beta2 epsilon))))

(define (%adam-step leaf cotangent state rate kept beta1 beta2 epsilon)
  (let* (((cons* mean squares steps) state)
         (steps (+ steps 1))
         (rate (/ rate (- 1 (expt beta1 steps))))
         (root (sqrt (- 1 (expt beta2 steps)))))
    (if (if (%in-one-pass? leaf) (if (%in-one-pass? cotangent) (if (number? epsilon) (<= 1e-16 epsilon 1) #f) #f) #f)
        ; The operator's own epsilon is 1e-8: rate and divisor are scaled until the other one is that.
        (let* ((scale (/ 1e-8 epsilon))
               ((list leaf mean squares)
                (adam-update leaf mean squares cotangent beta1 (- 1 beta1) beta2 (- 1 beta2) kept (* rate scale) (/ root scale))))
          (cons leaf (cons* mean squares steps)))
        (let ((mean (+ (* beta1 mean) (* (- 1 beta1) cotangent)))
              (squares (+ (* beta2 squares) (* (- 1 beta2) (* cotangent cotangent)))))
          (cons (- (if (eqv? kept 1) leaf (* kept leaf)) (* rate (/ mean (+ (/ (sqrt squares) root) epsilon))))
                (cons* mean squares steps))))))

; Whether what a rule does to it goes in one pass over its elements: operators for that are on the processor alone.
(define (%in-one-pass? t) (if (tensor? t) (if (memq (tensor-residence t) '(cpu emulated streaming)) #t #f) #f))

; The direction is the sign alone; weights decay by rate times the second number (0).
(define (lion rate . l)
  (let* ((rate (%rate "lion" rate)) (kept (if (null? l) 1 (- 1 (* rate (%setting "lion" "the decay" (%only "lion" l)))))))
    (lambda (leaf cotangent mean)
      ; Both means are steps from the old one towards the cotangent.
      (let ((distance (- cotangent mean)))
        (cons (- (if (eqv? kept 1) leaf (* kept leaf)) (* rate (sign (+ mean (* .1 distance))))) (+ mean (* .01 distance)))))))

(define (%check-most what most)
  (if (not (if (number? most) (>= most 0) #f)) (error (string-append what " is a number that is not negative, got") most)))

; A rule whose cotangents are first limited to [-most, most]. (The norm of the whole gradient does not exist while rules run.)
(define (clip-by-value most rule)
  (%check-most "clip-by-value: the largest value" most)
  (let ((rule (%rule "clip-by-value" rule)))
    (lambda (leaf cotangent state) (rule leaf (max (- most) (min most cotangent)) state))))

; A rule whose cotangents are first scaled so that the norm of each leaf's is at most this.
(define (clip-by-leaf-norm most rule)
  (%check-most "clip-by-leaf-norm: the largest norm" most)
  (let ((rule (%rule "clip-by-leaf-norm" rule)))
    (lambda (leaf cotangent state)
      (rule leaf (clip-by-norm most cotangent) state))))

; A gradient of any structure, scaled so that its norm is at most this.
(define (clip-by-norm most gradient)
  (%check-most "clip-by-norm: the largest norm" most)
  (if (procedure? gradient)
      (error (string-append "clip-by-norm: expected a gradient, got a procedure; a rule sees one leaf at a time: (clip-by-leaf-norm most rule), or take the"
                            " gradient first and (apply-rule rule p (clip-by-norm most gradient) state)")))
  (let ((norm (parameters-norm gradient)))
    (if (> norm most) (%scaled-by-ratio most norm gradient) gradient)))
; A ratio that f32 has no normal number for is applied in two parts.
(define (%scaled-by-ratio most norm gradient)
  (if (< (/ most norm) 1e-30)
      (let ((small (expt 2. -64))) (parameters-map (lambda (leaf) (* (/ most (* small norm)) (* small leaf))) gradient))
      (parameters-map (lambda (leaf) (* (/ most norm) leaf)) gradient)))

; --- rates that change: of the number of the step, from 0 on

(define (step-rate rate factor every) (lambda (step) (* rate (expt factor (quotient step every)))))

; From the rate down to the least one, 0 if none is given.
(define (cosine-rate rate steps . l)
  (let ((least (if (null? l) 0 (%only "cosine-rate" l))))
    (lambda (step) (+ least (* (- rate least) .5 (+ 1 (cos (/ (* 4 (atan 1) (min step steps)) steps))))))))

; Rises linearly for so many steps, then is the other.
(define (warm-up steps rate)
  (if (not (procedure? rate)) (error "warm-up: expected a procedure from the number of a step to a rate, such as (cosine-rate .1 400) or (lambda (step) .1), got" rate))
  (lambda (step) (if (< step steps) (* (/ (+ step 1) steps) (rate 0)) (rate (- step steps)))))
