"""The frame of the programs that check random ones: their common options, and how they go over seeds.

Standard library only.
"""
import argparse, concurrent.futures

MOST_TOLD = 20  # programs of which complaints are shown, three of each


def parser(count):
    p = argparse.ArgumentParser()
    p.add_argument('--vmrun')
    p.add_argument('--count', type=int, default=count)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--jobs', type=int, default=2)
    p.add_argument('--print', action='store_true')
    return p


def check_all(options, check):
    """How many programs were looked at, and how many have complaints, which are shown. `check` has a seed and gives the complaints, or None
    for a program that it does not look at."""
    seeds = range(options.seed, options.seed + options.count)
    ran = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for seed, wrong in zip(seeds, pool.map(check, seeds)):
            ran += wrong is not None
            failed += bool(wrong)
            for line in (wrong or [])[:3] if failed <= MOST_TOLD else []:
                print('FAIL %d %s' % (seed, line))
    return ran, failed
