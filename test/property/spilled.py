#!/usr/bin/env python3
"""Random gradients of tensors that are planned within little memory, with a file beside it (--spill): the output is that of one tape, whatever the
file holds and wherever the disk is full; a run takes the same steps in every process, saved and resumed anywhere, with a file and without.

    spilled.py --vmrun PATH [--count N] [--seed S] [--jobs N]     check programs S, S+1, ...
    spilled.py --seed S --print                                   show program S and its options

Standard library only.
"""
import json, os, random, resource, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import frame

WIDE = 128
COSTS = 'spill 0\nproduct 1\nflop 1\nbyte 1\n'  # a disk that costs nothing, so that these little gradients use it

PRELUDE = """(define N %d)
(define (number t) (tensor->number (mean (square t) '(0 1))))
(define-derivative (ruled x) (value (tanh x)) (reverse (y c) (list (* c (- 1 (* y y))))))
(define (descend p g s) (cons (- p (* .1 g)) (+ (* .5 s) g)))
(define adapt (adam .01))
(define (guarded otherwise f) (call-with-error-handler (lambda (message irritants) (write message) (write irritants) otherwise) f))
""" % WIDE


# Policies of what tapes keep with an error, and layers that have such.
POLICIES = ['relative=.01,operators=convolution+product+batch-normalization', 'absolute=.02,operators=batch-normalization+convolution',
            'relative=.1,operators=product,form=small', 'absolute=1e-3,operators=batch-normalization,form=small',
            'absolute=.05,operators=layer-normalization+rms-normalization', 'relative=.03,operators=group-normalization+layer-normalization+product,form=small']
ENCODED = ["(view (ReLU (convolve (view x (list rows 2 8 8)) (view (narrow-tensor (view w '(-1)) 0 0 36) '(2 2 3 3)) 1 1)) (list rows N))",
           "(view (car (batch-normalization-training (view x (list rows 8 4 4)) (mean (view w '(8 2048)) 1) (fill '(8) .1))) (list rows N))",
           "(tanh (car (batch-normalization-training (matmul x w) (+ 1 (mean w 0)) (mean u 1))))",
           "(tanh (layer-normalization (matmul x w) (+ 1 (mean w 0)) (mean u 1)))", "(ReLU (rms-normalization (matmul x w) (+ 1 (mean w 0))))",
           "(view (group-normalization (view x (list rows 8 4 4)) (+ 1 (mean (view w '(8 2048)) 1)) (fill '(8) .1) 2) (list rows N))",
           "(let ((x (view x (list rows 4 4 8)))) (view (car (batch-normalization-training (convolve x (view (narrow-tensor (view u '(-1)) 0 0 144) '(4 4 3 3)) 1 1) (fill '(4) 1.) (fill '(4) 0.))) (list rows N)))"]


