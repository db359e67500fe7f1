; Tiles that are dealt over devices, and what they are made of: each request refused while copies go out and come home.

(define x (view (sin (arange 60 'f64 'cpu)) '(1 2 6 5)))
(define w (view (cos (arange 36 'f64 'cpu)) '(2 2 3 3)))
(define (net w x) (max-pool (tanh (convolve x w 1 1)) 2))
(define (loss w devices) (sumall (square (tiled (lambda (x) (net w x)) x 2 devices))))
(define (gradient-of devices) (sumall (abs (cdr (*j (lambda (w) (loss w devices)) w 1)))))

;;; case dealt over two devices
; flags: --device=cpu --device=emulated:0 --device=emulated:1
(write (gradient-of '(emulated:0 emulated:1)))

;;; case as many as the devices have room for
; flags: --device=cpu --device=emulated:0,memory=4KiB --device=emulated:1
(write (sumall (tiled (lambda (x) (net w x)) x #f '(emulated:1 emulated:0))))

;;; case the first device beside the processor, in a checkpointed run
; flags: --device=emulated --device=emulated:1 --checkpoint=binomial,base=200,snapshots=2
(define x (view (sin (arange 60 'f64)) '(1 2 6 5)))
(define w (view (cos (arange 36 'f64)) '(2 2 3 3)))
(write (sumall (car (cdr (checkpoint-*j (lambda (l) (sumall (tiled (lambda (x) (net (car l) x)) x 2 '(emulated:1 cpu)))) (list w) 1)))))

;;; case a derivative of the derivative
; flags: --device=cpu --device=emulated:0
(write (sumall (cdr (j* (lambda (w) (cdr (*j (lambda (w) (loss w '(emulated:0 cpu))) w 1))) w w))))

;;; case by other factors, with what is stopped, and a refusal that no handler gets
(define (f x) (* (interpolate-to-size x '(4 7)) (stop-gradient (interpolate-to-size (sin x) '(4 7) 'linear #t))))
(write (sumall (cdr (*j (lambda (x) (sumall (tiled f x 2))) x 1))))
(write (call-with-error-handler (lambda (message irritants) message) (lambda () (tiled (lambda (x) (if (> (sumall x) 0) x (f x))) x 2))))
