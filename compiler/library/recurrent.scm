; Layers with a state, one step of a sequence at a time: (cell parameters x state) -> state', where x is [batch, inputs]. Formulas and the order of
; gates are PyTorch's, parameters a linear layer from the input and one from the state. A state of 0 stands for zeros.

(define (%new-cell inputs width gates) (list (new-linear inputs (* gates width)) (new-linear width (* gates width))))
(define (new-rnn inputs width) (%new-cell inputs width 1))
(define (new-lstm inputs width) (%new-cell inputs width 4))
(define (new-gru inputs width) (%new-cell inputs width 3))

; Without the product if the state is 0.
(define (%from-state parameters state)
  (if (tensor? state) (linear parameters state) (cadr parameters)))

(define (rnn parameters x state)
  (tanh (+ (linear (car parameters) x) (%from-state (cadr parameters) state))))

; The state is the pair of what the next layer sees and of the cell itself. Gates: in, forget, cell, out.
(define (lstm parameters x state)
  (let* (((cons seen cell) (if (pair? state) state (cons 0 0)))
         ((list in forget new out) (split (+ (linear (car parameters) x) (%from-state (cadr parameters) seen)) -1 4))
         (cell (+ (* (sigmoid forget) cell) (* (sigmoid in) (tanh new)))))
    (cons (* (sigmoid out) (tanh cell)) cell)))

; Gates: reset, update (`keep`: how much of the state stays), new.
(define (gru parameters x state)
  (let* (((list x-reset x-keep x-new) (split (linear (car parameters) x) -1 3))
         ((list s-reset s-keep s-new) (split (%from-state (cadr parameters) state) -1 3))
         (keep (sigmoid (+ x-keep s-keep)))
         (new (tanh (+ x-new (* (sigmoid (+ x-reset s-reset)) s-new)))))
    (+ new (* keep (- state new)))))

; The cell along a sequence [batch, steps, inputs]: the list of what it lets see, [batch, steps, width], and of its last state.
(define (unroll cell parameters x state)
  (let ((steps (if (= (length (size x)) 3) (cadr (size x)) 0)))
    (if (= steps 0) (error "unroll: expected a sequence [batch, steps, inputs] of at least one step, got sizes" (size x)))
    (let %unroll/loop ((i 0) (state state) (seen '()))
      (if (= i steps)
          (list (stack (reverse seen) 1) state)
          (let ((state (cell parameters (squeeze (narrow-tensor x 1 i 1) 1) state)))
            (%unroll/loop (+ i 1) state (cons (if (pair? state) (car state) state) seen)))))))
