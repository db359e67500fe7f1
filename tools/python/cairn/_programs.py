"""Programs: compiled, run, and their definitions as attributes."""
from __future__ import annotations

import inspect
import io
import operator
import os
import re
import sys
import warnings
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union, cast

from . import _cairn
from ._cairn import Machine, Procedure
from ._errors import refusal
from ._kinds import kind_of

_HERE = os.path.dirname(os.path.abspath(__file__))
_OURS = "python/"  # what names of the package's own definitions begin with
_SOURCES = (".scm", ".vlad")


def _helpers() -> str:
    with open(os.path.join(_HERE, "helpers.scm"), encoding="utf-8") as file:
        return file.read()


class Host(NamedTuple):
    """A function of Python's as a procedure of a program: ``cairn.host`` makes one."""

    call: Callable[..., Any]
    parameters: int
    derivative: Optional[Callable[..., Any]]
    reverse: Optional[Callable[..., Any]]
    forward: Optional[Callable[..., Any]]
    repeatable: bool


def host(call: Callable[..., Any], *, parameters: Optional[int] = None, derivative: Optional[Callable[..., Any]] = None,
         reverse: Optional[Callable[..., Any]] = None, forward: Optional[Callable[..., Any]] = None, repeatable: bool = False) -> Host:
    """A function with rules, for ``compile(hosts={"name": host(function, ...)})``. A function alone is one without.

    Without rules its result is a constant to derivatives. ``derivative(x, y)`` gives the Jacobian, a row for each number of the result ``y``, of
    all numbers ``x`` of the arguments, both as flat lists. Of functions whose arguments are arrays and numbers and whose result is an array,
    ``reverse(arguments, result, cotangent)`` gives a list of cotangents, ``None`` where there is none, and
    ``forward(arguments, result, tangents)`` the tangent. Derivatives of these derivatives are refused.

    A gradient with checkpoints computes parts of a run again. The function is not called again for that, unless it is ``repeatable``: then it must
    give the same for the same arguments, and nothing of its results is kept meanwhile.
    """
    if not callable(call):
        raise TypeError(f"a procedure of the host is a function, not {kind_of(call)}")
    if parameters is not None and not 0 <= parameters < 1 << 16:
        raise ValueError(f"parameters: how many arguments the function takes, not {parameters}")
    return Host(call, _parameters_of(call) if parameters is None else parameters, derivative, reverse, forward, repeatable)


def _parameters_of(call: Callable[..., Any]) -> int:
    try:
        found = inspect.signature(call).parameters.values()
    except (TypeError, ValueError) as error:
        raise TypeError(f"how many arguments does {call!r} take? Say it by cairn.host(..., parameters=)") from error
    if any(p.kind == p.VAR_POSITIONAL for p in found):
        raise TypeError(f"how many arguments does {call!r} take? Say it by cairn.host(..., parameters=)")
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in found)


def bytes_of(option: str, size: Union[int, str, None], least: int = 1) -> Optional[int]:
    """A size, such as 1000, "64MiB", "2GB"; messages name the option."""
    if size is None:
        return None
    found: Optional[int]
    if hasattr(size, "__index__") and not isinstance(size, bool):
        found = operator.index(size)
    elif isinstance(size, str):
        found = _cairn.size_of(size)
        if found is None:
            raise ValueError(f"{option}: {size!r} is no size: 1000, \"64MiB\", \"2GB\" are")
    else:
        raise TypeError(f"{option}: expected a number of bytes that is an int, or text such as \"64MiB\", got the {type(size).__name__} {size!r}")
    if found < least:
        raise ValueError(f"{option}: a number of bytes from {least} on, not {size}")
    return found


_Path = Union[str, "os.PathLike[str]"]


