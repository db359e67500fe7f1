; A ray tracer that is differentiated: two mirroring balls on a floor, between which a ray bounces as often as it happens to, until it meets the floor or the
; sky. Where the balls are, and how large one of them is, is found from a picture alone.
;
;     vmrun samples/rays.scm
;     vmrun --memory=24MiB samples/rays.scm --width=160 --rounds=1        sixteen times as many rays, in 24 MiB
;
; prints the most bounces of a ray in the picture; x and z of both balls and the radius of the first, which are -1, 1.4, .95, .8 and 1; and the deviation of points that is left.
; --pictures=FOLDER draws the picture, the first guess and what was found.
(define option (command-line-options '((width 40) (rounds 100) (pictures #f text))))

(define (scale s v) (map (lambda (x) (* s x)) v))
(define (inner a b) (fold-left + 0 (map * a b)))

; How far along the ray it meets the ball, #f where it does not. Of both balls the nearer one: (distance . ball), or #f.
(define (meets origin direction (list center radius))
  (let* ((to (map - center origin)) (along (inner to direction)) (inside (- (+ (* along along) (* radius radius)) (inner to to))))
    (if (> inside 0) (let ((distance (- along (sqrt inside)))) (if (> distance 1e-6) distance #f)) #f)))
(define (nearest origin direction balls)
  (fold-left (lambda (best ball)
               (let ((distance (meets origin direction ball))) (if (if distance (if best (< distance (car best)) #t) #f) (cons distance ball) best)))
             #f balls))

; The light that comes back, and how often the ray has bounced: the floor has a pattern that fades far away, the sky is brighter above.
(define (trace origin direction balls strength bounces)
  (let ((met (nearest origin direction balls)) (up (cadr direction)))
    (cond (met
           (let* (((list distance center radius) met)
                  (place (map + origin (scale distance direction)))
                  (normal (scale (/ 1 radius) (map - place center))))
             (trace place (map - direction (scale (* 2 (inner normal direction)) normal)) balls (* .85 strength) (+ bounces 1))))
          ((< up 0)
           (let* ((distance (/ (cadr origin) (- up))) ((list x y z) (map + origin (scale distance direction))))
             (cons (* strength (+ .5 (/ (* .5 (sin (* 1.5 x)) (sin (* 1.5 z))) (+ 1 (* .02 distance distance))))) bounces)))
          (else (cons (* strength (+ .55 (* .45 up))) bounces)))))

; Row by row.
(define width (option 'width))
(define height (quotient (* width 3) 4))
(define (rays (list x1 z1 x2 z2 radius))
  (let ((balls (list (list (list x1 radius z1) radius) (list (list x2 .8 z2) .8))))
    (append-map (lambda (j)
                  (map (lambda (i)
                         (let ((direction (list (/ (- i (* .5 width)) width) (- (/ (* .5 (- (* .5 height) j)) height) .12) .8)))
                           (trace '(0 1.4 -3.5) (scale (/ 1 (sqrt (inner direction direction))) direction) balls 1 0)))
                       (iota width)))
                (iota height))))
(define (picture balls) (map car (rays balls)))

(define truth '(-1 1.4 .95 .8 1))
(define seen (picture truth))
(define (loss balls) (/ (fold-left + 0 (map (lambda (a b) (expt (- a b) 2)) (picture balls) seen)) (* width height)))

(define (draw name balls)
  (plot-image (string-append (option 'pictures) "/rays-" name ".svg") (list (list 'title name) '(width 360) '(height 280))
              (view (list->tensor (picture balls)) (list height width))))

(define first-guess '(-1.1 1.3 1.05 .9 .9))
(define (fit balls state rounds)
  (if (= rounds 0)
      (begin
        (for-each write-real balls)
        (write-real (sqrt (loss balls)))
        (if (option 'pictures) (for-each draw '("picture" "first-guess" "found") (list truth first-guess balls))))
      (let (((list value balls state) (checkpoint-*j-update loss balls 1 (adam (if (< rounds 40) .002 .01)) state)))
        (fit balls state (- rounds 1)))))
(write-real (apply max (map cdr (rays truth))))
(fit first-guess 0 (option 'rounds))
