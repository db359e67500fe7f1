; The layers of the library against PyTorch 2.15, in f64. All leaves, the input last, are filled with sin(.7 i + k) / 2 at element i of leaf k;
; the loss is the sum of the value times sin(.7 i + 50). Behind it stands, of each leaf's gradient, the sum of its product with
; sin(.7 i + 60 + k). The numbers are those of torch.nn.functional, torch.nn.RNN, LSTM, GRU, MultiheadAttention and TransformerEncoderLayer
; (norm_first, gelu) by backward(), with the same weights, transposed where PyTorch has [outputs, inputs].
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
;;; case linear
(check 'linear linear (new-linear 2 3) '(2 2) '(1.0498588585750184 0.0032853451182424664 -1.9171944445494216 0.17494571689145855))
(check 'perceptron (lambda (p x) (perceptron tanh p x)) (new-perceptron '(2 3 2)) '(2 2)
  '(-0.44886738931117925 -0.36133506014398475 0.3626663337315777 0.48808221416294295 1.1657764199466905 -0.3964569028462785))
(check 'residual (lambda (p x) (residual linear p x)) (new-linear 3 3) '(2 3)
  '(0.4577875709540304 -0.2949649780187512 -1.9171944445494216 1.7368865081371165))
(check 'dense (lambda (p x) (dense-block 1 linear p x)) (list (new-linear 2 3) (new-linear 5 1)) '(2 2)
  '(0.20893331114528085 0.41352910531957093 -0.586747488841268 0.8187958328564267 0.1373180498313157 1.006389730841784))
(check 'stacked (lambda (p x) (stacked linear p x)) (list (new-linear 2 2) (new-linear 2 2)) '(3 2)
  '(-0.09229624162303504 -0.28932695260917596 -0.18094411694779067 0.13679270055343462 1.1904354208697112 -0.3066350171204715))
;;; case convolution
; Stride 2, padding 1, 2 groups.
(check 'convolution (lambda (p x) (convolution p x 2 1 1 2)) (new-convolution 2 4 '(3 3) 2) '(2 2 5 5)
  '(1.2124326750869603 -1.8610896591180615 0.05318349844761191 -1.7872011068093228))
;;; case embedding
(define indices (list->tensor '((1 4) (1 0)) 'i64))
(define (loss t) (let ((y (embedding t indices))) (sumall (* y (pattern (size y) 50)))))
(define y+g (checkpoint-*j loss (patterns (new-embedding 5 3) 0 .5) 1))
(assert (near? (cons (car y+g) (projections (cdr y+g))) '(0.5774188852173547 -1.1712593501212003)))
; sin and cos of torch.arange(3) times exp(arange(0, 4, 2) * -log(10000) / 4), in turns.
(assert (near? (apply append (tensor->list (sinusoids 3 4 'f64)))
  '(0. 1. 0. 1. 0.8414709848078965 0.5403023058681398 0.00999983333416666 0.9999500004166653
    0.9092974268256817 -0.4161468365471424 0.01999866669333307 0.9998000066665778)))
;;; case normalisations
(check 'layer-norm layer-norm (new-layer-norm 4) '(2 3 4) '(-3.104327391236631 7.1954621622253105 -1.303291269938738 0.7827115765149355))
(check 'rms-norm rms-norm (new-rms-norm 4) '(2 3 4) '(1.9673119296801902 -3.3605828190782905 2.3483284243394964))
(check 'group-norm (lambda (p x) (group-norm 2 p x)) (new-group-norm 4) '(2 4 3)
  '(-2.654739814250796 6.113323062593888 -0.1760193583879428 2.450246386626885))
(define fresh (map (lambda (t) (cast t 'f64)) (new-batch-statistics 4)))
(define seen (cadr (batch-norm (new-batch-norm 4) fresh (* .5 (pattern '(3 4 2) 2)))))
(assert (near? (append-map tensor->list seen)
  '(0.03975708190791241 0.002983928258422421 -0.03874274238650573 -0.01615391472153132
    0.901310530813886 0.9095762965326372 0.9017292852923638 0.9082507781697399)))
(check 'batch-norm (lambda (p x) (car (batch-norm p fresh x))) (new-batch-norm 4) '(3 4 2)
  '(-0.012118904799240326 4.0179490721068625 -2.690625825678126 1.496484004713302))
(check 'batch-norm-test (lambda (p x) (batch-norm-test p seen x)) (new-batch-norm 4) '(3 4 2)
  '(0.7556664099087556 2.547209877205523 -2.690625825678126 3.101750035341241))
;;; case recurrent
(define (along cell) (lambda (p x) (car (unroll cell p x 0))))
(check 'rnn (along rnn) (new-rnn 2 3) '(2 4 2)
  '(0.38974361143057235 -0.2620763192473787 -1.6708518900558245 0.6922588327703909 1.728292256659591 0.1500227750270482))
(check 'lstm (along lstm) (new-lstm 2 3) '(2 4 2)
  '(0.12396191568293424 0.10008390544380778 0.1351334858068556 0.04141533695156642 -0.6160372779845157 0.11118653523553285))
(check 'gru (along gru) (new-gru 2 3) '(2 4 2)
  '(0.04244353825695535 0.22153338368275105 -0.07044406126082296 -0.21309672884883085 -0.7541799818803543 0.14180785864952372))
; The second half from the state that the first half leaves is the second half of the whole.
(define (same-in-halves? cell p)
  (let* ((x (randn '(2 6 3)))
         ((list whole last) (unroll cell p x 0))
         ((list first state) (unroll cell p (narrow-tensor x 1 0 3) 0))
         ((list second end) (unroll cell p (narrow-tensor x 1 3 3) state)))
    (and (equal? (concat-tensors (list first second) 1) whole) (equal? end last))))
(assert (same-in-halves? rnn (new-rnn 3 4)))
(assert (same-in-halves? lstm (new-lstm 3 4)))
(assert (same-in-halves? gru (new-gru 3 4)))
;;; case attention
; Queries and keys of different number, by scaled_dot_product_attention without and with is_causal; queries and keys stand for the parameters.
(define queries (list (zeros '(2 3 4)) (zeros '(2 5 4))))
(check 'dot-product (lambda (p v) (dot-product-attention (car p) (cadr p) v)) queries '(2 5 2)
  '(0.06397641507646763 0.014048221062023613 0.0008171942770538801 -0.1268542034852841))
(check 'dot-product-causal (lambda (p v) (dot-product-attention (car p) (cadr p) v #t)) queries '(2 5 2)
  '(-0.11594952613312633 0.03548694533773169 -0.032128381361854544 0.09042793587962494))
(check 'attention (lambda (p x) (attention 2 p x)) (new-attention 4) '(2 3 4)
  '(-0.9268428250163421 0.03451370360855491 0.0922951052415219 0.21697661135944932 1.871034470187067 0.016243013286567964))
(check 'causal (lambda (p x) (attention 2 p x #t)) (new-attention 4) '(2 3 4)
  '(-0.9643561486802587 0.14647862568767722 0.09291580755760764 0.2864447300089509 1.871034470187067 0.06047876670538077))
(check 'transformer (lambda (p x) (transformer 2 p x #t)) (new-transformer 4 6) '(2 3 4)
  '(4.256685555871354 -0.31966735271770885 0.10366103268428861 0.20360000392134947 0.5824189836444668 0.23330575662934583 -1.4645930282146256
    -0.010682237239732828 -0.03733634050625741 0.1339295280165647 0.3801844798609588 0.17731041097545588 0.2986258474640255 -10.21525808629097))
;;; case attention-of-vectors
; One query, and one number a key, by the composition; heads that share keys; no more than that is a batch.
(define q (randn '(4) 'f64))
(define k (randn '(5 4) 'f64))
(define v (randn '(5 3) 'f64))
(define whole (dot-product-attention (view q '(1 4)) k v))
(assert (near? (tensor->list (dot-product-attention q k v)) (car (tensor->list whole))))
(assert (near? (list (tensor->number (dot-product-attention q k (view (narrow-tensor v 1 0 1) '(5))))) (list (caar (tensor->list whole)))))
(define heads (randn '(2 3 5 4) 'f64))
(define shared (dot-product-attention heads k v #t))
(assert (equal? (size shared) '(2 3 5 3)))
(assert (near? (tensor->list (view (narrow-tensor (narrow-tensor shared 0 1 1) 1 2 1) '(15)))
               (tensor->list (view (dot-product-attention (view (narrow-tensor (narrow-tensor heads 0 1 1) 1 2 1) '(5 4)) k v #t) '(15)))))
(dot-product-attention heads (randn '(5 3) 'f64) v)
; expect error: attend: queries of shape \(2 3 5 4\), keys of shape \(5 3\) and values of shape \(5 3\) do not go together
;;; case budgets
; The same bits where so little memory means replays.
(define (same-bits? bytes loss p)
  (let ((taped (*j loss p 1)) (planned (with-memory bytes (lambda () (checkpoint-*j loss p 1)))))
    (and (= (car taped) (car planned)) (equal? (parameters->list (cdr taped)) (parameters->list (cdr planned))))))
(define x (randn '(4 24 16)))
(define (deep blocks)
  (tensor->number (mean (square (stacked (lambda (block x) (transformer 2 block x #t)) blocks x)))))
(assert (same-bits? "1MiB" deep (build-list 16 (lambda (i) (new-transformer 16)))))
; More steps than a tile of attention has.
(define longer (randn '(1 150 16)))
(define (tiled blocks) (tensor->number (mean (square (stacked (lambda (block x) (transformer 2 block x #t)) blocks longer)))))
(define blocks (build-list 12 (lambda (i) (new-transformer 16))))
(assert (same-bits? "2MiB" tiled blocks))
(define (scheduled spec) (parameters->list (cdr (with-schedule spec (lambda () (checkpoint-*j tiled blocks 1))))))
(assert (equal? (scheduled "tape") (scheduled "bisection,base=100")))
(assert (equal? (scheduled "tape") (scheduled "binomial,base=200,snapshots=3")))
(define (long cell) (lambda (p) (tensor->number (mean (square (car (unroll cell p x 0)))))))
(assert (same-bits? "128KiB" (long lstm) (new-lstm 16 16)))
(assert (same-bits? "128KiB" (long gru) (new-gru 16 16)))
;;; case mistakes-heads
(attention 3 (new-attention 4) (zeros '(1 2 4)))
; expect error: attention: expected a width that is a multiple of the number of heads, got width and heads 4 3
;;; case mistakes-sequence
(attention 2 (new-attention 4) (zeros '(2 4)))
; expect error: attention: expected a sequence \[batch, steps, width\], got sizes \(2 4\)
;;; case statistics
; Moving statistics leave a gradient beside the loss.
(define (loss p statistics x)
  (let (((list y statistics) (batch-norm p statistics x))) (cons (tensor->number (mean (square y))) statistics)))
(define x (* .5 (pattern '(3 4 2) 2)))
(define start (map (lambda (t) (cast t 'f64)) (new-batch-statistics 4)))
(define (p) (patterns (new-batch-norm 4) 0 .5))
(define together (checkpoint-*j-update! (lambda (p) (loss p start x)) (p) (cons 1 0) (sgd 1) 0))
(define alone (gradient (lambda (p) (car (loss p start x))) (p)))
(assert (equal? (cdar together) (cadr (batch-norm (p) start x))))
(assert (near? (projections (parameters-map2 - (p) (cadr together))) (projections alone)))
;;; case mistakes-batch
(batch-norm (new-batch-norm 4) (new-batch-statistics 4) (zeros '(1 4)))
; expect error: batch-norm: one number for each channel has no variance; give a larger batch than one of sizes \(1 4\)
;;; case mistakes-steps
(unroll gru (new-gru 2 3) (zeros '(2 2)) 0)
; expect error: unroll: expected a sequence \[batch, steps, inputs\] of at least one step, got sizes \(2 2\)
;;; case masks
(define (near? a b) (< (max-value (abs (- a b))) 1e-12))
(define q (randn '(2 3 4) 'f64))
(define k (randn '(2 3 4) 'f64))
(define v (randn '(2 3 2) 'f64))
(define lower (<= (arange 3) (unsqueeze (arange 3) 1)))
(assert (near? (dot-product-attention q k v #f lower) (dot-product-attention q k v #t)))
(assert (near? (dot-product-attention q k v #f (where lower 0 -inf.0)) (dot-product-attention q k v #t)))
(assert (near? (dot-product-attention q k v #t (ones '(3 3) 'u8)) (dot-product-attention q k v #t)))
; A bias on scores; a mask for each text of a batch, of keys alone.
(define bias (randn '(3 3) 'f64))
(assert (near? (dot-product-attention q k v #f bias) (matmul (softmax (+ (/ (matmul q (transpose k)) 2) bias)) v)))
(define padded (list->tensor '(((1 1 0)) ((1 0 0))) 'u8))
(assert (near? (narrow-tensor (dot-product-attention q k v #f padded) 0 0 1)
               (dot-product-attention (narrow-tensor q 0 0 1) (narrow-tensor (narrow-tensor k 0 0 1) 1 0 2) (narrow-tensor (narrow-tensor v 0 0 1) 1 0 2))))
; What sees nothing has zeros, and derivatives that are zeros and no NaNs.
(define none (list->tensor '((1 1 1) (0 0 0) (1 0 0)) 'u8))
(assert (equal? (tensor->list (index (dot-product-attention q k v #f none) #t 1)) '((0. 0.) (0. 0.))))
(define g (gradient (lambda (q) (sumall (dot-product-attention q k v #f none))) q))
(assert (equal? (tensor->list (index g #t 1)) '((0. 0. 0. 0.) (0. 0. 0. 0.))))
(assert (= (sumall (not-equal g g)) 0))
(assert (check-gradient (lambda ((list q k v)) (sumall (square (dot-product-attention q k v #f none)))) (list q k v))) ; expect any output
(define p (new-attention 4))
(define x (randn '(2 3 4)))
(assert (< (max-value (abs (- (attention 2 p x #f lower) (attention 2 p x #t)))) 1e-5))
;;; case transformers-that-normalise-after
(define p (new-transformer 4 8))
(define x (randn '(2 3 4)))
(define (near? a b) (< (max-value (abs (- a b))) 1e-5))
(define-values (norm1 looks norm2 units) p)
(define y (layer-norm norm1 (+ x (attention 2 looks x #t))))
(assert (near? (transformer 2 p x #t #f 'after) (layer-norm norm2 (+ y (perceptron GeLU units y)))))
(assert (near? (transformer 2 p x #t #f 'before) (transformer 2 p x #t)))
(transformer 2 p x #f #f 'never)
; expect error: transformer: expected before or after, a symbol that says where it normalises, got never
;;; case a-mask-of-padding
(define p (new-transformer 4))
(define x (randn '(2 5 4)))
(define tokens (list->tensor '((3 1 2 0 0) (1 1 0 0 0)) 'i64))
(define seen (unsqueeze (unsqueeze (not-equal tokens 0) 1) 1))
; What is behind the end of a row does not matter to what stands before it.
(define changed (where (unsqueeze (not-equal tokens 0) 2) x (randn '(2 5 4))))
(define (shown x) (where (unsqueeze (not-equal tokens 0) 2) (transformer 2 p x #f seen) 0))
(assert (< (max-value (abs (- (shown x) (shown changed)))) 1e-5))
(transformer 2 p x #f (not-equal tokens 0))
; expect error: a mask of sizes \(2 5\) cannot be stretched to those of the scores, \(2 2 5 5\).*; one of \[batch, rows of k\] goes with them as \(unsqueeze \(unsqueeze mask 1\) 1\)
;;; case a-mask-of-padding-without-heads
(dot-product-attention (zeros '(3 5 4)) (zeros '(3 6 4)) (zeros '(3 6 4)) #f (zeros '(3 6) 'u8))
; expect error: cannot be stretched to those of the scores, \(3 5 6\).*as \(unsqueeze mask 1\)
;;; case a-mask-of-other-sizes
(dot-product-attention (zeros '(3 5 4)) (zeros '(3 6 4)) (zeros '(3 6 4)) #f (zeros '(7 1 6)))
; expect error: a mask of sizes \(7 1 6\) cannot be stretched to those of the scores, \(3 5 6\), \[\.\.\., rows of q, rows of k\]\n|\]$
;;; case a-mask-of-integers
(dot-product-attention (zeros '(2 2)) (zeros '(2 2)) (zeros '(2 2)) #f (zeros '(2 2) 'i64))
; expect error: dot-product-attention: expected a mask of u8, as comparisons give, or of a floating type, got one of i64
;;; case steps-with-a-cache
; Whatever parts a sequence comes in, what attention makes of it is that of the whole.
(define p (new-transformer 8))
(define x (randn '(2 7 8) 'f64))
(define (in-parts norms parts)
  (let loop ((at 0) (parts parts) (cache '()) (done '()))
    (if (null? parts)
        (concat-tensors (reverse done) 1)
        (let (((list y cache) (transformer-step 2 p (narrow-tensor x 1 at (car parts)) cache norms)))
          (loop (+ at (car parts)) (cdr parts) cache (cons y done))))))
(define (far a b) (tensor->number (max-over (view (abs (- a b)) '(-1)))))
(for-each
  (lambda (norms)
    (let ((whole (transformer 2 p x #t #f norms)))
      (for-each (lambda (parts) (assert (< (far whole (in-parts norms parts)) 1e-12))) '((1 1 1 1 1 1 1) (7) (3 4) (3 1 3) (1 5 1)))))
  '(before after))
(define (in-two x)
  (let (((list y cache) (transformer-step 2 p (narrow-tensor x 1 0 3) '())))
    (sumall (square (car (transformer-step 2 p (narrow-tensor x 1 3 4) cache))))))
(assert (check-gradient in-two x)) ; expect any output
(assert (equal? (*j in-two x 1) (with-schedule "binomial,base=16" (lambda () (checkpoint-*j in-two x 1)))))
