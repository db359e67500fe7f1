; primops, interrupt, resume, capsules: counted steps, capsules used again, nesting.
;;; case equalities
(define (show x) (write x) (newline))
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define total (primops fib 12))
(show (and (exact? total) (> total 100)))                     ; expect: #t
(show (= total (primops fib 12)))                             ; expect: #t
(define (check n)
  (let ((z (interrupt fib 12 n)))
    (and (capsule? z)
         (= (capsule-steps z) (min n total))
         (eq? (capsule-finished? z) (>= n total))
         (= (resume z) 144)
         (= total (+ (capsule-steps z) (primops resume z))))))
(define (all? p from to step) (or (> from to) (and (p from) (all? p (+ from step) to step))))
(show (all? check 0 total 37))                                ; expect: #t
(show (all? check 0 60 1))                                    ; expect: #t
(show (all? check (- total 20) (+ total 5) 1))                ; expect: #t
;;; case resume-again-and-again
(define (show x) (write x) (newline))
(define (f x) (let loop ((i 0) (acc '())) (if (= i x) (reverse acc) (loop (+ i 1) (cons (* i i) acc)))))
(define z (interrupt f 5 20))
(show (list (resume z) (resume z) (resume z)))                ; expect: ((0 1 4 9 16) (0 1 4 9 16) (0 1 4 9 16))
(show (= (primops resume z) (primops resume z)))              ; expect: #t
(show (capsule-steps z))                                      ; expect: 20
;;; case capsule-of-a-capsule
(define (show x) (write x) (newline))
(define (f n) (if (= n 0) 0 (+ n (f (- n 1)))))
(define total (primops f 50))
(define z1 (interrupt f 50 100))
(define z2 (interrupt resume z1 100))
(define z3 (interrupt resume z2 50))
(show (list (capsule-steps z1) (capsule-steps z2) (capsule-steps z3))) ; expect: (100 100 50)
(show (list (resume z1) (resume z2) (resume z3)))             ; expect: (1275 1275 1275)
(show (= total (+ 250 (primops resume z3))))                  ; expect: #t
(show (= total (+ 200 (primops resume z2))))                  ; expect: #t
;;; case sliced-a-thousand-times-does-not-nest
(define (show x) (write x) (newline))
(define (f n) (if (= n 0) 0 (+ n (f (- n 1)))))
(define (run z slices) (if (capsule-finished? z) (cons (resume z) slices) (run (interrupt resume z 7) (+ slices 1))))
(define total (primops f 2000))
(define r (run (interrupt f 2000 7) 1))
(show (car r))                                                ; expect: 2001000
(show (= (cdr r) (quotient (+ total 6) 7)))                   ; expect: #t
;;; case one-step-at-a-time
(define (show x) (write x) (newline))
(define (f n) (let loop ((i n) (l '())) (if (= i 0) (map (lambda (x) (* x x)) l) (loop (- i 1) (cons i l)))))
(define total (primops f 10))
(define (run z steps) (if (capsule-finished? z) (list (resume z) (= steps total)) (run (interrupt resume z 1) (+ steps 1))))
(show (run (interrupt f 10 0) 0))                             ; expect: ((1 4 9 16 25 36 49 64 81 100) #t)
;;; case zero-steps
(define (show x) (write x) (newline))
(define (f x) (* x 2))
(define z (interrupt f 21 0))
(show (list (capsule-steps z) (capsule-finished? z) (resume z))) ; expect: (0 #f 42)
(show (= (primops f 21) (primops resume z)))                  ; expect: #t
;;; case finished
(define (show x) (write x) (newline))
(define (f x) (list x x))
(define z (interrupt f 1 1000000))
(show (list (capsule-finished? z) (resume z) (= (capsule-steps z) (primops f 1)))) ; expect: (#t (1 1) #t)
(show (capsule-finished? (interrupt f 1 (primops f 1))))      ; expect: #t
(show (capsule-finished? (interrupt f 1 (- (primops f 1) 1)))) ; expect: #f
;;; case finished-resume-takes-no-steps
(define (f x) (list x x))
(write (primops resume (interrupt f 1 1000)))                 ; expect: 0
;;; case integer-valued-flonum-count
(define (f n) (if (= n 0) 0 (+ n (f (- n 1)))))
(write (capsule-steps (interrupt f 50 100.)))                 ; expect: 100
;;; case interrupt-inside-interrupt
(define (show x) (write x) (newline))
(define (inner n) (if (= n 0) 0 (+ n (inner (- n 1)))))
(define (outer n) (let ((z (interrupt inner n 40))) (list (capsule-steps z) (resume z))))
(define total (primops outer 30))
(define (check n) (equal? (resume (interrupt outer 30 n)) '(40 465)))
(define (sum-check n) (= total (+ n (primops resume (interrupt outer 30 n)))))
(define (all? p i) (or (> i total) (and (p i) (all? p (+ i 1)))))
(show (all? check 0))                                         ; expect: #t
(show (let loop ((i 0)) (or (> i total) (and (sum-check i) (loop (+ i 1)))))) ; expect: #t
;;; case primops-inside-interrupt
(define (show x) (write x) (newline))
(define (inner n) (if (= n 0) 0 (+ n (inner (- n 1)))))
(define (outer n) (- (primops inner n) (primops inner n)))
(define total (primops outer 30))
(define (all? i) (or (> i total) (and (= 0 (resume (interrupt outer 30 i))) (all? (+ i 1)))))
(show (all? 0))                                               ; expect: #t
;;; case interrupt-of-primops-and-of-resume
(define (show x) (write x) (newline))
(define (f n) (if (= n 0) 0 (+ n (f (- n 1)))))
(define z (interrupt f 40 100))
(define (g z) (cons (resume z) (primops resume z)))
(define expected (g z))
(define total (primops g z))
(define (all? i) (or (> i total) (and (equal? expected (resume (interrupt g z i))) (all? (+ i 3)))))
(show (all? 0))                                               ; expect: #t
;;; case output-when-it-is-new
(define (noisy n) (if (= n 0) (newline) (begin (display n) (noisy (- n 1)))))
(define z (interrupt noisy 9 30))
(resume z)                                                    ; expect: 987654321
(define (all i) (if (= i 3) 'end (let ((z (interrupt noisy 5 (* i 100)))) (resume z) (all (+ i 1)))))
(all 0) ; expect: 54321
        ; expect: 54321
        ; expect: 54321
;;; case higher-order-and-values
(define (show x) (write x) (newline))
(define z (interrupt (lambda (x) (map (lambda (y) (* x y)) '(1 2 3))) 2 5))
(show (resume z))                                             ; expect: (2 4 6)
(show (map resume (list z z)))                                ; expect: ((2 4 6) (2 4 6))
(show (apply resume (list z)))                                ; expect: (2 4 6)
(show (map capsule? (list z 1 '() car)))                      ; expect: (#t #f #f #f)
(show (procedure? resume))                                    ; expect: #t
(show (let ((zs (map (lambda (n) (interrupt (lambda (x) (* x x)) 7 n)) (iota 6)))) (map resume zs))) ; expect: (49 49 49 49 49 49)
;;; case tail-call-of-resume
(define (f n) (if (= n 0) 'done (f (- n 1))))
(define (chain i) (if (= i 0) 'end (begin (resume (interrupt f 3 2)) (chain (- i 1)))))
(write (chain 20000))                                         ; expect: end
;;; case a-program-that-resumes-itself-in-slices
(define (work n) (if (= n 0) '() (cons n (work (- n 1)))))
(define (scheduler zs results)
  (if (null? zs)
      (reverse results)
      (let ((z (interrupt resume (car zs) 11)))
        (if (capsule-finished? z)
            (scheduler (cdr zs) (cons (length (resume z)) results))
            (scheduler (append (cdr zs) (list z)) results)))))
(write (scheduler (map (lambda (n) (interrupt work n 0)) '(30 10 20)) '())) ; expect: (10 20 30)
;;; case random-numbers-inside
(define (f n) (if (= n 0) '() (cons (random-real) (f (- n 1)))))
(define z (interrupt f 5 10))
(write (length (resume z)))                                   ; expect: 5
;;; case negative-count
(interrupt (lambda (x) x) 1 -1)
; expect error: interrupt.*-1
; expect location: 1
;;; case fractional-count
(interrupt (lambda (x) x) 1 2.5)
; expect error: interrupt.*2\.5
; expect location: 1
;;; case count-that-is-no-number
(interrupt (lambda (x) x) 1 'many)
; expect error: interrupt.*many
;;; case infinite-count
(interrupt (lambda (x) x) 1 +inf.0)
; expect error: interrupt.*inf
;;; case resume-of-a-list
(resume '(1 2))
; expect error: resume.*capsule.*\(1 2\)
; expect location: 1
;;; case capsule-steps-of-a-number
(capsule-steps 5)
; expect error: capsule-steps.*capsule.*5
;;; case capsule-finished-of-a-number
(capsule-finished? 5)
; expect error: capsule-finished\?.*capsule.*5
;;; case interrupt-of-a-number
(interrupt 5 1 1)
; expect error: procedure
;;; case primops-of-a-wrong-arity
(primops (lambda (a b) a) 1)
; expect error: argument
;;; case error-inside-an-interrupted-computation
(define (f x) (car x))
(define z (interrupt f 5 0))
(write 'interrupted) ; expect: interrupted
(resume z)
; expect error: car
; expect location: 1
;;; case error-inside-primops
(define (f x) (vector-ref x 3))
(primops f (vector 1 2))
; expect error: vector-ref
; expect location: 1
