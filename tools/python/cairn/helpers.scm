; What the Python package needs of a program beside the program's own definitions: derivative operators as procedures of any number of arguments.
; Lists of arguments are taken apart by patterns, since a program may have a `car` of its own.

; How reverse mode runs: #f on one tape, #t under the schedule in force, text: under that schedule.
(define (python/reverse how)
  (cond ((string? how) (lambda (f x c) (with-schedule how (lambda () (checkpoint-*j f x c)))))
        (how checkpoint-*j)
        (else *j)))
(define (python/check-schedule how) (with-schedule how (lambda () #t)))
(define (python/scheduled how thunk) (if (string? how) (with-schedule how thunk) (thunk)))

; What is differentiated by: the argument at a place, or the list of those at several, in ascending order.
(define (python/point arguments place)
  (if (number? place)
      (if (null? arguments)
          (error "argnums: the procedure was called with fewer arguments")
          (let (((cons a rest) arguments)) (if (= place 0) a (python/point rest (- place 1)))))
      (map (lambda (p) (python/point arguments p)) place)))
(define (python/with (cons a rest) place x) (if (= place 0) (cons x rest) (cons a (python/with rest (- place 1) x))))
(define (python/with-all arguments places xs)
  (if (null? places)
      arguments
      (let (((cons place places) places) ((cons x xs) xs)) (python/with-all (python/with arguments place x) places xs))))
(define (python/at f arguments place)
  (if (number? place)
      (lambda (x) (apply f (python/with arguments place x)))
      (lambda (xs) (apply f (python/with-all arguments place xs)))))
(define (python/of-several g place) (if (number? place) g (if (pair? g) (list->vector g) g)))

(define (python/grad f how place)
  (let ((reverse (python/reverse how)))
    (lambda arguments
      (let (((cons y g) (reverse (python/at f arguments place) (python/point arguments place) 1)))
        (python/of-several g place)))))
(define (python/value-and-grad f how place)
  (let ((reverse (python/reverse how)))
    (lambda arguments
      (let (((cons y g) (reverse (python/at f arguments place) (python/point arguments place) 1)))
        (vector y (python/of-several g place))))))
(define (python/jvp f)
  (lambda (xs dxs) (let (((cons y dy) (j* (lambda (l) (apply f l)) xs dxs))) (vector y dy))))
(define (python/vjp f how)
  (let ((reverse (python/reverse how)))
    (lambda (xs c) (let (((cons y g) (reverse (lambda (l) (apply f l)) xs c))) g))))
(define (python/jacobian f how place)
  (lambda arguments
    (python/scheduled how (lambda () (python/of-several (jacobian (python/at f arguments place) (python/point arguments place)) 0)))))
(define (python/last (cons a rest)) (if (null? rest) a (python/last rest)))
(define (python/but-last (cons a rest)) (if (null? rest) '() (cons a (python/but-last rest))))
(define (python/fewer? l n) (if (= n 0) #f (if (null? l) #t (let (((cons a rest) l)) (python/fewer? rest (- n 1))))))
(define (python/hvp f how place)
  (let ((reverse (python/reverse how)) (least (+ 2 (if (number? place) place (python/last place)))))
    (lambda all
      (if (python/fewer? all least)
          (error "hvp: expected the arguments of the procedure and, behind them, a vector like what is differentiated by; there are fewer"))
      (let ((arguments (python/but-last all)) (v (python/last all)))
        (let (((cons g h)
               (j* (lambda (x) (let (((cons y g) (reverse (python/at f arguments place) x 1))) g))
                   (python/point arguments place)
                   (if (vector? v) (if (number? place) v (vector->list v)) v))))
          (python/of-several h place))))))
(define (python/update f how rule)
  (lambda (x state . others)
    (let ((g (lambda (x) (apply f (cons x others)))))
      (python/scheduled how
        (lambda () (list->vector (if how (checkpoint-*j-update g x 1 rule state) (*j-update g x 1 rule state))))))))

; For layers of other libraries: the value and the gradients as one list.
(define (python/value-and-grad-list f how places)
  (let ((reverse (python/reverse how)))
    (lambda arguments
      (let (((cons y g) (reverse (python/at f arguments places) (python/point arguments places) 1)))
        (cons y (python/of-places g places))))))
(define (python/of-places g places) (if (number? g) (map (lambda (p) 0) places) g)) ; no part of it matters
; The cotangents, as a list, of the arguments at these places. `kinds` has for each part of the value #t where it is
; a number, whose cotangent comes as a tensor; of a value that is no list it is one truth, of a vector a vector.
(define (python/pull-back f how)
  (let ((reverse (python/reverse how)))
    (lambda (places count kinds . all)
      (let (((cons xs cs) (python/split all count)))
        (let (((cons y g)
               (reverse (python/at f xs places)
                        (python/point xs places)
                        (cond ((pair? kinds) (map python/cotangent kinds cs))
                              ((vector? kinds) (list->vector (map python/cotangent (vector->list kinds) cs)))
                              (else (let (((cons c rest) cs)) (python/cotangent kinds c)))))))
          (python/of-places g places))))))
(define (python/push-forward f)
  (lambda (places count . all)
    (let (((cons xs dxs) (python/split all count)))
      (let (((cons y dy) (j* (python/at f xs places) (python/point xs places) dxs))) dy))))
(define (python/cotangent number c) (if number (if (tensor? c) (tensor->number c) c) c))
(define (python/split l n)
  (if (= n 0) (cons '() l) (let (((cons a rest) l)) (let (((cons front back) (python/split rest (- n 1)))) (cons (cons a front) back)))))
; Both with the places fixed, all of them where that is #t, and what goes back or forth as the first argument, structured like the value, or the list of
; the arguments at the places.
(define (python/pull-back-at f how places)
  (let ((reverse (python/reverse how)) (whole (lambda (xs) (apply f xs))))
    (if (pair? places)
        (lambda (c . xs)
          (let (((cons y g) (reverse (python/at f xs places) (python/point xs places) c))) (python/of-places g places)))
        (lambda (c . xs) (let (((cons y g) (reverse whole xs c))) (python/of-places g xs))))))
(define (python/push-forward-at f places)
  (lambda (d . xs) (let (((cons y dy) (j* (python/at f xs places) (python/point xs places) d))) dy)))
