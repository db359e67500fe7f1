; What is a rod made of? One end is heated, thermometers tell the temperatures along it at some times, and how well each part conducts heat is found from these: an
; inverse problem, by the gradient through a simulation of the heat equation.
;
;     vmrun samples/heat.scm
;     vmrun --memory=12MiB samples/heat.scm --steps=40000 --rounds=1        a hundred times the steps, in 12 MiB
;
; prints the largest deviation of a conductivity, of numbers from .4 to 1.2, before and after. --pictures=FOLDER draws them.
(import network)
(define option (command-line-options '((steps 400) (rounds 600) (pictures #f text))))

(define cells 24)
(define steps (option 'steps))
(define h (/ 160. steps)) ; explicit steps must be short: at most 1 / (2 conductivity)
(define every (quotient steps 10))

; What flows between neighbours is proportional to their difference. The left end is at 1, the right one keeps its heat. Temperatures at some times, the
; last first.
(define (temperatures logarithms)
  (let ((conductivity (exp logarithms)) (left (ones '(1) 'f64)) (none (zeros '(1) 'f64)))
    (let loop ((i 0) (t (zeros (list cells) 'f64)) (seen '()))
      (if (= i steps)
          (stack seen 0)
          (let* ((flow (* conductivity (- (concat-tensors (list left (narrow-tensor t 0 0 (- cells 1))) 0) t)))
                 (t (+ t (* h (- flow (concat-tensors (list (narrow-tensor flow 0 1 (- cells 1)) none) 0))))))
            (loop (+ i 1) t (if (= (remainder (+ i 1) every) 0) (cons t seen) seen)))))))

(define truth
  (list->tensor (build-list cells (lambda (i) (log (cond ((< i 7) 1.) ((< i 14) (+ .7 (* .5 (sin i)))) (else .6))))) 'f64))
(define measured (temperatures truth))
(define (loss logarithms) (mean (square (- (temperatures logarithms) measured))))
(define (deviation logarithms) (max-value (abs (- (exp logarithms) (exp truth)))))

(define (draw guess)
  (define (curve logarithms) (map (lambda (i c) (cons (+ i 1) c)) (iota cells) (tensor->list (exp logarithms))))
  (plot-lines (string-append (option 'pictures) "/heat.svg") '((title "Conductivity of a rod, found from temperatures") (x "part of the rod") (y "conductivity"))
              (cons "what it is made of" (curve truth)) (cons "first guess" (curve (first-guess))) (cons "found" (curve guess)))
  (plot-heat-map (string-append (option 'pictures) "/heat-map.svg") '((title "Temperatures measured") (x "part of the rod") (y "time, the last first") (height 260))
                 measured))

(define (first-guess) (fill (list cells) (log .8) 'f64))
(define (fit guess state rounds)
  (if (= rounds 0)
      (begin (write-real (deviation guess)) (if (option 'pictures) (draw guess)))
      (let (((list value guess state) (checkpoint-*j-update loss guess 1 (adam .04) state)))
        (fit guess state (- rounds 1)))))
(write-real (deviation (first-guess)))
(fit (first-guess) 0 (option 'rounds))
