#!/usr/bin/env python3
"""Makes the seeds of test/fuzz/corpus from small programs: run it after a change of a file format, with a build of the release preset."""
import pathlib
import random
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BIN = HERE.parent.parent / "build" / "bin"
MOST_BYTES = 4096  # a small seed is changed in more places

PROGRAMS = {
    "list": "(define (up n a) (if (= n 0) a (up (- n 1) (cons n a))))\n(write (up 20 '()))",
    "deep": "(define (f n) (if (= n 0) 0.5 (+ 1 (f (- n 1)))))\n(write (f 40))",
    "shared": "(define x (vector 1.5 \"text\" 'symbol #\\c #t))\n(define y (list x x (lambda (z) (vector-ref x z))))\n(write (car y))",
    "closures": "(define (even n) (letrec ((e (lambda (n) (if (= n 0) #t (o (- n 1))))) (o (lambda (n) (if (= n 0) #f (e (- n 1)))))) (e n)))\n"
                "(write (even 20))",
    "forward": "(write (j* (lambda (x) (j* (lambda (y) (* x (sin y))) x 1.0)) 2.0 1.0))",
    "reverse": "(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))\n(write (*j (lambda (x) (p 20 x)) 0.5 1.0))",
    "checkpoint": "(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))\n"
                  "(write (with-schedule \"binomial,base=16,snapshots=3\" (lambda () (checkpoint-*j (lambda (x) (p 60 x)) 0.5 1.0))))",
    "online": "(define (p n x) (if (= n 0) x (* 1.01 (p (- n 1) (sin x)))))\n"
              "(write (with-schedule \"online,base=16,snapshots=3\" (lambda () (checkpoint-*j (lambda (x) (p 30 x)) 0.5 1.0))))",
    "auto": "(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))\n(write (checkpoint-*j (lambda (x) (p 20 x)) 0.5 1.0))",
    "nested": "(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))\n"
              "(write (*j (lambda (y) (cdr (with-schedule \"binomial,base=16\" (lambda () (checkpoint-*j (lambda (x) (p 9 (* x y))) 0.5 1.0))))) 0.7 1.0))",
    "interrupt": "(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))\n"
                 "(define z (interrupt (lambda (x) (p 20 x)) 0.5 50))\n(write (+ (resume z) (primops resume z)))",
    "capsules": "(define (p n x) (if (= n 0) x (p (- n 1) (sin (* x 1.1)))))\n"
                "(write (*j (lambda (x) (resume (interrupt (lambda (y) (p 20 (* x y))) 0.5 50))) 2.0 1.0))",
    "tensors": "(define t (list->tensor '(.1 .2)))\n(define (p n x) (if (= n 0) (sumall x) (p (- n 1) (tanh (* x (+ t (transpose (view x '(1 2)))))))))\n"
               "(write (tensor->list (cdr (with-schedule \"binomial,base=16,snapshots=2\" (lambda () (checkpoint-*j (lambda (x) (p 8 x)) t 1.0))))))",
    "update": "(define (rule p g s) (cons (- p (* .1 g)) s))\n(define (p n x) (if (= n 0) (sumall (* (car x) (cdr x))) (p (- n 1) (cons (tanh (car x)) (cdr x)))))\n"
              "(write (car (with-schedule \"bisection,base=16\" (lambda () (checkpoint-*j-update! (lambda (x) (p 8 x)) (cons (fill '(2) .5) (fill '(2) .3)) 1 rule 0)))))",
}
STOPS = (5, 30, 80, 150, 260)


def run(*command):
    return subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def keep(target, name, data):
    if data and len(data) <= MOST_BYTES:
        (HERE / "corpus" / target / name).write_bytes(data)


def main():
    for target in ("reader_compiler", "module_loader", "capsule_loader", "vm_random"):
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if not old.name.startswith("found-"):  # those broke a promise once
                old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        source, module, capsule = (pathlib.Path(folder) / name for name in ("p.scm", "p.bc", "p.capsule"))
        for number, (name, text) in enumerate(PROGRAMS.items()):
            keep("reader_compiler", name, bytes([number % 3]) + text.encode())
            source.write_text(text)
            run(BIN / "vmc", "--strip", source, "-o", module)
            keep("module_loader", name, module.read_bytes())
            for steps in STOPS:
                capsule.unlink(missing_ok=True)
                run(BIN / "vmrun", f"--steps={steps}", f"--save={capsule}", module)
                keep("capsule_loader", f"{name}-{steps}", capsule.read_bytes() if capsule.exists() else b"")
    numbers = random.Random(1)
    for i in range(16):
        keep("vm_random", f"random-{i}", numbers.randbytes(64 + 24 * i))


if __name__ == "__main__":
    main()
