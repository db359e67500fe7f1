; Values of f that others of its values are made of, values without elements, and corners that stay corners: as without tiles, derivatives too.
(define x (randn '(1 2 6 8) 'f64 #f 1))
(define (close? a b)
  (cond ((pair? a) (and (close? (car a) (car b)) (close? (cdr a) (cdr b))))
        ((vector? a) (close? (vector->list a) (vector->list b)))
        ((tensor? a) (and (equal? (size a) (size b)) (or (member 0 (size a)) (< (tensor->number (max-over (abs (- a b)))) 1e-12))))
        (else (equal? a b))))
(define (ones-like y)
  (cond ((pair? y) (cons (ones-like (car y)) (ones-like (cdr y)))) ((vector? y) (vector-map ones-like y)) ((tensor? y) (fill (size y) 1 'f64)) (else 0)))
(define (all? holds? l) (or (null? l) (and (holds? (car l)) (all? holds? (cdr l)))))
(define (same? f)
  (all? (lambda (tiles)
          (let ((g (lambda (x) (tiled f x tiles))) (c (ones-like (f x))))
            (and (close? (f x) (g x)) (close? (cdr (*j f x c)) (cdr (*j g x c))) (close? (cdr (checkpoint-*j f x c)) (cdr (checkpoint-*j g x c)))
                 (close? (cdr (j* f x (cos x))) (cdr (j* g x (cos x)))))))
        '(1 2 (3 1))))
;;; case a-result-that-is-reduced
(write (map same? (list (lambda (x) (let ((y (sin x))) (cons (sum y) y))) (lambda (x) (let ((y (sin x))) (list y (mean y '(2 3)) (variance y '(2 3) #t))))
                        (lambda (x) (let ((y (max-pool x 2))) (vector y (cumulative-sum y 2)))))))
; expect: (#t #t #t)
;;; case a-result-that-others-read
(write (map same? (list (lambda (x) (let ((y (adaptive-max-pool x '(3 4)))) (list y (tanh y)))) (lambda (x) (let ((y (cumulative-sum x 2))) (list (tanh y) y (mean y)))))))
; expect: (#t #t)
;;; case a-result-twice
(write (map same? (list (lambda (x) (let ((y (sin x))) (list y y (* 2 y)))) (lambda (x) (list x (sin x) x)))))
; expect: (#t #t)
;;; case no-elements
(write (map same? (list (lambda (x) (sin (slice x 1 2 2))) (lambda (x) (concat-tensors (list (sin x) (slice (cos x) 1 2 2)) 1))
                        (lambda (x) (* x (sum (slice x 1 2 2) '(1) #t))) (lambda (x) (softmax (slice x 2 3 3) 1)) (lambda (x) (flip (tile (slice x 0 1 1) '(1 1 2 2)) '(3))))))
; expect: (#t #t #t #t #t)
;;; case corners
(write (map same? (list (lambda (x) (interpolate x 2 'linear #t)) (lambda (x) (interpolate-linear x '(18 8) #t)) (lambda (x) (sin (interpolate (cos x) '(1 3) 'linear #t)))
                        (lambda (x) (interpolate x 2 'linear #f)))))
; expect: (#t #t #t #t)
;;; case structures
(write (map same? (list (lambda (x) (parameters-map sin (list x (cos x)))) (lambda (x) (parameters->list (vector x (sin x)))) (lambda (x) (if (vector? x) x (sin x))))))
; expect: (#t #t #t)
