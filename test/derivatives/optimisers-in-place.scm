; A million bytes of parameters in a budget that holds as many copies as each optimiser needs, and not one more: parameters, state, cotangent and one
; intermediate tensor, for Lion two.
(import network)
(define (loss p) (sumall (* p p)))
(define (train rule p state steps)
  (if (= steps 0)
      (sumall p)
      (let (((list value p state) (checkpoint-*j-update! loss p 1 rule state))) (train rule p state (- steps 1)))))
(define (run rule) (write (< (train rule (fill '(1000 250) 1.) 0 5) 250000)) (newline))
;;; case sgd
; flags: --memory=3500KB
(run (sgd .1))            ; expect: #t
;;; case momentum-nesterov-adagrad-rmsprop
; flags: --memory=4500KB
(run (momentum .1))       ; expect: #t
(run (nesterov .1))       ; expect: #t
(run (adagrad .1))        ; expect: #t
(run (rmsprop .1))        ; expect: #t
;;; case adam-adamw-lion
; flags: --memory=5500KB
(run (adam .1))           ; expect: #t
(run (adamw .1))          ; expect: #t
(run (lion .1))           ; expect: #t
;;; case value-of-tensors
; A value may hold tensors that are no leaves, as statistics are; among them a leaf is found, a view of one too.
(define (loss kept) (lambda (p) (cons (sumall (square (car p))) (kept p))))
(define (step kept) (checkpoint-*j-update! (loss kept) (list (fill '(3) 1.) (fill '(2) 2.)) '(1 . 0) (sgd .25) 0))
(write (tensor->list (caadr (step (lambda (p) (list (fill '(3) 5.) (* 2 (car p)) (zeros '(1))))))))
; expect: (0.5 0.5 0.5)
;;; case leaf-among-tensors
(define (loss p) (cons (sumall (square (car p))) (list (fill '(3) 5.) (narrow-tensor (cadr p) 0 0 1))))
(checkpoint-*j-update! loss (list (fill '(3) 1.) (fill '(2) 2.)) '(1 . 0) (sgd .25) 0)
; expect error: checkpoint-\*j-update!: something else holds a leaf: the value of the procedure
