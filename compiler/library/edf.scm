; EDF, the European data format of recordings such as EEG (Kemp and others, 1992), and EDF+ with annotations (Kemp and Olivan, 2003): a header of text
; in fields of fixed lengths, then records that have a stretch of every signal, in 16 bits. BDF, BioSemi's variant, has 24 bits and another version.

; The header, and the records from one on, so many: an association list. The samples of a signal are in its physical unit.
(define (read-edf path . l)
  (let* ((header (%edf-header path))
         (records (cdr (assq 'records header)))
         (from (if (null? l) 0 (car l)))
         (count (if (if (null? l) #t (null? (cdr l))) (- records from) (%only "read-edf" (cdr l)))))
    (if (if (<= 0 from) (if (<= 0 count) (<= (+ from count) records) #f) #f)
        (%edf-recording path header (read-rows (cdr (assq 'array header)) from count))
        (%edf-error path "so many records are not there; it has" records))))

(define (%edf-error path message . irritants) (%error (cons (string-append "read-edf: " path ": " message) irritants)))

; Text of a field: bytes are characters of Latin-1, blanks at its end do not count.
(define (%edf-text bytes from count)
  (let %edf-text/loop ((l (reverse (list-head (list-tail bytes from) count))))
    (if (if (null? l) #f (<= (car l) 32)) (%edf-text/loop (cdr l)) (list->string (map integer->char (reverse l))))))
(define (%edf-number path bytes from count)
  (let* ((text (%edf-text bytes from count)) (n (string->number text)))
    (if n n (%edf-error path "a field of its header is no number, which begins at byte" from text))))
(define (%edf-count path bytes from count)
  (let ((n (%edf-number path bytes from count)))
    (if (if (integer? n) (>= n 0) #f) n (%edf-error path "a field of its header is no count, which begins at byte" from n))))

(define (%edf-header path)
  (if (< (file-size path) 256) (%edf-error path "is too short for an EDF file; its bytes are" (file-size path)))
  (let* ((head (tensor->list (read-bytes path 0 256)))
         (wide (if (= (car head) 255) (string=? (%edf-text head 1 7) "BIOSEMI") #f))
         (signals (%edf-count path head 252 4))
         (bytes (* 256 (+ signals 1))))
    (if (if (if wide #t (string=? (%edf-text head 0 8) "0")) (= (%edf-count path head 184 8) bytes) #f)
        #t
        (%edf-error path "is no EDF or BDF file; its version and the bytes of its header are" (%edf-text head 0 8) (%edf-text head 184 8)))
    (if (= signals 0) (%edf-error path "its header counts no signals; there is nothing to read"))
    (if (< (file-size path) bytes) (%edf-error path "ends inside of its header; its bytes are" (file-size path)))
    (let* ((fields (tensor->list (read-bytes path 256 (- bytes 256))))
           (samples (%edf-fields path signals fields 216 8 %edf-count))
           (a-record (* (if wide 3 2) (fold-left + 0 samples)))
           (told (%edf-number path head 236 8)) ; -1: unknown while it was recorded
           (there (if (= a-record 0) 0 (quotient (- (file-size path) bytes) a-record)))
           (records (if (= told -1) there told)))
      (if (= (+ bytes (* records a-record)) (file-size path))
          (list (cons 'head head) (cons 'fields fields) (cons 'samples samples) (cons 'signals signals) (cons 'records records)
                (cons 'array (if wide (list path 'u8 bytes (list records a-record)) (list path 'i16 bytes (list records (quotient a-record 2))))))
          (%edf-error path "its size does not fit its records; bytes, records and bytes of a record are" (file-size path) told a-record)))))

; The fields of all signals that stand behind so many bytes a signal.
(define (%edf-fields path signals fields behind width f)
  (build-list signals (lambda (i) (f path fields (+ (* signals behind) (* i width)) width))))

(define (%edf-recording path header rows)
  (let* (((list (cons a head) (cons b fields) (cons c samples) (cons d signals) (cons e records) more) header)
         (duration (%edf-number path head 244 8))
         (text (lambda (behind width) (%edf-fields path signals fields behind width (lambda (path l from n) (%edf-text l from n)))))
         (numbers (lambda (behind) (%edf-fields path signals fields behind 8 %edf-number)))
         (begins (%edf-sums 0 samples))
         (wide (eq? (tensor-type rows) 'u8))
         (of (lambda (rows width) (map (lambda (from n) (contiguous (narrow-tensor rows 1 (* width from) (* width n)))) begins samples)))
         (words (if wide (of rows 3) (of rows 1))) ; of BDF bytes
         (parts (if wide (map %bdf-numbers words) words))
         (notes (if wide "BDF Annotations" "EDF Annotations"))
         (labels (text 0 16)))
    (list (cons "patient" (%edf-text head 8 80))
          (cons "recording" (%edf-text head 88 80))
          (cons "start" (string-append (%edf-text head 168 8) " " (%edf-text head 176 8)))
          (cons "records" records)
          (cons "duration" duration)
          (cons "signals"
                (filter pair?
                  (map (lambda (label unit least most lowest highest n part)
                         (if (string=? label notes)
                             #f
                             (list (cons "label" label) (cons "unit" unit) (cons "rate" (if (= duration 0) 0 (/ n duration)))
                                   (cons "samples" (%edf-physical path label part least most lowest highest)))))
                       labels (text 96 8) (numbers 104) (numbers 112) (numbers 120) (numbers 128) samples parts)))
          (cons "annotations"
                (append-map (lambda (label part) (if (string=? label notes) (%edf-annotations part wide) '())) labels words)))))

; Three bytes a number, the lowest first, in two's complement.
(define (%bdf-numbers bytes)
  (let* ((t (cast (view bytes (list (car (size bytes)) (quotient (cadr (size bytes)) 3) 3)) 'i32))
         (n (+ (index t #t #t 0) (* 256 (index t #t #t 1)) (* 65536 (index t #t #t 2)))))
    (- n (* 16777216 (cast (>= n 8388608) 'i32)))))

(define (%edf-sums total l) (if (null? l) '() (cons total (%edf-sums (+ total (car l)) (cdr l)))))

(define (%edf-physical path label part least most lowest highest)
  (if (= lowest highest) (%edf-error path "a signal has only one digital value:" label lowest))
  (let ((unit (/ (- most least) (- highest lowest))))
    (+ (* (cast (view part '(-1)) 'f32) unit) (- least (* unit lowest)))))

; Of each record: onset, perhaps a byte 21 and a duration, then texts, each behind a byte 20; a byte 0 ends such a list. Lists without a text tell
; when the record began.
(define (%edf-annotations part wide)
  (append-map (lambda (record) (%edf-lists (if wide record (append-map %edf-bytes record)))) (tensor->list part)))
(define (%edf-bytes word)
  (let ((word (if (< word 0) (+ word 65536) word))) (list (remainder word 256) (quotient word 256))))
(define (%edf-lists bytes)
  (let %edf-lists/loop ((bytes bytes) (l '()))
    (cond ((null? bytes) '())
          ((not (= (car bytes) 0)) (%edf-lists/loop (cdr bytes) (cons (car bytes) l)))
          ((null? l) (%edf-lists/loop (cdr bytes) '()))
          (else (append (%edf-list (%edf-split 20 (reverse l))) (%edf-lists/loop (cdr bytes) '()))))))
(define (%edf-list parts)
  (let* ((times (%edf-split 21 (car parts)))
         (number (lambda (l) (string->number (list->string (map integer->char l)))))
         (duration (if (null? (cdr times)) #f (number (cadr times)))))
    (map (lambda (text) (list (number (car times)) duration (detokenize (byte-tokenizer) text))) (filter pair? (cdr parts)))))
(define (%edf-split mark l)
  (let %edf-split/loop ((l l) (part '()))
    (cond ((null? l) (list (reverse part)))
          ((= (car l) mark) (cons (reverse part) (%edf-split/loop (cdr l) '())))
          (else (%edf-split/loop (cdr l) (cons (car l) part))))))
