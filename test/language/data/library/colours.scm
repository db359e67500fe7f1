; Found by --library.
(define colours '(red green blue))