class Spilling:
    """One program: layers in a loop, trained in some steps, some of which end in an error."""

    def __init__(self, seed):
        self.random = random.Random('spilled %d' % seed)
        r = self.random
        self.memory = r.choice([3000, 3500, 4200, 5000, 6500, 9000])  # KiB
        self.size = r.choice([100, 300, 597, 600, 1000, 1001, 2500, 1 << 20])
        self.disk = r.choice([64, 300, 1000]) << 10  # bytes of the files of a process
        self.rows = [r.choice([64, 80, 100, 128, 131]) for _ in range(3)]
        self.layers = [r.randint(20, 60) for _ in range(3)]
        # In other numbers, so that programs without a policy stay what they were.
        self.other = random.Random('policy %d' % seed)
        self.policy = self.other.choice(POLICIES) if self.other.random() < .4 else 'none'

    def layer(self):
        r = self.random
        return r.choice([
            '(tanh (matmul x w))', '(+ x (tanh (matmul x w)))', '(ReLU (matmul x u))', '(* x (sigmoid (matmul x w)))',
            '(dropout (matmul x w) .2)', '(+ (matmul x w) (* .01 (randn (list rows N))))', '(softmax (matmul x u) 1)',
            '(tanh (matmul x (transpose w)))', '(matmul (index x \'(0 #f) #t) w)',
            '(concat-tensors (list (tanh (index x \'(0 40) #t)) (index x \'(40 #f) #t)) 0)',
            '(let ((h (matmul x w))) (if (> (number h) %.2f) (tanh h) (+ h (* .5 x))))' % r.uniform(0, .3),
            '(+ (matmul x w) (* 1e-4 (sumall (masked-select x (< 0 (matmul x u))))))', '(- x (mean x 0))', '(begin (if (= 7 (remainder i 11)) (write (number x))) (sin x))',
            '(let* ((a (sin x)) (b (cos x))) (* a b))', '(begin (string->symbol "here") (tanh (matmul x w)))', '(+ (matmul x w) (zeros-like x))',
            '(+ (matmul x w) (mean w 0))',
            '(tanh (matmul (concat-tensors (list x (sin x) (cos x)) 1) (concat-tensors (list w u w) 0)))',
            '(+ x (attend (matmul x w) x (matmul x u) .3 %s))' % r.choice(['#t', '#f']),
            '(weighted-sum x (tanh (matmul x w)) .9 (mean x 1 #t))', '(weighted-square-sum x (sin (matmul x u)) (mean x 0) .3)',
            '(adam-step x (matmul x w) (+ .5 (square x)) .9 .1 (+ 1 (square (mean x 0))))',
            '(apply + (adam-update x (matmul x w) (+ .5 (square x)) (sin x) .9 .1 .7 .3 1 .1 (+ 1 (square (mean x 0)))))',
            '(+ x (narrow-tensor (concat-tensors (list (sin x) x) 1) 1 0 (cadr (size x))))',
            '(guarded x (lambda () (if (= i %d) (error "in a layer" i) (tanh (matmul x u)))))' % r.randint(0, 20),
        ])

    def rare(self):
        r = self.random
        return r.choice([
            '(ruled (matmul x w))', '(stop-gradient (matmul x w))',
            '(* x (cdr (checkpoint-*j (lambda (a) (* a (sin a))) (number x) 1)))',
            '(+ x (* .01 (car (*j (lambda (v) (sumall (* v v))) (mean x 0) 1))))',
            '(begin (write (primops (lambda (n) (* n n)) 3)) x)'])

    def program(self):
        r = self.random
        body = [self.layer() for _ in range(r.randint(1, 3))]
        if self.policy != 'none':
            body[-1] = self.other.choice(ENCODED)
        if r.random() < .3:
            body.append('(if (= i %d) %s x)' % (r.randint(0, 30), self.rare()))
        if r.random() < .4:
            body.append('(if (and (= k %d) (= i %d)) (error "given up" i (number x)) x)' % (r.randint(1, 3), r.randint(0, 30)))
        lines = ['(define (f k) (lambda (p) (let ((w (car p)) (u (cadr p)) (rows (list-ref \'(%s) (remainder k 3))))' % ' '.join(map(str, self.rows)),
                 '  (let loop ((i 0) (x (fill (list rows N) .3)))',
                 '    (if (= i (list-ref \'(%s) (remainder k 3))) (number x)' % ' '.join(map(str, self.layers)),
                 '      (loop (+ i 1) (let* (%s) x)))))))' % ' '.join('(x %s)' % b for b in body)]
        rule = r.choice(['descend', 'adapt'])
        step = r.choice(['(let (((list v p s) (checkpoint-*j-update (f k) p 1 %s s))) (write v) (list p s))' % rule,
                         '(let (((cons v g) (checkpoint-*j (f k) p 1))) (write v) (list (map (lambda (a b) (- a (* .1 b))) p g) s))',
                         '(let (((list v p s) (checkpoint-*j-update! (f k) (map (lambda (t) (* 1 t)) p) 1 %s s))) (write v) (list p s))' % rule])
        order = [r.randint(1, 3) for _ in range(r.randint(2, 4))]
        lines += ['(define (train ks p s)',
                  '  (if (null? ks) p',
                  '    (let (((list p s) (guarded (list (map (lambda (t) (* 1.01 t)) p) s) (lambda () (let ((k (car ks))) %s)))))' % step,
                  '      (newline) (train (cdr ks) p s))))',
                  '(define p (train \'(%s) (list (* .15 (randn (list N N))) (* .1 (randn (list N N)))) 0))' % ' '.join(map(str, order)),
                  '(write (map number p)) (write (map sumall p)) (write (random-real)) (newline)']
        return PRELUDE + '\n'.join(lines) + '\n'


