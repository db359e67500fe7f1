; What stands behind the program on the command line: --name=value, as the tools have it.

; Of a list of names and values, '((epochs 20) (count #f) (save #f text)), the procedure from a name to its value on the command line or, where it is not there, in
; the list. What stands in the list for a number wants a number, for a text a text; behind another value `number` or `text` says so, else --name alone means #t.
; Anything else on the command line is an error.
(define (command-line-options known)
  (let* ((kinds (map (lambda ((cons name value+kind)) (cons name (%option-kind name value+kind))) known))
         (given (map (lambda (word) (%option word kinds)) (reverse (command-line)))))
    (lambda (name)
      (let ((found (if (assq name given) (assq name given) (assq name known))))
        (if found (cadr found) (error "command-line-options: the list has no such name:" name))))))

(define (%option word kinds)
  (let* ((sign (%place-of #\= word 0))
         (name (string->symbol (substring word (min 2 (string-length word)) (if sign (max 2 sign) (string-length word)))))
         (value (if sign (substring word (+ sign 1) (string-length word)) #t))
         (found (assq name kinds))
         (kind (if found (cdr found) #f)))
    (cond ((if (%begins-option? word) (not found) #t)
           (error (string-append "there is no option " word "; these there are, as --name=value:") (map car kinds)))
          ((if kind (not sign) #f)
           (error (string-append "--" (symbol->string name) " alone says nothing; write --" (symbol->string name) (if (eq? kind 'number) "=NUMBER" "=TEXT"))))
          ((not (eq? kind 'number)) (list name value))
          ((string->number value) (list name (string->number value)))
          (else (error (string-append "expected a number behind --" (symbol->string name) "=, got") value)))))

; #f where anything may stand there, or nothing.
(define (%option-kind name value+kind)
  (cond ((pair? (cdr value+kind))
         (if (memq (cadr value+kind) '(number text))
             (cadr value+kind)
             (error (string-append "command-line-options: behind the value of " (symbol->string name) " expected number or text, got") (cadr value+kind))))
        ((number? (car value+kind)) 'number)
        ((string? (car value+kind)) 'text)
        (else #f)))

(define (%begins-option? word)
  (if (> (string-length word) 2) (string=? (substring word 0 2) "--") #f))

; Of a character in a string, from a place on; #f if it is not there.
(define (%place-of c s i)
  (cond ((= i (string-length s)) #f)
        ((char=? (string-ref s i) c) i)
        (else (%place-of c s (+ i 1)))))
