; Lists. Procedures that make a list recurse instead of accumulating: frames are cheap, no second pass is needed, and their derivatives
; touch every element once. A name %f/n is what a call of f with n operands means; it spares the list of arguments.

(define (list? x)
  (if (pair? x) (list? (cdr x)) (null? x)))

(define (length l)
  (let %length/loop ((l l) (n 0))
    (if (null? l) n (%length/loop (cdr l) (+ n 1)))))

(define (%append/2 a b)
  (if (null? a) b (cons (car a) (%append/2 (cdr a) b))))

(define (append . l)
  (if (null? l) '() (%append-all (car l) (cdr l))))

(define (%append-all a l)
  (if (null? l) a (%append/2 a (%append-all (car l) (cdr l)))))

(define (reverse l)
  (let %reverse/loop ((l l) (done '()))
    (if (null? l) done (%reverse/loop (cdr l) (cons (car l) done)))))

(define (list-tail l k)
  (if (= k 0) l (list-tail (cdr l) (- k 1))))

(define (list-head l k)
  (if (= k 0) '() (cons (car l) (list-head (cdr l) (- k 1)))))

(define (list-ref l k)
  (let %list-ref/loop ((rest l) (i k))
    (if (null? rest)
        (%error (list "list-ref: expected an index below the length of the list; index and length are" k (length l)))
        (if (= i 0) (car rest) (%list-ref/loop (cdr rest) (- i 1))))))

(define (list-copy l)
  (if (pair? l) (cons (car l) (list-copy (cdr l))) l))

(define (last-pair l)
  (if (pair? (cdr l)) (last-pair (cdr l)) l))

(define (memq x l)
  (if (null? l) #f (if (eq? x (car l)) l (memq x (cdr l)))))

(define (memv x l) (memq x l))

(define (member x l)
  (if (null? l) #f (if (equal? x (car l)) l (member x (cdr l)))))

(define (assq x l)
  (if (null? l)
      #f
      (let ((entry (car l)))
        (if (eq? x (car entry)) entry (assq x (cdr l))))))

(define (assv x l) (assq x l))

(define (assoc x l)
  (if (null? l)
      #f
      (let ((entry (car l)))
        (if (equal? x (car entry)) entry (assoc x (cdr l))))))

(define (equal? a b)
  (cond ((eqv? a b) #t)
        ((pair? a) (if (pair? b) (if (equal? (car a) (car b)) (equal? (cdr a) (cdr b)) #f) #f))
        ((string? a) (if (string? b) (= (%string-compare a b) 0) #f))
        ((vector? a) (if (vector? b) (%equal-vectors? a b) #f))
        (else #f)))

(define (%equal-vectors? a b)
  (let ((n (vector-length a)))
    (if (= n (vector-length b))
        (let %equal-vectors?/loop ((i 0))
          (if (= i n)
              #t
              (if (equal? (vector-ref a i) (vector-ref b i)) (%equal-vectors?/loop (+ i 1)) #f)))
        #f)))

(define (%iota/1 n)
  (%count "iota" n)
  (let %iota/loop ((i 0))
    (if (< i n) (cons i (%iota/loop (+ i 1))) '())))

(define (%iota/2 n start) (iota n start 1))

(define (%iota/3 n start step)
  (%count "iota" n)
  (let %iota/loop ((i 0))
    (if (< i n) (cons (+ start (* i step)) (%iota/loop (+ i 1))) '())))

(define (iota n . l)
  (cond ((null? l) (iota n))
        ((null? (cdr l)) (iota n (car l)))
        (else (iota n (car l) (%only "iota" (cdr l))))))

(define (build-list n f)
  (%count "build-list" n)
  (let %build-list/loop ((i 0))
    (if (< i n) (cons (f i) (%build-list/loop (+ i 1))) '())))

; --- map and its kind; with several lists the shortest one ends them

(define (%any-null? ls)
  (if (null? ls) #f (if (null? (car ls)) #t (%any-null? (cdr ls)))))

(define (%map/2 f l)
  (if (null? l) '() (cons (f (car l)) (%map/2 f (cdr l)))))

(define (%map/3 f a b)
  (if (if (null? a) #t (null? b))
      '()
      (cons (f (car a) (car b)) (%map/3 f (cdr a) (cdr b)))))

(define (%map/4 f a b c)
  (if (if (null? a) #t (if (null? b) #t (null? c)))
      '()
      (cons (f (car a) (car b) (car c)) (%map/4 f (cdr a) (cdr b) (cdr c)))))

(define (map f l . ls)
  (cond ((null? ls) (map f l))
        ((null? (cdr ls)) (map f l (car ls)))
        ((null? (cddr ls)) (map f l (car ls) (cadr ls)))
        (else (%map-all f (cons l ls)))))

(define (%map-all f ls)
  (if (%any-null? ls)
      '()
      (cons (apply f (map car ls)) (%map-all f (map cdr ls)))))

(define (%for-each/2 f l)
  (if (null? l)
      #t
      (begin (f (car l)) (%for-each/2 f (cdr l)))))

(define (for-each f l . ls)
  (if (null? ls) (for-each f l) (%for-each-all f (cons l ls))))

(define (%for-each-all f ls)
  (if (%any-null? ls)
      #t
      (begin (apply f (map car ls)) (%for-each-all f (map cdr ls)))))

(define (append-map f l . ls)
  (if (null? ls) (%append-map f l) (%append-map-all f (cons l ls))))

(define (%append-map f l)
  (if (null? l) '() (append (f (car l)) (%append-map f (cdr l)))))

(define (%append-map-all f ls)
  (if (%any-null? ls)
      '()
      (append (apply f (map car ls)) (%append-map-all f (map cdr ls)))))

(define (filter keep? l)
  (if (null? l)
      '()
      (let ((x (car l)))
        (if (keep? x) (cons x (filter keep? (cdr l))) (filter keep? (cdr l))))))

(define (remove drop? l)
  (if (null? l)
      '()
      (let ((x (car l)))
        (if (drop? x) (remove drop? (cdr l)) (cons x (remove drop? (cdr l)))))))

(define (delete x l) (remove (lambda (y) (equal? x y)) l))

(define (%fold-left/3 f seed l)
  (if (null? l) seed (%fold-left/3 f (f seed (car l)) (cdr l))))

(define (%fold-left/4 f seed a b)
  (if (if (null? a) #t (null? b)) seed (%fold-left/4 f (f seed (car a) (car b)) (cdr a) (cdr b))))

(define (fold-left f seed l . ls)
  (cond ((null? ls) (fold-left f seed l))
        ((null? (cdr ls)) (fold-left f seed l (car ls)))
        (else
         (let %fold-left/loop ((seed seed) (ls (cons l ls)))
           (if (%any-null? ls)
               seed
               (%fold-left/loop (apply f seed (map car ls)) (map cdr ls)))))))

(define (%fold-right/3 f seed l)
  (if (null? l) seed (f (car l) (%fold-right/3 f seed (cdr l)))))

(define (fold-right f seed l . ls)
  (if (null? ls) (fold-right f seed l) (%fold-right-all f seed (cons l ls))))

(define (%fold-right-all f seed ls)
  (if (%any-null? ls)
      seed
      (apply f (append (map car ls) (list (%fold-right-all f seed (map cdr ls)))))))

; (reduce f initial (a b c)) is (f c (f b a)); initial is for the empty list alone.
(define (reduce f initial l)
  (if (null? l) initial (%fold-left/3 (lambda (done x) (f x done)) (car l) (cdr l))))

; By merging halves; what is in order with its neighbour stays in front of it.
(define (sort-list less? l)
  (let %sort-list/loop ((l l) (n (length l)))
    (if (< n 2)
        (list-head l n)
        (let ((half (quotient n 2)))
          (%merge less? (%sort-list/loop l half) (%sort-list/loop (list-tail l half) (- n half)))))))

(define (%merge less? a b)
  (cond ((null? a) b)
        ((null? b) a)
        ((less? (car b) (car a)) (cons (car b) (%merge less? a (cdr b))))
        (else (cons (car a) (%merge less? (cdr a) b)))))

; Several values are a list of them; one is itself.
(define (values . l) (if (pair? l) (if (null? (cdr l)) (car l) l) l))
