; EDF, the European data format of recordings such as EEG (Kemp and others, 1992), and EDF+ with annotations (Kemp and Olivan, 2003): a header of text
; in fields of fixed lengths, then records that have a stretch of every signal, in 16 bits. BDF, BioSemi's variant, has 24 bits and another version.

; The header, and the records from one on, so many: an association list. The samples of a signal are in its physical unit.
(define (read-edf path . l)
  (let* ((header (%edf-header path))
         (records (cdr (assq 'records header)))
         (from (if (null? l) 0 (car l)))
         (count (if (if (null? l) #t (null? (cdr l))) (- records from) (%only "read-edf" (cdr l)))))
    (if (if (<= 0 from) (if (<= 0 count) (<= (+ from count) records) #f) #f)
        (%edf-recording path header from (read-rows (cdr (assq 'array header)) from count))
        (%read-edf path "so many records are not there; it has" records))))

(define (%read-edf path message . more)
  (%error
    (list (fold-left (lambda (text x) (string-append text " " (if (string? x) (string-append "\"" x "\"") (number->string x))))
                     (string-append "read-edf: " path ": " message)
                     more))))

; Fields are where a list of the bytes of the header begins; `at` is the first one's place in the file. Text of a field: bytes are characters of
; Latin-1, blanks at its end do not count.
(define (%edf-text bytes count)
  (let %edf-text/loop ((l (reverse (list-head bytes count))))
    (if (if (null? l) #f (<= (car l) 32)) (%edf-text/loop (cdr l)) (list->string (map integer->char (reverse l))))))
(define (%edf-number path bytes at count)
  (let* ((text (%edf-text bytes count)) (n (%edf-finite text)))
    (if n n (%read-edf path "a field of its header is no number; its byte and its text are" at text))))
(define (%edf-finite text) (let ((n (string->number text))) (if n (if (< (abs n) +inf.0) n #f) #f))) ; #f: it is none, or infinite
(define (%edf-count path bytes at count)
  (let ((n (%edf-number path bytes at count)))
    (if (if (integer? n) (>= n 0) #f) n (%read-edf path "a field of its header is no count; its byte and its number are" at n))))

(define (%edf-header path)
  (if (< (file-size path) 256) (%read-edf path "is too short for an EDF file; its bytes are" (file-size path)))
  (let* ((head (tensor->list (read-bytes path 0 256)))
         (wide (if (= (car head) 255) (string=? (%edf-text (list-tail head 1) 7) "BIOSEMI") #f))
         (signals (%edf-count path (list-tail head 252) 252 4))
         (bytes (* 256 (+ signals 1))))
    (if (if (if wide #t (string=? (%edf-text (list-tail head 0) 8) "0")) (= (%edf-count path (list-tail head 184) 184 8) bytes) #f)
        #t
        (%read-edf path "is no EDF or BDF file; its version and the bytes of its header are" (%edf-text (list-tail head 0) 8) (%edf-text (list-tail head 184) 8)))
    (if (= signals 0) (%read-edf path "its header counts no signals; there is nothing to read"))
    (if (< (file-size path) bytes) (%read-edf path "ends inside of its header; its bytes are" (file-size path)))
    (let* ((fields (tensor->list (read-bytes path 256 (- bytes 256))))
           (samples (%edf-fields path signals fields 216 8 %edf-count))
           (a-record (* (if wide 3 2) (fold-left + 0 samples)))
           (told (%edf-number path (list-tail head 236) 236 8)) ; -1: unknown while it was recorded
           (there (if (= a-record 0) 0 (quotient (- (file-size path) bytes) a-record)))
           (records (if (= told -1) there told)))
      (if (= (+ bytes (* records a-record)) (file-size path))
          (list (cons 'head head) (cons 'fields fields) (cons 'samples samples) (cons 'signals signals) (cons 'records records)
                (cons 'array (if wide (list path 'u8 bytes (list records a-record)) (list path 'i16 bytes (list records (quotient a-record 2))))))
          (%read-edf path "its size does not fit its records; bytes, records and bytes of a record are" (file-size path) told a-record)))))

; The fields of all signals that stand behind so many bytes a signal. The list is walked once: a header may have thousands of signals.
(define (%edf-fields path signals fields behind width f)
  (let %edf-fields/loop ((l (list-tail fields (* signals behind))) (at (+ 256 (* signals behind))) (left signals) (out '()))
    (if (= left 0)
        (reverse out)
        (%edf-fields/loop (list-tail l width) (+ at width) (- left 1) (cons (f path l at width) out)))))

(define (%edf-recording path header from rows)
  (let* (((list (cons a head) (cons b fields) (cons c samples) (cons d signals) (cons e records) more) header)
         (duration (%edf-number path (list-tail head 244) 244 8))
         (text (lambda (behind width) (%edf-fields path signals fields behind width (lambda (path l at n) (%edf-text l n)))))
         (width (if (eq? (tensor-type rows) 'u8) 1 2))
         (a-record (* width (cadr (size rows))))
         (first-byte (+ (* 256 (+ signals 1)) (* from a-record)))
         (numbers (lambda (behind) (%edf-fields path signals fields behind 8 %edf-number)))
         (begins (%edf-sums 0 samples))
         (wide (eq? (tensor-type rows) 'u8))
         (of (lambda (rows width) (map (lambda (from n) (contiguous (narrow-tensor rows 1 (* width from) (* width n)))) begins samples)))
         (words (if wide (of rows 3) (of rows 1))) ; of BDF bytes
         (parts (if wide (map %bdf-numbers words) words))
         (notes (if wide "BDF Annotations" "EDF Annotations"))
         (labels (text 0 16)))
    (if (if (member (%edf-text (list-tail head 192) 5) '("EDF+D" "BDF+D")) (> (car (size rows)) 1) #f)
        (%read-edf path (string-append "there are gaps between its records, which would be lost; read one at a time, (read-edf path "
                                       (number->string from) " 1)")))
    (if (if (> duration 0) (< (/ 1e8 duration) +inf.0) (= duration 0)) ; fields have eight digits: rates are finite
        #t
        (%read-edf path "the duration of its records is none; its byte and its number are" 244 duration))
    (list (cons "patient" (%edf-text (list-tail head 8) 80))
          (cons "recording" (%edf-text (list-tail head 88) 80))
          (cons "start" (string-append (%edf-text (list-tail head 168) 8) " " (%edf-text (list-tail head 176) 8)))
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
                (append-map (lambda (label part begin)
                              (if (string=? label notes)
                                  (%edf-annotations path part wide (+ first-byte (* (if wide 3 2) begin)) a-record)
                                  '()))
                            labels words begins)))))

; Three bytes a number, the lowest first, in two's complement.
(define (%bdf-numbers bytes)
  (let* ((t (cast (view bytes (list (car (size bytes)) (quotient (cadr (size bytes)) 3) 3)) 'i32))
         (n (+ (index t #t #t 0) (* 256 (index t #t #t 1)) (* 65536 (index t #t #t 2)))))
    (- n (* 16777216 (cast (>= n 8388608) 'i32)))))

(define (%edf-sums total l) (if (null? l) '() (cons total (%edf-sums (+ total (car l)) (cdr l)))))

(define (%edf-physical path label part least most lowest highest)
  (if (= lowest highest) (%read-edf path "a signal has only one digital value:" label lowest))
  (let ((unit (/ (- most least) (- highest lowest))))
    (if (not (< (abs unit) +inf.0)) (%read-edf path "the range of a signal is too wide; it ends at" label least most))
    (+ (* (cast (view part '(-1)) 'f32) unit) (- least (* unit lowest)))))

; Of each record: onset, perhaps a byte 21 and a duration, then texts, each behind a byte 20; a byte 0 ends such a list. Lists without a text tell
; when the record began.
(define (%edf-annotations path part wide at a-record)
  (let %edf-annotations/loop ((records (tensor->list part)) (at at) (out '()))
    (if (null? records)
        (apply append (reverse out))
        (%edf-annotations/loop (cdr records)
                               (+ at a-record)
                               (cons (%edf-lists path (if wide (car records) (append-map %edf-bytes (car records))) at) out)))))
(define (%edf-bytes word)
  (let ((word (if (< word 0) (+ word 65536) word))) (list (remainder word 256) (quotient word 256))))
(define (%edf-lists path bytes at)
  (let %edf-lists/loop ((bytes bytes) (at at) (from at) (l '()))
    (cond ((null? bytes) (if (null? l) '() (%edf-damaged path from)))
          ((not (= (car bytes) 0)) (%edf-lists/loop (cdr bytes) (+ at 1) from (cons (car bytes) l)))
          ((null? l) (%edf-lists/loop (cdr bytes) (+ at 1) (+ at 1) '()))
          (else (append (%edf-list path (%edf-split 20 (reverse l)) from) (%edf-lists/loop (cdr bytes) (+ at 1) (+ at 1) '()))))))
(define (%edf-damaged path at) (%read-edf path "an annotation is damaged, which begins at byte" at))
(define (%edf-list path parts at)
  (let* ((times (%edf-split 21 (car parts)))
         (number (lambda (l) (or (%edf-finite (list->string (map integer->char l))) (%edf-damaged path at))))
         (onset (if (null? (cdr parts)) (%edf-damaged path at) (number (car times))))
         (duration (if (null? (cdr times)) #f (number (cadr times)))))
    (map (lambda (text) (list onset duration (detokenize (byte-tokenizer) text))) (filter pair? (cdr parts)))))
(define (%edf-split mark l)
  (let %edf-split/loop ((l l) (part '()))
    (cond ((null? l) (list (reverse part)))
          ((= (car l) mark) (cons (reverse part) (%edf-split/loop (cdr l) '())))
          (else (%edf-split/loop (cdr l) (cons (car l) part))))))
