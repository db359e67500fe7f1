#!/usr/bin/env python3
"""Random trainings whose tensors stream to a device that is too small for them, with a disk and without, some of them along plans that the program
has as values: the output is that of the processor, to the last bit, and the same again when a run is saved and resumed anywhere.

    streamed.py --vmrun PATH [--count N] [--seed S] [--jobs N] [--device NAME]     check programs S, S+1, ... on emulated or cuda
    streamed.py --seed S --print                                   show program S

Standard library only.
"""
import json, os, random, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import frame
import spilled

WIDE = 32
# A step outside of gradients may be recorded or made along the plan of an earlier one, which may be interrupted in its middle.
PRELUDE = spilled.PRELUDE.replace('(define N %d)' % spilled.WIDE, '(define N %d)' % WIDE) + """(define (whole z) (if (capsule-finished? z) (resume z) (whole (interrupt resume z 97))))
(define (planned n step a)
  (define p (get-streaming-plan step a))
  (write (pair? p))
  (let loop ((i 0) (a a)) (if (= i n) a (loop (+ i 1) (call-with-streaming-plan p step a)))))
(define (broken n step a)
  (define z (interrupt (lambda (a) (get-streaming-plan step a)) a 60))
  (write (equal? (resume z) (whole z)))
  (define p (resume z))
  (let loop ((i 0) (a a)) (if (= i n) a (loop (+ i 1) (whole (interrupt (lambda (a) (call-with-streaming-plan p step a)) a 41))))))
(define (within n step a)
  (define inner (get-streaming-plan step a))
  (define (outer a) (step (call-with-streaming-plan inner step a)))
  (define p (get-streaming-plan outer a))
  (let loop ((i 0) (a a)) (if (< i n) (loop (+ i 2) (call-with-streaming-plan p outer a)) a)))
(define (plain n step a) (let loop ((i 0) (a a)) (if (= i n) a (loop (+ i 1) (step a)))))
"""


class Streamed(spilled.Spilling):
    """Layers in a loop, as in spilled.py but smaller, in steps that begin with the parameters and a state."""

    def __init__(self, seed, device):
        super().__init__(seed)
        self.random = r = random.Random('streamed %d' % seed)
        self.rows = [r.choice([16, 20, 32, 33])] * 3
        self.layers = [r.randint(4, 14)] * 3
        self.device = '%s,memory=%dKiB,' % (device, r.choice([50, 60, 100, 200]))
        self.places = ['host=4MiB', 'host=%dKiB,disk=disk' % r.choice([60, 100, 300])]

    def program(self):
        r = self.random
        body = [self.layer().replace('0 40)', '0 9)').replace('40 #f)', '9 #f)') for _ in range(r.randint(1, 3))]
        if r.random() < .3:
            body.append('(if (= i %d) %s x)' % (r.randint(0, 10), self.rare()))
        operator = r.choice(['*j', 'checkpoint-*j'])
        rule = r.choice(['descend', 'adapt'])
        step = r.choice(['(let (((list v p s) (%s-update f (car a) 1 %s (cadr a)))) (write v) (list p s))' % (operator, rule),
                         '(let (((cons v g) (%s f (car a) 1))) (write v) (list (map (lambda (a b) (- a (* .1 b))) (car a) g) (cadr a)))' % operator,
                         '(let (((list v p s) (%s-update! f (map (lambda (t) (* 1 t)) (car a)) 1 %s (cadr a)))) (write v) (list p s))' % (operator, rule),
                         '(begin (write (f (car a))) (list (map (lambda (t) (* t .99)) (car a)) 0))'])
        return PRELUDE + '\n'.join([
            '(define (f p) (let ((w (car p)) (u (cadr p)) (rows %d))' % self.rows[0],
            '  (let loop ((i 0) (x (fill (list rows N) .3)))',
            '    (if (= i %d) (number x)' % self.layers[0],
            '      (loop (+ i 1) (let* (%s) x))))))' % ' '.join('(x %s)' % b for b in body),
            '(define (step a) %s)' % step,
            "(define a (%s %d step (list (list (* .15 (randn (list N N))) (* .1 (randn (list N N)))) 0)))" %
            (r.choice(['plain', 'planned', 'planned', 'broken', 'within']), r.randint(2, 4)),
            '(newline) (write (map number (car a))) (write (map sumall (car a))) (write (random-real)) (newline)']) + '\n'


def complaints(vmrun, seed, device):
    """(whether anything was copied, complaints); None for a program that needs a larger device."""
    rng = random.Random(seed * 31 + 11)
    streamed = Streamed(seed, device)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'program.scm'), 'w', encoding='utf-8') as file:
            file.write(streamed.program())
        os.mkdir(os.path.join(folder, 'disk'))

        def run(*options):
            done = subprocess.run([vmrun, '--stats=stats', *options], cwd=folder, capture_output=True, timeout=300)
            return done.returncode, done.stdout.decode(), done.stderr.decode()

        def stats():
            with open(os.path.join(folder, 'stats'), encoding='utf-8') as file:
                return json.load(file)

        right = run('--seed=%d' % seed, 'program.scm')
        if right[0] != 0:
            return False, ['error: ' + right[2][:1000]]
        wrong, copied = [], 0

        def compare(name, got, output=''):
            if got[0] != 0:
                wrong.append('%s: exit code %d: %s' % (name, got[0], got[2][:500]))
            elif output + got[1] != right[1]:
                wrong.append('%s: output differs: %.300r and %.300r' % (name, output + got[1], right[1]))

        for place in streamed.places:
            where = '--device=' + streamed.device + place
            whole = run('--seed=%d' % seed, where, 'program.scm')
            if whole[0] == 3:
                continue
            compare(place, whole)
            if wrong:
                break
            told = stats()
            copied += told['device']['bytes_in']
            said, source = '', ['--seed=%d' % seed, 'program.scm']
            for _ in range(60):
                last = run('--steps=%d' % rng.randint(1, told['steps']), '--save=z.capsule', where, *source)
                said += last[1]
                if last[0] != 75:
                    break
                source = ['--resume=z.capsule']
            if last[0] != 3:  # other things lie where memory ends
                compare('resumed, ' + place, (last[0], '', last[2]), said)
                if last[0] == 0 and stats()['steps'] != told['steps']:
                    wrong.append('resumed, %s: %d steps more' % (place, stats()['steps'] - told['steps']))
        if os.listdir(os.path.join(folder, 'disk')):
            wrong.append('something is left in the folder')
        return copied > 0, wrong


def main():
    parser = frame.parser(40)
    parser.add_argument('--device', default='emulated')
    options = parser.parse_args()
    if options.print:
        s = Streamed(options.seed, options.device)
        print(s.program() + '; --seed=%d --device=%s%s' % (options.seed, s.device, s.places[1]))
        return 0
    vmrun = os.path.abspath(options.vmrun)
    streamed = []

    def check(seed):
        found = complaints(vmrun, seed, options.device)
        if found[0]:
            streamed.append(seed)
        return found[1]

    ran, failed = frame.check_all(options, check)
    print('%d programs, %d of them with copies, %d with complaints' % (ran, len(streamed), failed))
    return 1 if failed or 3 * len(streamed) < ran else 0


if __name__ == '__main__':
    sys.exit(main())
