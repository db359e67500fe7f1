"""Random programs in the language, the same for the same seed.

A program is one procedure (f x) of a list of three flonums: loops, recursion, closures, lists, vectors, pairs, conditionals on
data, interruption and derivatives inside, to any nesting. Values are kept bounded (sin, quotients that cannot vanish), loops are short. With
`smooth` there is no kink and no branch on data, so that differences approximate the derivative.
"""
import random

# Procedures with derivative rules: both, one of either kind, of structures, and with a derivative inside.
RULED = """(define-derivative (ruled-sin x) (value (sin x)) (forward (y dx) (* dx (cos x))) (reverse (y c) (list (* c (cos x)))))
(define-derivative (ruled-mix a b) (value (* (sin a) b)) (reverse (y c) (list (* c b (cos a)) (* c (sin a)))))
(define-derivative (ruled-sum l)
  (value (let loop ((l l) (s 0.)) (if (null? l) s (loop (cdr l) (+ (* .5 s) (sin (car l)))))))
  (forward (y dl) (let loop ((l l) (dl dl) (s 0.)) (if (null? l) s (loop (cdr l) (cdr dl) (+ (* .5 s) (* (car dl) (cos (car l)))))))))
(define-derivative (ruled-slope x)
  (value (cdr (*j (lambda (z) (sin (* z z))) x 1.)))
  (reverse (y c) (list (* c (- (* 2 (cos (* x x))) (* 4 x x (sin (* x x))))))))
(define-derivative (ruled-pair (cons a b))
  (value (list (* a (sin b)) (vector (cos b))))
  (forward (y (cons da db)) (list (+ (* da (sin b)) (* a db (cos b))) (vector (- (* db (sin b))))))
  (reverse (y (list c d)) (list (cons (* c (sin b)) (- (* c a (cos b)) (* (vector-ref d 0) (sin b)))))))
"""

# A sequence of four steps, the rows of x and of y, that comes in pieces of so many steps to what keeps a cache; its last two steps are the value. The
# parameters are made of two tensors of two rows and three columns.
STEPS = """(define (in-steps step pieces x y)
  (let ((sequence (view (concat-tensors (list x y) 0) '(1 4 3))))
    (let loop ((at 0) (pieces pieces) (cache '()) (done '()))
      (if (null? pieces)
          (index (concat-tensors (reverse done) 1) 0 '(2 4))
          (let (((list new cache) (step (narrow-tensor sequence 1 at (car pieces)) cache)))
            (loop (+ at (car pieces)) (cdr pieces) cache (cons new done)))))))
(define (attending u w)
  (list (list (matmul (transpose u) (concat-tensors (list w (sin u) (cos w)) 1)) (fill '(9) .1 'f64)) (list (matmul (transpose w) u) (mean u 0))))
(define (attention-in-steps heads pieces u w x y)
  (let ((p (attending u w))) (in-steps (lambda (x cache) (attention-step heads p x cache)) pieces x y)))
(define (transformer-in-steps heads norms pieces u w x y)
  (let ((p (list (list (mean w 0) (mean u 0)) (attending u w) (list (fill '(3) 1.1 'f64) (fill '(3) -.1 'f64))
                 (list (list (transpose u) (mean w 1)) (list w (mean u 0))))))
    (in-steps (lambda (x cache) (transformer-step heads p x cache norms)) pieces x y)))
"""


# A tensor of two rows and three columns as an image of one channel, by tiles.
TILES = """(define (in-tiles f t . tiles) (view (apply tiled f (view t '(1 1 2 3)) tiles) '(2 3)))
(define (in-tiles-as-planned f t . tiles) (* (apply in-tiles f t tiles) (fold-left max 0 (map cadddr (apply tile-plan f (view t '(1 1 2 3)) tiles)))))
(define (in-tiles-too-large f t . tiles)
  (if (memory-budget)
      (call-with-error-handler
        (lambda (message irritants) (* .5 (apply in-tiles f t tiles)))
        (lambda () (in-tiles (lambda (z) (mean (cumulative-sum (expand-tensor (mean (f z) '(2 3) #t) '(1 1 100000 100000)) 3))) t)))
      (in-tiles f t)))
(define (in-tiles-with-more f t . tiles)
  (let ((all (apply tiled (lambda (z) (let ((y (f z))) (list (mean y) y (sin y) (vector (sum (flip y '(2))))))) (view t '(1 1 2 3)) tiles)))
    (view (+ (* (car all) (cadr all)) (* (vector-ref (cadddr all) 0) (caddr all))) '(2 3))))
(define (in-tiles-reduced-to reduced f t . tiles)
  (let ((all (apply tiled (lambda (z) (let ((y (f z))) (cons (tanh y) (reduced y)))) (view t '(1 1 2 3)) tiles)))
    (view (fold-left (lambda (y one) (+ y (* .1 one))) (car all) (cdr all)) '(2 3))))
(define (in-tiles-reduced . operands)
  (apply in-tiles-reduced-to (lambda (y) (list (mean (square y)) (variance y '(2 3) #t) (logsumexp (* 2 y) 2 #t) (sum y '(0 3) #t))) operands))
(define (in-tiles-extreme . operands)
  (apply in-tiles-reduced-to (lambda (y) (list (max-over y '(2 3) #t) (min-over (* y y) 3 #t) (variance y 2 #t) (cast (argmax y 2 #t) (tensor-type y)))) operands))
(define (image t) (view t '(1 1 2 3)))
(define (part-of t row column) (crop t (list 0 0 row column) '(1 1 2 3)))
"""


