; Vectors.

(define (vector->list v)
  (let ((n (vector-length v)))
    (let %vector->list/loop ((i 0))
      (if (= i n) '() (cons (vector-ref v i) (%vector->list/loop (+ i 1)))))))

(define (build-vector n f) (list->vector (build-list (%count "build-vector" n) f)))

(define (%vector-map/2 f v)
  (let ((n (vector-length v)))
    (list->vector
     (let %vector-map/loop ((i 0))
       (if (= i n) '() (cons (f (vector-ref v i)) (%vector-map/loop (+ i 1))))))))

(define (vector-map f v . vs)
  (if (null? vs)
      (vector-map f v)
      (list->vector (%map-all f (map vector->list (cons v vs))))))

(define (vector-for-each f v . vs)
  (%for-each-all f (map vector->list (cons v vs))))
