"""Random programs with effects, the same for the same seed: random numbers, dropout, output, input, and derivative operators of
every kind, three deep, updates among them; besides all that generate.py has.

A program is run as a whole, in several variants that must say the same (variants.py). What may legitimately tell them apart is not generated:
how many steps a derivative operator takes differs between schedules and modes, so nothing that a program says may depend on where
in an operator it was interrupted.
"""
import random
import re
import struct

from generate import Generator, used_by

SPECS = ['tape', 'bisection,base=16', 'bisection,base=41', 'binomial,base=16', 'binomial,base=16,snapshots=1',
         'binomial,base=23,snapshots=3', 'binomial,base=19,passes=2', 'sqrt,base=16', 'online,base=16',
         'online,base=16,snapshots=2', 'auto', 'auto,memory=100000', 'budget', 'budget,memory=60000', 'budget,memory=250000']

# Numbers that are read from a file, whose name a folder has and which has NUMBERS_IN_FILE in 64 bits each; and for who grants none, the same from the program.
NUMBERS_IN_FILE = [.25, -.5, 1.125, .75, -1.25, .5, -.125, 1.5]
FROM_FILE = ('(define (from-file k)'
             ' (let ((a (list (string-append "data/" (car (list-folder "data"))) \'f64 0 \'(8))))'
             ' (begin (read-ahead a (list (remainder (+ k 1) 8))) (tensor->number (read-rows a (list k))))))\n'
             # and of a page of TIFF that has the same numbers in two rows
             '(define (from-page k) (tensor->number (read-region (tiff-array "data/page.tif") (list 0 0 (quotient k 4) (remainder k 4)) (list 1 1 1 1))))\n'
             # and of a table a number by its class; the table is small, since reading it takes many steps
             '(define (from-table k) (let ((t (read-table "data/table" #\\; \'f64)))'
             ' (tensor->number (index (* (cadr t) (+ 1 (cdr (text-classes (caddr t))))) k))))\n'
             # and numbers that the program itself has written, to a file that was not there: one that was read is not written over in a gradient
             '(define (through-table x y) (let ((name (string-append "written/" (number->string (random-integer 1000000000)))))'
             ' (write-table name \'("x" "what") (list (list x y) \'("a" "b,")))'
             ' (let ((column (cadr (read-table name #\\, \'f64)))) (if (tensor? column) (sumall column) 0))))\n')
PAGE = b''.join([struct.pack('<2sHIH', b'II', 42, 8, 6), *(struct.pack('<HHII', tag, 4, 1, n) for tag, n in ((256, 4), (257, 2), (258, 64), (273, 86), (279, 64), (339, 3))),
                 struct.pack('<I8d', 0, *NUMBERS_IN_FILE)])
TABLE = '.5;b\n-1.5;a\n'
FROM_MEMORY = ("(define (from-file k) (list-ref '(%s) k))\n" % ' '.join(map(str, NUMBERS_IN_FILE)) +
               '(define (from-page k) (from-file k))\n'
               '(define (from-table k) (string->number (list-ref (string-split (string-join (list "1." "-1.5") ";") ";") k)))\n'
               '(define (through-table x y) (sumall (list->tensor (map (lambda (x) (string->number (number->string x))) (list x y)) \'f64)))\n')

# What variants of one program share. `say` and `mark` are output; `rule` is of updates.
PRELUDE = """(define (effect) (display "*"))
(define (plain v)
  (cond ((tensor? v) (tensor->list v)) ((pair? v) (cons (plain (car v)) (plain (cdr v)))) ((vector? v) (vector-map plain v)) (else v)))
(define (show v) (newline) (write (plain v)) (newline))
(define (dot u v)
  (cond ((and (tensor? u) (tensor? v)) (sumall (* u v)))
        ((pair? u) (+ (dot (car u) (if (pair? v) (car v) 0)) (dot (cdr u) (if (pair? v) (cdr v) 0))))
        ((vector? u) (let loop ((i 0) (s 0)) (if (= i (vector-length u)) s (loop (+ i 1) (+ s (dot (vector-ref u i) (if (vector? v) (vector-ref v i) 0)))))))
        ((number? u) (if (number? v) (* u v) 0))
        (else 0)))
(define (descend p g s) (cons (- p (* .1 g)) (+ (* .9 s) g)))
""" + FROM_FILE + """(define (wander p g s) (cons (- p (* (random-real) g)) s))
(define (stay p g s) (cons p g))
(define adapt (adam .05))
(define (first-of v) (if (pair? v) (car v) v))
(define-derivative (ruled-draw x) (value (+ (sin x) (* .1 (random-real)))) (reverse (y c) (list (* c (cos x)))))
"""
SPOKEN = '(define (say x) (report "said" x) (write-real x))\n(define (mark text) (display text))\n'
HUSHED = '(define (say x) (display "*") x)\n(define (mark text) (display text))\n'