def used_by(text):
    """The definitions above that generated text uses, or may use."""
    return RULED + (STEPS if '-in-steps' in text else '') + (TILES if 'in-tiles' in text else '')


class Generator:
    def __init__(self, seed, smooth=False):
        self.tensors = isinstance(seed, int) and seed % 2 == 1
        self.random = random.Random('%s %s' % (seed, smooth))
        self.smooth = smooth
        self.names = 0
        self.derivative_depth = 0
        self.interrupt_depth = 0
        self.in_loop = 0
        self.budget = self.random.choice([20, 40, 80, 120])

    def fresh(self, stem):
        self.names += 1
        return '%s%d' % (stem, self.names)

    def constant(self):
        return self.random.choice(['.5', '1.25', '-.75', '2', '-1', '.1', '1.1', '-0.', '0.', '3', '1e-3'])

    def pick(self, env, kind):
        found = [name for name, k in env if k == kind]
        return self.random.choice(found[-6:]) if found and self.random.random() < .85 else None

    def number(self, env, depth):
        """An expression whose value is a number."""
        r = self.random
        self.budget -= 1
        if depth <= 0 or self.budget < 0 or (depth < 3 and r.random() < .2):
            return self.pick(env, 'n') or self.constant()
        sub = lambda e=env: self.number(e, depth - 1)
        plain = [
            lambda: '(+ %s %s)' % (sub(), sub()),
            lambda: '(- %s %s)' % (sub(), sub()),
            lambda: '(* %s %s)' % (self.bounded(sub()), self.bounded(sub())),
            lambda: '(* %s %s)' % (sub(), self.constant()),
            lambda: '(sin %s)' % sub(),
            lambda: '(cos %s)' % sub(),
            lambda: '(exp (sin %s))' % sub(),
            lambda: self.squared('(/ %s (+ 2. (* {0} {0})))' % sub(), sub()),
            lambda: self.squared('(sqrt (+ 1. (* {0} {0})))', sub()),
            lambda: self.squared('(log (+ 2. (* {0} {0})))', sub()),
            lambda: '(atan %s)' % sub(),
            lambda: '(expt (+ 2. (sin %s)) %s)' % (sub(), r.choice(['2', '3', '.5', '-1', '(sin %s)' % sub()])),
            lambda: '(%s %s)' % (r.choice(['tanh', 'sigmoid', 'erf', 'asinh', 'softplus', 'SiLU', 'GeLU']), sub()),
            lambda: '(%s (sin %s))' % (r.choice(['square', 'cosh', 'expm1', 'mean']), sub()),
        ]
        kinked = [
            lambda: '(abs %s)' % sub(),
            lambda: '(max %s %s)' % (sub(), sub()),
            lambda: '(min %s %s)' % (sub(), sub()),
            lambda: '(if (%s %s %s) %s %s)' % (r.choice(['<', '>', '<=', '>=']), sub(), sub(), sub(), sub()),
            lambda: '(cond ((< %s 0) %s) ((= %s 0.) %s) (else %s))' % (sub(), sub(), sub(), sub(), sub()),
            lambda: '(let ((m (and (< %s %s) %s))) (or m %s))' % (sub(), sub(), sub(), sub()),
            lambda: '(* %s (floor %s))' % (sub(), sub()),
            lambda: '(%s %s)' % (r.choice(['ReLU', 'LeakyReLU', 'sign']), sub()),
            lambda: '(* %s (stop-gradient %s))' % (self.bounded(sub()), self.bounded(sub())),
            lambda: '(car (stop-gradient %s))' % self.pair(env, depth - 1),
            lambda: '(call-with-error-handler (lambda (m l) %s) (lambda () (if (< %s %s) (error "e" 1) %s)))' % (sub(), sub(), sub(), sub()),
            lambda: '(call-with-error-handler (lambda (m l) (* %s (sin (car l)))) (lambda () (+ %s (error "e" %s))))' % (sub(), sub(), sub()),
        ]
        structured = [
            lambda: self.let(env, depth),
            lambda: self.let(env, depth),
            lambda: self.loop(env, depth),
            lambda: self.recursion(env, depth),
            lambda: self.mutual(env, depth),
            lambda: '(%s %s)' % (r.choice(['car', 'cdr']), self.pair(env, depth - 1)),
            lambda: '(vector-ref %s %d)' % (self.vector(env, depth - 1), r.randrange(3)),
            lambda: self.fold(env, depth),
            lambda: '(%s %s)' % (self.closure(env, depth - 1), sub()),
            lambda: self.match(env, depth),
            lambda: '(apply + %s)' % self.items(env, depth - 1),
            lambda: '(begin (effect) %s)' % sub(),
            # A symbol that nobody else has: whether it is there in a replay depends on what snapshots hold.
            lambda: '(begin (string->symbol "made") %s)' % sub(),
            lambda: '(let ((made (list (string->symbol "held") %s))) (if (eq? (car made) (string->symbol "held")) (cadr made) %s))' % (sub(), sub()),
            lambda: '(call-with-error-handler (lambda (m l) %s) (lambda () (+ %s (car 0))))' % (sub(), sub()),
            lambda: '(call-with-error-handler (lambda (m l) 0) (lambda () %s))' % sub(),
            lambda: '(%s %s)' % (r.choice(['ruled-sin', 'ruled-slope']), sub()),
            lambda: '(ruled-mix %s %s)' % (sub(), self.bounded(sub())),
            lambda: '(ruled-sum %s)' % self.items(env, depth - 1),
            lambda: '(car (ruled-pair %s))' % self.pair(env, depth - 1),
            lambda: '(dict-ref (dict-set (dict 1 %s 2 %s) %d %s) 2)' % (sub(), sub(), r.randint(0, 3), sub()),
            lambda: '(parameters-fold + 0 (dict 2 %s 1 %s))' % (sub(), sub()),
            lambda: "(dict-ref (car (apply-rule (momentum .1) (dict 7 %s 'a %s) (dict 7 %s 'a 0) 0)) 7)" % (sub(), sub(), sub()),
        ]
        if self.tensors:
            structured += [
                lambda: '(tensor->number (%s %s))' % (r.choice(['sum', 'mean']), self.tensor(env, depth - 1)),
                lambda: '(sumall (* %s %s))' % (self.tensor(env, depth - 1), self.tensor(env, depth - 1)),
                lambda: '(car (%s (tensor->list %s)))' % (r.choice(['car', 'cadr']), self.tensor(env, depth - 1)),
                lambda: '(sumall (sin %s))' % self.in_steps(env, depth - 1),
                lambda: '(tensor->number (mean %s))' % self.parts(env, depth - 1),
            ]
        special = [lambda: self.interrupted(env, depth), lambda: self.derivative(env, depth)]
        choice = r.random()
        if choice < .45:
            forms = plain
        elif choice < .55:
            forms = plain if self.smooth else kinked
        elif choice < .85:
            forms = structured
        else:
            forms = special
        return r.choice(forms)()

    def bounded(self, text):
        return '(sin %s)' % text if self.random.random() < .5 else text

    def squared(self, template, text):
        name = self.fresh('q')
        return '(let ((%s %s)) %s)' % (name, text, template.format(name))

    def tensor(self, env, depth):
        """An expression whose value is a tensor of two rows and three columns."""
        r = self.random
        self.budget -= 1
        if depth <= 0 or r.random() < .3:
            found = self.pick(env, 't')
            if found:
                return found
        sub = lambda e=env: self.tensor(e, depth - 1)
        number = lambda: self.number(env, depth - 1)
        if depth <= 0 or self.budget < 0 or r.random() < .2:
            return r.choice([lambda: "(list->tensor (list (list %s %s 1) (list %s .5 %s)) 'f64)" % tuple(number() for _ in range(4)),
                             lambda: "(list->tensor '((.1 -.2 .3) (.4 1. -.6)) 'f64)",
                             lambda: "(fill '(2 3) .7 'f64)"])()
        name = self.fresh('t')
        with_name = lambda template: '(let ((%s %s)) %s)' % (name, sub(), template.format(name))
        forms = [
            lambda: '(+ %s %s)' % (sub(), sub()), lambda: '(- %s %s)' % (sub(), sub()),
            lambda: '(* (sin %s) %s)' % (sub(), sub()), lambda: '(* %s %s)' % (self.bounded(number()), sub()),
            lambda: '(+ %s %s)' % (sub(), number()), lambda: '(- 1 %s)' % sub(), lambda: '(- %s)' % sub(),
            lambda: '(%s %s)' % (r.choice(['sin', 'cos', 'tanh', 'sigmoid', 'atan', 'softplus']), sub()),
            lambda: '(exp (sin %s))' % sub(),
            lambda: with_name('(/ {0} (+ 2 (* {0} {0})))'),
            lambda: with_name('(sin (matmul (matmul {0} (transpose {0})) {0}))'),
            lambda: '(softmax %s %d)' % (sub(), r.randrange(2)),
            lambda: with_name("(concat-tensors (list (narrow-tensor {0} 1 1 2) (narrow-tensor {0} 1 0 1)) 1)"),
            lambda: with_name("(+ {0} (narrow-tensor {0} 0 1 1))"),
            lambda: with_name("(- {0} (mean {0} 1 #t))"),
            lambda: "(view (transpose (view %s '(3 2))) '(2 3))" % sub(),
            lambda: "(permute (permute %s '(1 0)) '(1 0))" % sub(),
            lambda: "(expand-tensor (sum %s '(0) #t) '(2 3))" % sub(),
            lambda: "(pad %s '(0 -1) '(0 1) .3)" % sub(),
            lambda: '(weighted-sum %s %s %s %s)' % (sub(), r.choice([sub, number])(), self.factor(env, depth), self.factor(env, depth)),
            lambda: '(weighted-square-sum %s (sin %s) %s %s)' % (
                r.choice([sub, number])(), sub(), self.factor(env, depth), self.factor(env, depth)),
            lambda: '(adam-step %s %s (+ .5 (square %s)) %s %s (+ 1.5 (sin %s)))' % (
                sub(), sub(), sub(), self.factor(env, depth), self.factor(env, depth), r.choice([sub, number])()),
            lambda: '(%s (adam-update %s %s (+ .5 (square %s)) (sin %s) .9 .1 %s .2 %s %s (+ 1.5 (sin %s))))' % (
                r.choice(['car', 'cadr', 'caddr']), sub(), r.choice([sub, number])(), sub(), sub(), r.randint(1, 9) / 10,
                self.factor(env, depth), self.factor(env, depth), r.choice([sub, number])()),
            lambda: with_name("(+ (embedding {0} (list->tensor '(1 0) 'i64)) (sin {0}))"),
            lambda: with_name("(+ (gather {0} (list->tensor '((2 0 0) (1 1 2)) 'i64) 1) (* {0} {0}))"),
            lambda: with_name("(concat-tensors (list (narrow-tensor {0} 1 1 2) (narrow-tensor (sin {0}) 1 0 1)) 1)"),
            lambda: '(attend %s %s %s %s %s)' % (sub(), sub(), sub(), r.choice(['.7', '1', '-.3']), r.choice(['#t', '#f'])),
            lambda: self.in_steps(env, depth), lambda: self.in_steps(env, depth),
            lambda: self.in_tiles(env, depth), lambda: self.in_tiles(env, depth),
            lambda: self.parts(env, depth), lambda: self.parts(env, depth), lambda: self.parts(env, depth),
            lambda: with_name('(+ {0} (zeros-like {0}))'), # its type and residence are symbols
            lambda: self.tensor_loop(env, depth),
        ]
        if not self.smooth:
            forms += [lambda: '(max %s %s)' % (sub(), sub()), lambda: '(ReLU %s)' % sub(),
                      lambda: '(where (< %s 0) %s %s)' % (sub(), sub(), sub()),
                      lambda: with_name('(+ {0} (tensor->number (sum (masked-select {0} (< {0} .2)))))'),
                      lambda: with_name('(+ {0} (* .1 (tensor->number (sum (nonzero (< {0} .2))))))'),
                      lambda: '(if (< %s %s) %s %s)' % (number(), number(), sub(), sub())]
        return r.choice(forms)()

    def factor(self, env, depth):
        """A bounded expression that tensors of two rows and three columns are multiplied by: a number or a tensor that is broadcast."""
        r = self.random
        return r.choice([self.constant, lambda: '(sin %s)' % self.number(env, depth - 1), lambda: '(sin %s)' % self.tensor(env, depth - 2),
                         lambda: '(tanh (sum %s %d #t))' % (self.tensor(env, depth - 2), r.randrange(2))])()

    def in_steps(self, env, depth):
        """Attention with a cache, whose parameters are of the program too."""
        r = self.random
        heads, pieces = r.choice(['1', '3']), r.choice(['(4)', '(2 2)', '(1 3)', '(3 1)', '(1 1 1 1)', '(1 2 1)'])
        tensors = ' '.join(self.tensor(env, depth - 1) for _ in range(4))
        if r.random() < .5:
            return "(attention-in-steps %s '%s %s)" % (heads, pieces, tensors)
        return "(transformer-in-steps %s '%s '%s %s)" % (heads, r.choice(['before', 'after']), pieces, tensors)

    def in_tiles(self, env, depth):
        """A network by tiles, whose weights are of the program too."""
        r = self.random
        other = lambda: '(image %s)' % self.tensor(env, depth - 2)
        z = 'z'
        for _ in range(r.randrange(1, 4)):
            z = r.choice([
                lambda: '(sin (part-of (convolve %s %s 1 1) %d 0))' % (z, other(), r.randrange(2)),
                lambda: '(tanh (part-of (transpose-convolve %s %s %d) %d %d))' % (z, other(), r.randrange(1, 3), r.randrange(2), r.randrange(3)),
                lambda: "(let ((z %s)) (+ z (average-pool (* z z) '(3 3) '(1 1) '(1 1) %s)))" % (z, r.choice(['#t', '#f'])),
                lambda: "(average-pool (interpolate %s 2 '%s) 2)" % (z, r.choice(['nearest', 'linear', 'linear #t'])),
                lambda: "(part-of (interpolate-to-size %s '(%d %d) '%s) 0 %d)" % (z, r.randrange(2, 6), r.randrange(4, 8), r.choice(['nearest', 'linear', 'linear #t']), r.randrange(2)),
                lambda: "(interpolate-to-size (pad %s '(0 0 1 0) '(0 0 %d 2)) '(2 3) '%s)" % (z, r.randrange(3), r.choice(['nearest', 'linear', 'linear #t'])),
                lambda: '(concat-tensors (list %s (sin (slice %s 1 1 1))) 1)' % (z, other()),
                lambda: "(tanh (car (batch-normalization-training %s (fill '(1) .7 'f64) (fill '(1) .1 'f64) .5)))" % z,
                lambda: "(let ((z %s)) (- z (%s z '(%s) #t)))" % (z, r.choice(['mean', 'mean', 'sum', 'variance', 'logsumexp']), r.choice(['2 3', '2 3', '2', '3', '0 3', '-1 1'])),
                lambda: "(let ((z %s)) (* z (softmax z %d)))" % (z, r.randrange(2, 4)),
                lambda: "(sin (view (log-softmax (view %s '(1 6))) '(1 1 2 3)))" % z,
                lambda: '(* %s (sin %s))' % (z, other()),
                lambda: "(permute (matmul (sin (permute %s '(0 2 3 1))) (view (mean %s) '(1 1))) '(0 3 1 2))" % (z, other()),
                lambda: "(flip (tanh (view (transpose (view %s '(1 2 1 1 3)) 1 2) '(1 1 2 3))) '(%d))" % (z, r.randrange(2, 4)),
                lambda: '(sum (stack (list %s (sin %s)) %d) %d)' % ((z, other()) + (r.randrange(5),) * 2),
                lambda: "(let ((z (log-softmax (concat-tensors (list %s %s) 1) 1))) (slice z 1 %s))" % (z, other(), r.choice(['0 1', '1 2'])),
                lambda: '(dropout%s %s .3 %d)' % (r.choice(['', '-planewise']), z, r.randrange(9)),
                lambda: '(part-of (concat-tensors (list %s %s) %d) 0 0)' % (z, other(), r.randrange(2, 4)),
                lambda: "(roll (tanh %s) '(%d %d) '(2 -1))" % (z, r.randrange(-3, 4), r.randrange(-3, 4)),
                lambda: "(part-of (tile (sin %s) '(1 1 %d %d)) %d 0)" % (z, r.randrange(2, 4), r.randrange(1, 3), r.randrange(3)),
                lambda: '(+ %s (%s-triangle (sin %s) %d))' % (other(), r.choice(['upper', 'lower']), z, r.randrange(-2, 3)),
                lambda: '(narrow-tensor (cumulative-sum (concat-tensors (list %s %s) 1) 1) 1 %d 1)' % (z, other(), r.randrange(2)),
            ] + ([] if self.smooth else [
                lambda: '(part-of (max-pool (ReLU %s) 2 1 1) %d 1)' % (z, r.randrange(2)),
                lambda: "(let ((z %s)) (+ z (%s (ReLU z) '(%s) #t)))" % (z, r.choice(['max-over', 'min-over']), r.choice(['2 3', '2', '3', '0 3']))]))()
        how, tiles = r.choice(['', '', '', '-as-planned', '-too-large', '-with-more', '-reduced', '-reduced' if self.smooth else '-extreme']), r.choice(['', ' 1', ' 2', " '(2 3)", " '(1 2)"])
        devices = r.choice(['', '', " '(cpu)", " '(cpu cpu)", " '(cpu cpu cpu)"]) if how != '-as-planned' else ''
        return '(in-tiles%s (lambda (z) %s) %s%s%s)' % (how, z, self.tensor(env, depth - 1), (tiles or ' #f') if devices else tiles, devices)

    def parts(self, env, depth):
        """Parts by ranges and by tensors of positions: repeated ones, and such as count from the end."""
        r = self.random
        t = self.fresh('t')
        positions = lambda size, count: "(list->tensor '(%s) '%s)" % (' '.join(str(r.randrange(-size, size)) for _ in range(count)), r.choice(['i64', 'i32', 'i8']))
        template = r.choice([
            lambda: "(+ (index {0} '(0 #f) %s) (index {0} #t '(-3 #f)))" % positions(3, 3),
            lambda: "(concat-tensors (list (index {0} %s '(0 3 2)) (index {0} #t '(1 -1))) 1)" % positions(2, 2),
            lambda: '(+ (unsqueeze (index {0} -1 %s) 0) {0})' % positions(3, 3),
            lambda: "(transpose (index (view {0} '(3 2)) %s #t))" % positions(3, 3),
            lambda: "(+ (index-points {0} (list->tensor '((0) (-1)) 'i64) %s) {0})" % positions(3, 3),
            lambda: '(slice (concat-tensors (list {0} (sin {0})) 1) 1 %d 6 2)' % r.randrange(2)])()
        return '(let ((%s %s)) %s)' % (t, self.tensor(env, depth - 1), template.format(t))

    def tensor_loop(self, env, depth):
        name, i, t = self.fresh('loop'), self.fresh('i'), self.fresh('t')
        start = self.tensor(env, depth - 1)
        self.in_loop += 1
        body = self.tensor(env + [(t, 't')], depth - 2)
        self.in_loop -= 1
        return '(let %s ((%s %d) (%s %s)) (if (= %s 0) %s (%s (- %s 1) (sin %s))))' % (
            name, i, self.count(), t, start, i, t, name, i, body)

    def let(self, env, depth):
        kinds = [('n', self.number), ('p', self.pair), ('l', self.items), ('v', self.vector), ('c', self.closure)]
        if self.tensors:
            kinds.append(('t', self.tensor))
        word = self.random.choice(['let', 'let*'])
        inner, bindings = list(env), []
        for _ in range(self.random.randint(1, 3)):
            kind, make = self.random.choice(kinds)
            name = self.fresh(kind)
            bindings.append('(%s %s)' % (name, make(inner if word == 'let*' else env, depth - 1)))
            inner.append((name, kind))
        return '(%s (%s) %s)' % (word, ' '.join(bindings), self.number(inner, depth - 1))

    def count(self):
        most = 2 if self.in_loop else 7
        return self.random.randint(0 if self.random.random() < .1 else 1, most)

    def loop(self, env, depth):
        name, i, a, b = self.fresh('loop'), self.fresh('i'), self.fresh('a'), self.fresh('b')
        start_a, start_b = self.number(env, depth - 1), self.number(env, depth - 1)
        self.in_loop += 1
        inner = env + [(a, 'n'), (b, 'n')]
        body = '(%s (- %s 1) %s (sin %s))' % (name, i, self.number(inner, depth - 2), self.number(inner, depth - 2))
        self.in_loop -= 1
        return '(let %s ((%s %d) (%s %s) (%s %s)) (if (= %s 0) (+ %s %s) %s))' % (
            name, i, self.count(), a, start_a, b, start_b, i, a, b, body)

    def recursion(self, env, depth):
        name, n, y = self.fresh('r'), self.fresh('k'), self.fresh('y')
        start = self.number(env, depth - 1)
        self.in_loop += 1
        inner = env + [(y, 'n')]
        body = '(+ (* .5 %s) (%s (- %s 1) %s))' % (self.number(inner, depth - 2), name, n, self.number(inner, depth - 2))
        base = self.number(inner, depth - 2)
        self.in_loop -= 1
        return '(letrec ((%s (lambda (%s %s) (if (= %s 0) %s %s)))) (%s %d %s))' % (
            name, n, y, n, base, body, name, self.count(), start)

    def mutual(self, env, depth):
        f, g, n, y = self.fresh('ev'), self.fresh('od'), self.fresh('k'), self.fresh('y')
        start = self.number(env, depth - 1)
        self.in_loop += 1
        inner = env + [(y, 'n')]
        result = ('(letrec ((%s (lambda (%s %s) (if (= %s 0) %s (%s (- %s 1) %s))))'
                  ' (%s (lambda (%s %s) (if (= %s 0) %s (* .9 (%s (- %s 1) %s)))))) (%s %d %s))') % (
            f, n, y, n, self.number(inner, 1), g, n, self.number(inner, depth - 2),
            g, n, y, n, self.number(inner, 1), f, n, self.number(inner, depth - 2), f, self.count(), start)
        self.in_loop -= 1
        return result

    def fold(self, env, depth):
        s, y = self.fresh('s'), self.fresh('y')
        items, start = self.items(env, depth - 1), self.number(env, depth - 1)
        self.in_loop += 1
        inner = env + [(s, 'n'), (y, 'n')]
        body = self.number(inner, depth - 2)
        self.in_loop -= 1
        if self.random.random() < .5:
            return '(fold-left (lambda (%s %s) (+ (* .5 %s) %s)) %s %s)' % (s, y, s, body, start, items)
        return '(fold-right (lambda (%s %s) (+ (* .5 %s) %s)) %s %s)' % (y, s, s, body, start, items)

    def match(self, env, depth):
        a, b = self.fresh('a'), self.fresh('b')
        inner = env + [(a, 'n'), (b, 'n')]
        if self.random.random() < .5:
            return '((lambda ((cons %s %s)) %s) %s)' % (a, b, self.number(inner, depth - 1), self.pair(env, depth - 1))
        return '((lambda ((list %s %s)) %s) (list %s %s))' % (
            a, b, self.number(inner, depth - 1), self.number(env, depth - 1), self.number(env, depth - 1))

    def pair(self, env, depth):
        r = self.random
        if depth <= 0 or r.random() < .3:
            found = self.pick(env, 'p')
            if found:
                return found
        if r.random() < .7 or depth <= 0:
            return '(cons %s %s)' % (self.number(env, depth - 1), self.number(env, depth - 1))
        if r.random() < .5 and not self.smooth:
            return '(if (< %s %s) %s %s)' % (self.number(env, depth - 1), self.number(env, depth - 1),
                                             self.pair(env, depth - 1), self.pair(env, depth - 1))
        name, i, p = self.fresh('loop'), self.fresh('i'), self.fresh('p')
        start = self.pair(env, depth - 1)
        self.in_loop += 1
        body = self.number(env + [(p, 'p')], depth - 2)
        self.in_loop -= 1
        return '(let %s ((%s %d) (%s %s)) (if (= %s 0) %s (%s (- %s 1) (cons (cdr %s) (sin %s)))))' % (
            name, i, self.count(), p, start, i, p, name, i, p, body)

    def items(self, env, depth):
        """An expression whose value is a list of numbers."""
        r = self.random
        if depth <= 0 or r.random() < .3:
            found = self.pick(env, 'l')
            if found:
                return found
        if depth <= 0 or self.budget < 0 or r.random() < .35:
            return '(list%s)' % ''.join(' ' + self.number(env, depth - 1) for _ in range(r.randint(1, 4)))
        y, w = self.fresh('y'), self.fresh('w')
        source = self.items(env, depth - 1)
        self.in_loop += 1
        body = self.number(env + [(y, 'n')], depth - 2)
        self.in_loop -= 1
        forms = ['(map (lambda (%s) %s) %s)' % (y, body, source),
                 '(cons %s %s)' % (self.number(env, depth - 1), source),
                 '(reverse %s)' % source,
                 '(let ((%s %s)) (map * %s (map sin %s)))' % (w, source, w, w),
                 '(list-copy %s)' % source,
                 '(vector->list %s)' % self.vector(env, depth - 1),
                 '(build-list %d (lambda (%s) %s))' % (r.randint(0, 3), y, body)]
        if not self.smooth:
            forms.append('(filter (lambda (%s) (< %s %s)) %s)' % (y, y, body, source))
        if not self.in_loop:
            forms.append('(append %s %s)' % (source, self.items(env, depth - 2)))
        if self.derivative_depth == 0 and r.random() < .3:
            self.derivative_depth += 1
            operator = r.choice(['*j', 'checkpoint-*j'])
            forms = ['(cdr (%s (lambda (%s) %s) %s 1))' % (operator, w, self.number(env + [(w, 'l')], depth - 1), source)]
            self.derivative_depth -= 1
        return r.choice(forms)

    def vector(self, env, depth):
        r = self.random
        if depth <= 0 or r.random() < .35:
            found = self.pick(env, 'v')
            if found:
                return found
        if depth <= 0 or self.budget < 0 or r.random() < .4:
            return '(vector %s)' % ' '.join(self.number(env, depth - 1) for _ in range(3))
        y, v, i, name = self.fresh('y'), self.fresh('v'), self.fresh('i'), self.fresh('loop')
        source = self.vector(env, depth - 1)
        self.in_loop += 1
        mapped = '(vector-map (lambda (%s) %s) %s)' % (y, self.number(env + [(y, 'n')], depth - 2), source)
        looped = '(let %s ((%s %d) (%s %s)) (if (= %s 0) %s (%s (- %s 1) (vector-update %s (modulo %s 3) (sin %s)))))' % (
            name, i, self.count(), v, source, i, v, name, i, v, i, self.number(env + [(v, 'v')], depth - 2))
        self.in_loop -= 1
        return r.choice([mapped, looped, '(vector-update %s %d %s)' % (source, r.randrange(3), self.number(env, depth - 1))])

    def closure(self, env, depth):
        """An expression whose value is a procedure of one number."""
        r = self.random
        if depth <= 0 or r.random() < .3:
            found = self.pick(env, 'c')
            if found:
                return found
        y, f, i, name, w = self.fresh('y'), self.fresh('c'), self.fresh('i'), self.fresh('loop'), self.fresh('w')
        simple = '(lambda (%s) %s)' % (y, self.number(env + [(y, 'n')], depth - 1))
        if depth <= 0 or r.random() < .6:
            return simple
        if r.random() < .5:
            return '(let ((%s %s)) (lambda (%s) %s))' % (
                w, self.number(env, depth - 1), y, self.number(env + [(w, 'n'), (y, 'n')], depth - 1))
        self.in_loop += 1
        result = '(let %s ((%s %d) (%s %s)) (if (= %s 0) %s (%s (- %s 1) (lambda (%s) (* .7 (%s %s))))))' % (
            name, i, self.count(), f, simple, i, f, name, i, y, f, self.number(env + [(y, 'n')], 1))
        self.in_loop -= 1
        return result

    def interrupted(self, env, depth):
        if self.interrupt_depth >= 2:
            return self.number(env, depth - 1)
        r = self.random
        self.interrupt_depth += 1
        y, z = self.fresh('y'), self.fresh('z')
        body = '(lambda (%s) %s)' % (y, self.number(env + [(y, 'n')], depth - 1))
        start = self.number(env, depth - 1)
        n = r.choice([0, 1, 2, 3, 5, 8, 13, 20, 35, 60, 100, 1000])
        # Resumed twice, the bits of a gradient show at which step of a replay the capsule was taken (docs/language.md, section 6).
        taped = body.replace('checkpoint-*j', '*j')
        forms = [
            '(resume (interrupt %s %s %d))' % (body, start, n),
            '(let ((%s (interrupt %s %s %d))) (+ (resume %s) (* .5 (resume %s))))' % (z, taped, start, n, z, z),
            '(resume (interrupt resume (interrupt %s %s %d) %d))' % (body, start, n, r.randint(0, 40)),
            '(let go ((%s (interrupt %s %s %d))) (if (capsule-finished? %s) (resume %s) (go (interrupt resume %s %d))))' % (
                z, body, start, n, z, z, z, r.randint(11, 60)),
        ]
        # Forward mode over a derivative operator takes other steps (docs/design.md, invariant 2): only plain bodies may show how many.
        if '*j' not in body and 'j*' not in body and 'ruled' not in body:
            forms.append('(let ((%s (interrupt %s %s %d))) (if (capsule-finished? %s) (resume %s) (* 1.5 (resume (interrupt resume %s 7)))))' % (
                z, body, start, n, z, z, z))
            forms.append('(sin (* .01 (primops %s %s)))' % (body, start))
            forms.append('(* .01 (capsule-steps (interrupt %s %s %d)))' % (body, start, n))
        self.interrupt_depth -= 1
        return r.choice(forms)

    def derivative(self, env, depth):
        if self.derivative_depth >= 2:
            return self.number(env, depth - 1)
        r = self.random
        self.derivative_depth += 1
        y = self.fresh('y')
        operator = r.choice(['*j', 'j*', 'checkpoint-*j', '*j', 'checkpoint-*j'])
        kind = r.random()
        if kind < .7:
            text = '(%s (lambda (%s) %s) %s %s)' % (
                operator, y, self.number(env + [(y, 'n')], depth - 1), self.number(env, depth - 1),
                r.choice(['1', '1', '.5', self.number(env, 1)]))
            text = '(sin (%s %s))' % (r.choice(['car', 'cdr', 'cdr', 'cdr']), text)
        elif kind < .85 and operator != 'j*':
            text = '(%s (lambda (%s) %s) %s 1)' % (operator, y, self.number(env + [(y, 'p')], depth - 1), self.pair(env, depth - 1))
            text = '(sin (%s %s))' % (r.choice(['cadr', 'cddr']), text)
        else:
            text = '(%s (lambda (%s) %s) %s %s)' % (
                operator, y, self.pair(env + [(y, 'n')], depth - 1), self.number(env, depth - 1),
                '1' if operator == 'j*' else "'(1 . -.5)")
            text = '(sin (%s %s))' % ('cddr' if operator == 'j*' else 'cdr', text)
        self.derivative_depth -= 1
        return text

    def procedure(self, name):
        """(define (NAME x) ...): a list of three numbers to a list of two numbers and a vector of one."""
        env = [('a', 'n'), ('b', 'n'), ('c', 'n'), ('x', 'l')]
        depth = self.random.choice([4, 5, 6, 7])
        results = [self.number(env, depth), self.number(env, depth - 1), self.number(env, 2)]
        return '(define (%s x)\n  (let ((a (car x)) (b (cadr x)) (c (caddr x)))\n    (list %s\n          %s\n          (vector %s))))' % (
            (name,) + tuple(results))
