"""The part `disk` of tools/bench/streaming: blocks that go from the host's memory to a disk and come back, on the clock, beside what dd moves in the same folder
with the page cache out of the way; and a program whose tensors do."""
import json
import pathlib
import re
import subprocess
import tempfile
import time

from measuring import HERE, ROOT, Failure, run, show

MIB, GIB = 1 << 20, 1 << 30
BLOCK, HOST, DEVICE = 16 * MIB, 256 * MIB, 64 * MIB
PIECE = 8 * MIB  # that is written or read at a time, by dd as by Cairn
BAR = 80  # percent of dd's bandwidth


def compiled(folder):
    program = f"{folder}/streaming_disk"
    sources = [HERE / "peers" / "streaming_disk.cpp", ROOT / "ops" / "spill_file.cpp"]
    done = subprocess.run(["c++", "-std=c++20", "-O2", "-DFMT_SHARED", f"-I{ROOT}", "-o", program, *sources, "-lfmt", "-pthread"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"streaming_disk.cpp does not compile\n{done.stderr}")
    return program


def dd(*arguments):
    """Seconds."""
    done = subprocess.run(["dd", f"bs={PIECE}", *arguments], capture_output=True, text=True, check=False)
    found = re.search(r"copied, ([0-9.e-]+) s", done.stderr)
    if done.returncode or not found:
        raise Failure(f"dd {' '.join(arguments)}: {done.stderr.strip()}")
    return float(found[1])


def disk(options):
    count = options.disk // BLOCK
    size = count * BLOCK
    rows, best = [], 0
    for _ in range(max(1, options.repeat)):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            program, file, stats = compiled(folder), pathlib.Path(folder) / "dd", pathlib.Path(folder) / "s"
            blocks = f"count={size // PIECE}"
            write = dd("if=/dev/zero", f"of={file}", blocks, "oflag=direct")
            read = dd(f"if={file}", "of=/dev/null", blocks, "iflag=direct")
            file.unlink()
            wrote, came = map(float, run([program, folder, count]).output.split())
            start = time.monotonic()
            done = run([options.vmrun, f"--device=emulated,memory={DEVICE},host={HOST},disk={folder}", f"--stats={stats}", HERE / "streaming_programs" / "disk.scm", count])
            took = time.monotonic() - start
            device = json.loads(stats.read_text())["device"]
        if done.output != "()":
            raise Failure(f"WRONG: tensors {done.output} came back changed")
        would = (write * device["bytes_to_disk"] + read * device["bytes_from_disk"]) / size
        share = 100 * (write + read) / (wrote + came)
        best = max(best, share)
        rows.append([*(f"{size / seconds / 1e9:.2f}" for seconds in (write, read, wrote, came)), f"{share:.0f}",
                     f"{(device['bytes_to_disk'] + device['bytes_from_disk']) / GIB:.2f}", f"{took:.2f}", f"{100 * would / took:.0f}"])
    show(f"{count} blocks of 16 MiB to a disk and back", ["dd writes, GB/s", "reads", "Cairn writes", "reads", "% of dd", "a program: GiB", "s", "% of dd"], rows,
         "Checksums included. The program makes as many tensors within a host's memory of 256 MiB and looks for the largest element of each; its kernels, and the copies of the "
         "emulated device, have the same processors, and without a plan nothing is read ahead.")
    if best < BAR and not options.quick:
        raise Failure(f"less than {BAR} % of what dd moves")
