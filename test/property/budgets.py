#!/usr/bin/env python3
"""Whatever is above a budget that does, does: random gradients and trainings within many budgets, around the least that works and far above it,
with a file beside the memory and without. Output is always that of a machine with much memory, and what reports predict of replays holds.

    budgets.py --vmrun PATH [--count N] [--seed S] [--jobs N]     check programs S, S+1, ...
    budgets.py --seed S --print                                   show program S and its options

Standard library only.
"""
import json, os, random, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import frame
import spilled

SLOW = 20  # seconds: what takes longer, with a state at its start alone perhaps, is taken for neither
NEAR, FAR = 14, 6  # budgets around the least and above it
MOST = 1 << 16  # KiB, within which every program runs
LEAST = 160  # KiB: below that tables and frames take more than tensors, and nobody weighs those

# A training of CELLS, as parameters of the layers or as one that every layer reads.
TRAINING = """(import network)
(define x (randn '(%(rows)d %(width)d)))
(define (dense p h) (tanh (+ (matmul h (car p)) (cdr p))))
(define (residual p h) (+ h (dense p h)))
(define (gated p h) (* h (sigmoid (+ (matmul h (car p)) (cdr p)))))
(define (twice p h) (+ (tanh (matmul h (car p))) (sin (matmul h (transpose (car p))))))
(define (broad p h) (let ((y (concat-tensors (list h (sin h) (cos h)) 0))) (dense p (index (tanh y) '(0 %(rows)d) #t))))
(define (normed p h) (let ((y (matmul h (car p)))) (ReLU (car (batch-normalization-training y (+ 1 (cdr p)) (mean (car p) 0))))))
(define (in-rows p h) (ReLU (rms-normalization (layer-normalization (matmul h (car p)) (+ 1 (cdr p)) (mean (car p) 0)) (+ 1 (cdr p)))))
(define (noisy p h) (dense p (* h (+ 1 (* .1 (randn (size h)))))))
(define (along p h) (cdr (j* (lambda (z) (dense p z)) h (* .9 h))))
(define (inner p h)
  (let ((g (cdr (with-memory "200KiB" (lambda () (checkpoint-*j (lambda (q) (mean (square (dense (cons q (cdr p)) h)))) (car p) 1))))))
    (+ h (* .5 (matmul h g)))))
(define (loss ps n) (let go ((i 0) (all ps) (h x)) (if (= i n) (mean (square h)) (go (+ i 1) %(next)s (%(cell)s (car all) h)))))
(define (descent leaf c state) (cons (- leaf (* .1 c)) state))
(define (momentum leaf c state) (let ((v (+ (* .9 state) c))) (cons (- leaf (* .05 v)) v)))
(define (own leaf c state)
  (let* ((s (if (equal? state 0) (cons (zeros-like leaf) (zeros-like leaf)) state))
         (m (+ (* .9 (car s)) (* .1 c))) (v (+ (* .999 (cdr s)) (* .001 (square c)))))
    (cons (- leaf (/ (* .01 m) (+ 1e-8 (sqrt v)))) (cons m v))))
(define (train ps state lengths)
  (if (null? lengths)
      (write-real (sumall (abs (caar ps))))
      (let (((list value ps state) (%(update)s (lambda (ps) (loss ps (car lengths))) ps 1 %(rule)s state)))
        (write-real (tensor->number value)) (newline)
        (train ps state (cdr lengths)))))
(train (build-list %(leaves)d (lambda (i) (cons (* .2 (randn '(%(width)d %(width)d))) (* .1 (randn '(%(width)d)))))) 0 '(%(lengths)s))
"""


def training(r, cell=None):
    """With such a cell in place of any, of tensors that are large enough to be encoded: some of them are, and tangents weigh something."""
    layers = r.choice([4, 8, 12, 20, 40, 60])
    one = r.random() < .3  # all layers have the same parameters
    shorter = r.random() < .2
    made = {
        'rows': r.choice([16, 64, 128, 250]), 'width': r.choice([16, 32, 48, 64]), 'leaves': 1 if one else layers,
        'next': 'all' if one else '(cdr all)',
        'cell': r.choice(['dense', 'dense', 'residual', 'residual', 'gated', 'twice', 'broad', 'noisy', 'inner']),
        'update': r.choice(['checkpoint-*j-update!', 'checkpoint-*j-update!', 'checkpoint-*j-update']),
        'rule': r.choice(['descent', 'momentum', 'own', 'own', '(adam .01)']),
        'lengths': ' '.join(str(layers - (r.randint(0, 3) if shorter else 0)) for _ in range(r.randint(1, 4)))}
    if cell:
        made.update(cell=cell, rows=max(64, made['rows']), width=max(32, made['width']))
    return TRAINING % made


