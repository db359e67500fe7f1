; Comments of all three kinds, and white space.
(define (show x) (write x) (newline))
#| a block comment |#
#| nested #| inside |# still a comment |#
(show 1) ; expect: 1
(show #| in the middle |# 2) ; expect: 2
(show '(1 #;2 3)) ; expect: (1 3)
(show '(1 #; (a b #| c |#) 3)) ; expect: (1 3)
(show '(1 #;#;2 3 4)) ; expect: (1 4)
#;(show 'not-run)
#;
(show 'not-run-either)
(show '(a;comment to the end of the line
b)) ; expect: (a b)
(show "; no comment #| nor this |#") ; expect: "; no comment #| nor this |#"
(show '#(1 #;2 3)) ; expect: #(1 3)
	(show	'tab) ; expect: tab
(show '(a"b"c)) ; expect: (a "b" c)
(show (cons 1;
 2)) ; expect: (1 . 2)
#|
(show 'no)
; |# (show 'after) ; expect: after
