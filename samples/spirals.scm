; The smallest training: two spirals, a perceptron of the library, Adam inside the sweep of checkpoint-*j-update!.
;
;     vmrun samples/spirals.scm --steps=400
;
; prints the loss before the last of so many steps and the part of the points that are told apart, which is above .95 after 400.
(import network)
(define option (command-line-options '((steps 400))))

(define points 96)
(define (spiral turned)
  (build-list points (lambda (i)
    (let* ((radius (+ .1 (/ i points))) (angle (+ turned (* 6 radius))))
      (list (* radius (cos angle)) (* radius (sin angle)))))))
(define inputs (list->tensor (append (spiral 0) (spiral (* 4 (atan 1))))))
(define classes (list->tensor (append (build-list points (lambda (i) 0)) (build-list points (lambda (i) 1))) 'i64))

(define (logits network) (perceptron tanh network inputs))
(define (loss network) (tensor->number (cross-entropy-loss (logits network) classes)))

(define (train network state last steps)
  (if (= steps 0)
      (begin (write-real last) (write-real (accuracy (logits network) classes)))
      (let (((list value network state) (checkpoint-*j-update! loss network 1 (adam .01) state)))
        (report 'loss value)
        (train network state value (- steps 1)))))

(train (new-perceptron '(2 32 32 2)) 0 +inf.0 (option 'steps))
