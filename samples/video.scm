; Videos, of a square that moves in noise: a classifier with temporal shifts (TSM) says where it goes, and a YOLO with convolutions in three dimensions also where it is.
;
;     vmrun samples/video.scm --model=tsm
;     vmrun samples/video.scm --model=yolo3d
;     vmrun --memory=150MiB samples/video.scm --frames=64 --steps=1          eight times the frames, in less than half the memory of a tape
;
; prints how many numbers the parameters are, the last loss, and of clips not seen in training the part whose direction, of four, is known; for yolo3d also how many points the square is from
; where it is said to be, on average.
(import network)
(define option (command-line-options '((model "tsm") (frames 8) (points 32) (batch 16) (steps 150) (rate .003))))
(define frames (option 'frames))
(define points (option 'points))

; --- clips [n, frames, points, points], directions [n], and places [n, frames, 2] of the centre, x and y

(define (draw-clips n)
  (let* ((directions (cast (floor (* 4 (rand (list n)))) 'i64))
         (speed (* (/ 8. frames) (embedding (list->tensor '((1 0) (-1 0) (0 1) (0 -1))) directions)))
         (start (+ (* .25 points) (* .5 points (rand (list n 2)))))
         (places (+ (unsqueeze start 1) (* (view (- (arange frames) (* .5 frames)) '(1 -1 1)) (unsqueeze speed 1))))
         (near (lambda (axis sizes) (< (abs (- (view (arange points) sizes) (view (narrow-tensor places 2 axis 1) (list n frames 1 1)))) 3)))
         (square (* (cast (near 0 '(1 1 1 -1)) 'f32) (cast (near 1 '(1 1 -1 1)) 'f32))))
    (list (+ square (* .3 (randn (size square)))) directions places)))

; --- a classifier whose convolutions see single frames: an eighth of the channels comes from the frame before, another from the one behind

(define (unit in out stride) (in-sequence (plain-convolution-layer in out '(3 3) stride 1) (batch-norm-layer out) (function-layer ReLU)))
(define shift
  (function-layer
    (lambda (x)
      (let* (((list all c h w) (size x)) (k (quotient c 8)) (t (view x (list -1 frames c h w)))
             (before (pad (narrow-tensor (narrow-tensor t 2 0 k) 1 0 (- frames 1)) '(0 1 0 0 0) '(0 0 0 0 0)))
             (behind (pad (narrow-tensor (narrow-tensor t 2 k k) 1 1 (- frames 1)) '(0 0 0 0 0) '(0 1 0 0 0))))
        (view (concat-tensors (list before behind (narrow-tensor t 2 (* 2 k) (- c (* 2 k)))) 2) (size x))))))
(define (block c) (residual-layer (in-sequence shift (unit c c 1) (unit c c 1))))
(define tsm
  (in-sequence (function-layer (lambda (x) (view x (list -1 1 points points))))
               (unit 1 16 2) (block 16) (block 16) (unit 16 32 2) (block 32) (block 32)
               (function-layer (lambda (x) (mean (view (mean x '(2 3)) (list -1 frames 32)) 1)))
               (linear-layer 32 4)))
(define (tsm-loss y directions places) (cross-entropy-loss y directions))

; --- of each cell of 8 x 8 points and two frames: is the centre in it, where in it, and the scores of directions

(define (leaky in out)
  (in-sequence (plain-convolution-layer in out '(3 3 3) 1 1) (batch-norm-layer out) (function-layer (lambda (x) (LeakyReLU x .1)))))
(define (pool . window) (function-layer (lambda (x) (max-pool x window))))
(define yolo
  (in-sequence (function-layer (lambda (x) (unsqueeze x 1)))
               (leaky 1 8) (pool 1 2 2) (leaky 8 16) (pool 1 2 2) (leaky 16 32) (pool 2 2 2) (leaky 32 32) (convolution-layer 32 7 '(1 1 1))
               (function-layer (lambda (x) (view (permute x '(0 2 3 4 1)) (list (car (size x)) (quotient frames 2) -1 7))))))
(define across (quotient points 8))

; The cell of the centre between two frames, and where in it the centre is, of each [n, frames / 2].
(define (cells places)
  (let* ((between (* .125 (mean (view places (list (car (size places)) (quotient frames 2) 2 2)) 2)))
         (cell (max 0 (min (- across 1) (floor between)))))
    (list (cast (+ (chosen cell 0) (* across (chosen cell 1))) 'i64) (- between cell))))
(define (chosen t i) (squeeze (narrow-tensor t 2 i 1) 2))
(define (at-cells y cell) ; [n, frames / 2, 7] of the cells given
  (squeeze (gather y (expand-tensor (view cell (append (size cell) '(1 1))) (append (size cell) '(1 7))) 2) 2))
(define (yolo-loss y directions places)
  (let* (((list cell inside) (cells places)) (own (at-cells y cell)))
    (+ (* 4 (binary-cross-entropy-with-logits (squeeze (narrow-tensor y 3 0 1) 3) (one-hot cell (* across across))))
       (mean-squared-error (sigmoid (narrow-tensor own 2 1 2)) inside)
       (cross-entropy-loss (view (narrow-tensor own 2 3 4) '(-1 4)) (view (expand-tensor (unsqueeze directions 1) (size cell)) '(-1))))))

; What the likeliest cell says: scores of directions, mean over the frames, and the centre.
(define (yolo-scores y) (mean (narrow-tensor (at-cells y (likeliest y)) 2 3 4) 1))
(define (likeliest y) (argmax (squeeze (narrow-tensor y 3 0 1) 3) 2))
(define (yolo-distance y places)
  (let* ((cell (likeliest y)) (inside (sigmoid (narrow-tensor (at-cells y cell) 2 1 2))) (row (floor (/ cell across)))
         (centre (* 8 (+ inside (stack (list (- cell (* across row)) row) 2)))))
    (tensor->number (mean (norm (- centre (mean (view places (list (car (size places)) (quotient frames 2) 2 2)) 2)) '(2))))))

; --- training

(define yolo? (equal? (option 'model) "yolo3d"))
(if (not (member (option 'model) '("tsm" "yolo3d"))) (error "expected tsm or yolo3d, got" (option 'model)))
(define network (if yolo? yolo tsm))
(define ((loss-of clips statistics) p)
  (let* (((list x directions places) clips) ((cons y statistics) (layer-train network p statistics x)))
    (cons (tensor->number ((if yolo? yolo-loss tsm-loss) y directions places)) statistics)))

; Of some batches of new clips.
(define ((tested p statistics) i)
  (let* (((list x directions places) (draw-clips (option 'batch))) (y (layer-test network p statistics x)))
    (if yolo? (list (accuracy (yolo-scores y) directions) (yolo-distance y places)) (list (accuracy y directions)))))
(define (finish p statistics)
  (for-each write-real (apply map (lambda l (/ (apply + l) (length l))) (build-list 4 (tested p statistics)))))

(define (train p statistics state steps)
  (let (((list (cons value statistics) p state)
         (checkpoint-*j-update! (loss-of (draw-clips (option 'batch)) statistics) p '(1 . 0) (adam (option 'rate)) state)))
    (report 'step (- (option 'steps) steps -1) 'of (option 'steps) 'loss value)
    (if (= steps 1)
        (begin (write-real value) (finish p statistics))
        (train p statistics state (- steps 1)))))
(define (begin-with p) (write-real (parameters-count p)) (train p (layer-statistics network) 0 (option 'steps)))
(begin-with (layer-parameters network))
