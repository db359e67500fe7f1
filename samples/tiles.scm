; A classifier of images that are read from files tile by tile: whether stripes run along the image or across it, somewhere in noise.
;
;     vmrun samples/tiles.scm
;     vmrun --memory=1GiB --read=FOLDER --write=FOLDER samples/tiles.scm --size=4096 --folder=FOLDER     16 million points an image
;
; writes --images of --size points to FOLDER, which is there, then prints the loss of each of --epochs rounds over them and how many of as many new images are told
; rightly. docs/tiles.md says how it works.
(import network)
(define option (command-line-options '((size 128) (images 16) (epochs 8) (rate .003) (folder "." text))))
(define n (option 'size))

; Noise of bytes, and in one place a patch of half the size with stripes: of class 0 along, of class 1 across.
(define (draw-image class key)
  (let* ((keys (split-key key 3)) (part (quotient n 2))
         (at (lambda (k) (random-integer (- n part) (list-ref keys k))))
         (noise (* 100 (rand (list 1 1 n n) 'f32 'cpu (list-ref keys 2))))
         (stripes (expand-tensor (view (* 60 (+ 1 (sin (* .8 (arange part))))) (if (= class 0) (list 1 1 part 1) (list 1 1 1 part))) (list 1 1 part part))))
    (cast (add-part noise stripes (list 0 0 (at 0) (at 1))) 'u8)))
(define (write-images name first)
  (map (lambda (i)
         (let ((path (format "~a/~a-~a.npy" (option 'folder) name i)) (class (remainder i 2)))
           (write-npy path (draw-image class (+ first i)))
           (cons (npy-array path) class)))
       (iota (option 'images))))
(define known (write-images "known" 1000))
(define new (write-images "new" 2000))

; Three convolutions, each of half the size before, and of what they have found the mean of the strongest places of small squares.
(define channels '(1 8 8 16))
(define (parameters)
  (list (map (lambda (in out) (new-convolution in out '(5 5))) '(1 8 8) (cdr channels)) (new-linear 16 2)))
(define (features convolutions x)
  (max-pool (fold-left (lambda (x p) (ReLU (convolution p x 2 2))) (- (/ (cast x 'f32) 128) .5) convolutions) 4 4))
(define (logits p image)
  (let ((found (tiled (lambda (x) (features (car p) x)) image)))
    (linear (cadr p) (mean found '(2 3)))))
(define (loss p image class) (cross-entropy-loss (logits p image) (list->tensor (list class) 'i64)))

(define (epoch p state images total)
  (if (null? images)
      (list p state total)
      (let* ((image (caar images)) (class (cdar images))
             (step (checkpoint-*j-update (lambda (p) (loss p image class)) p 1 (adam (option 'rate)) state)))
        (epoch (cadr step) (caddr step) (cdr images) (+ total (tensor->number (car step)))))))
(define (train i p state)
  (if (= i (option 'epochs))
      p
      (let-values (((p state total) (epoch p state known 0)))
        (display (format "epoch ~a: loss ~,4f~%" (+ i 1) (/ total (length known))))
        (report 'epoch (+ i 1) 'loss (/ total (length known)))
        (train (+ i 1) p state))))

(define trained (train 0 (parameters) 0))
(define right (filter (lambda ((cons image class)) (= class (tensor->number (argmax (view (logits trained image) '(2)))))) new))
(display (format "~a of ~a new images are told rightly~%" (length right) (length new)))
