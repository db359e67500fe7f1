"""How long the planner takes for runs of a size, without a machine."""
import pathlib
import statistics
import subprocess
import tempfile

from measuring import HERE, ROOT, Failure, show

MIB = 1 << 20
# Intervals, sizes that tables have, the budget, and the bar: milliseconds that simple moves may take, in one form of tapes.
RUNS = ((64, 128, 64 * MIB, 100), (128, 128, 64 * MIB, 100), (64, 500, 64 * MIB, 100), (256, 500, 1024 * MIB, 2000))
KINDS = (("simple moves", "simple", 0), ("simple moves, lean forms", "simple", 1), ("all moves but the free ones", "mixed", 0))
LONGEST = 128  # that all moves are planned for here: they take work as the fourth power of intervals


def planning(options):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "planning"
        rooms = ROOT / "vm" / "schedule"
        sources = [rooms / f"{name}.cpp" for name in ("planner", "plan_blocks", "plan_moves", "plan_parts", "plan_rows", "plan_tables", "profile", "lean_forms")]
        done = subprocess.run(["c++", "-std=c++20", "-O3", "-DNDEBUG", "-Wno-psabi", f"-I{ROOT}", "-o", program, HERE / "peers" / "planning.cpp", *sources],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure(f"planning.cpp does not compile\n{done.stderr}")
        rows, slow = [], []
        for intervals, cells, budget, most in RUNS[:1] if options.quick else RUNS:
            for name, family, forms in KINDS:
                if family == "mixed" and intervals > LONGEST:
                    continue
                answers = []
                for _ in range(options.repeat):
                    done = subprocess.run([program, *map(str, (intervals, cells, budget, family, forms))], capture_output=True, text=True, check=False)
                    if done.returncode:
                        raise Failure(f"WRONG: no plan for {intervals} intervals")
                    answers.append(done.stdout.split())
                tables, plan = (statistics.median(float(answer[i]) for answer in answers) for i in (0, 1))
                rows.append([f"{intervals} x {cells} within {budget // MIB} MiB", name, answers[0][2], f"{tables:.1f}", f"{plan:.1f}"])
                if (family, forms) == ("simple", 0) and tables > most:
                    slow.append(f"{intervals} x {cells} takes {tables:.0f} ms, and {most} are the bar")
        show("Planning, in milliseconds of processor time", ["intervals x sizes", "moves", "forms of tapes", "tables", "one plan"], rows)
        if slow and not options.quick:
            raise Failure("; ".join(slow))
