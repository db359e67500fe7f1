; What stands behind the program on the command line: --name=value, as the tools have it.

; Of a list of names and values, '((epochs 20) (save #f)), the procedure from a name to its value on the command line or, where it is not there, in the list. What
; stands in the list for a number wants a number; --name alone means #t. Anything else on the command line is an error.
(define (command-line-options known)
  (let ((given (map (lambda (word) (%option word known)) (reverse (command-line)))))
    (lambda (name)
      (let ((found (if (assq name given) (assq name given) (assq name known))))
        (if found (cadr found) (error "command-line-options: the list has no such name:" name))))))

(define (%option word known)
  (let* ((sign (%place-of #\= word 0))
         (name (string->symbol (substring word (min 2 (string-length word)) (if sign (max 2 sign) (string-length word)))))
         (value (if sign (substring word (+ sign 1) (string-length word)) #t))
         (found (assq name known)))
    (cond ((if (%begins-option? word) (not found) #t)
           (error (string-append "there is no option " word "; these there are, as --name=value:") (map car known)))
          ((not (number? (cadr found))) (list name value))
          ((if (string? value) (string->number value) #f) (list name (string->number value)))
          (else (error (string-append "expected a number behind --" (symbol->string name) "=, got") value)))))

(define (%begins-option? word)
  (if (> (string-length word) 2) (string=? (substring word 0 2) "--") #f))

; Of a character in a string, from a place on; #f if it is not there.
(define (%place-of c s i)
  (cond ((= i (string-length s)) #f)
        ((char=? (string-ref s i) c) i)
        (else (%place-of c s (+ i 1)))))