def _paths_of(option: str, given: Union[_Path, Sequence[_Path]]) -> List[str]:
    """Paths. One that stands alone is one: a text is no sequence of its letters, of which ``/`` would be the whole file system."""
    paths: List[Any]
    try:
        paths = [os.fspath(path) for path in ([given] if isinstance(given, (str, os.PathLike)) else given)]
    except TypeError:
        paths = [None]  # refused below
    if not all(isinstance(path, str) and path for path in paths):
        raise TypeError(f"{option}: expected a path that is a str or an os.PathLike, or a list of such, got {given!r}")
    return paths


def _words_of(given: Sequence[str]) -> List[str]:
    try:
        words: List[Any] = list(given)
    except TypeError:
        words = [None]  # refused below
    if isinstance(given, str) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"arguments: expected a list of str, got {given!r}")
    return words


def _writer(output: Any) -> Optional[Callable[[str], Any]]:
    if output is None:
        return lambda text: sys.stdout.write(text)  # whatever that is at the time
    if output is False:
        return None
    write: Any = getattr(output, "write", output)
    if callable(write):
        return cast(Callable[[str], Any], write)
    raise TypeError(f"output: expected a stream or a function of text, got {kind_of(output)}")


class _Later:
    """Output that is dropped until it speaks."""

    def __init__(self, write: Optional[Callable[[str], Any]]) -> None:
        self._write = write
        self.speaks = False

    def __call__(self, text: str) -> None:
        if self.speaks and self._write is not None:
            self._write(text)


def _reader(given: Any) -> Optional[Callable[[], str]]:
    if given is None:
        return lambda: sys.stdin.readline()
    if given is False:
        return None
    if isinstance(given, str):
        given = io.StringIO(given)
    read: Any = getattr(given, "readline", given)
    if callable(read):
        return cast(Callable[[], str], read)
    try:
        lines = iter(given)
    except TypeError:
        raise TypeError(f"input: expected a stream, text, lines or a function that gives lines, got {kind_of(given)}") from None
    return lambda: next(lines, "")


class Program:
    """A compiled program and how its machines are made. Never changes, and pickles as far as its functions and streams do."""

    def __init__(self, name: str, code: bytes, names: Sequence[str], hosts: Dict[str, Host], options: Dict[str, Any],
                 grants: List[Tuple[int, str]]) -> None:
        self.name = name
        self.code = code
        self.names = tuple(names)
        self.hosts = hosts
        self.options = options
        self.grants = grants
        self._elsewhere: Dict[str, Machine] = {}

    def machine(self, **changed: Any) -> Machine:
        """An empty machine for it."""
        options = {**self.options, **changed}
        options["output"] = _writer(options.get("output"))
        return self._made(options)

    def _made(self, options: Dict[str, Any]) -> Machine:
        options["input"] = _reader(options.get("input"))
        made = Machine(hosts=[(name, h.parameters, h.call, h.derivative, h.reverse, h.forward, h.repeatable) for name, h in self.hosts.items()],
                       **options)
        for rights, path in self.grants:
            made.grant(rights, path)
        made.program = self
        return made

    def started(self) -> Machine:
        """A machine in which the program has run, so that its definitions are there."""
        made = self.machine()
        made.load(self.code)
        made.run(None, None, None)
        return made

    def again(self, **changed: Any) -> Machine:
        """The same once more; what the program prints meanwhile is not printed again."""
        options = {**self.options, **changed}
        write = _Later(_writer(options.get("output")))
        made = self._made({**options, "output": write})
        made.load(self.code)
        made.run(None, None, None)
        write.speaks = True
        return made

    def on(self, device: str) -> Machine:
        """The machine for calls on a device that is not that of its options; what the program prints is not printed again."""
        if device not in self._elsewhere:
            self._elsewhere[device] = self.again(device=device)
        return self._elsewhere[device]

    def own(self) -> Machine:
        """The machine of procedures that were pickled with it."""
        if "" not in self._elsewhere:
            self._elsewhere[""] = self.again()
        return self._elsewhere[""]

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_elsewhere": {}}


