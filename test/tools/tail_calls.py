#!/usr/bin/env python3
"""Handlers must end in jumps: one that calls the next handler leaves something on the native stack at every step. GCC promises nothing, so
the machine code is looked at. Argument: a program that has the machine in it, built with optimisation."""
import re
import subprocess
import sys

HANDLER = "(cairn::machine::Engine*, cairn::value::Frame*, unsigned long const*, long, void const*)"


def main(binary):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-C", binary], check=True, capture_output=True, text=True).stdout
    handlers, jumps, wrong = set(), 0, []
    inside = None
    for line in text.splitlines():
        if head := re.fullmatch(r"[0-9a-f]+ <(.*)>:", line):
            inside = head[1] if HANDLER in head[1] else None
            handlers |= {inside} - {None}
        elif inside and re.search(r"\bjmp +\*", line):
            jumps += 1
        elif inside and (call := re.search(r"\bcall +(.*)", line)):
            if call[1].startswith("*") or HANDLER in call[1]:
                wrong.append(f"{inside.split('(anonymous namespace)::')[-1].split('(')[0]}: {line.strip()}")
    if len(handlers) < 100:
        sys.exit(f"only {len(handlers)} handlers found in {binary}: are its symbols there?")
    if jumps < 100:
        sys.exit(f"only {jumps} jumps from handler to handler: they return to a loop")
    if wrong:
        sys.exit("handlers that call where they should jump:\n" + "\n".join(wrong))
    print(f"{len(handlers)} handlers, {jumps} jumps from one to another, no calls")


if __name__ == "__main__":
    main(sys.argv[1])
