; Lists.

(define (%append/2 a b)
  (if (null? a) b (cons (car a) (%append/2 (cdr a) b))))
