; Programs that write files and read them again: what they hold meanwhile is requested too. The current folder is granted.

;;; case npy
; flags: --files
(write-npy "a.npy" (list->tensor '((1 2) (3 4))))
(write (read-npy "a.npy"))
(write (read-rows (npy-array "a.npy") '(1 0)))
(write (read-rows (list "a.npy" 'u16-be 0 '(3)) 1 2))

;;; case a page of TIFF
; flags: --files
(write-text "a.tif" (list->string (map integer->char
  '(73 73 42 0 8 0 0 0 5 0 0 1 3 0 1 0 0 0 3 0 0 0 1 1 3 0 1 0 0 0 2 0 0 0 2 1 3 0 1 0 0 0 8 0 0 0 17 1 3 0 1 0 0 0 74 0 0 0 23 1 3 0 1 0 0 0 6 0 0 0 0 0 0 0 65 66 67 68 69 70))))
(define a (tiff-array "a.tif"))
(write a)
(write (read-rows a 0 1))
(write (read-region a '(0 0 0 1) '(1 1 2 2)))
(write (tiled (lambda (x) (square (cast x 'f32))) a 2))

;;; case written by tiles
; flags: --files
(define x (view (sin (arange 40)) '(1 2 4 5)))
(define a (tiled->npy "t.npy" (lambda (x) (* 2 x)) x 2))
(write a)
(write (tiled->tiff "t.tif" (lambda (x) (- x (mean x '(2 3) #t))) a 2))
(write (read-npy "t.npy"))
(write (cdr (*j (lambda (y) (sumall (* y (read-npy (car (tiled->npy "u.npy" sin x 2)))))) x 1)))

;;; case safetensors
; flags: --files
(write-safetensors "a.safetensors" (list (cons "a" (ones '(2))) (cons "b" (zeros '(1 2) 'i64))))
(write (read-safetensors "a.safetensors"))
(write (safetensors-arrays "a.safetensors"))
(save-parameters "p.safetensors" (list (ones '(2)) 1.5))
(write (load-parameters "p.safetensors" (list (zeros '(2)) 0.)))
(define d (dict 'w (ones '(2)) 3 1.5))
(save-parameters "d.safetensors" (list d (rule-state (momentum .1) d)))
(write (dict->list (car (load-parameters "d.safetensors" (list d (rule-state (momentum .1) d))))))

;;; case texts
; flags: --files
(write-text "a.txt" "one\ntwo\r\n\nthree")
(write (read-text "a.txt"))
(write (read-lines "a.txt"))
(write (read-bytes "a.txt" 1 2))
(write-csv "a.csv" (list->tensor '((1 2.5) (3 4))) '("x" "y"))
(write (read-csv "a.csv"))
(write (read-table "a.csv"))
(write-table "b.csv" '("n" "t") (list (list->tensor '(123456789 2) 'i64) '("a \"b\"" "")))
(write (read-table "b.csv"))
(write (text-classes (string-split (string-join '("b" "a" "b") ";") #\;)))
(write (car (member "a.csv" (list-folder "."))))

;;; case tables of every kind of column
; flags: --files
(write-table "b.csv" '("n" "t" "v" "w") (list (list->tensor '(1.5 2) 'f64) '("a \"b\"" "") (vector 1 2.5) (list->tensor '(3 4) 'u8)))
(write (read-table "b.csv"))

;;; case steps of attention
(import network)
(define p (list (list (fill '(4 12) .1) (fill '(12) .2)) (list (fill '(4 4) .3) (fill '(4) .1))))
(define (f x) (let* ((a (attention-step 2 p x '())) (b (attention-step 2 p (sin x) (cadr a)))) (+ (sumall (car a)) (sumall (car b)))))
(write (gradient f (fill '(1 2 4) .5)))

;;; case json
; flags: --files
(write-json "a.json" (list 1 "two" (vector 'null #t) (list (cons "k" (ones '(2 1))))))
(write (read-json "a.json"))
(write (string->json "{\"a\": [[], {}, -1.5e3]}"))

;;; case archives
; flags: --files
(write-npz "a.npz" (list (cons "a" (ones '(3))) (cons "b" (zeros '(2 2) 'i8))) #t)
(write (read-npz "a.npz"))
(write-npz "b.npz" (list (cons "a" (ones '(3)))))
(write (read-npz "b.npz"))

;;; case pictures
; flags: --files
(write-png "a.png" (cast (view (arange 24) '(2 4 3)) 'u8))
(write (read-image "a.png"))

;;; case tokens
; flags: --files
(define (character b) (list->string (list (integer->char (if (or (< 32 b 127) (< 160 b 173) (< 173 b)) b (+ 256 (hidden b 0)))))))
(define (hidden b i) (if (= i b) 0 (+ (if (or (< 32 i 127) (< 160 i 173) (< 173 i)) 0 1) (hidden b (+ i 1)))))
(write-json "vocab.json" (append (build-list 256 (lambda (b) (cons (character b) b))) (list (cons "ab" 256))))
(write-text "merges.txt" "#version: 0.2\na b\n")
(define t (read-bpe "vocab.json" "merges.txt"))
(write (detokenize t (tokenize t "ab abc's 12")))

;;; case pictures in arrays
; flags: --files
(write-png "a.png" (cast (view (arange 24) '(2 4 3)) 'u8))
(define a (picture-array '("a.png") 2 2))
(read-ahead a '(0))
(write (read-rows a '(0)))

;;; case loaders
; flags: --files
(write-npy "x.npy" (view (arange 20) '(10 2)))
(define l (loader-map (lambda (b) (cons (random-flip (car b)) (cdr b))) (loader (list (npy-array "x.npy") (arange 10)) 3 1)))
(write (map (lambda (n) (loader-batch l n)) (iota 4)))
(define (f w) (sumall (* w (car (loader-batch l 1)))))
(write (checkpoint-*j f (ones '(2)) 1))

;;; case a-gradient-that-writes
; flags: --files --checkpoint=binomial,base=16,snapshots=2
(write-npy "y.npy" (ones '(2)))
(define (f x) (let loop ((i 0) (x x)) (if (= i 6) (sumall x) (begin (write-json "log.json" i) (loop (+ i 1) (* x (read-npy "y.npy")))))))
(write (checkpoint-*j f (ones '(2)) 1))
