; A charged particle steered by gradient descent, the field a gradient itself; from the VLAD family of programs.
; timeout: 300
(define (show x) (write x) (newline))
(define (sqr x) (* x x))
(define (v+ u v) (map + u v))
(define (v- u v) (map - u v))
(define (k*v k v) (map (lambda (x) (* k x)) v))
(define (magnitude v) (sqrt (fold-left + 0 (map sqr v))))
(define (distance u v) (magnitude (v- u v)))
(define (e i n) (build-list n (lambda (k) (if (= i k) 1 0))))
(define ((gradient-f f) x) (let ((n (length x))) (build-list n (lambda (i) (cdr (j* f x (e i n)))))))
(define ((gradient-r f) x) (cdr (*j f x 1)))
(define ((gradient-c f) x) (cdr (with-schedule "binomial,base=256" (lambda () (checkpoint-*j f x 1)))))
(define (argmin gradient f x)
  (let ((g (gradient f)))
    (let loop ((x x) (fx (f x)) (gx (g x)) (eta 1e-5) (i 0))
      (cond ((<= (magnitude gx) 1e-5) x)
            ((= i 10) (loop x fx gx (* 2 eta) 0))
            (else
             (let ((x1 (v- x (k*v eta gx))))
               (if (<= (distance x x1) 1e-5)
                   x
                   (let ((fx1 (f x1)))
                     (if (< fx1 fx)
                         (loop x1 fx1 (g x1) eta (+ i 1))
                         (loop x fx gx (/ eta 2) 0))))))))))
(define (naive-euler gradient w)
  (let* ((charges (list (list 10 (- 10 w)) (list 10 0)))
         (delta-t 1e-1)
         (p (lambda (x) (fold-left + 0 (map (lambda (c) (/ 1 (distance x c))) charges)))))
    (let loop ((x '(0 8)) (xdot '(.75 0)))
      (let* ((xddot (k*v -1 ((gradient p) x)))
             (x-new (v+ x (k*v delta-t xdot))))
        (if (positive? (list-ref x-new 1))
            (loop x-new (v+ xdot (k*v delta-t xddot)))
            (let* ((delta-t-f (/ (- 0 (list-ref x 1)) (list-ref xdot 1)))
                   (x-t-f (v+ x (k*v delta-t-f xdot))))
              (sqr (list-ref x-t-f 0))))))))
(define (particle outer inner) (car (argmin outer (lambda ((list w)) (naive-euler inner w)) '(0))))
(define (near? a) (<= (abs (- a .207191874648612)) 1e-11))
(show (near? (particle gradient-f gradient-f))) ; expect: #t
(show (near? (particle gradient-f gradient-r))) ; expect: #t
(show (near? (particle gradient-r gradient-f))) ; expect: #t
(show (near? (particle gradient-r gradient-r))) ; expect: #t
(show (near? (particle gradient-c gradient-r))) ; expect: #t
(define ((through inner) (list w)) (naive-euler inner w))
(show (map (lambda (w) (equal? ((gradient-r (through gradient-r)) (list w)) ((gradient-c (through gradient-c)) (list w)))) '(0 .1 .207))) ; expect: (#t #t #t)
