; Random numbers are drawn once: whatever is replayed draws what it drew before, and the numbers behind it are those that would follow
; if nothing had been replayed. The first ones of a machine are .4793099186055877 .323895924592449 .8435087791280748 .9709121943055644.
(define (cube x) (* x x x (random-real)))
(define (d operator f) (lambda (x) (cdr (operator f x 1))))
(define (show x) (write x) (newline))
; Draws 15 numbers in three inner gradients, and 3 between them.
(define (long x) (let loop ((i 0) (y x)) (if (= i 5) y (loop (+ i 1) (* (sin y) (+ 1 (random-real)))))))
(define (sum-of-slopes x) (let loop ((i 0) (s 0)) (if (= i 3) s (loop (+ i 1) (+ s (* (random-real) (cdr (checkpoint-*j long (+ x i) 1))))))))
;;; case forward-over-reverse
(show ((d j* (d *j cube)) 3.))                 ; expect: 8.627578534900579
(show (random-real))                           ; expect: 0.323895924592449
;;; case reverse-over-reverse
(show ((d *j (d *j cube)) 3.))                 ; expect: 8.627578534900579
(show (random-real))                           ; expect: 0.323895924592449
;;; case third-derivatives
(show ((d *j (d checkpoint-*j (d *j cube))) 3.)) ; expect: 2.8758595116335264
(show (random-real))                           ; expect: 0.323895924592449
;;; case several-inner-operators
(define (g x) (let* ((a (cdr (*j cube x 1))) (r (random-real)) (b (cdr (checkpoint-*j cube x 1)))) (+ a (* r b))))
(define x (+ .4793099186055877 (* .323895924592449 .8435087791280748)))
(show (< (abs (- ((d *j g) 3.) (* 6 3. x))) 1e-13)) ; expect: #t
(show (random-real))                           ; expect: 0.9709121943055644
;;; case dropout
(define (f x) (let ((y (dropout x .5))) (sumall (* y y y))))
(define (g x) (sumall (* x (cdr (*j f x 1)))))
(define t (list->tensor (iota 8) 'f64))
(show (tensor->list (cdr (*j g t 1))))         ; expect: (0.0 72.0 288.0 0.0 1152.0 1800.0 2592.0 0.0)
(show (random-real))                           ; expect: 0.323895924592449
;;; case dropout-in-forward-over-reverse
(define (f x) (let ((y (dropout x .5))) (sumall (* y y y))))
(define t (list->tensor (iota 8) 'f64))
(show (tensor->list (cdr (j* (lambda (x) (cdr (*j f x 1))) t t)))) ; expect: (0.0 48.0 192.0 0.0 768.0 1200.0 1728.0 0.0)
(show (random-real))                           ; expect: 0.323895924592449
;;; case under-tape
; flags: --checkpoint=tape
(show (checkpoint-*j sum-of-slopes .3 1))      ; expect: (-0.25553378057669174 . 1.6018979637715516)
(show (random-real))                           ; expect: 0.7576758375740588
;;; case under-bisection-base-16
; flags: --checkpoint=bisection,base=16
(show (checkpoint-*j sum-of-slopes .3 1))      ; expect: (-0.25553378057669174 . 1.6018979637715516)
(show (random-real))                           ; expect: 0.7576758375740588
;;; case under-binomial-base-16-snapshots-2
; flags: --checkpoint=binomial,base=16,snapshots=2
(show (checkpoint-*j sum-of-slopes .3 1))      ; expect: (-0.25553378057669174 . 1.6018979637715516)
(show (random-real))                           ; expect: 0.7576758375740588
;;; case under-sqrt-base-16
; flags: --checkpoint=sqrt,base=16
(show (checkpoint-*j sum-of-slopes .3 1))      ; expect: (-0.25553378057669174 . 1.6018979637715516)
(show (random-real))                           ; expect: 0.7576758375740588
;;; case under-online-base-16
; flags: --checkpoint=online,base=16
(show (checkpoint-*j sum-of-slopes .3 1))      ; expect: (-0.25553378057669174 . 1.6018979637715516)
(show (random-real))                           ; expect: 0.7576758375740588
;;; case under-auto
; flags: --checkpoint=auto
(show (checkpoint-*j sum-of-slopes .3 1))      ; expect: (-0.25553378057669174 . 1.6018979637715516)
(show (random-real))                           ; expect: 0.7576758375740588
;;; case interrupted-and-resumed
; What a resumed computation draws for the first time is new, as its output is; what it had drawn before stays, in replays as well.
; flags: --checkpoint=binomial,base=16
(define (wait n x) (if (= n 0) x (wait (- n 1) x)))
(define (f x) (let* ((a (random-real)) (x (wait 40 x)) (b (random-real)) (x (wait 40 x)) (c (random-real))) (* x x a b c)))
(define (product n operator)
  (let* ((z (interrupt (lambda (x) (cdr (operator f x 1))) 1. n)) (between (random-real)) (slope (resume z)) (after (random-real)))
    (show (list between slope after))))
(product 150 *j)            ; expect: (0.8435087791280748 0.30146149675087786 0.9062435892494598)
(product 150 checkpoint-*j) ; expect: (0.03910575677106243 0.23773321274019923 0.051259927375325365)
(product 600 *j)            ; expect: (0.41421160438228555 0.029440399386405178 0.592095121412443)
(product 600 checkpoint-*j) ; expect: (0.7576758375740588 0.6274221378763872 0.15129238894314112)