def prelude_of(procedure):
    return PRELUDE + used_by(procedure)


class Worldly(Generator):
    def __init__(self, seed):
        super().__init__(seed)
        self.random = random.Random('world %d' % seed)
        self.budget = self.random.choice([20, 40, 80])
        self.wide = self.tensors and seed % 8 == 5
        self.marks = {}  # of names of procedures: what running them may do

    # --- what running an expression may do: 'd' derivative operators, whose steps vary, 'e' effects, 'w' files written
    def deeds(self, text):
        found = set()
        if re.search(r"\*j|j\*|hessian|gradient|jacobian|ruled", text):
            found.add('d')
        if re.search(r'random-|dropout|randn|read-real|\(say|\(mark|effect|wander|ruled-draw|through-table', text):
            found.add('e')
        if 'through-table' in text:
            found.add('w')
        for name in re.findall(r'\bc\d+\b', text):
            found |= self.marks.get(name, set())
        return found

    def let(self, env, depth):
        text = super().let(env, depth)
        for name in re.findall(r'\((c\d+) \(', text):
            self.marks[name] = self.marks.get(name, set()) | self.deeds(text)
        return text

    def closure(self, env, depth):
        text = super().closure(env, depth)
        for name in re.findall(r'\((c\d+) \(', text):
            self.marks[name] = self.marks.get(name, set()) | self.deeds(text)
        return text

    # --- numbers
    def number(self, env, depth):
        r = self.random
        if depth > 0 and self.budget > 0 and r.random() < .3:
            self.budget -= 1
            return self.worldly(env, depth)
        return super().number(env, depth)

    def worldly(self, env, depth):
        r = self.random
        sub = lambda: self.number(env, depth - 1)
        draws = [lambda: '(random-real)', lambda: '(- (random-real) .5)', lambda: '(sin (random-normal))',
                 lambda: '(* .1 (random-integer 9))', lambda: '(* (random-real) %s)' % sub(),
                 lambda: '(+ (* .2 (random-normal)) %s)' % sub(), lambda: '(ruled-draw %s)' % sub(),
                 lambda: '(* %s (from-file %d))' % (sub(), r.randrange(8)), lambda: '(from-file (random-integer 8))',
                 lambda: '(* %s (from-table %d))' % (sub(), r.randrange(2)),
                 lambda: '(* %s (from-page %d))' % (sub(), r.randrange(8))]
        effects = [lambda: '(* %s (read-real))' % sub(), lambda: '(say %s)' % sub(), lambda: '(begin (mark "%s") %s)' % (r.choice('abc'), sub()),
                   lambda: '(* %s (through-table %s (sin %s)))' % (sub(), sub(), sub())]
        if self.tensors:
            draws += [lambda: "(sumall (dropout %s .4))" % self.tensor(env, depth - 1),
                      lambda: '(sumall (* %s (dropout %s .3)))' % (self.tensor(env, depth - 1), self.tensor(env, depth - 1)),
                      lambda: '(sumall %s)' % self.tensor(env, depth - 1)]
            if self.wide and not self.in_loop and self.derivative_depth < 2:
                draws += [lambda: self.wide_number(env, depth), lambda: self.wide_number(env, depth)]
        kind = r.random()
        if kind > .6:
            return self.operator(env, depth)
        return r.choice(draws if kind < .4 else effects)()

    # Tensors of so many elements that threads share the work; of sizes that are multiples of nothing.
    def wide_number(self, env, depth):
        r = self.random
        self.wide = r.random() < .5
        a, b, c = r.choice([(203, 211, 97), (301, 113, 127), (67, 503, 201)])
        w = self.fresh('w')
        body = r.choice(['(mean (tanh (matmul {0} (transpose {0}))))', '(mean (softmax {0} 1))', '(mean (* {0} {0}))', '(mean (square (sum {0} 0)))',
                         '(mean (matmul {0} (rand (list %d %d) \'f64)))' % (b, c), '(mean (dropout (sin {0}) .5))', '(mean (logsumexp {0} 0))']).format(w)
        return "(tensor->number (let ((%s (* %s (randn '(%d %d) 'f64)))) %s))" % (w, self.number(env, depth - 1), a, b, body)

    def tensor(self, env, depth):
        r = self.random
        if depth <= 0 or self.budget < 0 or r.random() > .3:
            return super().tensor(env, depth)
        self.budget -= 1
        sub = lambda: self.tensor(env, depth - 1)
        name = self.fresh('t')
        with_name = lambda template: '(let ((%s %s)) %s)' % (name, sub(), template.format(name))
        return r.choice([
            lambda: '(dropout %s .3)' % sub(),
            lambda: "(* %s (randn '(2 3) 'f64))" % sub(),
            lambda: '(+ %s (* .1 (random-normal)))' % sub(),
            lambda: '(* %s (cross-entropy-loss %s (list->tensor \'(2 0) \'i64)))' % (sub(), sub()),
            lambda: '(log-softmax %s 1)' % sub(),
            lambda: '(softmax %s %d)' % (sub(), r.randrange(2)),
            lambda: "(fused-scale-mask-softmax %s (list->tensor '((0 1 0) (0 0 1)) 'u8) .7)" % sub(),
            lambda: with_name("(layer-normalization {0} (narrow-tensor (list->tensor '(1 .5 2) 'f64) 0 0 3) (list->tensor '(.1 0 -.1) 'f64))"),
            lambda: "(attend %s %s %s %s %s)" % (sub(), sub(), sub(), self.random.choice(['.4', '1']), self.random.choice(['#t', '#f'])),
            lambda: with_name("(- {0} (logsumexp {0} 1 #t))"),
            lambda: with_name("(* {0} (variance {0} 0 #t))"),
            lambda: with_name("(+ {0} (/ (norm (* {0} %s) '(%d) #t %s) %s))" % r.choice([
                (scale, axis, power, scale) for scale in ('1e200', '1e-200', '1.') for axis in (0, 1) for power in (2, 3, 1.5)])),
            lambda: "(cumulative-sum %s 1)" % sub(),
            lambda: "(flip (roll %s '(1) '(1)) '(0))" % sub(),
            lambda: "(embedding %s (list->tensor '(1 0) 'i64))" % sub(),
            lambda: "(stack (map (lambda (t) (sum t 0)) (list %s %s)) 0)" % (sub(), sub()),
            lambda: "(begin (mark \"t\") %s)" % sub(),
        ])()

    # --- derivative operators
    def inner(self, env, depth):
        """A number, more often than elsewhere by another operator: the body of one."""
        if depth > 0 and self.budget > 0 and self.random.random() < .3:
            self.budget -= 1
            return self.operator(env, depth)
        return self.number(env, depth)

    def operator(self, env, depth):
        r = self.random
        forms = [self.derivative, self.derivative, self.update, self.of_library,
                 lambda env, depth: '(with-schedule "%s" (lambda () %s))' % (r.choice(SPECS), self.derivative(env, depth))]
        if self.tensors:
            forms += [self.tensor_derivative, self.tensor_update]
        return r.choice(forms)(env, depth)

    def deeper(self):
        """Whether another operator may be nested here; if so, derivative_depth is one more until it is closed."""
        if self.derivative_depth >= 3 or (self.derivative_depth == 2 and self.random.random() < .4):
            return False
        self.derivative_depth += 1
        return True

    def derivative(self, env, depth):
        if not self.deeper():
            return self.number(env, depth - 1)
        r = self.random
        y = self.fresh('y')
        operator = r.choice(['*j', 'j*', 'checkpoint-*j', 'checkpoint-*j'])
        kind = r.random()
        if kind < .6:
            text = '(%s (lambda (%s) %s) %s %s)' % (
                operator, y, self.inner(env + [(y, 'n')], depth - 1), self.number(env, depth - 1), r.choice(['1', '.5', self.number(env, 1)]))
            text = '(sin (%s %s))' % (r.choice(['car', 'cdr', 'cdr', 'cdr']), text)
        elif kind < .8 and operator != 'j*':
            text = '(%s (lambda (%s) %s) %s 1)' % (operator, y, self.inner(env + [(y, 'p')], depth - 1), self.pair(env, depth - 1))
            text = '(sin (%s %s))' % (r.choice(['cadr', 'cddr']), text)
        else:
            text = '(%s (lambda (%s) %s) %s %s)' % (operator, y, self.pair(env + [(y, 'n')], depth - 1), self.number(env, depth - 1),
                                                   '1' if operator == 'j*' else "'(1 . -.5)")
            text = '(sin (%s %s))' % ('cddr' if operator == 'j*' else 'cdr', text)
        self.derivative_depth -= 1
        return text

    def update(self, env, depth):
        if not self.deeper():
            return self.number(env, depth - 1)
        r = self.random
        operator = r.choice(['checkpoint-*j-update', '*j-update', 'checkpoint-*j-update!', '*j-update!'])
        y = self.fresh('y')
        rule, state = r.choice(['descend', 'wander', 'stay', 'adapt']), r.choice(['0', '.5'])
        text = '(%s (lambda (%s) %s) %s %s %s %s)' % (
            operator, y, self.inner(env + [(y, 'n')], depth - 1), self.number(env, depth - 1), r.choice(['1', '.5']), rule, state)
        self.derivative_depth -= 1
        return '(sin (first-of (%s %s)))' % (r.choice(['car', 'cadr', 'cadr', 'caddr']), text)

    def of_library(self, env, depth):
        if not self.deeper():
            return self.number(env, depth - 1)
        r = self.random
        y = self.fresh('y')
        if self.derivative_depth >= 3:
            name = 'gradient'
        else:
            name = r.choice(['gradient', 'hessian-vector', 'hessian', 'jacobian'])
        if name == 'jacobian':
            text = '(cdr (jacobian (lambda (%s) %s) %s))' % (y, self.pair(env + [(y, 'n')], depth - 1), self.number(env, depth - 1))
        elif name == 'hessian-vector':
            self.derivative_depth += 1
            text = '(car (hessian-vector (lambda (%s) %s) %s %s))' % (
                y, self.inner(env + [(y, 'p')], depth - 2), self.pair(env, depth - 2), self.pair(env, 1))
            self.derivative_depth -= 1
        elif name == 'hessian':
            self.derivative_depth += 1
            text = '(hessian (lambda (%s) %s) %s)' % (y, self.inner(env + [(y, 'n')], depth - 2), self.number(env, depth - 2))
            self.derivative_depth -= 1
        else:
            text = '(gradient (lambda (%s) %s) %s)' % (y, self.inner(env + [(y, 'n')], depth - 1), self.number(env, depth - 1))
        self.derivative_depth -= 1
        return '(sin (first-of %s))' % text

    def tensor_derivative(self, env, depth):
        if not self.deeper():
            return self.number(env, depth - 1)
        r = self.random
        t = self.fresh('t')
        if r.random() < .6:
            text = '(%s (lambda (%s) %s) %s 1)' % (
                r.choice(['*j', 'checkpoint-*j']), t, self.inner(env + [(t, 't')], depth - 1), self.tensor(env, depth - 1))
        else:
            text = '(%s (lambda (%s) %s) %s (fill \'(2 3) %s \'f64))' % (
                r.choice(['*j', 'j*', 'checkpoint-*j']), t, self.tensor(env + [(t, 't')], depth - 1), self.tensor(env, depth - 1), self.number(env, 1))
        self.derivative_depth -= 1
        return '(sin (sumall (* 1 (+ (cdr %s) (fill \'(2 3) 0. \'f64)))))' % text

    # In place, the tensor must be nobody else's: it is the result of an operation.
    def tensor_update(self, env, depth):
        if not self.deeper():
            return self.number(env, depth - 1)
        r = self.random
        t = self.fresh('t')
        operator = r.choice(['checkpoint-*j-update', '*j-update', 'checkpoint-*j-update!', '*j-update!'])
        rule = r.choice(['descend', 'wander', 'adapt'])
        x = '(sin %s)' % self.tensor(env, depth - 1)
        body = '(+ (sumall %s) %s)' % (t, self.inner(env + [(t, 't')], depth - 1))
        text = '(cadr (%s (lambda (%s) %s) %s 1 %s 0))' % (operator, t, body, x, rule)
        self.derivative_depth -= 1
        return '(sin (sumall %s))' % text

    def interrupted(self, env, depth):
        if self.interrupt_depth >= 2:
            return self.number(env, depth - 1)
        r = self.random
        self.interrupt_depth += 1
        y, z = self.fresh('y'), self.fresh('z')
        body = '(lambda (%s) %s)' % (y, self.number(env + [(y, 'n')], depth - 1))
        start = self.number(env, depth - 1)
        n = r.choice([0, 1, 2, 3, 5, 8, 13, 20, 35, 60, 100, 400, 2000])
        done = self.deeds(body)
        forms = ['(resume (interrupt %s %s %d))' % (body, start, n),
                 '(resume (interrupt resume (interrupt %s %s %d) %d))' % (body, start, n, r.randint(0, 40)),
                 '(let go ((%s (interrupt %s %s %d))) (if (capsule-finished? %s) (resume %s) (go (interrupt resume %s %d))))' % (
                     z, body, start, n, z, z, z, r.randint(40, 200))]
        if 'w' not in done and not {'d', 'e'} <= done:  # a second run would write over what the first one read
            # Replays count, so under another schedule the capsule is of another place, and what lies behind it is differentiated once
            # for each resumption and not once for both: other sums, whose last bits differ.
            taped = body.replace('checkpoint-*j', '*j')
            forms += ['(let ((%s (interrupt %s %s %d))) (+ (resume %s) (* .5 (resume %s))))' % (z, taped, start, n, z, z)] * 2
        if 'd' not in done:
            forms += ['(let* ((%s (interrupt %s %s %d)) (%s (random-real))) (begin (mark "z") (* %s (resume %s))))' % (z, body, start, n, y, y, z),
                      '(sin (* .01 (primops %s %s)))' % (body, start),
                      '(* .01 (capsule-steps (interrupt %s %s %d)))' % (body, start, n)]
        self.interrupt_depth -= 1
        return r.choice(forms)

    def program(self):
        """Definitions of f, x, its cotangent c and a direction d."""
        r = self.random
        env = [('a', 'n'), ('b', 'n'), ('x', 'l')]
        numbers = ['%.3f' % r.uniform(-1.2, 1.2) for _ in range(2)]
        names, parts, cotangents, directions = '(a (car x)) (b (cadr x))', list(numbers), ['1', '#(-.5)'], ['.6', '-.7']
        if self.tensors:
            env = [('a', 'n'), ('b', 'n'), ('t', 't')]
            names += ' (t (caddr x))'
            parts.append("(list->tensor '((.1 -.2 .3) (.4 1. -.6)) 'f64)")
            directions.append("(list->tensor '((1. .5 -.3) (.2 -1. .8)) 'f64)")
        depth = r.choice([4, 5, 6])
        results = [self.inner(env, depth), '(vector %s)' % self.number(env, depth - 1)]
        if self.tensors:
            results.append(self.tensor(env, 2))
            cotangents.append("(list->tensor '((1. -.5 .25) (.3 .7 -1.)) 'f64)")
        joined = lambda items: '(list %s)' % ' '.join(items)
        procedure = '(define (f x) (let (%s) %s))' % (names, joined(results))
        data = '(define x %s)\n(define c %s)\n(define d %s)\n' % (joined(parts), joined(cotangents).replace('#(-.5)', '(vector -.5)'), joined(directions))
        return procedure, data
