"""The programs whose gradients are taken under budgets, and their runs."""
import dataclasses
import functools
import pathlib

import measuring
from measuring import HERE, Failure, OverBudget

# The file and its arguments, in full and for --quick. A gradient of full size takes up to a second on one core, and its tape 20 to 300 MiB:
# in a program of numbers less time, as there each record of 32 bytes is one operation.
NETWORKS = {
    "gpt": ("tensor_programs/gpt.scm", "1 12 192 128 4", "1 6 48 64 4"),
    "resnet": ("tensor_programs/resnet.scm", "1 8 96", "1 2 64 8 3 4 6 3"),
    "resnet101": ("tensor_programs/resnet.scm", "1 8 96 64 3 4 23 3", "1 2 32 8 3 4 8 3"),
    "resnet152": ("tensor_programs/resnet.scm", "1 8 96 32 3 8 36 3", "1 2 32 8 2 4 9 3"),
    "densenet": ("tensor_programs/densenet.scm", "1 8 48 12 6 12 8", "1 2 24 8 4 8 6"),
    "inception": ("tensor_programs/inception.scm", "1 8 24 32 10", "1 2 16 16 6"),
    "lstm": ("tensor_programs/lstm.scm", "1 1000 32 64 128", "1 150 32 16 64"),
    "tree": ("tensor_programs/tree.scm", "1 9 128 128", "1 6 64 64"),
    "descent": ("tensor_programs/descent.scm", "1 200 512 96", "1 80 256 64"),
    "flow": ("gradient_programs/flow.scm", "checkpoint-*j 6000", "checkpoint-*j 200"),
    "rollout": ("gradient_programs/rollout.scm", "checkpoint-*j 60000", "checkpoint-*j 2000"),
    "branches": ("gradient_programs/branches.scm", "checkpoint-*j 18", "checkpoint-*j 13"),
    "determinant": ("gradient_programs/determinant.scm", "checkpoint-*j 60", "checkpoint-*j 25"),
}


def with_checkpoints(text):
    """The program of tensors, which takes as many gradients as its first argument says, with checkpoint-*j."""
    return text.replace("(*j loss parameters 1)", "(checkpoint-*j loss parameters 1)")


def checkpointed(file, folder):
    """The program of tensors with checkpoint-*j, and with the answer of its gradient as output, for which nothing is allocated that could take more
    than the gradient did."""
    text = file.read_text()
    changed = with_checkpoints(text).replace(
        "(write (loop n))",
        "(define (sums g) (cond ((pair? g) (+ (sums (car g)) (sums (cdr g)))) ((tensor? g) (sumall g)) ((number? g) g) (else 0)))\n"
        "(define r (work)) (write (car r)) (newline) (write (sums (cdr r)))")
    if changed.count("checkpoint-*j") != 1 or "(define r (work))" not in changed:
        raise Failure(f"{file.name} is not as this benchmark expects it")
    copy = pathlib.Path(folder) / file.name
    copy.write_text(changed)
    return copy


ENOUGH = "64GiB"  # for one tape with all that rules ask for: other schedules than `auto` do without what is cheap to compute again,
KEEPS_ALL = "fresh 0\n"  # and so does `auto` where memory that is used for the first time costs more than that


