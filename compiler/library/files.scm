; Files of parameters and data sets, over the primitives that read and write tensors.

; --- parameters: numbers and tensors in pairs and vectors, each named by its way through them. An element of a list or vector is called
; by its index, or by the symbol that it begins with; names are put together with points, as in PyTorch: 0.weight. What is neither number
; nor tensor is no parameter, and stays as it is.

(define (%below name part) (if (string=? name "") part (string-append name "." part)))

; (leaf name x state) -> (x' . state') for each parameter in order: (p' . state').
(define (%walk leaf name p state)
  (cond ((tensor? p) (leaf (if (string=? name "") "parameter" name) p state))
        ((number? p) (leaf (if (string=? name "") "parameter" name) p state))
        ((%dict-node? p) (%walk-dict leaf name p state))
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

; The values of a dictionary are called by their keys.
(define (%walk-dict leaf name d state)
  (if (null? d)
      (cons d state)
      (let* (((cons l state) (%walk-dict leaf name (%smaller d) state))
             ((cons value state) (%walk leaf (%below name (format "~a" (%kept->key (%kept d)))) (%value d) state))
             ((cons r state) (%walk-dict leaf name (%larger d) state)))
        (cons (vector (vector-ref d 0) l (%kept d) value r) state))))

(define (%walk-element leaf name i e state)
  (if (if (pair? e) (symbol? (car e)) #f)
      (let (((cons p state) (%walk leaf (%below name (symbol->string (car e))) (cdr e) state))) (cons (cons (car e) p) state))
      (%walk leaf (%below name (number->string i)) e state)))

(define (save-parameters path p)
  (let ((found (reverse (cdr (%walk (lambda (name x found)
                                      (cons x (cons (cons name (if (tensor? x) x (list->tensor x (if (exact? x) 'i64 'f64)))) found)))
                                    "" p '())))))
    (%check-names "save-parameters" (map car found) p)
    (write-safetensors path found)))

; Two lists that begin with the same symbol, for example, give two parameters one name: neither could be told from the other. The message names
; where they stand by indices alone, those of symbols too.
(define (%check-names who names p)
  (let %check-names/loop ((l names) (i 0) (seen (dict)))
    (cond ((null? l) #t)
          ((dict-has? seen (car l))
           (let* ((places (reverse (cdr (%walk (lambda (name x found) (cons x (cons name found))) "" (%without-symbols p) '()))))
                  (first (list-ref places (dict-ref seen (car l))))
                  (second (list-ref places i)))
             (if (string=? first second)
                 (error (string-append who ": two parameters have the name " (car l) ", as keys of a dictionary look alike")))
             (error (string-append who ": two parameters have the name " (car l) ", by symbols that lists begin with; by indices they are") first second)))
          (else (%check-names/loop (cdr l) (+ i 1) (dict-set seen (car l) i))))))
(define (%without-symbols p)
  (cond ((pair? p) (cons (%without-symbols (car p)) (%without-symbols (cdr p))))
        ((symbol? p) (symbol->string p))
        ((%dict-node? p) (dict-map (lambda (key value) (%without-symbols value)) p))
        ((vector? p) (vector-map (lambda (x) (%without-symbols x)) p))
        (else p)))

; The structure of `like` with what the file has. `names` is an association list from names in the file to names of parameters.
(define (load-parameters path like . names)
  (let* ((file (read-safetensors path))
         (names (map (lambda ((cons theirs ours)) (cons ours theirs)) (if (null? names) '() (%only "load-parameters" names))))
         (parameters (reverse (cdr (%walk (lambda (name x found) (cons x (cons name found))) "" like '())))))
    (%check-names "load-parameters" parameters like)
    (for-each (lambda ((cons ours theirs))
                (if (if (member ours parameters) #f (not (assoc theirs file)))
                    (error (string-append "load-parameters: of the names, " (%as-text theirs) " is no tensor of " path " and " (%as-text ours)
                                          " no parameter; those are")
                           (map car file) parameters)))
              names)
    (car (%walk (lambda (name x state) (cons (%fitting-parameter path name x (%tensor-for path file names name x)) state)) "" like '()))))
(define (%as-text x) (format "~s" x))

(define (%tensor-for path file names name x)
  (let* ((renamed (assoc name names)) (found (assoc (if renamed (cdr renamed) name) file)))
    (cond (found (cdr found))
          (renamed
           (error (string-append "load-parameters: " path " has no tensor " (%as-text (cdr renamed)) ", which the names give to the parameter " name
                                 "; it has")
                  (map car file)))
          (else
           (error (string-append "load-parameters: " path " has no tensor " name " for the parameter " name
                                 (if (null? names) "" (format ", to which none of the names ~s gives another one" (map (lambda ((cons ours theirs)) (cons theirs ours)) names)))
                                 (if (eqv? x 0) " (for a first state of 0 write (rule-state rule p))" "") "; it has")
                  (map car file))))))

(define (%fitting-parameter path name x t)
  (let ((sizes (if (tensor? x) (size x) '())))
    (cond ((not (equal? (size t) sizes))
           (error (string-append "load-parameters: " path ": the sizes of the parameter " name " and of the tensor in the file differ"
                                 (if (if (= (length sizes) 2) (equal? (size t) (reverse sizes)) #f)
                                     "; load it with the sizes in the file and (transpose t) what was loaded:"
                                     ":"))
                  sizes (size t)))
          ((tensor? x)
           (let ((loaded (if (eqv? (tensor-type x) (tensor-type t)) t (cast t (tensor-type x)))))
             (if (if (memq (tensor-type x) '(u8 i8 i16 i32 i64)) (not (equal? (cast loaded (tensor-type t)) t)) #f)
                 (error (string-append "load-parameters: " path ": the parameter " name " has a type that does not hold the numbers in the file:") (tensor-type x) (tensor-type t)))
             loaded))
          ((exact? x) (tensor->number t))
          (else (exact->inexact (tensor->number t))))))

; --- data sets

(define (%big-endian bytes) (fold-left (lambda (n b) (+ (* n 256) b)) 0 (tensor->list bytes)))

; The format of MNIST: zero, zero, type, number of axes; their sizes, 32 bits each, the highest byte first; elements, likewise. Where they are in the file.
(define (idx-array path)
  (if (< (file-size path) 4) (%wrong-idx path 0 (format "expected the 4 bytes that an IDX file begins with, but the file has ~a" (file-size path))))
  (let (((list a b type axes) (tensor->list (read-bytes path 0 4))))
    (cond ((if (= a 0) (not (= b 0)) #t)
           (%wrong-idx path 0 (format "expected 0 and 0, with which files of the format IDX begin, got ~a and ~a; ~a" a b
                                      (if (if (= a 31) (= b 139) #f) "it is compressed, gunzip unpacks it" "is it another file?"))))
          ((not (assv type %idx-types))
           (%wrong-idx path 2 (format "expected the number of a type of elements, one of ~a, got ~a" (map car %idx-types) type)))
          ((> axes 8) (%wrong-idx path 3 (format "expected at most 8 axes, got ~a; is it another file?" axes)))
          ((< (file-size path) (+ 4 (* 4 axes)))
           (%wrong-idx path 4 (format "expected the sizes of ~a axes, 4 bytes each, but the file ends at byte ~a; it is cut off, get it anew" axes (file-size path))))
          (else
           (let* ((sizes (build-list axes (lambda (i) (%big-endian (read-bytes path (+ 4 (* 4 i)) 4)))))
                  (begins (+ 4 (* 4 axes)))
                  (found (cdr (assv type %idx-types)))
                  (expected (* (cdr found) (fold-left * 1 sizes))))
             (if (= (file-size path) (+ begins expected))
                 (list path (car found) begins sizes)
                 (%wrong-idx path begins (format "expected ~a bytes for elements of the sizes ~a, but ~a follow; ~a" expected sizes (- (file-size path) begins)
                                                 (if (< (- (file-size path) begins) expected) "it is cut off, get it anew" "is it another file?")))))))))
(define (%wrong-idx path at message) (error (format "idx-array: ~a: ~a (byte ~a)" path message at)))
(define %idx-types '((8 u8 . 1) (9 i8 . 1) (11 i16-be . 2) (12 i32-be . 4) (13 f32-be . 4) (14 f64-be . 8)))

(define (read-idx path)
  (let ((array (idx-array path)))
    (if (null? (cadddr array)) (error (format "read-idx: ~a: expected at least one axis, got a file of 0 axes, a single number; (idx-array path) says where it is (byte 3)" path)))
    (read-rows array 0 (car (cadddr array)))))

; CIFAR's binary version: records of a label (of CIFAR-100: two, the coarse one first) and an image of 3072 bytes.
(define (cifar-array path . l)
  (let* ((labels (if (null? l) 1 (%only "cifar-array" l))) (record (+ labels 3072)) (bytes (file-size path)))
    (if (= (remainder bytes record) 0)
        (list path 'u8 0 (list (quotient bytes record) record))
        (error (format "cifar-array: ~a: expected records of ~a bytes, ~a for labels and 3072 of pixels, but the last one has ~a; is it cut off, or of CIFAR-~a, whose records have ~a? (byte ~a)"
                       path record labels (remainder bytes record) (if (= labels 1) "100" "10") (if (= labels 1) "2 labels: (cifar-array path 2)" "1 label: (cifar-array path)")
                       (- bytes (remainder bytes record)))))))

; (labels . images) of the whole file, or of records.
(define (read-cifar path . l)
  (let ((array (apply cifar-array path l)))
    (cifar-images (read-rows array 0 (car (cadddr array))))))
(define (cifar-images records)
  (let* ((count (car (size records))) (labels (- (cadr (size records)) 3072)))
    (cons (if (= labels 1)
              (view (narrow-tensor records 1 0 1) (list count))
              (narrow-tensor records 1 0 labels))
          (view (narrow-tensor records 1 labels 3072) (list count 3 32 32)))))
