#!/usr/bin/env python3
"""Random programs with effects (worlds.py), each run as a whole in variants that must say the same: taped and under eight schedules, on the
processor and the emulated device, with one thread and with several, in slices through capsule files; and forward against reverse mode.
What they say is all output, among it the values, and at the end a random number, so that the counters are compared too; and all reports.

    variants.py --vmrun PATH [--count N] [--seed S] [--jobs N]     check programs S, S+1, ...
    variants.py --seed S --print                                   show program S
    variants.py --vmrun PATH --seed S --shrink [KIND]              make the failing program S small

Standard library only.
"""
import json, math, os, random, struct, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import frame
import shrink
import worlds

SHORT = 30000  # steps of a program that is looked at
LONG = 20 * SHORT
NUMBERS = '\n'.join('%.3f' % r.uniform(-1, 1) for r in [random.Random(1)] for _ in range(20000))
LAST = '(show (random-integer 1000000000))\n'


def main_text(procedure, data, second_order):
    text = worlds.prelude_of(procedure) + worlds.SPOKEN + procedure + '\n' + data
    text += '(show (f x))\n(show (checkpoint-*j f x c))\n(show (checkpoint-*j-update f x c descend 0))\n'
    if second_order:
        text += '(show (checkpoint-*j (lambda (x) (dot (cdr (checkpoint-*j f x c)) d)) x 1))\n'
    return text + LAST


# The product of cotangent, Jacobian and direction, from either side, and how large its parts are.
def product_text(procedure, data, forward):
    product = '(dot c (cdr (j* f x d)))' if forward else "(let ((g (cdr (*j f x c)))) (cons (dot g d) (dot g g)))"
    return worlds.prelude_of(procedure) + worlds.HUSHED + procedure + '\n' + data + '(show %s)\n' % product + LAST


class Outcome:
    def __init__(self, code, out, err, reports=''):
        self.code, self.out, self.err, self.reports = code, out, err, reports

    def says(self):
        return (self.code, self.out, self.reports)


# The table of --metrics without steps, which schedules decide, and time.
def reports_of(path):
    with open(path, encoding='utf-8') as file:
        return '\n'.join(','.join(line.split(',')[:1] + line.split(',')[3:]) for line in file.read().split('\n'))


