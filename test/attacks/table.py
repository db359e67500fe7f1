"""What a guest may try on its host: hostile programs, each with the exit code that docs/tools.md promises and a part of the message.

An attack runs under LIMITS unless it brings its own. `text` is the program, or a function that makes it; `files` lie beside it; `before` are
commands whose files it needs, and `command` is what is run in place of vmrun with the program. What memory, work or steps end is tried a second
time under a larger budget, by a host that cancels it (run.py).
"""
import dataclasses
import io
import json
import os
import pathlib
import struct
import typing
import zipfile

import plans

ENDED, ERROR, BAD, OVER, STOPPED = 0, 1, 2, 3, 75  # exit codes
MEMORY = 32 << 20
STEPS = ("--steps=3000000",)
WORK = ("--work=200000000",)
OUTPUT = ("--output-limit=64KiB",)


@dataclasses.dataclass
class Attack:
    name: str
    text: str | bytes | typing.Callable[[], str]
    code: int | tuple[int, ...]
    says: str = ""  # on standard error
    options: tuple[str, ...] = ()
    memory: int = MEMORY
    limits: tuple[str, ...] | None = None  # if nothing else is said, of output and steps, and of work unless memory alone is to end it
    arguments: tuple[str, ...] = ()
    input: str | typing.Callable[[], str] = ""
    files: dict[str, str | bytes] = dataclasses.field(default_factory=dict)
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)  # of those of them that are longer, with nothing behind
    before: tuple[tuple[str, ...], ...] = ()  # commands; the first word is a tool
    made: dict[str, typing.Callable[[pathlib.Path], bytes]] = dataclasses.field(default_factory=dict)  # files from the folder that these leave
    meanwhile: typing.Callable[[pathlib.Path], None] | None = None  # done in its folder again and again while it runs
    command: tuple[str, ...] | None = None  # the tool and its arguments, if it is not `vmrun OPTIONS attack.scm`
    cancelled: bool = True  # tried again by a host that cancels it

    def __post_init__(self):
        if self.limits is None:
            self.limits = OUTPUT + STEPS + (() if self.code == OVER else WORK)


def chain(count, form):
    """form(0), form(1), ... one a line."""
    return "\n".join(form(i) for i in range(count))


def cut_unfinished_files(folder):
    for part in folder.glob("*.cairn-part"):
        try:
            os.truncate(part, 0)
        except OSError:  # it has gone
            pass


def cut_nameless_files(folder):
    """Those of that folder that any process has open."""
    for opened in pathlib.Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(opened).startswith(f"{folder.resolve()}/#"):
                os.truncate(opened, 0)
        except OSError:  # it has gone, or belongs to somebody else
            pass


DOUBLED = "(define big (let loop ((i 0) (l 'x)) (if (= i 60) l (loop (+ i 1) (cons l l)))))\n"
DOUBLED_NUMBER = DOUBLED.replace("'x", "1.5")
DOUBLED_VECTOR = "(define big (let loop ((i 0) (l 1.5)) (if (= i 8) l (loop (+ i 1) (make-vector 1000 l)))))\n"
ONE = "(define one (fill '(1) 1.))\n"
STRETCHED = "(define wide (expand-tensor (fill '(1) 1.) '(20000000000)))\n"
SQUARE = "(define m (expand-tensor (fill '(1 1) .5) '(100000 100000)))\n"
LOGISTIC = "(define (f x) (let loop ((i 0) (x x)) (if (= i 1000000) x (loop (+ i 1) (* 3.7 x (- 1 x))))))\n"
GROWING = ("(define (f x) (let make ((i 0) (l '())) (if (< i 3000000) (make (+ i 1) (cons (* x i) l)) "
           "(let add ((l l) (s 0.)) (if (null? l) s (add (cdr l) (+ s (* (car l) .5))))))))\n")
INSIDE = ("(define x (* .2 (randn '(96 48))))\n(define w (* .1 (randn '(48 48))))\n(define (f w) (mean (square (tanh (matmul x w)))))\n"
          "(define (down w rate) (- w (* rate (cdr (*j f w 1)))))\n")
NORMED = ("(define x (rand '(2 8 32 32) 'f32 'cpu 1))\n(define w (rand '(8 8 3 3) 'f32 'cpu 2))\n(define s (fill '(8) 1.))\n"
          "(define (normed x) (car (batch-normalization-training x s s)))\n(define (g w) (let loop ((x x)) (loop (normed (convolve x w 1 1)))))\n"
          "(define (f w) (sumall (sin (normed (convolve x w 1 1)))))\n(define (under thunk) (with-lossy-tape \"relative=1e-2,operators=convolution+batch-normalization\" thunk))\n")
SETS = ("(define x (rand '(2 8 32 32) 'f32 'cpu 1))\n(define s (fill '(32) 1.))\n(define t (fill '(8) 1.))\n"
        "(define (normed x s) (group-normalization (layer-normalization (rms-normalization x s) s s) t t 2))\n(define (g s) (let loop ((x x)) (loop (sin (normed x s)))))\n"
        "(define (f s) (sumall (sin (normed x s))))\n"
        "(define (under thunk) (with-lossy-tape \"relative=1e-2,operators=layer-normalization+rms-normalization+group-normalization\" thunk))\n")
ENDLESS = "(define (f x) (let loop ((x x)) (loop (* x 1.0001))))\n"

SEEN = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE]
UNSEEN = [b for b in range(256) if b not in SEEN]
VOCABULARY = json.dumps({chr(b) if b in SEEN else chr(256 + UNSEEN.index(b)): b for b in range(256)})


def edf_of(onset, duration="1", least="-1", most="1"):
    """A recording of a record with one signal and annotations, one of them at `onset`."""
    fields = lambda width, *texts: "".join(text.ljust(width) for text in texts)
    head = (fields(8, "0") + fields(80, "", "") + fields(8, "", "", "768") + fields(44, "EDF+C") + fields(8, "1", duration) + fields(4, "2") +
            fields(16, "EEG", "EDF Annotations") + fields(80, "", "") + fields(8, "uV", "") + fields(8, least, "-1") + fields(8, most, "1") +
            fields(8, "-32768", "-32768") + fields(8, "32767", "32767") + fields(80, "", "") + fields(8, "4", "30") + fields(32, "", ""))
    return head.encode() + bytes(8) + (b"+0\x14\x14\0" + onset.encode() + b"\x14here\x14\0").ljust(60, b"\0")


