; Programs that the seeds of modules and capsules are made of, one behind each line `;;; NAME`. Together they use every run operator, in each
; other too, updates, schedules, effects and procedures of the host. What has a streaming plan runs where tensors stream. The operators on tensors are
; in operators.txt.
;;; list
(define (up n a) (if (= n 0) a (up (- n 1) (cons n a))))
(write (up 20 '()))
;;; deep
(define (f n) (if (= n 0) 0.5 (+ 1 (f (- n 1)))))
(write (f 40))
;;; shared
(define x (vector 1.5 "text" 'symbol #\c #t))
(define y (list x x (lambda (z) (vector-ref x z))))
(write (car y))
;;; closures
(define (even n) (letrec ((e (lambda (n) (if (= n 0) #t (o (- n 1))))) (o (lambda (n) (if (= n 0) #f (e (- n 1)))))) (e n)))
(write (even 20))
;;; texts
(define s (string-append "abc" (number->string 1.5) (symbol->string 'def)))
(write (list (string->list s) (substring s 1 3) (string->symbol s) (list->string (list #\a (integer->char 955)))))
;;; rest
(define (f a . l) (if (null? l) a (apply f (+ a (car l)) (cdr l))))
(write (apply f 1 (list 2 3 4 5)))
;;; patterns
(define (f (cons a (list b 'c)) . l) (vector a b l))
(write (f (list 1 2 'c) 3 4))
;;; effects
(define (f n x) (if (= n 0) x (begin (write-real x) (f (- n 1) (* x (random-real) (random-normal))))))
(write (with-schedule "sqrt,base=16" (lambda () (checkpoint-*j (lambda (x) (f 6 x)) 1.5 1.))))
;;; forward
(write (j* (lambda (x) (j* (lambda (y) (* x (sin y))) x 1.0)) 2.0 1.0))
;;; reverse
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(write (*j (lambda (x) (p 20 x)) 0.5 1.0))
;;; structures
(define (f x) (cons (* (car x) (vector-ref (cdr x) 0)) (lambda (y) (* y (vector-ref (cdr x) 1)))))
(write (car (*j (lambda (x) ((cdr (f x)) (car (f x)))) (cons 2. (vector 3. 4.)) 1.)))
;;; checkpoint
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(write (with-schedule "binomial,base=16,snapshots=3" (lambda () (checkpoint-*j (lambda (x) (p 60 x)) 0.5 1.0))))
;;; passes
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(write (with-schedule "binomial,base=16,passes=2" (lambda () (checkpoint-*j (lambda (x) (p 40 x)) 0.5 1.0))))
;;; online
(define (p n x) (if (= n 0) x (* 1.01 (p (- n 1) (sin x)))))
(write (with-schedule "online,base=16,snapshots=3" (lambda () (checkpoint-*j (lambda (x) (p 30 x)) 0.5 1.0))))
;;; bisection
(define (p n x) (if (= n 0) x (* 1.01 (p (- n 1) (sin x)))))
(write (with-schedule "bisection,base=16" (lambda () (checkpoint-*j (lambda (x) (p 30 x)) 0.5 1.0))))
;;; tape
(define (p n x) (if (= n 0) x (p (- n 1) (sin x))))
(write (with-schedule "tape" (lambda () (checkpoint-*j (lambda (x) (p 30 x)) 0.5 1.0))))
;;; auto
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(write (checkpoint-*j (lambda (x) (p 20 x)) 0.5 1.0))
;;; budget
(define (p n x) (if (= n 0) x (p (- n 1) (tanh (* x 1.1)))))
(write (with-schedule "budget,memory=400KiB" (lambda () (checkpoint-*j (lambda (x) (sumall (p 40 x))) (fill '(20 20) .5) 1.0))))
(define (q n x) (if (= n 0) x (q (- n 1) (sin (* x 1.1)))))
(write (with-schedule "budget,memory=100KiB" (lambda () (checkpoint-*j (lambda (x) (q 60 x)) 0.5 1.0))))
;;; nested
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(write (*j (lambda (y) (cdr (with-schedule "binomial,base=16" (lambda () (checkpoint-*j (lambda (x) (p 9 (* x y))) 0.5 1.0))))) 0.7 1.0))
;;; forward-over-checkpoint
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(write (j* (lambda (y) (cdr (with-schedule "bisection,base=16" (lambda () (checkpoint-*j (lambda (x) (p 9 (* x y))) 0.5 1.0))))) 0.7 1.0))
;;; checkpoint-over-checkpoint
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(define (d x) (cdr (with-schedule "binomial,base=16,snapshots=2" (lambda () (checkpoint-*j (lambda (x) (p 5 x)) x 1.0)))))
(write (with-schedule "bisection,base=16" (lambda () (checkpoint-*j d 0.5 1.0))))
;;; reverse-over-reverse-over-reverse
(define (d f) (lambda (x) (cdr (*j f x 1.))))
(write ((d (d (d (lambda (x) (* x x x (sin x)))))) .5))
;;; checkpoint-over-forward
(define (d f) (lambda (x) (cdr (j* f x 1.))))
(write (with-schedule "sqrt,base=16" (lambda () (checkpoint-*j (d (d (lambda (x) (* x (sin x))))) .5 1.))))
;;; two-inner-gradients
(define (f x) (let ((a (cdr (*j (lambda (u) (* u u)) x x))) (b (cdr (*j (lambda (u) (* u u)) x x)))) (* a b)))
(write (with-schedule "tape" (lambda () (checkpoint-*j (lambda (x) (begin (*j f x 1) 1)) .3 1))))
;;; interrupt
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(define z (interrupt (lambda (x) (p 20 x)) 0.5 50))
(write (+ (resume z) (primops resume z)))
;;; capsules
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(write (*j (lambda (x) (resume (interrupt (lambda (y) (p 20 (* x y))) 0.5 50))) 2.0 1.0))
;;; capsule-of-a-gradient
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(define z (interrupt (lambda (x) (*j (lambda (x) (p 9 x)) x 1.)) .5 60))
(write (list (capsule-steps z) (capsule-finished? z) (resume z) (resume z)))
;;; capsule-of-a-checkpointed-gradient
(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))
(define z (interrupt (lambda (x) (with-schedule "binomial,base=16" (lambda () (checkpoint-*j (lambda (x) (p 9 x)) x 1.)))) .5 90))
(write (list (resume z) (primops resume z)))
;;; tensors
(define t (list->tensor '(.1 .2)))
(define (p n x) (if (= n 0) (sumall x) (p (- n 1) (tanh (* x (+ t (view (transpose (view x '(1 2))) '(2))))))))
(write (tensor->list (cdr (with-schedule "binomial,base=16,snapshots=2" (lambda () (checkpoint-*j (lambda (x) (p 8 x)) t 1.0))))))
;;; tensors-in-structures
(define x (list (fill '(2) .5) (vector 1.5 (fill '(2 2) .1)) (lambda (y) (* y (fill '(2) .3)))))
(define (f x) (sumall (+ ((caddr x) (car x)) (matmul (vector-ref (cadr x) 1) (car x)))))
(write (car (with-schedule "bisection,base=16" (lambda () (checkpoint-*j f x 1.)))))
;;; update
(define (rule p g s) (cons (- p (* .1 g)) s))
(define (p n x) (if (= n 0) (sumall (* (car x) (cdr x))) (p (- n 1) (cons (tanh (car x)) (cdr x)))))
(write (car (with-schedule "bisection,base=16" (lambda () (checkpoint-*j-update! (lambda (x) (p 8 x)) (cons (fill '(2) .5) (fill '(2) .3)) 1 rule 0)))))
;;; update-with-state
(define (rule p g s) (let ((s (+ (* .9 s) g))) (cons (- p (* .1 s)) s)))
(define (f x) (sumall (* (car x) (tanh (cdr x)))))
(write (car (*j-update f (cons (fill '(2) .5) (fill '(2) .3)) 1 rule 0)))
;;; update-in-place
(define (rule p g s) (cons (- p (* .1 g)) '()))
(define (f x) (* (car x) (sumall (cdr x))))
(write (car (*j-update! f (cons 2. (fill '(2) .3)) 1 rule '())))
;;; derivative-of-an-update
(define (rule p g s) (cons (- p (* .1 g)) s))
(write (*j (lambda (y) (cadr (*j-update (lambda (x) (* x x y)) 2. 1. rule 0))) .7 1.))
;;; host
(define (p n x) (if (= n 0) x (p (- n 1) (sin (+ (host-half x) (host-log x))))))
(write (with-schedule "binomial,base=16" (lambda () (checkpoint-*j (lambda (x) (p 9 x)) 1.5 1.))))
;;; host-operator
(define (p n x) (if (= n 0) (sumall x) (p (- n 1) (tanh (host-same x 2)))))
(write (car (with-schedule "bisection,base=16" (lambda () (checkpoint-*j (lambda (x) (p 5 x)) (fill '(2) .5) 1.)))))
(write (j* (lambda (x) (host-same x 1)) (fill '(2) .5) (fill '(2) 1.)))
;;; jacobians
(write (list (gradient (lambda (l) (* (car l) (cadr l))) '(1. 2.)) (jacobian (lambda (l) (list (car l) (* 2. (cadr l)))) '(1. 2.))))
;;; stopped
(define (f x) (* x (car (stop-gradient (list x (lambda (y) (* x y)))))))
(write (list (*j f 2. 1.) (j* (lambda (x) (cdr (*j f x 1.))) 2. 1.) (checkpoint-*j (lambda (t) (sumall (* t (stop-gradient t)))) (fill '(3) .5) 1)))
;;; ruled
(define-derivative (mix a (list b c))
  (value (cdr (*j (lambda (x) (* (sin (* a x)) b c)) 1. 1.)))
  (forward (y da (list db dc)) (+ (* da b) (* db c) dc))
  (reverse (y cot) (list (* cot b) (list (* cot a) cot))))
(define (p n x) (if (= n 0) x (p (- n 1) (sin (mix x (list x .5))))))
(write (with-schedule "binomial,base=16,snapshots=2" (lambda () (checkpoint-*j (lambda (x) (p 6 x)) .5 1.))))
(write (*j (lambda (x) (cdr (*j (lambda (y) (p 2 (* x y))) x 1.))) .5 1.))
;;; ruled-tensors
(define-derivative (product a b) (value (matmul a b)) (reverse (y c) (list (matmul c (transpose b)) (matmul (transpose a) c))))
(define (f (list a b)) (sumall (square (product a (tanh (product a b))))))
(write (cdr (checkpoint-*j f (list (fill '(2 2) .5) (fill '(2 2) .25)) 1)))
(write (cdr (hessian-vector f (list (fill '(2 2) .5) (fill '(2 2) .25)) (list (fill '(2 2) 1.) (fill '(2 2) 1.)))))
;;; tiled
(define x (view (sin (arange 60 'f64)) '(1 2 6 5)))
(define w (view (cos (arange 36 'f64)) '(2 2 3 3)))
(define (net w x) (max-pool (tanh (+ x (car (batch-normalization-training (convolve x w 1 1) (ones '(2) 'f64) (zeros '(2) 'f64))))) 2))
(define (loss w+x) (sumall (square (tiled (lambda (x) (net (car w+x) x)) (cdr w+x) '(2 3)))))
(write (list (*j loss (cons w x) 1) (j* loss (cons w x) (cons w x))))
(write (with-schedule "binomial,base=100,snapshots=2" (lambda () (checkpoint-*j loss (cons w x) 1))))
(define (views x) (flip (permute (dropout (GeLU (permute x '(0 2 3 1))) .5 7) '(0 3 1 2)) '(2)))
(write (cdr (*j (lambda (x) (sumall (tiled views x 2))) x 1)))
(define (turned x) (narrow-tensor (cumulative-sum (roll (tile (lower-triangle x 1) '(1 1 2 1)) '(3 -2) '(2 3)) 1) 1 1 1))
(write (cdr (*j (lambda (x) (sumall (square (tiled turned x '(3 2) '(cpu cpu))))) x 1)))
(write (operand-regions 'max-pool (list x 2) 0 '(0 0 1 1) '(1 2 2 1)))
(write (apply-operator 'with-part (list x (zeros '(1 1 2 2) 'f64) '(0 1 2 3))))
;;; guarded
(define (f x n) (call-with-error-handler (lambda (m l) (if (null? l) x (* x (car l)))) (lambda () (if (= n 0) (car x) (if (> x .3) (error "large" x n) (* 2 (f (* x .9) (- n 1))))))))
(write (list (f .2 3) (*j (lambda (x) (f x 4)) .2 1.) (j* (lambda (x) (f x 4)) .25 1.)))
(write (with-schedule "bisection,base=16" (lambda () (checkpoint-*j (lambda (x) (f (f (f x 2) 2) 2)) .25 1.))))
(write (call-with-error-handler list (lambda () (checkpoint-*j (lambda (x) (*j (lambda (y) (resume (interrupt car y 1))) x 1)) .5 1))))
;;; records-and-dictionaries
(define-record-type point (make-point x y) point? (x point-x with-x) (y point-y))
(define-values (first-of (cons second-of third-of) . rest-of) (list 1 (cons 2 3) 4))
(define (f d) (let ((p (dict-ref d 'p))) (* (point-x p) (point-y (with-x p 7.)) (dict-ref d "k"))))
(write (gradient f (dict 'p (make-point 2. 3.) "k" 4. #\c 'none)))
(display (format "~a ~,2f~%" (dict-keys (dict 3 1 2 2)) 1.5))
(define (trained update) (update (lambda (d) (square (- (* (dict-ref d 'w) (dict-ref d 70000)) 3))) (dict 'w 1. 70000 2. -.5 0.) 1 (momentum .1) 0))
(write (map dict->list (cdr (trained checkpoint-*j-update!))))
(write (apply-rule (adam .1 .9 .999 1e-3) (dict 2 (ones '(2)) 1 .5) (dict 2 (ones '(2)) 1 0) 0))
;;; keys
(define (f x) (* x (random-real 5) (clock) (sumall (dropout (rand '(4) #f #f (car (split-key 3 2))) .5))))
(write (< 0 (cdr (checkpoint-*j f 1. 1.)) +inf.0))
;;; steps-of-attention
(import network)
(define p (list (list (fill '(2 6) .1) (fill '(6) .2)) (list (fill '(2 2) .3) (fill '(2) .1))))
(define (f x) (let* ((a (attention-step 1 p x '())) (b (attention-step 1 p (sin x) (cadr a)))) (+ (sumall (car a)) (sumall (car b)))))
(write (with-schedule "bisection,base=16" (lambda () (checkpoint-*j f (fill '(1 1 2) .5) 1))))
;;; cotangents-of-parts
(define (f x) (let loop ((i 0) (s 0)) (if (= i 3) s (loop (+ i 1) (+ s (sumall (* (narrow-tensor x 0 i 2) (index x i))))))))
(write (checkpoint-*j f (fill '(4 2) .5) 1))
(write (cdr (*j (lambda (x) (sumall (square (cdr (*j f x 1))))) (fill '(4 2) .5) 1)))
;;; lossy-tapes
(define (x i) (ReLU (- (rand '(64 20) 'f32 'cpu i) .5)))
(define (f w) (let loop ((i 0) (s 0)) (if (= i 5) s (loop (+ i 1) (+ s (sumall (matmul (x i) w)))))))
(define (g w) (with-lossy-tape "relative=.5,operators=product" (lambda () (checkpoint-*j f w 1))))
(write (g (fill '(20 1) .5)))
(write (with-lossy-tape "absolute=.25,operators=convolution+product,form=small" (lambda () (*j (lambda (w) (with-lossy-tape "none" (lambda () (f w)))) (fill '(20 1) .5) 1))))
;;; lossy-normalization
(define x (rand '(4 2 12 12) 'f32 'cpu 1))
(define (f s) (sumall (sin (car (batch-normalization-training (* x x) s s)))))
(write (with-lossy-tape "absolute=.25,operators=batch-normalization" (lambda () (checkpoint-*j f (fill '(2) .5) 1))))
(write (with-lossy-tape "relative=.5,operators=batch-normalization+convolution,form=small" (lambda () (*j f (fill '(2) .5) 1))))
;;; lossy-normalizations
(define x (rand '(4 4 10 10) 'f32 'cpu 1))
(define (f s) (sumall (sin (group-normalization (layer-normalization (* x (rms-normalization x s)) s s) (fill '(4) .5) (fill '(4) 0.) 2))))
(write (with-lossy-tape "absolute=.25,operators=layer-normalization+rms-normalization" (lambda () (checkpoint-*j f (fill '(10) .5) 1))))
(write (with-lossy-tape "relative=.5,operators=group-normalization+rms-normalization,form=small" (lambda () (*j f (fill '(10) .5) 1))))
;;; smaller-forms
(define (f x) (max-pool (view (ReLU (* x (min (max (* x .9) .2) .7))) '(1 1 32 32)) 2))
(define (g x) (let loop ((i 0) (s (sumall (+ (f x) 0)))) (if (= i 20) s (loop (+ i 1) (sin s)))))
(write (sumall (cdr (*j g (rand '(32 32) 'f32 'cpu 1) 1))))
;;; bounds-of-tensors
(define x (ReLU (- (rand '(64 20) 'f32 'cpu 1) .5)))
(define (f w) (sumall (square (matmul x (view w '(20 1))))))
(define (under thunk) (with-lossy-tape "adaptive,operators=product" thunk))
(define w (fill '(20) .5))
(write (under (lambda () (checkpoint-*j f (allow-error w .25) 1))))
(write (under (lambda () (error-variances f w))))
(write (renew-policy (adaptive-policy .01 2) (lambda (w) (under (lambda () (f w)))) w w))
;;; reports
(define (f x) (let loop ((i 0) (x x)) (if (= i 8) x (begin (report 'step i 'of 8 "x y" x 't (* x (ones '(1)))) (loop (+ i 1) (sin x))))))
(write (checkpoint-*j f .5 1.)) (report 'done (f 1.))
(write (with-schedule "bisection,base=16" (lambda () (checkpoint-*j (lambda (x) (cdr (*j f x 1.))) .5 1.))))
;;; words-and-classes
(define (word i) (string-join (map number->string (iota i)) ";"))
(define l (map (lambda (i) (string-split (word i) ";")) '(3 1 2)))
(write (list l (string-split " a  b ") (text-classes (map car l)) (text-classes '("b" "a") '("a" "b")) (call-with-error-handler list (lambda () (read-table "none")))))
(define (f x) (* x (+ 1 (string->number (cadr (string-split (string-join '("2" "3")) " "))))))
(write (checkpoint-*j f 1.5 1.))
(write (einsum "...i,i->..." (fill '(2 2) .5) (fill '(2) 2.)))
(write (call-with-error-handler list (lambda () (list-folder "none"))))
;;; streaming-plan-recorded
(define x (list (fill '(8) .5) (fill '(8) .3)))
(define (f x) (let loop ((i 0) (y (car x))) (if (= i 12) (list (car x) y) (loop (+ i 1) (tanh (* y (cadr x)))))))
(define z (interrupt (lambda (x) (get-streaming-plan f x)) x 60))
(write (list (car (get-streaming-plan f x)) (car (resume z)) (car (get-streaming-plan (lambda (x) (*j (lambda (x) (sumall (cadr (f x)))) x 1)) x))))
;;; streaming-plan-followed
(define x (list (fill '(8) .5) (fill '(8) .3)))
(define (f x) (let loop ((i 0) (y (car x))) (if (= i 12) (list (car x) y) (loop (+ i 1) (tanh (* y (cadr x)))))))
(define plan (get-streaming-plan f x))
(define z (interrupt (lambda (x) (call-with-streaming-plan plan f x)) x 60))
(write (list (resume z) (call-with-streaming-plan plan f x) (resume z)))
(write (car (*j (lambda (x) (sumall (cadr (call-with-streaming-plan plan f x)))) x 1)))
(write (checkpoint-*j (lambda (y) (begin (call-with-error-handler list (lambda () (resume z))) y)) 1. 1))
