#!/usr/bin/env python3
"""Makes the seeds of test/fuzz/corpus from small programs: run it after a change of a file format, with a build of the release preset."""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BIN = HERE.parent.parent / "build" / "bin"
MOST_BYTES = 5120  # a small seed is changed in more places

def programs():
    """Name and text of each program that needs no procedures of a host."""
    parts = re.split("(?m)^;;; ", (HERE / "programs.scm").read_text())[1:]
    named = (part.split("\n", 1) for part in parts)
    return {name: text.strip() for name, text in named if "(host-" not in text}


STOPS = (5, 30, 80, 150, 260)
STREAMING = "--device=emulated,memory=8KiB,host=256KiB"


def run(*command):
    return subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


# Writes files of every format that programs read, into the folder that it is told.
FILES = """(define (in-folder name) (string-append (car (command-line)) "/" name))
(define shapes '(() (0) (3) (2 3) (1 2 2)))
(for-each (lambda (type) (for-each (lambda (shape)
            (write-npy (in-folder (string-append (symbol->string type) (number->string (length shape)) (if (null? shape) "" (number->string (car shape))) ".npy"))
                       (fill shape 1 type)))
          shapes)) '(f32 f64 i64 u8))
(write-safetensors (in-folder "none.safetensors") '())
(write-safetensors (in-folder "one.safetensors") (list (cons "weight" (fill '(2 2) 1.))))
(write-safetensors (in-folder "three.safetensors") (list (cons "a" (fill '(3) 1 'i32)) (cons "b.0" (fill '() 1 'bf16)) (cons "" (fill '(0 4) 1 'f64))))
(write-text (in-folder "texts.table") ";a; b ;\\"c\\n\\"\\"\\"\\r\\n1;;x\\n\\n2.5;NA;\\"y;\\"\\n")
(write-text (in-folder "blanks.table") " 1  2 x\\n3\\t4 \\"y\\" ")
(write-text (in-folder "numbers.csv") "1,2\\n3,4e-2\\n")
(write-json (in-folder "values.json") (list 1 -2.5e-3 "\u00e9\\"" #t 'null (vector) (list (cons 'a '()) (cons "b" 1))))
(write-npz (in-folder "stored.npz") (list (cons "a" (fill '(3) 1 'i32)) (cons "b" (fill '() 1))))
(write-npz (in-folder "deflated.npz") (list (cons "a" (fill '(3) 1 'i32)) (cons "b" (fill '() 1))) #t)
(write-png (in-folder "grey.png") (fill '(3 2) 7 'u8))
(write-png (in-folder "opaque.png") (fill '(2 3 4) 7 'u8))
(write-text (in-folder "names.csv") "a,\\"b,\\"\\"c\\"\\r\\n1,NA\\r\\n,-inf\\r\\n")
"""


# Writes streaming plans, each as an array, into the folder that it is told.
PLANS = """(define (in-folder name size) (string-append (car (command-line)) "/" name (number->string size) ".plan.npy"))
(define (f x) (let loop ((i 0) (y (car x))) (if (= i 12) (list (car x) y) (loop (+ i 1) (tanh (* y (cadr x)))))))
(define (g x) (sumall (cadr (f x))))
(define (keep size)
  (define x (list (fill (list size) .5) (fill (list size) .3)))
  (for-each (lambda (name f) (write-npy (in-folder name size) (cadr (get-streaming-plan f x))))
            '("none" "forward" "gradient" "update" "checkpointed")
            (list car f (lambda (x) (*j g x 1)) (lambda (x) (*j-update! g (map (lambda (t) (* t 1)) x) 1 (momentum .1) 0))
                  (lambda (x) (with-schedule "bisection,base=16" (lambda () (checkpoint-*j g x 1)))))))
(for-each keep '(8 100))
"""


def character_of(byte):
    """What stands for a byte in GPT-2's files."""
    shown = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE]
    return chr(byte) if byte in shown else chr(256 + [b for b in range(256) if b not in shown].index(byte))


def keep(target, name, data):
    if data and len(data) <= MOST_BYTES:
        (HERE / "corpus" / target / name).write_bytes(data)


def main():
    if missing := [name for name in ("vmc", "vmrun") if not (BIN / name).exists()]:
        sys.exit(f"There is no {' and no '.join(missing)} in {BIN}; ninja -C build makes them")
    for target in ("reader_compiler", "file_formats", "module_loader", "capsule_loader", "plan_loader", "vm_random", "folder_names"):
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if not old.name.startswith("found-"):  # those broke a promise once
                old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        source, module, capsule = (pathlib.Path(folder) / name for name in ("p.scm", "p.bc", "p.capsule"))
        for number, (name, text) in enumerate(programs().items()):
            keep("reader_compiler", name, bytes([number % 3]) + text.encode())
            source.write_text(text)
            run(BIN / "vmc", "--strip", source, "-o", module)
            keep("module_loader", name, module.read_bytes())
            for steps in STOPS:
                capsule.unlink(missing_ok=True)
                run(BIN / "vmrun", f"--steps={steps}", f"--save={capsule}", *[STREAMING] * ("streaming-plan" in text), module)
                keep("capsule_loader", f"{name}-{steps}", capsule.read_bytes() if capsule.exists() else b"")
        source.write_text(PLANS)
        run(BIN / "vmrun", STREAMING, f"--write={folder}", source, folder)
        for file in sorted(pathlib.Path(folder).glob("*.plan.npy")):
            data = file.read_bytes()
            keep("plan_loader", file.name.split(".")[0], data[10 + int.from_bytes(data[8:10], "little"):])
            file.unlink()
        source.write_text(FILES)
        run(BIN / "vmrun", f"--write={folder}", source, folder)
        vocabulary = {**{character_of(byte): byte for byte in range(256)}, "ab": 256, "\u0120ab": 257}
        (pathlib.Path(folder) / "small.tokens").write_text(json.dumps(vocabulary, separators=(",", ":")) + "\0#version: 0.2\na b\n\u0120 ab\n\0ab ab's \u00e9 12!\n")
        for file in sorted((HERE.parent / "data" / "pictures").glob("*.*g")):
            (pathlib.Path(folder) / file.name).write_bytes(file.read_bytes())
        for file in (HERE.parent / "data" / "tiffs").glob("*.tif"):
            (pathlib.Path(folder) / file.name).write_bytes(file.read_bytes())
        for number, kinds in enumerate((["npy"], ["safetensors"], ["csv"], ["json"], ["tokens"], ["npz"], ["png", "jpg"], ["table"], ["tif"])):
            for file in sorted(file for kind in kinds for file in pathlib.Path(folder).glob(f"*.{kind}")):
                keep("file_formats", file.name, bytes([number]) + file.read_bytes())
    keep("folder_names", "kinds", b"\0a.csv\0\1folder\0\2link\0\3pipe\0\0.hidden\0\0b.npz.41-7.cairn-part\0")
    keep("folder_names", "texts", "\0\u00e9\0\1\u4e2d\u6587\0\0\U0001f600 a\0\0Z\0\0z\0".encode())
    keep("folder_names", "bytes", b"\0ab\xc3\0\1\xed\xa0\x80\0\0\xf8\0\0" + b"n" * 255)
    numbers = random.Random(1)
    for i in range(16):
        keep("vm_random", f"random-{i}", numbers.randbytes(64 + 24 * i))


if __name__ == "__main__":
    main()
