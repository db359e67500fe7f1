; Pictures: those of files and folders as sources of examples, and what is done to batches of them before a network sees them.

; Files of pictures as an array: each a row [height, width, channels] of bytes.
(define (picture-array paths height width . l)
  (let ((channels (if (null? l) 3 (%only "picture-array" l))))
    (if (not (if (vector? paths) #t (list? paths))) (error "picture-array: expected paths, a list; of one file (list \"a.png\"), got" paths))
    (if (not (if (%picture-length? height) (if (%picture-length? width) (memv channels '(1 3)) #f) #f))
        (error "picture-array: height and width are integers from 1 to 32768, channels 1 or 3, got" height width channels))
    (let ((paths (if (vector? paths) paths (list->vector paths))))
      (list 'pictures paths 0 (list (vector-length paths) height width channels)))))
(define (%picture-length? n) (if (integer? n) (if (exact? n) (<= 1 n 32768) #f) #f))

; A folder with a folder of pictures for each class: (classes . source), the names in order and a source whose batches are lists of pictures
; and classes. What is neither PNG nor JPEG by its name is left out.
(define (picture-folder path height width . l)
  (let* ((classes (filter (lambda (name) (char=? (%last-character name) #\/)) (list-folder path)))
         (pictures (map (lambda (name)
                          (map (lambda (file) (string-append path "/" name file)) (filter %picture-name? (list-folder (string-append path "/" name)))))
                        classes))
         (paths (apply append pictures))
         (numbers (apply append (map (lambda (files i) (map (lambda (file) i) files)) pictures (iota (length pictures))))))
    (if (null? paths)
        (error (string-append "picture-folder: " path ": expected a folder for each class, with pictures in PNG or JPEG; the folders are") classes))
    (cons (map (lambda (name) (substring name 0 (- (string-length name) 1))) classes)
          (list (apply picture-array paths height width l) (list->tensor numbers 'i64)))))
(define (%last-character s) (string-ref s (- (string-length s) 1)))
(define (%picture-name? name)
  (let ((letters (map char-downcase (reverse (string->list name)))))
    (or (%behind-prefix '(#\g #\n #\p #\.) letters) (%behind-prefix '(#\g #\p #\j #\.) letters) (%behind-prefix '(#\g #\e #\p #\j #\.) letters))))

; --- what is done to batches [batch, channels, sizes ...]; random choices are made for each picture, with the machine's random numbers

; Mirrored along the last axis, or another one, every second time.
(define (random-flip t . l)
  (let ((axis (if (null? l) -1 (%only "random-flip" l))))
    (where (< (rand (cons (car (size t)) (map (lambda (n) 1) (cdr (size t)))) 'f32 (tensor-residence t)) .5) (flip t (list axis)) t)))

; A part of so many elements along each of the last axes, at a random place, behind so many zeros around the picture.
(define (random-crop t sizes . l)
  (let* ((around (if (null? l) 0 (%only "random-crop" l)))
         (t (%surrounded t (length sizes) around))
         (room (%room "random-crop" t sizes)))
    (concat-tensors (build-list (car (size t))
                      (lambda (i) (%cropped (narrow-tensor t 0 i 1) (map (lambda (n) (random-integer (+ n 1))) room) sizes)))
                    0)))
(define (center-crop t sizes)
  (%cropped t (map (lambda (n) (quotient n 2)) (%room "center-crop" t sizes)) sizes))

(define (%surrounded t axes around)
  (let ((ends (append (map (lambda (n) 0) (list-head (size t) (- (length (size t)) axes))) (build-list axes (lambda (i) around)))))
    (if (= around 0) t (pad t ends ends))))
(define (%room name t sizes)
  (let ((axes (- (length (size t)) (length sizes))))
    (if (< axes 1) (error (string-append name ": expected fewer sizes than a batch of pictures has axes, got") sizes (size t)))
    (map (lambda (has wanted)
           (if (<= wanted has) (- has wanted) (error (string-append name ": pictures are smaller than the part; the sizes are") (size t) sizes)))
         (list-tail (size t) axes) sizes)))
(define (%cropped t starts sizes)
  (let ((kept (list-head (size t) (- (length (size t)) (length sizes)))))
    (crop t (append (map (lambda (n) 0) kept) starts) (append kept sizes))))

; Channels less their mean and divided by their deviation: lists, with a number for each.
(define (normalize-channels t means deviations)
  (define (along l) (view (list->tensor l 'f32 (tensor-residence t)) (cons* 1 (length l) (map (lambda (n) 1) (cddr (size t))))))
  (if (not (if (= (length means) (cadr (size t))) (= (length deviations) (cadr (size t))) #f))
      (error (string-append "normalize-channels: expected a mean and a deviation for each channel of a batch"
                            (if (= (length (size t)) 3) "; a single picture goes in as (unsqueeze t 0)" "") "; channels, means and deviations are")
             (cadr (size t)) means deviations))
  (/ (- t (along means)) (along deviations)))

; From pictures as files have them, channels last, to what convolutions take, and back.
(define (channels-first t) (permute t (%rotated (length (size t)) (lambda (i n) (cond ((< i (- n 3)) i) ((= i (- n 3)) (- n 1)) (else (- i 1)))))))
(define (channels-last t) (permute t (%rotated (length (size t)) (lambda (i n) (cond ((< i (- n 3)) i) ((= i (- n 1)) (- n 3)) (else (+ i 1)))))))
(define (%rotated n f)
  (if (< n 3) (error "channels-first, channels-last: a picture has three axes, and this has so many:" n) (build-list n (lambda (i) (f i n)))))
