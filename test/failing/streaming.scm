; Tensors that stream to a device that is too small for them: each request and each write to the disk refused while they come and go.

(define (net w x) (if (null? w) (mean (* x x)) (net (cdr w) (tanh (matmul x (car w))))))
(define (weights n) (map (lambda (i) (* .2 (randn '(32 32)))) (iota n)))

;;; case a training within the host's memory
; flags: --device=emulated,memory=16KiB,host=1MiB
(define x (randn '(8 32)))
(define (train n w)
  (if (= n 0)
      w
      (let ((r (*j (lambda (w) (net w x)) w 1)))
        (write (tensor->number (car r)))
        (train (- n 1) (map (lambda (a g) (- a g)) w (cdr r))))))
(write (map (lambda (t) (tensor->number (sumall t))) (train 3 (weights 6))))

;;; case updates, with a disk
; flags: --device=emulated,memory=20KiB,host=16KiB,disk=.,disk-size=1MiB
(define x (randn '(8 32)))
(define (rule p g s) (cons (- p g) s))
(define (train n w)
  (if (= n 0)
      w
      (let ((r (checkpoint-*j-update! (lambda (w) (net w x)) w 1 rule 0)))
        (write (tensor->number (car r)))
        (train (- n 1) (cadr r)))))
(write (map (lambda (t) (tensor->number (sumall t))) (train 3 (weights 5))))

;;; case weights that stream, activations that do not, and an error
; flags: --device=emulated,memory=16KiB
(define x (randn '(8 32)))
(define w (map (lambda (t) (to-device t 'streaming)) (weights 2)))
(write (tensor->number (car (checkpoint-*j (lambda (w) (net w x)) w 1))))
(write (call-with-error-handler (lambda (message irritants) message) (lambda () (net (list x) (car w)))))

;;; case a host that is full, without a disk, and memory that is locked
; flags: --device=emulated,memory=24KiB,host=24KiB,pinned=on
(define x (randn '(8 32)))
(write (tensor->number (car (*j (lambda (w) (net w x)) (weights 4) 1))))
(write (call-with-error-handler (lambda (message irritants) message) (lambda () (net (list x) x))))

;;; case plans as values: recorded, followed and recorded anew
; flags: --device=emulated,memory=16KiB,host=1MiB
(define x (randn '(8 32)))
(define (step w) (map (lambda (a g) (- a (* .1 g))) w (cdr (*j (lambda (w) (net w x)) w 1))))
(define w (weights 5))
(define plan (get-streaming-plan step w))
(write (car plan))
(define (train n w) (if (= n 0) w (train (- n 1) (call-with-streaming-plan plan step w))))
(write (map (lambda (t) (tensor->number (sumall t))) (train 3 w)))
(write (equal? plan (get-streaming-plan step w)))

;;; case plans as values, with a disk, in calls within each other and of what is interrupted
; flags: --device=emulated,memory=20KiB,host=16KiB,disk=.,disk-size=1MiB
(define x (randn '(8 32)))
(define (forward w) (net w x))
(define (outer w) (car (get-streaming-plan forward w)))
(define w (weights 4))
(define z (interrupt (lambda (w) (get-streaming-plan forward w)) w 40))
(write (car (resume z)))
(write (car (resume z)))
(write (get-streaming-plan outer w))
(define plan (get-streaming-plan forward w))
(define y (interrupt (lambda (w) (call-with-streaming-plan plan forward w)) w 40))
(write (tensor->number (+ (resume y) (resume y))))
(write (call-with-error-handler (lambda (message irritants) message) (lambda () (call-with-streaming-plan (narrow-tensor (cadr plan) 0 0 50) forward w))))
(write (call-with-error-handler (lambda (message irritants) message) (lambda () (get-streaming-plan (lambda (w) (error "ended")) w))))
