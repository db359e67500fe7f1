#!/usr/bin/env python3
"""A wheel works on a machine without Cairn's packages: it is made as tools/python/wheel makes it, its libraries need nothing but those of C, C++ and
zlib beside each other, and it runs where nothing else is to be seen: in a folder that is the root of the file system, with an interpreter, NumPy and
those libraries.

    wheel.py --root SOURCE-FOLDER --build BUILD-FOLDER [--wheel FILE]
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from run import compilers_of, folder_of, interpreter, quietly, skip

# Of every Debian and Ubuntu: the policy of manylinux wheels, less what no wheel of ours should want.
COMMON = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libstdc++.so.6",
          "libgcc_s.so.1", "libz.so.1"}
OURS = re.compile(r"lib(fmt|dnnl|openblas|png|jpeg|xxhash|gomp|cairn)")
LEFT_OUT = ("_tkinter", "_sqlite3", "_curses", "readline", "_dbm", "_gdbm", "_test", "_xxtest")
PROGRAM = """
import sys
sys.path.insert(0, "/site")
import ctypes, glob, os, warnings
import numpy as np
import cairn
modules = glob.glob(os.path.join(os.path.dirname(cairn.__file__), "libcairn_*.so"))
assert len(modules) >= 2, modules
for module in modules:
    ctypes.CDLL(module)  # the library goes without a module that it cannot load, and says nothing
m = cairn.compile('''(define (f x) (sumall (matmul x x)))
(define (kept x path)
  (begin (write-png (string-append path ".png") (cast x 'u8)) (write-npz path (list (cons "x" x)) #t) (sumall (cdr (car (read-npz path))))))''',
                  read=["/tmp"], write=["/tmp"])
x = np.ones((500, 500))
assert m.f(x) == 125000000 and (cairn.grad(m.f)(x) == 1000).all() and m.kept(x, "/tmp/x") == 250000
print("works with", ", ".join(sorted(os.path.basename(module) for module in modules)))
"""


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", quietly(["readelf", "-d", library]).stdout)


def paths_of(binary):
    """Where the loader finds what a program or a library needs, and the loader."""
    return re.findall(r"(/\S+) \(0x", quietly(["ldd", binary]).stdout)


def copied(path, root):
    place = root + path
    if not os.path.exists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy2(os.path.realpath(path), place)


def bare_root(python, root):
    """A root with an interpreter and what that needs."""
    look = "import sys, sysconfig, os; print(os.path.realpath(sys.executable)); print(sysconfig.get_paths()['stdlib']); print(sysconfig.get_config_var('DESTSHARED') or '')"
    binary, library, extensions = quietly([python, "-c", look]).stdout.splitlines()
    shutil.copytree(library, root + library, symlinks=False, ignore_dangling_symlinks=True,
                    ignore=shutil.ignore_patterns("test", "tests", "__pycache__", "site-packages", "dist-packages", "ensurepip", "config-*", "idlelib", *(f"{n}*.so" for n in LEFT_OUT)))
    for file in [binary, *glob.glob(os.path.join(root + (extensions or library + "/lib-dynload"), "*.so"))]:
        for path in paths_of(file):
            copied(path, root)
    copied(binary, root)
    for name in COMMON:
        path = quietly(["c++", f"-print-file-name={name}"]).stdout.strip()
        if path == name:
            continue  # of another processor
        place = os.path.join(root, "lib", sysconfig.get_config_var("MULTIARCH") or "", name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy2(os.path.realpath(path), place)
    os.makedirs(root + "/tmp", exist_ok=True)
    return binary


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--wheel", help="one that is there, instead of making one")
    arguments = parser.parse_args()
    base = interpreter()
    if base is None:
        skip("no CPython from 3.9 on with venv and headers (Debian: python3-venv, python3-dev)")
    with tempfile.TemporaryDirectory() as folder:
        python = os.path.join(folder, "venv", "bin", "python")
        if quietly([base, "-m", "venv", os.path.join(folder, "venv")]).returncode != 0:
            skip("no virtual environment can be made")
        if quietly([python, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "auditwheel"]).returncode != 0:
            skip("PyPI is not to be had")
        wheel = arguments.wheel
        if wheel is None:
            made = quietly([os.path.join(arguments.root, "tools", "python", "wheel"), "--config-settings",
                            f"build-dir={folder_of(os.path.abspath(arguments.build), 'own')}"], env={**os.environ, **compilers_of(arguments.build), "PYTHON": base, "WHEELS": folder})
            wheels = glob.glob(os.path.join(folder, "cairn-*.whl"))
            if made.returncode != 0 or len(wheels) != 1:
                sys.exit(f"no wheel was made:\n{made.stdout[-6000:]}")
            wheel = wheels[0]
        root = os.path.join(folder, "root")
        installed = quietly([python, "-m", "pip", "install", "-q", "--target", root + "/site", wheel])
        if installed.returncode != 0:
            sys.exit(f"the wheel is not to be installed:\n{installed.stdout}")
        libraries = [path for path in glob.glob(root + "/site/cairn*/**/*.so*", recursive=True)]
        present = {os.path.basename(path) for path in libraries}
        missing = {f"{os.path.basename(path)} wants {name}" for path in libraries for name in needed(path) if name not in COMMON | present}
        if missing or len(libraries) < 4:
            sys.exit(f"not in the wheel: {sorted(missing)}; in it: {sorted(present)}")
        binary = bare_root(base, root)
        strange = [path for path in glob.glob(root + "/**/*.so*", recursive=True) if "/site/" not in path and OURS.match(os.path.basename(path))]
        if strange:
            sys.exit(f"the root is not bare: {strange}")
        alone = ["chroot", root] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "chroot", root]
        clean = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
        if quietly([*alone, binary, "-c", ""], env=clean).returncode != 0 and os.geteuid() != 0:
            print("no user namespaces here: not tried in a root of its own")
            return 0
        done = quietly([*alone, binary, "-c", PROGRAM], env=clean)
        print(f"{os.path.basename(wheel)}: {done.stdout.strip()}")
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
