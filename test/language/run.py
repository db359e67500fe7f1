#!/usr/bin/env python3
"""Runs programs that carry their expectations in comments, and compares.

    run.py --vmrun PATH [--jobs N] [--filter TEXT] [--option=...] FILE-or-FOLDER ...

A file is one program, or several when lines `;;; case NAME` separate them; what stands before the first such line is
put in front of every case. The expectations, anywhere in a comment of the program:

    ; expect: TEXT            the next line of standard output (no blanks at its end)
    ; expect error: REGEX     found in standard error; implies exit code 1 and a located message with a caret
    ; expect unlocated        the message of the error needs no place
    ; expect stderr: REGEX    found in standard error of a program that succeeds (otherwise it must be empty)
    ; expect location: L[:C]  line and column of the error, counted from the line after `;;; case`
    ; expect exit: N          or N|M
    ; expect any output       standard output is not looked at
    ; input: TEXT             one line of standard input
    ; args: A B ...           arguments of the program
    ; flags: F ...            options of vmrun
    ; timeout: SECONDS        instead of 60

Python's standard library only, so that it runs wherever the VM does.
"""
import argparse, concurrent.futures, os, re, shlex, subprocess, sys, tempfile

DIRECTIVE = re.compile(
    r';\s*(expect(?: error| exit| location| stderr| unlocated| any output)?|input|args|flags|timeout)(?::(?: (.*))?)?$')
CASE = re.compile(r';;; case (\S+)\s*$')


class Case:
    """One program with its expectations; `offset` lines of prelude stand before its own first line."""

    def __init__(self, path, name, text, offset, first_line):
        self.path, self.name, self.text, self.offset, self.first_line = path, name, text, offset, first_line
        self.output, self.errors, self.stderr, self.input = [], [], [], []
        self.exit, self.location, self.unlocated, self.any_output = None, None, False, False
        self.args, self.flags, self.timeout = [], [], 60.0
        for number, line in enumerate(text.split('\n'), 1):
            found = DIRECTIVE.search(line.rstrip('\r'))
            if not found:
                continue
            kind, value = found.group(1), found.group(2) or ''
            if kind == 'expect':
                self.output.append((number, value))
            elif kind == 'expect error':
                self.errors.append(value)
            elif kind == 'expect stderr':
                self.stderr.append(value)
            elif kind == 'expect exit':
                self.exit = [int(part) for part in value.split('|')]
            elif kind == 'expect location':
                self.location = [int(part) for part in value.split(':')]
            elif kind == 'expect unlocated':
                self.unlocated = True
            elif kind == 'expect any output':
                self.any_output = True
            elif kind == 'input':
                self.input.append(value)
            elif kind == 'args':
                self.args += shlex.split(value)
            elif kind == 'flags':
                self.flags += shlex.split(value)
            elif kind == 'timeout':
                self.timeout = float(value)
        if self.exit is None:
            self.exit = [1] if self.errors else [0]

    def title(self):
        return os.path.basename(self.path) + (': ' + self.name if self.name else '')


def cases_of(path):
    with open(path, encoding='utf-8', newline='') as source:
        text = source.read()
    lines = text.split('\n')
    starts = [index for index, line in enumerate(lines) if CASE.match(line)]
    if not starts:
        return [Case(path, '', text, 0, 1)]
    prelude = lines[:starts[0]]
    result = []
    for start, end in zip(starts, starts[1:] + [len(lines)]):
        body = '\n'.join(prelude + lines[start + 1:end])
        result.append(Case(path, CASE.match(lines[start]).group(1), body, len(prelude), start + 2))
    return result


def complaints(case, vmrun, folder, more_flags=()):
    """What is wrong with a run of the case; an empty list if nothing is."""
    program = case.path
    if case.name:
        program = os.path.join(folder, 'case.scm')
        with open(program, 'w', encoding='utf-8', newline='') as file:
            file.write(case.text)
    command = [vmrun] + [f for f in more_flags if not any(own.split('=')[0] == f.split('=')[0] for own in case.flags)] + case.flags + [program] + case.args
    try:
        run = subprocess.run(command, input=''.join(line + '\n' for line in case.input).encode(), capture_output=True,
                             timeout=case.timeout)
    except subprocess.TimeoutExpired:
        return ['no end after %g s' % case.timeout]
    out, err = run.stdout.decode('utf-8', 'replace'), run.stderr.decode('utf-8', 'replace')
    wrong = []
    got = [line.rstrip() for line in out.split('\n')]
    if got and got[-1] == '':
        got.pop()
    for index in range(0 if case.any_output else max(len(got), len(case.output))):
        want = case.output[index] if index < len(case.output) else None
        have = got[index] if index < len(got) else None
        if want is None:
            wrong.append('more output than expected: %r' % have[:300])
            break
        if want[1].rstrip() != have:
            line = want[0] - case.offset + case.first_line - 1 if case.name else want[0]
            wrong.append('line %d: expected %r, got %r' % (line, want[1], have[:300] if have is not None else None))
            if have is None or len(got) != len(case.output):
                break
    if run.returncode not in case.exit:
        wrong.append('exit code %d, expected %s' % (run.returncode, ' or '.join(map(str, case.exit))))
    for pattern in case.errors + case.stderr:
        if not re.search(pattern, err, re.MULTILINE):
            wrong.append('standard error does not match /%s/' % pattern)
    if case.errors and not case.unlocated:
        place = re.match(r'(?P<file>[^\n:]*):(?P<line>\d+):(?P<column>\d+): error: ', err)
        if not place:
            wrong.append('the message does not begin FILE:LINE:COLUMN: error:')
        else:
            if not re.search(r'^\s*\^', err, re.MULTILINE):
                wrong.append('no line with a caret')
            if case.location:
                have = [int(place['line']) - case.offset, int(place['column'])][:len(case.location)]
                if have != case.location:
                    wrong.append('located at %s, expected %s' % (have, case.location))
    if not case.errors and not case.stderr and err:
        wrong.append('unexpected text on standard error')
    if wrong and err:
        wrong.append('standard error was:\n        ' + '\n        '.join(err.rstrip()[:1500].split('\n')))
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--vmrun', required=True)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--filter', default='', help='only cases whose FILE: NAME contains this')
    parser.add_argument('--option', action='append', default=[], help='of vmrun, for every program')
    parser.add_argument('places', nargs='+')
    options = parser.parse_args()
    paths = []
    for place in options.places:
        if os.path.isdir(place):
            paths += sorted(os.path.join(place, name) for name in os.listdir(place) if name.endswith(('.scm', '.vlad')))
        else:
            paths.append(place)
    cases = [case for path in paths for case in cases_of(path) if options.filter in case.title()]
    vmrun = os.path.abspath(options.vmrun)
    if not os.path.exists(vmrun):
        sys.exit('no such program: ' + vmrun)

    def attempt(case):
        with tempfile.TemporaryDirectory() as folder:
            return complaints(case, vmrun, folder, options.option)

    failed = checks = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, wrong in zip(cases, pool.map(attempt, cases)):
            checks += len(case.output) + len(case.errors)
            if wrong:
                failed += 1
                print('FAILED %s (%s:%d)' % (case.title(), case.path, case.first_line))
                for line in wrong:
                    print('    ' + line)
    print('%d programs, %d expectations, %d failed' % (len(cases), checks, failed))
    return 1 if failed or not cases else 0


if __name__ == '__main__':
    sys.exit(main())
