; What is tiled and goes to a file (tiles.scm): each tile is written to its place there, so that the whole is never in memory. The file is begun under
; another name, which belongs to its number, and gets its own name when all is there. Where a file that was begun is gone, as where a saved state went to another
; machine, its segment is computed again, with the same elements.

(define (tiled->npy path f x . options) (npy-array (%tiled-to-file "tiled->npy" 'npy path f x options)))
(define (tiled->tiff path f x . options) (tiff-array (%tiled-to-file "tiled->tiff" 'tiff path f x options)))

; Gives the path.
(define (%tiled-to-file who format path f x options)
  (let* (((list inputs counts devices empty?) (%tiling who f x options)))
    (define (begun type sizes varies?) (%file-begun (list path format type sizes) varies?))
    (define (whole y) (%whole-to-file (begun (tensor-type y) (size y) (%leaf-varies? y)) y))
    (if (not (string? path)) (error (string-append who ": expected the path of a file, a string, got") path))
    (%refuse-within-tiles (%any? %recorded? inputs) who)
    (if empty?
        (whole (%one-tensor who (%untiled f x inputs)))
        (let* ((graph (%tile-graph f x (%checked-files who inputs))) (n (%node-to-file graph)) (template (vector-ref graph 2)) (leaves (vector-ref graph 1)) (inside? (%refuse-within-tiles (vector-ref graph 3) who))
               (plan (%plan-of-graph graph counts inputs devices n)))
          (if n
              (let* ((node (vector-ref (vector-ref graph 0) n))
                     (file (begun (%node-type node) (%node-sizes node) (vector-ref (%plan-varying plan) n)))
                     (y (caar (%graph-values (vector-update plan 9 (cons n file)) inputs leaves #f))))
                (if (tensor? y) (%whole-to-file file y) y))
              (whole (%one-tensor who (if (memq (car template) '(pair vector)) #f (%operand-value template (list->vector inputs) leaves)))))))))
; Within another call of tiled there are no elements yet.
(define (%refuse-within-tiles within? who)
  (if within?
      (%refuse-recorded (string-append who ": a procedure given to `tiled` runs once on sizes alone, so what it computes is not there to be written: write what `tiled` gives"))))
(define (%one-tensor who y)
  (if (tensor? y) y (error (string-append who ": f gives no single tensor, and a file has one: write each by a call of its own, or put them together along channels by concat-tensors"))))

; The value of f as the number of the node that computes it; #f: it is an input, a constant, or no tensor.
(define (%node-to-file graph)
  (let ((template (vector-ref graph 2)))
    (if (eq? (car template) 'node) (if (%input? (vector-ref (vector-ref graph 0) (cdr template))) #f (cdr template)) #f)))

; (file . number) of a file that is begun, which is an error where what goes there may vary; and its path when it is finished, or #f where it is gone.
(define (%file-begun file varies?) (cons file (%begin-file file varies?)))
(define (%with-part-put file part starts) (if (%put-part (car file) (cdr file) starts part) file #f))
(define (%file-finished file) (if (%finish-file (car file) (cdr file)) (caar file) #f))
(define (%whole-to-file file y)
  (let ((path (if (%with-part-put file y (map (lambda (n) 0) (size y))) (%file-finished file) #f)))
    (if path path (%whole-to-file (%file-begun (car file) #f) y))))
