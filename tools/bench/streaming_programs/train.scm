; Steps of updates on the device, of weights that may be larger than it. Arguments: the network, gpt or resnet; how many blocks; how many steps. Prints the
; loss of each step. A fourth argument names a file for the streaming plan of one step more.
(define arguments (command-line))
(define blocks (string->number (cadr arguments)))
(define steps (string->number (caddr arguments)))

; Blocks one behind the other: `new` makes the parameters of one, (block p x) applies it.
(define (stack new block x) (list (map (lambda (i) (new)) (iota blocks)) block x))
(define networks
  (list (cons "gpt" (lambda () (stack (lambda () (new-transformer 256)) (lambda (p x) (transformer 8 p x #t)) (randn '(2 64 256)))))
        (cons "resnet"
              (lambda ()
                (define (filter) (* 0.03 (randn '(96 96 3 3))))
                (stack (lambda () (list (filter) (filter)))
                       (lambda (p x) (+ x (convolve (ReLU (convolve x (car p) 1 1)) (cadr p) 1 1)))
                       (randn '(4 96 16 16)))))))

(define (descend p g s) (cons (- p (* 0.001 g)) s))
(define (step-of block x)
  (define (loss parameters) (let loop ((p parameters) (y x)) (if (null? p) (mean (* y y)) (loop (cdr p) (block (car p) y)))))
  (lambda (parameters) (checkpoint-*j-update! loss parameters 1 descend 0)))
(define (train n step parameters)
  (if (> n 0)
      (let ((stepped (step parameters)))
        (write (tensor->number (car stepped)))
        (newline)
        (train (- n 1) step (cadr stepped)))
      parameters))

(let (((list parameters block x) ((cdr (assoc (car arguments) networks)))))
  (let* ((step (step-of block x)) (trained (train steps step parameters)))
    (if (= (length arguments) 4) (write-npy (list-ref arguments 3) (cadr (get-streaming-plan step trained))))))
