; A rollout of a small nonlinear system, hunters and hunted, by the classical method of Runge and Kutta, and the gradient of where it ends by the four
; rates of the system and the two numbers of the start. Arguments: primal, *j or checkpoint-*j; the number of steps.
(define mode (car (command-line)))
(define steps (string->number (cadr (command-line))))
(define h (/ 10. steps))
(define (slope (cons x y) (list birth hunt gain death))
  (cons (* x (- birth (* hunt y))) (* y (- (* gain x) death))))
(define (ahead (cons x y) (cons dx dy) h) (cons (+ x (* h dx)) (+ y (* h dy))))
(define (step s rates)
  (let* ((a (slope s rates)) (b (slope (ahead s a (/ h 2)) rates)) (c (slope (ahead s b (/ h 2)) rates)) (d (slope (ahead s c h) rates)))
    (ahead (ahead (ahead (ahead s a (/ h 6)) b (/ h 3)) c (/ h 3)) d (/ h 6))))
(define (rollout (cons start rates))
  (let loop ((i 0) (s start)) (if (= i steps) (+ (car s) (cdr s)) (loop (+ i 1) (step s rates)))))
(define (total g) (if (pair? g) (+ (total (car g)) (total (cdr g))) (if (number? g) g 0)))
(define parameters (cons (cons 1.2 .8) '(1.1 .4 .1 .4)))
(write-real
 (cond ((string=? mode "primal") (rollout parameters))
       ((string=? mode "*j") (total (cdr (*j rollout parameters 1))))
       (else (total (cdr (checkpoint-*j rollout parameters 1))))))
