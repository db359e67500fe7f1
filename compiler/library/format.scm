; Text with values in it. ~a stands for the next one as display prints it, ~s as write does, ~d as ~a, ~f for a number with six digits behind
; the point, ~% for the end of a line and ~~ for a tilde. A width may stand in front of the letter, and for ~f a comma and the number of
; digits: ~8a, ~8,2f, ~,2f. Texts are filled up at their right, numbers of ~d and ~f at their left.

(define (format text . values)
  (if (not (string? text)) (error "format: expected a string, as in (display (format \"~a~%\" x)), got" text))
  (apply string-append (%format-parts text (string->list text) values)))

(define (%format-parts text l values)
  (cond ((null? l) (if (null? values) '() (error (string-append "format: more values than \"" text "\" has places for, from") (car values))))
        ((char=? (car l) #\~) (%format-directive text (cdr l) values #f))
        (else (let ((end (%format-plain l)))
                (cons (list->string (list-head l (- (length l) (length end)))) (%format-parts text end values))))))
(define (%format-plain l) (if (if (null? l) #t (char=? (car l) #\~)) l (%format-plain (cdr l))))

; Behind a tilde.
(define (%format-directive text l values width)
  (if (null? l) (%format-malformed text "it ends in a tilde"))
  (let ((c (char-downcase (car l))))
    (cond ((char-numeric? c)
           (let ((end (%format-digits l))) (%format-directive text end values (%format-number text l end))))
          ((char=? c #\,)
           (let ((end (%format-digits (cdr l))))
             (if (if (null? end) #f (char=? (char-downcase (car end)) #\f))
                 (%format-value text (cdr end) values width (lambda (x) (%fixed (%the-number x) (if (eq? end (cdr l)) 0 (%format-number text (cdr l) end)))) #t)
                 (%format-malformed text "digits behind a point belong to ~f"))))
          ((char=? c #\%) (cons "\n" (%format-parts text (cdr l) values)))
          ((char=? c #\~) (cons "~" (%format-parts text (cdr l) values)))
          ((char=? c #\a) (%format-value text (cdr l) values width (lambda (x) (%text-of x #f)) #f))
          ((char=? c #\s) (%format-value text (cdr l) values width (lambda (x) (%text-of x #t)) #f))
          ((char=? c #\d) (%format-value text (cdr l) values width (lambda (x) (%text-of x #f)) #t))
          ((char=? c #\f) (%format-value text (cdr l) values width (lambda (x) (%fixed (%the-number x) 6)) #t))
          (else (%format-malformed text (string-append "there is no ~" (string (car l))))))))

(define (%format-value text l values width shown left)
  (if (null? values) (error (string-append "format: more places than values in \"" text "\"")))
  (let* ((part (shown (car values)))
         (missing (if width (max 0 (- width (string-length part))) 0))
         (blanks (make-string missing #\space)))
    (cons (if left (string-append blanks part) (string-append part blanks)) (%format-parts text l (cdr values)))))

(define (%format-digits l) (if (if (null? l) #f (char-numeric? (car l))) (%format-digits (cdr l)) l))
(define (%format-number text l end)
  (let ((n (string->number (list->string (list-head l (- (length l) (length end)))))))
    (if (exact? n) n (%format-malformed text "a width or a number of digits is too large"))))
(define (%format-malformed text what) (error (string-append "format: " what " in \"" text "\"")))
(define (%the-number x) (if (tensor? x) (tensor->number x) x))
