"""The part `arena` of tools/bench/streaming. Blocks of random sizes, taken and given back at random, in the arena of pages and, for comparison,
in one stretch of memory by best fit. At most a given number of bytes is in use, and nearly always nearly as many are. Memory counts at its
largest, beside what may be in use; `fail` is what found no memory where there was 100/95 of that. A block that fails although as many pages are free as it
needs ends with WRONG and code 1. Nanoseconds are medians of single calls, on the clock and without what the system's maps take.
"""
import subprocess
import tempfile

import measuring
from measuring import HERE, ROOT, Failure, show

KIB, MIB, GIB = 2**10, 2**20, 2**30
# Sizes of blocks, the least and the most; bytes in use.
MIXES = (
    ("256 B to 64 MiB", 256, 64 * MIB, 4 * GIB),
    ("256 B to 64 MiB", 256, 64 * MIB, 16 * GIB),
    ("2 MiB to 64 MiB", 2 * MIB, 64 * MIB, 4 * GIB),
    ("1 MiB to 5 MiB", MIB, 5 * MIB, 4 * GIB),
    ("2.1 MiB", 2.1 * MIB, 2.1 * MIB, 4 * GIB),
    ("64 KiB to 2 MiB", 64 * KIB, 2 * MIB, 4 * GIB),
    ("256 B to 64 KiB", 256, 64 * KIB, GIB // 2),
)


def compiled(folder):
    program = f"{folder}/streaming_arena"
    sources = [HERE / "peers" / "streaming_arena.cpp", *sorted((ROOT / "ops" / "pages").glob("*.cpp")), HERE / "peers" / "best_fit_arena.cpp", ROOT / "ops" / "ordering.cpp"]
    done = subprocess.run(["c++", "-std=c++20", "-O2", f"-I{ROOT}", "-o", program, *sources], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"streaming_arena.cpp does not compile\n{done.stderr}")
    return program


def size(count):
    return f"{count // GIB} GiB" if count >= GIB else f"{count // MIB} MiB"


def arena(options):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder)

        def outcome(kind, least, most, in_use, memory):
            words = measuring.run([program, kind, least, most, in_use, memory, options.operations, 1]).output.split()
            if int(words[2]):
                raise Failure(f"WRONG: {words[2]} of {options.operations:,} blocks failed that free pages could have served")
            return words

        for name, least, most, in_use in MIXES:
            in_use //= 16 if options.quick else 1
            bound = int(in_use / 0.95) // (2 * MIB) * 2 * MIB
            blocks, _, _, memory, take, late, give, mapped, calls, microseconds = outcome("pages", least, most, in_use, 0)
            best_fit = outcome("best-fit", least, most, in_use, 0)[3]
            fail, best_fit_fails = (outcome(kind, least, most, in_use, bound)[1] for kind in ("pages", "best-fit"))
            rows.append([name, size(in_use), blocks, memory, best_fit, fail, best_fit_fails, take, late, give, f"{100 * float(mapped):.1f}", calls, microseconds])
    show(f"The arena of pages, {options.operations:,} operations",
         ["sizes", "in use", "blocks", "memory / in use", "by best fit", "fail", "by best fit", "take, ns", "99th", "give back, ns", "% mapped", "calls a take", "µs in them"], rows,
         "`% mapped`: blocks in pages that do not follow one another. `calls`: of the system, to map and unmap, and what they take on average; pages that have been "
         "touched take longer to unmap.")
