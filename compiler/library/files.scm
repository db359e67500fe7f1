; Files of parameters, tables and data sets, over the primitives that read and write tensors.

; --- parameters: numbers and tensors in pairs and vectors, each named by its way through them. An element of a list or vector is called
; by its index, or by the symbol that it begins with; names are put together with points, as in PyTorch: 0.weight. What is neither number
; nor tensor is no parameter, and stays as it is.

(define (%below name part) (if (string=? name "") part (string-append name "." part)))

; (leaf name x state) -> (x' . state') for each parameter in order: (p' . state').
(define (%walk leaf name p state)
  (cond ((tensor? p) (leaf (if (string=? name "") "parameter" name) p state))
        ((number? p) (leaf (if (string=? name "") "parameter" name) p state))
        ((vector? p) (let (((cons l state) (%walk-elements leaf name 0 (vector->list p) state))) (cons (list->vector l) state)))
        ((pair? p) (%walk-elements leaf name 0 p state))
        (else (cons p state))))

(define (%walk-elements leaf name i l state)
  (cond ((null? l) (cons l state))
        ((pair? l)
         (let* (((cons e state) (%walk-element leaf name i (car l) state))
                ((cons more state) (%walk-elements leaf name (+ i 1) (cdr l) state)))
           (cons (cons e more) state)))
        (else (%walk-element leaf name i l state)))) ; behind the point of a dotted list

(define (%walk-element leaf name i e state)
  (if (if (pair? e) (symbol? (car e)) #f)
      (let (((cons p state) (%walk leaf (%below name (symbol->string (car e))) (cdr e) state))) (cons (cons (car e) p) state))
      (%walk leaf (%below name (number->string i)) e state)))

(define (save-parameters path p)
  (write-safetensors path
    (reverse (cdr (%walk (lambda (name x found)
                           (cons x (cons (cons name (if (tensor? x) x (list->tensor x (if (exact? x) 'i64 'f64)))) found)))
                         "" p '())))))

; The structure of `like` with what the file has. `names` is an association list from names in the file to names of parameters.
(define (load-parameters path like . names)
  (let ((file (read-safetensors path))
        (names (map (lambda ((cons theirs ours)) (cons ours theirs)) (if (null? names) '() (%only "load-parameters" names)))))
    (car (%walk (lambda (name x state)
                  (let* ((renamed (assoc name names))
                         (theirs (if renamed (cdr renamed) name))
                         (found (assoc theirs file)))
                    (cons (if found
                              (%fitting-parameter path name x (cdr found))
                              (error (string-append "load-parameters: " path " has no tensor " theirs " for the parameter " name
                                                    "; it has") (map car file)))
                          state)))
                "" like '()))))

(define (%fitting-parameter path name x t)
  (let ((sizes (if (tensor? x) (size x) '())))
    (cond ((not (equal? (size t) sizes))
           (error (string-append "load-parameters: " path ": the sizes of the parameter " name " and of the tensor in the file differ:") sizes
                  (size t)))
          ((tensor? x) (if (eqv? (tensor-type x) (tensor-type t)) t (cast t (tensor-type x))))
          ((exact? x) (tensor->number t))
          (else (exact->inexact (tensor->number t))))))

; --- tables

; A line of names, quoted where they must be, and one of numbers for each row.
(define (write-csv path names rows)
  (if (null? names) (error (string-append "write-csv: " path ": there is no name, so no column")))
  (let ((rows (if (tensor? rows) (tensor->list rows) rows)))
    (for-each (lambda (row)
                (if (not (= (length row) (length names)))
                    (error (string-append "write-csv: " path ": a row has another number of fields than there are names:") row names)))
              rows)
    (write-text path (apply string-append (append-map %csv-line (cons (map %csv-name names) (map (lambda (row) (map %csv-number row)) rows)))))))
(define (%csv-line fields)
  (append (list (car fields)) (append-map (lambda (field) (list "," field)) (cdr fields)) (list "\n")))
(define (%csv-number x)
  (cond ((not (= x x)) "") ((= x +inf.0) "inf") ((= x -inf.0) "-inf") (else (number->string x))))
(define (%csv-name s)
  (if (null? (filter (lambda (c) (memv c '(#\, #\" #\newline #\return))) (string->list s)))
      s
      (string-append "\"" (list->string (append-map (lambda (c) (if (char=? c #\") (list c c) (list c))) (string->list s))) "\"")))

; --- data sets

(define (%big-endian bytes) (fold-left (lambda (n b) (+ (* n 256) b)) 0 (tensor->list bytes)))

; The format of MNIST: zero, zero, type, number of axes; their sizes, 32 bits each; elements.
(define (read-idx path)
  (let (((list a b type axes) (tensor->list (read-bytes path 0 4))))
    (cond ((if (= a 0) (not (= b 0)) #t) (error (string-append "read-idx: " path ": no file of the format IDX; is it still compressed?")))
          ((not (= type 8))
           (error (string-append "read-idx: " path ": only bytes (type 8) are read; write others with numpy.save for read-npy; type") type))
          (else
           (let* ((sizes (build-list axes (lambda (i) (%big-endian (read-bytes path (+ 4 (* 4 i)) 4)))))
                  (begins (+ 4 (* 4 axes))))
             (if (= (file-size path) (+ begins (fold-left * 1 sizes)))
                 (view (read-bytes path begins) sizes)
                 (error (string-append "read-idx: " path ": its size does not fit the sizes of its axes:") (file-size path) sizes)))))))

; CIFAR's binary version: records of a label (of CIFAR-100: two, the coarse one first) and an image. (labels . images).
(define (read-cifar path . l)
  (let* ((labels (if (null? l) 1 (%only "read-cifar" l))) (record (+ labels 3072)) (bytes (file-size path)))
    (if (= (remainder bytes record) 0)
        (let* ((count (quotient bytes record)) (records (view (read-bytes path) (list count record))))
          (cons (if (= labels 1)
                    (view (narrow-tensor records 1 0 1) (list count))
                    (narrow-tensor records 1 0 labels))
                (view (narrow-tensor records 1 labels 3072) (list count 3 32 32))))
        (error (string-append "read-cifar: " path ": its size is no multiple of that of a record:") bytes record))))
