; Layers as values against PyTorch 1.13, in f64, as layers.scm has it: leaves filled with sin(.7 i + k) / 2, the loss a product with sin(.7 i + 50), and behind
; it a projection of each leaf's gradient. The numbers are those of torch.nn.functional by backward().
(import network)
(define (pattern sizes k) (view (sin (+ k (* .7 (list->tensor (iota (apply * sizes)) 'f64)))) sizes))
(define (patterns p start factor)
  (let ((leaves (parameters->list p)))
    (list->parameters (map (lambda (leaf i) (* factor (pattern (size leaf) i))) leaves (iota (length leaves) start)) p)))
(define (projections g) (map (lambda (a b) (dot a b)) (parameters->list g) (parameters->list (patterns g 60 1))))
(define (near? got expected)
  (if (= (length got) (length expected))
      (< (apply max (map (lambda (a b) (abs (- a b))) got expected)) 1e-11)
      (error "numbers of leaves differ:" got expected)))
(define (check name layer p sizes expected)
  (define like (list p (fill sizes 0)))
  (define (loss all) (let ((y (layer (car all) (cadr all)))) (sumall (* y (pattern (size y) 50)))))
  (define (by operator) (let ((y+g (operator loss (patterns like 0 .5) 1))) (near? (cons (car y+g) (projections (cdr y+g))) expected)))
  (define (updated update)
    (let (((list y all state) (update loss (patterns like 0 .5) 1 (sgd 1) 0)))
      (near? (cons y (projections (parameters-map2 - (patterns like 0 .5) all))) expected)))
  (define forward (j* loss (patterns like 0 .5) (patterns like 60 1)))
  (if (not (check-gradient loss (patterns like 0 .5))) (error "check-gradient does not agree:" name))
  (if (not (and (by *j) (by checkpoint-*j) (with-schedule "bisection,base=16" (lambda () (by checkpoint-*j)))
                (with-schedule "binomial,base=64,snapshots=3" (lambda () (by checkpoint-*j)))
                (updated checkpoint-*j-update!) (updated *j-update)
                (near? (list (car forward) (cdr forward)) (list (car expected) (apply + (cdr expected))))))
      (error "differs from PyTorch:" name (car (*j loss (patterns like 0 .5) 1)) (projections (gradient loss (patterns like 0 .5))))))
; expect any output
; flags: --memory=64MiB
;;; case residual
; Two convolutions with batch-norm, stride 2, and a projection beside them.
(define (unit f in out window . l) (in-sequence (apply plain-convolution-layer in out window l) (batch-norm-layer out) (function-layer f)))
(define (same x) x)
(define block
  (in-sequence (residual-layer (in-sequence (unit ReLU 2 4 '(3 3) 2 1) (unit same 4 4 '(3 3) 1 1)) (unit same 2 4 '(1 1) 2)) (function-layer ReLU)))
(define statistics (parameters-map (lambda (t) (cast t 'f64)) (layer-statistics block)))
(define (train layer) (lambda (p x) (car (layer-train layer p statistics x))))
(check 'residual (train block) (layer-parameters block) '(2 2 5 5)
  '(-1.2798319804943077 -2.9288528582005378 -3.7916502331850372 2.06914115226222 2.2404620845915355 2.1490624169411205 -1.0125660504013618
    -1.266680916753955 -0.18380587105491403 1.339307072695993 -2.3997607736043576))
; Statistics move as those of the norms by themselves, layer by layer, and testing uses them.
(define p (patterns (layer-parameters block) 0 .5))
(define x (pattern '(2 2 5 5) 3))
(define seen (cdr (layer-train block p statistics x)))
(define shortcut-p (cadar p))
(define by-hand (convolve x (caar shortcut-p) 2))
(define shortcut-seen (cadr (car seen)))
(assert (equal? (cadr shortcut-seen) (cadr (batch-norm (cadr shortcut-p) (cadr (cadr (car statistics))) by-hand))))
(define tested (layer-test (unit same 2 4 '(1 1) 2) shortcut-p shortcut-seen x))
(assert (equal? tested (batch-norm-test (cadr shortcut-p) (cadr shortcut-seen) by-hand)))
(assert (equal? (layer-statistics (in-sequence (linear-layer 2 2) (batch-norm-layer 2))) (list '() (new-batch-statistics 2))))
;;; case beside
; A small U-Net: pool, convolution, transposed convolution, beside the input; means and a linear layer.
(define network
  (in-sequence
    (concatenated-layers 1 (in-sequence)
      (in-sequence (function-layer (lambda (x) (max-pool x 2))) (convolution-layer 2 3 '(3 3) 1 1) (function-layer GeLU)
                   (transpose-convolution-layer 3 2 '(2 2) 2)))
    (function-layer (lambda (x) (mean x '(2 3)))) (linear-layer 4 3)))
(define none (layer-statistics network))
(define expected
  '(0.3610312122291223 -0.6369852991742172 -0.6613081810235695 -0.9263004874293046 -0.7357298270992186 -1.5817617440063505 0.512451917282528 -0.7491734924207559))
(check 'train (lambda (p x) (car (layer-train network p none x))) (layer-parameters network) '(2 2 4 6) expected)
(check 'test (lambda (p x) (layer-test network p none x)) (layer-parameters network) '(2 2 4 6) expected)
;;; case grouped
(define network (in-sequence (convolution-layer 4 4 '(3 3) 1 2 2 2) (transpose-convolution-layer 4 6 '(2 2) 2 1 1 2)))
(check 'grouped (lambda (p x) (layer-test network p '(() ()) x)) (layer-parameters network) '(1 4 5 5)
  '(-1.2856693494665017 0.14140566501627494 -0.19043952597683161 0.11850167086426022 2.7174955693066054 0.21487316480426344))
;;; case grouped-and-larger
; Groups stand in front of what is added to the sizes.
(define larger (transpose-convolution-layer 4 6 '(2 2) 2 0 1 2 1))
(assert (equal? (size (layer-test larger (layer-parameters larger) '() (ones '(1 4 3 3)))) '(1 6 7 7)))
;;; case norm
(define network (in-sequence (linear-layer 3 4) (layer-norm-layer 4)))
(check 'norm (lambda (p x) (layer-test network p '(() ()) x)) (layer-parameters network) '(2 5 3)
  '(-0.39465057295243244 0.10609280408774449 -0.011075337726308344 -1.4076437110454196 1.9690778266661202 0.10629697713665198))
;;; case own
; Layers of one's own, lists between layers, and what drops out in training alone.
(define scaled (layer-of (lambda () 2.) (lambda (p x) (* p x))))
(define both (in-sequence (in-parallel (lambda (l) l) scaled (function-layer (lambda (x) (* x x)))) (function-layer (lambda ((list a b)) (- a b)))))
(assert (= (layer-test both (layer-parameters both) (layer-statistics both) 5) -15))
(assert (equal? (layer-train both (layer-parameters both) (layer-statistics both) 5) (cons -15. '((() ()) ()))))
(define half (dropout-layer .5))
(define x (ones '(100)))
(assert (equal? (layer-test half '() '() x) x))
(assert (< 20 (sumall (= 0 (car (layer-train half '() '() x)))) 80))
;;; case mistakes
(layer-train (in-sequence (linear-layer 2 2) (linear-layer 2 2)) (list (new-linear 2 2)) '(() ()) (zeros '(1 2)))
; expect error: car
