; Tables of numbers and texts, with any separator: read-csv is for those that hold numbers alone.

; (names . columns): a column is a vector where each of its fields is a number or missing, else the list of its texts. The first line has
; names unless one of its fields is a number; then names is ().
(define (read-table path . options)
  (let* ((by (%separator (if (null? options) #\, (car options))))
         (type (cond ((if (null? options) #t (null? (cdr options))) 'f32) (else (%only "read-table" (cdr options)))))
         (rows (%table-rows path by (read-lines path)))
         (named (if (null? rows) #f (not (%any-number? (car rows))))))
    (cons (if named (car rows) '())
          (cond ((null? rows) '())
                (named (if (null? (cdr rows)) (map (lambda (name) '()) (car rows)) (%table-columns (cdr rows) type)))
                (else (%table-columns rows type))))))

(define (%separator c)
  (let ((c (if (string? c) (if (= (string-length c) 1) (string-ref c 0) c) c)))
    (if (if (char? c) (memv c '(#\, #\; #\| #\: #\tab #\space)) #f)
        c
        (error "read-table: expected a separator, one of #\\, #\\; #\\| #\\: #\\tab #\\space, got" c))))

(define %missing-fields '("" "NA" "N/A" "NaN" "nan" "null"))
(define (%field-number s)
  (cond ((member s %missing-fields) +nan.0)
        ((char=? (string-ref s 0) #\#) #f)
        (else (string->number s))))
(define (%any-number? row)
  (if (null? row)
      #f
      (if (if (member (car row) %missing-fields) #f (%field-number (car row))) #t (%any-number? (cdr row)))))

(define (%table-columns rows type)
  (if (null? (car rows))
      '()
      (let* ((column (map car rows)) (numbers (map %field-number column)))
        (cons (if (memv #f numbers) column (list->tensor numbers type)) (%table-columns (map cdr rows) type)))))

; The fields of each line that is not empty.
(define (%table-rows path by lines)
  (let ((complain (lambda (n what) (error (format "read-table: ~a: line ~a: ~a" path n what)))))
    (let loop ((lines (if (null? lines) '() (cons (%without-mark (car lines)) (cdr lines)))) (n 1) (rows '()))
      (if (null? lines)
          (reverse rows)
          (let (((list row rest behind) (%fields lines by n complain)))
            (cond ((equal? row '("")) (loop rest behind rows))
                  ((if (null? rows) #t (= (length row) (length (car rows)))) (loop rest behind (cons row rows)))
                  (else
                   (complain n (format "~a fields, and ~a in the line before; a separator is given as in (read-table path #\\;)"
                                       (length row) (length (car rows)))))))))))

; A mark that some programs write before UTF-8.
(define (%without-mark line)
  (if (if (string-null? line) #f (= (char->integer (string-ref line 0)) 65279)) (substring line 1 (string-length line)) line))

; The fields of a row, the lines behind it and the number of the first of them: a field in quotes may go on in the next line. A carriage return ends a
; row, too, as some programs write no other end; what stands behind it is in front of the lines as a list of characters.
(define (%fields lines by n complain)
  (let field ((l (%behind-blanks (%characters (car lines)) by)) (lines (cdr lines)) (at (+ n 1)) (fields '()))
    (let ((next
            (lambda (l lines at fields)
              (cond ((null? l) (list (reverse fields) lines at))
                    ((char=? (car l) #\return) (list (reverse fields) (cons (cdr l) lines) at))
                    ((char=? by #\space)
                     (let ((l (%behind-blanks l by)))
                       (cond ((null? l) (list (reverse fields) lines at))
                             ((char=? (car l) #\return) (list (reverse fields) (cons (cdr l) lines) at))
                             (else (field l lines at fields)))))
                    ((char=? (car l) by) (field (%behind-blanks (cdr l) by) lines at fields))
                    (else (complain n "something follows a quote"))))))
      (if (if (pair? l) (char=? (car l) #\") #f)
          (let inside ((l (cdr l)) (lines lines) (at at) (text '()))
            (cond ((null? l)
                   (if (null? lines) (complain n "a quote that does not end"))
                   (inside (%characters (car lines)) (cdr lines) (+ at 1) (cons #\newline text)))
                  ((not (char=? (car l) #\")) (inside (cdr l) lines at (cons (car l) text)))
                  ((if (pair? (cdr l)) (char=? (cadr l) #\") #f) (inside (cddr l) lines at (cons #\" text)))
                  (else (next (%behind-blanks (cdr l) by) lines at (cons (list->string (reverse text)) fields)))))
          (let inside ((l l) (text '()))
            (if (cond ((null? l) #t) ((char=? (car l) by) #t) ((char=? (car l) #\return) #t) ((char=? by #\space) (char=? (car l) #\tab)) (else #f))
                (next l lines at (cons (list->string (reverse (%behind-blanks text by))) fields))
                (inside (cdr l) (cons (car l) text))))))))
(define (%characters line) (if (string? line) (string->list line) line))

(define (%behind-blanks l by)
  (if (if (pair? l) (cond ((char=? (car l) #\space) #t) ((char=? by #\tab) #f) (else (char=? (car l) #\tab))) #f)
      (%behind-blanks (cdr l) by)
      l))

; (classes . indices) of a list of texts: each of them once, in order, and for each text the number of its class, an i64 vector.
(define (text-classes texts)
  (let* ((classes (dict-keys (fold-left (lambda (known s) (dict-set known s 0)) (dict) texts)))
         (numbers (list->dict (map cons classes (iota (length classes))))))
    (cons classes (list->tensor (map (lambda (s) (dict-ref numbers s)) texts) 'i64))))
