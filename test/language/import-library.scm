; flags: --library=test/language/data/library
; --library names a folder to search, relative to the folder vmrun runs in.
(define (show x) (write x) (newline))
(import colours)
(show colours)  ; expect: (red green blue)
