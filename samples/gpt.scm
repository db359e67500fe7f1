; A small GPT made of the library's blocks, of sizes given as arguments: it learns a rule by which tokens follow each other.
;
;     vmrun samples/gpt.scm --width=16 --blocks=2 --rounds=60
;
; prints how many numbers its parameters are and the losses before the first and the last step of training.
;
;     vmrun --memory=2MiB samples/gpt.scm --blocks=16 --rounds=2
;
; makes the same numbers as without --memory where a tape (--checkpoint=tape) does not fit.
(import network)

(define tokens 16)
(define heads 2)
(define texts 4)
(define steps 24)

(define option (command-line-options '((width 16) (blocks 2) (rounds 60))))
(define width (option 'width))

; Row r counts on by r + 1 from r.
(define rows (build-list texts (lambda (r) (build-list (+ steps 1) (lambda (i) (modulo (+ r (* i (+ r 1))) tokens))))))
(define text (list->tensor rows 'i64))
(define inputs (narrow-tensor text 1 0 steps))
(define targets (view (narrow-tensor text 1 1 steps) '(-1)))

(define (new-gpt blocks)
  (list (new-embedding tokens width) (new-embedding steps width) (build-list blocks (lambda (i) (new-transformer width)))
        (new-layer-norm width) (new-linear width tokens)))
(define (gpt p indices)
  (let* (((list table positions blocks norm out) p)
         (x (stacked (lambda (block x) (transformer heads block x #t)) blocks (+ (embedding table indices) positions))))
    (linear out (layer-norm norm x))))
(define (loss p) (tensor->number (cross-entropy-loss (view (gpt p inputs) (list -1 tokens)) targets)))

(define (train p state first rounds)
  (let (((list value p state) (checkpoint-*j-update! loss p 1 (adam .01) state)))
    (report 'loss value)
    (if (= rounds 1)
        (begin (write-real (if first first value)) (write-real value))
        (train p state (if first first value) (- rounds 1)))))

(define (begin-with p) (write-real (parameters-count p)) p)
(train (begin-with (new-gpt (option 'blocks))) 0 #f (option 'rounds))
