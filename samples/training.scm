; Differentiation through a training loop: how should the learning rate be chosen? Gradient descent, whose every step calls *j, is itself
; inside checkpoint-*j, which differentiates the final loss with respect to the logarithm of the rate.
;
;     vmrun samples/training.scm --steps=200
;
; prints the loss after so many steps of descent and its derivative. The peak of memory grows with the logarithm of the number of steps.

; A line through noisy points: the model is (slope . offset), the loss the mean of the squared errors.
(define inputs '(-1.5 -1.0 -0.5 0.0 0.5 1.0 1.5 2.0))
(define outputs '(-2.1 -1.2 0.1 0.9 2.1 2.8 4.2 5.1))

(define (loss (cons slope offset))
  (let loop ((xs inputs) (ys outputs) (sum 0) (count 0))
    (if (null? xs)
        (/ sum count)
        (let ((miss (- (+ (* slope (car xs)) offset) (car ys))))
          (loop (cdr xs) (cdr ys) (+ sum (* miss miss)) (+ count 1))))))

(define (descend (cons slope offset) (cons slope-cotangent offset-cotangent) rate)
  (cons (- slope (* rate slope-cotangent)) (- offset (* rate offset-cotangent))))

(define ((train rounds) log-rate)
  (let ((rate (exp log-rate)))
    (let loop ((i 0) (model (cons 0.0 0.0)))
      (if (= i rounds)
          (loss model)
          (loop (+ i 1) (descend model (cdr (*j loss model 1)) rate))))))

(define option (command-line-options '((steps 100))))
(let ((result (checkpoint-*j (train (option 'steps)) (log 0.01) 1)))
  (write-real (car result))
  (write-real (cdr result)))
