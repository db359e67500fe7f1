; Characters, strings, symbols; Unicode.
(define (show x) (write x) (newline))
(show #\a)                                      ; expect: #\a
(show #\space)                                  ; expect: #\space
(show #\newline)                                ; expect: #\newline
(show #\()                                      ; expect: #\(
(show (list #\A #\; #\"))                       ; expect: (#\A #\; #\")
(display #\a) (newline)                         ; expect: a
(display (list #\a "b" 'c)) (newline)           ; expect: (a b c)
(display '#("x" #\y)) (newline)                 ; expect: #(x y)
(write-char #\z) (newline)                      ; expect: z
(show (list (char? #\a) (char? "a") (char? 'a))) ; expect: (#t #f #f)
(show (list (char=? #\a #\a) (char<? #\a #\b) (char>? #\a #\b) (char<=? #\a #\a) (char>=? #\a #\b))) ; expect: (#t #t #f #t #f)
(show (list (char-ci=? #\a #\A) (char-ci<? #\a #\B) (char-ci>? #\B #\a) (char-ci<=? #\A #\a) (char-ci>=? #\a #\B))) ; expect: (#t #t #t #t #f)
(show (list (char-alphabetic? #\a) (char-alphabetic? #\1) (char-numeric? #\1) (char-numeric? #\a))) ; expect: (#t #f #t #f)
(show (list (char-whitespace? #\space) (char-whitespace? #\newline) (char-whitespace? #\a))) ; expect: (#t #t #f)
(show (list (char-upper-case? #\A) (char-upper-case? #\a) (char-lower-case? #\a) (char-lower-case? #\A))) ; expect: (#t #f #t #f)
(show (list (char-upcase #\a) (char-upcase #\A) (char-downcase #\A) (char-upcase #\1))) ; expect: (#\A #\A #\a #\1)
(show (char->integer #\A))                      ; expect: 65
(show (integer->char 97))                       ; expect: #\a
(show (integer->char 97.))                      ; expect: #\a
(show (char->integer #\λ))                      ; expect: 955
(show (char->integer (integer->char 128512)))   ; expect: 128512
(show "plain")                                  ; expect: "plain"
(show "a \"quoted\" word and a \\")             ; expect: "a \"quoted\" word and a \\"
(display "a \"quoted\" word and a \\") (newline) ; expect: a "quoted" word and a \
(show (list (string? "a") (string? 'a) (string? #\a))) ; expect: (#t #f #f)
(show (string-length "hello"))                  ; expect: 5
(show (string-length ""))                       ; expect: 0
(show (string-length "λx→y"))                   ; expect: 4
(show (string-ref "hello" 1))                   ; expect: #\e
(show (char->integer (string-ref "naïve" 2)))   ; expect: 239
(show (string-ref "naïve" 3))                   ; expect: #\v
(show (make-string 3 #\x))                      ; expect: "xxx"
(show (string-length (make-string 4)))          ; expect: 4
(show (string #\a #\b))                         ; expect: "ab"
(show (string))                                 ; expect: ""
(show (substring "hello" 1 3))                  ; expect: "el"
(show (substring "hello" 0 5))                  ; expect: "hello"
(show (substring "hello" 2 2))                  ; expect: ""
(show (substring "äöü" 1 2))                    ; expect: "ö"
(show (string-append "foo" "bar"))              ; expect: "foobar"
(show (string-append))                          ; expect: ""
(show (string-append "a" "" "b" "c"))           ; expect: "abc"
(show (string-append "a"))                      ; expect: "a"
(show (map (lambda (n) (apply string-append (map number->string (iota n)))) '(0 1 2 3 5 8 11))) ; expect: ("" "0" "01" "012" "01234" "01234567" "012345678910")
; However many there are, nothing is copied again and again: this would take minutes.
(show (string-length (apply string-append (map number->string (iota 100000))))) ; expect: 488890
(show (string-append "ä" "→"))                  ; expect: "ä→"
(show (string->list "abc"))                     ; expect: (#\a #\b #\c)
(show (string->list ""))                        ; expect: ()
(show (list->string '(#\a #\b)))                ; expect: "ab"
(show (list->string (reverse (string->list "→äb")))) ; expect: "bä→"
(show (string-copy "abc"))                      ; expect: "abc"
(show (list (string=? "a" "a") (string=? "a" "b") (string=? "a" "aa"))) ; expect: (#t #f #f)
(show (list (string<? "a" "b") (string<? "a" "aa") (string<? "b" "aa") (string<? "a" "a"))) ; expect: (#t #t #f #f)
(show (list (string>? "b" "a") (string<=? "a" "a") (string>=? "a" "b"))) ; expect: (#t #t #f)
(show (list (string-ci=? "aBc" "AbC") (string-ci<? "a" "B") (string-ci>? "B" "a") (string-ci<=? "A" "a") (string-ci>=? "a" "B"))) ; expect: (#t #t #t #t #f)
(show (string<? "z" "é"))                       ; expect: #t
(show (symbol->string 'flying-fish))            ; expect: "flying-fish"
(show (string->symbol "sym"))                   ; expect: sym
(show (eq? 'sym (string->symbol "sym")))        ; expect: #t
(show (eq? (string->symbol (string-append "ab" "c")) 'abc)) ; expect: #t
(show (list (symbol? 'foo) (symbol? (car '(a b))) (symbol? "bar") (symbol? '()) (symbol? #f))) ; expect: (#t #t #f #f #f)
(define λ 5)
(show λ)                                        ; expect: 5
(show (let ((größe 3)) (* größe größe)))        ; expect: 9
(show (symbol->string 'größe))                  ; expect: "größe"
(show 'naïve)                                   ; expect: naïve
(define x′ 1)
(show (+ x′ 1))                                 ; expect: 2
(show (equal? "λ" "λ"))                         ; expect: #t
(display "→ ünïcödé ←") (newline)               ; expect: → ünïcödé ←
(show (string-split "a;b;;c" ";"))              ; expect: ("a" "b" "" "c")
(show (string-split "  two\n words "))          ; expect: ("two" "words")
(show (map (lambda (s) (string-split s "--")) '("a--b" "" "--"))) ; expect: (("a" "b") ("") ("" ""))
(show (string-split "a b" #\space))             ; expect: ("a" "b")
(show (list (string-join '()) (string-join '("a")) (string-join '("a" "b")) (string-join '("a" "b" "c") ", "))) ; expect: ("" "a" "a b" "a, b, c")
