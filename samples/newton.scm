; Newton's method with forward mode inside, differentiated from outside: the root of x^3 + x = a as a function of a.
;
;     vmrun samples/newton.scm
;
; prints the root for a = 3, and its derivative twice: by reverse mode through all iterations, and by the formula 1 / (3 x^2 + 1).

(define (root f start)
  (let loop ((x start) (i 0))
    (if (= i 40)
        x
        (let ((step (j* f x 1)))
          (loop (- x (/ (car step) (cdr step))) (+ i 1))))))

(define (solve a) (root (lambda (x) (- (+ (* x x x) x) a)) 1.0))

(let* ((result (*j solve 3 1)) (x (car result)))
  (write-real x)
  (write-real (cdr result))
  (write-real (/ 1 (+ (* 3 x x) 1))))