def reduced(procedure: Procedure) -> Tuple[Any, ...]:
    """How a procedure pickles: by the name that the program gives it."""
    name = procedure.__name__
    if name is None:
        raise TypeError("only procedures that the program defines are pickled: pickle these, and make what is made of them anew")
    return _found, (program_of(procedure.machine), name)


def _found(program: Program, name: str) -> Any:
    return program.own().lookup(name)


def program_of(machine: Machine) -> Program:
    """What the machine runs."""
    program: Program = machine.program
    return program


class Module:
    """A program that has run. Its definitions are attributes, with ``_`` for ``-``: ``m.next_state`` is ``next-state``; ``m["next-state"]`` takes
    any name. Procedures are callables, other definitions values.

    One thread at a time uses a module, others wait; ``copy()`` gives one for another thread. Pickling one keeps the program, which runs again.
    """

    def __init__(self, program: Program, machine: Optional[Machine] = None) -> None:
        self._program = program
        self._machine = machine if machine is not None else program.started()

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"the name of a definition is a str, not {name!r}")
        if name.startswith(_OURS):
            raise AttributeError(f"the program defines no `{name}`")
        return self._machine.lookup(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_machine", "_program"):
            raise AttributeError(name)
        names = self._program.names
        dashed = name.replace("_", "-")
        found = next((n for n in (name, dashed, dashed + "?", dashed + "!") if n in names), None)
        if found is None:
            raise AttributeError(f"the program defines no `{dashed}`")
        value = self._machine.lookup(found)
        if isinstance(value, Procedure):
            self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("_machine", "_program"):
            raise AttributeError(f"{name}: what a program defines is not set from outside; give values to its procedures")
        super().__setattr__(name, value)

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *(re.sub(r"[?!]$", "", n).replace("-", "_") for n in self)})

    def __iter__(self) -> Iterator[str]:
        return (n for n in self._program.names if not n.startswith(_OURS))

    def __contains__(self, name: object) -> bool:
        return name in self._program.names and not str(name).startswith(_OURS)

    def copy(self) -> "Module":
        """The same program in a machine of its own, where it runs again (what it prints is not printed again)."""
        return Module(self._program, self._program.again())

    def cancel(self) -> None:
        """Stops the call that is going on in another thread, or else the next one: it raises :class:`CancelledError`."""
        self._machine.cancel(None)

    @property
    def statistics(self) -> Dict[str, Any]:
        """The machine's counters: steps, bytes, snapshots and so on (docs/c-api.md lists them)."""
        import json

        counters: Dict[str, Any] = json.loads(self._machine.statistics())
        return counters

    @property
    def memory(self) -> Dict[str, int]:
        """Bytes of the machine's accounts: budget, all, objects, tapes, capsules, tensors, scratch."""
        return self._machine.memory()

    @property
    def profile(self) -> str:
        """With ``compile(profile=True)``: tables of steps, time and bytes by procedure and by line."""
        if not self._program.options.get("profile"):
            raise refusal(_cairn.STATUS_BAD_ARGUMENT, "profile: nothing was counted; compile(..., profile=True) counts")
        return self._machine.profile()

    @property
    def steps(self) -> int:
        """Steps of the machine since the program began."""
        return cast(int, self._machine.steps(None))

    def __reduce__(self) -> Any:
        return (Module, (self._program,))

    def __repr__(self) -> str:
        return f"<program {self._program.name}>"


def _is_path(source: Any) -> bool:
    if isinstance(source, os.PathLike):
        return True
    return "\n" not in source and "(" not in source and source.endswith(_SOURCES)


