; Tiles: a procedure of large tensors computed part by part. f runs once on tensors of which sizes alone are known (vm/machine/recorded.h), which gives
; the graph of its operators. Stretches of that graph whose results are made of near parts of their operands are segments: such a stretch is computed for
; one tile of its results after the other, each from the regions of the operands that it needs. What a segment reads and what it gives are borders, whole
; or in parts; what lies between exists for one tile at a time, in the derivative too, which is that of a procedure with rules: docs/tiles.md.
; Graphs are in tile-graphs.scm, and what is recorded as other operators in tile-rewrites.scm; along which axes tiles lie in tile-axes.scm; segments and
; tiles in tile-plans.scm; boxes in tile-boxes.scm; what is done in tile-runs.scm, and in the derivative in tile-sweeps.scm; operators on parts in
; tile-parts.scm; what is reduced along space in tile-reductions.scm; arrays in files in array-regions.scm; what is written to files in tile-files.scm.
; Segments that are computed tile by tile, each with all operators between two borders, are "segmented fused-tiled execution": Xu, Sabin, Raje,
; Sukumaran-Rajam, Rountev and Sadayappan, "Training of Deep Learning Pipelines on Memory-Constrained GPUs via Segmented Fused-Tiled Execution" (CC 2022),
; sections 3 and 4.

(define (tiled f x . options)
  (let* (((list inputs counts devices empty?) (%tiling "tiled" f x options)))
    (if (if empty? #t (%any? %recorded? inputs)) ; there is nothing to divide, or what is around this divides it
        (%untiled f x inputs)
        (let ((graph (%tile-graph f x (%checked-files "tiled" inputs))))
          (if (vector-ref graph 3)
              (%untiled f x inputs) ; so it does where f refers to what it has recorded
              (let ((values (%run-graph graph (%plan-of-graph graph counts inputs devices #f) inputs))) ; behind it only what cannot fail, so that errors name this procedure
                (%filled (vector-ref graph 2) values (vector-ref graph 1))))))))

; (inputs counts devices empty?): tensors and arrays in x, tiles along each axis or #f, names of devices, and whether an input has no elements.
(define (%tiling who f x options)
  (if (not (procedure? f)) (error (string-append who ": expected a procedure of x, got") f))
  (let* ((inputs (%tile-inputs who x)) (tiles (if (null? options) '() (list (car options)))) (devices (%tile-devices who (if (null? options) '() (cdr options))))
         (counts (%tile-counts who tiles inputs)) (empty? (%any? (lambda (t) (= 0 (apply * (%sizes-of t)))) inputs)))
    (list inputs (if empty? #f counts) devices empty?)))
(define (%untiled f x inputs) (f (car (%with-tensors x (map (lambda (t) (if (tensor? t) t (%read-all t))) inputs)))))

; The names of the devices over which tiles are dealt, in the order in which they get them; '(): tiles are computed where the image is.
(define (%tile-devices who devices)
  (let ((names (if (null? devices) #f (%only who devices))))
    (cond ((not names) '())
          ((if (pair? names) (list? names) #f) (map (lambda (name) (tensor-residence (to-device (fill '() 0 'u8 'cpu) name))) names))
          (else (error (string-append who ": expected a list of the names of at least one device, got") names)))))

; What tiled would do, by segment: the names of its operators, how many tiles along each axis, bytes that the largest holds while it is differentiated,
; its work as a multiple of what it would be without halos, and bytes of what it gives that is kept for others. An operator that is computed as a whole is
; in the list as well, with #f for tiles, or, where it reduces the parts that tiles gave, with these. A third option that is not #f: of what is written to
; a file.
(define (tile-plan f x . options)
  (let* ((all? (= 3 (length options)))
         ((list inputs counts devices empty?) (%tiling "tile-plan" f x (if all? (list-head options 2) options)))
         (graph (%tile-graph f x inputs)) (nodes (vector-ref graph 0)) (wanted (%template-nodes (vector-ref graph 2)))
         (view (%view-of nodes (vector-ref graph 1) wanted (if (if all? (caddr options) #f) (%node-to-file graph) #f)))
         (steps (%steps nodes (vector-ref graph 1) view counts inputs devices)) (layouts (%layouts steps nodes wanted counts)))
    (map (lambda (step)
           (append (if (eq? (car step) 'segment)
                       (let ((all (%all-tiles-take (cdr step) view)))
                         (list (%names-of (%members-of (cdr step)) nodes) (vector-ref (cdr step) 0) (cadr all) (exact->inexact (/ (car all) (caddr all)))))
                       (let ((node (vector-ref nodes (cdr step))))
                         (list (%names-of (list (cdr step)) nodes) (%parts-of-operand node layouts) (%bytes-of-node node) 1.)))
                   (list (%bytes-given step view))))
         steps)))

(define (%tile-graph f x inputs)
  (let ((recording (number->string (length inputs))))
    (%graph-of (f (car (%with-tensors x (%recorded-inputs inputs recording)))) inputs recording)))
(define (%tile-inputs who x)
  (let ((inputs (reverse (%tensors-in who x '()))))
    (if (null? inputs) (error (string-append who ": there is no tensor in") x) inputs)))

; How many tiles along each axis behind the first two, at most as many as the largest tensor has elements there, where it has any.
; #f: as many as memory asks for.
(define (%tile-counts who tiles inputs)
  (if (if (null? tiles) #t (eq? #f (car tiles))) #f (%checked-tiles who (%only who tiles) (map %sizes-of inputs))))
(define (%checked-tiles who tiles sizes)
  (let* ((space (%largest-space sizes)) (counts (if (number? tiles) (map (lambda (n) tiles) space) tiles)))
    (cond ((null? space) (%refuse-flat who sizes))
          ((not (if (list? counts) (= (length counts) (length space)) #f))
           (error (format "~a: expected a number of tiles, or a list of ~a, one for each axis behind the first two, got" who (length space)) tiles))
          (else
           (for-each (lambda (n most)
                       (if (not (if (integer? n) (if (< 0 most) (<= 1 n most) (<= 1 n)) #f))
                           (error (format "~a: along an axis of ~a elements there are 1 to ~a tiles, not" who most most) n)))
                     counts space)
           (map inexact->exact counts)))))
(define (%refuse-flat who sizes)
  (let ((cure (append '(1 1) (fold-left (lambda (most sizes) (if (< (length most) (length sizes)) sizes most)) '() sizes))))
    (error (format "~a: tiles lie along the axes behind the first two, batch and channels, and no tensor has more than two: an image, or a line of samples, is (view t '~a), and in a file the list of its array with these sizes, (list path type from '~a); sizes are" who cure cure)
           sizes)))
(define (%largest-space sizes) (%largest-of (map %space sizes)))
(define (%largest-of spaces)
  (map (lambda (i) (fold-left (lambda (most space) (if (< i (length space)) (max most (list-ref space i)) most)) 0 spaces))
       (iota (fold-left (lambda (most space) (max most (length space))) 0 spaces))))
(define (%space sizes) (if (< (length sizes) 3) '() (cddr sizes)))
