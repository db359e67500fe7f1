; A gradient compared with differences of the procedure's values. How much a difference can tell follows from f itself: from how much its values are
; rounded, over the step, and from how much a difference over twice the step is another one.

; Compares the gradient with central differences, one number of x or element of its tensors after the other, and says what it found. #t if
; there are any and all agree. Tensors are taken as f64: differences of other types say little. What is compared is each derivative with its own
; difference, whatever the sizes of f and of other derivatives; how uncertain the difference is, its own parts tell (%look).
(define (check-gradient f x)
  (let* ((x (%with-flonums x))
         ((cons value gradient) (checkpoint-*j f x 1))
         (epsilon (%unit-of-rounding value))
         (value (%as-number value))
         (at (lambda (x) (%as-number (f x))))
         (checks (%checks at x gradient (lambda (x) x) '()))
         (looks (map (lambda (check) (%look check value epsilon 1 0)) checks))
         (usual (%usual-rounding looks))
         (found (map (lambda (check look) (%best-difference check look value epsilon usual)) checks looks))
         (largest (fold-left (lambda (most check estimate) (max most (%magnitude (car check) (car estimate)))) 0. checks found))
         (reverse? (%report-checks checks found largest)))
    (if (%forward-agrees? f x value epsilon largest) reverse? #f)))

; Forward mode in one direction, which is not the same for numbers that are not. A procedure of the host may have no forward rule.
(define (%forward-agrees? f x value epsilon largest)
  (let ((derivative (call-with-error-handler (lambda (message irritants) #f) (lambda () (cdr (j* f x (%direction x)))))))
    (if derivative
        (let* ((check (list (%as-number derivative) 0. (lambda (h) (%as-number (f (%moved x h))))))
               (estimate (%best-difference check (%look check value epsilon 1 0) value epsilon 0)))
          (cond ((not (%agrees? (car check) estimate 1e-4))
                 (display (format "check-gradient: in forward mode the derivative in one direction is ~a, the difference ~a~%" (car check) (car estimate)))
                 #f)
                ((%told? (car check) estimate largest) #t)
                (else
                 (display (format "check-gradient: in forward mode the derivative in one direction, ~a, cannot be told from rounding: the difference is ~a, uncertain by ~a~%"
                                  (car check) (car estimate) (cadr estimate)))
                 #f)))
        #t)))
(define (%direction x) (%map-differentiable %weight (lambda (x) 0) x))
(define (%moved x h) (%map-differentiable (lambda (x) (+ x (* h (%weight x)))) (lambda (x) x) x))
(define (%weight x) (+ 1 (* .5 (sin (* 40 x)))))
(define (%map-differentiable f otherwise x)
  (cond ((number? x) (f x))
        ((pair? x) (cons (%map-differentiable f otherwise (car x)) (%map-differentiable f otherwise (cdr x))))
        ((vector? x) (vector-map (lambda (e) (%map-differentiable f otherwise e)) x))
        ((and (tensor? x) (%has-derivative? x)) (f x))
        (else (otherwise x))))

(define (%as-number y) (if (tensor? y) (tensor->number y) y))

(define (%with-flonums x)
  (cond ((number? x) (exact->inexact x))
        ((pair? x) (cons (%with-flonums (car x)) (%with-flonums (cdr x))))
        ((vector? x) (vector-map %with-flonums x))
        ((and (tensor? x) (%has-derivative? x)) (cast x 'f64))
        ((or (procedure? x) (capsule? x)) (error "check-gradient: what this holds cannot be changed one number after the other:" x))
        (else x)))

; One check (derivative number at) for each number in x, in front of `rest`: (at e) is f's value with e in the place of this number. (put part)
; is the whole argument of f with this part replaced. A gradient of 0 stands for a part that does not matter, whatever its shape.
(define (%checks f x g put rest)
  (cond ((number? x) (cons (list g x (lambda (e) (f (put e)))) rest))
        ((pair? x)
         (%checks f (car x) (if (pair? g) (car g) 0) (lambda (a) (put (cons a (cdr x))))
                  (%checks f (cdr x) (if (pair? g) (cdr g) 0) (lambda (d) (put (cons (car x) d))) rest)))
        ((vector? x)
         (let %checks/loop ((i 0))
           (if (= i (vector-length x))
               rest
               (%checks f (vector-ref x i) (if (vector? g) (vector-ref g i) 0) (lambda (e) (put (vector-update x i e))) (%checks/loop (+ i 1))))))
        ((and (tensor? x) (%has-derivative? x))
         (let ((g (if (tensor? g) (%elements g) #f)))
           (let %checks/loop ((i 0) (l (%elements x)) (g g))
             (if (null? l)
                 rest
                 (cons (list (if g (car g) 0) (car l) (lambda (e) (f (put (+ x (* (- e (car l)) (%one-at i x)))))))
                       (%checks/loop (+ i 1) (cdr l) (if g (cdr g) #f)))))))
        (else rest)))

; In row-major order.
(define (%elements t) (tensor->list (view t (list (apply * (size t))))))

(define (%unit-of-rounding value)
  (cond ((not (tensor? value)) 2.22e-16) ((eq? (tensor-type value) 'f32) 1.2e-7) ((eq? (tensor-type value) 'bf16) 7.8e-3) (else 2.22e-16)))

; f at five points around a number: the list of the difference, how far that over twice the step is from it, the half step, and how much rounding
; there is in a value of f. For that the fourth difference stands, to which what is smooth adds next to nothing, but rounding eight times
; itself on the average; it is an epsilon of the value at least. A value that f32 could hold at all points was computed in f32 somewhere,
; and one that stays as it is over a narrow step may not have been computed finely enough for that. The first half step
; is near the cube root of the precision, where rounding and truncation are about equal.
(define (%look check value epsilon factor rounding)
  (let* (((list derivative x at) check)
         (h (* factor 6e-6 (max 1. (abs x))))
         (above (+ x h)) (below (- x h)) (far-above (+ x (* 2 h))) (far-below (- x (* 2 h)))
         (f-above (at above)) (f-below (at below)) (f-far-above (at far-above)) (f-far-below (at far-below))
         (all (list value f-above f-below f-far-above f-far-below))
         (difference (/ (- f-above f-below) (- above below)))
         (far (/ (- f-far-above f-far-below) (- far-above far-below)))
         (fourth (abs (+ f-far-above f-far-below (* -4 (+ f-above f-below)) (* 6 value))))
         (flat? (fold-left (lambda (same y) (if same (= y value) #f)) #t all))
         (epsilon (if (if (if flat? (= derivative 0) #f) #f (%in-f32? all)) (max epsilon 1.2e-7) epsilon))
         (most (fold-left (lambda (most y) (max most (abs y))) 0. all)))
    (list difference
          (if (if flat? (if (< factor 1) (not (= derivative 0)) #f) #f) +inf.0 (abs (- difference far)))
          h
          (max rounding (* epsilon most) (/ fourth 2)))))
(define (%in-f32? all) (fold-left (lambda (narrow y) (if narrow (= y (tensor->number (list->tensor y 'f32))) #f)) #t all))

; The rounding of the middle one of all looks, so that a bend of f near one number does not make the others uncertain.
(define (%usual-rounding looks)
  (let* ((all (sort-list < (filter (lambda (r) (= r r)) (map cadddr looks)))) (count (length all)))
    (if (< count 2) 0 (list-ref all (quotient (- count 1) 2)))))

; (difference uncertainty): of the first look, or if that is too uncertain, of the one of wider and narrower steps that is least so. Rounding that a
; look saw is there at wider steps, too; over these f may look otherwise, so they must not contradict what is known. Where all of f bends, what looks like
; rounding goes with narrower steps. What f may not be asked for so far away, it need not be; the widest step, a fifth of the number, is only taken
; where nothing else tells anything.
(define (%best-difference check look value epsilon usual)
  (define (estimate look usual) (list (car look) (+ (cadr look) (/ (max usual (cadddr look)) (caddr look)))))
  (define (another factor)
    (if (< factor 1)
        (estimate (%look check value epsilon factor 0) 0)
        (estimate (%look check value epsilon factor (cadddr look)) usual)))
  (define (enough? best factors)
    (cond ((null? factors) #t)
          ((<= (cadr best) (* 1e-5 (%magnitude (car check) (car best)))) #t)
          ((%without-effect? (car check) best) #t)
          (else (if (null? (cdr factors)) (%certain? (car check) best) #f))))
  (define (better? next best factor)
    (cond ((not (= (cadr best) (cadr best))) #t)
          ((not (< (cadr next) (cadr best))) #f)
          ((< factor 1) #t)
          (else (<= (abs (- (car next) (car best))) (+ (cadr next) (cadr best))))))
  (let %best-difference/loop ((best (estimate look usual)) (factors '(30 1000 .03 .001 1e-5 30000)))
    (if (enough? best factors)
        best
        (let ((next (call-with-error-handler
                     (lambda (message irritants) best)
                     (lambda () (another (car factors))))))
          (%best-difference/loop (if (better? next best (car factors)) next best) (cdr factors))))))

(define (%magnitude derivative difference) (max (abs derivative) (if (= difference difference) (abs difference) 0.)))
(define (%agrees? derivative estimate tolerance)
  (<= (abs (- derivative (car estimate))) (+ (cadr estimate) (* tolerance (%magnitude derivative (car estimate))))))
; Whether the difference tells something about the derivative.
(define (%certain? derivative estimate) (<= (cadr estimate) (* .1 (%magnitude derivative (car estimate)))))
(define (%without-effect? derivative estimate) (if (= 0 (%magnitude derivative (car estimate))) (<= (cadr estimate) 1e-5) #f))
; Or else at least that both are next to nothing beside the largest of all.
(define (%told? derivative estimate largest)
  (cond ((%certain? derivative estimate) #t)
        ((%without-effect? derivative estimate) #t)
        (else (if (= 0 largest) #f (<= (cadr estimate) (* 1e-5 largest))))))

(define (%report-checks checks found largest)
  (let %report-checks/loop ((checks checks) (found found) (count 0) (wrong 0) (untold 0) (small 0) (worst 0.))
    (if (null? checks)
        (%report-counts count wrong untold small worst)
        (let* ((derivative (car (car checks)))
               (estimate (car found))
               (certain? (%certain? derivative estimate))
               (difference (abs (- derivative (car estimate))))
               (error (if (= difference 0) 0. (/ difference (%magnitude derivative (car estimate)))))
               (agrees? (%agrees? derivative estimate 1e-5))
               (told? (%told? derivative estimate largest)))
          (if agrees?
              (if (not told?)
                  (display (format "check-gradient: number ~a: derivative ~a cannot be told from rounding: the difference is ~a, uncertain by ~a~%"
                                   (+ count 1) derivative (car estimate) (cadr estimate))))
              (display (format "check-gradient: number ~a: derivative ~a, difference ~a~%" (+ count 1) derivative (car estimate))))
          (%report-checks/loop (cdr checks) (cdr found) (+ count 1) (if agrees? wrong (+ wrong 1)) (if agrees? (if told? untold (+ untold 1)) untold)
                               (if (if agrees? (if told? (not (if certain? #t (= difference 0))) #f) #f) (+ small 1) small)
                               (if (if (if agrees? certain? #t) (> error worst) #f) error worst))))))
(define (%report-counts count wrong untold small worst)
  (if (= count 0)
      (display "check-gradient: there is no number to check")
      (display (format "check-gradient: ~a of ~a derivatives agree with differences, largest error ~a~a" (- count wrong untold) count worst
                       (if (= small 0) "" (format "; ~a of them by being too small for rounding beside the largest" small)))))
  (newline)
  (if (= count 0) #f (= 0 (+ wrong untold))))
