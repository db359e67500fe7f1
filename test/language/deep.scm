; Depth: non-tail recursion a million deep, lists a million long, structures a million deep. No native stack is used.
(define (show x) (write x) (newline))
(define (count n) (if (= n 0) 0 (+ 1 (count (- n 1)))))
(show (count 1000000))                          ; expect: 1000000
(define (up-to a n) (if (= a n) '() (cons a (up-to (+ a 1) n))))
(define big (up-to 0 1000000))
(show (length big))                             ; expect: 1000000
(show (apply + (list (list-ref big 999999) 1))) ; expect: 1000000
(show (car (reverse big)))                      ; expect: 999999
(show (fold-left + 0 (map (lambda (x) (+ x 1)) big))) ; expect: 500000500000
(show (fold-right + 0 big))                     ; expect: 499999500000
(show (length (append big big)))                ; expect: 2000000
(show (length (filter odd? big)))               ; expect: 500000
(show (equal? big (up-to 0 1000000)))           ; expect: #t
(show (equal? big (append big '(1))))           ; expect: #f
(define (car-deep n) (let loop ((i 0) (x '())) (if (= i n) x (loop (+ i 1) (cons x '())))))
(show (equal? (car-deep 1000000) (car-deep 1000000))) ; expect: #t
(show (equal? (car-deep 1000000) (car-deep 999999)))  ; expect: #f
(define (vector-deep n) (let loop ((i 0) (x 1)) (if (= i n) x (loop (+ i 1) (vector x i)))))
(show (equal? (vector-deep 300000) (vector-deep 300000))) ; expect: #t
(define (closure-chain n) (let loop ((i 0) (f (lambda (x) x))) (if (= i n) f (loop (+ i 1) (lambda (x) (f (+ x 1)))))))
(show ((closure-chain 300000) 0))               ; expect: 300000
(show (vector-length (list->vector big)))       ; expect: 1000000
(show (length (vector->list (make-vector 1000000 0)))) ; expect: 1000000
(show (string-length (list->string (map (lambda (i) #\x) big)))) ; expect: 1000000
(show (length (list-copy big)))                 ; expect: 1000000
(show (length (iota 1000000)))                  ; expect: 1000000
(show (car (list-tail big 500000)))             ; expect: 500000
(show (memv 999999 big))                        ; expect: (999999)
(show (assv 99999 (map (lambda (i) (cons i (* i 2))) (iota 100000)))) ; expect: (99999 . 199998)
(show (apply max big))                          ; expect: 999999
(show (length (apply list big)))                ; expect: 1000000
(define (many . r) (length r))
(show (apply many big))                         ; expect: 1000000
; timeout: 240