class Runner:
    """Runs variants of one program in a folder of its own."""

    def __init__(self, vmrun, seed, folder):
        self.vmrun, self.seed, self.folder = vmrun, seed, folder
        self.input = os.path.join(folder, 'input')
        for name in ('data', 'written'):
            os.mkdir(os.path.join(folder, name))
        with open(os.path.join(folder, 'data', 'numbers'), 'wb') as file:
            file.write(struct.pack('<8d', *worlds.NUMBERS_IN_FILE))
        with open(os.path.join(folder, 'data', 'page.tif'), 'wb') as file:
            file.write(worlds.PAGE)
        with open(os.path.join(folder, 'data', 'table'), 'w', encoding='utf-8') as file:
            file.write(worlds.TABLE)
        with open(self.input, 'w', encoding='utf-8') as file:
            file.write(NUMBERS)

    def compiled(self, name, text):
        """The path of the compiled program: most of the time would go into compiling it again for each variant."""
        source, path = os.path.join(self.folder, name + '.scm'), os.path.join(self.folder, name + '.bc')
        with open(source, 'w', encoding='utf-8') as file:
            file.write(text)
        vmc = subprocess.run([os.path.join(os.path.dirname(self.vmrun), 'vmc'), source, '-o', path], capture_output=True)
        return path if vmc.returncode == 0 else source  # which vmrun refuses as well

    def run(self, arguments, steps=LONG, prefix=()):
        metrics = os.path.join(self.folder, 'reports.csv')
        command = list(prefix) + [self.vmrun, '--steps=%d' % steps, '--metrics=' + metrics] + arguments
        with open(self.input, encoding='utf-8') as numbers:
            try:
                run = subprocess.run(command, stdin=numbers, capture_output=True, timeout=120, cwd=self.folder)
            except subprocess.TimeoutExpired:
                return Outcome(-1, '', 'no end after 120 s')  # which is no way to be stopped
        reports = reports_of(metrics) if os.path.exists(metrics) else ''
        return Outcome(run.returncode, run.stdout.decode('utf-8', 'replace'), run.stderr.decode('utf-8', 'replace'), reports)

    def in_slices(self, options, path, rng):
        stats, capsule = os.path.join(self.folder, 'stats'), os.path.join(self.folder, 'capsule')
        whole = self.run(options + ['--stats=' + stats, path])
        if whole.code != 0:
            return whole, whole, 0
        with open(stats, encoding='utf-8') as file:
            total = json.load(file)['steps']
        said, source, pieces = '', options + [path], rng.choice([2, 4, 8])
        for _ in range(200):
            n = rng.randint(1, max(1, 2 * total // pieces))
            part = self.run(['--save=' + capsule, '--stats=' + stats] + source, steps=n)
            said += part.out
            if part.code != 75:
                break
            source = [o for o in options if o.startswith('--device')] + ['--resume=' + capsule]
        with open(stats, encoding='utf-8') as file:
            steps = json.load(file)['steps'] if part.code == 0 else -1
        return whole, Outcome(part.code, said, part.err, part.reports), steps - total


def difference(name, want, got):
    if got.code == 75:
        return None
    if got.says() == want.says():
        return None
    if got.code != want.code:
        return '%s: exit code %d and not %d: %s' % (name, got.code, want.code, got.err[:600].replace('\n', ' | '))
    lines = [(a, b) for a, b in zip(want.out.split('\n'), got.out.split('\n')) if a != b]
    if got.out == want.out:
        lines = [(a, b) for a, b in zip(want.reports.split('\n'), got.reports.split('\n')) if a != b]
        return '%s: reports differ: %s' % (name, ('%.200s and %.200s' % lines[0]) if lines else 'in length')
    return '%s: output differs: %s' % (name, ('%.200s and %.200s' % lines[0]) if lines else 'in length')


# The product, and behind it the size where that is known; it stands before the last number.
def numbers_of(out):
    lines = [line for line in out.split('\n') if line]
    words = lines[-2].strip('()').split(' . ') if len(lines) >= 2 else []
    return [float(word.removesuffix('.0') if word[1:] in ('nan.0', 'inf.0') else word) for word in words]


def compare_products(reverse, forward):
    if 75 in (reverse.code, forward.code):
        return None
    if reverse.code != forward.code:
        return 'dot-product: exit codes %d and %d: %s' % (reverse.code, forward.code, (reverse.err + forward.err)[:600])
    if reverse.code != 0:
        return None
    a, b = numbers_of(reverse.out), numbers_of(forward.out)
    if len(a) != 2 or len(b) != 1:
        return 'dot-product: no numbers'
    if all(map(math.isfinite, a + b)) and abs(a[0] - b[0]) > 1e-6 * (1e-3 + 2 * math.sqrt(a[1])):
        return 'dot-product: reverse %r, forward %r' % (a[0], b[0])
    if reverse.out.split('\n')[-2:] != forward.out.split('\n')[-2:]:
        return 'dot-product: the random counter differs'
    if [line for line in reverse.out.split('\n') if '*' in line] != [line for line in forward.out.split('\n') if '*' in line]:
        return 'dot-product: output differs'
    return None


def complaints(vmrun, seed, procedure, data):
    """None for a program that is too long; else what is wrong, each beginning with its kind."""
    rng = random.Random(seed * 7919 + 3)
    with tempfile.TemporaryDirectory() as folder:
        r = Runner(vmrun, seed, folder)
        text = main_text(procedure, data, rng.random() < .2)
        taped, checkpointed = r.compiled('taped', text.replace('checkpoint-*j', '*j')), r.compiled('program', text)
        base = ['--seed=%d' % seed]
        want = r.run(base + [taped], steps=SHORT)
        if want.code == 75:
            return None
        if want.code != 0:
            return ['error: %s' % want.err[:1500]]
        wrong = []
        for spec in rng.sample(worlds.SPECS, 8):
            wrong.append(difference(spec, want, r.run(base + ['--checkpoint=' + spec, checkpointed])))
        spec = '--checkpoint=' + rng.choice(worlds.SPECS)
        wrong.append(difference('emulated', want, r.run(base + [spec, '--device=emulated', checkpointed])))
        one = str(min(os.sched_getaffinity(0)))
        wrong.append(difference('one-thread', want, r.run(base + [taped], prefix=('taskset', '-c', one))))
        options = base + ['--checkpoint=' + rng.choice(worlds.SPECS)] + ['--device=emulated'] * (seed % 2)
        whole, sliced, more = r.in_slices(options, checkpointed, rng)
        wrong.append(difference('slices', whole, sliced))
        if whole.code == 0 and sliced.code == 0 and more != 0:
            wrong.append('slices: %d steps more' % more)
        products = [r.run(base + [r.compiled('product', product_text(procedure, data, forward))]) for forward in (False, True)]
        wrong.append(compare_products(*products))
        return [w for w in wrong if w is not None]


def check(vmrun, seed):
    return complaints(vmrun, seed, *worlds.Worldly(seed).program())


def shrunk(vmrun, seed, kind):
    procedure, data = worlds.Worldly(seed).program()

    def kinds(text):
        found = complaints(vmrun, seed, text, data)
        return {w.split(':')[0] if not w.startswith('error') else w.split('error:')[-1][:40] for w in found or []}

    first = kind or (sorted(kinds(procedure)) or [None])[0]
    if first is None:
        return 'program %d shows no complaint' % seed
    small = shrink.shrink(procedure, lambda t: first in kinds(t), 1500)
    return '%s\n%s\n%s\n%s' % (first, small, data, complaints(vmrun, seed, small, data))


def main():
    parser = frame.parser(300)
    parser.add_argument('--shrink', nargs='?', const='', metavar='KIND')
    options = parser.parse_args()
    if options.print:
        print(main_text(*worlds.Worldly(options.seed).program(), True))
        return 0
    vmrun = os.path.abspath(options.vmrun)
    if options.shrink is not None:
        print(shrunk(vmrun, options.seed, options.shrink))
        return 0
    ran, failed = frame.check_all(options, lambda seed: check(vmrun, seed))
    print('%d programs (%d short enough to check), %d with complaints' % (options.count, ran, failed))
    if failed:
        print('variants.py --seed S --print shows program S')
    return 1 if failed or ran < options.count // 2 else 0


if __name__ == '__main__':
    sys.exit(main())
