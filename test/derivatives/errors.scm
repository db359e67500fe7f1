; Bad tangents, cotangents, schedules; errors inside what is differentiated.
;;; case cotangent-that-is-no-number
(define (f x) (* x x))
(*j f 3 'a)
; expect error: cotangent.*a
; expect location: 2
;;; case cotangent-that-is-a-string
(*j (lambda (x) (* x x)) 3 "1")
; expect error: cotangent.*"1"
; expect location: 1
;;; case checkpointed-cotangent-that-is-no-number
(checkpoint-*j (lambda (x) (* x x)) 3 #t)
; expect error: cotangent.*#t
; expect location: 1
;;; case number-for-a-pair
(*j (lambda (x) (cons x x)) 3 1)
; expect error: cotangent
; expect location: 1
;;; case pair-for-a-number
(*j (lambda (x) x) 3 '(1 . 2))
; expect error: cotangent.*\(1 \. 2\)
; expect location: 1
;;; case list-too-short
(*j (lambda (x) (list x x)) 3 '(1))
; expect error: cotangent
; expect location: 1
;;; case vector-too-short
(*j (lambda (x) (vector x x)) 3 (vector 1))
; expect error: cotangent
; expect location: 1
;;; case list-for-a-vector
(*j (lambda (x) (vector x x)) 3 '(1 1))
; expect error: cotangent
;;; case checkpointed-shape
(checkpoint-*j (lambda (x) (list x (vector x))) 3 (list 1 (vector 1 2)))
; expect error: cotangent
; expect location: 1
;;; case checkpointed-shape-under-a-fine-schedule
(define (f x) (let loop ((i 0) (y x)) (if (= i 20) (list y) (loop (+ i 1) (* y y)))))
(with-schedule "binomial,base=16"
  (lambda ()
    (cdr
      (checkpoint-*j f 1 '(1 2)))))
; expect error: cotangent
; expect location: 5
;;; case tangent-number-for-a-pair
(j* (lambda (x) (car x)) '(1 . 2) 1)
; expect error: tangent
; expect location: 1
;;; case tangent-pair-for-a-number
(j* (lambda (x) x) 3 '(1 . 2))
; expect error: tangent.*\(1 \. 2\)
;;; case tangent-symbol-for-a-number
(j* (lambda (x) x) 3 'one)
; expect error: tangent.*one
;;; case tangent-vector-of-another-length
(j* (lambda (x) (vector-ref x 0)) (vector 1 2) (vector 1))
; expect error: tangent
;;; case differentiating-a-number
(*j 5 3 1)
; expect error: procedure.*5|5.*procedure
; expect location: 1
;;; case differentiating-a-procedure-of-two-arguments
(*j (lambda (a b) a) 3 1)
; expect error: 2 arguments.*1
; expect location: 1
;;; case error-inside-reverse-mode
(define (f x)
  (car x))
(*j f 3 1)
; expect error: car.*pair.*3\.0
; expect location: 2:3
; expect error: in f at[\s\S]*:\d+:1$
;;; case error-inside-forward-mode
(define (f x) (vector-ref (vector x) 1))
(j* f 3 1)
; expect error: vector-ref.*1
; expect location: 1
;;; case error-inside-checkpointed-mode
(define (f x) (let loop ((i 0) (y x)) (if (= i 50) (+ y 'a) (loop (+ i 1) (* y y)))))
(with-schedule "bisection,base=16" (lambda () (checkpoint-*j f 1 1)))
; expect error: \+.*number.*a
; expect location: 1
;;; case error-inside-a-nested-derivative
(define (f x) (* x (cdr (*j (lambda (y) (* x (car y))) x 1))))
(checkpoint-*j f 3 1)
; expect error: car.*pair.*3\.0
; expect location: 1
;;; case unknown-schedule
(with-schedule "nonsense" (lambda () 1))
; expect error: nonsense
; expect location: 1
;;; case misspelt-schedule
(with-schedule "binominal" (lambda () 1))
; expect error: binominal
;;; case unknown-option-of-a-schedule
(with-schedule "binomial,colour=blue" (lambda () 1))
; expect error: colour
;;; case base-too-small
(with-schedule "binomial,base=15" (lambda () 1))
; expect error: 16
;;; case base-that-is-no-number
(with-schedule "binomial,base=many" (lambda () 1))
; expect error: base
;;; case zero-snapshots
(with-schedule "binomial,snapshots=0" (lambda () 1))
; expect error: snapshots
;;; case snapshots-of-bisection
(with-schedule "bisection,snapshots=3" (lambda () 1))
; expect error: snapshots
;;; case schedule-that-is-no-string
(with-schedule 'tape (lambda () 1))
; expect error: with-schedule.*tape
;;; case schedule-without-a-thunk
(with-schedule "tape" 5)
; expect error: procedure
;;; case spec-on-the-command-line
; flags: --checkpoint=nonsense
(write 1)
; expect exit: 2
; expect error: nonsense
; expect unlocated
;;; case infinite-recursion-under-reverse-mode
; flags: --memory=32MiB
(define (f x) (+ x (f (* x 1.))))
(*j f 1 1)
; expect exit: 3
; expect error: memory|budget
;;; case infinite-loop-fills-the-tape
; flags: --memory=32MiB
(define (f x) (f (* x 1.000001)))
(*j f 1 1)
; expect exit: 3
; expect error: tape
;;; case forward-mode-in-itself-without-end
(define (f x) (cdr (j* f x 1)))
(f 1.5)
; expect exit: 3
; expect error: more than 16 levels of forward mode
; expect location: 1
