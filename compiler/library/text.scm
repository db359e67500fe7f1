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
