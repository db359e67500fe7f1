; The learning rate is learnt: a network is trained by gradient descent with momentum, all of that training is one procedure of the rate and the momentum, and
; a gradient through it (with every gradient in it) tells how to change both.
;
;     vmrun samples/hyper.scm
;     vmrun --memory=8MiB samples/hyper.scm --steps=4000 --rounds=1        a training a hundred times as long, in 8 MiB
;
; prints the loss after training with the first rate, .01, and momentum, .5; the rate and the momentum found; and the loss after training with these. --pictures=FOLDER draws the way there.
(import network)
(define option (command-line-options '((steps 40) (rounds 40) (pictures #f text))))

(define inputs (view (linspace -3 3 64) '(64 1)))
(define targets (sin (* 2 inputs)))
(define start (map (lambda ((list weights shift)) (list weights (* .5 (randn (size shift))))) (new-perceptron '(1 24 1))))
(define (loss network) (tensor->number (mean-squared-error (perceptron tanh network inputs) targets)))

; The rate is an exponential, the momentum between 0 and 1.
(define (rate-of (cons a b)) (exp a))
(define (momentum-of (cons a b)) (/ 1 (+ 1 (exp (- b)))))
(define (trained hyper)
  (let ((rate (rate-of hyper)) (decay (momentum-of hyper)))
    (let loop ((i 0) (network start) (velocity 0))
      (if (= i (option 'steps))
          (loss network)
          (let* ((velocity (parameters-map2 (lambda (v c) (+ (* decay v) c)) velocity (cdr (*j loss network 1)))))
            (loop (+ i 1) (parameters-map2 (lambda (p v) (- p (* rate v))) network velocity) velocity))))))

(define (draw losses)
  (plot-lines (string-append (option 'pictures) "/hyper.svg") '((title "Training, with rate and momentum learnt through it") (x "round") (y "loss after training") (log-y #t)) losses))

(define (tune hyper state rounds losses)
  (if (= rounds 0)
      (begin
        (write-real (rate-of hyper))
        (write-real (momentum-of hyper))
        (write-real (trained hyper))
        (if (option 'pictures) (draw (reverse losses))))
      (let (((list value hyper state) (checkpoint-*j-update trained hyper 1 (adam .1) state)))
        (if (null? losses) (write-real value))
        (tune hyper state (- rounds 1) (cons value losses)))))
(tune (cons (log .01) 0.) 0 (option 'rounds) '())
