; Reads a file so many times, each time anew: the kind, the file, the number.
(define readers
  (list (cons "npy" read-npy) (cons "safetensors" read-safetensors) (cons "csv" read-csv) (cons "bytes" read-bytes) (cons "lines" read-lines)
        (cons "json" read-json)
        (cons "tokens" (lambda (path) (tokenize (read-bpe (string-append path ".vocab") (string-append path ".merges")) (read-text path))))))
(define (times f path n) (if (= n 0) 0 (begin (f path) (times f path (- n 1)))))
(let (((list kind path n) (command-line)))
  (write (times (cdr (assoc kind readers)) path (string->number n))))
