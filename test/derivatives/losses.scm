; Losses, metrics and sums of products against PyTorch 2.15, in f64. Tensors are filled with sin(.7 i + k) / 2 at element i of operand k. Expected
; are the value, for einsum its sum times sin(.7 i + 50), and of each operand's gradient the sum of its product with sin(.7 i + 60 + k), from
; torch.nn.functional and torch.einsum by backward().
(import network)
(define (show x) (write x) (newline))
(define (pattern sizes k) (view (sin (+ k (* .7 (list->tensor (iota (apply * sizes)) 'f64)))) sizes))
(define (check name f shapes expected)
  (define operands (map (lambda (sizes k) (* .5 (pattern sizes k))) shapes (iota (length shapes))))
  (define (loss operands) (sumall (apply f operands)))
  (define (by operator)
    (let* ((y+g (operator loss operands 1))
           (got (cons (car y+g) (map (lambda (g k) (dot g (pattern (size g) (+ 60 k)))) (cdr y+g) (iota (length shapes))))))
      (if (< (apply max (map (lambda (a b) (abs (- a b))) got expected)) 1e-12) #t got)))
  (write (list name (length expected) (by *j) (by checkpoint-*j) (with-schedule "bisection,base=16" (lambda () (by checkpoint-*j)))))
  (newline))
(define (sums spec shapes expected)
  (check spec (lambda operands (let ((y (apply einsum spec operands))) (* y (pattern (size y) 50)))) shapes expected))
;;; case losses
(define three-four '((3 4) (3 4)))
(define probabilities (list->tensor '((.5 .5 0) (.2 .3 .5)) 'f64))
(define targets (list->tensor '((1 -1 1) (-1 1 1)) 'f64))
(check 'mae mean-absolute-error three-four '(0.2895242707116522 0.00040373152719686 -0.5177847668461033)) ; expect: (mae 3 #t #t #t)
(check 'huber (lambda (a b) (huber-loss a b .3)) three-four '(0.04853350753996614 -0.019053447941790633 -0.1283523771943664))
; expect: (huber 3 #t #t #t)
(check 'hinge (lambda (s) (hinge-loss s targets)) '((2 3)) '(1.044814366785985 -0.13457564882456)) ; expect: (hinge 2 #t #t #t)
(check 'soft (lambda (s) (soft-cross-entropy-loss s probabilities)) '((2 3)) '(1.2253273234248567 -0.2573302255779937)) ; expect: (soft 2 #t #t #t)
(check 'kl (lambda (s) (kl-divergence s probabilities)) '((2 3)) '(0.3639272261125974 -0.2573302255779937)) ; expect: (kl 2 #t #t #t)
;;; case metrics
(define logits (* .5 (pattern '(4 5) 0)))
(define classes (list->tensor '(1 4 0 2) 'i64))
(show (map (lambda (k) (top-k-accuracy k logits classes)) '(1 2 3 5)))          ; expect: (0.25 0.25 1.0 1.0)
(show (< (abs (- (perplexity logits classes) 4.791234212029496)) 1e-12))        ; expect: #t
(show (< (abs (- (r-squared (pattern '(6) 0) (pattern '(6) .1)) 0.9751526056231722)) 1e-12)) ; expect: #t
;;; case training
(show (fold-left record-loss '() '(3. 1. 2. 1.)))                              ; expect: (1.0 . 2)
(show (fold-left record-loss '() '(+nan.0 3. +nan.0 4.)))                      ; expect: (3.0 . 2)
(show (fold-left record-loss '() '(+nan.0 +nan.0)))                            ; expect: (+nan.0 . 1)
(show (fold-left record-loss '() '(3. 4. 2.)))                                 ; expect: (2.0 . 0)
(define (loss p batch) (tensor->number (mean-squared-error (linear p batch) (zeros '(3 1) 'f64))))
(define p (parameters-map (lambda (t) (cast t 'f64)) (new-linear 2 1)))
(define batches (list (pattern '(3 2) 0) (pattern '(3 2) 1) (pattern '(3 2) 2)))
(define one (checkpoint-*j (lambda (p) (/ (apply + (map (lambda (b) (loss p b)) batches)) 3)) p 1))
(define all (parameters-fold (lambda (worst d) (max worst (if (tensor? d) (max-value (abs d)) (abs d)))) 0
                             (parameters-map2 - (batched-gradient loss p batches) one)))
(show (< all 1e-14))                                                           ; expect: #t
(show (batched-gradient (lambda (p b) (* (car p) b)) '(2. 5.) '(1. 2.)))       ; expect: (3.0 1.5 0)
;;; case sums
(sums "ij,jk->ik" '((2 3) (3 4)) '(0.3634870850268055 -0.7884504717978478 -0.7852864177257117)) ; expect: ("ij,jk->ik" 3 #t #t #t)
(sums "bij,bkj->bki" '((2 2 3) (2 4 3)) '(-0.8269544454992888 1.3384246983035903 1.7353013942550346)) ; expect: ("bij,bkj->bki" 3 #t #t #t)
(sums "ij->j" '((2 3)) '(0.38047608370390656 -0.45063034081902215))            ; expect: ("ij->j" 2 #t #t #t)
(sums "ij -> ji" '((2 3)) '(0.9326925127541643 -1.6219278214474009))           ; expect: ("ij -> ji" 2 #t #t #t)
(sums "i,j->ij" '((2) (3)) '(0.21185326276954305 -0.6801531608153697 -0.454259046987209)) ; expect: ("i,j->ij" 3 #t #t #t)
(sums "i,i->" '((3) (3)) '(-0.08556588535643803 0.2315561632203189 0.13061165192489432)) ; expect: ("i,i->" 3 #t #t #t)
(sums "ij,jk,kl->li" '((2 3) (3 2) (2 2)) '(0.05582839757948026 -0.021205963360426384 -0.19144252756559133 0.04762126234939426))
; expect: ("ij,jk,kl->li" 4 #t #t #t)
(sums "bhqd,bhkd->bhqk" '((1 2 3 2) (1 2 3 2)) '(-0.47360102617503974 1.2830401806126852 1.2574041797539577)) ; expect: ("bhqd,bhkd->bhqk" 3 #t #t #t)
(sums "ij,k->i" '((2 3) (2)) '(-0.03246729224260175 0.48399962995974233 0.06628713728966887)) ; expect: ("ij,k->i" 3 #t #t #t)
(sums "ij,ij->i" '((2 3) (2 3)) '(-0.06727158041737491 0.1023361092964297 0.16335413215295597)) ; expect: ("ij,ij->i" 3 #t #t #t)
(sums "...ij,...jk->...ik" '((2 1 2 3) (2 3 2)) '(0.43416546839032366 -1.6143418005592745 -0.04525398244654033))
; expect: ("...ij,...jk->...ik" 3 #t #t #t)
(sums "i...,i...->..." '((3 2) (3 1)) '(0.04326203243454642 -0.03605677778588132 -0.12915309865383465))
; expect: ("i...,i...->..." 3 #t #t #t)
(sums "b...d,bd->b..." '((2 3 2) (2 2)) '(-0.10340326451897947 0.5273916061692144 -0.16343934328794413))
; expect: ("b...d,bd->b..." 3 #t #t #t)
(sums "...i->i" '((2 2 3)) '(0.5858393049663597 -1.178355894556224))
; expect: ("...i->i" 2 #t #t #t)
(sums "...,...,...->..." '((2 1) () (1 3)) '(0.07761233670482132 -0.18539876822171492 -0.17821804676847097 -0.11364292216115521))
; expect: ("...,...,...->..." 4 #t #t #t)
(sums "... i j , ... j -> ... i" '((2 2 3) (3)) '(-0.16087847757128088 0.2128359795922145 0.33191535960154606))
; expect: ("... i j , ... j -> ... i" 3 #t #t #t)
(show (map (lambda (t) (size (einsum "...ij->...ji" t))) (list (ones '(2 3)) (ones '(4 2 3)) (ones '(1 4 2 3)))))
; expect: ((3 2) (4 3 2) (1 4 3 2))
(show (tensor->list (einsum "...,...->..." (list->tensor '(1 2)) (list->tensor '((3) (4)))))) ; expect: ((3.0 6.0) (4.0 8.0))
;;; case mistakes-dots
(einsum "..i->i" (zeros '(2 3)))
; expect error: einsum: expected letters, commas and one ->, got "..i->i"
;;; case mistakes-dots-twice
(einsum "...i...->i" (zeros '(2 3)))
; expect error: einsum: a letter or ... stands twice in one term of "...i...->i"
;;; case mistakes-dots-axes
(einsum "...ij->ij" (zeros '(2)))
; expect error: einsum: expected a letter for each axis but those of ... in "...ij->ij"; letters and sizes are "...ij" \(2\)
;;; case mistakes-dots-output
(einsum "ij->...i" (zeros '(2 2)))
; expect error: einsum: a letter or ... behind the arrow is in no term of "ij->...i"
;;; case mistakes-dots-sizes
(einsum "...i,...i->..." (zeros '(2 3)) (zeros '(4 3)))
; expect error: einsum: axes of ... have two sizes in "...i,...i->...", neither of which is 1: 2 4
;;; case mistakes-arrow
(einsum "ij,jk" (zeros '(2 3)) (zeros '(3 2)))
; expect error: einsum: there is no -> in "ij,jk"; write it as "ij,jk->ik"
;;; case mistakes-characters
(einsum "i1->i" (zeros '(2 3)))
; expect error: einsum: expected letters, commas and one ->, got "i1->i"
;;; case mistakes-two-arrows
(einsum "i->j->i" (zeros '(2)))
; expect error: einsum: expected letters, commas and one ->, got "i->j->i"
;;; case mistakes-terms
(einsum "ij,jk->ik" (zeros '(2 3)))
; expect error: einsum: expected as many tensors as there are terms before the arrow; terms and tensors are "ij,jk->ik" 1
;;; case mistakes-text
(einsum (zeros '(2 3)) "ij->i")
; expect error: einsum: expected text such as "ij,jk->ik" in front of the tensors, got
;;; case mistakes-axes
(einsum "ij->i" (zeros '(2 3 4)))
; expect error: einsum: expected a letter for each axis in "ij->i"; letters and sizes are "ij" \(2 3 4\)
;;; case mistakes-twice
(einsum "ii->i" (zeros '(2 2)))
; expect error: einsum: a letter or ... stands twice in one term of "ii->i"
;;; case mistakes-output
(einsum "ij->k" (zeros '(2 2)))
; expect error: einsum: a letter or ... behind the arrow is in no term of "ij->k"
;;; case mistakes-sizes
(einsum "ij,jk->ik" (zeros '(2 3)) (zeros '(4 2)))
; expect error: einsum: a letter has two sizes in "ij,jk->ik":
;;; case mistakes-batches
(batched-gradient (lambda (p b) p) 1. '())
; expect error: batched-gradient: there is no batch
;;; case cross-entropy-with-options
(define logits (list->tensor '((1 2 3) (2 0 -1) (0 0 4) (1 1 1)) 'f64))
(define classes (list->tensor '(0 1 2 1) 'i64))
(define logarithms (tensor->list (log-softmax logits)))
(define (near? a b) (< (abs (- a b)) 1e-12))
(define (of options) (tensor->number (cross-entropy-loss-with options logits classes)))
(define rows (map (lambda (l c) (- (list-ref l c))) logarithms '(0 1 2 1)))
(define (total l) (apply + l))
(assert (near? (of '()) (tensor->number (cross-entropy-loss logits classes))))
(assert (near? (of '((ignore 1))) (/ (+ (car rows) (caddr rows)) 2)))
(define by-class '(1 2 5))
(define row-weights '(1 2 5 2))
(assert (near? (of (list (list 'weights (list->tensor by-class 'f64)))) (/ (total (map * row-weights rows)) (total row-weights))))
(assert (near? (of (list (list 'weights by-class))) (of (list (list 'weights (list->tensor by-class 'f64))))))
(assert (eq? (tensor-type (cross-entropy-loss-with '((ignore 1)) (cast logits 'f32) classes)) 'f32))
(define (smooth l) (/ (- (total l)) 3))
(assert (near? (of '((smoothing .3))) (/ (total (map (lambda (row l) (+ (* .7 row) (* .3 (smooth l)))) rows logarithms)) 4)))
; All at once, as PyTorch has it: the smooth part is weighed class by class, and divided by the weights of the classes that are there.
(define all (list '(ignore 1) '(smoothing .3) (list 'weights (list->tensor by-class 'f64))))
(define (weighed-smooth l) (/ (- (total (map * by-class l))) 3))
(define kept '(0 2))
(assert (near? (of all)
               (/ (total (map (lambda (i) (+ (* .7 (list-ref row-weights i) (list-ref rows i)) (* .3 (weighed-smooth (list-ref logarithms i))))) kept))
                  (total (map (lambda (i) (list-ref row-weights i)) kept)))))
(define outside (list->tensor '(0 -100 2 -100) 'i64))
(assert (near? (tensor->number (cross-entropy-loss-with '((ignore -100)) logits outside)) (of '((ignore 1)))))
(assert (check-gradient (lambda (t) (cross-entropy-loss-with all t classes)) logits)) ; expect any output
; Rows that are left out have no derivative.
(assert (equal? (tensor->list (index (gradient (lambda (t) (cross-entropy-loss-with all t classes)) logits) (list->tensor '(1 3) 'i64))) '((0. 0. 0.) (0. 0. 0.))))
;;; case cross-entropy-with-an-unknown-option
(cross-entropy-loss-with '((reduction sum)) (zeros '(1 2)) (list->tensor '(0) 'i64))
; expect error: cross-entropy-loss-with: expected options \(ignore index\), \(weights tensor\) or \(smoothing part\), got \(reduction sum\)
;;; case cross-entropy-with-weights-that-are-none
(cross-entropy-loss-with '((weights 3)) (zeros '(1 2)) (list->tensor '(0) 'i64))
; expect error: cross-entropy-loss-with: weights are a tensor or a list with a number for each class, got 3
;;; case cross-entropy-with-too-much-smoothing
(cross-entropy-loss-with '((smoothing 7)) (zeros '(1 2)) (list->tensor '(0) 'i64))
; expect error: cross-entropy-loss-with: smoothing is a number from 0 to 1, got 7
;;; case sizes-that-differ
(define (said f) (call-with-error-handler (lambda (message irritants) (display message) (newline)) f))
(said (lambda () (accuracy (zeros '(2 3)) (zeros '(2 1) 'i64))))       ; expect: accuracy: expected a tensor with a class for each row of the logits, whose sizes are
(said (lambda () (top-k-accuracy 2 (zeros '(2 3)) (zeros '(1) 'i64)))) ; expect: top-k-accuracy: expected a tensor with a class for each row of the logits, whose sizes are
(said (lambda () (cross-entropy-loss-with '() (zeros '(2 3)) (zeros '(1) 'i64)))) ; expect: cross-entropy-loss-with: expected a tensor with a class for each row of the logits, whose sizes are
(said (lambda () (cross-entropy-loss-with '((weights (1))) (zeros '(2 3)) (zeros '(2) 'i64)))) ; expect: cross-entropy-loss-with: weights are a tensor or a list with a number for each class, got
(said (lambda () (r-squared (ones '(3)) (ones '(3 1)))))               ; expect: r-squared: the two have different sizes:
(said (lambda () (huber-loss (ones '(3)) (ones '(3 1)))))              ; expect: huber-loss: the two have different sizes:
(said (lambda () (huber-loss (ones '(3)) (ones '(3)) -1)))             ; expect: huber-loss: where the line begins is a number above 0, got
(said (lambda () (mean-absolute-error (ones '(3)) (ones '(3 1)))))     ; expect: mean-absolute-error: the two have different sizes:
(said (lambda () (hinge-loss (ones '(3)) (ones '(3 1)))))              ; expect: hinge-loss: the two have different sizes:
(said (lambda () (kl-divergence (ones '(1 3)) (ones '(2 3)))))         ; expect: kl-divergence: the two have different sizes:
(said (lambda () (soft-cross-entropy-loss (ones '(1 3)) (ones '(2 3))))) ; expect: soft-cross-entropy-loss: the two have different sizes:
(said (lambda () (apply-rule (sgd .1) (list (ones '(2))) (list (ones '(3 1))) 0))) ; expect: an update: the sizes of a parameter and of its gradient differ:
(said (lambda () (clip-by-value -1 (sgd .1))))                         ; expect: clip-by-value: the largest value is a number that is not negative, got
(said (lambda () (subset (arange 4) '(.5 1.7 3))))                     ; expect: subset: expected indices from 0 on, below the number of examples, which is
(said (lambda () (loader-shard (loader (arange 8) 2) .5 2)))           ; expect: loader-shard: expected the number of a shard below that of all, got
(said (lambda () (normalize-channels (ones '(1 1 2 2)) '(.1 .2) '(1 1)))) ; expect: normalize-channels: expected a mean and a deviation for each channel of a batch; channels, means and deviations are
;;; case logits-under-a-mask
; What a mask has put to minus infinity counts for nothing where its probability is 0, nor does its derivative.
(define masked (list->tensor '((1 -inf.0 3)) 'f64))
(define none (list->tensor '((1 0 0)) 'f64))
(assert (< (abs (- (tensor->number (soft-cross-entropy-loss masked none)) (log (+ 1 (exp 2.))))) 1e-12))
(assert (< (abs (- (tensor->number (kl-divergence masked none)) (log (+ 1 (exp 2.))))) 1e-12))
(assert (= 0 (tensor->number (index (gradient (lambda (x) (soft-cross-entropy-loss x none)) masked) 0 1))))
(assert (< (abs (- (parameters-norm (list->tensor '(3e38 3e38))) (* 3e38 (sqrt 2)))) 1e32))
