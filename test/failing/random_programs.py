#!/usr/bin/env python3
"""Writes random programs of test/property as a file of cases for test_failing: those with effects, updates and nested derivatives.

    random_programs.py COUNT FILE

Standard library only.
"""
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import run, variants, worlds


def main():
    with open(sys.argv[2], 'w', encoding='utf-8') as file:
        for seed in range(1, int(sys.argv[1]) + 1):
            device = '; flags: --device=emulated\n' if seed % 4 == 0 else ''
            file.write(';;; case noisy-%d\n%s%s\n' % (seed, device, run.noisy(seed)))
            text = variants.main_text(*worlds.Worldly(seed).program(), False).replace(worlds.FROM_FILE, worlds.FROM_MEMORY)
            file.write(';;; case worldly-%d\n; flags: --checkpoint=%s\n%s%s\n' %
                       (seed, ('auto', 'binomial,base=16,snapshots=3', 'online,base=16', 'budget,memory=100KiB')[seed % 4], device, text))
            for line in variants.NUMBERS.split('\n')[:50]:
                file.write('; input: %s\n' % line)


main()
