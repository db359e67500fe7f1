; Numbers: what needs no instruction of its own.

(define (inexact? x) (not (exact? x)))

; No number minus itself is 0 unless it is finite.
(define (rational? x) (if (number? x) (= (- x x) 0) #f))

(define (even? n) (= (remainder n 2) 0))

(define (odd? n) (not (= (remainder n 2) 0)))

; Inexact if one of them is: the last remainder is a 0 that knows.
(define (%gcd/2 a b)
  (if (= b 0) (abs (+ a b)) (%gcd/2 b (remainder a b))))

(define (gcd . l)
  (let %gcd/loop ((g 0) (l l))
    (if (null? l) g (%gcd/loop (gcd g (car l)) (cdr l)))))

(define (%lcm/2 a b)
  (if (if (= a 0) #t (= b 0))
      (* a b)
      (abs (* (quotient a (gcd a b)) b))))

(define (lcm . l)
  (let %lcm/loop ((m 1) (l l))
    (if (null? l) m (%lcm/loop (lcm m (car l)) (cdr l)))))

; The least power of two whose product with x is an integer: every finite flonum has one.
(define (denominator x)
  (if (exact? x)
      1
      (if (rational? x)
          (let %denominator/loop ((d 1.))
            (if (integer? (* x d)) d (%denominator/loop (* d 2.))))
          (error "denominator: expected a finite number, got" x))))

(define (numerator x) (* x (denominator x)))

; The simplest number between x - y and x + y: the one with the least denominator.
(define (rationalize x y)
  (let ((low (- x (abs y))) (high (+ x (abs y))))
    (cond ((not (rational? low)) (if (rational? y) x (* 0 (- low high))))
          ((> low 0) (%simplest low high))
          ((< high 0) (- (%simplest (- high) (- low))))
          (else (* 0 low)))))

(define (%simplest low high)
  (let ((whole (floor low)))
    (cond ((= whole low) whole)
          ((< whole (floor high)) (+ whole 1))
          (else (+ whole (/ 1 (%simplest (/ 1 (- high whole)) (/ 1 (- low whole)))))))))

; All numbers are real.
(define (real-part z) (* z 1))

(define (imag-part z) (if (number? z) 0 (* z 1)))

(define (angle z) (if (< z 0) (acos -1) 0))

; A count of elements, or an error that names the procedure.
(define (%count name n)
  (if (if (integer? n) (>= n 0) #f)
      n
      (error (string-append name ": expected a count, got") n)))
