; Pictures as SVG, written by write-text: (plot-lines path labels series ...) and its kin. Labels are an association list with any of title, x, y (texts), width
; and height (of the picture, 640 and 400), (log-x #t), (log-y #t) for logarithmic axes, and (points names) for series among lines that are points. A series is a list of numbers or of points (x . y), a tensor [n] or [n, 2], or
; any of these behind its name in a pair, ("test" . numbers), which the legend shows. What is NaN or infinite, or not positive on a logarithmic axis, is left out.

(define (plot-lines path labels . series) (%plot path (%checked-labels "plot-lines" %labels-of-series labels) "plot-lines" %line-marks series))
(define (plot-scatter path labels . series) (%plot path (%checked-labels "plot-scatter" %labels-of-scatter labels) "plot-scatter" %point-marks series))

; --- labels: what each may be, (name test what); messages name those that there are
(define %labels-of-all
  (list (list 'title string? "a text") (list 'x string? "a text") (list 'y string? "a text")
        (list 'width (lambda (x) (%picture-size? x)) "a number from 160 to 10000") (list 'height (lambda (x) (%picture-size? x)) "a number from 160 to 10000")))
(define (%picture-size? x) (if (number? x) (if (>= x 160) (<= x 10000) #f) #f)) ; what stands around the frame takes up to 140
(define %labels-of-scatter (append %labels-of-all (list (list 'log-x boolean? "#t or #f") (list 'log-y boolean? "#t or #f"))))
(define %labels-of-series (append %labels-of-scatter (list (list 'points list? "a list of the names of series"))))
(define (%checked-labels name known labels)
  (if (list? labels) #t (error (string-append name ": labels are an association list, such as ((title \"A title\") (width 640)), got") labels))
  (for-each
    (lambda (label)
      (let* ((named (if (pair? label) (symbol? (car label)) #f)) (kind (if named (assq (car label) known) #f)))
        (cond ((if named (not kind) #f) (error (string-append name ": there is no label " (symbol->string (car label)) "; there are") (map car known)))
              ((not (if named (if (list? label) (= (length label) 2) #f) #f))
               (error (string-append name ": a label is a list of a name and a value, such as (title \"A title\"), got") label))
              ((not ((cadr kind) (cadr label)))
               (error (string-append name ": the value of " (symbol->string (car label)) " is " (caddr kind) ", got") (cadr label))))))
    labels)
  labels)

; How many of the numbers, in a list or tensor, lie in each of so many bins (the square root of their number).
(define (plot-histogram path labels numbers . bins)
  (%checked-labels "plot-histogram" %labels-of-all labels)
  (let* ((all (%flat numbers))
         (l (if (if (list? all) (%all-numbers? all) #f) (filter %finite? all) (error "plot-histogram: expected a list or tensor of numbers, got" numbers)))
         (n (if (null? bins) (min 10000 (max 1 (ceiling (sqrt (length l))))) (%only "plot-histogram" bins))))
    (if (null? l) (error "plot-histogram: there is no finite number among" numbers))
    (if (not (if (integer? n) (if (<= 1 n) (<= n 10000) #f) #f)) (error "plot-histogram: how many bins is an integer from 1 to 10000, got" n))
    (let* ((low (apply min l))
           (high (apply max l))
           (width (/ (cond ((%alike? low high) (max 1 (abs low))) ((%finite? (- high low)) (- high low)) (else (error "plot-histogram: the numbers are too far apart:" low high)))
                     (exact->inexact n)))
           (places (map (lambda (x) (min (- n 1) (inexact->exact (floor (/ (- x low) width))))) l))
           (counts (tensor->list (sum (one-hot (list->tensor places 'i64) n 'f64) 0)))
           (frame (%frame labels low (+ low (* n width)) 0 (apply max counts) 0 '())))
      (%write-picture path
        (%picture frame
          (append (%grid frame)
                  (map (lambda (i count)
                         (%tag "rect" `((x ,(%x frame (+ low (* i width)))) (y ,(%y frame count))
                                        (width ,(- (%x frame (+ low width)) (%x frame low) .8)) (height ,(- (%y frame 0) (%y frame count)))
                                        (fill ,(%colour 0)))))
                       (iota n) counts)))))))

; A picture [height, width] in grey from its least to its largest number, or [3, height, width] in colours from 0 to 1.
(define (plot-image path labels image)
  (%checked-labels "plot-image" %labels-of-all labels)
  (let ((sizes (size image)))
    (cond ((= (length sizes) 2)
           (let* ((l (%flat image)) (low (%least l)) (span (%span l low)))
             (%plot-cells path labels (%plot-rows image) (lambda (x) (%grey (/ (- x low) span))) '())))
          ((if (= (length sizes) 3) (= (car sizes) 3) #f)
           (%plot-cells path labels (%plot-rows (permute image '(1 2 0))) (lambda (l) (apply %rgb l)) '()))
          (else (error (string-append "plot-image: expected sizes (height width) or (3 height width)"
                                      (if (if (= (length sizes) 3) (= (caddr sizes) 3) #f) "; of a picture as read-image gives it (/ (channels-first t) 255)" "") ", got")
                       sizes)))))

; A matrix by colours, with a scale of them beside it; small ones have their numbers in the cells.
(define (plot-heat-map path labels matrix)
  (%checked-labels "plot-heat-map" %labels-of-all labels)
  (if (not (= (length (size matrix)) 2)) (error "plot-heat-map: expected sizes (rows columns), got" (size matrix)))
  (let* ((l (%flat matrix)) (low (%least l)) (span (%span l low)))
    (%plot-cells path labels (%plot-rows matrix) (lambda (x) (%heat (/ (- x low) span))) (list low (+ low span)))))

; A viewer goes by the name of a file.
(define (%write-picture path text)
  (let ((n (if (string? path) (string-length path) 0)))
    (if (if (> n 4) (string=? (substring path (- n 4) n) ".svg") #f)
        (write-text path text)
        (error "pictures are written as SVG: expected the name of a file that ends in .svg, got" path))))

; --- what series are

(define (%series name given)
  (if (if (pair? given) (symbol? (car given)) #f)
      (error (string-append name ": names of series are strings, (cons \"" (symbol->string (car given)) "\" numbers), got the symbol") (car given)))
  (if (if (pair? given) (string? (car given)) #f)
      (cons (car given) (%points name (cdr given)))
      (cons "" (%points name given))))
(define (%points name given)
  (if (if (tensor? given) (not (%is-series? (size given))) #f)
      (error (string-append name ": a series is a tensor of numbers [n] or of points [n, 2], got one of sizes") (size given)))
  (let ((l (if (tensor? given) (tensor->list given) given)))
    (cond ((not (list? l)) (error (string-append name ": expected a list or tensor of numbers or points, got") given))
          ((null? l) '())
          ((number? (car l)) (map cons (iota (length l)) l))
          ((tensor? (car l)) (map cons (iota (length l)) (map tensor->number l)))
          ((if (pair? (car l)) (pair? (cdr (car l))) #f) (map (lambda (p) (cons (car p) (cadr p))) l))
          (else l))))
(define (%is-series? sizes)
  (cond ((null? sizes) #f) ((null? (cdr sizes)) #t) ((null? (cddr sizes)) (= (cadr sizes) 2)) (else #f)))
(define (%flat given) (if (tensor? given) (tensor->list (view (cast given 'f64) '(-1))) given))
(define (%plot-rows t) (tensor->list (cast t 'f64)))
(define (%finite? x) (< (abs x) +inf.0))
(define (%all-numbers? l) (if (null? l) #t (if (number? (car l)) (%all-numbers? (cdr l)) #f)))
(define (%least l) (apply min (%some (filter %finite? l))))
(define (%span l low)
  (let* ((high (apply max (%some (filter %finite? l)))) (span (- high low)))
    (cond ((= span 0) 1) ((%finite? span) span) (else (error "the numbers are too far apart for colours:" low high)))))
(define (%some l) (if (null? l) '(0) l))

; --- lines and points in a frame

(define (%plot path labels name marks given)
  (let* ((series (map (lambda (s) (%series name s)) given))
         (log-x (%label labels 'log-x #f))
         (log-y (%label labels 'log-y #f))
         (kept (map (lambda (s) (cons (car s) (filter (lambda (p) (if (%shown? log-x (car p)) (%shown? log-y (cdr p)) #f)) (cdr s)))) series))
         (all (append-map cdr kept)))
    (for-each (lambda (wanted) (if (assoc wanted series) #t (error (string-append name ": points names no series") wanted))) (%label labels 'points '()))
    (if (null? all) (error (string-append name ": there is no point that could be shown")))
    (let* ((xs (map car all)) (ys (map cdr all))
           (frame (%frame labels (apply min xs) (apply max xs) (apply min ys) (apply max ys) (if (eq? marks %point-marks) .03 0) (map car kept))))
      (%write-picture path
        (%picture frame
          (append (%grid frame)
                  (append-map (lambda (s i) ((%marks marks labels (car s)) frame (cdr s) (%colour i))) kept (iota (length kept)))
                  (%legend frame (map car kept) (lambda (name) (eq? (%marks marks labels name) %point-marks)))))))))
(define (%marks marks labels name) (if (member name (%label labels 'points '())) %point-marks marks))
(define (%shown? log? x) (if (%finite? x) (if log? (> x 0) #t) #f))

(define (%line-marks frame points colour)
  (let ((places (map (lambda (p) (string-append (%decimal (%x frame (car p))) "," (%decimal (%y frame (cdr p))))) points)))
    (if (null? places)
        '()
        (list (%tag "polyline" `((points ,(string-join places " ")) (fill "none") (stroke ,colour) (stroke-width 1.8) (stroke-linejoin "round")))))))
(define (%point-marks frame points colour)
  (map (lambda (p) (%tag "circle" `((cx ,(%x frame (car p))) (cy ,(%y frame (cdr p))) (r 2.6) (fill ,colour) (fill-opacity .75)))) points))

; Names beside the colours, above the frame, in as many rows as they take: entries (name place row . index).
(define (%entries names left right)
  (let %entries/loop ((names names) (i 0) (x left) (row 0) (done '()))
    (if (null? names)
        (reverse done)
        (let ((wide (+ 38 (* 6.6 (string-length (car names))))))
          (cond ((string-null? (car names)) (%entries/loop (cdr names) (+ i 1) x row done))
                ((if (> (+ x wide) right) (> x left) #f) (%entries/loop names i left (+ row 1) done))
                (else (%entries/loop (cdr names) (+ i 1) (+ x wide) row (cons (cons* (car names) x row i) done))))))))
(define (%rows-of entries) (if (null? entries) 0 (+ 1 (caddr (car (last-pair entries))))))
(define (%legend frame names points?)
  (let* ((entries (%entries names (%left frame) (%right frame))) (first (- (%top frame) -6 (* 16 (%rows-of entries)))))
    (append-map
      (lambda (entry)
        (let ((x (+ 4 (cadr entry))) (y (+ first (* 16 (caddr entry)))) (colour (%colour (cdddr entry))))
          (list (if (points? (car entry))
                    (%tag "circle" `((cx ,(+ x 9)) (cy ,y) (r 3.2) (fill ,colour)))
                    (%tag "path" `((d ,(string-append "M" (%decimal x) " " (%decimal y) "h18")) (stroke ,colour) (stroke-width 2.4))))
                (%text (+ x 22) (+ y 4) "start" 12 (car entry)))))
      entries)))

; --- the frame: #(labels low-x high-x low-y high-y left right top bottom log-x log-y), in the order of the definitions below

(define (%frame labels low-x high-x low-y high-y room-x names)
  (let* ((log-x (%label labels 'log-x #f)) (log-y (%label labels 'log-y #f))
         (x (%widened log-x low-x high-x room-x)) (y (%widened log-y low-y high-y .04))
         (left (if (%label labels 'y #f) 74 56)) (right (- (%label labels 'width 640) 20))
         (top (+ 14 (if (%label labels 'title #f) 24 0) (* 16 (%rows-of (%entries names left right))))))
    (let ((bottom (- (%label labels 'height 400) (if (%label labels 'x #f) 50 32))))
      (if (< bottom top) (error "the legend leaves no room for a frame; make the picture higher than" (%label labels 'height 400)))
      (vector labels (car x) (cdr x) (car y) (cdr y) left right top bottom log-x log-y))))
(define (%left f) (vector-ref f 5))
(define (%right f) (vector-ref f 6))
(define (%top f) (vector-ref f 7))
(define (%bottom f) (vector-ref f 8))
(define (%x f x) (%between (vector-ref f 9) x (vector-ref f 1) (vector-ref f 2) (%left f) (%right f)))
(define (%y f y) (%between (vector-ref f 10) y (vector-ref f 3) (vector-ref f 4) (%bottom f) (%top f)))
(define (%between log? v low high from to)
  (let ((part (if log? (/ (- (log v) (log low)) (- (log high) (log low))) (/ (- v low) (- high low)))))
    (+ from (* part (- to from)))))

; The ends of an axis: a little wider than the data unless one of them is 0, never empty, and within what can be divided: numbers that differ
; in their last digits alone count as equal, and what lies beyond 1e300 is not in the frame.
(define (%widened log? low high part)
  (let ((low (%within (if log? 1e-300 -1e300) low 1e300)) (high (%within (if log? 1e-300 -1e300) high 1e300)))
    (if log?
        (let ((room (if (%alike? low high) 2 (exp (* part (- (log high) (log low)))))))
          (cons (%within 1e-302 (/ low room) 1e302) (%within 1e-302 (* high room) 1e302)))
        (let ((room (if (%alike? low high) (if (< (abs low) 1e-300) 1 (* .5 (abs low))) (* part (- high low)))))
          (cons (if (= low 0) low (- low room)) (if (= high 0) (if (= low 0) 1 high) (+ high room)))))))
(define (%within least x most) (max least (min most x)))
(define (%alike? low high) (<= (- high low) (max 1e-300 (* 1e-9 (max (abs low) (abs high))))))

; Round numbers on an axis, five or so: those whose distance is 1, 2 or 5 times a power of ten; on a logarithmic one powers of ten and,
; where those are few, 2 and 5 times them.
(define (%ticks log? low high)
  (if log? (%log-ticks low high) (let ((step (%round-step (/ (- high low) 5)))) (%multiples step (ceiling (- (/ low step) 1e-9)) (floor (+ (/ high step) 1e-9))))))
(define (%round-step about)
  (let* ((ten (expt 10. (floor (/ (log about) (log 10))))) (n (/ about ten)))
    (* ten (cond ((< n 1.5) 1) ((< n 3.2) 2) ((< n 7.5) 5) (else 10)))))
(define (%multiples step from to) (if (> from to) '() (cons (* from step) (%multiples step (+ from 1) to))))
(define (%log-ticks low high)
  (let* ((first (floor (/ (log low) (log 10)))) (last (ceiling (/ (log high) (log 10))))
         (every (max 1 (ceiling (/ (- last first) 7))))
         (powers (map (lambda (i) (expt 10. i)) (%multiples every (floor (/ first every)) (ceiling (/ last every)))))
         (within (lambda (l) (filter (lambda (x) (if (>= x (* .999 low)) (<= x (* 1.001 high)) #f)) l)))
         (few (within powers)))
    (if (< (length few) 3) (within (append-map (lambda (p) (list p (* 2 p) (* 5 p))) powers)) few)))

(define (%grid f)
  (let ((labels (vector-ref f 0)) (line (lambda (d) (%tag "path" `((d ,d) (stroke "#e4e4e4"))))))
    (append
      (append-map (lambda (x) (let ((at (%decimal (%x f x))))
                                (list (line (string-append "M" at " " (%decimal (%top f)) "V" (%decimal (%bottom f))))
                                      (%text (%x f x) (+ (%bottom f) 17) "middle" 12 (%shown x)))))
                  (%ticks (vector-ref f 9) (vector-ref f 1) (vector-ref f 2)))
      (append-map (lambda (y) (let ((at (%decimal (%y f y))))
                                (list (line (string-append "M" (%decimal (%left f)) " " at "H" (%decimal (%right f))))
                                      (%text (- (%left f) 7) (+ (%y f y) 4) "end" 12 (%shown y)))))
                  (%ticks (vector-ref f 10) (vector-ref f 3) (vector-ref f 4)))
      (list (%tag "path" `((d ,(string-append "M" (%decimal (%left f)) " " (%decimal (%top f)) "V" (%decimal (%bottom f)) "H" (%decimal (%right f))))
                           (fill "none") (stroke "#555")))))))

; --- cells of images and heat maps

(define (%plot-cells path labels rows colour-of ends)
  (let* ((height (length rows)) (width (if (null? rows) 0 (length (car rows)))))
    (if (= (* height width) 0) (error "there is no cell to plot: sizes" (list height width)))
    (if (> (* height width) 100000) (error "that are too many cells for a picture as text, 100,000 at most; slice or average them first: sizes" (list height width)))
    (let* ((title (if (%label labels 'title #f) 30 10)) (left (if (%label labels 'y #f) 48 28)) (below (if (%label labels 'x #f) 44 26))
           (cell (min (/ (- (%label labels 'width 640) left (if (pair? ends) 90 20)) width) (/ (- (%label labels 'height 400) title below) height)))
           (right (+ left (* cell width))) (bottom (+ title (* cell height)))
           (numbers? (if (pair? ends) (if (<= (max height width) 12) (>= cell 22) #f) #f))
           (ticks (lambda (n) (if (< n 13) (iota n) (map inexact->exact (filter (lambda (i) (= i (floor i))) (%ticks #f 0 (- n 1))))))))
      (%write-picture path
        (%picture (vector labels 0 1 0 1 left right title bottom #f #f)
          (append
            (%crisp (string-append " transform=\"translate(" (%decimal left) " " (%decimal title) ") scale(" (number->string (exact->inexact cell)) ")\"")
                    (append-map (lambda (row i) (%row-cells row i colour-of)) rows (iota height)))
            (if numbers?
                (append-map (lambda (row i)
                              (append-map (lambda (v j)
                                            (if (not (%finite? (* v 100)))
                                                '()
                                                (list (%text-in (if (> (/ (- v (car ends)) (- (cadr ends) (car ends))) .6) "#222" "#fff") (+ left (* (+ j .5) cell))
                                                                (+ title (* (+ i .5) cell) 4) "middle" 12 (%shown (/ (round (* v 100)) 100))))))
                                          row (iota width)))
                            rows (iota height))
                '())
            (map (lambda (j) (%text (+ left (* (+ j .5) cell)) (+ bottom 16) "middle" 12 (number->string j))) (ticks width))
            (map (lambda (i) (%text (- left 7) (+ title (* (+ i .5) cell) 4) "end" 12 (number->string i))) (ticks height))
            (if (pair? ends) (%scale colour-of ends (+ right 18) title bottom) '())))))))

; Without seams between cells.
(define (%crisp more parts) (cons (string-append "<g shape-rendering=\"crispEdges\"" more ">") (append parts '("</g>"))))

; Neighbours of one colour are one rectangle; a cell is 1 x 1.
(define (%row-cells row i colour-of)
  (let %row-cells/loop ((l (map colour-of row)) (j 0) (done '()))
    (if (null? l)
        (reverse done)
        (let* ((n (%alike (car l) l 0)) (at (number->string j)))
          (%row-cells/loop (list-tail l n) (+ j n)
            (cons (%tag "path" `((d ,(string-append "M" at " " (number->string i) "h" (number->string n) "v1H" at "z")) (fill ,(car l)))) done))))))
(define (%alike colour l n) (if (if (pair? l) (string=? (car l) colour) #f) (%alike colour (cdr l) (+ n 1)) n))

(define (%scale colour-of ends x top bottom)
  (let* ((steps 40) (low (car ends)) (high (cadr ends)) (high-of (/ (- bottom top) steps)))
    (append
      (%crisp "" (build-list steps (lambda (i)
        (%tag "rect" `((x ,x) (y ,(- bottom (* (+ i 1) high-of))) (width 14) (height ,high-of) (fill ,(colour-of (+ low (* (- high low) (/ (+ i .5) steps))))))))))
      (map (lambda (v) (%text (+ x 20) (+ 4 (- bottom (* (- bottom top) (/ (- v low) (- high low))))) "start" 12 (%shown v))) (%ticks #f low high)))))

; --- colours: told apart by those who see few, in print too (Okabe and Ito); from dark blue over green to yellow, ever lighter

(define %colours '#("#0072b2" "#d55e00" "#009e73" "#cc79a7" "#e69f00" "#56b4e9" "#000000" "#8c6d31"))
(define (%colour i) (vector-ref %colours (modulo i 8)))
(define (%rgb r g b) (string-append "#" (%hex r) (%hex g) (%hex b)))
(define (%hex part)
  (let ((n (inexact->exact (round (* 255 (if (%finite? part) (max 0 (min 1 part)) 0))))))
    (string (string-ref "0123456789abcdef" (quotient n 16)) (string-ref "0123456789abcdef" (remainder n 16)))))
(define (%grey x) (%rgb x x x))
(define %heat-colours '#((.267 .005 .329) (.254 .265 .530) (.164 .471 .558) (.135 .659 .518) (.478 .821 .318) (.993 .906 .144)))
(define (%heat x)
  (if (%finite? x)
      (let* ((at (* 5 (max 0 (min 1 x)))) (i (min 4 (inexact->exact (floor at)))) (part (- at i)))
        (apply %rgb (map (lambda (a b) (+ a (* part (- b a)))) (vector-ref %heat-colours i) (vector-ref %heat-colours (+ i 1)))))
      "#bbbbbb"))

; --- text

(define (%label labels name otherwise) (let ((found (assq name labels))) (if found (cadr found) otherwise)))

(define (%picture f parts)
  (let* ((labels (vector-ref f 0)) (width (%label labels 'width 640)) (height (%label labels 'height 400))
         (title (%label labels 'title #f)) (x (%label labels 'x #f)) (y (%label labels 'y #f)) (middle (/ (+ (%top f) (%bottom f)) 2)))
    (string-append
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" (%decimal width) "\" height=\"" (%decimal height) "\" viewBox=\"0 0 " (%decimal width) " " (%decimal height)
      "\" font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      (string-join parts "\n")
      (if title (string-append "\n" (%tag-around "text" `((x ,(/ (+ (%left f) (%right f)) 2)) (y 21) (text-anchor "middle") (font-size 15) (font-weight "bold") (fill "#222")) title)) "")
      (if x (string-append "\n" (%text (/ (+ (%left f) (%right f)) 2) (+ (%bottom f) 37) "middle" 13 x)) "")
      (if y
          (string-append "\n" (%tag-around "text" `((transform ,(string-append "translate(17 " (%decimal middle) ") rotate(-90)")) (text-anchor "middle")
                                                    (font-size 13) (fill "#333")) y))
          "")
      "\n</svg>\n")))

(define (%text x y anchor high s) (%text-in "#333" x y anchor high s))
(define (%text-in colour x y anchor high s)
  (%tag-around "text" `((x ,x) (y ,y) (text-anchor ,anchor) (font-size ,high) (fill ,colour)) s))
(define (%tag name attributes) (string-append "<" name (%attributes attributes) "/>"))
(define (%tag-around name attributes s) (string-append "<" name (%attributes attributes) ">" (%escaped s) "</" name ">"))
(define (%attributes l)
  (apply string-append
    (append-map (lambda (a) (list " " (symbol->string (car a)) "=\"" (if (string? (cadr a)) (cadr a) (%decimal (cadr a))) "\"")) l)))
(define (%escaped s)
  (apply string-append
    (map (lambda (c) (cond ((char=? c #\<) "&lt;") ((char=? c #\>) "&gt;") ((char=? c #\&) "&amp;") ((char=? c #\") "&quot;")
                           ((if (< (char->integer c) 32) #t (memv (char->integer c) '(#xfffe #xffff))) " ") (else (string c)))) ; XML has none of them
         (string->list s))))

; To a hundredth, as short as that may be: 12, 0.5, -3.25.
(define (%decimal x)
  (let ((n (inexact->exact (round (* 100 x)))))
    (if (= (remainder n 100) 0) (number->string (quotient n 100)) (number->string (/ n 100.)))))
; A tick: six figures at most, and thousands as 1e+6 from a million on.
(define (%shown x)
  (cond ((= x 0) "0")
        ((if (< (abs x) 1e6) (>= (abs x) 1e-3) #f)
         (let* ((scale (expt 10. (- 5 (floor (/ (log (abs x)) (log 10)))))) (rounded (/ (round (* x scale)) scale)))
           (if (= rounded (round rounded)) (number->string (inexact->exact (round rounded))) (number->string rounded))))
        (else
         (let* ((power (inexact->exact (floor (+ 1e-9 (/ (log (abs x)) (log 10)))))) (mantissa (/ (round (* 100 (/ x (expt 10. power)))) 100)))
           (string-append (if (= mantissa (round mantissa)) (number->string (inexact->exact (round mantissa))) (number->string mantissa)) "e" (number->string power))))))
