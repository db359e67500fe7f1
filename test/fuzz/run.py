#!/usr/bin/env python3
"""Runs the fuzzed programs for a fixed number of inputs each, from a copy of their corpus: the tree is never written to.

Prints the number of inputs tried; an input that breaks a promise is kept, its path printed, and the process ends with code 1. Inputs come
from the seed and from what those before were seen to reach: where threads of devices are at work that differs, so a run of capsule_loader is not
quite had again. What was found is in its file in any case.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = {  # largest input
    "reader_compiler": 2048,
    "file_formats": 4096,
    "module_loader": 16384,
    "capsule_loader": 16384,
    "plan_loader": 4096,
    "vm_random": 384,
    "api_calls": 512,
    "folder_names": 1024,
    "file_readers": 8192,
    "encodings": 8192,
}
SECONDS_AN_INPUT = 30
MEGABYTES = 2048


def asan_options():
    """Those of the sanitized tests, which are in CMakePresets.json, and leaks."""
    with open(HERE.parent.parent / "CMakePresets.json", encoding="utf-8") as file:
        preset = next(p for p in json.load(file)["testPresets"] if p["name"] == "sanitize")
    return preset["environment"]["ASAN_OPTIONS"].replace("$penv{ASAN_OPTIONS}:", "") + ":detect_leaks=1"


def fuzz(target, options):
    """Number of inputs, and what is wrong, or nothing."""
    keep = pathlib.Path(options.keep)
    with tempfile.TemporaryDirectory() as folder:
        # What is found goes to an empty folder. The inputs to begin with are named one by one: a folder would be read in an order that
        # differs from one file system to the next, and with it all that follows.
        corpus = pathlib.Path(folder) / "corpus"
        corpus.mkdir()
        seeds = pathlib.Path(folder) / "seeds"
        seeds.write_text(",".join(str(path) for path in sorted((HERE / "corpus" / target).glob("*"))), encoding="utf-8")
        # Entropic schedules of inputs would take half of the time.
        command = [options.build / "bin" / f"fuzz_{target}", corpus, f"-runs={options.runs}", f"-seed={options.seed}",
                   f"-max_len={TARGETS[target]}", "-entropic=0", f"-timeout={SECONDS_AN_INPUT}", f"-rss_limit_mb={MEGABYTES}",
                   f"-artifact_prefix={keep}/{target}-", "-print_final_stats=1", "-verbosity=0",
                   "-use_counters=0"]  # to count how often each feature was met takes longer than to run the inputs
        if seeds.stat().st_size:
            command.append(f"-seed_inputs=@{seeds}")
        if options.seconds:
            command.append(f"-max_total_time={options.seconds}")
        # Instrumented frames are several times as large; depth limits are set for ordinary ones.
        shell = ["bash", "-c", 'ulimit -s 65536 || true; exec "$@"', "fuzz", *map(str, command)]
        result = subprocess.run(shell, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                env={"ASAN_OPTIONS": asan_options(), "UBSAN_OPTIONS": "print_stacktrace=1", "PATH": "/usr/bin:/bin"})
    tried = re.search(r"number_of_executed_units:\s*(\d+)", result.stdout)
    return int(tried.group(1)) if tried else 0, result.stdout if result.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent.parent / "build-sanitize", help="build folder of the preset sanitize")
    parser.add_argument("--runs", type=int, default=10000, help="inputs for each program (default: 10,000)")
    parser.add_argument("--seconds", type=int, default=0, help="most seconds for each program (default: no limit)")
    parser.add_argument("--seed", type=int, default=1, help="of the random inputs (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time (default: 2)")
    parser.add_argument("--keep", default=".", help="folder for inputs that break a promise (default: here)")
    parser.add_argument("targets", nargs="*", help=f"which of {', '.join(TARGETS)} (default: all)")
    options = parser.parse_args()
    targets = options.targets or list(TARGETS)
    if unknown := [target for target in targets if target not in TARGETS]:
        parser.error(f"there is no program {unknown[0]}")
    options.build = options.build.resolve()
    failed = False
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = {target: pool.submit(fuzz, target, options) for target in targets}
        for target, result in results.items():
            tried, wrong = result.result()
            print(f"{target}: {tried:,} inputs, {'broken' if wrong else 'no complaint'}", flush=True)
            if wrong:
                failed = True
                print("\n".join(wrong.splitlines()[-60:]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
