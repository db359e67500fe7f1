; Capsules under a deep stack. A recursion that is not a tail call goes down many frames; at the bottom it goes on by short dips, each
; some frames down and up again, of changing depth. From there on the run is cut every `apart` steps, and all capsules are kept: each holds
; the whole deep stack, which they share. Arguments: cut, or whole for the same run without cuts; the number of frames; of capsules.
(define mode (car (command-line)))
(define depth (string->number (cadr (command-line))))
(define capsules (string->number (caddr (command-line))))
(define apart 200)
(define (dip n) (if (= n 0) 0 (+ 1 (dip (- n 1)))))
(define (dips i sum) (if (= i 0) sum (dips (- i 1) (+ sum (dip (+ 5 (remainder i 17)))))))
(define (deep n) (if (= n 0) (dips (+ depth (* 4 capsules)) 0) (+ 1 (deep (- n 1)))))
; More steps than the way down takes, fewer than the dips do.
(define bottom (* 12 depth))
(define (cut all left) (if (= left 0) all (cut (cons (interrupt resume (car all) apart) all) (- left 1))))
(define all
  (if (string=? mode "cut")
      (cut (list (interrupt deep depth bottom)) capsules)
      (list (interrupt deep depth (+ bottom (* apart capsules))))))
; The steps that are left: the same with cuts and without, and the last capsule has the deep stack below it.
(write-real (primops resume (car all)))
