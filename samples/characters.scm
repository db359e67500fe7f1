; A model of characters: an LSTM that reads a text and learns which character comes next.
;
;     vmrun samples/characters.scm --width=32 --rounds=150
;     vmrun --read=/usr/share/common-licenses samples/characters.scm --text=/usr/share/common-licenses/GPL-3 --width=128 --rounds=600 --rate=.005
;
; prints the perplexity before the last round of training, which falls from about the number of different characters towards 1, then text that it
; goes on with from the first character. Of its own short text it learns to recite every character; of another it says what is likely.
(import network)

(define option (command-line-options '((text #f text) (width 32) (rounds 150) (rate .02) (window 67) (batch 16))))
(define text (if (option 'text) (read-text (option 'text)) "how much wood would a woodchuck chuck if a woodchuck could chuck wood"))

(define-values (alphabet . encoded) (text-classes (map string (string->list text))))
(define characters (length alphabet))

; Windows that begin anywhere; one where the text is no longer than that.
(define window (min (option 'window) (- (string-length text) 2)))
(define starts (- (string-length text) window 1))
(define (draw-windows)
  (let ((begins (if (option 'text) (floor (* starts (rand (list (option 'batch) 1)))) (zeros '(1 1)))))
    (embedding encoded (cast (+ begins (arange (+ window 2))) 'i64))))

; The list of logits [batch, steps, characters] and of the state behind the last of them.
(define (model p indices state)
  (let* (((list table cell out) p)
         ((list seen state) (unroll lstm cell (embedding table indices) state)))
    (list (linear out seen) state)))
(define ((loss-of windows) p)
  (tensor->number (cross-entropy-loss (view (car (model p (narrow-tensor windows 1 0 (+ window 1)) 0)) (list -1 characters))
                                      (view (narrow-tensor windows 1 1 (+ window 1)) '(-1)))))

; The likeliest character each time, or one drawn as likely as the model says.
(define (continue-from p index state n)
  (display (list-ref alphabet index))
  (if (> n 0)
      (let (((list logits state) (model p (list->tensor (list (list index)) 'i64) state)))
        (continue-from p (if (option 'text) (tensor->number (categorical (view logits '(-1)))) (index-of-max logits)) state (- n 1)))
      (newline)))

(define (train p state rounds)
  (let (((list value p state) (checkpoint-*j-update! (loss-of (draw-windows)) p 1 (adam (option 'rate)) state)))
    (report 'step (- (option 'rounds) rounds -1) 'of (option 'rounds) 'loss value)
    (if (= rounds 1)
        (begin (write-real (exp value)) (continue-from p (tensor->number (narrow-tensor encoded 0 0 1)) 0 (if (option 'text) 300 (+ window 1))))
        (train p state (- rounds 1)))))

(train (list (new-embedding characters 8) (new-lstm 8 (option 'width)) (new-linear (option 'width) characters)) 0 (option 'rounds))
