; import reads a library file once, found beside the importing file or in the folders of --library.
(define (show x) (write x) (newline))
(import imported)
(import imported)
; expect: loading imported
(show (imported-area 3 4))            ; expect: 12
