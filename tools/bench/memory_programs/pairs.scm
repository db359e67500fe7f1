; A long list, used once and dropped in one go.
(define (numbers n list) (if (= n 0) list (numbers (- n 1) (cons n list))))
(define (first-and-drop list) (car list))
(display (+ (first-and-drop (numbers 10000000 '())) 1))
(newline)
