; Characters, strings, symbols, booleans, and what a program says about itself.

(define (report . items) (%report items))

(define (char=? a b) (= (char->integer a) (char->integer b)))
(define (char<? a b) (< (char->integer a) (char->integer b)))
(define (char>? a b) (> (char->integer a) (char->integer b)))
(define (char<=? a b) (<= (char->integer a) (char->integer b)))
(define (char>=? a b) (>= (char->integer a) (char->integer b)))
(define (char-ci=? a b) (char=? (char-downcase a) (char-downcase b)))
(define (char-ci<? a b) (char<? (char-downcase a) (char-downcase b)))
(define (char-ci>? a b) (char>? (char-downcase a) (char-downcase b)))
(define (char-ci<=? a b) (char<=? (char-downcase a) (char-downcase b)))
(define (char-ci>=? a b) (char>=? (char-downcase a) (char-downcase b)))

(define (string=? a b) (= (%string-compare a b) 0))
(define (string<? a b) (< (%string-compare a b) 0))
(define (string>? a b) (> (%string-compare a b) 0))
(define (string<=? a b) (<= (%string-compare a b) 0))
(define (string>=? a b) (>= (%string-compare a b) 0))
(define (string-ci=? a b) (= (%string-compare-ci a b) 0))
(define (string-ci<? a b) (< (%string-compare-ci a b) 0))
(define (string-ci>? a b) (> (%string-compare-ci a b) 0))
(define (string-ci<=? a b) (<= (%string-compare-ci a b) 0))
(define (string-ci>=? a b) (>= (%string-compare-ci a b) 0))

(define (%string-append/2 a b) (%string-append2 a b))

(define (string-append . l)
  (if (null? l) "" (%string-append-all (%string-append2 (car l) "") (cdr l))))

; Neighbours first, then neighbours of those: nothing is copied more often than the number of strings can be halved.
(define (%string-append-all s l)
  (if (null? l)
      s
      (%string-append-all (%string-append2 s (car l)) (%string-append-pairs (cdr l)))))

(define (%string-append-pairs l)
  (cond ((null? l) '())
        ((null? (cdr l)) l)
        (else (cons (%string-append2 (car l) (cadr l)) (%string-append-pairs (cddr l))))))

(define (string . l) (list->string l))

(define (string-copy s) (substring s 0 (string-length s)))

(define (string-null? s) (= (string-length s) 0))

(define (write-string s) (display (string-append s "")))

(define (boolean=? a b)
  (if (if (boolean? a) (boolean? b) #f)
      (eq? a b)
      (error "boolean=?: expected booleans, got" a b)))

(define (assert x . irritants)
  (if x #t (%error (cons "assertion failed" irritants))))

; The parts of a string between separators, a character or a string; without one the words between blanks, however many.
(define (string-split s . separator)
  (if (null? separator)
      (remove string-null? (%parts (string->list s) (lambda (l) (if (char-whitespace? (car l)) (cdr l) #f))))
      (let* ((given (%only "string-split" separator)) (by (if (char? given) (list given) (string->list given))))
        (if (null? by) (error "string-split: a separator has at least one character"))
        (%parts (string->list s) (lambda (l) (%behind-prefix by l))))))

; What is left of a list that begins with the characters of another; #f: it does not.
(define (%behind-prefix prefix l)
  (cond ((null? prefix) l)
        ((null? l) #f)
        ((char=? (car prefix) (car l)) (%behind-prefix (cdr prefix) (cdr l)))
        (else #f)))

; behind: of a list that is not empty, what is left of it behind a separator; #f: it does not begin with one.
(define (%parts l behind)
  (let loop ((l l) (part '()) (parts '()))
    (if (null? l)
        (reverse (cons (list->string (reverse part)) parts))
        (let ((rest (behind l)))
          (if rest
              (loop rest '() (cons (list->string (reverse part)) parts))
              (loop (cdr l) (cons (car l) part) parts))))))

(define (string-join strings . separator)
  (let ((between (if (null? separator) " " (%only "string-join" separator))))
    (if (null? strings)
        ""
        (%string-append-all (car strings) (append-map (lambda (s) (list (if (char? between) (string between) between) s)) (cdr strings))))))
