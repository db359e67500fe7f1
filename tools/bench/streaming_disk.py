"""The part `disk` of tools/bench/streaming: tensors that go from the host's memory to a disk and come back, on the clock, beside what dd moves in the same folder
with the page cache out of the way."""
import json
import pathlib
import re
import subprocess
import tempfile
import time

from measuring import HERE, Failure, run, show

MIB, GIB = 1 << 20, 1 << 30
TENSOR, HOST, DEVICE = 16 * MIB, 256 * MIB, 64 * MIB
PIECE = 8 * MIB  # that is written or read at a time, by dd as by Cairn
BAR = 80  # percent of dd's bandwidth


def dd(*arguments):
    """Seconds."""
    done = subprocess.run(["dd", f"bs={PIECE}", *arguments], capture_output=True, text=True, check=False)
    found = re.search(r"copied, ([0-9.e-]+) s", done.stderr)
    if done.returncode or not found:
        raise Failure(f"dd {' '.join(arguments)}: {done.stderr.strip()}")
    return float(found[1])


def disk(options):
    count = options.disk // TENSOR
    rows, worst = [], 100
    for _ in range(options.repeat):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            file = pathlib.Path(folder) / "dd"
            blocks = f"count={count * TENSOR // PIECE}"
            write = dd("if=/dev/zero", f"of={file}", blocks, "oflag=direct")
            read = dd(f"if={file}", "of=/dev/null", blocks, "iflag=direct")
            file.unlink()
            stats = pathlib.Path(folder) / "s"
            start = time.monotonic()
            done = run([options.vmrun, f"--device=emulated,memory={DEVICE},host={HOST},disk={folder}", f"--stats={stats}", HERE / "streaming_programs" / "disk.scm", count])
            took = time.monotonic() - start
            device = json.loads(stats.read_text())["device"]
        if done.output != "()":
            raise Failure(f"WRONG: tensors {done.output} came back changed")
        would = (write * device["bytes_to_disk"] + read * device["bytes_from_disk"]) / (count * TENSOR)
        share = 100 * would / took
        worst = min(worst, share)
        rows.append([f"{device['bytes_to_disk'] / GIB:.2f}", f"{device['bytes_from_disk'] / GIB:.2f}", f"{count * TENSOR / write / 1e9:.2f}", f"{count * TENSOR / read / 1e9:.2f}",
                     f"{took:.2f}", f"{(device['bytes_to_disk'] + device['bytes_from_disk']) / took / 1e9:.2f}", f"{share:.0f}"])
    show(f"{count} tensors of 16 MiB, by a host's memory of 256 MiB", ["GiB to the disk", "back", "dd writes, GB/s", "dd reads", "s", "GB/s", "% of dd"], rows,
         "`% of dd`: the time that dd takes for as many bytes of each kind, by what the whole process took, its kernels and checksums included.")
    if worst < BAR and not options.quick:
        raise Failure(f"less than {BAR} % of what dd moves")
