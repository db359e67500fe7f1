; 3x3 convolutions, n times. Arguments: n, what (forward; data or weights: the cotangent of one of them, by the reverse rule), batch, channels,
; pixels. The convolution itself, which only its types are needed of, is not computed for data: it is a transposed convolution.
(define n (string->number (car (command-line))))
(define what (cadr (command-line)))
(define sizes (map string->number (cddr (command-line))))
(define channels (cadr sizes))
(define w (* (/ 1 (sqrt (* 9 channels))) (randn (list channels channels 3 3))))
; Images lie in memory as they do within a network, where they come from a convolution.
(define x (convolve (randn (list (car sizes) channels (caddr sizes) (caddr sizes))) w 1 1))
(define y (convolve x w 1 1))
(define (once)
  (cond ((equal? what "forward") (convolve x w 1 1))
        ((equal? what "data") (transpose-convolve y w 1 1))
        (else (*j (lambda (w) (convolve x w 1 1)) w y))))
(define (loop i) (if (= i 0) 0 (begin (once) (loop (- i 1)))))
(write (loop n))
