; GPT in the sizes of GPT-3: embeddings, blocks of causal attention and perceptrons, and scores by the table of the embedding once more.
;
;     vmrun samples/networks/gpt.scm --name=small --count
;     vmrun --memory=2GiB samples/networks/gpt.scm --name=small --batch=1
;
; prints of how many numbers its parameters are (125,226,240), then the losses of --steps steps on --batch texts of --length random tokens. Names are small, medium, large, xl, 2.7B, 6.7B,
; 13B, 85B and 175B; --width, --blocks and --heads make others. GPT-2's smallest is --context=1024 without a name (124,439,808). --count only counts, without drawing them.
(import network)

(define options (command-line-options '((name #f text) (width 768) (blocks 12) (heads 12) (tokens 50257) (context 2048) (length 64) (batch 2) (steps 2) (rate .0006) (count #f))))

; Blocks, width and heads. Heads of xl and the width of 13B are such that one divides the other; 85B, whose sizes nobody tells, are some that come to so many.
(define sizes '(("small" 12 768 12) ("medium" 24 1024 16) ("large" 24 1536 16) ("xl" 24 2048 16) ("2.7B" 32 2560 32) ("6.7B" 32 4096 32) ("13B" 40 5120 40)
                ("85B" 105 8192 64) ("175B" 96 12288 96)))
(define chosen
  (let ((entry (assoc (options 'name) sizes)))
    (cond (entry (cdr entry))
          ((options 'name) (error (format "expected --name=~a, or --width, --blocks and --heads of your own, got" (string-join (map car sizes) ", ")) (options 'name)))
          (else (list (options 'blocks) (options 'width) (options 'heads))))))
(define blocks (car chosen))
(define width (cadr chosen))
(define heads (caddr chosen))
(define tokens (options 'tokens))

(define (new-gpt)
  (list (* .02 (new-embedding tokens width)) (* .01 (new-embedding (options 'context) width)) (build-list blocks (lambda (i) (new-transformer width)))
        (new-layer-norm width)))
(define (layer p x) (transformer heads p x #t))
(define (gpt (list table positions layers norm) indices)
  (let ((x (+ (embedding table indices) (narrow-tensor positions 0 0 (cadr (size indices))))))
    (matmul (layer-norm norm (stacked layer layers x)) (transpose table))))

; Of a block: attention with queries, keys, values and their sum, a perceptron of four times the width, two norms.
(define (numbers-of-gpt)
  (+ (* (+ tokens (options 'context)) width) (* blocks (+ (* 12 width width) (* 13 width))) (* 2 width)))

(define text-length (options 'length))
(define ((loss-of text) p)
  (tensor->number (cross-entropy-loss (view (gpt p (narrow-tensor text 1 0 text-length)) (list -1 tokens)) (view (narrow-tensor text 1 1 text-length) '(-1)))))
(define (train p state text steps)
  (if (> steps 0)
      (let (((list value p state) (checkpoint-*j-update! (loss-of text) p 1 (adamw (options 'rate)) state)))
        (report 'loss (write-real value))
        (train p state text (- steps 1)))))

(define (begin-with p)
  (assert (= (parameters-count p) (numbers-of-gpt)))
  (train p 0 (cast (floor (* tokens (rand (list (options 'batch) (+ text-length 1))))) 'i64) (options 'steps)))

(write-real (numbers-of-gpt))
(if (not (options 'count)) (begin-with (new-gpt)))
