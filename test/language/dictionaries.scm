; Dictionaries against association lists.
;;; case all
(define (show x) (write x) (newline))
(define d (dict 'b 2 "s" 4 3 1 #\c 5 'a 6 2.5 7))
(show (dict->list d))                                            ; expect: ((2.5 . 7) (3 . 1) (#\c . 5) ("s" . 4) (a . 6) (b . 2))
(show (list (dict-ref d 'b) (dict-ref d 3.) (dict-ref d "s") (dict-ref d 'z 'none) (dict-has? d 'a) (dict-has? d 'z) (dict-size d))) ; expect: (2 1 4 none #t #f 6)
(show (dict->list (dict-set (dict-remove d 'b) 'a 0)))           ; expect: ((2.5 . 7) (3 . 1) (#\c . 5) ("s" . 4) (a . 0))
(show (dict-size d))                                             ; expect: 6
(show (dict->list (dict-update (dict) 'n (lambda (x) (+ x 1)) 0))) ; expect: ((n . 1))
(show (dict-fold (lambda (k v sum) (+ sum v)) 0 d))              ; expect: 25
(show (dict-values (dict-map (lambda (k v) (* 10 v)) (dict 1 2 3 4)))) ; expect: (20 40)
(show (dict-keys (list->dict '((2 . a) (1 . b) (2 . c)))))       ; expect: (1 2)
(show (list (dict-remove d 'nobody) (dict-size (dict-remove d 'nobody)))) ; expect any output
; Long sequences of insertions and removals: contents as an association list has them, and depths as a logarithm.
(define (smaller d) (vector-ref d 1))
(define (larger d) (vector-ref d 4))
(define (depth d) (if (null? d) 0 (+ 1 (max (depth (smaller d)) (depth (larger d))))))
(define (sound? d) (or (null? d) (let ((a (+ 1 (dict-size (smaller d)))) (b (+ 1 (dict-size (larger d)))))
                                   (and (= (dict-size d) (+ a b -1)) (<= a (* 3 b)) (<= b (* 3 a)) (sound? (smaller d)) (sound? (larger d))))))
(define (random-work n d l)
  (if (= n 0)
      (and (sound? d) (equal? (dict->list d) (sort-list (lambda (a b) (< (car a) (car b))) l)))
      (let ((k (random-integer 60)) (others (lambda (k) (remove (lambda (e) (= (car e) k)) l))))
        (if (= 0 (random-integer 3))
            (random-work (- n 1) (dict-remove d k) (others k))
            (random-work (- n 1) (dict-set d k n) (cons (cons k n) (others k)))))))
(show (random-work 3000 (dict) '()))                             ; expect: #t
(define ascending (fold-left (lambda (d k) (dict-set d k k)) (dict) (iota 4000)))
(show (list (sound? ascending) (< (depth ascending) 25)))        ; expect: (#t #t)
(define emptied (fold-left dict-remove ascending (filter (lambda (k) (< (remainder k 16) 15)) (iota 4000))))
(show (list (sound? emptied) (dict-size emptied) (dict-ref emptied 31))) ; expect: (#t 250 31)
; Values have derivatives.
(show (dict-values (gradient (lambda (d) (* (dict-ref d 'x) (dict-ref d 'y))) (dict 'x 3. 'y 4.)))) ; expect: (4.0 3.0)
; Keys that are numbers come back as they went in, and stand in the order of numbers.
(define odd '(-1e300 -5 -.5 0 .1 7 7.5 53247 53248 1000000 1073741823 1073741824 281474976710655 1e300 +inf.0))
(define numbers (fold-right (lambda (k d) (dict-set d k (list k))) (dict) odd))
(show (equal? (dict-keys numbers) odd))                          ; expect: #t
(show (equal? (map (lambda (k) (car (dict-ref numbers k))) odd) odd)) ; expect: #t
(show (list (dict-keys (dict 3. 1)) (dict-keys (dict 3. 1 3 1)) (dict-keys (dict -0. 1 0 2 0. 3)))) ; expect: ((3.0) (3) (0.0))
(show (dict "s" 'x -2.5 #\b 70000 (dict 'k (list 1 2)) 5000000000 4)) ; expect: #<dict -2.5 #\b 70000 #<dict k (1 2)> 5000000000 4 "s" x>
(show (list (dict) (fold-left (lambda (d i) (dict-set d i (* i i))) (dict) (iota 7)) '#(1 () a 2 ()) '#(#\a () k 1 ()))) ; expect: (() #<dict 0 0 1 1 2 4 3 9 4 16 5 25 6 36> #(1 () a 2 ()) #(#\a () k 1 ()))
(display (dict 'a 1 3 2)) (newline)                              ; expect: #<dict 3 2 a 1>
(show (dict-size (fold-left (lambda (d k) (dict-set d k k)) (dict) (iota 60000)))) ; expect: 60000
;;; case no-such-key
(dict-ref (dict 1 2) 3)
; expect error: dict-ref: there is no key 3; the keys are \(1\)
;;; case no-such-key-among-many
(dict-ref (list->dict (map (lambda (i) (cons i i)) (iota 30))) "b")
; expect error: dict-ref: there is no key "b"; the first of the 30 keys are \(0 1 2 3 4 5 6 7 8 9\)
;;; case no-key-at-all
(dict-set (dict) '(1) 2)
; expect error: expected a number, a character, a string or a symbol as a key, got \(1\)
;;; case nan-as-the-first-key
(dict +nan.0 2)
; expect error: a NaN cannot be a key
;;; case nan-as-a-key
(dict-set (dict 1 2) +nan.0 2)
; expect error: a NaN cannot be a key
;;; case what-is-no-dictionary
(define (show x) (write x) (newline))
(define (said thunk) (call-with-error-handler (lambda (message irritants) message) thunk))
(show (said (lambda () (dict-ref 5 1))))             ; expect: "dict-ref: expected a dictionary, got"
(show (said (lambda () (dict-ref '#(1 2 3 4 5) 1)))) ; expect: "dict-ref: expected a dictionary, got"
(show (said (lambda () (dict-size '#(1 2)))))        ; expect: "dict-size: expected a dictionary, got"
(show (said (lambda () (dict-set 5 1 2))))           ; expect: "dict-set: expected a dictionary, got"
(show (said (lambda () (dict-keys "a"))))            ; expect: "dict-keys: expected a dictionary, got"
(show (said (lambda () (dict-ref '((a . 1)) 'a))))   ; expect: "dict-ref: expected a dictionary, got a list, of which (list->dict l) makes one if its elements are pairs:"
(show (said (lambda () (list->dict '((a . 1) 2)))))  ; expect: "list->dict: expected a list of pairs (key . value), got"
(show (said (lambda () (dict-fold + 0 car))))        ; expect: "dict-fold: expected a dictionary, got"
(show (dict-ref (dict-update (dict 'a 1) 'b 1+ 5) 'b)) ; expect: 6
;;; case a-key-without-a-value
(dict 1 2 3)
; expect error: dict: a key without a value: 3
