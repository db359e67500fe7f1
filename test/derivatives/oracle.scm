; Small programs whose derivatives are known from closed forms or from independent systems.
(define (show x) (write x) (newline))
(define (near? a b) (<= (abs (- a b)) (* 1e-10 (max (abs a) (abs b)))))
(define (modes f x y) (list (*j f x y) (checkpoint-*j f x y)
                            (with-schedule "binomial,base=64" (lambda () (checkpoint-*j f x y)))
                            (with-schedule "bisection,base=64" (lambda () (checkpoint-*j f x y)))))
(define (same? l) (or (null? (cdr l)) (and (equal? (car l) (cadr l)) (same? (cdr l)))))
(define (both test f x y) (let ((l (modes f x y))) (and (same? l) (test (car l)))))
; atan takes y before x.
(show (both (lambda (r) (and (near? .4636476090008061 (car r)) (near? .4 (cadr r)) (near? -.2 (cddr r)))) ; expect: #t
            (lambda ((cons y x)) (atan y x)) (cons 1 2) 1))
; Newton's square root, 20 iterations from 1.
(define (newton x) (let loop ((y 1) (i 0)) (if (= i 20) y (loop (/ (+ y (/ x y)) 2) (+ i 1)))))
(show (both (lambda (r) (near? .35355339059327373 (cdr r))) newton 2. 1)) ; expect: #t
(show (near? .35355339059327373 (cdr (j* newton 2. 1)))) ; expect: #t
; The logistic map, 20 iterations.
(define ((logistic n) (cons x r)) (if (= n 0) x ((logistic (- n 1)) (cons (* r x (- 1 x)) r))))
(show (both (lambda (d) (and (near? -1655.749763223961 (cadr d)) (near? -62.54065203274615 (cddr d)))) ; expect: #t
            (logistic 20) (cons .3 3.7) 1))
(show (near? -1655.749763223961 (cdr (j* (logistic 20) '(.3 . 3.7) '(1 . 0))))) ; expect: #t
(show (near? -62.54065203274615 (cdr (j* (logistic 20) '(.3 . 3.7) '(0 . 1))))) ; expect: #t
; A pendulum, 500 steps of symplectic Euler: the derivatives of the last q by the first q and the first p.
(define (pendulum (cons q p))
  (let loop ((q q) (p p) (i 0))
    (if (= i 500)
        q
        (let ((q (+ q (* 1e-2 p)))) (loop q (- p (* 1e-2 (sin q))) (+ i 1))))))
(show (near? -.6626230895735788 (cdr (j* pendulum '(1 . 0) '(1 . 0))))) ; expect: #t
(show (near? -1.142301891104628 (cdr (j* pendulum '(1 . 0) '(0 . 1))))) ; expect: #t
(show (both (lambda (r) (and (near? -.6626230895735788 (cadr r)) (near? -1.142301891104628 (cddr r)))) pendulum '(1 . 0) 1)) ; expect: #t
; x to the x by exp and log.
(show (both (lambda (r) (near? 6.772588722239782 (cdr r))) (lambda (x) (exp (* x (log x)))) 2 1)) ; expect: #t
; The determinant of the slides: elimination over lists.
(define (matrix-rows a) (if (null? a) 0 (+ (matrix-rows (cdr a)) 1)))
(define (matrix-ref a i j) (list-ref (list-ref a i) j))
(define (list-set l i x) (if (zero? i) (cons x (cdr l)) (cons (car l) (list-set (cdr l) (- i 1) x))))
(define (matrix-set a i j x) (list-set a i (list-set (list-ref a i) j x)))
(define (map-n f n) (if (zero? n) () (cons (f (- n 1)) (map-n f (- n 1)))))
(define (identity-matrix n) (map-n (lambda (i) (map-n (lambda (j) (if (= i j) 1 0)) n)) n))
(define (determinant a)
  (let ((n (matrix-rows a)))
    (let loop ((i 0) (b a) (d 1))
      (if (= i n)
          d
          (let* ((c (matrix-ref b i i))
                 (b (let loop ((j i) (b b))
                      (if (= j n) b (loop (+ j 1) (matrix-set b i j (/ (matrix-ref b i j) c)))))))
            (loop (+ i 1)
                  (let loop ((j (+ i 1)) (b b))
                    (if (= j n)
                        b
                        (loop (+ j 1)
                              (let ((e (matrix-ref b j i)))
                                (let loop ((k (+ i 1)) (b b))
                                  (if (= k n)
                                      b
                                      (loop (+ k 1)
                                            (matrix-set b j k (- (matrix-ref b j k) (* e (matrix-ref b i k)))))))))))
                  (* d c)))))))
(show (determinant (cdr (checkpoint-*j determinant (identity-matrix 3) 1)))) ; expect: 1.0
(show (determinant (cdr (*j determinant (identity-matrix 7) 1)))) ; expect: 1.0
(show (both (lambda (r) (and (near? 5 (car r)) (near? 3 (caadr r)) (near? -1 (cadadr r)) (near? -1 (caaddr r)) (near? 2 (cadr (caddr r))))) ; expect: #t
            determinant '((2 1) (1 3)) 1))
(define (hilbert n) (build-list n (lambda (i) (build-list n (lambda (j) (/ 1. (+ i j 1)))))))
(show (same? (modes determinant (hilbert 6) 1))) ; expect: #t
