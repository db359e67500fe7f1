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
