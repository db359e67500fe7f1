; A model of characters: an LSTM that reads a text and learns which character comes next. There are no ports, so the text stands here.
;
;     vmrun samples/characters.scm WIDTH STEPS
;
; prints the perplexity before the last step of training, which falls from about the number of different characters towards 1, then text that it
; goes on with from the first character.
(import network)

(define text "how much wood would a woodchuck chuck if a woodchuck could chuck wood")

(define (argument k otherwise)
  (if (< k (length (command-line))) (string->number (list-ref (command-line) k)) otherwise))
(define width (argument 0 32))

(define (distinct l) (if (null? l) '() (cons (car l) (distinct (delete (car l) (cdr l))))))
(define alphabet (sort-list char<? (distinct (string->list text))))
(define characters (length alphabet))
(define (index-of c) (- characters (length (memv c alphabet))))
(define encoded (list->tensor (list (map index-of (string->list text))) 'i64))
(define steps (- (string-length text) 1))
(define inputs (narrow-tensor encoded 1 0 steps))
(define targets (view (narrow-tensor encoded 1 1 steps) '(-1)))

; The list of logits [batch, steps, characters] and of the state behind the last of them.
(define (model p indices state)
  (let* (((list table cell out) p)
         ((list seen state) (unroll lstm cell (embedding table indices) state)))
    (list (linear out seen) state)))
(define (loss p)
  (tensor->number (cross-entropy-loss (view (car (model p inputs 0)) (list -1 characters)) targets)))

; The likeliest character each time.
(define (continue-from p index state n)
  (display (list-ref alphabet index))
  (if (> n 0)
      (let (((list logits state) (model p (list->tensor (list (list index)) 'i64) state)))
        (continue-from p (index-of-max logits) state (- n 1)))
      (newline)))

(define (train p state rounds)
  (let (((list value p state) (checkpoint-*j-update! loss p 1 (adam .02) state)))
    (if (= rounds 1)
        (begin (write-real (exp value)) (continue-from p (index-of (string-ref text 0)) 0 steps))
        (train p state (- rounds 1)))))

(train (list (new-embedding characters 8) (new-lstm 8 width) (new-linear width characters)) 0 (argument 1 150))
