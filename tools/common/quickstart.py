#!/usr/bin/env python3
"""The demonstration of tools/quickstart: a gradient in three runs, then a small training, and a short report of each.

    quickstart.py VMRUN SAMPLES

Fails (exit code 1) when a run does not do what the report claims.
"""
import json
import os
import subprocess
import sys
import tempfile

ITERATIONS = "3000000"
SMALL = "64MiB"


def run(vmrun, sample, operator, *options):
    """Exit code, output, last message and counters of one run."""
    with tempfile.NamedTemporaryFile() as stats:
        done = subprocess.run([vmrun, f"--stats={stats.name}", *options, sample, operator, ITERATIONS],
                              capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr, json.loads(stats.read() or "{}")


def mebibytes(count):
    return f"{count / 2**20:.1f} MiB"


def show(title, result):
    code, output, message, stats = result
    print(f"\n{title}")
    if code == 0:
        value, gradient = output.split()
        print(f"  value          {value}")
        print(f"  gradient       {gradient}")
    else:
        print(f"  stopped        exit code {code}: {message.splitlines()[0] if message else ''}")
    if not stats:
        return
    accounted = stats["heap_peak_bytes"] + stats["tape_peak_bytes"] + stats["capsule_peak_bytes"]
    print(f"  steps          {stats['steps']:,}")
    print(f"  peak memory    {mebibytes(accounted)} accounted, {mebibytes(stats['rss_peak_bytes'])} resident")
    if code == 0:
        print(f"  schedule       {stats['schedule']}, replay factor {stats['replay_factor']:.2f}")
    print(f"  time           {stats['wall_s']:.2f} s")


def gradient(vmrun, sample):
    print(f"{sample}: x <- r x (1 - x), {int(ITERATIONS):,} times; the gradient with respect to r")
    plain = run(vmrun, sample, "*j")
    show("*j, with three quarters of this machine's memory", plain)
    refused = run(vmrun, sample, "*j", f"--memory={SMALL}")
    show(f"*j, with {SMALL}", refused)
    checkpointed = run(vmrun, sample, "checkpoint-*j", f"--memory={SMALL}")
    show(f"checkpoint-*j, with {SMALL}", checkpointed)

    if plain[0] not in (0, 3):
        sys.exit(f"\n*j failed:\n{plain[2]}")
    if refused[0] != 3:
        sys.exit("\n*j was expected to exceed the budget (exit code 3)")
    if checkpointed[0] != 0:
        sys.exit(f"\ncheckpoint-*j failed:\n{checkpointed[2]}")
    if plain[0] == 0 and plain[1] != checkpointed[1]:
        sys.exit("\nthe two gradients differ")
    print("\nThe same value and the same gradient, to the last bit." if plain[0] == 0 else
          "\nThis machine has not enough memory for *j at all; checkpoint-*j did it.")


def training(vmrun, samples):
    program = os.path.join(samples, "digits.scm")
    data = os.path.join(samples, "data", "digits.npy")
    page = os.path.join(os.path.dirname(os.path.dirname(vmrun)), "quickstart.html")
    print(f"\n{program}: a small convolutional network learns to read 1,438 handwritten digits")
    with tempfile.NamedTemporaryFile() as stats:
        done = subprocess.run([vmrun, f"--read={data}", f"--stats={stats.name}", f"--report={page}", program, f"--data={data}", "--epochs=5"],
                              capture_output=True, text=True)
        counters = json.loads(stats.read() or "{}")
    if done.returncode != 0:
        sys.exit(f"\nthe training failed:\n{done.stderr}")
    *losses, accuracy = map(float, done.stdout.split())
    most = max(losses)
    for epoch, loss in enumerate(losses, 1):
        print(f"  epoch {epoch}        loss {loss:.3f} {'#' * round(40 * loss / most)}")
    print(f"  accuracy       {100 * accuracy:.1f} % of 359 digits that it has not seen")
    print(f"  peak memory    {mebibytes(counters['rss_peak_bytes'])} resident")
    print(f"  time           {counters['wall_s']:.2f} s")
    print(f"  curves         {page}")
    if accuracy < .95:
        sys.exit("\nmore than 95 % were expected")
    print("\ndocs/tutorial.md begins here; docs/gallery.md shows more.")


def main():
    vmrun, samples = sys.argv[1:3]
    gradient(vmrun, os.path.join(samples, "logistic.scm"))
    training(vmrun, samples)


if __name__ == "__main__":
    main()
