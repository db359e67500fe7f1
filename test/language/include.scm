; include inserts the text of a file, found beside the including file.
(define (show x) (write x) (newline))
(include "data/definitions.scm")
(show included-value)        ; expect: 42
(show (included-double 4))   ; expect: 8
(show nested-value)          ; expect: from-a-file-included-by-an-included-file
(show (let ()                ; expect: 84
        (define local 2)
        (* local included-value)))
