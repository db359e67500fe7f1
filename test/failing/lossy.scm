; What a tape keeps in a smaller form or with an error, where memory is refused: test_failing runs it.
(define x (ReLU (- (rand '(2 4 16 16) 'f32 'cpu 1) .5)))
(define (f w) (sumall (convolve (ReLU (convolve x w 1 1)) w 1 1)))
(write (with-lossy-tape "relative=.05" (lambda () (sumall (cdr (checkpoint-*j f (rand '(4 4 3 3) 'f32 'cpu 2) 1.))))))
(write (with-lossy-tape "relative=.05,form=small" (lambda () (sumall (cdr (*j f (rand '(4 4 3 3) 'f32 'cpu 2) 1.))))))

(define w (rand '(4 4 3 3) 'f32 'cpu 2))
(write (with-lossy-tape "adaptive" (lambda () (let ((b (error-bounds (error-sensitivities f w) .01))) (sumall (cdr (checkpoint-*j f (allow-error w b) 1.)))))))
(write (sumall (cdr (*j (lambda (w) (sumall (max-pool (min (max (convolve x w 1 1) 1) 4) 2))) w 1.))))
(write (with-lossy-tape "relative=.05,operators=batch-normalization"
         (lambda () (sumall (cdr (checkpoint-*j (lambda (s) (sumall (sin (car (batch-normalization-training x s s))))) (fill '(4) 1.) 1.))))))
(write (with-lossy-tape "relative=.05,operators=layer-normalization+group-normalization"
         (lambda () (sumall (cdr (checkpoint-*j (lambda (s) (sumall (sin (group-normalization (layer-normalization x (fill '(16) 2.) (fill '(16) 1.)) s s 2)))) (fill '(4) 1.) 1.))))))