def compile(source: Union[str, "os.PathLike[str]"], *, name: Optional[str] = None,
            hosts: Optional[Mapping[str, Union[Host, Callable[..., Any]]]] = None, libraries: Union[_Path, Sequence[_Path]] = (),
            memory: Union[int, str, None] = None, output: Any = None, input: Any = None,
            report: Optional[Callable[[Dict[str, float]], Any]] = None, explain: Optional[Callable[[str], Any]] = None, seed: int = 0,
            schedule: Optional[str] = None, lossy: Optional[str] = None, device: Optional[str] = None, spill: Optional[_Path] = None, spill_bytes: Union[int, str, None] = None,
            spill_encoding: Optional[str] = None,
            costs: Optional[str] = None, arguments: Sequence[str] = (), read: Union[_Path, Sequence[_Path]] = (),
            write: Union[_Path, Sequence[_Path]] = (), output_bytes: Union[int, str, None] = None, check_nan: bool = False,
            profile: bool = False, level: int = 2) -> Module:
    """Compiles a program, runs it, and gives its definitions.

    ``source`` is the text, or a path: an ``os.PathLike``, or a string that ends with ``.scm`` or ``.vlad``. ``name`` is what messages call a text.

    hosts: functions of Python's that the program calls, by their names there: :func:`host` gives them rules of derivatives.
    libraries: folders, or one, where ``(import name)`` looks after that of the program.
    memory: what the machine may have at most, in bytes or as text such as ``"2GiB"``; three quarters of what there is if nothing is said. More is a
    :class:`BudgetError`. (``memory=`` of :func:`grad` is a goal within that.)
    output, input: a stream or a function: of text, and one that gives lines. ``None`` is Python's own stream, ``False`` none; input may be a text, or
    an iterator of lines.
    report: gets a dict for each call of the program's ``report``. explain: a function, which gets a text about each gradient. (``explain=True`` of
    :func:`grad` makes an object of what one call did.)
    seed: of random numbers. schedule: of ``checkpoint-*j``. lossy: what tapes may keep with an error, such as "relative=1e-2". device: where tensors live: "cpu", "emulated", "cuda".
    spill: a folder for what planned gradients put aside; spill_bytes: how much may go there, three quarters of what is free if nothing is said;
    spill_encoding: "always", "never" or, as if nothing is said, "auto".
    costs: the text that ``vmrun --calibrate`` writes, for plans.
    arguments: what ``(command-line)`` gives. read, write: files and folders, or one, that the program may read and write; none if nothing is said.
    output_bytes: the budget of output, a size as ``memory``. check_nan: the first NaN is an error. profile: count for :attr:`Module.profile`.
    level: of optimisation: 0 none, 1, 2 all.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"source: expected the text of a program or the path of its file, got {kind_of(source)}")
    if isinstance(level, bool) or not hasattr(level, "__index__") or level not in (0, 1, 2):
        raise ValueError(f"level: 0, 1 or 2, all optimisations, not {level!r}")
    if _is_path(source):
        path = os.fspath(source)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        called = name or path
    else:
        text = str(source)
        called = name or "program"
    words = _words_of(arguments)
    grants = [(1, path) for path in _paths_of("read", read)] + [(2, path) for path in _paths_of("write", write)]
    functions = {key: h if isinstance(h, Host) else host(h) for key, h in (hosts or {}).items()}
    code, told, names = _cairn.compile(called, text, _helpers(), [(key, h.parameters) for key, h in functions.items()],
                                       _paths_of("libraries", libraries), level)
    for warning in told:
        warnings.warn(warning.rstrip("\n"), stacklevel=2)
    options = {"memory": bytes_of("memory", memory), "output": output, "input": input, "report": report, "explain": explain, "seed": seed,
               "schedule": schedule, "lossy": lossy, "device": device, "spill": None if spill is None else os.fspath(spill),
               "spill_bytes": bytes_of("spill_bytes", spill_bytes), "spill_encoding": spill_encoding, "costs": costs, "arguments": words,
               "output_bytes": bytes_of("output_bytes", output_bytes, least=0), "check_nan": check_nan, "profile": profile}
    return Module(Program(called, code, names, functions, options, grants))
