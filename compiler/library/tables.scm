; Classes of texts, such as columns of read-table.

; (classes . indices) of a list of texts: each of them once, in order, and for each text the number of its class, an i64 vector.
(define (text-classes texts)
  (let* ((classes (dict-keys (fold-left (lambda (known s) (dict-set known s 0)) (dict) texts)))
         (numbers (list->dict (map cons classes (iota (length classes))))))
    (cons classes (list->tensor (map (lambda (s) (dict-ref numbers s)) texts) 'i64))))
