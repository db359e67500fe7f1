"""Runs the tools in a folder of their own; shared by the test programs beside it."""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest


def parse(description, **extra):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", required=True, help="the folder of vmrun, vmc and vmdis")
    for name, text in extra.items():
        parser.add_argument(f"--{name}", required=True, help=text)
    parser.add_argument("tests", nargs="*")
    return parser.parse_args()


class ToolTest(unittest.TestCase):
    """Every test has an empty folder, in which the tools run and where write() puts files."""

    bin = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return name

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def tool(self, tool, *arguments, input=b"", code=None, timeout=300, **options):
        done = subprocess.run([os.path.join(self.bin, tool), *map(str, arguments)], cwd=options.pop("cwd", self.folder), timeout=timeout,
                              input=input.encode() if isinstance(input, str) else input,
                              stdout=options.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, **options)
        done.output = (done.stdout or b"").decode(errors="replace")
        done.errors = done.stderr.decode(errors="replace")
        self.assertGreaterEqual(done.returncode, 0, f"killed by a signal\n{done.errors}")
        if code is not None:
            self.assertEqual(done.returncode, code, f"{tool} {' '.join(map(str, arguments))}\n{done.output}\n{done.errors}")
        return done

    def vmrun(self, *arguments, code=0, **options):
        return self.tool("vmrun", *arguments, code=code, **options)

    def stats(self, done):
        """The counters, which are the last line on standard error."""
        return json.loads(done.errors.splitlines()[-1])

    def gradients(self, *options):
        """What a.scm writes, what became of its gradients, and its counters."""
        output = self.vmrun(*options, "--explain=e.json", "--stats=s.json", "a.scm").output
        return output, json.loads(self.read("e.json"))["gradients"], json.loads(self.read("s.json"))

    def goes_on_anywhere(self, parts, *options):
        """a.scm, saved at the end of each of so many parts of its steps and resumed, writes the same in as many steps."""
        whole, _, stats = self.gradients(*options)
        for i in range(1, parts):
            steps = i * stats["steps"] // parts
            first = self.vmrun(*options, f"--steps={steps}", "--save=a.capsule", "a.scm", code=75).output
            rest = self.vmrun(*options, "--resume=a.capsule", "--stats=r.json").output
            self.assertEqual(first + rest, whole, steps)
            self.assertEqual(json.loads(self.read("r.json"))["steps"], stats["steps"], steps)

    def with_kills(self, first, again, seconds, every, most=5):
        """The output of a run that is killed at random moments and goes on with the last saved state, until it ends; it would take about so many seconds.
        `first` and `again` are what stands behind vmrun's options for that, of a new run and a resumed one."""
        generator = random.Random(5)
        kills = 0
        while True:
            begun = os.path.exists(self.path("state"))
            what = ["--resume=state", *again] if begun else first
            run = subprocess.Popen([os.path.join(self.bin, "vmrun"), "--output=output", "--save=state", f"--save-every={every}", *what], cwd=self.folder)
            if kills < most:
                time.sleep(generator.uniform(.2, .5) * seconds)
                run.send_signal(signal.SIGKILL)
            if run.wait() == -signal.SIGKILL:
                kills += begun
            elif kills or run.returncode or seconds < .01:
                break
            else:  # other work has ended since the time was taken: all of it again
                seconds /= 2
                for name in ("state", "output"):
                    pathlib.Path(self.path(name)).unlink(missing_ok=True)
        self.assertEqual(run.returncode, 0)
        self.assertGreater(kills, 0)
        return self.read("output").decode()
