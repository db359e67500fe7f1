"""Calls that stop and go on: within budgets of steps and work, after Ctrl-C, in another process."""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, NamedTuple, Optional, Tuple, Union

from ._cairn import Machine, Procedure

if TYPE_CHECKING:
    from ._programs import Program

_OK, _OUT_OF_STEPS, _OUT_OF_WORK = 0, 1, 14
_PHASES = ("plain", "forward", "backward")
_SLICE = 200_000  # steps between two looks at progress, to begin with


class Progress(NamedTuple):
    """How far a stopped run is. ``phase`` of the outermost gradient in it: ``"plain"`` (there is none), ``"forward"``, ``"backward"``. Numbers
    of the gradient are 0 while they are unknown."""

    steps: int
    phase: str
    gradient_steps: int
    gradient_steps_executed: int
    gradient_steps_predicted: int


class Run:
    """A call that can be stopped and goes on: ``procedure.start(*arguments)`` makes one, and an exception that stopped a call has one as its
    ``run``. It pickles, unless it has ended, and goes on in any process that has the same program."""

    def __init__(self, program: "Program", machine: Optional[Machine], capsule: Optional[bytes] = None) -> None:
        self._program = program
        self._machine = machine
        self._capsule = capsule
        self._value: Any = None
        self._done = False
        self._failed: Optional[BaseException] = None
        if machine is not None:
            machine.hold(_keeper(self))

    # What it needs a machine for.
    def _at_work(self) -> Machine:
        if self._failed is not None:
            raise self._failed
        if self._machine is None:
            if self._capsule is None:
                raise RuntimeError("the run has ended")
            machine = self._program.machine()
            machine.restore(self._capsule)
            self._machine, self._capsule = machine, None
            machine.hold(_keeper(self))
        return self._machine

    def _put_away(self, capsule: bytes) -> None:
        self._machine, self._capsule = None, capsule

    def resume(self, steps: Optional[int] = None, work: Optional[int] = None,
               progress: Union[bool, Callable[[Progress], Any]] = False) -> "Run":
        """Goes on, for at most so many steps and so much work; without limits to the end. ``progress``: true for a bar of tqdm's, if that is
        installed, or a function of :class:`Progress`. Gives the run itself: see :attr:`done`."""
        if self._done:
            return self
        machine = self._at_work()
        try:
            status = _run_shown(machine, steps, work, progress) if progress else machine.run(steps, work)
        except BaseException as error:
            if machine.suspended:
                error.run = self  # type: ignore[attr-defined]
                machine.hold(_keeper(self))  # behind that: a run that was made for the exception has let go of the machine
            else:
                self._machine, self._failed = None, error
            raise
        if status == _OK:
            self._value = machine.value()
            self._done = True
            machine.hold(None)
            self._machine = None
        return self

    def slices(self, steps: Optional[int] = None, work: Optional[int] = None) -> Iterator[Progress]:
        """Goes on to the end in slices of so many steps or so much work, after each of which it tells how far it is. Who leaves the loop has a run
        that goes on where it is."""
        if steps is None and work is None:
            raise ValueError("slices: of how many steps=, or how much work=?")
        return self._sliced(steps, work)

    def _sliced(self, steps: Optional[int], work: Optional[int]) -> Iterator[Progress]:
        while not self.resume(steps, work).done:
            yield self.progress

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
        if self._capsule is not None:
            return self._capsule
        return self._at_work().capsule()

    @property
    def steps(self) -> int:
        """Steps of the machine since its program began."""
        return self._at_work().steps()

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return _progress_of(self._at_work())

    @property
    def where(self) -> str:
        """Where it stands, with the line of the program, a caret, and the chain of calls."""
        return self._at_work().where()

    def cancel(self) -> None:
        """Stops a ``resume`` that is going on in another thread, or else the next one: it raises :class:`CancelledError`, and may go on."""
        if self._machine is not None:
            self._machine.cancel()

    def __getstate__(self) -> Dict[str, Any]:
        return {"program": self._program, "capsule": None if self._done else self.capsule, "value": self._value, "done": self._done}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__init__(state["program"], None, state["capsule"])  # type: ignore[misc]
        self._value, self._done = state["value"], state["done"]

    def __repr__(self) -> str:
        return f"<Run of {self._program.name}: {'done' if self._done else 'stopped'}>"

    def __del__(self) -> None:
        machine = getattr(self, "_machine", None)
        if machine is not None and not self._done:
            machine.hold(None)


def _keeper(run: Run) -> Callable[[bytes], None]:
    reference = weakref.ref(run)

    def keep(capsule: bytes) -> None:
        kept = reference()
        if kept is not None:
            kept._put_away(capsule)

    return keep


def _progress_of(machine: Machine) -> Progress:
    steps, phase, length, executed, predicted = machine.progress()
    return Progress(steps, _PHASES[phase], length, executed, predicted)


def _run_shown(machine: Machine, steps: Optional[int], work: Optional[int], progress: Union[bool, Callable[[Progress], Any]]) -> int:
    """Slices, between which somebody is told how far it is."""
    import time

    show, close = (progress, None) if callable(progress) else _bar(machine)
    left, size = steps, _SLICE
    try:
        while True:
            begun = time.monotonic()
            part = size if left is None else min(size, left)
            status = machine.run(part, work)
            if left is not None:
                left -= part
            if show is not None:
                show(_progress_of(machine))
            if status != _OUT_OF_STEPS or left == 0:
                return status
            took = time.monotonic() - begun
            size = size * 2 if took < 0.05 else max(1000, size // 2) if took > 0.2 else size
    finally:
        if close is not None:
            close()


def _bar(machine: Machine) -> Tuple[Optional[Callable[[Progress], Any]], Optional[Callable[[], None]]]:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None, None
    bar = tqdm(unit="step", unit_scale=True)
    begun = machine.steps()

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
    machine.begin(procedure, *arguments)
    return Run(program_of(machine), machine)


def kept_run(machine: Machine) -> Run:
    """Of a call that was stopped by a signal, or cancelled."""
    from ._programs import program_of

    return Run(program_of(machine), machine)