class Runner:
    def __init__(self, vmrun, seed, folder):
        self.vmrun, self.folder = vmrun, folder
        self.spilling = Spilling(seed)
        self.write('program.scm', self.spilling.program())
        self.write('costs', COSTS)
        os.mkdir(os.path.join(folder, 'disk'))
        self.seed = '--seed=%d' % seed
        self.memory = '--memory=%dKiB' % self.spilling.memory
        self.file = '--spill=disk,%dKiB' % self.spilling.size
        self.lossy = '--lossy=' + self.spilling.policy
        self.encoding = '--spill-encoding=' + ('always', 'never', 'auto')[seed % 3]

    def write(self, name, text):
        with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as file:
            file.write(text)

    def run(self, *options, most_bytes=None):
        """(exit code, output, errors, statistics)"""
        limit = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))) if most_bytes else None
        stats = os.path.join(self.folder, 'stats')
        if os.path.exists(stats):
            os.remove(stats)
        done = subprocess.run([self.vmrun, '--stats=stats', *options], cwd=self.folder, capture_output=True, timeout=300, preexec_fn=limit)
        try:
            told = json.load(open(stats, encoding='utf-8'))
        except (OSError, ValueError):  # it did not come so far, or had no space for it
            told = {}
        return done.returncode, done.stdout.decode(), done.stderr.decode(), told


def complaints(vmrun, seed):
    """(whether it has spilled, complaints); None for a program that needs more memory."""
    rng = random.Random(seed * 31 + 7)
    with tempfile.TemporaryDirectory() as folder:
        r = Runner(vmrun, seed, folder)
        planned = ['--costs=costs', r.seed, r.memory, '--checkpoint=auto', r.lossy]
        right = r.run(r.seed, '--memory=2GiB', '--checkpoint=tape', r.lossy, 'program.scm')
        if right[0] != 0:
            return False, ['error: ' + right[2][:1000]]
        whole = r.run(*planned, r.file, r.encoding, 'program.scm')
        if whole[0] == 3:
            return None
        wrong = []

        def compare(name, got, output=None):
            if got[0] != 0:
                wrong.append('%s: exit code %d: %s' % (name, got[0], got[2][:500]))
            elif (output or '') + got[1] != right[1]:
                wrong.append('%s: output differs: %.300r and %.300r' % (name, (output or '') + got[1], right[1]))
        compare('in a file', whole)
        if wrong:
            return True, wrong
        steps = whole[3]['steps']
        if r.run(*planned, r.file, 'program.scm')[3]['steps'] != steps:
            wrong.append('steps differ between runs')
        full = r.run(*planned, r.file, 'program.scm', r.encoding, most_bytes=r.spilling.disk)
        if full[0] != 3:
            compare('on a full disk', full)
        for kind in ('in a file', 'in a file', 'without one'):
            at, said, source, last = 0, '', [*planned, r.file, r.encoding, 'program.scm'], None
            for _ in range(40):
                n = rng.randint(1, steps)
                if kind == 'without one' and source[0].startswith('--resume'):
                    last = r.run('--memory=2GiB', *source)
                    break
                last = r.run('--steps=%d' % n, '--save=z.capsule', *source, *([] if source[0] != '--resume=z.capsule' else [r.memory, r.file, r.encoding]))
                if last[0] != 75:
                    break
                said += last[1]
                at += n
                source = ['--resume=z.capsule']
            compare('resumed ' + kind + ' at %d' % at, last, said)
            # With more memory, plans that turned out not to fit do fit.
            if last[0] == 0 and kind != 'without one' and last[3]['steps'] != steps:
                wrong.append('resumed %s at %d: %d steps more' % (kind, at, last[3]['steps'] - steps))
        if os.listdir(os.path.join(folder, 'disk')):
            wrong.append('something is left in the folder')
        return whole[3]['spilled_bytes'] > 0, wrong


def main():
    options = frame.parser(40).parse_args()
    if options.print:
        s = Spilling(options.seed)
        print(s.program() + '; --seed=%d --memory=%dKiB --spill=DIR,%dKiB --lossy=%s' % (options.seed, s.memory, s.size, s.policy))
        return 0
    vmrun = os.path.abspath(options.vmrun)
    spilled = []

    def check(seed):
        found = complaints(vmrun, seed)
        if found is None:
            return None
        if found[0]:
            spilled.append(seed)
        return found[1]

    ran, failed = frame.check_all(options, check)
    print('%d programs, %d of them spilled, %d need more memory, %d with complaints' %
          (options.count, len(spilled), options.count - ran, failed))
    return 1 if failed or 3 * len(spilled) < options.count else 0


if __name__ == '__main__':
    sys.exit(main())
