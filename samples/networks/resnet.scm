; ResNets of any depth: the ImageNet forms by the blocks of their four stages, those for CIFAR by their depth.
;
;     vmrun samples/networks/resnet.scm --blocks=18                             18, 34, 50, 101 or 152
;     vmrun samples/networks/resnet.scm --blocks=3,8,36,3 --bottleneck=1        what 152 stands for: blocks of three convolutions
;     vmrun samples/networks/resnet.scm --cifar=110 --classes=10 --size=32      a depth of 6n + 2, or of 9n + 2 with --bottleneck=1
;     vmrun samples/networks/resnet.scm --cifar=20 --classes=10 --batch=128 --steps=3900 --rate=.1 --data=data_batch_1.bin
;
; prints how many numbers the parameters are (11,689,512 of ResNet-18), then the losses of --steps steps on --batch random images of --size points, or of those in --data=FILE,
; CIFAR-10's binary version, moved and mirrored at random, or in --folder=PATH,
; which has a folder of PNG or JPEG for each class, scaled to --size; both are read while a step computes. --width=4 makes a thin one, --count
; only counts. Depth costs little memory: vmrun --memory=200MiB, --cifar=1001 --bottleneck=1, or 10,001 layers by --blocks=3,8,3319,3 --bottleneck=1.
(import network)
(import noise)

(define options (command-line-options '((blocks "18") (cifar #f number) (bottleneck 0) (width #f number) (classes 1000) (size 224) (batch 2) (steps 2) (rate .01) (count #f) (data #f text) (folder #f text))))

; What the block makes of its input, and the input; where the shape changes, as a projection sees it.
(define (block in out stride layer)
  (in-sequence (if (if (= stride 1) (= in out) #f) (residual-layer layer) (residual-layer layer (unit same in out '(1 1) stride))) relu))
(define (basic in width stride)
  (block in width stride (in-sequence (unit ReLU in width '(3 3) stride 1) (unit same width width '(3 3) 1 1))))
(define (bottleneck in width stride)
  (block in (* 4 width) stride
         (in-sequence (unit ReLU in width '(1 1)) (unit ReLU width width '(3 3) stride 1) (unit same width (* 4 width) '(1 1)))))

; Stages of so many blocks, each twice as wide as the one before and, but for the first, of half its size; then means and scores.
(define (stages kind widening in width counts stride)
  (if (null? counts)
      (in-sequence global-mean (linear-layer in (options 'classes)))
      (in-sequence (kind in width stride)
                   (let ((later (kind (* widening width) width 1))) (repeat (- (car counts) 1) (lambda (i) later))) ; one layer, with many parameters
                   (stages kind widening (* widening width) (* 2 width) (cdr counts) 2))))
(define (resnet kind widening width counts)
  (in-sequence (unit ReLU 3 width '(7 7) 2 3) (pool 3 2 1) (stages kind widening width width counts 1)))
(define (cifar-resnet kind widening width n)
  (in-sequence (unit ReLU 3 width '(3 3) 1 1) (stages kind widening width width (list n n n) 1)))

(define (width-or otherwise) (if (options 'width) (options 'width) otherwise))
(define known '(("18" #f 2 2 2 2) ("34" #f 3 4 6 3) ("50" #t 3 4 6 3) ("101" #t 3 4 23 3) ("152" #t 3 8 36 3)))
(define (counts-of text)
  (let ((counts (map string->number (string-split text #\,))))
    (if (if (> (length counts) 1) (null? (remove (lambda (n) (if n (if (integer? n) (> n 0) #f) #f)) counts)) #f)
        counts
        (error "expected --blocks=18, 34, 50, 101, 152 or the blocks of each stage, such as 3,8,36,3, got" text))))
(define (blocks-of depth each) ; of the same number in each of three stages, with so many layers each
  (if (if (integer? depth) (if (> depth 2) (= (remainder (- depth 2) (* 3 each)) 0) #f) #f)
      (quotient (- depth 2) (* 3 each))
      (error "expected --cifar=N with a depth N of 6n + 2, such as 20 or 110, or of 9n + 2 with --bottleneck=1, such as 164, got" depth)))
(define network
  (let* ((name (options 'blocks)) (entry (assoc name known)) (deep? (if entry (cadr entry) (= (options 'bottleneck) 1))))
    (cond ((options 'cifar)
           (if (= (options 'bottleneck) 1)
               (cifar-resnet bottleneck 4 (width-or 16) (blocks-of (options 'cifar) 3))
               (cifar-resnet basic 1 (width-or 16) (blocks-of (options 'cifar) 2))))
          (else
           (resnet (if deep? bottleneck basic) (if deep? 4 1) (width-or 64) (if entry (cddr entry) (counts-of name)))))))

; Batches of files: n -> (images . loss).
(define (cifar-batch records)
  (let (((cons classes images) (cifar-images records)))
    (cons (normalize-channels (/ (random-flip (random-crop images '(32 32) 4)) 255) '(.491 .482 .447) '(.247 .243 .262))
          (lambda (y) (cross-entropy-loss y (cast classes 'i64))))))
(define (batches-of source f)
  (let ((batches (loader-map f (loader source (options 'batch) (random-integer 1000000000))))) (lambda (n) (loader-batch batches n))))

(define (picture-batch (list pictures classes))
  (cons (normalize-channels (/ (random-flip (channels-first pictures)) 255) '(.485 .456 .406) '(.229 .224 .225))
        (lambda (y) (cross-entropy-loss y classes))))

(cond ((options 'data) (train-on network options (lambda () (batches-of (cifar-array (options 'data)) cifar-batch))))
      ((options 'folder)
       (train-on network options (lambda () (batches-of (cdr (picture-folder (options 'folder) (options 'size) (options 'size))) picture-batch))))
      (else (train-on-noise network 3 (of-classes (options 'classes)) options)))
