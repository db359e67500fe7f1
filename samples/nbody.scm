; Three bodies whose masses nobody knows, found from where they are seen: the gradient goes through all steps of their motion, and what each does
; to the others.
;
;     vmrun samples/nbody.scm
;     vmrun --memory=8MiB samples/nbody.scm --steps=20000 --rounds=1        fifty times the steps, in 8 MiB
;
; prints the masses, which are 1, .1 and .03, and the deviation of places that is left. --pictures=FOLDER draws the orbits.
(import network)
(define option (command-line-options '((steps 400) (rounds 200) (pictures #f text))))

(define steps (option 'steps))
(define h (/ 3. steps))
(define every (quotient steps 40))
(define places (list->tensor '((0 0) (1 0) (-.4 1.5)) 'f64))
(define speeds (list->tensor '((0 -.1) (0 1) (-.7 0)) 'f64))

; Of each body by all others: masses times distances over their cubes. A little is added so that a body does not pull itself.
(define (pull x masses)
  (let* ((distances (- (unsqueeze x 0) (unsqueeze x 1))) (squares (+ 1e-3 (sum (square distances) '(2) #t))))
    (sum (* (view masses '(1 3 1)) (/ distances (* squares (sqrt squares)))) 1)))

; Leapfrog; the places at every so many-th step, the last first. Parameters are logarithms of masses.
(define (orbits logarithms)
  (let ((masses (exp logarithms)))
    (let loop ((i 0) (x places) (v (+ speeds (* .5 h (pull places masses)))) (seen '()))
      (if (= i steps)
          seen
          (let* ((x (+ x (* h v))) (v (+ v (* h (pull x masses)))))
            (loop (+ i 1) x v (if (= (remainder i every) 0) (cons x seen) seen)))))))

(define (all-orbits logarithms) (stack (orbits logarithms) 0))
(define observed (all-orbits (log (list->tensor '(1 .1 .03) 'f64))))
(define (loss logarithms) (mean (square (- (all-orbits logarithms) observed))))

(define (draw guess)
  (define (lines name all)
    (map (lambda (i) (cons (string-append name ", body " (number->string (+ i 1))) (squeeze (narrow-tensor all 1 i 1) 1))) (iota 3)))
  (apply plot-lines (string-append (option 'pictures) "/nbody.svg")
         '((title "Three masses, found from where the bodies were seen") (x "x") (y "y") (width 600) (height 560) (points ("seen")))
         (cons "seen" (view observed '(-1 2))) (append (lines "found" (all-orbits guess)) (lines "first guess" (all-orbits (first-guess))))))

(define (first-guess) (log (list->tensor '(.8 .2 .1) 'f64)))
(define (fit guess state rounds)
  (if (= rounds 0)
      (begin
        (for-each write-real (tensor->list (exp guess)))
        (write-real (sqrt (tensor->number (loss guess))))
        (if (option 'pictures) (draw guess)))
      (let (((list value guess state) (checkpoint-*j-update loss guess 1 (adam .06) state)))
        (fit guess state (- rounds 1)))))
(fit (first-guess) 0 (option 'rounds))
