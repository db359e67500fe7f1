"""Calls that stop and go on: within budgets of steps and work, after Ctrl-C, in another process."""
from __future__ import annotations

import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, NamedTuple, Optional, Tuple, TypeVar, Union

from . import _cairn
from ._cairn import Machine, Procedure
from ._errors import refusal

if TYPE_CHECKING:
    from ._programs import Program

_Answer = TypeVar("_Answer")
_PHASES = ("plain", "forward", "backward")
_SLICE = 200_000  # steps between two looks at progress, to begin with


class Progress(NamedTuple):
    """How far a stopped run is. ``steps`` are its own; ``phase`` of the outermost gradient in it: ``"plain"`` (there is none), ``"forward"``, ``"backward"``. Numbers
    of the gradient are 0 while they are unknown."""

    steps: int
    phase: str
    gradient_steps: int
    gradient_steps_executed: int
    gradient_steps_predicted: int


class Run:
    """A call that can be stopped and goes on: ``procedure.start(*arguments)`` makes one, and an exception that stopped a call has one as its
    ``run``. It pickles with its program, after its end with its value, and goes on in any process; one that has failed raises its error again."""

    def __init__(self, program: "Program", machine: Optional[Machine], capsule: Optional[bytes] = None, begun: int = 0) -> None:
        self._program = program
        self._begun = begun  # steps of the machine before it
        self._machine = machine
        self._capsule = capsule
        self._holder = _holder(self)  # by which the machine knows whose what is stopped in it is
        self._lock = threading.RLock()  # of bringing it back into a machine
        self._value: Any = None
        self._done = False
        self._cancelled = False
        self._failed: Optional[BaseException] = None

    # Something of the machine's while it holds this run: another thread's call may have put it away before it gets there.
    def _asked(self, question: Callable[[Machine], Optional[_Answer]]) -> _Answer:
        while True:
            answer = question(self._at_work())
            if answer is not None:
                return answer

    def _at_work(self) -> Machine:
        if self._failed is not None:
            raise self._failed
        machine = self._machine
        if machine is not None:
            return machine
        with self._lock:
            if self._machine is None:
                if self._capsule is None:
                    raise RuntimeError("the run has ended: what it gave is its `value`")
                machine = self._program.machine()
                machine.restore(self._capsule)
                machine.hold(self._holder)
                self._machine, self._capsule = machine, None
            return self._machine

    def _put_away(self, capsule: bytes) -> None:
        self._capsule = capsule  # first: at no time it has neither
        self._machine = None

    def resume(self, steps: Optional[int] = None, work: Optional[int] = None,
               progress: Union[bool, Callable[[Progress], Any]] = False) -> "Run":
        """Goes on, for at most so many steps and so much work; without limits to the end. ``progress``: true for a bar of tqdm's, if that is
        installed, or a function of :class:`Progress`, which may call the program too. Gives the run itself: see :attr:`done`."""
        if not progress:
            self._slice(steps, work)
        else:
            self._shown(steps, work, progress)
        return self

    def _slice(self, steps: Optional[int], work: Optional[int]) -> Optional[Tuple[int, int, Progress]]:
        """Its status, what work it took, and how far the run is; nothing where it had ended before."""
        while not self._done:
            if self._cancelled:
                self._cancelled = False
                error = refusal(_cairn.STATUS_CANCELLED, "it was cancelled")
                error.run = self  # type: ignore[attr-defined]
                raise error
            machine = self._at_work()
            try:
                made = machine.run(self._holder, steps, work)
            except BaseException as error:
                if machine.holds(self._holder) or self._capsule is not None:
                    error.run = self  # type: ignore[attr-defined]
                elif machine is self._machine:
                    self._machine, self._failed = None, error
                raise
            if made is not None:
                status, value, used, progress = made
                if status == _cairn.STATUS_OK:
                    self._value, self._done, self._machine = value, True, None
                return status, used, self._progress_of(progress)
        return None

    def _shown(self, steps: Optional[int], work: Optional[int], progress: Union[bool, Callable[[Progress], Any]]) -> None:
        """Slices, between which somebody is told how far it is."""
        show, close = (progress, None) if callable(progress) else _bar(self)
        size = _SLICE
        try:
            while True:
                begun = time.monotonic()
                part = size if steps is None else min(size, steps)
                made = self._slice(part, work)
                if made is None:
                    return
                status, used, now = made
                if steps is not None:
                    steps -= part
                if work is not None:
                    work -= used
                took = time.monotonic() - begun
                if show is not None:
                    show(now)
                if status != _cairn.STATUS_OUT_OF_STEPS or steps == 0:
                    return
                size = size * 2 if took < 0.05 else max(1000, size // 2) if took > 0.2 else size
        finally:
            if close is not None:
                close()

    def slices(self, steps: Optional[int] = None, work: Optional[int] = None) -> Iterator[Progress]:
        """Goes on to the end in slices of so many steps or so much work, after each of which it tells how far it is. Who leaves the loop has a run
        that goes on where it is."""
        if steps is None and work is None:
            raise ValueError("slices: of how many steps=, or how much work=?")
        return self._sliced(steps, work)

    def _sliced(self, steps: Optional[int], work: Optional[int]) -> Iterator[Progress]:
        while True:
            made = self._slice(steps, work)
            if made is None or self._done:
                return
            yield made[2]

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._done

    @property
    def value(self) -> Any:
        """What the call gave; the run goes on to its end first."""
        return self.resume()._value

    @property
    def capsule(self) -> bytes:
        """Program and state, as the bytes of a capsule file, which ``vmrun --resume`` reads too."""
        capsule = self._capsule
        return capsule if capsule is not None else self._asked(lambda machine: machine.capsule(self._holder))

    @property
    def steps(self) -> int:
        """Its steps so far."""
        return self._asked(lambda machine: machine.steps(self._holder)) - self._begun

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return self._progress_of(self._asked(lambda machine: machine.progress(self._holder)))

    def _progress_of(self, found: Tuple[int, int, int, int, int]) -> Progress:
        steps, phase, length, executed, predicted = found
        return Progress(steps - self._begun, _PHASES[phase], length, executed, predicted)

    @property
    def where(self) -> str:
        """Where it stands, with the line of the program, a caret, and the chain of calls."""
        return self._asked(lambda machine: machine.where(self._holder))

    def cancel(self) -> None:
        """Stops a ``resume`` that is going on in another thread, or else the next one: it raises :class:`CancelledError`, and may go on. Other
        calls of the module are left alone."""
        machine = self._machine
        if machine is None or not machine.cancel(self._holder):
            self._cancelled = True

    def __getstate__(self) -> Dict[str, Any]:
        return {"program": self._program, "capsule": None if self._done else self.capsule, "value": self._value, "done": self._done, "begun": self._begun}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__init__(state["program"], None, state["capsule"], state["begun"])  # type: ignore[misc]
        self._value, self._done = state["value"], state["done"]

    def __repr__(self) -> str:
        return f"<Run of {self._program.name}: {'done' if self._done else 'failed' if self._failed is not None else 'stopped'}>"

    def __del__(self) -> None:
        machine = getattr(self, "_machine", None)
        if machine is not None:
            machine.let_go(self._holder)


def _holder(run: Run) -> Callable[[bytes], None]:
    reference = weakref.ref(run)

    def keep(capsule: bytes) -> None:
        kept = reference()
        if kept is not None:
            kept._put_away(capsule)

    return keep


def _bar(run: Run) -> Tuple[Optional[Callable[[Progress], Any]], Optional[Callable[[], None]]]:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None, None
    bar = tqdm(unit="step", unit_scale=True)
    begun = run.steps

    def show(now: Progress) -> None:
        if now.phase != "plain":  # when it has ended, the bar stays as it was
            bar.set_description(now.phase)
        if now.gradient_steps_predicted:
            bar.total = now.gradient_steps_predicted
            bar.update(now.gradient_steps_executed - bar.n)
        elif bar.total is None:
            bar.update(max(0, now.steps - begun - bar.n))

    return show, bar.close


def start(procedure: Procedure, *arguments: Any) -> Run:
    """A :class:`Run` of the call ``procedure(*arguments)`` that has not begun: ``start(m.f, x).resume(steps=1000)``."""
    from ._programs import program_of

    machine = procedure.machine
    run = Run(program_of(machine), machine)
    run._begun = machine.begin(run._holder, procedure, *arguments)
    return run


def kept_run(machine: Machine) -> Run:
    """Of a call that was stopped by a signal, or cancelled."""
    from ._programs import program_of

    run = Run(program_of(machine), machine, begun=machine.begun)
    machine.hold(run._holder)
    return run