class Program:
    def __init__(self, seed):
        self.random = r = random.Random('budgets %d' % seed)
        self.options = ['--seed=%d' % seed]
        if seed % 4 == 3:
            spilling = spilled.Spilling(seed)
            self.text, policy = spilling.program(), spilling.policy
        else:
            lossy = seed % 16 >= 12
            self.text = training(r, ('normed', 'in-rows')[seed % 2] if lossy else 'along' if seed % 16 == 9 else None)
            policy = spilled.POLICIES[(seed + seed // 16) % len(spilled.POLICIES)] if lossy else 'none'
        self.options.append('--lossy=' + policy)
        self.spills = seed % 8 in (3, 5)
        self.size = r.choice([300, 1000, 1 << 20])  # KiB of the file
        if self.spills:
            self.options += ['--costs=costs', '--spill=disk,%dKiB' % self.size]


class Runner:
    def __init__(self, vmrun, program, folder):
        self.vmrun, self.program, self.folder = vmrun, program, folder
        for name, text in (('program.scm', program.text), ('costs', spilled.COSTS)):
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                file.write(text)
        os.mkdir(os.path.join(folder, 'disk'))

    def run(self, *options):
        """(exit code, output, errors); the code is None for what is slow."""
        try:
            done = subprocess.run([self.vmrun, '--stats=stats', *self.program.options, *options, 'program.scm'], cwd=self.folder,
                                  capture_output=True, timeout=SLOW)
        except subprocess.TimeoutExpired:
            return None, '', ''
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def misreported(self):
        """What the reports of the last run say that is not so: steps are swept once each, and executed as often as was predicted, whether or not
        memory ran out on the way."""
        with open(os.path.join(self.folder, 'report.json'), encoding='utf-8') as file:
            gradients = json.load(file)['gradients']
        return ['swept %d of %d steps, replay %s: %s' % (g['swept'], g['steps'], g['replay'], g['explanation']) for g in gradients
                if g['swept'] != g['steps'] or g['replay']['predicted'] not in (None, g['replay']['measured'])]

    def peak(self):
        with open(os.path.join(self.folder, 'stats'), encoding='utf-8') as file:
            told = json.load(file)
        return max(told[name] for name in ('heap_peak_bytes', 'tape_peak_bytes', 'tensor_peak_bytes'))


def complaints(vmrun, seed):
    program = Program(seed)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(vmrun, program, folder)
        code, right, errors = runner.run('--memory=%dKiB' % MOST)
        if code is None:
            return None
        if code != 0:
            return ['error: ' + errors[:1000]]
        wrong, works = [], {}

        def does(memory):
            if memory not in works:
                reports = ['--explain=report.json'] if memory % 4 == 0 else []
                code, output, errors = runner.run('--memory=%dKiB' % memory, *reports)
                works[memory] = None if code is None else code == 0
                if code not in (0, 3, None):
                    wrong.append('within %d KiB: exit code %d: %s' % (memory, code, errors[:500]))
                elif code == 0 and output != right:
                    wrong.append('within %d KiB: output differs: %.300r and %.300r' % (memory, output, right))
                elif code == 0 and runner.peak() > memory << 10:
                    wrong.append('within %d KiB: %d bytes at the peak' % (memory, runner.peak()))
                elif code == 0 and reports:
                    wrong.extend('within %d KiB: %s' % (memory, what) for what in runner.misreported())
            return works[memory]
        below, least = LEAST, MOST
        while least > below * 1.02 + 1:
            middle = int((below * least) ** .5)
            below, least = (below, middle) if does(middle) else (middle, least)
        for _ in range(NEAR):
            does(max(LEAST, int(least * program.random.uniform(.9, 1.4))))
        for _ in range(FAR):
            does(int(least * program.random.uniform(1, 8) ** 1.5))
        least = min(memory for memory in works if works[memory] or memory == MOST)
        holes = sorted(memory for memory in works if works[memory] is False and memory > least)
        if holes:
            wrong.append('runs within %d KiB, and not within %s' % (least, ', '.join(map(str, holes))))
        return wrong


def main():
    options = frame.parser(40).parse_args()
    if options.print:
        program = Program(options.seed)
        print(program.text + '; ' + ' '.join(program.options))
        return 0
    vmrun = os.path.abspath(options.vmrun)
    ran, failed = frame.check_all(options, lambda seed: complaints(vmrun, seed))
    print('%d programs, %d with complaints' % (ran, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