def archive_of(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.npy"), content)
    return file.getvalue()


TEXTS = [
    Attack("a megabyte of quotes", lambda: "'" * 1_000_000 + "x", OVER),
    Attack("a megabyte of parentheses", lambda: "(" * 1_000_000, BAD),
    Attack("half a megabyte of closed parentheses", lambda: "(" * 500_000 + ")" * 500_000, (BAD, OVER)),
    Attack("vectors nested in the text", lambda: "'" + "#(" * 300_000 + ")" * 300_000, OVER),
    Attack("quasiquotes nested", lambda: "`" * 300_000 + "x", BAD),
    Attack("unquotes nested", lambda: "`" * 50_000 + "," * 50_000 + "car", BAD),
    Attack("a quasiquote of many splices", lambda: "(define l '(1 2 3))\n`(" + ",@l " * 50_000 + ")", OVER),
    Attack("comments nested", lambda: "#|" * 500_000, BAD),
    Attack("hidden data nested", lambda: "#;" * 500_000 + "x", BAD),
    Attack("lambdas nested", lambda: "(lambda (x) " * 100_000 + "x" + ")" * 100_000, BAD),
    Attack("lambdas that capture all those around", lambda: "".join(f"(lambda (v{i}) " for i in range(1500)) + "(list " +
           " ".join(f"v{i}" for i in range(1500)) + ")" * 1501, OVER),
    Attack("case of 100,000 clauses", lambda: "(define (f x) (case x " + chain(100_000, lambda i: f"(({i}) {i + 1})") + "))\n(f 99999)",
           OVER),
    Attack("cond of 100,000 clauses", lambda: "(define (f x) (cond " + chain(100_000, lambda i: f"((= x {i}) {i + 1})") + "))\n(f 99999)",
           OVER),
    Attack("let* of 100,000 names", lambda: "(let* (" + chain(100_000, lambda i: f"(v{i} {'(car (list 1))' if i == 0 else f'(+ 1 v{i - 1})'})") +
           ") v99999)", OVER),
    Attack("letrec of 20,000 procedures in a ring", lambda: "(define (g n) (letrec (" +
           chain(20_000, lambda i: f"(f{i} (lambda (x) (if (= x n) x (f{(i + 1) % 20_000} (+ x 1)))))") + ") (f0 0)))\n(g 50000)", OVER),
    Attack("a call with 200,000 arguments", lambda: "(list " + "1 " * 200_000 + ")", OVER),
    Attack("a procedure of 200,000 parameters", lambda: "(define (f " + " ".join(f"p{i}" for i in range(200_000)) + ") p0)\n(f 1)", (BAD, OVER)),
    Attack("a pattern 100,000 deep", lambda: "(define (f " + "(cons a " * 100_000 + "'()" + ")" * 100_001 + " 1)\n(f 1)", BAD),
    Attack("a curried definition 100,000 deep", lambda: "(define " + "(" * 100_000 + "f" + " a)" * 100_000 + " 1)\n(f 1)", BAD),
    Attack("procedures that double when put in line", lambda: "(define (f0 x) (+ x x))\n" +
           chain(60, lambda i: f"(define (f{i + 1} x) (f{i} (f{i} x)))") + "\n(write (f60 1.))", STOPPED),
    Attack("constants that double when folded", lambda: "(define s0 \"ab\")\n" + chain(60, lambda i: f"(define s{i + 1} (string-append s{i} s{i}))") +
           "\n(string-length s60)", OVER),
    Attack("conditions that double when copied", lambda: "(define (f x) " + "(if (if " * 300 + "x" + " #t #f) (car x) (cdr x))" * 300 + ")\n(f 1)",
           ERROR),
    Attack("100,000 definitions", lambda: chain(100_000, lambda i: f"(define v{i} {i})") + "\n(write v99999)", BAD),
    Attack("100,000 names bound nowhere", lambda: "(list " + " ".join(f"u{i}" for i in range(100_000)) + ")", (BAD, OVER)),
    Attack("100,000 warnings", lambda: "(define (f x)\n" + chain(100_000, lambda i: f"(let ((unused{i} 1)) x)") + ")\n(f 1)", OVER),
    Attack("a name of 3 MB", lambda: f"({'s' * 3_000_000})", (BAD, OVER)),
    Attack("a number of 2,000,000 digits", lambda: "(write " + "9" * 2_000_000 + ")", (ENDED, OVER)),
    Attack("a number with an exponent of 100,000 digits", lambda: "(write 1e" + "9" * 100_000 + ")", (ENDED, BAD)),
    Attack("hexadecimal digits without end", lambda: "(write #x" + "f" * 1_000_000 + ")", ENDED),
    Attack("an error at the end of a long line", lambda: "(list " + "1 " * 400_000 + "(car", BAD),
    Attack("an error in a line of characters that are not seen", lambda: "(car \u202e" + "\u2066\u200b" * 50_000 + ")", BAD),
    Attack("a name of characters that are not seen", lambda: "\u202e\u200d" * 50_000, BAD),
    Attack("an error with a text of characters that are not seen", '(define (text n) (if (= n 0) "\u202e\u2066\ufeff" (let ((t (text (- n 1)))) (string-append t t))))\n(error (text 15) (text 15))', ERROR, "\\x202e;"),
    Attack("a text of characters that are not seen as a symbol", '(car (string->symbol "\u202e\u2066\ufeff"))', ERROR, "\\x202e;"),
    Attack("a file whose name is not seen", '(read-text "\u202e\u2066a")', ERROR, "\\x202e;"),
    Attack("bytes that are no text", b"(display \"\xff\xfe\xc0\x80\")", BAD),
    Attack("a quoted list of 500,000 numbers", lambda: "(write (length '(" + "1 " * 500_000 + ")))", (ENDED, OVER)),
    Attack("begins nested", lambda: "(begin " * 200_000 + "1" + ")" * 200_000, ENDED),
    Attack("named lets nested", lambda: "".join(f"(let l{i} ((x{i} 1)) " for i in range(5_000)) + "x0" + ")" * 5_000, BAD),
]

FILES = [
    Attack("including an absolute path", '(include "/etc/passwd")', BAD),
    Attack("including the environment of the process", '(include "/proc/self/environ")', BAD),
    Attack("including a device without end", '(include "/dev/zero")', BAD),
    Attack("including a folder above", '(include "../../../../../../etc/passwd")', BAD),
    Attack("importing a folder above", "(import ../x)", BAD),
    Attack("importing an absolute path", "(import /etc/passwd)", BAD),
    Attack("a file that includes itself", '(include "attack.scm")', BAD),
    Attack("files that include each other", '(include "a.scm")', BAD, files={"a.scm": '(include "b.scm")', "b.scm": '(include "a.scm")'}),
    Attack("includes that double", '(include "f0.scm")', (BAD, OVER),
           files={**{f"f{i}.scm": f'(include "f{i + 1}.scm") (include "f{i + 1}.scm")' for i in range(40)}, "f40.scm": "1"}),
    Attack("input that is one number without end", "(write (read-real))", ERROR, input=lambda: "9" * 40_000_000),
    Attack("input that is one word without end", "(write (read-real))", (ERROR, OVER), input=lambda: "x" * 40_000_000),
    Attack("input of blanks without end", "(write (read-real))", (ERROR, OVER), input=lambda: " " * 40_000_000),
    Attack("input in a loop", "(let loop ((s 0)) (loop (+ s (read-real))))", (ERROR, STOPPED), input=lambda: "1\n" * 100_000),
    Attack("large arguments", "(define (f l) (f (append l (command-line))))\n(f '())", OVER, arguments=("x" * 100_000,) * 15),
]

VALUES = [
    Attack("lists without end", "(let loop ((l '())) (loop (cons l l)))", OVER, "memory budget", limits=OUTPUT),
    Attack("recursion without end", "(define (f n) (+ 1 (f (+ n 1))))\n(f 0)", OVER, "attack.scm:1:20: error: memory budget"),
    Attack("closures without end", "(let loop ((f (lambda (x) x))) (loop (lambda (x) (f (f x)))))", OVER, "memory budget"),
    Attack("loops without end", "(let loop () (loop))", STOPPED),
    Attack("an error below 100,000 calls", "(define (f n) (if (= n 0) (car 1) (+ 1 (f (- n 1)))))\n(f 100000)", ERROR, "car: expected"),
    Attack("strings that double", '(let loop ((s "ab")) (loop (string-append s s)))', OVER, "memory"),
    Attack("strings copied again and again", '(define s (make-string 5000000 #\\a))\n(let loop () (string-append s s) (loop))', STOPPED),
    Attack("one call that appends 300,000 strings", '(string-length (apply string-append (map (lambda (i) "abcdefgh") (iota 300000))))',
           STOPPED),
    Attack("long strings walked for one character", "(define s (make-string 5000000 (integer->char 955)))\n"
           "(let loop () (string-ref s 4999999) (loop))", STOPPED),
    Attack("long strings compared", "(define s (make-string 5000000 #\\a))\n(define t (make-string 5000000 #\\a))\n"
           "(let loop () (string-ci=? s t) (loop))", STOPPED),
    Attack("long strings read as numbers", '(define s (make-string 1000000 #\\9))\n(let loop () (string->number s) (loop))', STOPPED),
    Attack("a number of five million digits", '(string->number (make-string 5000000 #\\9))', ERROR, "at most 1048576"),
    Attack("long strings taken apart", "(define s (make-string 100000 #\\a))\n(let loop () (list->string (string->list s)) (loop))", STOPPED),
    Attack("a string of too many characters for 32 bits", "(make-string 4294967297 #\\a)", (ERROR, OVER)),
    Attack("a string of too many bytes for 64 bits", "(make-string 9.2e18 (integer->char 1114111))", (ERROR, OVER)),
    Attack("parts of strings that are not there", '(substring "abc" 1 9.2e18)', ERROR, "substring"),
    Attack("symbols without end", "(let loop ((i 0) (l '())) (loop (+ i 1) (cons (string->symbol (number->string i)) l)))", (OVER, STOPPED)),
    Attack("long symbols again and again", "(define s (make-string 5000000 #\\a))\n(let loop () (string->symbol s) (loop))", STOPPED),
    Attack("vectors larger than any memory", "(make-vector 100000000000000 0)", OVER, "memory"),
    Attack("vectors of a length that overflows", "(make-vector 2305843009213693952. 0)", (ERROR, OVER)),
    Attack("vectors of fewer than no elements", "(make-vector -1 0)", ERROR, "make-vector"),
    Attack("vectors copied for one element", "(define v (make-vector 1000000 0))\n(let loop () (vector-update v 0 1) (loop))", STOPPED),
    Attack("vectors made and dropped", "(let loop () (make-vector 2000000 0) (loop))", STOPPED),
    Attack("vectors of vectors", "(let loop ((v '#())) (loop (make-vector 1000 v)))", OVER),
    Attack("a list of all numbers", "(iota 1e300)", OVER),
    Attack("a list of a trillion", "(build-list 1000000000000 (lambda (i) i))", (OVER, STOPPED)),
    Attack("a list tail that is far away", "(list-tail '(1 2 3) 100000000000000)", ERROR),
    Attack("a list index that is no number", "(vector-ref (vector 1 2) +nan.0)", ERROR, "vector-ref"),
    Attack("a million arguments", "(apply + (iota 1000000))", OVER, options=("--steps=20000000",), limits=OUTPUT + WORK),
    Attack("a million arguments for two", "(apply (lambda (a b) a) (iota 200000))", ERROR),
    Attack("a million arguments again and again", "(define l (iota 200000))\n(define (f . l) 1)\n(let loop () (apply f l) (loop))", STOPPED),
    Attack("numbers in strange notations", "(write (list (number->string 1e308 2) (number->string 5e-324 36) (string->number \"1e999999999\")))", (ENDED, ERROR)),
    Attack("a radix that is none", "(number->string 10 1e300)", ERROR, "number->string"),
    Attack("a power that is no number", "(write (list (expt 2 1e18) (expt 10 -1000000000000) (expt 0 -1.) (expt 7 140737488355327)))", (ENDED, ERROR)),
    Attack("a fraction between infinities", "(write (rationalize +inf.0 1))\n(rationalize +nan.0 1)\n(rationalize .3 0)", ENDED),
    Attack("a denominator that is far away", "(write (denominator 5e-324))\n(write (denominator +inf.0))", STOPPED),
    Attack("the least integer divided by minus one", "(write (quotient -140737488355328 -1))\n(write (remainder -140737488355328 -1))\n"
           "(write (quotient -9223372036854775808. -1))", (ENDED, ERROR)),
    Attack("characters that are none", "(integer->char 55296)", ERROR, "integer->char"),
    Attack("a random number below nothing", "(random-integer 0)", ERROR, "random-integer"),
    Attack("a random number below infinity", "(random-integer +inf.0)", ERROR, "random-integer"),
    Attack("writing a pair doubled 60 times", DOUBLED + "(write big)", OVER, "may write"),
    Attack("writing a pair doubled 60 times without a limit", DOUBLED.replace("'x", "'()") + "(write big)", (OVER, STOPPED),
           limits=("--output-limit=10MiB",) + STEPS + WORK),
    Attack("an error about a pair doubled 60 times", DOUBLED + '(error "bad:" big)', ERROR, "..."),
    Attack("a wrong operand doubled 60 times", DOUBLED + "(car (vector big))", ERROR, "..."),
    Attack("an error of ten megabytes", '(error (make-string 10000000 #\\a) (iota 100000))', ERROR, "..."),
    Attack("comparing what was doubled 60 times", DOUBLED.replace("define big", "define (make)") + "(equal? (make) (make))", STOPPED),
    Attack("differentiating what was doubled 60 times", DOUBLED_NUMBER + "(*j (lambda (x) 1) big 1)", (OVER, STOPPED)),
    Attack("a tangent doubled 60 times", DOUBLED_NUMBER + "(j* (lambda (x) 1) big big)", (OVER, STOPPED)),
    Attack("a cotangent doubled 60 times", DOUBLED_NUMBER + "(*j (lambda (x) big) 1. big)", (OVER, STOPPED)),
    Attack("a captured value doubled 60 times", DOUBLED_NUMBER + "(define (f y) (lambda () y))\n(*j (lambda (g) 1) (f big) 1)", OVER),
    Attack("state of an update doubled 60 times", DOUBLED_NUMBER + "(*j-update (lambda (x) 1) big 1 (lambda (p g s) (cons p s)) big)", (OVER, STOPPED)),
    Attack("a checked gradient of what was doubled", DOUBLED_NUMBER + "(check-gradient (lambda (x) 1) big)", STOPPED),
    Attack("a name of a schedule doubled 60 times", DOUBLED + "(with-schedule big (lambda () 1))", ERROR, "..."),
    Attack("writing what is nested five million deep", "(write (let loop ((i 0) (l '())) (if (= i 5500000) l (loop (+ i 1) (list l)))))", OVER, "memory budget",
           memory=192 << 20, limits=("--output-limit=1GiB",)),
    Attack("writing vectors of shared vectors", DOUBLED_VECTOR + "(write big)", OVER, "may write"),
    Attack("output without end", '(let loop () (display "more and more ") (loop))', OVER, "may write 65536 bytes and no more"),
    Attack("a megabyte at once", "(display (make-string 5000000 #\\a))", OVER, "may write"),
    Attack("output of control characters in an error", '(error (list->string (list (integer->char 27) #\\] #\\0 (integer->char 7))))', ERROR),
]

RUNS = [
    Attack("cotangents of a long list that wait for its tape", "(define (states x) (let loop ((i 0) (y x) (l '())) (if (= i 1000000) l (loop (+ i 1) (* 3.2 y (- 1 y)) (cons y l)))))\n"
           "(checkpoint-*j (lambda (x) (fold-left (lambda (a y) (+ a (* y y))) 0 (states x))) .1 1)", (OVER, STOPPED), options=("--steps=20000000",), memory=64 << 20, limits=OUTPUT),
    Attack("a gradient that fits under no schedule and begins again", "(define (f l) (let loop ((i 0) (x (car l))) (if (= i 20000) x (loop (+ i 1) (+ (* 3.2 x (- 1 x)) (length l))))))\n"
           "(define (grow l n) (if (= n 0) l (grow (cons .5 l) (- n 1))))\n(checkpoint-*j f (grow '() 9000) 1)", STOPPED, memory=1 << 20),
    Attack("capsules without end", "(define (spin n) (spin (+ n 1)))\n(let loop ((l '())) (loop (cons (interrupt spin 0 50) l)))", OVER, "memory budget",
           limits=OUTPUT + WORK),
    Attack("interrupts inside interrupts", "(define (f n) (interrupt f (+ n 1) 1000000000))\n(f 0)", (OVER, STOPPED)),
    Attack("capsules that hold capsules", "(define (g z) (+ 1 (if (capsule? z) 1 0)))\n(let loop ((z 0)) (loop (interrupt g z 1)))", (OVER, STOPPED)),
    Attack("an interrupt after infinitely many steps", "(interrupt (lambda (x) (let loop () (loop))) 0 1e300)", STOPPED),
    Attack("an interrupt after fewer than no steps", "(interrupt (lambda (x) x) 0 -1)", ERROR, "interrupt"),
    Attack("counting steps of what does not end", "(primops (lambda (x) (let loop () (loop))) 0)", STOPPED),
    Attack("a capsule in itself", "(define (f n z) (if (= n 0) z (f (- n 1) (interrupt (lambda (z) (resume z)) z 5))))\n"
           "(define (spin n) (spin (+ n 1)))\n(resume (f 2000 (interrupt spin 0 5)))", STOPPED),
    Attack("writing a deep capsule", "(define (f n) (if (= n 0) (car '()) (+ 1 (f (- n 1)))))\n(write (interrupt f 50000 100000))", ENDED),
    Attack("a gradient of a run without end", ENDLESS + "(*j f 1.5 1)", OVER, "memory budget"),
    Attack("a checkpointed gradient of a run without end", ENDLESS + "(checkpoint-*j f 1.5 1)", STOPPED),
    Attack("a schedule of one snapshot", LOGISTIC + "(checkpoint-*j f .5 1)", STOPPED, options=("--checkpoint=binomial,base=16,snapshots=1",)),
    Attack("a schedule of all snapshots there are", LOGISTIC + "(checkpoint-*j f .5 1)", (OVER, STOPPED),
           options=("--checkpoint=binomial,base=16,snapshots=18446744073709551615",)),
    Attack("a schedule of one pass", LOGISTIC + "(checkpoint-*j f .5 1)", (OVER, STOPPED), options=("--checkpoint=binomial,base=16,passes=1",)),
    Attack("a schedule of all passes there are", LOGISTIC + "(checkpoint-*j f .5 1)", (OVER, STOPPED),
           options=("--checkpoint=binomial,base=16,passes=18446744073709551615",)),
    Attack("a base case of a trillion steps", LOGISTIC + "(checkpoint-*j f .5 1)", (OVER, STOPPED), options=("--checkpoint=bisection,base=1099511627776",)),
    Attack("a measuring run of all snapshots", LOGISTIC + "(checkpoint-*j f .5 1)", (OVER, STOPPED),
           options=("--checkpoint=online,base=16,snapshots=18446744073709551615",)),
    Attack("schedules made up without end", "(define (f n) (with-schedule (string-append \"binomial,base=\" (number->string (+ 16 n))) (lambda () 1)) (f (+ n 1)))\n(f 0)",
           (OVER, STOPPED)),
    Attack("a plan for one byte", LOGISTIC + "(checkpoint-*j f .5 1)", (OVER, STOPPED), options=("--checkpoint=budget,memory=1",)),
    Attack("a budget of one byte within the program", LOGISTIC + "(with-memory 1 (lambda () (checkpoint-*j f .5 1)))", (OVER, STOPPED)),
    Attack("a plan for all the memory there is", LOGISTIC + "(checkpoint-*j f .5 1)", (OVER, STOPPED), options=("--checkpoint=budget,memory=262144GiB",)),
    Attack("a planned run of tensors without end", "(define (f x) (f (tanh (+ x x))))\n(checkpoint-*j f (fill '(100 100) .1) 1)", (OVER, STOPPED),
           options=("--checkpoint=budget,memory=1MiB",)),
    Attack("a gradient that fits nowhere, for which a budget that does is looked for",
           "(define (f x) (sumall (let loop ((i 0) (x x)) (if (= i 40) x (loop (+ i 1) (tanh (+ x x)))))))\n(checkpoint-*j f (fill '(2000 1000) .1) 1)",
           OVER, "should do with --memory=", memory=24 << 20),
    Attack("a survey of tensors without end", "(define (f x) (f (tanh (+ x x))))\n(checkpoint-*j f (fill '(100 100) .1) 1)", (OVER, STOPPED), options=("--plan",)),
    Attack("a survey that looks twice", "(define (f n x) (if (= n 0) (sumall x) (f (- n 1) (tanh (+ x x)))))\n(checkpoint-*j (lambda (x) (f 20000 x)) (fill '(100 100) .1) 1)",
           STOPPED, options=("--plan",)),
    Attack("a survey of tensors that grow", "(define (f l) (f (cons (tanh (car l)) l)))\n(checkpoint-*j f (list (fill '(100 100) .1)) 1)", (OVER, STOPPED), options=("--plan",)),
    Attack("a survey of numbers without end", ENDLESS + "(checkpoint-*j f .5 1)", (OVER, STOPPED), options=("--plan",)),
    Attack("a survey of a run that is nothing but derivatives", "(define (f x) (f (cdr (*j (lambda (y) (sumall (* y y))) x 1))))\n(checkpoint-*j f (fill '(100 100) .1) 1)",
           STOPPED, options=("--plan",)),
    *(Attack(f"gradients inside a planned one, {name}", INSIDE + text, code, says, memory=memory << 20, limits=OUTPUT + ("--steps=3000000", "--work=2000000000"))
      for name, text, code, says, memory in (
        ("without end", "(checkpoint-*j (lambda (rate) (let loop ((w w)) (loop (down w rate)))) .5 1)", STOPPED, "", 4),
        ("more than there is room for", "(checkpoint-*j (lambda (rate) (f (let loop ((w w) (n 2000)) (if (= n 0) w (loop (down w rate) (- n 1)))))) .5 1)", STOPPED, "", 3),
        ("each of which fits nowhere", "(define (g w) (f (let loop ((i 0) (w w)) (if (= i 500) w (loop (+ i 1) (tanh w))))))\n"
         "(checkpoint-*j (lambda (rate) (f (- w (* rate (cdr (*j g w 1)))))) .5 1)", OVER, "memory budget", 3),
        ("all of which are kept", "(checkpoint-*j (lambda (rate) (let loop ((w w) (l '())) (loop (down w rate) (cons (*j f w 1) l)))) .5 1)", STOPPED, "", 3),
        ("within each other", "(define (deep n) (if (= n 0) f (let ((g (deep (- n 1)))) (lambda (w) (sumall (square (cdr (*j g w 1))))))))\n"
         "(checkpoint-*j (deep 12) w 1)", STOPPED, "", 3),
        ("that are given up by errors without end", "(define (g w) (let ((y (f w))) (if (> y -1e9) (car '()) y)))\n(define (once rate) (f (down (cdr (*j g w 1)) rate)))\n"
         "(let loop () (call-with-error-handler list (lambda () (checkpoint-*j once .5 1))) (loop))", STOPPED, "", 3),
        ("of ever more steps", "(define (g n) (lambda (rate) (f (let loop ((w w) (n n)) (if (= n 0) w (loop (down w rate) (- n 1)))))))\n"
         "(let loop ((n 1)) (checkpoint-*j (g n) .5 1) (loop (* 2 n)))", STOPPED, "", 3))),
    Attack("a million gradients told in a file", "(define (g n) (if (= n 0) 0 (begin (checkpoint-*j sqrt 2. 1.) (g (- n 1)))))\n(g 1000000)", STOPPED,
           options=("--explain=g.json",)),
    Attack("snapshots of a list that grows", GROWING + "(checkpoint-*j f 2. 1)", (OVER, STOPPED), options=("--checkpoint=sqrt,base=100000",)),
    Attack("intervals with millions of numbers between them", GROWING + "(checkpoint-*j f 2. 1)", (OVER, STOPPED), options=("--checkpoint=sqrt,base=2000000",)),
    Attack("a tape put aside that met a long list", GROWING + "(checkpoint-*j f 2. 1)", (OVER, STOPPED), options=("--checkpoint=auto",)),
    Attack("a schedule of the least base", LOGISTIC + "(checkpoint-*j f .5 1)", (OVER, STOPPED), options=("--checkpoint=sqrt,base=16",)),
    Attack("policies of tapes made up without end", "(define (f n) (with-lossy-tape (string-append \"relative=.5\" (number->string n)) (lambda () 1)) (f (+ n 1)))\n(f 0)", (OVER, STOPPED)),
    Attack("bounds of tensors without end", "(define (f p) (f (allow-error p .5)))\n(f (fill '(10) 1))", STOPPED),
    Attack("bounds inside bounds", "(define (f p n) (f (allow-error (list p p) .5) (+ n 1)))\n(f (fill '(10) 1) 0)", (OVER, STOPPED)),
    Attack("a policy of tapes that was made up", "(renew-policy '(%adaptive a b c d) square 1. 0)", ERROR, "renew-policy"),
    Attack("a policy of tapes of a megabyte", '(with-lossy-tape (make-string 1000000 #\\a) (lambda () 1))', ERROR, "..."),
    Attack("policies of tapes inside each other", '(define (f n) (with-lossy-tape "none" (lambda () (+ 1 (f (+ n 1))))))\n(f 0)', (OVER, STOPPED)),
    Attack("encodings in the small form without end", """(define x (rand '(1000 1000) 'f32 'cpu 1))
(define (f w) (sumall (matmul x w)))
(let loop () (with-lossy-tape "absolute=1e-3,operators=product,form=small" (lambda () (*j f (ones '(1000 1)) 1.))) (loop))""", (OVER, STOPPED)),
    Attack("normalised operands with an error without end", NORMED + "(let loop () (under (lambda () (*j f w 1))) (loop))", (OVER, STOPPED)),
    Attack("a tape of normalised operands with an error without end", NORMED + "(*j g w 1)", (OVER, STOPPED), options=("--lossy=absolute=.1,operators=batch-normalization",)),
    Attack("planned normalised operands with an error without end", NORMED + "(checkpoint-*j g w 1)", (OVER, STOPPED),
           options=("--lossy=relative=1e-2,operators=batch-normalization+convolution+product,form=small",)),
    Attack("plans of normalised operands with an error in little memory", NORMED + '(let loop () (under (lambda () (with-memory "400KiB" (lambda () (checkpoint-*j f w 1))))) (loop))', (OVER, STOPPED)),
    Attack("normalised operands with an error that do not fit", NORMED + "(under (lambda () (*j f w 1)))", OVER, memory=336 << 10),
    Attack("derivatives of normalised operands with an error without end", NORMED + "(define (h w) (sumall (square (cdr (under (lambda () (*j f w 1)))))))\n(let loop () (checkpoint-*j h w 1) (loop))", (OVER, STOPPED)),
    Attack("gradients with an error inside each other", NORMED + "(define (h w) (under (lambda () (cdr (*j h (+ w (sumall (normed (convolve x w 1 1)))) 1)))))\n(h w)", (OVER, STOPPED)),
    Attack("sweeps of normalised operands with an error cut anywhere",
           NORMED + "(define (h w) (cdr (under (lambda () (checkpoint-*j f w 1)))))\n(let loop ((n 0)) (resume (interrupt h w (remainder n 60))) (loop (+ n 1)))", (OVER, STOPPED)),
    Attack("saving a sweep of normalised operands with an error", NORMED + "(let loop () (under (lambda () (*j f w 1))) (loop))", STOPPED, options=("--save=state.capsule",), limits=("--steps=1011",)),
    Attack("normalised operands that are no numbers or infinite", NORMED + "(define (of v) (under (lambda () (*j (lambda (w) (sumall (sin (normed (* x (+ v w)))))) 1. 1))))\n"
           "(let loop () (of (/ 0. 0.)) (of (/ 1. 0.)) (of 1e38) (of -1e-44) (loop))", (OVER, STOPPED)),
    Attack("normalised channels that are constant", NORMED + "(let loop () (under (lambda () (*j (lambda (p) (sumall (sin (normed (* p (fill '(2 8 32 32) 3.)))))) 2. 1))) (loop))", (OVER, STOPPED)),
    Attack("normalised channels of one element", NORMED + "(define s (fill '(200000) 1.))\n(let loop () (under (lambda () (*j (lambda (p) (sumall (normed (* p (rand '(1 200000 1 1)))))) 2. 1))) (loop))", (OVER, STOPPED)),
    Attack("normalised channels of no element", NORMED + "(under (lambda () (*j (lambda (p) (sumall (normed (* p (fill '(0 8 32 32) 3.))))) 2. 1)))", ERROR, "has no mean"),
    Attack("normalised operands with an error that were stretched", NORMED + "(under (lambda () (*j (lambda (p) (sumall (normed (expand-tensor (* p (fill '(1 1 1 1) 1.)) '(2 8 20000 20000))))) 2. 1)))", OVER),
    Attack("normalised sets with an error without end", SETS + "(let loop () (under (lambda () (*j f s 1))) (loop))", (OVER, STOPPED)),
    Attack("a tape of normalised sets with an error without end", SETS + "(under (lambda () (*j g s 1)))", (OVER, STOPPED)),
    Attack("planned normalised sets with an error without end", SETS + "(under (lambda () (checkpoint-*j g s 1)))", (OVER, STOPPED)),
    Attack("normalised sets with an error that do not fit", SETS + "(under (lambda () (*j f s 1)))", OVER, memory=176 << 10),
    Attack("sweeps of normalised sets with an error cut anywhere",
           SETS + "(define (h s) (cdr (under (lambda () (checkpoint-*j f s 1)))))\n(let loop ((n 0)) (resume (interrupt h s (remainder n 60))) (loop (+ n 1)))", (OVER, STOPPED)),
    Attack("normalised sets that are no numbers or infinite", SETS + "(define (of v) (under (lambda () (*j (lambda (w) (sumall (sin (normed (* x (+ v w)) s)))) 1. 1))))\n"
           "(let loop () (of (/ 0. 0.)) (of (/ 1. 0.)) (of 1e38) (of -1e-44) (loop))", (OVER, STOPPED)),
    Attack("normalised sets of one element", SETS + "(let loop () (under (lambda () (*j (lambda (p) (sumall (layer-normalization (* p (rand '(200000 1))) (fill '(1) 1.) (fill '(1) 1.)))) 2. 1))) (loop))", (OVER, STOPPED)),
    Attack("normalised sets with an error that were stretched", SETS + "(under (lambda () (*j (lambda (p) (sumall (normed (expand-tensor (* p (fill '(1 1 1 1) 1.)) '(2 8 2000000 32)) s))) 2. 1)))", OVER),
    Attack("an adaptive policy of sets", '(with-lossy-tape "adaptive,operators=product+rms-normalization" (lambda () 1))', ERROR, "adaptive has no bound for rms-normalization"),
    Attack("an adaptive policy of normalisations", '(with-lossy-tape "adaptive,operators=batch-normalization" (lambda () 1))', ERROR, "adaptive has no bound for batch-normalization"),
    Attack("a policy of other normalisations", '(with-lossy-tape "relative=.1,operators=batch-normalization+layer-normalisation" (lambda () 1))', ERROR, "names no operators"),
    Attack("operators of a policy that are given without end", '(with-lossy-tape (fold-left string-append "absolute=1,operators=batch-normalization" (map (lambda (i) "+batch-normalization") (iota 1000))) (lambda () 1))', ERROR, "twice"),
    Attack("operators of a policy of a megabyte", '(with-lossy-tape (string-append "absolute=1,operators=" (make-string 1000000 #\\a)) (lambda () 1))', ERROR, "..."),
    Attack("bits of which operand was taken without end", "(define x (ones '(1000 100)))\n(*j (lambda (t) (let loop ((y (* t x))) (loop (max (min y x) (+ y t))))) 1. 1)", (OVER, STOPPED)),
    Attack("bits of what is stretched", "(define big (expand-tensor (fill '(1 1) 1.) '(30000 30000)))\n(*j (lambda (t) (sumall (+ 0 (+ 0 (max (* t (ones '(30000 1))) big))))) 1. 1)", (OVER, STOPPED)),
    Attack("a form of a policy that is given without end", '(with-lossy-tape (fold-left string-append "absolute=1" (map (lambda (i) ",form=small") (iota 1000))) (lambda () 1))', ERROR, "twice"),
    Attack("a schedule of a megabyte", '(with-schedule (make-string 1000000 #\\a) (lambda () 1))', ERROR, "..."),
    Attack("a schedule with a base beyond all numbers", '(with-schedule "binomial,base=99999999999999999999999" (lambda () 1))', ERROR, "base"),
    Attack("schedules inside schedules", '(define (f n) (with-schedule "tape" (lambda () (+ 1 (f (+ n 1))))))\n(f 0)', (OVER, STOPPED)),
    Attack("forward mode 17 deep", "(define (d n) (if (= n 0) (lambda (x) (* x x)) (let ((g (d (- n 1)))) (lambda (x) (cdr (j* g x 1.))))))\n((d 17) 2.)", OVER),
    Attack("a number of 2^16 parts", "(define (d n) (if (= n 0) (lambda (x) (exp (* x (sin x)))) (let ((g (d (- n 1)))) (lambda (x) (cdr (j* g x 1.))))))\n"
           "(define g (d 16))\n(let loop () (g 2.) (loop))", (OVER, STOPPED)),
    Attack("reverse mode 500 deep", "(define (d n) (if (= n 0) (lambda (x) (exp (* x x))) (let ((g (d (- n 1)))) (lambda (x) (cdr (*j g x 1.))))))\n((d 500) 2.)",
           (OVER, STOPPED)),
    Attack("checkpoints inside checkpoints without end", "(define (f x) (cdr (checkpoint-*j f x 1)))\n(f 2.)", (OVER, STOPPED)),
    Attack("a Hessian of 100,000 numbers", "(hessian (lambda (l) (fold-left + 0 l)) (map exact->inexact (iota 100000)))", (OVER, STOPPED)),
    Attack("a Jacobian of 10,000 numbers", "(jacobian (lambda (l) l) (build-list 10000 (lambda (i) 1.5)))", (OVER, STOPPED)),
    Attack("the gradient of a long list", "(define l (build-list 200000 (lambda (i) 1.5)))\n(let loop () (*j (lambda (l) 1) l 1) (loop))", (OVER, STOPPED)),
    Attack("an update whose rule updates", "(define (rule p g s) (cons p (cdr (*j-update (lambda (x) (* x x)) p 1 rule 0))))\n"
           "(*j-update (lambda (x) (* x x)) 2. 1 rule 0)", (OVER, STOPPED)),
    Attack("an update whose rule does not end", "(*j-update (lambda (x) (* x x)) 2. 1 (lambda (p g s) (let loop () (loop))) 0)", STOPPED),
    Attack("an update whose state grows", "(define (rule p g s) (cons p (cons s s)))\n(define (f s) (f (caddr (*j-update (lambda (x) (* x x)) 2. 1 rule s))))\n(f 0)",
           STOPPED),
    Attack("an update in place of what is held", "(define t (fill '(1000) 1.))\n(*j-update! (lambda (x) (sumall x)) t 1 (lambda (p g s) (cons (- p g) s)) 0)\n(write t)",
           ERROR),
    Attack("random numbers of a gradient that does not end", "(define (f x) (f (* x (random-real))))\n(checkpoint-*j f 1. 1)", STOPPED),
    Attack("output in a gradient that does not end", "(define (f x) (begin (write-real x) (f (* x 1.1))))\n(checkpoint-*j f 1. 1)", OVER, "may write"),
    Attack("saving a state that fills its budget", "(define t (fill '(25000000) 1.))\n(let loop ((i 0)) (if (< i 0) 0 (loop (+ i 1))))\n(write t)", STOPPED,
           options=("--save=state.capsule",), memory=128 << 20, limits=("--steps=100000",)),
    Attack("saving a list that fills its budget", "(define l (let loop ((i 0) (l '())) (if (= i 3000000) l (loop (+ i 1) (cons (* i 1.5) l)))))\n"
           "(let loop ((i 0)) (if (< i 0) 0 (loop (+ i 1))))\n(write l)", STOPPED, options=("--save=state.capsule",), memory=96 << 20, limits=("--steps=30000000",)),
    Attack("a profile of a run without end", "(define (f n) (+ 1 (f (+ n 1))))\n(f 0)", OVER, options=("--profile=/dev/null",)),
]

TENSORS = [
    Attack("writing a tensor stretched to a quadrillion", "(write (expand-tensor (fill '(1) 1.) '(1000000000000000)))", (ENDED, STOPPED)),
    Attack("writing a matrix stretched both ways", SQUARE + "(write m)", (ENDED, STOPPED)),
    Attack("writing a tensor without elements", "(write (fill '(1000000000000 0) 1.))", ENDED),
    Attack("writing rows of a tensor without elements", "(write (fill '(3 100000000000 0) 1.))", ENDED),
    Attack("writing long axes of one", "(write (expand-tensor (fill '(1 1 1) 1.) '(100000000 1 1)))", (ENDED, STOPPED)),
    Attack("listing a tensor without elements", "(tensor->list (fill '(1000000000000 0) 1.))", OVER),
    Attack("listing a stretched tensor", STRETCHED + "(tensor->list wide)", OVER),
    Attack("listing a tensor again and again", "(define t (fill '(200000) 1.))\n(let loop () (tensor->list t) (loop))", STOPPED),
    Attack("a tensor of shared vectors", DOUBLED_VECTOR + "(list->tensor big)", (ERROR, OVER)),
    Attack("a tensor of a pair doubled 60 times", DOUBLED_NUMBER + "(list->tensor big)", ERROR),
    Attack("a tensor of shared vectors that fits", "(define big (let loop ((i 0) (l 1.5)) (if (= i 3) l (loop (+ i 1) (make-vector 1000 l)))))\n(list->tensor big)", OVER),
    Attack("a tensor of shared empty lists", "(define big (let loop ((i 0) (l '())) (if (= i 7) l (loop (+ i 1) (vector->list (make-vector 300 l))))))\n(list->tensor big)",
           STOPPED),
    Attack("a tensor of a million numbers", "(let loop ((l (iota 100000))) (list->tensor l) (loop l))", STOPPED),
    Attack("a ragged tensor", "(list->tensor (append (build-list 100000 (lambda (i) '(1 2))) '((1))))", ERROR),
    Attack("a sum of a stretched tensor", STRETCHED + "(sumall wide)", STOPPED),
    Attack("a gradient of a sum of a stretched tensor", "(gradient (lambda (x) (sumall (expand-tensor x '(20000000000)))) (fill '(1) 1.))", STOPPED),
    *(Attack(f"{name} of a stretched tensor", STRETCHED + f"({name} wide)", STOPPED)
      for name in ("mean", "prod", "norm", "variance", "logsumexp", "max-over", "argmax")),
    *(Attack(f"{name} of a stretched tensor", STRETCHED + text, code) for name, text, code in (
        ("sort", "(sort wide)", OVER),
        ("argsort", "(argsort wide)", OVER),
        ("top-k", "(top-k wide 3)", (OVER, STOPPED)),
        ("cumulative-sum", "(cumulative-sum wide 0)", OVER),
        ("softmax", "(softmax wide)", OVER),
        ("contiguous", "(contiguous wide)", OVER),
        ("cast", "(cast wide 'f64)", OVER),
        ("comparison", "(equal? wide (expand-tensor (fill '(1) 1.) '(20000000000)))", STOPPED),
        ("dot", "(dot wide wide)", (OVER, STOPPED)),
        ("matmul", "(matmul wide wide)", STOPPED),
        ("scatter-add", "(scatter-add (fill '(1) 0.) (expand-tensor (fill '(1) 0 'i64) '(20000000000)) wide 0)", STOPPED),
        ("gather", "(gather (fill '(1) 0.) (expand-tensor (fill '(1) 0 'i64) '(20000000000)) 0)", OVER),
        ("embedding", "(embedding (fill '(1 1) 0.) (expand-tensor (fill '(1) 0 'i64) '(20000000000)))", OVER),
        ("cross-entropy", "(cross-entropy-loss (expand-tensor (fill '(1 2) 0.) '(20000000000 2)) (expand-tensor (fill '(1) 0 'i64) '(20000000000)))", (OVER, STOPPED)),
        ("squared error", "(mean-squared-error wide wide)", (OVER, STOPPED)),
        ("max-pool", "(max-pool (view wide '(1 1 -1)) '(1000000))", (ERROR, STOPPED)),
        ("average-pool", "(average-pool (expand-tensor (fill '(1 1 1) 1.) '(1 1 2000000000)) '(2000000000))", STOPPED),
        ("adaptive pool", "(adaptive-max-pool (expand-tensor (fill '(1 1 1) 1.) '(1 1 2000000000)) '(3))", STOPPED),
        ("convolve", "(convolve (expand-tensor (fill '(1 1 1) 1.) '(1 1 2000000000)) (expand-tensor (fill '(1 1 1) 1.) '(1 1 1000000000)))", (OVER, STOPPED)),
        ("convolve in one place", "(convolve (expand-tensor (fill '(1 1 1) 1.) '(1 1 1000000000)) (expand-tensor (fill '(1 1 1) 1.) '(1 1 1000000000)))", (OVER, STOPPED)),
        ("batch normalization", ONE + "(batch-normalization-training (expand-tensor (fill '(1 1 1) 1.) '(1 1 2000000000)) one one)", OVER),
        ("interpolation", "(interpolate-linear (expand-tensor (fill '(1 1 1) 1.) '(1 1 2000000000)) '(3))", STOPPED),
    )),
    Attack("a product of stretched matrices", SQUARE + "(sumall (narrow-tensor (matmul (narrow-tensor m 0 0 1000) (narrow-tensor m 1 0 1000)) 0 0 1))", (OVER, STOPPED)),
    Attack("convolution of stretched images", "(convolve (expand-tensor (fill '(1 1 1 1) 1.) '(1 64 3000 3000)) (expand-tensor (fill '(1 1 1 1) 1.) '(1 64 3000 3000)))", (OVER, STOPPED)),
    *(Attack(f"{name}, without end", f"(define x {x})\n(define w {w})\n(let loop () {text} (loop))", (OVER, STOPPED)) for name, x, w, text in (
        ("a grouped convolution of large kernels", "(fill '(8 8 129 131) .5 'f32)", "(fill '(16 1 61 61) .5 'f32)", "(convolve x w '(1 1) '(0 0) '(1 1) 8)"),
        ("a gradient of a grouped convolution of large kernels", "(fill '(8 8 129 131) .5 'f32)", "(fill '(16 1 61 61) .5 'f32)",
         "(*j (lambda (l) (sumall (convolve (car l) (cdr l) '(1 1) '(0 0) '(1 1) 8))) (cons x w) 1)"),
        ("a convolution of a larger kernel", "(fill '(2 3 300 300) .5 'f32)", "(fill '(8 3 101 101) .5 'f32)", "(convolve x w)"),
        ("a gradient of a convolution of a larger kernel", "(fill '(2 3 300 300) .5 'f32)", "(fill '(8 3 101 101) .5 'f32)",
         "(*j (lambda (l) (sumall (convolve (car l) (cdr l)))) (cons x w) 1)"),
        ("a thin product of doubles", "(fill '(9000 4) .5 'f64)", "(fill '(4 9000) .5 'f64)", "(matmul x w)"),
        ("a thin product of floats", "(fill '(11000 4) .5 'f32)", "(fill '(4 11000) .5 'f32)", "(matmul x w)"))),
    Attack("convolution of many groups", "(convolve (expand-tensor (fill '(1 1 1) 1.) '(1 100000 200)) (expand-tensor (fill '(1 1 1) 1.) '(100000 1 200)) 1 0 1 100000)", STOPPED),
    Attack("determinant of a stretched matrix", "(determinant (expand-tensor (fill '(1 1) 1.) '(20000 20000)))", (OVER, STOPPED)),
    Attack("determinant of a large matrix", "(determinant (randn '(2200 2200)))", (OVER, STOPPED)),
    Attack("cholesky of a large matrix", "(cholesky (+ (fill '(1900 1900) .1) 1))", (OVER, STOPPED)),
    Attack("a large system of equations", "(solve (randn '(1900 1900)) (randn '(1900 200)))", (OVER, STOPPED)),
    Attack("a large triangular system", "(let loop () (triangular-solve (fill '(1500 1500) 1.) (fill '(1500 1500) 1.)) (loop))", (OVER, STOPPED)),
    Attack("large products again and again", "(define m (fill '(1000 1000) .001))\n(let loop ((x m)) (loop (matmul m x)))", STOPPED),
    Attack("sorting again and again", "(define t (rand '(1000000)))\n(let loop () (sort t) (loop))", (OVER, STOPPED)),
    Attack("sorting large lines", "(sort (rand '(5000000)))", OVER),
    Attack("random numbers again and again", "(let loop () (randn '(2000000)) (loop))", STOPPED),
    Attack("slow functions again and again", "(define t (fill '(1000000) 1.5 'f64))\n(let loop () (expt t t) (tan t) (erf t) (loop))", STOPPED),
    Attack("giant random tensors", "(randn '(1000000 1000000000))", OVER),
    Attack("a shape that overflows", "(fill '(4294967296 4294967296 4294967296) 1.)", (ERROR, OVER)),
    Attack("a shape that overflows to nothing", "(fill '(4294967296 4294967296) 1.)", (ERROR, OVER)),
    Attack("a shape that overflows in bytes", "(fill '(4611686018427387904.) 1. 'f64)", (ERROR, OVER)),
    Attack("an empty shape that overflows", "(fill '(4294967296 4294967296 0) 1.)", (ENDED, ERROR)),
    Attack("a shape of fewer than no elements", "(fill '(-5) 1.)", ERROR, "fill"),
    Attack("a shape that is no number", "(fill '(+nan.0) 1.)", ERROR, "fill"),
    Attack("a stretched shape that overflows", "(expand-tensor (fill '(1 1) 1.) '(4294967296 4294967296))", ERROR),
    Attack("a stretched shape of 8 large axes", "(expand-tensor (fill '(1 1 1 1 1 1 1 1) 1.) '(65536 65536 65536 65536 65536 65536 65536 65536))", ERROR),
    Attack("nine axes", "(fill '(1 1 1 1 1 1 1 1 1) 1.)", ERROR),
    Attack("a view that overflows", "(resize (fill '(4) 1.) '(4294967298 4294967298))", ERROR),
    Attack("a view of nothing", "(resize (fill '(0) 1.) '(-1 0))", (ENDED, ERROR)),
    Attack("sizes by the million", "(fill (iota 1000000) 1.)", OVER),
    Attack("axes by the million", "(sum (fill '(2 2) 1.) (vector->list (make-vector 500000 0)))", OVER),
    Attack("padding by a quintillion", "(pad (fill '(1) 1.) '(9.2e18) '(9.2e18))", (ERROR, OVER)),
    Attack("padding by less than nothing", "(pad (fill '(4) 1.) '(-9.2e18) '(9.2e18))", ERROR),
    Attack("narrowing beyond the end", "(narrow-tensor (fill '(4) 1.) 0 9.2e18 9.2e18)", ERROR),
    Attack("a slice of large steps", "(write (slice (fill '(4) 1.) 0 0 4 9.2e18))", (ENDED, ERROR)),
    Attack("a slice of no steps", "(slice (fill '(4) 1.) 0 0 4 0)", ERROR),
    Attack("rolling by a quintillion", "(write (roll (fill '(4) 1.) '(9.2e18) '(0)))", (ENDED, ERROR)),
    Attack("tiles without number", "(tile (fill '(4) 1.) '(4611686018427387904.))", (ERROR, OVER)),
    Attack("tiles of stretched tensors", "(tile (expand-tensor (fill '(1) 1.) '(4294967296)) '(4294967296))", (ERROR, OVER)),
    Attack("a diagonal that is far away", "(write (lower-triangle (fill '(2 2) 1.) -9.2e18))", (ENDED, ERROR)),
    Attack("one-hot vectors of a trillion", "(one-hot (fill '(4) 0 'i64) 1000000000000)", OVER),
    Attack("a million parts", "(split (fill '(10) 1.) 0 1000000)", (OVER, STOPPED)),
    Attack("more parts than numbers", "(split (fill '(10) 1.) 0 9.2e18)", ERROR),
    Attack("concatenating 100,000 tensors", "(define t (fill '(1) 1.))\n(size (concat-tensors (vector->list (make-vector 100000 t)) 0))", (ENDED, OVER)),
    Attack("concatenating one large tensor often", "(define t (fill '(1000000) 1.))\n(concat-tensors (vector->list (make-vector 100000 t)) 0)", OVER),
    Attack("stacking stretched tensors", STRETCHED + "(stack (list wide wide) 0)", OVER),
    Attack("pools of giant windows", "(max-pool (fill '(1 1 4) 1.) '(1000000000) '(1) '(500000000))", STOPPED),
    Attack("windows that overflow", "(average-pool (fill '(1 1 4) 1.) '(9.2e18) '(1) '(9.2e18))", ERROR),
    Attack("strides of nothing", "(max-pool (fill '(1 1 4) 1.) '(2) '(0))", ERROR),
    Attack("dilation that overflows", "(convolve (fill '(1 1 4) 1.) (fill '(1 1 3) 1.) 1 0 9.2e18)", ERROR),
    Attack("padding of a convolution that overflows", "(convolve (fill '(1 1 4) 1.) (fill '(1 1 3) 1.) 1 9.2e18)", ERROR),
    Attack("padding of a convolution without end", "(convolve (fill '(1 1 4) 1.) (fill '(1 1 3) 1.) 1 1000000000000)", ERROR, "2147483647"),
    Attack("groups of nothing", "(convolve (fill '(1 1 4) 1.) (fill '(1 1 3) 1.) 1 0 1 0)", ERROR),
    Attack("a transposed convolution of giant strides", "(transpose-convolve (fill '(1 1 4) 1.) (fill '(1 1 3) 1.) 1000000000000)", ERROR, "2147483647"),
    Attack("a transposed convolution that overflows", "(transpose-convolve (fill '(1 1 4) 1.) (fill '(1 1 3) 1.) 9.2e18)", ERROR),
    Attack("bins without number", "(adaptive-average-pool (fill '(1 1 4) 1.) '(1000000000000))", ERROR, "2147483647"),
    Attack("interpolating to a giant size", "(interpolate-to-size (fill '(1 1 4) 1.) '(1000000000000))", ERROR, "2147483647"),
    Attack("interpolating by a factor that is none", "(interpolate (fill '(1 1 4) 1.) +inf.0)", ERROR),
    Attack("interpolating to nothing", "(interpolate (fill '(1 1 4) 1.) .0001)", ERROR),
    Attack("more of the largest than there are", "(top-k (fill '(4) 1.) 9.2e18)", ERROR),
    Attack("normalizing in no groups", "(group-normalization (fill '(1 4 4) 1.) (fill '(4) 1.) (fill '(4) 0.) 0)", ERROR),
    Attack("a dropout that is no probability", "(dropout (fill '(4) 1.) +nan.0)", ERROR),
    Attack("dropout of a stretched tensor", STRETCHED + "(dropout wide .5)", OVER),
    Attack("indices that are no numbers", "(embedding (fill '(4 4) 1.) (fill '(4) +nan.0))", ERROR),
    Attack("indices outside", "(gather (fill '(4) 1.) (fill '(4) 140737488355327 'i64) 0)", ERROR),
    Attack("indices before the beginning", "(scatter-add (fill '(4) 1.) (fill '(4) -5 'i64) (fill '(4) 1.) 0)", ERROR),
    Attack("classes outside", "(cross-entropy-loss (fill '(4 4) 1.) (fill '(4) 1000000 'i64))", ERROR),
    *(Attack(name, "(define column (expand-tensor (fill '(1 1) 1.) '(2000000000 1)))\n(define row (expand-tensor (fill '(1 1) 1.) '(1 2000000000)))\n(define one (fill '(1 1) 1.))\n" + text, code)
      for name, text, code in (
          ("attention of queries without end", "(attend column one one 1)", (OVER, STOPPED)),
          ("attention to keys without end", "(attend one column column 1)", STOPPED),
          ("attention to keys without end, as far as there are queries", "(attend one column column 1 #t)", (ENDED, STOPPED)),
          ("attention of all to all", "(attend column column column 1 #t)", (OVER, STOPPED)),
          ("attention along an axis without end", "(attend row row one 1)", (OVER, STOPPED)),
          ("attention with values without end", "(attend one one row 1)", (OVER, STOPPED)),
          ("attention in batches without end", "(attend (view column '(-1 1 1)) (view column '(-1 1 1)) (view column '(-1 1 1)) 1)", (OVER, STOPPED)),
          ("attention with a scale that is none", "(attend one one one +nan.0)", (ENDED, ERROR)),
          ("a gradient of attention to keys without end", "(gradient (lambda (q) (sumall (attend q column column 1))) one)", (OVER, STOPPED)))),
    Attack("attention in heads without elements", "(attend (fill '(1000000000000 0 4) 1.) (fill '(1000000000000 0 4) 1.) (fill '(1000000000000 0 4) 1.) 1)", ENDED),
    Attack("attention again and again", "(define x (fill '(8 256 32) .5))\n(let loop () (attend x x x .2) (loop))", STOPPED),
    Attack("attention of doubles again and again", "(define x (fill '(700 33) .5 'f64))\n(let loop () (attend x x x .2 #t) (loop))", STOPPED),
    Attack("gradients of attention again and again", "(define x (fill '(4 256 32) .5))\n(let loop () (gradient (lambda (x) (sumall (attend x x x .2))) x) (loop))", STOPPED),
    *(Attack(name, "(import network)\n(define p (new-attention 8))\n(define b (new-transformer 8))\n(define x (fill '(1 4 8) .5))\n" + text, code, says) for name, text, code, says in (
        ("steps of attention whose cache grows without end", "(let loop ((c '())) (loop (cadr (attention-step 2 p x c))))", STOPPED, ""),
        ("steps of a transformer whose cache grows without end", "(let loop ((c '())) (loop (cadr (transformer-step 2 b x c))))", STOPPED, ""),
        ("a gradient of steps of attention without end", "(gradient (lambda (x) (let loop ((c '()) (s 0)) (let ((r (attention-step 2 p x c))) (loop (cadr r) (+ s (sumall (car r))))))) x)", (OVER, STOPPED), ""),
        ("a step of attention with a stretched cache", "(define wide (expand-tensor (fill '(1 1 1 1) 1.) '(1 2 5000000000 4)))\n(attention-step 2 p x (list wide wide))", OVER, "memory"),
        ("a step of attention with a cache of other sizes", "(define c (fill '(3 2 5 4) .5))\n(attention-step 2 p x (list c c))", ERROR, "concat"),
        ("a step of attention with a cache of one tensor", "(attention-step 2 p x (list (fill '(1 2 5 4) .5)))", ERROR, ""),
        ("a step of attention with a cache that is none", "(attention-step 2 p x 'cache)", ERROR, ""),
        ("a step of a transformer that normalises nowhere", "(transformer-step 2 b x '() 'nowhere)", ERROR, "transformer: expected before or after"))),
    *(Attack(f"adam-update {name}", "(define x (rand '(200 500)))\n" + text, code, says) for name, text, code, says in (
        ("of a stretched tensor", STRETCHED + "(adam-update wide wide wide wide .9 .1 .9 .1 1 .1 1)", (OVER, STOPPED), ""),
        ("of means of another size", "(adam-update x (ones '(7)) x x .9 .1 .9 .1 1 .1 1)", ERROR, "adam-update"),
        ("with a rate that is a word", "(adam-update x x x x .9 .1 .9 .1 1 'rate 1)", ERROR, "adam-update"),
        ("again and again", "(let loop ((l (list x x x))) (loop (adam-update (car l) (cadr l) (caddr l) x .9 .1 .9 .1 1 .1 1)))", STOPPED, ""),
        ("of a gradient again and again", "(let loop () (gradient (lambda (x) (apply + (map sumall (adam-update x x (square x) x .9 .1 .9 .1 1 .1 1)))) x) (loop))", STOPPED, ""))),
    *(Attack(f"cotangents of {name} added onto a sum", f"(gradient (lambda (x) (let loop ((i 0) (s 0)) (if (= i 1000000) s (loop (+ i 1) (+ s (sumall {text})))))) (rand '(100 100)))", (OVER, STOPPED))
      for name, text in (("slices", "(narrow-tensor x 0 (remainder i 50) 50)"), ("rows", "(index x (remainder i 100))"), ("columns", "(index x #t (remainder i 100))"),
                         ("rows by positions", "(index x (list->tensor (list (remainder i 100) 0) 'i64))"))),
    Attack("a cotangent of a slice of a stretched tensor", "(gradient (lambda (x) (sumall (narrow-tensor (expand-tensor x '(20000000000)) 0 5 3))) (fill '(1) 1.))", (OVER, STOPPED)),
    *(Attack(f"{name} of a stretched tensor", STRETCHED + text, (OVER, STOPPED)) for name, text in (
        ("masked-select", "(masked-select wide wide)"),
        ("masked-select of nothing", "(masked-select wide (expand-tensor (fill '(1) 0) '(20000000000)))"),
        ("nonzero", "(nonzero wide)"),
        ("nonzero of nothing", "(nonzero (expand-tensor (fill '(1) 0) '(20000000000)))"),
        ("a gradient of masked-select", "(gradient (lambda (x) (sumall (masked-select (expand-tensor x '(20000000000)) wide))) (fill '(1) 1.))"),
        ("index by positions", "(index (fill '(4) 1.) (expand-tensor (fill '(1) 0 'i64) '(20000000000)))"))),
    Attack("masked-select with a mask of another size", SQUARE + "(masked-select m (fill '(7) 1))", ERROR, "masked-select"),
    Attack("masked-select again and again", "(define x (rand '(300 1000)))\n(let loop () (masked-select x (< .5 x)) (loop))", STOPPED),
    Attack("nonzero again and again", "(define x (rand '(300 1000)))\n(let loop () (nonzero (< .5 x)) (loop))", STOPPED),
    Attack("gradients of masked-select again and again", "(define x (rand '(100 1000)))\n(let loop () (gradient (lambda (x) (sumall (square (masked-select x (< .5 x))))) x) (loop))", STOPPED),
    Attack("index with a step of nothing", "(index (fill '(4) 1.) '(0 4 0))", ERROR, "index"),
    Attack("index with a step that overflows", "(index (fill '(4) 1.) '(0 4 140737488355327))", (ENDED, ERROR)),
    Attack("index beyond the end", "(index (fill '(4) 1.) 140737488355327)", ERROR, "index"),
    Attack("index before the beginning", "(index (fill '(4) 1.) -140737488355328)", ERROR, "index"),
    Attack("index of an endless range", "(index (fill '(4) 1.) '(-inf.0 +inf.0))", ERROR, "index"),
    Attack("index of words by the million", "(apply index (fill '(4) 1.) (build-list 1000000 (lambda (i) 0)))", (ERROR, OVER)),
    Attack("index of ranges of a stretched tensor again and again", SQUARE + "(let loop () (index m '(0 #f 2) '(1 #f 3)) (loop))", STOPPED),
    Attack("index by positions outside", "(index (fill '(4) 1.) (fill '(100000) 140737488355327 'i64))", ERROR, "index"),
    Attack("tensors without end", "(let loop ((l '())) (loop (cons (fill '(1000) 1.) l)))", OVER, "memory budget"),
    Attack("small tensors without end", "(let loop ((l '())) (loop (cons (fill '(1) 1.) l)))", OVER),
    Attack("views without end", "(define t (fill '(1000) 1.))\n(let loop ((l '())) (loop (cons (view t '(10 100)) l)))", OVER),
    Attack("a tape of tensors without end", "(define (f x) (f (tanh (+ x .1))))\n(*j f (fill '(10000) .5) 1)", OVER),
    Attack("a tape of tensors of one element", "(define (f x) (f (* x (fill '() 1.1))))\n(*j f (fill '() 1.) 1)", OVER, memory=64 << 20),
    Attack("the same where work is queued", "(define (f x) (f (* x (fill '() 1.1))))\n(*j f (fill '() 1.) 1)", OVER, options=("--device=emulated",),
           memory=64 << 20),
    Attack("a list of tensors without elements", "(define (grow l) (grow (cons (fill '(0) 1.) l)))\n(grow '())", OVER, memory=64 << 20),
    Attack("looking for NaNs in a stretched tensor", STRETCHED + "(tensor? wide)\n(tensor? (view wide '(2 -1)))", (ENDED, STOPPED), options=("--check-nan",)),
    Attack("tensors of another device without end", "(define t (fill '(100000) 1.))\n(let loop ((l '())) (loop (cons (to-device (to-device t 'emulated) 'cpu) l)))",
           (ERROR, OVER), options=("--device=emulated,memory=8MiB",)),
    Attack("a small device", "(let loop ((l '())) (loop (cons (fill '(10000) 1.) l)))", OVER, options=("--device=emulated,memory=1MiB",)),
    Attack("a stretched tensor on a small device", "(to-device (expand-tensor (fill '(1) 1. 'f32 'cpu) '(20000000000)) 'gpu)", OVER, options=("--device=emulated,memory=1MiB",)),
    Attack("a sum of a stretched tensor on a device", STRETCHED + "(sumall wide)", STOPPED, options=("--device=emulated",)),
    Attack("products without end on a device", "(define m (fill '(1000 1000) .001))\n(let loop ((x m)) (loop (matmul m x)))", (OVER, STOPPED), options=("--device=emulated",)),
    Attack("tensors that stream without end", "(let loop ((l '())) (loop (cons (fill '(10000) 1.) l)))", OVER, options=("--device=emulated,memory=1MiB,host=8MiB",)),
    Attack("tensors that stream to a small disk without end", "(let loop ((l '())) (loop (cons (fill '(10000) 1.) l)))", OVER, "that may be used in . are full",
           options=("--device=emulated,memory=1MiB,host=2MiB,disk=.,disk-size=8MiB",)),
    Attack("tensors that come back from a disk without end", "(define all (build-list 400 (lambda (i) (fill '(10000) 1.))))\n(let loop () (for-each sumall all) (loop))", STOPPED,
           options=("--device=emulated,memory=1MiB,host=2MiB,disk=.,disk-size=64MiB",), limits=("--steps=40000",)),
    Attack("a disk whose file is cut all the time", "(define all (build-list 400 (lambda (i) (fill '(10000) 1.))))\n(let loop () (for-each sumall all) (loop))",
           ERROR, "elements of tensors that were put aside in . ", options=("--device=emulated,memory=1MiB,host=2MiB,disk=.,disk-size=64MiB",),
           meanwhile=cut_nameless_files, cancelled=False),
    Attack("a device that is lost", "(define w (build-list 40 (lambda (i) (fill '(10000) .5))))\n(let loop ((x (fill '(10000) 1.)) (l w)) (if (null? l) (begin (write (tensor->number (sum x))) (loop x w)) (loop (tanh (* x (car l))) (cdr l))))",
           ERROR, "the device was lost after 500 operations", options=("--device=emulated,memory=1MiB,host=8MiB,lost-after=500",)),
    Attack("a device that is lost in a gradient and asked for its elements again", "(define w (fill '(10000) .5))\n(define (f x) (let loop ((i 0) (x x)) (if (= i 300) (sumall x) (loop (+ i 1) (tanh (* x w))))))\n"
           "(define (try) (call-with-error-handler (lambda (message) (write (tensor->list w))) (lambda () (checkpoint-*j f w 1))))\n(let loop () (try) (loop))",
           ERROR, "the device was lost after 700 operations", options=("--device=emulated,memory=200KiB,host=8MiB,lost-after=700",)),
    Attack("a disk in a folder that is none", "1", BAD, "disk=none: none: tensors cannot be put aside there: No such file or directory",
           options=("--device=emulated,memory=1MiB,disk=none",), cancelled=False),
    Attack("one operation larger than the host's memory", "(define m (fill '(1000 1000) 1.))\n(matmul m (matmul m m))", OVER,
           options=("--device=emulated,memory=9MiB,host=2MiB",)),
    Attack("a host of a few bytes between a device and a disk", "(let loop ((l '())) (loop (cons (fill '(10000) 1.) l)))", OVER,
           options=("--device=emulated,memory=1MiB,host=4KiB,disk=.,disk-size=8MiB",)),
    Attack("locked memory without end", "(let loop ((l '())) (loop (cons (fill '(10000) 1.) l)))", OVER,
           options=("--device=emulated,memory=1MiB,host=1GiB,pinned=on",)),
    Attack("plans of long calls on a small device",
           "(define w (fill '(1000) 1.))\n(define (f w) (let loop ((i 0) (y w)) (if (= i 5000) (sum y) (loop (+ i 1) (* y w)))))\n(let loop () (*j f w 1) (loop))", STOPPED,
           options=("--device=emulated,memory=64KiB,host=64MiB",)),
    Attack("calls that are others each time on a small device",
           "(define w (fill '(1000) 1.))\n(define (f n) (lambda (w) (let loop ((i 0) (y w)) (if (= i n) (sum y) (loop (+ i 1) (if (even? (quotient i n)) (* y w) (+ y w)))))))\n"
           "(let loop ((n 1)) (*j (f n) w 1) (loop (+ 1 (remainder (* 7 n) 999))))", STOPPED, options=("--device=emulated,memory=64KiB,host=64MiB",)),
    Attack("one operation larger than a device", "(define m (fill '(1000 1000) 1.))\n(matmul m m)", OVER, options=("--device=emulated,memory=4MiB,host=64MiB",)),
    Attack("gradients that keep less on a small device, again and again",
           "(define w (randn '(16 16)))\n(define (f x) (let loop ((i 0) (x x)) (if (= i 60) (sumall x) (loop (+ i 1) (tanh (matmul x w))))))\n"
           "(let loop () (checkpoint-*j f (fill '(64 16) .5) 1) (loop))", STOPPED, options=("--device=emulated,memory=96KiB",)),
    Attack("a gradient whose parameters grow on a small device",
           "(define w (randn '(16 16)))\n(define (f x) (let loop ((i 0) (x x)) (if (= i 60) (sumall x) (loop (+ i 1) (tanh (matmul x w))))))\n"
           "(let loop ((n 16)) (checkpoint-*j f (fill (list n 16) .5) 1) (loop (+ n 16)))", OVER, "what would have been enough for this operation: memory=",
           options=("--device=emulated,memory=96KiB",)),
    Attack("a device that is none", "(to-device (fill '(1) 1.) (string->symbol (make-string 1000000 #\\a)))", ERROR),
]

STATES = [
    Attack("saving a stretched tensor", STRETCHED + "(define (f t n) (if (= n 0) t (f t (- n 1))))\n(f wide 1000)", STOPPED, limits=OUTPUT,
           options=("--steps=500", "--save=state.capsule")),
    Attack("saving a tensor without elements", "(define (f t n) (if (= n 0) t (f t (- n 1))))\n(f (fill '(1000000000000 0) 1.) 1000)", STOPPED, limits=OUTPUT,
           options=("--steps=500", "--save=state.capsule")),
    Attack("saving a large tensor", "(define (f t n) (if (= n 0) t (f t (- n 1))))\n(f (fill '(24000000) 1. 'f64) 1000)", (OVER, STOPPED), memory=200 << 20, limits=OUTPUT,
           options=("--steps=500", "--save=state.capsule"), cancelled=False),
    Attack("saving a long list", "(define (f l n) (if (= n 0) l (f l (- n 1))))\n(f (iota 3000000) 1000000)", (OVER, STOPPED), memory=100 << 20, limits=OUTPUT,
           options=("--steps=30000000", "--save=state.capsule"), cancelled=False),
    Attack("resuming a state that does not fit", "(define (f l n) (if (= n 0) l (f l (- n 1))))\n(f (iota 2000000) 100000000)", OVER,
           before=(("vmrun", "--memory=1GiB", "--steps=25000000", "--save=state.capsule", "attack.scm"),),
           command=("vmrun", "--resume=state.capsule"), cancelled=False),
    Attack("resuming many small objects", "(define (f l n) (if (= n 0) l (f l (- n 1))))\n(f (build-list 300000 (lambda (i) (vector i (make-string 3 #\\a)))) 100000000)", OVER,
           before=(("vmrun", "--memory=1GiB", "--steps=25000000", "--save=state.capsule", "attack.scm"),),
           command=("vmrun", "--resume=state.capsule"), cancelled=False),
    *(Attack(f"{what}, with nothing behind for 600 MB", "", code, files={name: head}, sizes={name: 600_000_000}, command=("vmrun", argument), cancelled=False)
      for what, name, head, argument, code in (
        ("running a file of nothing", "x.bc", "", "x.bc", BAD),
        ("resuming a file of nothing", "x.capsule", "", "--resume=x.capsule", BAD),
        ("resuming the head of a state", "x.capsule", "\x01CAIRNAP", "--resume=x.capsule", OVER))),
    Attack("resuming nothing", "", BAD, command=("vmrun", "--resume=/dev/null"), cancelled=False),
    Attack("resuming a text", "(display 1)", BAD, command=("vmrun", "--resume=attack.scm"), cancelled=False),
]


def lone_tiff(entries, behind=b"end"):
    """One page of these entries (tag, type, count, value or place), and bytes behind it."""
    return (b"II*\0\x08\0\0\0" + struct.pack("<H", max(1, len(entries))) + b"".join(struct.pack("<HHII", *entry) for entry in entries or [(1, 3, 1, 1)]) + b"\0\0\0\0" + behind)


DATA = [
    Attack("a header that says it is longer than any file", "(read-safetensors \"a.safetensors\")", ERROR, "read-safetensors", files={"a.safetensors": "A" * 4000}),
    Attack("a header of brackets", "(read-safetensors \"a.safetensors\")", ERROR, "read-safetensors", files={"a.safetensors": "\0\0\1\0\0\0\0\0" + "{\"a\":" * 20000}),
    Attack("a header as long as it may be", "(read-safetensors \"a.safetensors\")", (ERROR, OVER), files={"a.safetensors": "\0\0\0\5\0\0\0\0{\""}, sizes={"a.safetensors": 90_000_000}),
    Attack("an array of more elements than there are atoms", "(read-npy \"a.npy\")", ERROR, "read-npy",
           files={"a.npy": "x" * 6 + "\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }"}),
    Attack("a table of quotes", "(read-csv \"a.csv\")", (ERROR, OVER), files={"a.csv": '"' + "a" * 3_000_000}),
    Attack("a table of commas", "(read-csv \"a.csv\")", OVER, files={"a.csv": "," * 3_000_000}),
    Attack("a table of lines", "(read-csv \"a.csv\")", OVER, files={"a.csv": "1\n" * 2_000_000}),
    Attack("a table with a text that does not end", "(read-table \"a.csv\")", ERROR, files={"a.csv": '"' + "a\n" * 100_000}),
    Attack("a table of commas with texts", "(read-table \"a.csv\")", OVER, files={"a.csv": "a" + "," * 1_000_000}),
    Attack("a table of carriage returns", "(read-csv \"a.csv\")", (ENDED, OVER), files={"a.csv": "\r" * 3_000_000}),
    Attack("a table of lines that end with carriage returns alone", "(read-csv \"a.csv\")", (ENDED, OVER), files={"a.csv": "1,2\r" * 500_000}),
    Attack("a table of texts whose lines end with carriage returns alone", "(read-table \"a.csv\")", ENDED, files={"a.csv": "a,2\r" * 200_000}),
    *(Attack(f"IDX, {name}", "(read-rows (idx-array \"a.idx\") 0 1)", ERROR, "idx-array", files={"a.idx": bytes.fromhex(content)}) for name, content in (
        ("of more elements than there are atoms", "00000803" + "ffffffff" * 3),
        ("whose sizes multiply to nothing beyond 64 bits", "00000803" + "80000000" * 2 + "00000004"),
        ("of more axes than it has bytes", "000008ff" + "00000001" * 8),
        ("of more axes than a tensor", "00000d11" + "00000000" * 17),
        ("of no axes", "00000800"),
        ("of elements of a type that is none", "00000f01" + "00000001" + "00"),
        ("that ends in its sizes", "0000080300000001"),
        ("that is compressed", "1f8b0800"))),
    Attack("IDX of eight axes of which one has nothing, shown", "(write (read-idx \"a.idx\"))", ENDED,
           files={"a.idx": bytes.fromhex("00000d08" + "ffffffff" * 7 + "00000000")}),
    Attack("IDX of which the first axis alone has nothing", "(read-idx \"a.idx\")", ERROR, "a.idx: sizes that multiply to more than any file has",
           files={"a.idx": bytes.fromhex("00000d04" + "00000000" + "ffffffff" * 3)}),
    Attack("IDX of rows without bytes", "(read-rows (idx-array \"a.idx\") 0 4294967295)", ENDED, files={"a.idx": bytes.fromhex("00000802ffffffff00000000")}),
    Attack("IDX of nearly nothing, with nothing behind", "(read-rows (idx-array \"a.idx\") 0 1000000)", OVER, files={"a.idx": bytes.fromhex("00000802" + "7fffffff" + "00001000")},
           sizes={"a.idx": 12 + 0x7FFFFFFF * 4096}),
    Attack("CIFAR of half a record", "(read-rows (cifar-array \"a.bin\") 0 1)", ERROR, "cifar-array", files={"a.bin": "1"}, sizes={"a.bin": 3072}),
    Attack("CIFAR of labels without number", "(read-rows (cifar-array \"a.bin\" 140737488355327) 0 1)", ERROR, "cifar-array", files={"a.bin": "1"}, sizes={"a.bin": 3073}),
    Attack("CIFAR of fewer than no labels", "(read-rows (cifar-array \"a.bin\" -3072) 0 1)", ERROR, "cifar-array", files={"a.bin": "1"}, sizes={"a.bin": 3073}),
    Attack("CIFAR of nothing without end", "(read-rows (cifar-array \"a.bin\") 0 100000000)", OVER, files={"a.bin": "1"}, sizes={"a.bin": 3073 * 100_000_000}),
    Attack("images of records that are none", "(cifar-images (expand-tensor (fill '(1 1) 1 'u8) '(1000000000000 3073)))", ENDED),
    *(Attack(f"a window of {what}", f"(windows (ones '(5)) {what})", ERROR, "windows: the length of a window is an integer above 0") for what in ("-1", "0", "1.5", "+nan.0", "'x")),
    Attack("windows without end", "(windows '(\"a.bin\" u8 0 (1000000000000 1)) 140737488355327)", ERROR, "windows", files={"a.bin": "1"}),
    *(Attack(f"a picture of {name}", f"(plot-lines \"a.svg\" '((width {width})) '(1 2 3))", ERROR, "the value of width is a number from 160 to 10000", files={}) for name, width in (
        ("negative width", "-5"), ("no width", "0"), ("endless width", "+inf.0"), ("a width that is no number", "+nan.0"), ("giant width", "1e300"))),
    Attack("a heat map of NaN", "(plot-heat-map \"a.svg\" '() (fill '(3 3) +nan.0))\n(plot-heat-map \"b.svg\" '() (fill '(3 3) +inf.0))\n(plot-image \"c.svg\" '() (fill '(3 3 3) +nan.0))", ENDED),
    Attack("a heat map of numbers too far apart", "(plot-heat-map \"a.svg\" '() (list->tensor '((1.7e308 -1.7e308)) 'f64))", ERROR, "too far apart"),
    *(Attack(f"a histogram of {what} bins", f"(plot-histogram \"a.svg\" '() '(1 2 3) {what})", ERROR, "how many bins is an integer from 1 to 10000") for what in ("-1", "0", "2.5", "+inf.0", "100000000000", "'x")),
    Attack("a histogram of what is no number", "(plot-histogram \"a.svg\" '() '(1 x 3))", ERROR, "plot-histogram: expected a list or tensor of numbers"),
    Attack("a histogram of a doubled list", DOUBLED_NUMBER + "(plot-histogram \"a.svg\" '() big)", ERROR),
    Attack("a plot of a stretched tensor", STRETCHED + "(plot-lines \"a.svg\" '() wide)", OVER),
    Attack("a plot of a million points", "(plot-scatter \"a.svg\" '() (iota 1000000))", (OVER, STOPPED)),
    Attack("a legend that is higher than its picture", "(apply plot-lines \"a.svg\" '((height 160) (width 160)) (build-list 100 (lambda (i) (cons \"a series with a name\" '(1 2)))))", ERROR, "the legend leaves no room"),
    Attack("parameters of one name", "(save-parameters \"a.safetensors\" '((w 1 2) (w 3 4)))", ERROR, "save-parameters: two parameters have the name w.0, by symbols that lists begin with; by indices they are \"0.1\" \"1.1\""),
    *(Attack(f"a gradient clipped to a norm of {most}", f"(import network)\n(clip-by-norm {most} (ones '(2)))", ERROR, "clip-by-norm: the largest norm is a number that is not negative")
      for most in ("-1", "+nan.0", "'x", "(ones '(1))")),
    Attack("JSON of a dictionary", "(json->string (dict 'a 1))", ERROR, "json->string: a dictionary is none of the values that JSON has; (dict->list d)"),
    Attack("an annotation at an endless time", "(read-edf \"a.edf\")", ERROR, "an annotation is damaged", files={"a.edf": edf_of("+1e999")}),
    Attack("records of an endless duration", "(read-edf \"a.edf\")", ERROR, "a field of its header is no number", files={"a.edf": edf_of("+1", duration="1e999")}),
    Attack("records of a duration of nearly nothing", "(read-edf \"a.edf\")", ERROR, "the duration of its records is none", files={"a.edf": edf_of("+1", duration="1e-320")}),
    Attack("signals of an endless range", "(read-edf \"a.edf\")", ERROR, "the range of a signal is too wide", files={"a.edf": edf_of("+1", most="1.7e308", least="-1.7e308")}),
    Attack("merges that are no text", "(read-bpe \"v\" \"m\")", ERROR, "read-bpe: m: has bytes that are no text in UTF-8 (byte 16)", files={"v": VOCABULARY, "m": b"#version: 0.2\nab\xff c\n"}),
    Attack("an archive with an array that is none", "(read-npz \"a.npz\")", ERROR, "read-npz: a.npz: its member a.npy: is no file of NumPy's format npy", files={"a.npz": archive_of(b"x" * 200)}),
    Attack("bytes of a file that has nearly none", "(read-bytes \"a.bin\")", OVER, "memory budget", files={"a.bin": ""}, sizes={"a.bin": 1 << 40}),
    Attack("the last bytes of a file without end", "(define n (- (file-size \"a.bin\") 1))\n(let loop ((i n) (s 0)) (loop (- i 70000) (+ s (sumall (read-bytes \"a.bin\" i 1)))))",
           (OVER, STOPPED), files={"a.bin": ""}, sizes={"a.bin": 1 << 40}),
    Attack("a text of nothing", "(read-text \"a.bin\")", OVER, files={"a.bin": ""}, sizes={"a.bin": 50 << 20}),
    Attack("the host's own file written over", "(write-text \"d/../p\" \"nothing happened\")", ERROR, "is the file of --profile", options=("--profile=p",), files={"p": ""}),
    Attack("the host's own output written over", "(display 1)\n(let loop () (call-with-error-handler list (lambda () (write-text \"out\" \"nothing\"))) (loop))", STOPPED),
    Attack("files without end", "(let loop ((i 0)) (write-text (string-append \"f\" (number->string i)) \"some text\") (loop (+ i 1)))", (OVER, STOPPED),
           limits=("--output-limit=1MiB",) + STEPS + WORK),  # the system takes up to a millisecond for each
    Attack("empty files without end", "(let loop ((i 0)) (write-text (string-append \"f\" (number->string i)) \"\") (loop (+ i 1)))", OVER, "may write", limits=("--output-limit=1MiB",) + STEPS + WORK),
    Attack("files by tiles without end", "(let loop () (tiled->npy \"f\" (lambda (x) (* x 1)) (ones '(1 1 1 1)) 1) (loop))", OVER, "may write", limits=("--output-limit=1MiB",) + STEPS + WORK),
    *(Attack(f"a file by tiles that no disk holds, {form} of {most} by {most}", f"({form} \"f\" (lambda (x) (* x 1)) (expand-tensor (fill '(1 1 1 1) 1 'u8) '(1 1 {most} {most})) {most})", code, message, memory=1 << 30)
      for form, most, code, message in (("tiled->npy", 10**6, OVER, "may write"), ("tiled->tiff", 10**6, OVER, "may write"), ("tiled->npy", 10**13, ERROR, ""), ("tiled->tiff", 10**13, ERROR, ""))),
    Attack("the host's own file written over by tiles", "(tiled->npy \"d/../p\" (lambda (x) (* x 1)) (ones '(1 1 4 4)) 2)", ERROR, "is the file of --profile", options=("--profile=p",), files={"p": ""}),
    Attack("files by tiles that others cut before they are finished", "(let loop () (tiled->npy \"f\" (lambda (x) (* x 1)) (ones '(1 1 64 64)) 32) (loop))", (OVER, STOPPED), meanwhile=cut_unfinished_files),
    Attack("a file that grows", "(let loop ((t \"x\")) (write-text \"f\" t) (loop (string-append t t)))", OVER),
    Attack("a file outside", "(read-text \"../../../../../../../../etc/passwd\")", ERROR, "--read"),
    Attack("a device", "(read-text \"/dev/zero\")", ERROR, "--read"),
    Attack("a header of an array in a loop", "(define (f i) (begin (npy-array \"a.npy\") (f (+ i 1))))\n(f 0)", ERROR, "npy-array", files={"a.npy": "x" * 4000}),
    *(Attack(f"a TIFF {name}", "(read-region (tiff-array \"a.tif\") '(0 0 0 0) '(1 1 1 1))", kinds, message, files={"a.tif": content}) for name, content, kinds, message in (
        ("of more samples than there are atoms", lone_tiff([(256, 4, 1, 2**31 - 1), (257, 4, 1, 2**31 - 1), (258, 3, 1, 8), (277, 3, 1, 65535), (273, 4, 1, 8), (279, 4, 1, 8)]), ERROR, "multiply to more than any file has"),
        ("of one tile without end", lone_tiff([(256, 4, 1, 9), (257, 4, 1, 9), (258, 3, 1, 8), (259, 3, 1, 5), (322, 4, 1, 2**29), (323, 4, 1, 2**29), (324, 4, 1, 8), (325, 4, 1, 8)]), ERROR, "decoded as a whole"),
        ("of a tile that its bytes cannot be", lone_tiff([(256, 4, 1, 9), (257, 4, 1, 9), (258, 3, 1, 8), (259, 3, 1, 8), (322, 4, 1, 8192), (323, 4, 1, 8192), (324, 4, 1, 8), (325, 4, 1, 8)]), ERROR, "which are too few for 67108864"),
        ("of a JPEG that is much larger than it says", lone_tiff([(256, 4, 1, 8192), (257, 4, 1, 8192), (258, 3, 1, 8), (259, 3, 1, 7), (262, 3, 1, 1), (273, 4, 1, 8), (278, 4, 1, 8192), (279, 4, 1, 8)]), (OVER, ERROR, STOPPED), ""),
        ("of entries that all state all of the file", lone_tiff([(256, 4, 1, 9), (257, 4, 1, 9)] + [(n, 7, 50000, 8) for n in range(40000, 44000)]), ERROR, "1 bits"))),
    Attack("pages of a TIFF in a circle", "(tiff-array \"a.tif\" 140737488355327)", ERROR, "pages are looked for up to 65536", files={"a.tif": lone_tiff([]).replace(b"\0\0\0\0end", b"\x08\0\0\0end")}),
    Attack("regions of a TIFF without end", "(define a (tiff-array \"a.tif\"))\n(define (f i) (begin (read-region a (list 0 0 (remainder i 10) 0) '(1 1 1 9)) (f (+ i 1))))\n(f 0)", STOPPED,
           files={"a.tif": lone_tiff([(256, 4, 1, 9), (257, 4, 1, 11), (258, 3, 1, 8), (273, 4, 1, 8), (279, 4, 1, 99)], bytes(200))}),
    Attack("one image of a TIFF many times", "(define (many n) (if (= n 0) '() (cons 0 (many (- n 1)))))\n(read-rows (tiff-array \"a.tif\") (many 100000))", OVER,
           files={"a.tif": lone_tiff([(256, 4, 1, 1000), (257, 4, 1, 1000), (258, 3, 1, 8), (273, 4, 1, 0), (279, 4, 1, 1000000)])}, sizes={"a.tif": 1_000_000}),
    Attack("rows that there are no atoms for", "(read-rows '(\"a.bin\" f64 0 (1000000000000 1000000)) '(0))", ERROR, "read-rows", files={"a.bin": "12345678"}),
    Attack("rows that multiply to nothing", "(read-rows '(\"a.bin\" f64 0 (4294967296 4294967296 0)) '(4294967295))", (ENDED, ERROR), files={"a.bin": "1"}),
    Attack("one row many times", "(define (many n) (if (= n 0) '() (cons 0 (many (- n 1)))))\n(read-rows '(\"a.bin\" u8 0 (1 1000000)) (many 100000))", OVER, files={"a.bin": ""}, sizes={"a.bin": 1_000_000}),
    Attack("rows without bytes without end", "(read-rows '(\"a.bin\" u8 0 (1 0)) (expand-tensor (zeros '(1)) '(20000000000)))", OVER, files={"a.bin": "1"}),
    Attack("rows ahead without end", "(define (f i) (begin (read-ahead '(\"a.bin\" u8 0 (1000 1000000)) (list (remainder i 1000))) (f (+ i 1))))\n(f 0)", STOPPED, files={"a.bin": ""}, sizes={"a.bin": 1_000_000_000}),
    Attack("rows ahead for which there is no room", "(define (f i) (begin (read-ahead '(\"a.bin\" u8 0 (10 100000000)) '(1 2 3)) (f (+ i 1))))\n(f 0)", STOPPED, files={"a.bin": ""}, sizes={"a.bin": 1_000_000_000}),
    Attack("one row ahead many times", "(define (many n) (if (= n 0) '() (cons 0 (many (- n 1)))))\n(read-ahead '(\"a.bin\" u8 0 (1 1000000)) (many 100000))", (ENDED, STOPPED), files={"a.bin": ""}, sizes={"a.bin": 1_000_000}),
    Attack("rows ahead, overlapping without end", "(read-ahead '(\"a.bin\" u8 0 (1000000000000 1) 0) 0 1000000000000)", ENDED, files={"a.bin": "1"}),
    Attack("pictures that say they are larger than any", "(define a (picture-array '(\"a.png\") 8 8))(read-ahead a '(0))(read-rows a '(0))", (ERROR, OVER), files={"a.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0"}),
    Attack("pictures of sizes without end", "(write-png \"a.png\" (ones '(2 2) 'u8))(read-rows (picture-array '(\"a.png\") 32768 32768) '(0))", OVER),
    Attack("an order of more numbers than there is memory for", "(shuffled-indices 100000000000 1 1)", OVER),
    Attack("orders without end", "(define (f e) (begin (shuffled-indices 100000 1 e) (f (+ e 1))))\n(f 0)", (OVER, STOPPED)),
    Attack("a folder listed without end", "(define (f i) (begin (list-folder \".\") (f (+ i 1))))\n(f 0)", STOPPED),
    Attack("a folder outside", "(list-folder \"../../../../../../../../etc\")", ERROR, "--read"),
    Attack("a folder that grows", "(let loop ((i 0)) (list-folder \".\") (write-text (string-append \"f\" (number->string i)) \"x\") (loop (+ i 1)))", (OVER, STOPPED),
           limits=("--output-limit=1KiB",) + STEPS + WORK),
    Attack("lines without an end", "(read-lines \"a.txt\")", OVER, files={"a.txt": ""}, sizes={"a.txt": 1 << 33}),
    Attack("lines of nothing", "(read-lines \"a.txt\")", OVER, files={"a.txt": "\n" * 3_000_000}),
    Attack("brackets", "(read-json \"a.json\")", (ERROR, OVER), files={"a.json": "[" * 3_000_000}),
    Attack("brackets in brackets", "(write-json \"b.json\" (read-json \"a.json\"))", (ENDED, OVER), files={"a.json": "[" * 300_000 + "]" * 300_000}, memory=128 << 20),
    Attack("objects in objects", "(read-json \"a.json\")", (ERROR, OVER), files={"a.json": "{\"a\":" * 1_000_000}),
    Attack("a text of JSON without an end", "(read-json \"a.json\")", (ERROR, OVER), files={"a.json": "\"" + "a" * 8_000_000}),
    Attack("a number of JSON without an end", "(read-json \"a.json\")", ENDED, files={"a.json": "1" * 4_000_000}),
    Attack("JSON of what doubles", DOUBLED.replace("'x", "'()") + "(json->string big)", OVER),
    Attack("JSON of vectors of vectors", DOUBLED_VECTOR + "(json->string big)", OVER),
    Attack("JSON of a stretched tensor", STRETCHED + "(json->string wide)", OVER),
    Attack("JSON of empty arrays without end", "(json->string (fill '(100000 100000 0) 1.))", OVER),
    *(Attack(f"write-table {name}", text, code, says) for name, text, code, says in (
        ("of a stretched tensor", STRETCHED + "(write-table \"a.csv\" '(\"a\") (list wide))", OVER, ""),
        ("of columns without number", "(define l (iota 1000))\n(write-table \"a.csv\" '() (build-list 100000 (lambda (i) l)))", (OVER, STOPPED), ""),
        ("of a doubled list", DOUBLED_NUMBER + "(write-table \"a.csv\" '(\"a\") (list big))", ERROR, "write-table"),
        ("again and again", "(let loop () (write-table \"a.csv\" '(\"a\") (list '(1 2 3))) (loop))", OVER, "may write"),
        ("of columns of different lengths", "(write-table \"a.csv\" '(\"a\" \"b\") '((1 2) (3)))", ERROR, "equally long"))),
    Attack("reports without end", "(define (f i) (report 'a i) (f (+ i 1))) (f 0)", OVER, "the program may write", options=("--metrics=m.csv", "--events=e", "--report=r.html")),
    Attack("reports under ever new names", "(define (f i) (report (number->string i) i 'a i) (f (+ i 1))) (f 0)", OVER, "the program may write", options=("--metrics=m.csv", "--events=e", "--report=r.html")),
    Attack("reports under ever new names in a long table", """(define (f n) (if (> n 0) (begin (report 'a n) (f (- n 1)))))
(define (g i) (if (< i 1500) (begin (report (number->string i) i) (g (+ i 1))))) (f 70000) (g 0)""", ENDED, limits=("--steps=30000000",), options=("--metrics=m.csv",)),
    Attack("a report of what doubles", DOUBLED + "(report 'a big)", ERROR, "report: expected a number"),
    Attack("a report of a stretched tensor", STRETCHED + "(report 'a wide)", ERROR, "which has not one element"),
    Attack("a report of very many numbers", "(apply report (iota 100000))", ERROR, "report: expected a name"),
    Attack("a report under a name of a megabyte", "(report (make-string 1000000 #\\a) 1)", ERROR, "is no name for a number"),
    Attack("a table of a stretched matrix", SQUARE + "(write-csv \"a.csv\" m)", OVER),
    Attack("a picture that says it is larger than any", "(read-image \"a.png\")", (ERROR, OVER), files={"a.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0"}),
    Attack("a picture that says it is one, for 50 MB", "(read-image \"a.jpg\")", (ERROR, OVER), files={"a.jpg": b"\xff\xd8\xff"}, sizes={"a.jpg": 50_000_000}),
    Attack("a picture of a stretched tensor", "(write-png \"a.png\" (expand-tensor (fill '(1 1 1) 1 'u8) '(1000000 1000000 3)))", OVER),
    Attack("an archive of nothing", "(read-npz \"a.npz\")", (ERROR, OVER), files={"a.npz": ""}, sizes={"a.npz": 1 << 33}),
    Attack("an archive of a stretched tensor", STRETCHED + "(write-npz \"a.npz\" (list (cons \"a\" wide)) #t)", OVER),
    Attack("a vocabulary of one token with a large number", "(read-bpe \"v\" \"m\")", ERROR, "read-bpe", files={"v": "{\"a\": 4294967295}", "m": ""}),
    Attack("a vocabulary of nothing", "(read-bpe \"v\" \"m\")", STOPPED, files={"v": "", "m": ""}, sizes={"v": 20_000_000}),
    Attack("a part of a text without an end", "(define (text n) (if (= n 0) \"a\" (let ((t (text (- n 1)))) (string-append t t))))\n(tokenize (byte-tokenizer) (text 22))", STOPPED),
    Attack("special tokens without number", "(define (text n) (if (= n 0) \"ab\" (let ((t (text (- n 1)))) (string-append t t))))\n"
           "(tokenize (byte-tokenizer) (text 17) (cons '(\"a\" . 1) (build-list 50000 (lambda (i) (cons (string-append \"b\" (number->string i)) i)))))", (OVER, STOPPED)),
    Attack("special tokens that are looked for in a vocabulary", "(define l (build-list 100000 (lambda (i) (number->string i))))\n(tokenize (byte-tokenizer) \"a\" l)", ERROR, "the vocabulary has no token"),
    Attack("blanks without an end", "(define (text n) (if (= n 0) \" \" (let ((t (text (- n 1)))) (string-append t t))))\n(tokenize (byte-tokenizer) (text 22))", STOPPED),
    Attack("a negative count of numbers between two", "(linspace 0 1 -1)", ERROR, "linspace: how many numbers is a count, got -1"),
    Attack("a negative count of draws", "(multinomial (ones '(2 2)) -1)", ERROR, "multinomial: how many are drawn is a count, got -1"),
    Attack("an unbound name of 10 MB", "a" * 10_000_000, BAD, "unbound name '" + "a" * 100),
    Attack("a recording of more signals than it has bytes", "(read-edf \"a.edf\")", ERROR, "read-edf", files={"a.edf": "0       " + " " * 176 + "2560256 " + " " * 44 + "1       1       9999"}),
    Attack("a file within a gradient, written and read", "(define (f x) (let loop ((i 0) (x x)) (if (= i 3000) x (begin (write-text \"f\" (number->string i)) (loop (+ i 1) (* x (file-size \"f\")))))))\n"
           "(checkpoint-*j f .5 1)", ERROR),
]

LAYERS = ("(define w (* .1 (randn '(128 128))))\n(define (f n) (lambda (w) (let loop ((i 0) (x (fill '(128 128) .5))) (if (= i n) (sumall x) (loop (+ i 1) (tanh (matmul x w)))))))\n")
SPILLING = [
    Attack("gradients that want more of a disk than they may have", LAYERS + "(let loop ((n 20)) (checkpoint-*j (f n) w 1) (loop (+ n 20)))", (STOPPED, OVER),
           options=("--spill=.,1MiB", "--costs=c"), memory=12 << 20, limits=("--work=8000000000",), files={"c": "spill 0\nproduct 1\nflop 1\nbyte 1\n"}, cancelled=False),
    Attack("a gradient in a file within another", LAYERS + "(checkpoint-*j (lambda (a) (car (checkpoint-*j (f 60) (* a w) 1))) 1. 1.)", ENDED,
           options=("--spill=.,100MiB", "--costs=c"), memory=12 << 20, limits=("--work=8000000000",), files={"c": "spill 0\nproduct 1\nflop 1\nbyte 1\n"}, cancelled=False),
    Attack("gradients in a file, encoded, of nothing but zeros and of numbers that nothing makes less",
           LAYERS.replace(".1", "0") + "(define (g w) (let loop ((i 0) (x (fill '(128 128) .5))) (if (= i 60) (sumall x) (loop (+ i 1) (* (rand '(128 128)) (matmul x w))))))\n"
           "(let loop () (checkpoint-*j (f 60) w 1) (checkpoint-*j g (randn '(128 128)) 1) (loop))", STOPPED,
           options=("--spill=.,100MiB", "--spill-encoding=always", "--costs=c"), memory=12 << 20, limits=("--work=8000000000",), files={"c": "spill 0\nproduct 1\nflop 1\nbyte 1\n"}, cancelled=False),
    Attack("tapes in a file, given up by errors without end",
           LAYERS + "(define (g w) (let ((y ((f 60) w))) (if (> y -1e9) (car '()) y)))\n(let loop () (call-with-error-handler list (lambda () (checkpoint-*j g w 1))) (loop))", STOPPED,
           options=("--spill=.,2MiB", "--costs=c"), memory=12 << 20, limits=("--work=8000000000",), files={"c": "spill 0\nproduct 1\nflop 1\nbyte 1\n"}, cancelled=False),
]

# Plans as values. What is recorded and followed is six products of two tensors of LEAF bytes; plans that lie are made from an honest one's procedure.
LEAF = 8192
SMALL = "--device=emulated,memory=28KiB,host=8MiB"
FOLLOWED = ("(define (f l) (let loop ((i 0) (s (car l))) (if (= i 6) (sumall s) (loop (+ i 1) (tanh (* s (cadr l)))))))\n"
            "(define l (list (ones '(64 32)) (ones '(64 32))))\n")
HONEST = {"record.scm": FOLLOWED + '(write-npy "honest.npy" (cadr (get-streaming-plan f l)))'}
RECORDED = (("vmrun", SMALL, "record.scm"),)
ENDLESS_PLAN = "(define (run n t) (if (= n 0) t (run (- n 1) (tanh t))))\n(define t (fill '(4) .5))\n"


def lying(blocks, launches, changes=None):
    """A plan of the two leaves and other blocks, made when the procedure is known. Leaves come first unless all blocks are named."""
    return {"plan.npy": lambda folder: plans.array_of(plans.plan_of(plans.program_of((folder / "honest.npy").read_bytes()), blocks, launches, changes))}


def spoilt(change):
    """The honest plan after `change`, with a right checksum."""
    def made(folder):
        array = (folder / "honest.npy").read_bytes()
        return plans.array_of(plans.sealed(change(array[10 + int.from_bytes(array[8:10], "little"):])))
    return {"plan.npy": made}


LEAVES = [(plans.leaf(0), LEAF), (plans.leaf(1), LEAF)]
READ_BOTH = (1, [(0, 0), (1, 0)])
MANY = range(100_000)
AGAIN = '(define p (to-device (read-npy "plan.npy") \'cpu))\n(let loop () (call-with-streaming-plan p f l) (loop))'
ONCE = '(call-with-streaming-plan (read-npy "plan.npy") f l)'
LIES = [
    Attack(f"a plan that lies, {name}", FOLLOWED + text, code, says, options=(SMALL,), memory=memory << 20, files=HONEST, before=RECORDED, made=made)
    for name, text, code, says, memory, made in (
        ("of blocks of hundreds of TiB", AGAIN, STOPPED, "", 64, lying([(plans.born(i), 1 << 48) for i in range(20_000)] + LEAVES,
         [(1, [(i, 1) for i in range(20_000)] + [(20_000, 0), (20_001, 0)])], {0: [(i, 1) for i in range(20_000)]})),
        ("of more blocks than there is memory for", AGAIN, OVER, "memory budget", 32, lying([(plans.born(i), 1 << 40) for i in MANY] + LEAVES,
         [(1, [(i, 1) for i in MANY] + [(len(MANY), 0), (len(MANY) + 1, 0)])], {0: [(i, 1) for i in MANY]})),
        ("of one block larger than any", ONCE, ERROR, "too large", 32, lying(LEAVES + [(plans.born(0), 1 << 62)], [(1, [(0, 0), (1, 0), (2, 1)])])),
        ("that says it has four billion blocks", ONCE, ERROR, "makes no sense", 32, spoilt(lambda plan: plan[:32] + b"\xff" * 4 + plan[36:])),
        ("of a name that comes twice", ONCE, ERROR, "is there twice", 32, lying(LEAVES + [(plans.leaf(1), LEAF)], [READ_BOTH, (1, [(2, 0)])])),
        ("of launches that do nothing", AGAIN, STOPPED, "", 64, lying(LEAVES, [(1, [(0, 0)])] + [(1, [])] * 200_000 + [(1, [(1, 0)])])),
        ("of launches that take two weeks", AGAIN, STOPPED, "", 32, lying(LEAVES, [((1 << 58) - 1, READ_BOTH[1])] * 3)),
        ("of launches that take longer", ONCE, ERROR, "longer than a plan can be", 32, lying(LEAVES, [(1 << 60, READ_BOTH[1])] * 3)),
        ("of leaves that come and go all the time", AGAIN, STOPPED, "", 64, lying(LEAVES, [(10**6, [(i % 2, 0)]) for i in range(20_000)])),
        ("of a launch with very many operands", AGAIN, STOPPED, "", 64, lying(LEAVES + [(plans.born(i), 100) for i in range(20_000)],
         [(1, [(0, 0), (1, 0)] + [(2 + i, 2) for i in range(20_000)])] * 4)),
        ("of other leaves", ONCE, ERROR, "the plan uses leaf 7", 32, lying([(plans.leaf(7), LEAF)], [(1, [(0, 0)])])),
        ("of leaves of other sizes", ONCE, ERROR, "in the plan and 8192 here", 32, lying([(plans.leaf(0), LEAF + 1)], [(1, [(0, 0)])])),
        ("that is empty", AGAIN, STOPPED, "", 32, lying([], [])),
        ("in every order of its bytes", '(define p (read-npy "plan.npy"))\n(define (f n) (call-with-error-handler list (lambda () (call-with-streaming-plan (index p (list n #f)) car l))) (f (+ n 1)))\n(f 0)',
         (STOPPED, ERROR), "", 32, spoilt(lambda plan: plan)))
]
PLANS = LIES + [
    Attack(f"plans as values, {name}", ENDLESS_PLAN + text, code, says, options=options or ("--device=emulated,memory=1MiB,host=8MiB",), memory=memory << 20,
           limits=OUTPUT + ("--steps=1000000",) + (() if code == OVER else WORK))
    for name, text, code, says, options, memory in (
        ("a recording without end", "(get-streaming-plan (lambda (t) (run -1 t)) t)", OVER, "memory budget", (), 8),
        ("a recording without end, of products", "(define m (fill '(64 64) .1))\n(define (f m) (f (matmul m m)))\n(get-streaming-plan f m)", (OVER, STOPPED), "", (), 32),
        ("recordings within each other without end", "(define (f t) (get-streaming-plan f (tanh t)))\n(f t)", (OVER, STOPPED), "", (), 32),
        ("recordings one after the other", "(define (again) (get-streaming-plan (lambda (t) (run 50 t)) t) (again))\n(again)", STOPPED, "", (), 32),
        ("plans that are all kept", "(define (again l) (again (cons (get-streaming-plan (lambda (t) (run 50 t)) t) l)))\n(again '())", (OVER, STOPPED), "", (), 8),
        ("plans followed within each other", "(define (g t) (run 5 t))\n(define p (get-streaming-plan g t))\n(define (f t) (call-with-streaming-plan p g t) (f (call-with-streaming-plan p g t)))\n"
         "(define q (get-streaming-plan (lambda (t) (run 200 t)) t))\n(call-with-streaming-plan p g t)\n(f t)", STOPPED, "", (), 32),
        ("a plan that follows itself without end", "(define (g t) (if (tensor? p) (call-with-streaming-plan p g t) t))\n(define p #f)\n(define q (cadr (get-streaming-plan g t)))\n"
         "(define (f p) (lambda (t) t))\n(define (h t) (call-with-streaming-plan r h t))\n(define r (get-streaming-plan (lambda (t) t) t))\n(h t)", ERROR, "of another procedure", (), 32),
        ("one recording gone on with thousands of times", "(define z (interrupt (lambda (t) (get-streaming-plan (lambda (t) (run 3000 t)) t)) t 20000))\n(let loop () (interrupt resume z 10) (loop))",
         STOPPED, "", (), 32),
        ("one recording kept thousands of times", "(define z (interrupt (lambda (t) (get-streaming-plan (lambda (t) (run 3000 t)) t)) t 20000))\n"
         "(let loop ((l '())) (loop (cons (interrupt resume z 10) l)))", (OVER, STOPPED), "", (), 32),
        ("of very many tensors", "(define l (build-list 60000 (lambda (i) (fill '() 1.))))\n(let loop () (get-streaming-plan car l) (loop))", (STOPPED, OVER), "", (), 128),
        ("of a list that doubles", DOUBLED.replace("'x", "(fill '(1) 1.)") + "(get-streaming-plan (lambda (x) 1) big)", ENDED, "", (), 32),
        ("bytes with strides", "(define p (cadr (get-streaming-plan (lambda (t) (run 5 t)) t)))\n(call-with-streaming-plan (index (concat-tensors (list p p) 0) '(0 #f 2)) car t)", ERROR, "no streaming plan", (), 32),
        ("bytes of a stretched tensor", "(call-with-streaming-plan (expand-tensor (fill '(1) 1 'u8) '(20000000000)) car t)", (OVER, STOPPED), "", (), 32),
        ("bytes that are none", "(call-with-streaming-plan (list 'plan (fill '(40) 1.)) car t)", ERROR, "expected a plan", (), 32),
        ("bytes in a matrix", "(call-with-streaming-plan (fill '(8 8) 1 'u8) car t)", ERROR, "expected a plan", (), 32),
        ("no bytes", "(call-with-streaming-plan (fill '(0) 1 'u8) car t)", ERROR, "no streaming plan", (), 32),
        ("bytes on the device that streams", "(define (f t) (run 5 t))\n(define p (get-streaming-plan f t))\n(call-with-streaming-plan (to-device (cadr p) 'streaming) f t)\n"
         "(call-with-streaming-plan (to-device (cadr p) 'gpu) f t)", ENDED, "", (), 32),
        ("a plan of another procedure with its name", "(define p (let () (define (f t) (run 5 t)) (get-streaming-plan f t)))\n(define q (let () (define (f t) (run 9 t)) (call-with-streaming-plan p f t)))", ENDED, "", (), 32),
        ("a plan in a gradient without end", "(define (f t) (run 5 t))\n(define p (get-streaming-plan f t))\n(checkpoint-*j (lambda (t) (let loop () (call-with-streaming-plan p f t) (loop))) t 1)", (OVER, STOPPED), "", (), 32),
        ("a procedure that is none", "(get-streaming-plan 1 t)", ERROR, "expected a procedure", (), 32),
        ("a recording that is resumed as itself", "(define z (interrupt (lambda (t) (get-streaming-plan (lambda (t) (run 100 t)) t)) t 300))\n(get-streaming-plan resume z)\n"
         "(let loop ((z z)) (loop (interrupt (lambda (z) (get-streaming-plan resume z)) z 20)))", (ERROR, STOPPED, OVER), "", (), 32),
        ("a policy that there is none of", "1", BAD, "policy", ("--device=emulated,memory=1MiB,host=8MiB,policy=" + "x" * 1000,), 32),
        ("a trace in a folder", "1", BAD, "trace", ("--device=emulated,memory=1MiB,host=8MiB", "--trace-file=."), 32),
        ("a trace in a folder that is none", "1", BAD, "trace", ("--device=emulated,memory=1MiB,host=8MiB", "--trace-file=none/t"), 32),
        ("a trace on a full disk", "(run -1 t)", (OVER, STOPPED, ERROR, BAD), "", ("--device=emulated,memory=1MiB,host=8MiB", "--trace-file=/dev/full"), 32))
]

TILES = [
    Attack("a doubled graph of recorded tensors", "(define x (ones '(1 1 4 4)))\n(display (size (tiled (lambda (x) (let loop ((i 0) (x x)) (if (= i 60) x (loop (+ i 1) (+ x x))))) x 2)))", ENDED),
    Attack("a doubled graph that is shown", "(display (tiled (lambda (x) (let loop ((i 0) (x x)) (if (= i 60) (begin (display x) 1) (loop (+ i 1) (+ x x))))) (ones '(1 1 4 4)) 2))", ENDED),
    Attack("doubled graphs that are compared", "(define (f x) (let loop ((i 0) (x x)) (if (= i 60) x (loop (+ i 1) (+ x x)))))\n(tiled (lambda (x) (equal? (f x) (f (* 1 x)))) (ones '(1 1 4 4)) 2)", ERROR, "the elements of this tensor are not known"),
    Attack("a graph without end", "(tiled (lambda (x) (let loop ((x x)) (loop (tanh x)))) (ones '(1 1 4 4)) 2)", (OVER, STOPPED)),
    Attack("a long graph", "(display (size (tiled (lambda (x) (let loop ((i 0) (x x)) (if (= i 20000) x (loop (+ i 1) (tanh x))))) (ones '(1 1 4 4)) 2)))", (ENDED, OVER, STOPPED)),
    Attack("millions of tiles", "(tiled tanh (expand-tensor (fill '(1 1 1 1) 1.) '(1 1 100000 100000)) 100000)", ERROR, "is needed at once"),
    Attack("recorded tensors that are made up", "(tiled (lambda (x) (vector '%recorded 'f32 '(1 1 4 4) 'cpu 'ReLU (list (vector '%recorded 'f32 '(1 1 9 9) 'cpu '%input 7 0 0)) 0 0)) (ones '(1 1 4 4)) 2)", (ERROR, ENDED)),
    Attack("a recorded tensor of no operator", "(tiled (lambda (x) (vector '%recorded 'f32 '(1 1 4 4) 'cpu 7 (list x) 0 0)) (ones '(1 1 4 4)) 2)", ERROR),
    Attack("a recorded tensor with operands that are none", "(tiled (lambda (x) (vector '%recorded 'f32 '(1 1 4 4) 'cpu 'ReLU 7 0 0)) (ones '(1 1 4 4)) 2)", ERROR),
    Attack("a recorded tensor of a huge shape", "(+ 1 (vector '%recorded 'f32 '(100000000000000 100000000000000 100000000000000) 'cpu '%input 0 0 0))", (ERROR, ENDED)),
    Attack("a recorded tensor of a place that is none", "(tiled (lambda (x) (vector '%recorded 'f32 '(1 1 4 4) 'cpu 'ReLU (list x) 0 'there)) (ones '(1 1 4 4)) 2)", (ERROR, ENDED)),
    Attack("a recorded tensor of a place beyond the program", "(tiled (lambda (x) (vector '%recorded 'f32 '(1 1 4 4) 'cpu 'ReLU (list x) 0 123456789012)) (ones '(1 1 4 4)) 2)", (ERROR, ENDED)),
    Attack("a key that is made up", "(display (dropout (ones '(4)) .5 (vector '%key -1 'x)))", ERROR),
    Attack("a key that is made up, of a part", "(display (tiled (lambda (x) (dropout x .5 (vector '%key 'x 1) '(0 0 0 0) '(1 1 4 4))) (ones '(1 1 4 4)) 2))", ERROR, "a key, which is an integer"),
    Attack("dropout of a part of something endless", "(dropout (ones '(1 1 2)) .5 7 '(0 0 0) '(3037000500 3037000500 4))", ERROR, "is not in a tensor of shape"),
    Attack("dropout of a part at the end of what there may be", "(sumall (dropout (ones '(2 1 2)) .5 7 '(9007199254740990 0 1) '(9007199254740992 1 3)))", ENDED),
    Attack("dropout of a stretched tensor by tiles", "(define x (expand-tensor (fill '(1 1 1 1) 1.) '(1 1 100000 100000)))\n(tiled (lambda (x) (max-pool (dropout x .5 7) 100)) x)", (OVER, STOPPED)),
    Attack("tiles of what does not fit", "(define x (expand-tensor (fill '(1 1 1 1) 1.) '(1 1 100000 100000)))\n(tiled (lambda (x) (softmax x 3)) x)", ERROR, "does not fit into the memory"),
    Attack("tiles of what does not fit, again and again", "(define x (expand-tensor (fill '(1 1 1 1) 1.) '(1 1 100000 100000)))\n(define (again) (call-with-error-handler (lambda (m l) 0) (lambda () (tiled (lambda (x) (softmax x 3)) x))))\n(let loop () (again) (loop))", STOPPED),
    Attack("tiles of what does not fit, with views around it", "(define x (expand-tensor (fill '(1 1 1 1) 1.) '(1 1 100000 100000)))\n(tiled (lambda (x) (tanh (view (permute (softmax (permute x '(0 2 3 1)) 1) '(0 3 2 1)) '(1 1 1000 10000000)))) x)", ERROR, "does not fit into the memory"),
    Attack("reports of tiles without end", "(define x (ones '(1 1 4 4)))\n(let loop () (tiled tanh x 2) (loop))", (OVER, STOPPED), options=("--explain",)),
    Attack("a report of a long graph", "(display (size (tiled (lambda (x) (let loop ((i 0) (x x)) (if (= i 20000) x (loop (+ i 1) (tanh x))))) (ones '(1 1 4 4)) 2)))", (ENDED, OVER, STOPPED), options=("--explain",)),
    Attack("a long graph of views", "(display (size (tiled (lambda (x) (let loop ((i 0) (x x)) (if (= i 2000) x (loop (+ i 1) (permute (view x '(1 2 1 2 4)) '(0 1 2 4 3)))))) (ones '(1 1 4 4)) 2)))", (ENDED, ERROR, OVER, STOPPED)),
    Attack("places that are moved without end", "(display (size (tiled (lambda (x) (let loop ((i 0) (x x)) (if (= i 3000) x (loop (+ i 1) (tanh (permute x '(0 2 3 1))))))) (ones '(1 4 4 4)) 2)))", (ENDED, OVER, STOPPED)),
    Attack("a graph of a long list", "(tiled (lambda (x) (stack (let loop ((i 0) (l '())) (if (= i 100000) l (loop (+ i 1) (cons x l)))) 4)) (ones '(1 1 4 4)) 2)", (ENDED, OVER, STOPPED)),
    Attack("tiles dealt over devices without number", "(tiled (lambda (x) (convolve x (ones '(1 1 3 3)) 1 1)) (ones '(1 1 8 8)) 8 (map (lambda (i) 'cpu) (iota 1000000)))", (ENDED, OVER, STOPPED)),
    Attack("tiles dealt over a device that is made up", "(tiled tanh (ones '(1 1 8 8)) 8 (list (string->symbol (make-string 100000 #\\x))))", ERROR, "no device"),
    Attack("copies of copies in a graph", "(display (size (tiled (lambda (x) (let loop ((i 0) (x x)) (if (= i 8) x (loop (+ i 1) (tile x '(1 1 64 64)))))) (ones '(1 1 4 4)) 2)))", (ERROR, OVER, STOPPED)),
    Attack("a long graph of turns", "(display (size (tiled (lambda (x) (let loop ((i 0) (x x)) (if (= i 2000) x (loop (+ i 1) (roll x '(1 1) '(2 3)))))) (ones '(1 1 4 4)) 2)))", (ENDED, OVER, STOPPED)),
    Attack("triangles beyond all diagonals", "(define x (ones '(1 1 4 4)))\n(for-each (lambda (k) (tiled (lambda (x) (lower-triangle x k)) x 2)) '(9007199254740991 -9007199254740991 4611686018427387903 -4611686018427387904))", (ENDED, ERROR)),
    Attack("operands without end", ONE + "(apply-operator 'concat-tensors (list (let loop ((i 0) (l '())) (if (= i 1000000) l (loop (+ i 1) (cons one l)))) 0))", (OVER, STOPPED, ERROR)),
]

HANDLERS = [
    Attack("handlers within each other", "(define (f n) (call-with-error-handler list (lambda () (+ 1 (f (+ n 1))))))\n(f 0)", OVER),
    Attack("a handler for memory", "(define (grow l) (grow (cons (make-vector 100 l) l)))\n(call-with-error-handler list (lambda () (grow '())))", OVER),
    Attack("a handler for steps", "(define (spin) (spin))\n(call-with-error-handler list spin)", STOPPED),
    Attack("errors forever", "(define (again n) (call-with-error-handler (lambda (m l) (again (+ n 1))) (lambda () (car n))))\n(again 0)", STOPPED),
    Attack("an error that is passed on 100,000 times", "(define (f n) (if (= n 0) (error \"x\" 0) (call-with-error-handler (lambda (m l) (error m (+ 1 (car l)))) (lambda () (f (- n 1))))))\n"
           "(call-with-error-handler list (lambda () (f 50000)))", (ENDED, OVER)),
    Attack("an error that carries a doubled list", DOUBLED + "(call-with-error-handler list (lambda () (error \"x\" big)))", ENDED),
    Attack("an error that carries much", "(define big (iota 300000))\n(let loop () (call-with-error-handler list (lambda () (error \"x\" big))) (loop))", STOPPED, limits=WORK),
    Attack("a doubled list as a constant", DOUBLED_NUMBER + "(stop-gradient big)", ENDED),
    Attack("rules that call themselves", "(define-derivative (f x) (value (+ 1 (f x))) (reverse (y c) (list c)))\n(f 1)", OVER),
    Attack("a planned gradient of calls with rules that share a long list", "(define l (build-list 20000 (lambda (i) (ones '(2)))))\n(define-derivative (f l x) (value (* x (car l))) (reverse (y c) (list 0 c)))\n"
           "(checkpoint-*j (lambda (x) (let loop ((i 0) (x x)) (if (= i 100000) (sumall x) (loop (+ i 1) (f l x))))) (ones '(2)) 1)", (OVER, STOPPED)),
    Attack("a reverse rule without end", "(define (spin x) (spin x))\n(define-derivative (f x) (value x) (reverse (y c) (spin c)))\n(gradient f 1.)", STOPPED),
    Attack("a forward rule of itself", "(define-derivative (f x) (value x) (forward (y dx) (cdr (j* f x dx))))\n(j* f 1. 1.)", (OVER, STOPPED), limits=("--steps=300000",)),
    Attack("a rule for a doubled list", DOUBLED_NUMBER + "(define-derivative (f l x) (value x) (reverse (y c) (list l c)))\n(gradient (lambda (x) (f big x)) 1.)", (STOPPED, ENDED)),
    Attack("a text of a doubled list", DOUBLED + "(format \"~a\" big)", OVER, "memory budget"),
    Attack("a wide text", "(format \"~999999999a\" 1)", OVER, "memory budget"),
    Attack("a dictionary of dictionaries", "(let loop ((d (dict)) (i 0)) (loop (dict-set d i d) (+ i 1)))", (STOPPED, OVER)),
    Attack("keys without end", "(split-key 1 1000000000)", (STOPPED, OVER)),
]

ATTACKS = TEXTS + FILES + DATA + VALUES + RUNS + TENSORS + STATES + TILES + HANDLERS + SPILLING + PLANS
