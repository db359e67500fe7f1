; Differentiation made convenient, on top of j* and checkpoint-*j. Reverse mode runs under the schedule in force.

; The gradient of f, whose value is a number, at x: a structure like x.
(define (gradient f x) (cdr (checkpoint-*j f x 1)))

; The value of f at x with every number in it replaced by that number's gradient, so the rows stand in the order and the kind of structure
; (list, vector, nested) of the value. f runs once for its value and once for each row.
(define (jacobian f x)
  (%rows f x (f x) (lambda (seed) seed)))

; The rows of the part y of f's value; (embed seed) is the cotangent of the whole value that has `seed` at that part and 0 elsewhere.
(define (%rows f x y embed)
  (cond ((number? y) (cdr (checkpoint-*j f x (embed 1))))
        ((pair? y)
         (cons (%rows f x (car y) (lambda (seed) (embed (cons seed 0))))
               (%rows f x (cdr y) (lambda (seed) (embed (cons 0 seed))))))
        ((vector? y)
         (let ((zeros (make-vector (vector-length y) 0)))
           (build-vector (vector-length y)
                         (lambda (i)
                           (%rows f x (vector-ref y i) (lambda (seed) (embed (vector-update zeros i seed))))))))
        (else y)))

; The second derivative: x with every number in it replaced by a structure like x.
(define (hessian f x)
  (jacobian (lambda (x) (gradient f x)) x))

; The hessian at x applied to v, a structure like x, without building it: forward mode over reverse mode.
(define (hessian-vector f x v)
  (cdr (j* (lambda (x) (gradient f x)) x v)))

; Compares the gradient with central differences, one number of x after the other, and says what it found. #t if all agree.
(define (check-gradient f x)
  (let* ((x (%with-flonums x))
         (value+gradient (checkpoint-*j f x 1))
         (scale (max 1. (abs (car value+gradient))))
         (checks (%checks f x (cdr value+gradient) (lambda (x) x) '())))
    (%report-checks checks scale 0 0 0.)))

(define (%with-flonums x)
  (cond ((number? x) (exact->inexact x))
        ((pair? x) (cons (%with-flonums (car x)) (%with-flonums (cdr x))))
        ((vector? x) (vector-map %with-flonums x))
        (else x)))

; One entry (derivative . difference) for each number in x, in front of `rest`. (put part) is the whole argument of f with this part replaced.
; A gradient of 0 stands for a part that does not matter, whatever its shape.
(define (%checks f x g put rest)
  (cond ((number? x) (cons (cons g (%difference f x put)) rest))
        ((pair? x)
         (%checks f (car x) (if (pair? g) (car g) 0) (lambda (a) (put (cons a (cdr x))))
                  (%checks f (cdr x) (if (pair? g) (cdr g) 0) (lambda (d) (put (cons (car x) d))) rest)))
        ((vector? x)
         (let loop ((i 0))
           (if (= i (vector-length x))
               rest
               (%checks f (vector-ref x i) (if (vector? g) (vector-ref g i) 0) (lambda (e) (put (vector-update x i e))) (loop (+ i 1))))))
        (else rest)))

; The width is near the cube root of the precision, where rounding and truncation are about equal.
(define (%difference f x put)
  (let* ((h (* 6e-6 (max 1. (abs x))))
         (above (+ x h))
         (below (- x h)))
    (/ (- (f (put above)) (f (put below))) (- above below))))

(define (%report-checks checks scale count wrong worst)
  (if (null? checks)
      (begin
        (display "check-gradient: ")
        (display (- count wrong))
        (display " of ")
        (display count)
        (display " derivatives agree with differences, largest error ")
        (display worst)
        (newline)
        (= wrong 0))
      (let* ((derivative (car (car checks)))
             (difference (cdr (car checks)))
             (error (/ (abs (- derivative difference)) (max scale (abs derivative) (abs difference))))
             (agrees? (<= error 1e-5)))
        (if (not agrees?)
            (begin
              (display "check-gradient: number ")
              (display (+ count 1))
              (display ": derivative ")
              (display derivative)
              (display ", difference ")
              (display difference)
              (newline)))
        (%report-checks (cdr checks) scale (+ count 1) (if agrees? wrong (+ wrong 1)) (if (> error worst) error worst)))))
