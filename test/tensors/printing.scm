; Like NumPy's, in the words of the language.
; flags: --device=cpu
(define (show t) (write t) (newline))
(show (list->tensor '((1 2 3) (40 5 6.5)))) ; expect: #<tensor f32 (2 3)
; expect: [[ 1.0  2.0  3.0]
; expect:  [40.0  5.0  6.5]]>
(show (list->tensor '(1 -2) 'i8)) ; expect: #<tensor i8 (2) [ 1 -2]>
(show (list->tensor '(.1 1e30) 'f32)) ; expect: #<tensor f32 (2) [  0.1 1e+30]>
(show (/ (list->tensor '(1 -1 0) 'f64) 0)) ; expect: #<tensor f64 (3) [+inf.0 -inf.0 +nan.0]>
(show (sum (list->tensor '(1 2)))) ; expect: #<tensor f32 () 3.0>
(show (list->tensor '(() ()))) ; expect: #<tensor f32 (2 0)
; expect: []>
(show (fill '(2 2 1) 1 'u8)) ; expect: #<tensor u8 (2 2 1)
; expect: [[[1]
; expect:   [1]]
; expect:
; expect:  [[1]
; expect:   [1]]]>
(show (fill '(2000) 0)) ; expect: #<tensor f32 (2000) [0.0 0.0 0.0 ... 0.0 0.0 0.0]>
(display (list->tensor '(1))) (newline) ; expect: #<tensor f32 (1) [1.0]>
