; A pendulum whose length and friction nobody knows, found from angles that were measured: every guess is a simulation of many small steps, and Adam goes
; down the gradient through all of them.
;
;     vmrun samples/pendulum.scm
;     vmrun --memory=8MiB samples/pendulum.scm --steps=2000000 --rounds=1        a thousand times the steps, in 8 MiB
;
; prints length and friction, 1.2 and .15 but for the noise of .02 in the angles, and the deviation that is left. --pictures=FOLDER draws angles measured and simulated.
(define option (command-line-options '((steps 2000) (rounds 150) (pictures #f text))))

(define seconds 8)
(define steps (option 'steps))
(define h (/ seconds (exact->inexact steps)))
(define measurements 100)
(define every (quotient steps measurements))

; The angles at the times of the measurements, the last first. The parameters are logarithms, so that both remain positive.
(define (angles (cons length friction))
  (let ((pull (/ 9.81 (exp length))) (friction (exp friction)))
    (let loop ((i 0) (angle 2.) (speed 0.) (seen '()))
      (if (= i steps)
          seen
          (let* ((speed (- speed (* h (+ (* pull (sin angle)) (* friction speed))))) (angle (+ angle (* h speed))))
            (loop (+ i 1) angle speed (if (= (remainder i every) 0) (cons angle seen) seen)))))))

(define measured (map (lambda (angle) (+ angle (* .02 (random-normal)))) (angles (cons (log 1.2) (log .15)))))
(define (loss guess)
  (/ (fold-left + 0 (map (lambda (a b) (expt (- a b) 2)) (angles guess) measured)) measurements))

(define (draw guess)
  (define (curve l) (map (lambda (i angle) (cons (* i every h) angle)) (iota measurements) (reverse l)))
  (plot-lines (string-append (option 'pictures) "/pendulum.svg") '((title "A pendulum found from its angles") (x "seconds") (y "angle") (points ("measured")))
              (cons "measured" (curve measured)) (cons "first guess" (curve (angles first-guess))) (cons "found" (curve (angles guess)))))

(define first-guess (cons (log 1.6) (log .4)))
(define (fit guess state rounds)
  (if (= rounds 0)
      (begin
        (write-real (exp (car guess)))
        (write-real (exp (cdr guess)))
        (write-real (sqrt (loss guess)))
        (if (option 'pictures) (draw guess)))
      (let (((list value guess state) (checkpoint-*j-update loss guess 1 (adam .03) state)))
        (fit guess state (- rounds 1)))))
(fit first-guess 0 (option 'rounds))
