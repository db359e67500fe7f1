; format.
;;; case all
(define (show x) (write x) (newline))
(show (format "plain"))                                          ; expect: "plain"
(show (format ""))                                               ; expect: ""
(show (format "~a and ~s~%" "text" "text"))                      ; expect: "text and \"text\"\n"
(show (format "~a ~a ~a" '(1 "x" #\c) 2.5 'sym))                 ; expect: "(1 x c) 2.5 sym"
(show (format "~,2f|~8,3f|~f|~5d|~4a|~4s|~~" 3.14159 -2.5 1 42 'ab "x")) ; expect: "3.14|  -2.500|1.000000|   42|ab  |\"x\" |~"
(show (format "~,0f ~,2f ~,2f" 2.6 +inf.0 +nan.0))               ; expect: "3 +inf.0 +nan.0"
(show (format "~a" (list->tensor '(1 2))))                       ; expect: "#<tensor f32 (2) [1.0 2.0]>"
(show (car (*j (lambda (x) (format "~,1f" (* 2 x))) 1.25 "2.5"))) ; expect: "2.5"
;;; case too-few
(format "~a ~a" 1)
; expect error: format: more places than values in "~a ~a"
;;; case too-many
(format "~a" 1 2)
; expect error: format: more values than "~a" has places for, from 2
;;; case unknown
(format "~q" 1)
; expect error: format: there is no ~q in "~q"
;;; case tilde-at-the-end
(format "x~")
; expect error: format: it ends in a tilde
;;; case no-string
(format #t "~a" 1)
; expect error: format: expected a string
;;; case digits-of-text
(format "~,2f" 'x)
; expect error: expected a number
