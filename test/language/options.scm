; Options of programs: (command-line-options known).
(define option (command-line-options '((epochs 20) (rate .1) (save #f) (name "none") (file #f text) (width #f number))))
;;; case nothing-given
(write (list (option 'epochs) (option 'rate) (option 'save) (option 'name)))
; expect: (20 0.1 #f "none")
;;; case given
; args: --rate=1e-3 --save --name=a=b --epochs=-4
(write (list (option 'epochs) (option 'rate) (option 'save) (option 'name)))
; expect: (-4 0.001 #t "a=b")
;;; case the-last-counts
; args: --epochs=1 --name= --epochs=2
(write (list (option 'epochs) (option 'name)))
; expect: (2 "")
;;; case unknown
; args: --epoch=2
(option 'epochs)
; expect error: there is no option --epoch=2; these there are, as --name=value: \(epochs rate save name file width\)
;;; case no-option
; args: 12
(option 'epochs)
; expect error: there is no option 12; these there are
;;; case dashes-alone
; args: --
(option 'epochs)
; expect error: there is no option --; these there are
;;; case dashes-and-sign
; args: --=3
(option 'epochs)
; expect error: there is no option --=3; these there are
;;; case no-number
; args: --rate=fast
(option 'rate)
; expect error: expected a number behind --rate=, got "fast"
;;; case no-value
; args: --rate
(option 'rate)
; expect error: --rate alone says nothing; write --rate=NUMBER
;;; case no-text
; args: --name
(option 'name)
; expect error: --name alone says nothing; write --name=TEXT
;;; case kinds
; args: --file=12 --width=12
(write (list (option 'file) (option 'width)))
; expect: ("12" 12)
;;; case kinds-not-given
(write (list (option 'file) (option 'width)))
; expect: (#f #f)
;;; case no-text-of-a-kind
; args: --file
(option 'file)
; expect error: --file alone says nothing; write --file=TEXT
;;; case no-number-of-a-kind
; args: --width
(option 'width)
; expect error: --width alone says nothing; write --width=NUMBER
;;; case no-number-for-a-kind
; args: --width=broad
(option 'width)
; expect error: expected a number behind --width=, got "broad"
;;; case no-kind
(command-line-options '((what #f integer)))
; expect error: command-line-options: behind the value of what expected number or text, got integer
;;; case unknown-name
(option 'batch)
; expect error: command-line-options: the list has no such name: batch
