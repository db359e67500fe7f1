#!/usr/bin/env python3
"""Random programs against the invariants: split anywhere, equal gradients under every schedule, the dot-product test,
differences, and slices through capsule files.

    run.py --vmrun PATH [--count N] [--seed S] [--jobs N]     check programs S, S+1, ...
    run.py --seed S --print                                   show program S (and how to run it)
    run.py --vmrun PATH --seed S --shrink                     make the failing program S small

checks.scm holds what must hold within the language; this driver makes the batches and cuts whole runs into slices.
Standard library only.
"""
import concurrent.futures, json, os, random, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import frame
import generate
import shrink

HERE = os.path.dirname(os.path.abspath(__file__))


def program(seeds, procedure_of=lambda seed: generate.Generator(seed, seed % 3 == 0).procedure('f%d' % seed)):
    with open(os.path.join(HERE, 'checks.scm'), encoding='utf-8') as file:
        text = file.read()
    procedures = [procedure_of(seed) for seed in seeds]
    text += generate.used_by(' '.join(procedures))
    for seed, procedure in zip(seeds, procedures):
        smooth = seed % 3 == 0
        numbers = random.Random(seed)
        x = ' '.join('%.17g' % numbers.uniform(-1.2, 1.2) for _ in range(3))
        nested = '*j' in procedure or 'j*' in procedure or 'ruled' in procedure or 'in-tiles' in procedure
        text += procedure + '\n'
        text += "(check-program '%d f%d '(%s) %s %s)\n" % (
            seed, seed, x, '#t' if smooth else '#f', '#t' if nested else '#f')
    return text + '(display "END") (newline)\n'


def noisy(seed):
    """A program that writes while it runs, differentiates, and interrupts itself: for slices of whole runs."""
    numbers = random.Random(seed)
    x = ' '.join('%.17g' % numbers.uniform(-1.2, 1.2) for _ in range(3))
    procedure = generate.Generator(seed, False).procedure('f')
    return ('(define (effect) (display "*"))\n' + generate.used_by(procedure) + procedure + '\n' +
            "(define (limited f x)\n  (let ((z (interrupt f x 20000))) (if (capsule-finished? z) (resume z) 'long)))\n"
            "(define x '(%s))\n"
            '(define y (limited f x))\n(write y) (newline)\n'
            "(if (pair? y) (write (*j f x '(1 1 #(1)))))\n(newline)\n"
            "(if (pair? y) (write (with-schedule \"binomial,base=16\" (lambda () (checkpoint-*j f x '(1 1 #(1)))))))\n(newline)\n"
            "(define (rule p g s) (let ((v (+ (* .9 s) g))) (cons (- p (* .1 v)) v)))\n"
            "(if (pair? y) (write (with-schedule \"sqrt,base=16\" (lambda () (checkpoint-*j-update f x '(1 1 #(1)) rule 0)))))\n(newline)\n"
            "(define (of-tensor x) (f (tensor->list (to-device x 'cpu))))\n"
            "(if (pair? y) (write (*j-update! of-tensor (list->tensor x 'f64) '(1 1 #(1)) rule 0)))\n(newline)\n"
            "(if (pair? y) (write (checkpoint-*j-update! of-tensor (list->tensor x 'f64) '(1 1 #(1)) rule 0)))\n(newline)\n"
            '(write (list (random-real) (random-integer 100)))\n(newline)\n' % x)


def execute(command, timeout=300):
    try:
        run = subprocess.run(command, capture_output=True, timeout=timeout)
        return run.returncode, run.stdout.decode('utf-8', 'replace'), run.stderr.decode('utf-8', 'replace')
    except subprocess.TimeoutExpired:
        return -1, '', 'no end after %d s' % timeout


def within_memory(n):
    """Every second run has a budget, so that programs meet what does not fit."""
    return ['--memory=1GiB'] * (n % 2)


