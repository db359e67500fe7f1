; Evaluation order, scope of the top level, proper tail calls, closures.
(define (show x) (write x) (newline))
(define (say x) (display x) (display " ") x)
(show (list (say 1) (say 2) (say 3)))           ; expect: 1 2 3 (1 2 3)
(show ((begin (say 'op) +) (say 1) (say 2)))    ; expect: op 1 2 3
(show (let ((a (say 1)) (b (say 2))) (+ a b)))  ; expect: 1 2 3
(show (+ (say 1) (* (say 2) (say 3)) (say 4)))  ; expect: 1 2 3 4 11
(show (cons (say 1) (cons (say 2) (say 3))))    ; expect: 1 2 3 (1 2 . 3)
(show (vector (say 1) (say 2)))                 ; expect: 1 2 #(1 2)
(show (- (say 10) (say 3)))                     ; expect: 10 3 7
(show (< (say 1) (say 2) (say 3)))              ; expect: 1 2 3 #t
(show `(,(say 1) ,(say 2) ,@(say '(3))))        ; expect: 1 2 (3) (1 2 3)
(show (let loop ((i (say 0)) (k (say 5))) (if (= i 2) (+ i k) (loop (+ i 1) k)))) ; expect: 0 5 7
(show (do ((i (say 0) (+ i 1)) (k (say 9) k)) ((= i 2) k))) ; expect: 0 9 9
(show (map say '(1 2 3)))                       ; expect: 1 2 3 (1 2 3)
(show (apply list (say 1) (list (say 2))))      ; expect: 1 2 (1 2)
(show (letrec ((a (say 1)) (b (say 2))) (+ a b))) ; expect: 1 2 3
(show (atan (say 1.) (say 1.)))                 ; expect: 1.0 1.0 0.7853981633974483
(show (max (say 3) (say 7) (say 5)))            ; expect: 3 7 5 7
; The top level is one recursive scope; a later definition is seen by all references.
(define (early) (late))
(define (late) 'late)
(show (early))                                  ; expect: late
(define counter 1)
(define (read-counter) counter)
(define counter 2)
(show (read-counter))                           ; expect: 2
(define (redefined) 'first)
(define (calls-redefined) (redefined))
(show (calls-redefined))                        ; expect: first
(define (redefined) 'second)
(show (calls-redefined))                        ; expect: second
(define self (lambda (n) (if (= n 0) 'done (self (- n 1)))))
(show (self 10))                                ; expect: done
(define other self)
(define (self n) 'changed)
(show (other 10))                               ; expect: changed
(define value (+ 1 (let ((x 2)) (* x x))))
(show value)                                    ; expect: 5
; Closures keep what they captured.
(define (make-adder n) (lambda (x) (+ x n)))
(define add1 (make-adder 1))
(define add10 (make-adder 10))
(show (list (add1 5) (add10 5)))                ; expect: (6 15)
(define adders (map make-adder '(1 2 3)))
(show (map (lambda (f) (f 10)) adders))         ; expect: (11 12 13)
(define (compose . fs) (if (null? fs) (lambda (x) x) (lambda (x) ((car fs) ((apply compose (cdr fs)) x)))))
(show ((compose add1 add10 (lambda (x) (* x 2))) 5)) ; expect: 21
(define ((((four a) b) c) d) (list a b c d))
(show ((((four 1) 2) 3) 4))                     ; expect: (1 2 3 4)
(define (church n) (lambda (f) (lambda (x) (if (= n 0) x (f (((church (- n 1)) f) x))))))
(show (((church 10) (lambda (x) (+ x 1))) 0))   ; expect: 10
(define y-combinator (lambda (f) ((lambda (x) (f (lambda (v) ((x x) v)))) (lambda (x) (f (lambda (v) ((x x) v)))))))
(show ((y-combinator (lambda (self) (lambda (n) (if (= n 0) 1 (* n (self (- n 1))))))) 10)) ; expect: 3628800
(define (group n)
  (letrec ((a (lambda (k) (if (= k 0) (list 'a n) (b (- k 1)))))
           (b (lambda (k) (if (= k 0) (list 'b n) (c (- k 1)))))
           (c (lambda (k) (if (= k 0) (list 'c n) (a (- k 1))))))
    (list a b c)))
(show (map (lambda (f) (f 4)) (group 7)))       ; expect: ((b 7) (c 7) (a 7))
(show (let ((fs (group 8))) ((caddr fs) 3)))    ; expect: (c 8)
; Proper tail calls: a million deep in every tail position.
(define (ev? n) (if (= n 0) #t (od? (- n 1))))
(define (od? n) (if (= n 0) #f (ev? (- n 1))))
(show (ev? 1000000))                            ; expect: #t
(define (tail-cond n) (cond ((= n 0) 'cond) (else (tail-case (- n 1)))))
(define (tail-case n) (case n ((0) 'case) (else (tail-and (- n 1)))))
(define (tail-and n) (and #t (if (= n 0) 'and (tail-or (- n 1)))))
(define (tail-or n) (or #f (if (= n 0) 'or (tail-let (- n 1)))))
(define (tail-let n) (let ((m n)) (let* ((k m)) (letrec ((f (lambda () 1))) (if (= k 0) 'let (tail-begin (- k 1)))))))
(define (tail-begin n) (begin 1 (if (= n 0) 'begin (tail-apply (- n 1)))))
(define (tail-apply n) (if (= n 0) 'apply (apply tail-arrow (list (- n 1)))))
(define (tail-arrow n) (cond ((= n 0) 'arrow) ((- n 1) => tail-do)))
(define (tail-do n) (do ((i 0 (+ i 1))) ((= i 1) (if (= n 0) 'do (tail-closure (- n 1))))))
(define (tail-closure n) (if (= n 0) 'closure ((lambda (m) (tail-cond m)) (- n 1))))
(show (tail-cond 1000000))                      ; expect: cond
(define ((loop-in-closures k) n) (if (= n 0) k ((loop-in-closures (+ k 1)) (- n 1))))
(show ((loop-in-closures 0) 300000))            ; expect: 300000
(define (count-with-rest . r) (if (= (car r) 0) (cdr r) (apply count-with-rest (- (car r) 1) (cdr r))))
(show (count-with-rest 100000 'a 'b))           ; expect: (a b)
