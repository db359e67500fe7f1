; What is wrong, with operator, shapes and place.
;;; case shapes
(define t (list->tensor '((1 2) (3 4))))
(+ t
   (matmul t (list->tensor '(1 2 3)))) ; expect error: matmul: .*\(2 2\).*\(3\)
; expect location: 3:4
;;; case broadcast
(+ (list->tensor '(1 2)) (list->tensor '(1 2 3))) ; expect error: \+: .*\(2\).*\(3\)
;;; case not-a-tensor
(sum '(1 2)) ; expect error: sum: operand 1: expected a tensor, got \(1 2\)
;;; case not-a-number
(+ (list->tensor '(1)) "one") ; expect error: \+: operand 2: expected a tensor or a number, got "one"
;;; case number-too-large-for-a-byte
(+ (list->tensor '(1 2) 'i8) 300) ; expect error: \+: 300 does not fit elements of i8; cast the tensor to a wider type first
;;; case negative-number-added-to-bytes
(+ (list->tensor '(0 1 5) 'u8) -1) ; expect error: \+: -1 does not fit elements of u8
;;; case negative-number-subtracted-from-bytes
(- (list->tensor '(0 1 5) 'u8) -1) ; expect error: -: -1 does not fit elements of u8
;;; case number-too-large-to-be-subtracted-from-a-byte
(- (list->tensor '(1) 'i8) 128) ; expect error: -: 128 does not fit elements of i8
;;; case number-too-small-for-a-byte
(max -1 (list->tensor '(1 2) 'u8)) ; expect error: max: -1 does not fit elements of u8
;;; case number-too-large-to-be-chosen
(where (list->tensor '(1 0)) (list->tensor '(1 2) 'i16) 40000) ; expect error: where: 40000 does not fit elements of i16
;;; case number-too-large-for-four-bytes
(* (list->tensor '(1) 'i32) 2147483648) ; expect error: \*: 2147483648 does not fit elements of i32
;;; case a-gradient-of-several-numbers
(gradient (lambda (x) (square x)) (list->tensor '(1 2 3))) ; expect error: gradient: .*the cotangent 1 does not have the shape of #<tensor f32 \(3\).*; let the function end in one number, as \(sumall t\)
;;; case a-gradient-of-a-list-of-numbers
(gradient (lambda (x) (list x x)) 2.) ; expect error: gradient: .*the cotangent 1 does not have the shape of .*\(jacobian f x\)
;;; case into-no-parts
(split (fill '(4 6) 1) 2 0) ; expect error: split: into how many parts.*\? got 0
;;; case axis
(sum (list->tensor '(1 2)) 1) ; expect error: sum: .*axis 1
;;; case view
(view (list->tensor '(1 2 3)) '(2 2)) ; expect error: view: .*\(3\).*\(2 2\)
;;; case narrow
(narrow-tensor (list->tensor '(1 2 3)) 0 2 2) ; expect error: narrow-tensor: .*\(3\)
;;; case ragged
(list->tensor '((1 2) (3))) ; expect error: list->tensor: lists of 2 were expected on axis 1, got \(3\)
;;; case words-in-a-list
(list->tensor '(1 a)) ; expect error: list->tensor: expected a number, got a
;;; case type
(list->tensor '(1) 'complex) ; expect error: list->tensor: expected a type of elements, got complex
;;; case residence
(fill '(2) 0 'f32 'moon) ; expect error: there is no device `moon` in this run
;;; case negative-size
(fill '(2 -1) 0) ; expect error: fill: .*-1
;;; case size-beyond-all-memory
(fill '(4000000000 4000000000) 0) ; expect error: fill: .*4000000000
;;; case size-beyond-the-budget
; flags: --memory=64MiB
(fill '(100000000) 0) ; expect error: memory budget of 64.0 MiB exceeded by a request of 400000000 bytes
; expect exit: 3
;;; case too-many-axes
(fill '(1 1 1 1 1 1 1 1 1) 0) ; expect error: fill: .*8 axes
;;; case condition
(if (< (list->tensor '(1)) 2) 1 2) ; expect error: < or >: a comparison of tensors is a tensor, which is no condition
;;; case truth-as-a-condition
(where (< 1. 2.) 1 2)
; expect error: where: operand 1: expected a tensor or a number, got #t; \(if test a b\) chooses by a truth value
;;; case key-in-the-place-of-a-type
(randn '(2) 5)
; expect error: randn: expected a type .*, got 5; .*; a key is the last operand, \(randn sizes 'f32 'cpu key\)
;;; case key-in-the-place-of-a-residence
(rand '(2) 'f32 5)
; expect error: rand: operand 3: expected a residence, got 5; a key is the last operand, \(rand sizes 'f32 'cpu key\)
;;; case condition-from-elsewhere
(define (f c) (if (car c) 1 2))
(f (map (lambda (x) (< x 2)) (list (list->tensor '(1))))) ; expect error: #<tensor u8 \(1\).* is no condition
;;; case condition-used-again
(define (f c) (if c (size c) 2))
(f (< (list->tensor '(1)) 2)) ; expect error: #<tensor u8 \(1\).* is no condition
;;; case condition-turned-round
(define (f c) (not c))
(write (f (< (list->tensor '(1)) 2))) ; expect error: #<tensor u8 \(1\).* is no condition
;;; case one-element
(tensor->number (list->tensor '(1 2))) ; expect error: tensor->number: a tensor of shape \(2\) has not one element
;;; case number-wanted
(vector-ref '#(1 2) (list->tensor '(1))) ; expect error: got #<tensor f32 \(1\)
;;; case cotangent-shape
(*j (lambda (x) (* x x)) (list->tensor '(1 2)) (list->tensor '(1 2 3))) ; expect error: \*j: the cotangent #<tensor f32 \(3\).* does not have the shape of #<tensor f32 \(2\)
;;; case tangent-shape
(j* (lambda (x) (* x x)) (list->tensor '(1 2)) 1) ; expect error: j\*: the tangent 1 does not have the shape of #<tensor f32 \(2\)
;;; case tensor-for-a-number
(*j (lambda (x) (* x x)) 2 (list->tensor '(1))) ; expect error: \*j: the cotangent #<tensor f32 \(1\).* does not have the shape of 4.0
;;; case arity
(matmul (list->tensor '(1))) ; expect error: 'matmul' .*2 arguments, got 1
; expect exit: 2
;;; case holders
; flags: --memory=4MiB
(define (f x) (* x x))
(define (many i l) (if (= i 0) l (many (- i 1) (cons (f (fill '(100000) 2)) l))))
(many 100 '()) ; expect error: in \d+ tensors made by f at .*:3:15
; expect exit: 3
;;; case nan
; flags: --check-nan
(define t (list->tensor '(1 -1)))
(+ t
   (sqrt t)) ; expect error: sqrt: element 1 of the result of shape \(2\) is a NaN
; expect location: 4:4
;;; case nan-in-a-sweep
; flags: --check-nan
(define (f x) (where (< x 0) 0 (* x (list->tensor '(+inf.0 1)))))
(*j (lambda (x) (sum (* 0 (f x)))) (list->tensor '(1 2)) (list->tensor 1)) ; expect error: NaN
;;; case no-nan
; flags: --check-nan
(write (tensor->list (log (list->tensor '(0 1) 'f64)))) ; expect: (-inf.0 0.0)
;;; case interpolate-without-space
(interpolate (list->tensor '((1 2))) 2) ; expect error: interpolate: there are no axes behind batch and channels in sizes \(1 2\)
;;; case interpolate-factors
(upsample-nearest (list->tensor '(((1 2)))) '(2 2)) ; expect error: upsample-nearest: factors are not one for each axis of sizes \(2\) \(2 2\)
;;; case interpolate-size
(interpolate-to-size (list->tensor '(((1 2)))) 0) ; expect error: interpolate-linear: sizes \(0\)
;;; case interpolate-mode
(interpolate-to-size (list->tensor '(((1 2)))) 3 'cubic) ; expect error: interpolate-to-size: expected nearest, linear, bilinear or trilinear, got cubic
;;; case slice
(slice (list->tensor '(1 2 3)) 0 1 4) ; expect error: slice: 1 to 4 along axis 0 .*\(3\)
;;; case floor
(floor "one") ; expect error: floor: expected a number, got "one"
;;; case solve-with-a-vector
(solve (eye 2) (list->tensor '(1 2))) ; expect error: solve: shapes \(2 2\) and \(2\) do not go together; right sides are columns of matrices: \(unsqueeze b -1\)
;;; case split-into-other-sizes
(split (arange 6) 0 '(2 5)) ; expect error: split: the sizes of the parts do not add up to 6, the size of axis 0: \(2 5\)
;;; case types-of-others
(list->tensor '(1 2) 'torch.float64) ; expect error: list->tensor: expected a type of elements: one of u8 i8 i16 i32 i64 f32 f64 bf16, got torch.float64; write 'f64
;;; case a-list-of-tensors
(list->tensor (list (arange 2) (arange 2))) ; expect error: list->tensor: expected a number, got #<tensor f32 \(2\).*>; \(stack tensors 0\)
;;; case division-by-the-number-zero
(modulo (list->tensor '(1 2) 'i64) 0) ; expect error: modulo: division by zero
;;; case points-that-are-not-there
(index-points (zeros '(2 3)) (list->tensor '(0 1) 'i64) (list->tensor '(0 3) 'i64)) ; expect error: index-points: there is no position 3 in axis 1, whose size is 3
;;; case points-by-a-mask
(index-points (zeros '(2 3)) (= (arange 2) 1)) ; expect error: index-points: expected an integer or a tensor of integers \(one of u8 may be meant as a mask\)
;;; case quantile-of-a-percentage
(quantile (arange 3) 50) ; expect error: quantile: expected a part from 0 to 1, got 50
;;; case zero-for-a-truth-value
(sum (fill '(2 3) 1) 0 0) ; expect error: sum: operand 3: expected #t or #f, whether axes stay, got 0
;;; case correction-in-the-place-of-a-truth-value
(variance (fill '(2 3) 1) 1 1) ; expect error: variance: operand 3: expected #t or #f, whether axes stay, got 1
;;; case exponent-in-the-place-of-a-truth-value
(norm (fill '(2 3) 1) 1 3) ; expect error: norm: operand 3: expected #t or #f, whether axes stay, got 3
;;; case empty-list-for-a-truth-value
(argmax (fill '(2 3) 1) 1 '()) ; expect error: argmax: operand 3: expected #t or #f, whether axes stay, got \(\)
;;; case number-for-the-triangle
(triangular-solve (fill '(1 1) 1) (fill '(1 1) 1) 1) ; expect error: triangular-solve: operand 3: expected #t or #f, got 1
;;; case number-for-causal
(attention 2 (new-attention 4) (fill '(1 2 4) 1) 0) ; expect error: attention: causal, whether no step sees those behind it, is #t or #f, got 0
;;; case number-for-causal-of-a-transformer
(transformer 2 (new-transformer 4) (fill '(1 2 4) 1) 1) ; expect error: transformer: causal, .* is #t or #f, got 1
;;; case mask-in-the-place-of-causal
(define q (fill '(1 2 4) 1))
(dot-product-attention q q q (fill '(2 2) 1)) ; expect error: dot-product-attention: causal, .* is #t or #f, got #<tensor
;;; case number-for-corners
(interpolate (fill '(1 1 4) 1) 2 'linear 0) ; expect error: interpolate-to-size: align-corners, whether corners stay corners, is #t or #f, got 0
;;; case truth-values-that-are
(define t (fill '(2 3) 1))
(write (list (size (sum t 0 #t)) (size (sum t 0 #f)) (size (interpolate (fill '(1 1 4) 1) 2 'linear #t))))
; expect: ((1 3) (3) (1 1 8))
;;; case vector-of-indices-of-rows
(define t (fill '(3 2) 0))
(scatter-add t (list->tensor '(0 2) 'i64) (fill '(2 2) 1) 0)
; expect error: scatter-add: indices of shape \(2\) do not go with a tensor of shape \(3 2\) along axis 0; a vector i of indices is stretched to all of them by \(expand-tensor \(unsqueeze i 1\) '\(2 2\)\)
;;; case vector-of-indices-in-the-middle
(gather (fill '(3 2 4) 0) (list->tensor '(0) 'i64) 1) ; expect error: \(expand-tensor \(unsqueeze \(unsqueeze i 0\) 2\) '\(3 1 4\)\)
;;; case what-is-advised-of-indices
(define i (list->tensor '(0 2) 'i64))
(write (tensor->list (scatter-add (fill '(3 2) 0) (expand-tensor (unsqueeze i 1) '(2 2)) (fill '(2 2) 1) 0)))
(write (tensor->list (gather (list->tensor '(((1 2) (3 4)))) (expand-tensor (unsqueeze (unsqueeze (list->tensor '(1) 'i64) 0) 2) '(1 1 2)) 1)))
; expect: ((1.0 1.0) (0.0 0.0) (1.0 1.0))(((3.0 4.0)))
;;; case parts-along-an-axis-that-is-not-there
(split (arange 6) 2 3) ; expect error: split: there is no such axis; axis and number of axes are 2 1
;;; case tensors-that-are-no-list
(concat-tensors (arange 2) (arange 3)) ; expect error: concat-tensors: operand 1: expected a list of tensors, got .*; they stand in one list, \(list a b\), and the axis is the other operand
;;; case output-and-statistics
(define n (in-sequence (linear-layer 2 3)))
(mean (layer-train n (layer-parameters n) (layer-statistics n) (fill '(4 2) 1)))
; expect error: mean: operand 1: expected a tensor, got .*; it begins with a tensor, \(car l\): output and statistics are a pair that layer-train gives
;;; case a-layer-that-is-called
(define n (linear-layer 2 3))
(n (fill '(4 2) 1)) ; expect error: a layer is applied by \(layer-test layer parameters statistics x\)
;;; case parameters-and-statistics-exchanged
(define n (in-sequence (linear-layer 2 3) (function-layer ReLU)))
(layer-test n (layer-statistics n) (layer-parameters n) (fill '(4 2) 1))
; expect error: layer-test: this layer has no statistics, \(\) are expected; are two arguments in each other's place
;;; case parameters-and-statistics-exchanged-in-training
(define n (linear-layer 2 3))
(layer-train n (layer-statistics n) (layer-parameters n) (fill '(4 2) 1))
; expect error: layer-train: this layer has no statistics
