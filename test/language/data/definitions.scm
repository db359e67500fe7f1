; Included by include.scm.
(define included-value 42)
(define (included-double x) (* x 2))
(include "nested.scm")