def check_batch(vmrun, seeds):
    """Complaints of one process that checks several programs; a batch that dies is taken apart."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'batch.scm')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(program(seeds))
        code, out, err = execute([vmrun, '--seed=%d' % seeds[0]] + within_memory(seeds[0] // len(seeds)) + [path])
    lines = out.split('\n')
    wrong = [line[:1000] for line in lines if line.startswith('FAIL')]
    ran = sum(line.startswith('RUN ') for line in lines)
    if code != 0 or 'END' not in lines:
        if len(seeds) > 1:
            wrong, ran = [], 0
            for seed in seeds:
                more, some = check_batch(vmrun, [seed])
                wrong += more
                ran += some
            return wrong, ran
        wrong.append('FAIL %d exit code %d: %s' % (seeds[0], code, err[:1500]))
    return wrong, ran


def shrunk(vmrun, seed):
    """The smallest program found that shows a complaint of the same kind as program `seed`."""
    def kinds(text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'one.scm')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(program([seed], lambda _: text).replace('(define effort 1)', '(define effort 6)'))
            code, out, _ = execute([vmrun, '--seed=%d' % seed, '--memory=1GiB', path], 20)
        found = {line.split()[2] for line in out.split('\n') if line.startswith('FAIL')}
        return found if code == 0 else found | {'exit %d' % code} if code not in (1, 2, 3) else set()

    text = generate.Generator(seed, seed % 3 == 0).procedure('f%d' % seed)
    first = sorted(kinds(text))
    if not first:
        return 'program %d shows no complaint' % seed
    # A program whose value is not equal to itself (a capsule, a procedure) shows nothing.
    return '%s\n%s' % (first[0], shrink.shrink(text, lambda t: first[0] in (k := kinds(t)) and 'equal-to-itself' not in k))


def check_slices(vmrun, seed):
    """Runs a program through, then with a report of what it did, then in slices by --steps, --save and --resume: same output, same steps."""
    rng = random.Random(seed * 7919 + 1)
    with tempfile.TemporaryDirectory() as folder:
        path, capsule, stats = (os.path.join(folder, name) for name in ('noisy.scm', 'z.capsule', 'stats.json'))
        with open(path, 'w', encoding='utf-8') as file:
            file.write(noisy(seed))
        options = ['--seed=%d' % seed, '--stats=' + stats] + ['--device=emulated'] * (seed % 2) + within_memory(seed // 2)
        code, want, err = execute([vmrun] + options + [path])
        if code != 0:
            return ['FAIL %d slices: exit code %d: %s' % (seed, code, err[:1500])]
        with open(stats, encoding='utf-8') as file:
            total = json.load(file)['steps']
        code, explained, err = execute([vmrun] + options + ['--explain=' + os.path.join(folder, 'explained.json'), path])
        with open(stats, encoding='utf-8') as file:
            if code != 0 or explained != want or json.load(file)['steps'] != total:
                return ['FAIL %d explained: exit code %d, output %r and without a report %r: %s' % (seed, code, explained[:600], want[:600], err[:1500])]
        got, done, slices, source = '', 0, 0, options + [path]
        pieces = rng.choice([2, 4, 8])
        while True:
            n = 1 if rng.random() < .1 else rng.randint(1, max(1, 2 * total // pieces))
            code, out, err = execute([vmrun, '--steps=%d' % n, '--save=' + capsule] + source)
            got += out
            slices += 1
            done += n
            if code == 0:
                break
            if code != 75:
                return ['FAIL %d slice %d of %d steps: exit code %d: %s' % (seed, slices, n, code, err[:1500])]
            if done > total:
                return ['FAIL %d slices: %d steps done of %d and no end' % (seed, done, total)]
            source = options[1:] + ['--resume=' + capsule]
        with open(stats, encoding='utf-8') as file:
            steps = json.load(file)['steps']
        wrong = []
        if got != want:
            wrong.append('FAIL %d slices: output differs: %r and in slices %r' % (seed, want[:600], got[:600]))
        if steps != total:
            wrong.append('FAIL %d slices: %d steps, in slices %d' % (seed, total, steps))
        return wrong


def main():
    parser = frame.parser(300)
    parser.add_argument('--batch', type=int, default=10)
    parser.add_argument('--slices', type=int, help='programs cut into slices; a third of --count without it')
    parser.add_argument('--shrink', action='store_true')
    options = parser.parse_args()
    if options.print:
        print(program([options.seed]))
        return 0
    vmrun = os.path.abspath(options.vmrun)
    if options.shrink:
        print(shrunk(vmrun, options.seed))
        return 0
    seeds = list(range(options.seed, options.seed + options.count))
    batches = [seeds[i:i + options.batch] for i in range(0, len(seeds), options.batch)]
    sliced = seeds[:options.count // 3 if options.slices is None else options.slices]
    wrong, ran = [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for some, count in pool.map(lambda batch: check_batch(vmrun, batch), batches):
            wrong += some
            ran += count
        for some in pool.map(lambda seed: check_slices(vmrun, seed), sliced):
            wrong += some
    for line in wrong[:40]:
        print(line)
    print('%d programs (%d short enough to check), %d in slices, %d complaints' % (len(seeds), ran, len(sliced), len(wrong)))
    if wrong:
        print('run.py --seed S --print shows program S')
    return 1 if wrong or ran < len(seeds) // 2 else 0


if __name__ == '__main__':
    sys.exit(main())
