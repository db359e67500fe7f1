; The determinant of a matrix by elimination over lists of lists, each entry found by walking and changed by copying, and its
; gradient at a matrix near the identity. Arguments: primal, *j or checkpoint-*j; the number of rows.
(define mode (car (command-line)))
(define n (string->number (cadr (command-line))))
(define (at list i) (if (= i 0) (car list) (at (cdr list) (- i 1))))
(define (put list i x)
  (if (= i 0)
      (cons x (cdr list))
      (cons (car list) (put (cdr list) (- i 1) x))))
(define (entry m i j) (at (at m i) j))
(define (put-entry m i j x) (put m i (put (at m i) j x)))
(define (tabulate f i) (if (= i n) '() (cons (f i) (tabulate f (+ i 1)))))
(define matrix
  (tabulate (lambda (i) (tabulate (lambda (j) (if (= i j) 1.0 (/ 0.5 (+ (* i n) (+ j 1))))) 0)) 0))
; Subtracts from row i the multiple of row k that clears its entry in column k.
(define (clear m i k)
  (let ((factor (/ (entry m i k) (entry m k k))))
    (let loop ((m m) (j k))
      (if (= j n)
          m
          (loop (put-entry m i j (- (entry m i j) (* factor (entry m k j)))) (+ j 1))))))
(define (determinant m)
  (let columns ((m m) (k 0) (product 1.0))
    (if (= k n)
        product
        (let rows ((m m) (i (+ k 1)))
          (if (= i n)
              (columns m (+ k 1) (* product (entry m k k)))
              (rows (clear m i k) (+ i 1)))))))
(define (trace m) (let loop ((i 0) (sum 0.0)) (if (= i n) sum (loop (+ i 1) (+ sum (entry m i i))))))
(write-real
 (cond ((string=? mode "primal") (determinant matrix))
       ((string=? mode "*j") (trace (cdr (*j determinant matrix 1))))
       (else (trace (cdr (checkpoint-*j determinant matrix 1))))))
