; Tables of columns, and the classes of texts in them.

; (classes . indices) of a list of texts: each of them once, in order, or the classes that are given; and for each text the number of its
; class, an i64 vector.
(define (text-classes texts . given)
  (let* ((classes (if (null? given)
                      (dict-keys (fold-left (lambda (known s) (dict-set known s 0)) (dict) texts))
                      (%only "text-classes" given)))
         (numbers (list->dict (map cons classes (iota (length classes))))))
    (if (not (= (dict-size numbers) (length classes))) (error "text-classes: a class is given twice:" classes))
    (cons classes
          (list->tensor (map (lambda (s) (let ((n (dict-ref numbers s #f))) (if n n (error (format "text-classes: ~s is none of the classes" s) classes)))) texts)
                        'i64))))

; What read-table reads: a line of names, unless there are none, and one for each row. A missing number is an empty field.
(define (write-table path names columns)
  (let* ((columns (map (lambda (column) (%fields column)) columns))
         (rows (if (null? columns) (error "write-table: expected at least one column, got" columns) (length (car columns)))))
    (for-each (lambda (column)
                (if (not (= (length column) rows))
                    (error "write-table: columns of a table are equally long; these have the lengths" (map length columns))))
              columns)
    (if (if (null? names) #f (not (= (length names) (length columns))))
        (error (format "write-table: ~a names for ~a columns:" (length names) (length columns)) names))
    (if (pair? (filter %number-field? names))
        (error "write-table: a line of names with a number among them would be read back as a row; write it in letters, such as \"x1\":" names))
    (if (null? names)
        (if (pair? (filter %name-field? (map car (filter pair? columns))))
            (error "write-table: without names a first row with a text in it would be read back as names; give each column a name")))
    (let ((lines (apply map (lambda fields (string-join fields ",")) columns)))
      (write-text path (string-join (append (if (null? names) '() (list (string-join (map (lambda (name) (%quoted-field name)) names) ","))) lines '("")) "\n")))))

; Whether a field as it is written, where texts are quoted, makes a line of names of its row.
(define (%name-field? field)
  (if (> (string-length field) 2) (if (char=? (string-ref field 0) #\") (not (%number-field? (substring field 1 (- (string-length field) 1)))) #f) #f))

; Whether read-table takes a name for a number.
(define (%number-field? name)
  (let ((text (list->string (map char-downcase (string->list name)))))
    (if (string->number text) #t (if (member text '("inf" "+inf" "-inf" "infinity" "+infinity" "-infinity")) #t #f))))

; Elements of a tensor in as many digits as their own type needs.
(define (%fields column)
  (cond ((vector? column) (map (lambda (x) (%field x)) (vector->list column)))
        ((tensor? column)
         (if (not (= (length (size column)) 1)) (error "write-table: expected a column, a tensor of one axis, got one of the sizes" (size column)))
         (let* ((numbers (tensor->list column))
                (written (json->string (if (%has-derivative? column) (where (< (abs column) +inf.0) column 0) column))))
           (if (null? numbers)
               '()
               (map (lambda (x s) (if (%finite? x) s (%field x))) numbers (string-split (substring written 1 (- (string-length written) 1)) #\,)))))
        (else (map (lambda (x) (%field x)) column))))
(define (%field x)
  (cond ((string? x) (%quoted-field x))
        ((not (number? x)) (error "write-table: expected numbers or texts in a column, got" x))
        ((%finite? x) (json->string x))
        ((= x x) (if (> x 0) "inf" "-inf"))
        (else "")))
(define (%quoted-field s) (string-append "\"" (string-join (string-split s #\") "\"\"") "\""))
