; Tapes with an error (docs/forms.md): how large it may be for each parameter, from what it does to the parameter's cotangent, and how far the gradient is
; from the exact one. All of this is about operators that the policy in force covers (with-lossy-tape, --lossy): where there is none, everything is exact.

; p, whose tensors allow what they are multiplied with such an error: of one bound for all, or bounds in a structure like p, or those of an adaptive policy.
(define (allow-error p bounds)
  (cond ((%adaptive? bounds) (%map-alike "allow-error" "bounds" %allow p (list-ref (%the-policy "allow-error" bounds) 4)))
        ((number? bounds) (parameters-map (lambda (leaf) (%allow leaf bounds)) p))
        (else (%map-alike "allow-error" "bounds" %allow p bounds))))
(define (%allow leaf bound) (if (tensor? leaf) (%mark-error leaf bound) leaf))

; (f leaf part) for each leaf of p and the part of another structure in its place, where an exact 0 stands for zeros.
(define (%map-alike who what f p other)
  (let %map-alike/loop ((p p) (other other))
    (define (part pick) (if (eqv? other 0) 0 (pick other)))
    (cond ((%leaf? p) (f p other))
          ((not (if (eqv? other 0) #t (if (pair? p) (pair? other) (if (vector? p) (if (vector? other) (= (vector-length p) (vector-length other)) #f) #t))))
           (error (string-append who ": expected " what " in a structure like the parameters; where these have a part, there is") other))
          ((pair? p)
           (let ((first (%map-alike/loop (car p) (part car)))) (cons first (%map-alike/loop (cdr p) (part cdr)))))
          ((vector? p) (build-vector (vector-length p) (lambda (i) (%map-alike/loop (vector-ref p i) (part (lambda (v) (vector-ref v i)))))))
          (else p))))

; At each tensor of p the variances of the elements of its cotangent, in units of the variance of an element's error, which is bound * bound / 3 where that is uniform: the
; sums of squares of the cotangents that each meets, those left out that meet zeros. Where nothing the tensor is multiplied with can have an error they are 0.
(define (error-variances f p)
  (define (variances leaf cotangent)
    (cond ((not (tensor? leaf)) 0)
          ((not (tensor? cotangent)) (* 0 leaf))
          (else (max cotangent 0)))) ; rounding may leave less than 0
  (%map-alike "error-variances" "cotangents" variances p (gradient f (parameters-map (lambda (leaf) (if (tensor? leaf) (%mark-error leaf #t) leaf)) p))))

; The deviation in units of an error's: the root of the mean of these variances, over the elements that have any. Channels that are dead have none, or rounding.
(define (error-sensitivities f p) (parameters-map %sensitivity (error-variances f p)))
(define (%sensitivity v)
  (if (if (tensor? v) (< 0 (apply * (size v))) #f)
      (let* ((v (cast v 'f64)) (live (< (* 1e-7 (max-value v)) v)) (count (sumall live)))
        (if (> count 0) (sqrt (/ (sumall (* v live)) count)) 0.))
      0.))

; The bounds with which these deviations come to that: of each element of a parameter's cotangent, one for all or in a structure like the parameters.
(define (error-bounds sensitivities deviations)
  (define (bound sensitivity deviation)
    (let ((bound (/ (* deviation (sqrt 3)) (max sensitivity 1e-300))))
      (if (if (> sensitivity 0) (>= bound 1e-25) #f) (min bound 1e25) 0)))
  (if (number? deviations)
      (parameters-map (lambda (s) (bound s deviations)) sensitivities)
      (%map-alike "error-bounds" "deviations" bound sensitivities deviations)))

; A policy that adapts bounds: the deviation is to be that share of the mean magnitude of the parameter's momentum, and is renewed every so many steps. It is a value of
; the program, (%adaptive share every steps-left bounds), and changes nothing by itself.
(define (adaptive-policy share every)
  (if (not (if (number? share) (< 0 share +inf.0) #f)) (error "adaptive-policy: expected a share of the momentum above 0 that is finite, such as .01, got" share))
  (if (not (if (integer? every) (> every 0) #f)) (error "adaptive-policy: expected a number of steps between renewals, 1 or more, got" every))
  (list '%adaptive share every 0 0))
(define (%adaptive? x) (if (pair? x) (eq? (car x) '%adaptive) #f))
(define (%the-policy who x)
  (if (if (%adaptive? x) (if (list? x) (if (= (length x) 5) (and (number? (cadr x)) (number? (caddr x)) (number? (cadddr x))) #f) #f) #f) x (error (string-append who ": expected a policy that adaptive-policy made, got") x)))

; The policy of the next step, in front of it: of the function that it will take the gradient of, the parameters, and the optimiser's state. A step that renews
; the bounds takes one gradient more. As long as nothing has a momentum no error is allowed.
(define (renew-policy policy f p state)
  (let (((list kind share every left bounds) (%the-policy "renew-policy" policy)))
    (if (> left 0)
        (list kind share every (- left 1) bounds)
        (let ((deviations (%map-alike "renew-policy" "the state of an optimiser" (lambda (leaf state) (* share (%momentum leaf state))) p state)))
          (if (> (parameters-fold max 0 deviations) 0)
              (list kind share every (- every 1) (error-bounds (error-sensitivities f p) deviations))
              (list kind share every 0 0))))))
; Rules with a momentum have it as the state of a leaf, or in front of others.
(define (%momentum leaf state)
  (let ((m (if (pair? state) (car state) state)))
    (if (if (tensor? m) (< 0 (apply * (size m))) #f) (tensor->number (mean (abs (cast m 'f64)))) 0.)))

; The gradient of f at x under the policy in force beside the exact one. It says, and gives as a list of pairs, the angle between them in degrees and the error as
; a part of the exact one: for all tensors of x together, then for each.
(define (check-lossy f x)
  (let* ((exact (with-lossy-tape "none" (lambda () (gradient f x))))
         (parts (%error-squares x exact (gradient f x)))
         (found (map (lambda ((cons sizes squares)) (%angle-and-error squares)) parts))
         (all (%angle-and-error (fold-left (lambda (sums (cons sizes squares)) (map + sums squares)) '(0. 0. 0.) parts))))
    (for-each (lambda (i (cons sizes squares) pair) (%say-error (format "tensor ~a, sizes ~a" i sizes) pair)) (iota (length parts) 1) parts found)
    (%say-error (if (null? parts) "there is no tensor" "all together") all)
    (cons all found)))
(define (%say-error what found)
  (let (((cons angle error) found))
    (display (format "check-lossy: ~a: ~a~%" what
                   (if (= error 0) "exact" (format "angle ~,3f degrees, relative error ~,5f" angle error))))))

; Of each tensor its sizes, and the squares of the norms of its exact cotangent, of the other one, and of their difference. A cotangent of 0 has any structure.
(define (%error-squares x exact lossy)
  (define (part v pick) (if (eqv? v 0) 0 (pick v)))
  (cond ((pair? x) (append (%error-squares (car x) (part exact car) (part lossy car)) (%error-squares (cdr x) (part exact cdr) (part lossy cdr))))
        ((vector? x)
         (apply append (build-list (vector-length x) (lambda (i) (define (at v) (vector-ref v i)) (%error-squares (at x) (part exact at) (part lossy at))))))
        ((if (tensor? x) (%has-derivative? x) #f)
         (let ((a (%wide exact)) (b (%wide lossy)))
           (list (cons (size x) (map %sum-of-squares (list a b (%difference a b)))))))
        (else '())))
(define (%wide cotangent) (if (tensor? cotangent) (cast cotangent 'f64) 0.))
(define (%difference a b) ; equal infinities have none
  (if (if (tensor? a) #t (tensor? b)) (where (= a b) 0 (- a b)) (- a b)))
(define (%sum-of-squares t) (if (tensor? t) (sumall (square t)) (* t t)))

; By the distance of both vectors on the unit sphere, which tells small angles.
(define (%angle-and-error squares)
  (let* (((list a b d) squares) (a (sqrt a)) (b (sqrt b)))
    (cond ((= d 0) (cons 0. 0.))
          ((= a 0) (cons 180. +inf.0))
          ((= b 0) (cons 180. (/ (sqrt d) a)))
          (else
           (let ((half (/ (sqrt (max 0 (/ (- d (square (- a b))) (* a b)))) 2)))
             (cons (* 90 (/ (atan half (sqrt (max 0 (- 1 (* half half))))) (atan 1))) (/ (sqrt d) a)))))))
