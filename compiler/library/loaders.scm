; Loaders: what gives the batches of a training, as a value. The n-th batch is a function of the loader and n: nothing is remembered from
; one batch to the next, so a program that was interrupted goes on with the batch whose number its own loop has.

; A source of examples is a tensor, whose first axis counts them; an array in a file (npy-array and its kind); a pair of a number and a
; procedure that makes a batch of a tensor of indices; a subset of another source; or a list of sources with equally many examples, whose
; batches are lists.
(define (loader source batch . l)
  (let ((seed (if (null? l) #f (%only "loader" l))) (count (%count-examples source)))
    (cond ((if (integer? batch) (<= batch 0) #t) (error "loader: expected how many examples a batch has, got" batch))
          ((if seed (if (integer? seed) (< seed 0) #t) #f)
           (error "loader: expected an integer from 0 on as the seed of the order, or #f or nothing for the order that examples have, got" seed))
          (else (list 'loader count source (lambda (b) b) batch seed #f 0 1)))))

(define (%count-examples source)
  (cond ((tensor? source)
         (if (null? (size source)) (error "loader: a tensor without axes has no examples") (car (size source))))
        ((not (pair? source)) (error "loader: expected a tensor, an array in a file, a pair of a number and a procedure, or a list of these, got" source))
        ((%array? source)
         (if (null? (cadddr source)) (error "loader: an array without axes has no examples:" source) (car (cadddr source))))
        ((number? (car source))
         (if (if (integer? (car source)) (if (>= (car source) 0) (procedure? (cdr source)) #f) #f)
             (car source)
             (error "loader: expected a number of examples with the procedure from indices to a batch behind it, (cons 3 f), or a tensor, (list->tensor l), got"
                    source)))
        ((%subset? source) (car (size (cddr source))))
        (else
         (let ((counts (map %count-examples source)))
           (if (null? (filter (lambda (n) (not (= n (car counts)))) counts))
               (car counts)
               (error "loader: expected equally many examples of each source, got" counts))))))

; Every example of one of so many shards. All shards have equally many in each epoch; which are left over, fewer than there are shards, differs from
; epoch to epoch.
(define (loader-shard l i shards)
  (let (((list name count source f batch seed whole first step) (%loader "loader-shard" l)))
    (if (if (integer? i) (if (integer? shards) (if (<= 0 i) (< i shards) #f) #f) #f)
        (list name count source f batch seed whole (+ first (* i step)) (* step shards))
        (error "loader-shard: expected the number of a shard below that of all, got" i shards))))

; Also the last batch of an epoch, which may have fewer examples.
(define (loader-keep-last l)
  (let (((list name count source f batch seed whole first step) (%loader "loader-keep-last" l)))
    (list name count source f batch seed #t first step)))

; The batches go through a procedure.
(define (loader-map g l)
  (let (((list name count source f batch seed whole first step) (%loader "loader-map" l)))
    (list name count source (lambda (b) (g (f b))) batch seed whole first step)))

(define (%loader who l)
  (if (if (pair? l) (eq? (car l) 'loader) #f) l (error (string-append who ": expected what loader gives, got") l)))

; Of an epoch: batches. None at all is an error here, where a loop of training would end before it began, and not in `loader`, as the one
; smaller batch may still be wanted.
(define (loader-batches l) (%loader-batches "loader-batches" l))
(define (%loader-batches who l)
  (let (((list name count source f batch seed whole first step) (%loader who l)))
    (let ((examples (quotient count step)))
      (cond ((= examples 0) (error (string-append who ": there are no examples" (if (= step 1) "" " for each shard") ", of so many:") count))
            (whole (quotient (+ examples (- batch 1)) batch))
            ((< examples batch)
             (error (string-append who ": there are fewer examples than a batch has: take a smaller batch, or (loader-keep-last l), which keeps"
                                   " the last and smaller batch of an epoch; these are")
                    examples batch))
            (else (quotient examples batch))))))

; The batch with this number, from 0 on through all epochs. What the next one has of files is read ahead meanwhile.
(define (loader-batch l n)
  (let (((list name count source f batch seed whole first step) (%loader "loader-batch" l)) (batches (%loader-batches "loader-batch" l)))
    (if (not (if (integer? n) (>= n 0) #f)) (error "loader-batch: expected the number of a batch, an integer from 0 on, got" n))
    (define (rows of-indices of-range n)
      (let* ((epoch (quotient n batches))
             (from (* batch (remainder n batches)))
             (examples (min batch (- (quotient count step) from)))
             (place (+ first (* from step))))
        (cond (seed (of-indices source (shuffled-indices count seed epoch place examples step)))
              ((= step 1) (of-range source place examples))
              (else (of-indices source (%indices examples place step))))))
    (let ((b (rows %examples %examples-from n)))
      (if (%in-files? source) (rows %ahead %ahead-from (+ n 1)))
      (f b))))

; In files, that is: of elements, or of pictures.
(define (%array? source) (if (string? (car source)) #t (memq (car source) '(pictures tiff))))

(define (%subset? source) (eq? (car source) 'subset))

(define (%in-files? source)
  (if (pair? source)
      (cond ((%array? source) #t)
            ((number? (car source)) #f)
            ((%subset? source) (%in-files? (cadr source)))
            (else (not (null? (filter %in-files? source)))))
      #f))

(define (%ahead source indices)
  (if (%in-files? source)
      (cond ((%array? source) (read-ahead source indices))
            ((%subset? source) (%ahead (cadr source) (%examples (cddr source) indices)))
            (else (for-each (lambda (s) (%ahead s indices)) source)))))

(define (%ahead-from source first count)
  (if (%in-files? source)
      (cond ((%array? source) (read-ahead source first count))
            ((%subset? source) (%ahead (cadr source) (%examples-from (cddr source) first count)))
            (else (for-each (lambda (s) (%ahead-from s first count)) source)))))

(define (%indices count first step) (list->tensor (iota count first step) 'i64))

(define (%examples source indices)
  (cond ((tensor? source) (embedding source (to-device indices (tensor-residence source))))
        ((%array? source) (read-rows source indices))
        ((number? (car source)) ((cdr source) indices))
        ((%subset? source) (%examples (cadr source) (%examples (cddr source) indices)))
        (else (map (lambda (s) (%examples s indices)) source))))

(define (%examples-from source first count)
  (cond ((tensor? source) (narrow-tensor source 0 first count))
        ((%array? source) (read-rows source first count))
        ((number? (car source)) ((cdr source) (%indices count first 1)))
        ((%subset? source) (%examples (cadr source) (%examples-from (cddr source) first count)))
        (else (map (lambda (s) (%examples-from s first count)) source))))

; A source: the examples of another one that have these numbers, in this order; so a set is split into what is trained on and what is held out.
(define (subset source indices)
  (let* ((n (%count-examples source))
         (given (if (tensor? indices) indices (list->tensor indices 'f64)))
         (indices (cast (if (memq (tensor-type given) '(f16 bf16 f32 f64)) (where (= given (floor given)) given -1) given) 'i64)))
    (cond ((not (= (length (size indices)) 1)) (error "subset: expected a list or a vector of indices, got" indices))
          ((if (= (car (size indices)) 0) #t (if (<= 0 (tensor->number (min-over indices))) (< (tensor->number (max-over indices)) n) #f)) (cons* 'subset source indices))
          (else (error "subset: expected indices from 0 on, below the number of examples, which is" n indices)))))

; A source: every stretch of so many of a vector, a tensor or an array in a file, such as the tokens of a text. Of an array in a file it is
; one too, whose rows overlap, unless the rows of the array do.
(define (windows source length)
  (let ((count (%count-examples source)) (length (if (integer? length) (inexact->exact length) length)))
    (cond ((not (if (integer? length) (> length 0) #f)) (error "windows: the length of a window is an integer above 0, got" length))
          ((> length count) (error "windows: there are fewer elements than a window has, which are" count length))
          ((if (pair? source) (if (string? (car source)) (null? (cddddr source)) #f) #f)
           (let (((list path type from (cons rows row)) source))
             (list path type from (cons* (+ 1 (- count length)) length row) (fold-left * 1 row))))
          (else
           (cons (+ 1 (- count length))
                 (lambda (indices) (stack (map (lambda (i) (%examples-from source i length)) (tensor->list indices)) 0)))))))

; The whole of a file of numbers, from a byte on, as a vector in it: for files without a header.
(define (raw-array path type . l)
  (let* ((from (if (null? l) 0 (%only "raw-array" l)))
         (bytes (- (file-size path) from))
         (found (assq type %raw-types)))
    (cond ((not found) (error (format "raw-array: expected a type of elements in a file, one of ~a, got" (map car %raw-types)) type))
          ((not (if (integer? from) (>= from 0) #f)) (error "raw-array: where it begins is a number of bytes, got" from))
          ((< bytes 0) (error (string-append "raw-array: " path ": has so many bytes, and none from there on:") (file-size path) from))
          ((not (= (remainder bytes (cdr found)) 0))
           (error (string-append "raw-array: " path ": its bytes are no multiple of those of an element:") bytes (cdr found)))
          (else (list path type from (list (quotient bytes (cdr found))))))))
(define %raw-types
  '((u8 . 1) (i8 . 1) (i16 . 2) (u16 . 2) (f16 . 2) (bf16 . 2) (i32 . 4) (u32 . 4) (f32 . 4) (i64 . 8) (f64 . 8)
    (i16-be . 2) (u16-be . 2) (f16-be . 2) (i32-be . 4) (u32-be . 4) (f32-be . 4) (i64-be . 8) (f64-be . 8)))