@dataclasses.dataclass(eq=False)
class Network:
    """A program that takes one gradient by checkpoint-*j and prints what tells whether it is right. What is the same in every run is kept."""
    name: str
    vmrun: str
    original: pathlib.Path
    file: pathlib.Path
    repeated: pathlib.Path | None  # of tensors: the program that takes gradients again and again
    arguments: list
    tolerance: float  # the factor to which the least budget is known
    costs: str | None  # a table of costs, or none for the built-in one
    keeps_all: pathlib.Path  # the same table, by which one tape keeps all
    misnamed: list = dataclasses.field(default_factory=list)  # what messages said would do and does not, found on the way to the least

    def __str__(self):
        return f"{self.name} {' '.join(self.arguments)}"

    def run(self, schedule, memory=None, explain=False, costs=None):
        costs = costs or self.costs
        return measuring.run_vmrun(self.vmrun, self.file, *self.arguments, schedule=schedule, memory=memory, explain=explain,
                                   options=[f"--costs={costs}"] if costs else [])

    @property
    def of_numbers(self):
        return self.name in ("rollout", "branches", "determinant")

    def job(self, schedule, memory=None):
        return lambda: self.run(schedule, memory)

    def calls(self, schedule, memory, count):
        """A job that takes so many gradients, as the steps of a training do."""
        return lambda: measuring.run_vmrun(self.vmrun, self.repeated, count, *self.arguments[1:], schedule=schedule, memory=memory)

    def run_with_all(self, explain=False):
        """On one tape with all that rules ask for. Of numbers any tape has that, and `auto` may still run steps again."""
        return self.run("tape", ENOUGH, explain) if self.of_numbers else self.run("auto", ENOUGH, explain, self.keeps_all)

    @functools.cache
    def planned(self, memory):
        """Under a budget, with the report; an OverBudget if that is too little. The answer has to be that of one tape, to the last bit."""
        try:
            result = self.run("auto", memory, explain=True)
        except OverBudget as failure:
            return failure
        if result.output != self.tape.output:
            raise Failure(f"WRONG: {self.command(memory)} gives other bits than one tape")
        return result

    @functools.cached_property
    def tape(self):
        """The same, with the report."""
        return self.run_with_all(explain=True)

    def start(self):
        """What is not the gradient: start, compilation and, of tensors, the parameters."""
        if self.file == self.original:
            return measuring.run([self.vmrun, "--verify-only", self.file])
        return measuring.run_vmrun(self.vmrun, self.original, "0", *self.arguments[1:])

    def whole(self):
        """The most bytes of all accounts on one tape."""
        return self.tape.report["peak"]["measured"]

    @functools.cached_property
    def unavoidable(self):
        """Bytes of parameters and data, and as much again for their cotangents."""
        return 0 if self.file == self.original else 2 * self.start().stats["tensor_peak_bytes"]

    @functools.cached_property
    def least(self):
        """The least budget that works, to the tolerance."""
        works, fails, named = None, self.whole() // 64, set()
        while works is None or works > fails * self.tolerance:
            memory = int((works * fails) ** .5) if works else max(self.whole(), int(fails * 1.1))
            result = self.planned(memory)
            if not isinstance(result, OverBudget):
                works = memory
                continue
            fails = memory
            if result.named and result.named not in named and not (works and result.named > works):
                named.add(result.named)
                if isinstance(self.planned(result.named), OverBudget):
                    self.misnamed.append(f"{self.command(memory)} names a budget that does not do: {result.named}")
                else:
                    works = result.named
        return works

    def budgets(self, count):
        """At equal ratios from the least that works to what one tape takes, or to a little more than the least where a tape hardly takes more."""
        span = max(self.whole() / self.least, 1.25)
        return [round(self.least * span ** (i / (count - 1))) for i in range(count)]

    def command(self, memory):
        """For a message: what to type."""
        changed = "" if self.file == self.original else " (checkpoint-*j for *j)"
        return f"vmrun --memory={memory} {self.original.relative_to(measuring.ROOT)} {' '.join(self.arguments)}{changed}"


def made(options, folder):
    """The networks asked for, with what had to be changed for them in the folder."""
    keeps_all = pathlib.Path(folder) / "keeps_all.costs"
    rates = pathlib.Path(options.costs).read_text().splitlines() if options.costs else []
    keeps_all.write_text("".join(f"{rate}\n" for rate in rates if rate.split()[:1] != ["fresh"]) + KEEPS_ALL)
    for name in options.networks:
        file, *arguments = NETWORKS[name]
        original = HERE / file
        copy, repeated = original, None
        if original.parent.name == "tensor_programs":
            copy, repeated = checkpointed(original, folder), pathlib.Path(folder) / f"{original.stem}_repeated.scm"
            repeated.write_text(with_checkpoints(original.read_text()))
        yield Network(name, options.vmrun, original, copy, repeated, arguments[options.quick].split(), 1.1 if options.quick else 1.03,
                      options.costs, keeps_all)
