; What a procedure given to `tiled` may not do, and tiles that cannot be.
(define x (randn '(1 2 12 12) 'f64 'cpu 1))
(define w (randn '(2 2 3 3) 'f64 'cpu 2))
;;; case decides-by-an-element
(define (f x)
  (if (> (sumall x) 0) x (- x)))
(tiled f x 2)
; expect error: sumall: the elements of this tensor are not known: a procedure given to `tiled` runs once on sizes alone, .*; `\(sum t\)` is a tensor; otherwise compute what decides outside of it
; expect location: 2:10
;;; case decides-by-a-comparison
(tiled (lambda (x) (if (> x 0) x (- x))) x 2)
; expect error: a comparison of tensors is a tensor, which is no condition; .*, and within `tiled`, where there are no elements yet, \(where test a b\) chooses
;;; case takes-a-comparison-for-a-condition
(tiled (lambda (x) (if (not-equal x 0) x (- x))) x 2)
; expect error: a condition: the elements of this tensor are not known
;;; case asks-whether-tensors-are-equal
(tiled (lambda (x) (if (equal? x (* 1 x)) (sin x) x)) x 2)
; expect error: error: equal\?: the elements of this tensor are not known
;;; case asks-whether-tensors-are-the-same
(tiled (lambda (x) (if (eqv? x (* 1 x)) (sin x) x)) x 2)
; expect error: error: eqv\?: the elements of this tensor are not known
;;; case looks-for-a-tensor
(tiled (lambda (x) (if (member (* 1 x) (list 0 "x" w x)) (sin x) x)) x 2)
; expect error: error: member: the elements of this tensor are not known
;;; case tells-tensors-apart-by-types-and-sizes
(write (equal? x (tiled (lambda (x) (if (or (equal? x w) (equal? x (cast x 'f32)) (equal? x 0) (not (equal? x x))) (sin x) x)) x 2))) ; expect: #t
;;; case tiles-in-tiles-that-cannot-be
(tiled (lambda (x) (tiled ReLU x 99)) x 2)
; expect error: tiled: along an axis of 12 elements there are 1 to 12 tiles, not 99
;;; case lists-elements
(tiled (lambda (x) (tensor->list x)) x 2)
; expect error: tensor->list: the elements of this tensor are not known
;;; case reverse-inside
(tiled (lambda (x) (cdr (*j (lambda (x) (sum (square x))) x 1))) x 2)
; expect error: a derivative: the elements of this tensor are not known: .* or differentiate what it computes
;;; case forward-inside
(tiled (lambda (x) (cdr (j* square x x))) x 2)
; expect error: a derivative: the elements of this tensor are not known
;;; case derivative-by-a-procedure-of-the-library
(tiled (lambda (x) (gradient sumall x)) x 2)
; expect error: error: gradient: the elements of this tensor are not known
;;; case handles-what-only-recording-refuses
(write (call-with-error-handler
  (lambda (message irritants) 1)
  (lambda () (tiled (lambda (x) (call-with-error-handler (lambda (message irritants) (* 2 x)) (lambda () (if (> (sumall x) 0) x (- x))))) x 2))))
; expect error: sumall: the elements of this tensor are not known
;;; case shows-elements-as-text
(write (call-with-error-handler list (lambda () (tiled (lambda (x) (* (string-length (format "~a" (list (sum x)))) x)) x 2))))
; expect error: format: the elements of this tensor are not known
;;; case shows-elements-as-json
(write (call-with-error-handler list (lambda () (tiled (lambda (x) (* (string-length (json->string (list x))) x)) x 2))))
; expect error: json->string: the elements of this tensor are not known
;;; case writes-elements
(write (tiled (lambda (x) (call-with-error-handler (lambda (message irritants) (* 2 x)) (lambda () (write-npy "x.npy" x) x))) x 2))
; expect error: write-npy: the elements of this tensor are not known
;;; case handles-its-own-errors
(define (f x) (call-with-error-handler (lambda (message irritants) (* 2 (car irritants))) (lambda () (error "odd" (sin x)))))
(write (equal? (f x) (tiled f x 2))) ; expect: #t
;;; case no-type-of-elements
(tiled ReLU (list "a.npy" 'nonsense 0 '(1 1 4 4)) 2)
; expect error: error: tiled: a\.npy: expected a type of elements in a file, one of \(u8 .* f64-be\), got nonsense
;;; case no-type-of-elements-of-a-page
(tile-plan ReLU (list 'tiff "a.tif" 0 '(1 1 4 4) 'nonsense) 2)
; expect error: error: tile-plan: a\.tif: expected a type of elements in a file, one of .*, got nonsense
;;; case no-type-of-elements-in-rows
(read-rows (list "a.npy" 'nonsense 0 '(1 1 4 4)) 0 1)
; expect error: error: read-rows: a\.npy: expected a type of elements in a file, such as f32, u8 or i16-be, got nonsense
;;; case no-sizes-of-an-array
(tiled ReLU (list "a.npy" 'f32 0 '(1 1 x 4)) 2)
; expect error: error: tiled: a\.npy: expected a list of sizes, numbers from 0 on, got \(1 1 x 4\)
;;; case no-first-byte
(tiled ReLU (list "a.npy" 'f32 -1 '(1 1 4 4)) 2)
; expect error: error: tiled: a\.npy: expected the number of the byte where the elements begin, from 0 on, got -1
;;; case no-distance-of-rows
(tiled ReLU (list "a.npy" 'f32 0 '(1 1 4 4) 'far) 2)
; expect error: error: tiled: a\.npy: expected how many elements it is from one row to the next, a number from 0 on, got far
;;; case no-file
(tiled ReLU (list "no-such-file.npy" 'f32 0 '(1 1 4 4)) 2)
; expect error: error: tiled: no-such-file\.npy: cannot be opened
;;; case no-file-of-another-format
(read-edf "no-such-file.edf")
; expect error: error: read-edf: no-such-file\.edf: cannot be opened
;;; case no-file-to-ask-for-its-size
(file-size "no-such-file.npy")
; expect error: error: file-size: no-such-file\.npy: cannot be opened
;;; case operands-that-do-not-fit
(tiled (lambda (x)
  (convolve x w 1 1 1 7)) x 2)
; expect error: convolve: an input of shape \(1 2 12 12\) and weights of shape \(2 2 3 3\) do not go together in 7 groups
; expect location: 2:3
;;; case no-tile
(tiled ReLU x 0)
; expect error: tiled: along an axis of 12 elements there are 1 to 12 tiles, not 0
;;; case more-tiles-than-elements
(tiled ReLU x '(2 13))
; expect error: tiled: along an axis of 12 elements there are 1 to 12 tiles, not 13
;;; case part-of-a-tile
(tiled ReLU x 2.5)
; expect error: there are 1 to 12 tiles, not 2\.5
;;; case other-axes
(tiled ReLU x '(2 2 2))
; expect error: tiled: expected a number of tiles, or a list of 2, one for each axis behind the first two, got \(2 2 2\)
;;; case no-axes
(tiled ReLU (ones '(3 3)) 2)
; expect error: tiled: tiles lie along the axes behind the first two, batch and channels, and no tensor has more than two: .* \(view t '\(1 1 3 3\)\), .* \(list path type from '\(1 1 3 3\)\); sizes are \(\(3 3\)\)
;;; case no-procedure
(tiled 5 x 2)
; expect error: error: tiled: expected a procedure of x, got 5
;;; case no-procedure-to-plan
(tile-plan x ReLU 2)
; expect error: error: tile-plan: expected a procedure of x, got #<tensor
;;; case a-procedure-of-two-tensors
(tiled (lambda (x y) x) x 2)
; expect error: error: tiled: the procedure that it is given: expected 2 arguments, got 1
;;; case more-tiles-than-elements-of-nothing
(tile-plan ReLU (ones '(0 1 8 8)) 9)
; expect error: error: tile-plan: along an axis of 8 elements there are 1 to 8 tiles, not 9
;;; case tiles-of-an-axis-without-elements
(write (size (tiled ReLU (ones '(1 1 0 8)) '(9 8)))) ; expect: (1 1 0 8)
;;; case no-tensor
(tiled ReLU 5 2)
; expect error: tiled: there is no tensor in 5
;;; case no-operator
(apply-operator 'sine (list x))
; expect error: apply-operator: there is no operator `sine`; docs/operators.md lists them
;;; case no-name-of-an-operator
(apply-operator "sin" (list x))
; expect error: apply-operator: expected the name of an operator, a symbol, got "sin"
;;; case too-few-operands
(apply-operator 'convolve (list x))
; expect error: apply-operator: expected a list of 2 to 6 operands of convolve
;;; case no-part-of-the-result
(operand-regions 'convolve (list x w 1 1) 0 '(0 0 0 0) '(1 2 14 4))
; expect error: operand-regions: expected the starts and the sizes of a part of shape \(1 2 12 12\), got \(0 0 0 0\) and \(1 2 14 4\)
;;; case no-such-result
(operand-regions 'ReLU (list x) 1 '(0 0 0 0) '(1 2 4 4))
; expect error: operand-regions: ReLU has 1 results, numbered from 0, and none 1
;;; case a-part-that-does-not-fit
(with-part x (ones '(1 2 3 3) 'f64) '(0 0 10 0))
; expect error: with-part: a part of shape \(1 2 3 3\) from \(0 0 10 0\) on is not in a tensor of shape \(1 2 12 12\)
;;; case a-part-of-another-type
(add-part x (ones '(1 2 3 3)) '(0 0 0 0))
; expect error: add-part: a part of type f32 in a tensor of type f64: `cast` it first
;;; case no-recorded-tensor
(+ 1 (vector '%recorded 'f32 '(1 . 2) 'cpu '%input 0 0 -1))
; expect error: a recorded tensor has a type, sizes and a residence, this one is none
;;; case no-list-of-devices
(tiled ReLU x 2 'cpu)
; expect error: tiled: expected a list of the names of at least one device, got cpu
;;; case no-devices
(tiled ReLU x 2 '())
; expect error: tiled: expected a list of the names of at least one device, got \(\)
;;; case no-device
(tiled ReLU x #f '(cpu emulated:7))
; expect error: there is no device `emulated:7` in this run; it has cpu.*; --device=emulated:7 gives it
;;; case no-name-of-a-device
(tiled ReLU x 2 '(cpu 7))
; expect error: to-device: operand 2: expected a residence, got 7
;;; case more-than-devices
(tiled ReLU x 2 '(cpu) 7)
; expect error: tiled: too many arguments
;;; case capsules-of-what-is-recorded
(tiled (lambda (x) (interrupt (lambda (x) (sin (cos x))) x 3)) (ones '(1 1 4 4)) 2)
; expect error: error: tiled: f gives a capsule, .*resume it within f, or interrupt outside
;;; case handles-a-capsule
(write (call-with-error-handler list (lambda () (tiled (lambda (x) (interrupt (lambda (x) (sin (cos x))) x 3)) (ones '(1 1 4 4)) 2))))
; expect error: error: tiled: f gives a capsule
;;; case rules-of-the-program
(define-derivative (own a) (value (* a (tanh a))) (reverse (y c) (list c)))
(define (f x)
  (convolve (own (* 2 x)) w))
(write (call-with-error-handler list (lambda () (tiled f x 2))))
; expect error: error: `own` has derivative rules of its own \(define-derivative\), and .*: apply `own` outside of it, or write there what computes its value
; expect location: 3:13
;;; case rules-of-the-program-called-by-the-library
(define-derivative (own a) (value (* a (tanh a))) (reverse (y c) (list c)))
(tiled own x 2)
; expect error: error: tiled: `own` has derivative rules
; expect location: 2:1
;;; case arrays-in-files-are-no-tensors
(convolve (list "a.npy" 'u8 128 '(1 2 9 9)) w)
; expect error: convolve: operand 1: expected a tensor, got \("a.npy" .*; that is an array in a file: \(tiled f array\) computes by parts of it, .* read-npy all of its file
;;; case pages-are-no-tensors
(+ 1 (list 'tiff "a.tif" 0 '(1 2 9 9) 'u8))
; expect error: got \(tiff .*; that is an array in a file: \(tiled f array\) computes by parts of it
;;; case reads-a-large-array-as-a-whole
; flags: --memory=8MiB
(write-npy "whole.npy" (fill '(1900 1900) 7 'u8))
(define kept (read-npy "whole.npy"))
(list kept (read-npy "whole.npy") (read-npy "whole.npy"))
; expect error: memory budget of 8\.0 MiB exceeded(.|\n)*\(npy-array path\) is the same array without its elements: \(tiled f array\) and loaders read parts of it
; expect exit: 3
;;; case a-file-without-all-elements
(write-npy "short.npy" (ones '(1 1 16 16)))
(tiled tanh (list "short.npy" 'f32 128 '(1 1 100000000 10000000)))
; expect error: error: tiled: short\.npy: has 1152 bytes; an array of f32 with sizes \(1 1 100000000 10000000\) from byte 128 on takes 4000000000000128
;;; case a-file-without-the-last-element
(write-npy "short.npy" (ones '(1 1 16 16)))
(write (size (tiled tanh (list "short.npy" 'f32 128 '(3 1 1 16) 120)))) ; expect: (3 1 1 16)
(tiled->npy "long.npy" tanh (list "short.npy" 'f32 128 '(3 1 1 17) 120))
; expect error: error: tiled->npy: short\.npy: has 1152 bytes; an array of f32 with sizes \(3 1 1 17\) from byte 128 on takes 1156
;;; case names-who-was-called
(tiled->npy "capsule.npy" (lambda (x) (interrupt (lambda (x) (sin (cos x))) x 3)) (ones '(1 1 4 4)) 2)
; expect error: error: tiled->npy: f gives a capsule
;;; case procedures-of-what-is-recorded
(define ((loss w) x) (sum (convolve x w 1 1)))
(write (call-with-error-handler list (lambda () (tiled loss w 2))))
; expect error: error: tiled: f gives a procedure that holds a tensor of which only type and sizes are known, .*: let f give that tensor, and make the procedure outside
; expect location: 2:8
;;; case procedures-in-what-is-given
(define (nested y) (let ((f (lambda () (lambda () y)))) (list 1 (vector x (list f)))))
(tiled (lambda (x) (nested (tanh x))) x 2)
; expect error: error: tiled: f gives a procedure that holds a tensor
;;; case capsules-in-procedures
(tiled (lambda (x) (let ((c (interrupt (lambda (x) (sin (cos x))) x 3))) (lambda () c))) x 2)
; expect error: error: tiled: f gives a procedure that holds a tensor
;;; case procedures-of-what-is-known
(define y (tiled (lambda (x) (list (tanh x) (lambda (z) (+ z w)) sin)) x 2))
(write (list (equal? (car y) (tanh x)) (equal? ((cadr y) 1) (+ 1 w)) ((caddr y) 0))) ; expect: (#t #t 0.0)
;;; case procedures-within-what-is-tiled-within
(define (f x) ((tiled (lambda (w) (lambda (y) (* y x))) w 2) 2))
(write (equal? (f x) (tiled f x 2))) ; expect: #t
;;; case errors-that-take-what-is-recorded-along
(define (f x)
  (error "too large" (tanh x)))
(write (call-with-error-handler (lambda (message irritants) (sum (car irritants))) (lambda () (tiled f x 2))))
; expect error: this error has an irritant that holds a tensor of which only type and sizes are known, .*: handle it within that procedure, or give the sizes, \(size t\)
; expect location: 2:3
;;; case errors-that-pass-what-is-recorded-on
(define (f x) (call-with-error-handler (lambda (message irritants) (apply error message irritants)) (lambda () (error "odd" (lambda () x)))))
(write (call-with-error-handler list (lambda () (list (tile-plan f x 2)))))
; expect error: error: this error has an irritant that holds a tensor
;;; case errors-that-tell-sizes
(define (f x) (error "too large" (size (tanh x))))
(write (call-with-error-handler list (lambda () (tiled f x 2)))) ; expect: ("too large" ((1 2 12 12)))
;;; case errors-that-nobody-handles
(tiled (lambda (x) (error "too large" (tanh x))) x 2)
; expect error: error: too large #<recorded f64 \(1 2 12 12\)>
;;; case errors-within-what-is-tiled-within
(define (f x)
  (call-with-error-handler (lambda (message irritants) (* 2 (car irritants))) (lambda () (tiled (lambda (w) (error "odd" x)) w 2))))
(write (equal? (f x) (tiled f x 2))) ; expect: #t
;;; case makes-no-number-of-a-tile
; flags: --check-nan
(define (f x)
  (let ((y (tanh x)))
    (log y)))
(write (size (tiled f x 2)))
; expect error: error: tiled: log \(in f at .*case\.scm:\d+:5\): element \d+ of a tile of shape \(1 2 6 6\) is a NaN
;;; case makes-no-number-as-a-whole
; flags: --check-nan
(define (f x)
  (cumulative-sum (log (mean x '(2 3) #t)) 1))
(write (size (tiled f (- (abs x)) 2)))
; expect error: error: tiled: log \(in f at .*case\.scm:\d+:19\): element 0 of the result of shape \(1 2 1 1\) is a NaN
