#!/usr/bin/env python3
"""Installs the Python package by pip into a fresh virtual environment and runs the tests beside this file there.

    run.py --root SOURCE-FOLDER --build BUILD-FOLDER [--from-nothing | --sanitized] [TEST ...]

The extension is linked to the libraries of the build folder; with --from-nothing pip builds all of it, as it does for users, and the first tests
alone are run; with --sanitized the binding, not the libraries, is compiled with AddressSanitizer and UndefinedBehaviorSanitizer, and what leaks.py
leaves behind is a failure. Tests of PyTorch and JAX want these: CAIRN_TEST_PYTHON names an interpreter that has them, whose packages are then in reach.
Where PyPI is not to be had, those of that interpreter build the package too: scikit-build-core, NumPy, and CMake and Ninja from wherever they are.
"""
import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile

SKIPPED = 77
FOLDER = os.path.dirname(os.path.abspath(__file__))
FIRST = ["test_values"]
SANITIZED = ["test_values", "test_programs", "test_derivatives", "test_runs", "test_lifetimes"]
STACK = 64 << 20  # instrumented frames are several times as large; what nests 2000 deep wants more than the usual 8 MiB
# A thread that CPython ends is caught as a reference to nothing, which is libstdc++'s way: address, not null, finds what is read there.
FLAGS = "-fsanitize=address,undefined -fno-sanitize=null -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1"


def quietly(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def usable(python):
    """Whether an extension can be built for it, in an environment of its own."""
    look = "import ensurepip, os, sys, sysconfig, venv; sys.exit(not os.path.exists(sysconfig.get_paths()['include'] + '/Python.h') or sys.version_info < (3, 9))"
    try:
        return quietly([python, "-c", look]).returncode == 0
    except OSError:
        return False


def interpreter():
    chosen = os.environ.get("CAIRN_TEST_PYTHON")
    for python in [chosen] if chosen else [sys.executable, "/usr/bin/python3"]:
        if usable(python):
            return python
    return None


def folder_of(build, kind):
    """Where pip builds: beside the build folder, from where sources have the same relative paths, so that ccache knows what was compiled there."""
    return f"{build}-python-{kind}-{{wheel_tag}}"


def compilers_of(build):
    """Those of the build folder by the names that they have there, which is how ccache knows them, as environment variables."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        found = dict(re.findall(r"^CMAKE_(C|CXX)_COMPILER:[A-Z]+=(.+)$", file.read(), re.MULTILINE))
    return {"CC" if language == "C" else "CXX": path for language, path in found.items()}


def packages_of(python):
    return quietly([python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]).stdout.strip()


def sanitized(python, tests, environment):
    """The sanitizers' libraries must be the first of the process; Python's own pools of memory would hide what is wrong."""
    libraries = [quietly(["c++", f"-print-file-name=lib{name}.so"]).stdout.strip() for name in ("asan", "ubsan")]
    environment = {**environment, "LD_PRELOAD": " ".join(libraries), "PYTHONMALLOC": "malloc", "CAIRN_SANITIZED": "1"}
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (STACK if hard == resource.RLIM_INFINITY else min(STACK, hard), hard))
    done = subprocess.run([python, "-m", "unittest", *tests], cwd=FOLDER, env={**environment, "ASAN_OPTIONS": "detect_leaks=0"})
    told = quietly([python, "leaks.py"], cwd=FOLDER, env={**environment, "ASAN_OPTIONS": "detect_leaks=1"}).stdout
    # The interpreter and NumPy leave things of their own.
    leaks = [block for block in told.split("\n\n") if "leak of" in block and "/cairn/_cairn." in block]
    if "Traceback" in told or leaks:
        print(f"{len(leaks)} leaks\n" + "\n\n".join(leaks[:5]) if leaks else told)
        return 1
    return done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--from-nothing", action="store_true")
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    root, build = os.path.abspath(arguments.root), os.path.abspath(arguments.build)
    base = interpreter()
    if base is None:
        skip("no CPython from 3.9 on with venv and headers (Debian: python3-venv, python3-dev)")
    with tempfile.TemporaryDirectory() as folder:
        environment = os.path.join(folder, "venv")
        made = quietly([base, "-m", "venv", environment])
        if made.returncode != 0:
            skip(f"no virtual environment can be made:\n{made.stdout}")
        python = os.path.join(environment, "bin", "python")
        if os.environ.get("CAIRN_TEST_PYTHON"):
            with open(os.path.join(packages_of(python), "lent.pth"), "w", encoding="utf-8") as file:
                file.write(packages_of(base) + "\n")
        offline = quietly([python, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "scikit-build-core"]).returncode != 0
        if offline and quietly([python, "-c", "import numpy, scikit_build_core"]).returncode != 0:
            skip("PyPI is not to be had, and CAIRN_TEST_PYTHON names no interpreter with scikit-build-core and NumPy")
        kind = "own" if arguments.from_nothing else "sanitized" if arguments.sanitized else "linked"
        settings = ["--config-settings", f"build-dir={folder_of(build, kind)}"]
        if arguments.sanitized:
            settings += ["--config-settings", f"cmake.define.CMAKE_CXX_FLAGS={FLAGS}"]
        if not arguments.from_nothing:
            settings += ["--config-settings", f"cmake.define.CAIRN_BUILT={build}"]
        if offline:
            settings += ["--no-index", "--no-build-isolation"]
        installed = quietly([python, "-m", "pip", "install", *settings, root], env={**os.environ, **compilers_of(build)})
        if installed.returncode != 0:
            print(installed.stdout[-6000:])
            sys.exit("pip install failed")
        listed = quietly([python, "-m", "pip", "show", "-f", "cairn"]).stdout
        wrong = [line for line in listed.splitlines() if line.endswith((".a", ".h", ".cpp", "vmrun", ".pc"))]
        if wrong or "py.typed" not in listed:
            sys.exit(f"the package holds something else than it should: {wrong}\n{listed}")
        quietly([python, "-m", "pip", "install", "-q", "mypy", "tqdm"])  # tests that want them are skipped where they are not to be had
        tests = arguments.tests or (FIRST if arguments.from_nothing else ["discover", "-p", "test_*.py"])
        environment = {**os.environ, "CAIRN_ROOT": root}
        if arguments.sanitized:
            return sanitized(python, arguments.tests or SANITIZED, environment)
        return subprocess.run([python, "-m", "unittest", *tests], cwd=FOLDER, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
