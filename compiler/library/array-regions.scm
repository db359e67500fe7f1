; Arrays in files, of which regions are read: lists of a path, the type of the elements, where these begin, and the sizes, as npy-array gives them,
; behind which may stand how many elements it is from one row to the next; or pages of TIFF.

; What looks like one. Whether all of it is right is asked of what is going to be read.
(define (%file-array? x)
  (if (list? x)
      (if (<= 4 (length x) 5) (if (if (string? (car x)) (symbol? (cadr x)) (%tiff? x)) (list? (cadddr x)) #f) #f)
      #f))
; A page of TIFF is (tiff path page sizes type).
(define (%tiff? x) (if (eq? (car x) 'tiff) (if (= (length x) 5) (if (string? (cadr x)) (symbol? (list-ref x 4)) #f) #f) #f))
(define (%array-path array) (if (%tiff? array) (cadr array) (car array)))
; The type in the file.
(define (%array-element array) (if (%tiff? array) (list-ref array 4) (cadr array)))
; In a derivative its numbers may have become flonums.
(define (%exact-array who x)
  (define (wrong what given) (error (format "~a: ~a: expected ~a, got" who (%array-path x) what) given))
  (if (not (assq (%array-element x) %raw-types)) (wrong (format "a type of elements in a file, one of ~a" (map car %raw-types)) (%array-element x)))
  (if (not (%naturals? (cadddr x))) (wrong "a list of sizes, numbers from 0 on" (cadddr x)))
  (if (not (%naturals? (list (caddr x)))) (wrong (if (%tiff? x) "the number of a page, from 0 on" "the number of the byte where the elements begin, from 0 on") (caddr x)))
  (if (not (if (%tiff? x) #t (%naturals? (cddddr x)))) (wrong "how many elements it is from one row to the next, a number from 0 on" (car (cddddr x))))
  (cons* (car x) (cadr x) (inexact->exact (caddr x)) (map inexact->exact (cadddr x)) (if (%tiff? x) (cddddr x) (map inexact->exact (cddddr x)))))
(define (%naturals? l) (if (list? l) (%every? (lambda (n) (if (number? n) (if (integer? n) (<= 0 n) #f) #f)) l) #f))
; That its elements become.
(define (%array-type array)
  (let* ((text (symbol->string (%array-element array))) (n (string-length text))
         (here (if (if (< 3 n) (string=? "-be" (substring text (- n 3) n)) #f) (substring text 0 (- n 3)) text)))
    (cond ((string=? here "u16") 'i32) ((string=? here "u32") 'i64) ((string=? here "f16") 'f32) (else (string->symbol here)))))
(define (%array-residence) (tensor-residence (fill '() 0)))

; A box of an array, as tensors of the last two axes that are read one after the other, but for a page of TIFF and fewer axes.
(define (%read-box array box)
  (cond ((%any? (lambda (n) (= n 0)) (cdr box)) (fill (cdr box) 0 (%array-type array)))
        ((%tiff? array) (%read-tiff array (car box) (cdr box)))
        ((null? (cdr box)) (view (read-rows (list (car array) (cadr array) (caddr array) '(1)) 0 1) '()))
        ((null? (cddr box)) (read-rows array (caar box) (cadr box)))
        (else (view (stack (map (lambda (block) (apply read-rows block)) (%blocks-of array box)) 0) (cdr box)))))
(define (%read-all array) (%read-box array (cons (map (lambda (n) 0) (cadddr array)) (cadddr array))))
; What is going to be read next, while something else is computed, where it is in few pieces: more would drive each other out.
(define (%read-box-ahead array box)
  (let ((blocks (if (if (%tiff? array) #t (< (length (cdr box)) 2)) '() (%blocks-of array box))))
    (if (<= (length blocks) 8) (for-each (lambda (block) (apply read-ahead block)) blocks))))

; A region of an array in a file: where it begins along each axis, and its sizes.
(define (read-region array starts sizes)
  (if (not (%file-array? array)) (error "read-region: expected an array in a file, as npy-array and tiff-array give it, got" array))
  (let* ((array (%exact-array "read-region" array)) (has (cadddr array)))
    (if (not (if (%naturals? starts) (if (%naturals? sizes) (= (length starts) (length sizes) (length has)) #f) #f))
        (error (format "read-region: expected two lists of ~a numbers, where a region begins and its sizes, got" (length has)) starts sizes))
    (for-each (lambda (axis from n most)
                (if (> (+ from n) most)
                    (error (format "read-region: ~a: along axis ~a there are ~a elements, not ~a from ~a on" (%array-path array) axis most n from))))
              (iota (length has)) starts sizes has)
    (%read-box array (cons starts sizes))))
(define (%blocks-of array box)
  (let* ((sizes (cadddr array)) (rank (length sizes)) (starts (car box)) (extents (cdr box))
         (strides (%strides sizes (if (null? (cddddr array)) #f (car (cddddr array)))))
         (rows (list-ref extents (- rank 2))) (columns (list-ref extents (- rank 1)))
         (bytes (cdr (assq (cadr array) %raw-types))))
    (let %blocks/loop ((axis 0) (at 0))
      (if (= axis (- rank 2))
          (list (list (list (car array) (cadr array) (+ (caddr array) (* bytes (+ at (* (list-ref starts axis) (list-ref strides axis)) (list-ref starts (+ axis 1)))))
                            (list rows columns) (list-ref strides axis))
                      0 rows))
          (append-map (lambda (i) (%blocks/loop (+ axis 1) (+ at (* (+ i (list-ref starts axis)) (list-ref strides axis))))) (iota (list-ref extents axis)))))))
(define (%strides sizes first)
  (if (null? (cdr sizes)) '(1) (let ((rest (%strides (cdr sizes) #f))) (cons (if first first (* (cadr sizes) (car rest))) rest))))
