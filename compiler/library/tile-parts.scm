; Operators on parts (tile-runs.scm): the box of a result from the regions of its operands, as the operator gives it there of the whole.

; The box of a node's value, of the regions of its operands. `operate` applies an operator by its name to a list.
(define (%part node operands regions box segment device operate)
  (let ((operator (%node-operator node)))
    (case operator
      ((convolve) (%convolved operate operator (%with-padding-alone node operands box segment device 0 2) (%or-no-padding (car regions) box) 2))
      ((convolve-add-tied) (%convolved operate operator (%with-padding-alone node operands box segment device 0 3) (%or-no-padding (car regions) box) 3))
      ((transpose-convolve) (if (car regions) (%transpose-convolved operate operands (car regions) box) (fill (cdr box) 0 (%node-type node) (%residence-there node device))))
      ((max-pool)
       (let* ((operands (%with-padding-alone node operands box segment device -inf.0 2)) (region (%or-no-padding (car regions) box)) (before (cddr (caddr region))))
         ; What stands in front is padding of the pool's own, as where all of a window is -inf the first element in the image has the derivative.
         (%first-of (max-pool (%padded (car operands) region before -inf.0) (cadr operands) (%operand operands 2 (cadr operands)) before) (cdr box))))
      ((average-pool) (%average-pooled (%with-padding-alone node operands box segment device 0 2) (%or-no-padding (car regions) box) (%node-type node)))
      ((adaptive-max-pool adaptive-average-pool)
       (%pooled-by-bins operator (car operands) (car regions) box
                        (%node-sizes (vector-ref (vector-ref segment 5) (cdar (%node-operands node)))) (%node-sizes node)))
      ((narrow-tensor crop chunk) (car operands))
      ((dropout dropout-planewise) (%dropped operator operands box (%node-sizes node)))
      ((slice)
       (let ((axis (%axis "slice" (cadr operands) (length (cdr box)))))
         (slice (car operands) axis 0 (list-ref (size (car operands)) axis) (%operand operands 4 1))))
      ((pad)
       (if (car regions)
           (pad (car operands) (caddr (car regions)) (cadddr (car regions)) (%operand operands 3 0))
           (fill (cdr box) (%operand operands 3 0) (%node-type node) (%residence-there node device))))
      ((lower-triangle upper-triangle) (apply-operator operator (list (car operands) (%diagonal-there (%operand operands 1 0) (car box)))))
      ((expand-tensor) (expand-tensor (car operands) (cdr box)))
      ((view) (%viewed (car operands) (car regions) box (%node-sizes (vector-ref (vector-ref segment 5) (cdar (%node-operands node)))) (%node-sizes node)))
      ((interpolate-nearest interpolate-linear)
       (%interpolated operator (car operands) (%operand-given? operands 2 #f) (%node-type node) (car regions) box
                      (%node-sizes (vector-ref (vector-ref segment 5) (cdar (%node-operands node)))) (%node-sizes node)))
      ((%normalized) (%normalized operands))
      ((stop-gradient) (stop-gradient (car operands)))
      ((to-device) (if device (car operands) (apply-operator operator operands)))
      (else (%result (operate operator operands) (%node-result node))))))

; A diagonal of the whole as a part sees it that begins there.
(define (%diagonal-there k starts)
  (let ((rest (list-tail starts (- (length starts) 2)))) (+ k (- (car rest) (cadr rest)))))

(define (%operand operands i otherwise)
  (cond ((null? operands) otherwise)
        ((= i 0) (if (boolean? (car operands)) otherwise (car operands)))
        (else (%operand (cdr operands) (- i 1) otherwise))))
(define (%each-axis x space) (if (number? x) (map (lambda (n) x) space) (if (vector? x) (vector->list x) x)))

; Windows may lie in the padding alone: then there is no region, and the padding that they see is the first operand. Strides stand at k.
(define (%with-padding-alone node operands box segment device number k)
  (if (not (boolean? (car operands)))
      operands
      (let* ((from (vector-ref (vector-ref segment 5) (cdar (%node-operands node))))
             (space (cddr (cdr box)))
             (pool (memq (%node-operator node) '(max-pool average-pool)))
             (windows (if pool (%each-axis (cadr operands) space) (%space (size (cadr operands)))))
             (strides (%each-axis (%operand operands k (if pool windows 1)) space))
             (dilation (%each-axis (if pool 1 (%operand operands (+ k 2) 1)) space)))
        (cons (fill (append (list (cadr box) (cadr (%node-sizes from))) (map (lambda (n s w d) (+ (* (- n 1) s) (* d (- w 1)) 1)) space strides windows dilation))
                    number (%node-type from) (%residence-there from device))
              (cdr operands)))))
(define (%or-no-padding region box) (if region region (%region (car box) (cdr box))))

; Padding that both sides of an axis have is the operator's; what one side has beyond that is put there.
(define (%both-sides region) (map min (cddr (caddr region)) (cddr (cadddr region))))
(define (%padded t region both number)
  (let ((before (map - (caddr region) (append '(0 0) both))) (behind (map (lambda (n both) (max 0 (- n both))) (cadddr region) (append '(0 0) both))))
    (if (= 0 (+ (apply + before) (apply + behind))) t (pad t before behind number))))
(define (%first-of t sizes) (if (%same-sizes? (size t) sizes) t (crop t (map (lambda (n) 0) sizes) sizes)))

(define (%convolved operate operator operands region k)
  (let ((both (%both-sides region)))
    (operate operator
             (append (cons (%padded (car operands) region both 0) (list-head (cdr operands) (- k 1)))
                     (list (%operand operands k 1) both (%operand operands (+ k 2) 1) (%operand operands (+ k 3) 1))))))

; Where padding does not count, a window at a border is divided by as many elements as are there, and rounded to bf16 behind that.
(define (%average-pooled operands region type)
  (let* ((t (car operands)) (sizes (cadr operands)) (strides (%operand operands 2 sizes)) (both (%both-sides region)))
    (define (pooled t) (average-pool (%padded t region both 0) sizes strides both #t))
    (if (if (%operand-given? operands 4 #t) #t (= 0 (+ (apply + (caddr region)) (apply + (cadddr region)))))
        (pooled t)
        (let ((full (if (eq? type 'bf16) 'f32 type)))
          (%in-type type (/ (pooled (%in-type full t)) (pooled (fill (append '(1 1) (%space (size t))) 1 full (tensor-residence t)))))))))
; A flag, which may be #f.
(define (%operand-given? operands i otherwise) (if (< i (length operands)) (list-ref operands i) otherwise))

; Bins of n positions: the i-th of m begins at i n / m, rounded down, and ends at (i + 1) n / m, rounded up. Windows have one size: where bins differ
; along an axis, or overlap, each is laid out in as many places as the longest has. The rest of these have its last element, which changes no maximum and
; gets no derivative, as an equal one comes first; or for averages zeros.
(define (%pooled-by-bins operator t region box from to)
  (let ((average? (eq? operator 'adaptive-average-pool)) (ones (map (lambda (n) 1) from)))
    (define (bins-along i)
      (let ((n (list-ref from i)) (m (list-ref to i)) (first (list-ref (car region) i)))
        (map (lambda (j) (cons (- (quotient (* j n) m) first) (- (quotient (+ (* (+ j 1) n) m -1) m) first)))
             (iota (list-ref (cdr box) i) (list-ref (car box) i)))))
    (let %bins/loop ((i 2) (t t) (windows '()) (parts 1))
      (if (= i (length from))
          (let ((windows (reverse windows)))
            (if average? (* parts (average-pool t windows windows 0 #t)) (max-pool t windows windows 0)))
          (let* ((bins (bins-along i)) (lengths (map (lambda (bin) (- (cdr bin) (car bin))) bins)) (most (apply max lengths)) (n (list-ref (size t) i)))
            (define (places (cons begin end)) (map (lambda (place) (if (< place end) place (if average? n (- end 1)))) (iota most begin)))
            (if (= n (* most (length bins)))
                (%bins/loop (+ i 1) t (cons most windows) parts)
                (%bins/loop (+ i 1)
                            (%index-many (if average? (pad t (map (lambda (n) 0) from) (%with-item (map (lambda (n) 0) from) i 1)) t)
                                         i (list->tensor (append-map places bins) 'i64 (tensor-residence t)))
                            (cons most windows)
                            (* parts (view (list->tensor (map (lambda (length) (/ (exact->inexact most) length)) lengths) (tensor-type t) (tensor-residence t))
                                           (%with-item ones i (length bins)))))))))))

; What the whole drops there; it may be a part of something larger itself.
(define (%dropped operator operands box sizes)
  (apply-operator operator
                  (append (list-head operands 3)
                          (list (map + (car box) (%each-axis (%operand operands 3 (map (lambda (n) 0) sizes)) '())) (%operand operands 4 sizes)))))

; Stretches of axes with the same number of elements correspond. In each the region is a run of elements, the box is in rows along the first axis of the
; result: the run is cut, or filled with zeros that are cut off, to whole rows.
(define (%viewed t region box from to)
  (let %viewed/loop ((from from) (starts (car region)) (extents (cadr region)) (to to) (to-starts (car box)) (to-extents (cdr box))
                     (runs '()) (before '()) (behind '()) (rows '()) (firsts '()))
    (if (if (null? from) (null? to) #f)
        (let* ((flat (view t (reverse runs)))
               (whole (if (%every? (lambda (n) (= n 0)) (append before behind)) flat (pad flat (reverse before) (reverse behind)))))
          (%slice (view whole rows) (cons firsts (cdr box))))
        (let* ((counts (%stretch from to)) (n (car counts)) (m (cdr counts)))
          (define (position starts sizes) (fold-left (lambda (at start size) (+ start (* at size))) 0 starts sizes))
          (let* ((run (apply * (list-head extents n))) (start (position (list-head starts n) (list-head from n)))
                 (row (if (= m 0) 1 (apply * (cdr (list-head to m)))))
                 (first (if (= m 0) 0 (* row (car to-starts)))) (last (if (= m 0) 1 (* row (+ (car to-starts) (car to-extents))))))
            (%viewed/loop (list-tail from n) (list-tail starts n) (list-tail extents n) (list-tail to m) (list-tail to-starts m) (list-tail to-extents m)
                          (cons run runs) (cons (- start first) before) (cons (- last (+ start run)) behind)
                          (append rows (if (= m 0) '() (cons (car to-extents) (cdr (list-head to m)))))
                          (append firsts (if (= m 0) '() (cons 0 (cdr (list-head to-starts m)))))))))))
; How many axes of each make up the next stretch.
(define (%stretch from to)
  (define (size-of l n) (if (null? l) 1 (list-ref l n)))
  (let %stretch/loop ((n (min 1 (length from))) (m (min 1 (length to))) (a (size-of from 0)) (b (size-of to 0)))
    (cond ((= a b) (cons n m))
          ((< a b) (%stretch/loop (+ n 1) m (* a (list-ref from n)) b))
          (else (%stretch/loop n (+ m 1) a (* b (list-ref to m)))))))

; The transpose of the region alone, of which the box is cut out; where it begins and ends along each axis.
(define (%transpose-convolved operate operands region box)
  (let* ((space (cddr (car region)))
         (strides (%each-axis (%operand operands 2 1) space)) (padding (%each-axis (%operand operands 3 0) space))
         (all (operate 'transpose-convolve (list (car operands) (cadr operands) strides 0 (%operand operands 4 1) (%operand operands 5 1))))
         (first (map (lambda (from a s p) (- (+ from p) (* a s))) (cddr (car box)) space strides padding)))
    (%cut-out operate all first (cddr (cdr box)))))
(define (%cut-out operate t first count)
  (let ((before (append '(0 0) (map - first))) (behind (append '(0 0) (map - (map + first count) (%space (size t))))))
    (operate 'pad (list t before behind))))

; Along axes whose sizes are multiplied or divided by a whole number a region is interpolated as a whole is, and the box cut out; along others each
; position gets its neighbours, as ops/cpu/spatial/resample.h tells them of the whole.
(define (%interpolated operator t corners? type region box from to)
  (let* ((whole (map (lambda (n m) (%whole-factor? operator corners? n m)) from to)) (others? (memv #f whole))
         (t (if (if others? (eq? operator 'interpolate-linear) #f) (cast t (if (eq? type 'f64) 'f64 'f32)) t))
         (up (map (lambda (whole? n m) (if (if whole? (<= n m) #f) (quotient m n) 1)) whole from to))
         (down (map (lambda (whole? n m) (if (if whole? (< m n) #f) (quotient n m) 1)) whole from to))
         (larger (if (= 1 (apply * up)) t (apply-operator operator (list t (cddr (map * (size t) up))))))
         (near (crop (%decimated larger 2 (cddr down))
                     (map (lambda (whole? from a f g) (if (if whole? (= g 1) #f) (- from (* a f)) 0)) whole (car box) (car region) up down)
                     (map (lambda (whole? in-box in-region) (if whole? in-box in-region)) whole (cdr box) (cadr region)))))
    (define (along t axis)
      (let ((n (list-ref from axis)) (m (list-ref to axis)))
        (%of-neighbours t axis
                  (map (lambda (i) (%neighbours operator corners? i n m)) (iota (list-ref (cdr box) axis) (list-ref (car box) axis)))
                  (list-ref (car region) axis))))
    (if others? (cast (fold-left (lambda (t axis whole?) (if whole? t (along t axis))) near (iota (length whole)) whole) type) near)))
(define (%whole-factor? operator corners? n m)
  (cond ((= n m) #t)
        (corners? #f)
        ((eq? operator 'interpolate-nearest) (if (< n m) (= 0 (remainder m n)) (= 0 (remainder n m))))
        (else (= 0 (remainder m n)))))
; (low . weight of the next one), which is 0 where that is not looked at.
(define (%neighbours operator corners? i n m)
  (let* ((nearest? (eq? operator 'interpolate-nearest))
         (position (cond (nearest? (* i n)) (corners? (* i (- n 1))) (else (max 0 (- (* (+ i i 1) n) m)))))
         (unit (cond (nearest? m) (corners? (max 1 (- m 1))) (else (* 2 m))))
         (low (quotient position unit)))
    (cons low (if (if nearest? #t (= (+ low 1) n)) 0 (/ (exact->inexact (remainder position unit)) unit)))))
; What is looked at alone is its own neighbour, half and half: times 0 an infinite one would be a NaN.
(define (%of-neighbours t axis neighbours first)
  (define (at positions) (%index-many t axis (list->tensor positions 'i64 (tensor-residence t))))
  (define (times weights t)
    (* t (view (list->tensor weights (tensor-type t) (tensor-residence t)) (%with-item (map (lambda (n) 1) (size t)) axis (length weights)))))
  (let ((lows (map (lambda ((cons low weight)) (- low first)) neighbours)))
    (if (%every? (lambda ((cons low weight)) (= weight 0)) neighbours)
        (at lows)
        (+ (times (map (lambda ((cons low weight)) (if (= weight 0) .5 (- 1 weight))) neighbours) (at lows))
           (times (map (lambda ((cons low weight)) (if (= weight 0) .5 weight)) neighbours)
                  (at (map (lambda (low (cons at weight)) (if (= weight 0) low (+ low 1))) lows neighbours)))))))
(define (%decimated t axis steps)
  (cond ((null? steps) t)
        ((= 1 (car steps)) (%decimated t (+ axis 1) (cdr steps)))
        (else (%decimated (slice t axis 0 (list-ref (size t) axis) (car steps)) (+ axis 1) (cdr steps)))))

; x less mean, over deviation, times scale, plus shift; mean and variance have their axes. The operator takes these two for constants. As the same
; function of constants and of both, through scale and shift, it has their derivatives of every order: the factor is 1, the sum adds 0.
(define (%normalized operands)
  (let* ((scale (cadr operands)) (epsilon (list-ref operands 5))
         (m (view (list-ref operands 3) (size scale))) (v (view (list-ref operands 4) (size scale)))
         (m0 (stop-gradient m)) (v0 (stop-gradient v))
         (deviation (sqrt (+ v epsilon))))
    (batch-normalization-test (car operands) (* scale (/ (sqrt (+ v0 epsilon)) deviation)) (+ (caddr operands) (* (- m0 m) (/ scale deviation))) m0 v0 epsilon)))
