; Derivatives of derivatives cut at every step by an outer schedule, and capsules taken at every step of a checkpointed one: the same bits.
(define (show x) (write x) (newline))
(define (p x) (* x x x x x))
(define (wait k) (if (= k 0) 0 (wait (- k 1))))
(define (forward f) (lambda (x) (cdr (j* f x 1))))
(define (reverse-mode f) (lambda (x) (cdr (*j f x 1))))
; One split in the middle of the run, moved along the inner operator by waiting before and after it.
(define (split-everywhere d)
  (define want (*j (d p) 2 1))
  (let loop ((after 0) (ok #t))
    (if (= after 80)
        ok
        (let* ((f (lambda (x) (wait 25) (let ((r ((d p) x))) (wait after) r)))
               (base (quotient (+ (primops f 2) 1) 2))
               (spec (string-append "bisection,base=" (number->string base))))
          (loop (+ after 1) (and ok (equal? want (with-schedule spec (lambda () (checkpoint-*j f 2 1))))))))))
(show (split-everywhere reverse-mode))                                              ; expect: #t
(show (split-everywhere (lambda (f) (forward (reverse-mode f)))))                   ; expect: #t
(show (split-everywhere (lambda (f) (reverse-mode (forward f)))))                   ; expect: #t
(show (split-everywhere (lambda (f) (reverse-mode (reverse-mode f)))))              ; expect: #t
; An inner checkpointed run after another, cut by a capsule.
(define (f5 x)
  (let loop ((i 0) (x x))
    (if (= i 2) x (loop (+ i 1) (cdr (checkpoint-*j (lambda (y) (let loop ((i 0) (y y)) (if (= i 4) y (loop (+ i 1) (* x y))))) x 1))))))
(define (h x) (with-schedule "binomial,base=16" (lambda () (checkpoint-*j f5 x 1))))
(define total (primops h .7))
(define want (h .7))
(show (let loop ((n 0))                                                             ; expect: #t
  (or (> n total)
      (let ((z (interrupt h .7 n)))
        (and (equal? want (resume z)) (= total (+ n (primops resume z))) (loop (+ n 3)))))))
; A quoted list inside the differentiated procedure is a constant to every tape.
(define (residual ins)
  (lambda (p) (let loop ((xs ins) (sum 0)) (if (null? xs) sum (let ((m (+ (cdr p) (* (car p) (car xs))))) (loop (cdr xs) (+ sum (* m m))))))))
(show (cdr (*j (lambda (r) (cadr (*j (residual '(-1.5 -1.0 -0.5 0.0 0.5 1.0 1.5 2.0)) (cons r 0.5) 1))) 0.1 1))) ; expect: 22.0
