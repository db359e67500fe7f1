; Derivatives of what is tiled (tiles.scm): all of it is one operation with rules, which keeps what it is applied to and its borders. Its
; sweep goes over the steps of the plan from the last one; tiles are computed again one by one, each on a tape of its own.

; The outputs of a plan. What no derivative goes through keeps no borders.
(define (%run-plan plan inputs leaves)
  (if (%any? (lambda (n) (vector-ref (%plan-varying plan) n)) (%plan-outputs plan))
      (car (%with-rules (lambda ((list plan inputs leaves)) (%graph-values (plan) inputs (list->vector leaves) #t)) %tiled/forward %tiled/reverse
                        (list (lambda () plan) inputs (vector->list leaves))))
      (car (%graph-values plan inputs leaves #f))))
; Errors in a sweep name these, as nobody else has called what is tiled again.
(define (%tiled/forward (list plan inputs leaves) y (list dplan dinputs dleaves))
  (let (((list outputs kept) (%graph-forward (plan) inputs leaves dinputs dleaves))) (list outputs kept)))
(define (%tiled/reverse (list plan inputs leaves) y c)
  (let ((plan (plan)))
    (cons 0 (%graph-reverse plan inputs (list->vector leaves) (%with-read-outputs plan (car y) (cadr y)) (car c)))))

; Outputs that steps of the plan read too; of others the sweep needs no value.
(define (%with-read-outputs plan outputs values)
  (let ((read (%marked (append-map (lambda (step) (%step-reads step (%plan-nodes plan))) (%plan-steps plan)) (vector-map (lambda (value) #f) values))))
    (fold-left (lambda (values n output) (if (vector-ref read n) (vector-update values n output) values)) values (%plan-outputs plan) outputs)))
; Of what is no tensor (an array in a file) there is no tangent.
(define (%graph-forward plan inputs leaves dinputs dleaves)
  (let ((tensors (lambda (l) (map (lambda (input t) (if (tensor? input) t 0)) inputs l))))
    (cdr (j* (lambda ((cons given leaves))
               (%graph-values plan (map (lambda (input t) (if (tensor? input) t input)) inputs given) (list->vector leaves) #t))
             (cons (tensors inputs) leaves) (cons (tensors dinputs) dleaves)))))

; The cotangents of inputs and leaves. Behind a step nobody adds to those of its results any more, nor reads these.
(define (%graph-reverse plan inputs leaves values c)
  (let* ((nodes (%plan-nodes plan)) (nothing (make-vector (vector-length nodes) 0)) (deals (%deals plan leaves)) (reached (%reached (map tensor? c) plan)))
    (let %reverse/loop ((steps (reverse (%plan-steps plan))) (values (%with-values (iota (length inputs)) inputs values)) (sums (%with-values (%plan-outputs plan) c nothing)) (terms nothing)
                        (dleaves (make-vector (vector-length leaves) 0)))
      (if (null? steps)
          (list (map (lambda (n input) (%with-zeros (vector-ref sums n) input (vector-ref (car reached) n))) (iota (length inputs)) inputs)
                (map %with-zeros (vector->list dleaves) (vector->list leaves) (vector->list (cdr reached))))
          (let ((step (car steps)))
            (cond ((eq? (car step) 'segment)
                   (let ((swept (%sweep-segment (cdr step) values leaves deals sums terms dleaves plan)))
                     (%reverse/loop (cdr steps) (%without-values (vector-ref (cdr step) 3) values) (car swept) terms (cdr swept))))
                  ((%operand-layout (vector-ref nodes (cdr step)) plan)
                   (%reverse/loop (cdr steps) values sums (%with-term (cdr step) values (vector-ref sums (cdr step)) terms plan) dleaves))
                  (else
                   (let ((swept (%sweep-whole (cdr step) values leaves sums dleaves plan)))
                     (%reverse/loop (cdr steps) (%without-values (list (cdr step)) values) (car swept) terms (cdr swept))))))))))
; Whether cotangents of those outputs for which they are given go back to a value, by node and by leaf. Where tiles read nothing of such a one, or its derivative is cut off by
; sizes alone, its cotangent is one of zeros, as it is of what is not tiled.
(define (%reached given plan)
  (let ((nodes (%plan-nodes plan)))
    (define (marked operands marks)
      (fold-left (lambda (marks o)
                   (case (car o)
                     ((node) (cons (vector-update (car marks) (cdr o) (vector-ref (%plan-varying plan) (cdr o))) (cdr marks)))
                     ((leaf) (marked-leaf (cdr o) marks))
                     ((number) (marked-leaf (cadr o) marks))
                     ((list) (marked (cdr o) marks))
                     (else marks)))
                 marks operands))
    (define (marked-leaf k marks) (cons (car marks) (vector-update (cdr marks) k (vector-ref (%plan-varying-leaves plan) k))))
    (let %reached/loop ((n (- (vector-length nodes) 1))
                        (marks (cons (%with-values (%plan-outputs plan) given (make-vector (vector-length nodes) #f))
                                     (make-vector (vector-length (%plan-varying-leaves plan)) #f))))
      (if (< n 0)
          marks
          (%reached/loop (- n 1)
                         (if (if (vector-ref (car marks) n) (vector-ref (%plan-varying plan) n) #f)
                             (marked (%passing-operands (vector-ref nodes n)) marks)
                             marks))))))
(define (%with-zeros sum value reached?)
  (cond ((not (if reached? (eqv? sum 0) #f)) sum)
        ((tensor? value) (fill (size value) 0 (tensor-type value) (tensor-residence value)))
        (else 0.)))
(define (%without-values numbers values) (%with-values numbers (map (lambda (n) #f) numbers) values))

; What may vary of numbers: in their order, each once.
(define (%varying-of numbers varying) (filter (lambda (n) (vector-ref varying n)) (%distinct numbers)))

; --- an operator as a whole

(define (%sweep-whole n values leaves sums dleaves plan)
  (let* ((node (vector-ref (%plan-nodes plan) n)) (c (vector-ref sums n)) (sums (vector-update sums n 0))
         (from (%varying-of (%nodes-in (%node-operands node)) (%plan-varying plan)))
         (known (%varying-of (%leaves-in (%node-operands node)) (%plan-varying-leaves plan))))
    (if (if (tensor? c) (vector-ref (%plan-varying plan) n) #f)
        (let ((g (cdr (*j (lambda ((cons a b)) (%applied node (%with-values from a values) (%with-values known b leaves) 'unread))
                          (cons (map (lambda (n) (vector-ref values n)) from) (map (lambda (k) (vector-ref leaves k)) known))
                          c))))
          (cons (%added from (car g) sums) (%added known (cdr g) dleaves)))
        (cons sums dleaves))))
; Each sum is given up before it grows, so that this happens in its memory.
(define (%added numbers new sums)
  (if (null? numbers)
      sums
      (let* ((n (car numbers)) (sum (vector-ref sums n)) (sums (vector-update sums n 0)))
        (%added (cdr numbers) (cdr new) (vector-update sums n (%plus sum (car new)))))))

; --- a segment: each tile again

(define (%sweep-segment segment values leaves deals sums terms dleaves plan)
  (let* ((outputs (vector-ref segment 3))
         (inputs (vector-ref segment 2))
         (from (%varying-of inputs (%plan-varying plan)))
         (known (%varying-of (vector-ref segment 4) (%plan-varying-leaves plan)))
         (prepared (%prepared segment leaves))
         (tiles (apply * (vector-ref segment 0)))
         (home (%home plan))
         (own (map (lambda (n) (%every? (lambda (member) (if (memv n (%nodes-in (%node-operands (vector-ref member 1)))) (%gives-its-own? (vector-ref member 1)) #t))
                                        (vector-ref segment 1)))
                   from))
         (given (map (lambda (n) (vector-ref sums n)) outputs))
         (unread (%unread-of segment terms plan)))
    (define (swept tile work c device leaves)
      (let* ((boxes (cadr work)) (slices (%slices-there segment prepared tile boxes values device plan)))
        (cdr (*j (lambda ((cons some-slices some-leaves))
                   (%tile-values segment device (car work) boxes (caddr work) (%merged inputs slices from some-slices)
                                 (%with-values known some-leaves leaves) unread
                                 (lambda (n box known)
                                   (let ((part (%known-part n box known))) (if (%only-terms? n terms plan) (%as-terms part (vector-ref terms n) tile) part)))))
                 (cons (%of-numbers from inputs slices) (map (lambda (k) (vector-ref leaves k)) known))
                 (%all-there c device)))))
    (let %sweep/loop ((tile 0) (done '()) (given given) (sums (%with-values outputs (map (lambda (n) 0) outputs) sums)) (dleaves dleaves))
      (cond ((if (< tile tiles) (< (length done) (%in-work deals)) #f)
             (let* ((work (%tile-work segment prepared tile)) (deal (%deal-of tile deals))
                    (parts (map (lambda (n sum box) (if box (%part-of-sum n sum tile box plan) '())) outputs given (caddr work)))
                    (given (%without-part tile outputs given plan)) (c (%cotangents-of-parts outputs parts tile values terms plan)))
               (%sweep/loop (+ tile 1)
                            (if (%any? tensor? c)
                                (append done (list (cons (%of-numbers from inputs (cadr work)) (swept tile work c (car deal) (cdr deal)))))
                                done)
                            given sums dleaves)))
            ((pair? done)
             (let* ((boxes (caar done)) (g (cdar done)) (done (cdr done)))
               (%sweep/loop tile done given (%plus-parts from (%all-there (car g) home) boxes own sums plan) (%added known (%all-there (cdr g) home) dleaves))))
            (else (cons sums dleaves))))))
; The numbers of members whose values the sweep does not need: neither rules of others read them, nor terms that are made of them. Of what sums and
; means alone take, terms need the sizes.
(define (%unread-of segment terms plan)
  (let ((nodes (vector-ref segment 5)))
    (define (in-terms? n)
      (if (%only-terms? n terms plan) (%any? (lambda (by) (not (memq (%node-operator (vector-ref nodes by)) '(sum mean)))) (%plan-takers n plan)) #f))
    (define (read-by node read?)
      (let* ((operator (%node-operator node)) (operands (%node-operands node)) (all? (if read? #t (%rule-reads? operator #f))))
        (append-map (lambda (o i) (if (if all? #t (%rule-reads? operator i)) (%nodes-in (list o)) '())) operands (iota (length operands)))))
    (let %unread/loop ((members (reverse (vector-ref segment 1))) (read (filter in-terms? (vector-ref segment 3))) (unread '()))
      (if (null? members)
          unread
          (let* ((n (vector-ref (car members) 0)) (read? (memv n read)))
            (%unread/loop (cdr members) (append (read-by (vector-ref (car members) 1) read?) read) (if read? unread (cons n unread))))))))
(define (%of-numbers some numbers l)
  (map (lambda (n) (let %of/loop ((numbers numbers) (l l)) (if (= n (car numbers)) (car l) (%of/loop (cdr numbers) (cdr l))))) some))
; Of numbers in the same order those that are among some are replaced.
(define (%merged numbers l some new)
  (map (lambda (n x) (let ((at (memv n some))) (if at (list-ref new (- (length some) (length at))) x))) numbers l))

; Of what is not kept there are no parts to make terms of before its tile is computed again: there it ends in a number (%as-terms).
(define (%cotangent-of-part n c tile values terms plan)
  (cond ((%only-terms? n terms plan) (let ((node (vector-ref (%plan-nodes plan) n))) (fill '() 1 (%node-type node) (%node-residence node))))
        ((pair? (vector-ref terms n)) (%with-terms c (vector-ref terms n) (vector-ref (vector-ref values n) tile) tile))
        (else c)))
; Each is given up before it grows, so that this happens in its memory.
(define (%cotangents-of-parts numbers parts tile values terms plan)
  (if (null? numbers)
      '()
      (let* ((n (car numbers)) (c (car parts)) (parts (cdr parts)) (c (if (null? c) '() (%cotangent-of-part n c tile values terms plan))))
        (cons c (%cotangents-of-parts (cdr numbers) parts tile values terms plan)))))
(define (%part-of-sum n sum tile box plan) (cond ((eqv? sum 0) 0) ((%layout n plan) (vector-ref sum tile)) (else (%slice sum box))))
(define (%only-terms? n terms plan) (if (pair? (vector-ref terms n)) (not (%parts-kept? n plan)) #f))
; What is read now is read no more.
(define (%without-part tile outputs given plan)
  (map (lambda (n sum) (if (if (%layout n plan) (vector? sum) #f) (vector-update sum tile 0) sum)) outputs given))

; `own`: of which parts it is known that their elements are their own.
(define (%plus-parts numbers parts boxes own sums plan)
  (if (null? numbers)
      sums
      (let* ((n (car numbers)) (part (car parts)))
        (if (tensor? part)
            (let* ((sum (vector-ref sums n)) (sums (vector-update sums n 0)))
              (%plus-parts (cdr numbers) (cdr parts) (cdr boxes) (cdr own) (vector-update sums n (%plus-part sum n part (car boxes) (car own) plan)) plan))
            (%plus-parts (cdr numbers) (cdr parts) (cdr boxes) (cdr own) sums plan)))))
(define (%plus-part sum n part box own? plan)
  (let ((node (vector-ref (%plan-nodes plan) n)) (counts (%layout n plan)))
    (if counts
        (%plus-to-parts (if (vector? sum) sum (make-vector (apply * counts) 0)) (%overlapped n box plan) node part box own? plan)
        (%plus-to sum (cons (map (lambda (i) 0) (%node-sizes node)) (%node-sizes node)) part box own?))))
(define (%plus-to-parts sums tiles node part box own? plan)
  (if (null? tiles)
      sums
      (let* ((tile (caar tiles)) (place (cdar tiles)) (sum (vector-ref sums tile)) (sums (vector-update sums tile 0))
             (new (if (%same-box? place box)
                      (%plus-to sum place part box own?)
                      (let ((both (%overlap place box))) (%plus-to sum place (%slice part (%inside box both)) both #f)))))
        (%plus-to-parts (vector-update sums tile (%aside new plan))
                        (cdr tiles) node part box own? plan))))
; Of a whole that lies in that place.
(define (%plus-to sum place part box own?)
  (cond ((tensor? sum) (add-part sum part (car (%inside place box))))
        ((%same-sizes? (cdr place) (cdr box)) (if own? part (%own part)))
        (else (%among-zeros part box place))))
