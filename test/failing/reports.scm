; What programs report to a host that listens: each report once and in order, whatever is refused and wherever a schedule replays it.

(define (lines n x) (let loop ((i 0) (x x)) (if (= i n) x (begin (report 'step i 'of n "a name with spaces" x 'half (list->tensor '((.5)))) (loop (+ i 1) (* .5 x))))))

;;; case reports
(write (lines 20 1.5))
(report 'done 1)

;;; case reports of a gradient that replays
; flags: --checkpoint=binomial,base=16,snapshots=2
(write (checkpoint-*j (lambda (x) (lines 20 x)) 1.5 1))

;;; case reports of gradients in each other
; flags: --checkpoint=bisection,base=16
(write (checkpoint-*j (lambda (x) (cdr (checkpoint-*j (lambda (y) (* x (lines 6 y))) x 1))) 1.5 1))

;;; case reports before an error that is handled, and of its handler
(write (call-with-error-handler (lambda (message irritants) (report 'handled 1) 0) (lambda () (lines 3 1.5) (report 'x 'y))))
(report 'last 2)

;;; case reports on the emulated device
; flags: --device=emulated --checkpoint=online,base=16
(define (f x) (let loop ((i 0) (x x)) (if (= i 12) (sumall x) (begin (report 'sum (sumall x)) (loop (+ i 1) (tanh x))))))
(write (car (checkpoint-*j f (fill '(4) .5) 1)))

;;; case effects of a gradient that begins again for want of memory
(define (f x) (begin (write x) (report 'x x) (* x x (random-real) (random-real))))
(write (checkpoint-*j f 3. 1))
(write (random-real))

;;; case reports beside tiles, and of tiles that do not fit
; flags: --memory=4MiB
(define (image n) (sin (view (arange (* n n) 'f32) (list 1 1 n n))))
(define (net x) (begin (report 'size (caddr (size x))) (permute (dropout (permute x '(0 2 3 1)) .5 7) '(0 3 1 2))))
(write (car (*j (lambda (x) (sumall (tiled net x 2))) (image 6) 1)))
(write (call-with-error-handler (lambda (message irritants) (report 'handled 1) message)
                                (lambda () (tiled (lambda (x) (softmax (expand-tensor (mean (net x) '(2 3) #t) '(1 1 1000 4000)) 3)) (image 6)))))
