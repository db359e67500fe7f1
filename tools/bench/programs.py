"""The programs that measure plain interpretation, copies of them with other sizes, and Guile to run them beside us."""
import pathlib
import re
import shutil

from measuring import HERE, Failure, run

PROGRAMS = HERE / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.lua"))

# What makes a program small enough for a smoke test or for callgrind. The numbers are the same in every language.
SMALLER = {
    "ackermann": {8: 5, 20: 1},
    "church": {7: 3, 200: 2},
    "deep": {1000000: 20000},
    "fib": {33: 20},
    "lists": {1000000: 20000},
    "mandel": {420: 60},
    "matrix": {90: 20},
    "nbody": {60000: 1000},
    "queens": {10: 7},
    "sieve": {6000: 1000},
    "tak": {12: 8},
    "trees": {15: 10},
}


def resized(source, folder, sizes):
    """A copy of a program with other numbers in it. Each of them stands once in the text, or the copy would be another program."""
    text = source.read_text()
    for old, new in sizes.items():
        text, count = re.subn(rf"(?<![\w.]){old}(?![\w.])", str(new), text)
        if count != 1:
            raise Failure(f"{source}: the number {old} stands there {count} times instead of once")
    copy = pathlib.Path(folder) / source.name
    copy.write_text(text)
    return copy


def sources(names, suffix, folder, small):
    """The files of programs, by name; in `folder` if they are small copies."""
    files = {name: PROGRAMS / (name + suffix) for name in names}
    return {name: resized(file, folder, SMALLER[name]) for name, file in files.items()} if small else files


class Guile:
    """Programs compiled ahead for Guile's virtual machine, run with its JIT off. False where Guile is not installed."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def __bool__(self):
        return shutil.which("guile") is not None

    def compile(self, source):
        target = self.folder / (source.stem + ".go")
        run(["guile", "--no-auto-compile", "-c", f'(use-modules (system base compile)) (compile-file "{source}" #:output-file "{target}")'])
        return target

    def run(self, compiled, limit=600):
        return run(["guile", "--no-auto-compile", "-c", f'(load-compiled "{compiled}")'], {"GUILE_JIT_THRESHOLD": "-1"}, limit)
