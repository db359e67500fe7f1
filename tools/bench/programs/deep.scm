; Recursion a million frames deep that builds, maps and sums a list on the way back: what a machine with a bounded stack cannot run.
(define (from-to i n) (if (= i n) '() (cons i (from-to (+ i 1) n))))
(define (doubled list) (if (null? list) '() (cons (+ (car list) (car list)) (doubled (cdr list)))))
(define (total list) (if (null? list) 0 (+ (car list) (total (cdr list)))))
(define (repeat n sum)
  (if (= n 0) sum (repeat (- n 1) (+ sum (total (doubled (from-to n 1000000)))))))
(display (repeat 3 0))
(newline)
