; Imported by import.scm, twice; what it does happens once.
; expect: loading imported
(display "loading imported")
(newline)
(define (imported-area w h) (* w h))
