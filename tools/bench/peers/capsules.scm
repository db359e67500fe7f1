; What memory_programs/capsules.scm does, for Guile: all that is left to do kept as a continuation, again and again at the bottom of a deep
; recursion. Guile copies the stack each time.
(define depth 1000000)
(define captures 20)
(define all '())
(define (dip n) (if (= n 0) 0 (+ 1 (dip (- n 1)))))
(define (cut left)
  (if (= left 0)
      0
      (begin
        (dip 13)
        (call-with-current-continuation (lambda (k) (set! all (cons k all))))
        (cut (- left 1)))))
(define (deep n) (if (= n 0) (cut captures) (+ 1 (deep (- n 1)))))
(display (+ (deep depth) (* 0 (length all))))
(newline)
