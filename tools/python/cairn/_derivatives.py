"""Derivatives of procedures. Each operator gives a procedure of the same program, which is called, stopped, and differentiated like any other."""
from __future__ import annotations

import operator
from typing import Any, Callable, List, Literal, Optional, Sequence, Tuple, Union, overload

from . import _cairn
from ._cairn import Machine, Procedure
from ._errors import ProgramError, refusal
from ._explanation import Explanation
from ._kinds import kind_of
from ._programs import bytes_of, program_of

Places = Union[int, Sequence[int]]
Checkpoint = Union[bool, str]
Size = Union[int, str, None]
_JSON, _SECTION = 1, 4


class Explained:
    """A function whose last call is explained: ``explanation`` has what its gradients did."""

    def __init__(self, procedure: Procedure, operator: str) -> None:
        self._procedure = procedure
        self._operator = operator
        self.explanation: Optional[Explanation] = None
        self.machine = procedure.machine

    def __call__(self, *arguments: Any) -> Any:
        """As the procedure; ``explanation`` is of this call then."""
        machine = self.machine
        machine.keep_gradients()
        try:
            return self._procedure(*arguments)
        finally:
            if not machine.busy:
                self.explanation = Explanation(machine.gradients(_JSON), machine.gradients(_SECTION), self._operator)

    def start(self, *arguments: Any) -> Any:
        """As that of the procedure; not explained."""
        return self._procedure.start(*arguments)


Differentiable = Union[Procedure, Explained]


def _place(argnums: Places) -> Union[int, List[int]]:
    try:
        several = not hasattr(argnums, "__index__")
        if isinstance(argnums, (bool, str)):
            raise TypeError
        given: Any = argnums if several else [argnums]
        places = [operator.index(place) for place in given]
    except TypeError:
        raise TypeError(f"argnums: the place of an argument, counted from 0, or a tuple of such, not {argnums!r}") from None
    if not several:
        if places[0] < 0:
            raise ValueError("argnums count from 0")
        return places[0]
    if places != sorted(set(places)) or not places or places[0] < 0:
        raise ValueError("argnums: different numbers from 0 on, in ascending order")
    return places


def _how(checkpoint: Checkpoint, memory: Size) -> Union[bool, str]:
    if not isinstance(checkpoint, (bool, str)):
        raise TypeError(f"checkpoint: True, False or the text of a schedule, not {checkpoint!r}")
    if memory is None:
        return checkpoint
    if checkpoint is not True and checkpoint != "auto":
        raise ValueError("memory= plans by the schedule `auto`; another one is not told how much there is")
    return f"auto,memory={bytes_of('memory', memory)}"


def _procedure(f: Differentiable, device: Optional[str]) -> Procedure:
    """The procedure itself, or that of its name in a machine on the device."""
    f = getattr(f, "_procedure", f)
    if not isinstance(f, Procedure):
        raise TypeError(f"a procedure of a program is differentiated, not {kind_of(f)}")
    program = program_of(f.machine)
    if device is None or device == (program.options.get("device") or "cpu"):
        return f
    if f.__name__ is None:
        raise ValueError("device=: only what the program defines is known on another device; give it to the innermost operator")
    found: Procedure = program.on(device).lookup(f.__name__)
    return found


def _check_schedule(machine: Machine, schedule: str) -> None:
    try:
        machine.lookup("python/check-schedule")(schedule)
    except ProgramError as error:
        raise refusal(_cairn.STATUS_BAD_ARGUMENT, f"checkpoint: {error.message}") from None


def _made(helper: str, f: Procedure, *settings: Any, explain: bool = False) -> Any:
    machine = f.machine
    for setting in settings:
        if isinstance(setting, str):
            _check_schedule(machine, setting)
    made = machine.lookup("python/" + helper)(f, *settings)
    return Explained(made, f"{helper} of {f.__name__ or 'a procedure'}") if explain else made


@overload
def grad(f: Differentiable, argnums: Places = 0, *, checkpoint: Checkpoint = True, memory: Size = None,
         device: Optional[str] = None, explain: Literal[False] = False) -> Procedure: ...
@overload
def grad(f: Differentiable, argnums: Places = 0, *, checkpoint: Checkpoint = True, memory: Size = None,
         device: Optional[str] = None, explain: Literal[True]) -> Explained: ...
def grad(f: Differentiable, argnums: Places = 0, *, checkpoint: Checkpoint = True, memory: Size = None, device: Optional[str] = None,
         explain: bool = False) -> Any:
    """The gradient of a procedure whose value is a number, or an array of one element: a procedure of the same arguments, whose value is like the
    argument ``argnums``, or a tuple of such for several. Where the value does not depend on a part, array or structure, its gradient may be the number 0.

    checkpoint: true runs it under the schedule in force, ``"auto"`` if nothing else was said, within the memory there is; text is a schedule of its
    own; false keeps the whole run on one tape. The gradient is the same, to the last bit.
    memory: plans for so many bytes, a number or text such as ``"20MiB"``: a goal, within ``compile(memory=)``, which is what may not be exceeded.
    device: where the arrays that the program makes live: "cpu", "emulated", "cuda".
    explain: the function that comes back has an attribute ``explanation`` after each call.
    """
    return _made("grad", _procedure(f, device), _how(checkpoint, memory), _place(argnums), explain=explain)


@overload
def value_and_grad(f: Differentiable, argnums: Places = 0, *, checkpoint: Checkpoint = True, memory: Size = None,
                   device: Optional[str] = None, explain: Literal[False] = False) -> Procedure: ...
@overload
def value_and_grad(f: Differentiable, argnums: Places = 0, *, checkpoint: Checkpoint = True, memory: Size = None,
                   device: Optional[str] = None, explain: Literal[True]) -> Explained: ...
def value_and_grad(f: Differentiable, argnums: Places = 0, *, checkpoint: Checkpoint = True, memory: Size = None,
                   device: Optional[str] = None, explain: bool = False) -> Any:
    """As :func:`grad`; the value is a tuple of the value of ``f`` and its gradient."""
    return _made("value-and-grad", _procedure(f, device), _how(checkpoint, memory), _place(argnums), explain=explain)


def jvp(f: Differentiable, primals: Sequence[Any], tangents: Sequence[Any], *, device: Optional[str] = None) -> Tuple[Any, Any]:
    """``f(*primals)`` and its derivative in the direction of the tangents, by forward mode. A tangent is like its argument; 0 stands for none."""
    value, tangent = _made("jvp", _procedure(f, device))(list(primals), list(tangents))
    return value, tangent


def vjp(f: Differentiable, *primals: Any, checkpoint: Checkpoint = True, memory: Size = None,
        device: Optional[str] = None) -> Tuple[Any, Callable[[Any], Tuple[Any, ...]]]:
    """``f(*primals)``, and a function from a cotangent of that to the tuple of those of the arguments. Each call of that runs ``f`` again, with
    the random numbers that it drew: nothing else is kept in between. What ``f`` prints it prints again."""
    f = _procedure(f, device)
    pull = _made("vjp", f, _how(checkpoint, memory))
    points = list(primals)

    value, draws = f.machine.call(None, f, *points)

    def pullback(cotangent: Any) -> Tuple[Any, ...]:
        cotangents, _ = pull.machine.call(draws, pull, points, cotangent)
        return tuple(cotangents)

    return value, pullback


@overload
def jacobian(f: Differentiable, argnums: int = 0, *, checkpoint: Checkpoint = True, memory: Size = None,
             device: Optional[str] = None, explain: Literal[False] = False) -> Procedure: ...
@overload
def jacobian(f: Differentiable, argnums: int = 0, *, checkpoint: Checkpoint = True, memory: Size = None,
             device: Optional[str] = None, explain: Literal[True]) -> Explained: ...
def jacobian(f: Differentiable, argnums: int = 0, *, checkpoint: Checkpoint = True, memory: Size = None, device: Optional[str] = None,
             explain: bool = False) -> Any:
    """The value of ``f`` with each number in it replaced by its gradient; an array by one of the shape of the value followed by that of the
    argument. Forward or reverse mode, whichever runs ``f`` less often."""
    if not hasattr(argnums, "__index__"):
        raise ValueError("jacobian: by one argument, which may be a list or a tuple")
    return _made("jacobian", _procedure(f, device), _how(checkpoint, memory), _place(argnums), explain=explain)


@overload
def hvp(f: Differentiable, argnums: Places = 0, *, checkpoint: Checkpoint = True, memory: Size = None,
        device: Optional[str] = None, explain: Literal[False] = False) -> Procedure: ...
@overload
def hvp(f: Differentiable, argnums: Places = 0, *, checkpoint: Checkpoint = True, memory: Size = None,
        device: Optional[str] = None, explain: Literal[True]) -> Explained: ...
def hvp(f: Differentiable, argnums: Places = 0, *, checkpoint: Checkpoint = True, memory: Size = None, device: Optional[str] = None,
        explain: bool = False) -> Any:
    """The hessian times a vector, forward mode over reverse mode: a function of the arguments of ``f`` and, behind them, the vector, which is like the
    argument ``argnums``, or a tuple of such for several."""
    return _made("hvp", _procedure(f, device), _how(checkpoint, memory), _place(argnums), explain=explain)


@overload
def update(f: Differentiable, rule: Procedure, *, checkpoint: Checkpoint = True, memory: Size = None,
           device: Optional[str] = None, explain: Literal[False] = False) -> Procedure: ...
@overload
def update(f: Differentiable, rule: Procedure, *, checkpoint: Checkpoint = True, memory: Size = None,
           device: Optional[str] = None, explain: Literal[True]) -> Explained: ...
def update(f: Differentiable, rule: Procedure, *, checkpoint: Checkpoint = True, memory: Size = None, device: Optional[str] = None,
           explain: bool = False) -> Any:
    """A step of training: a function of the parameters, the state of the rule, and the other arguments of ``f``, that gives a tuple of the value of
    ``f``, the new parameters and the new state. The gradient as a whole never exists: each part goes to the rule as soon as it is there.

    ``rule`` is a procedure of the program, ``(define rule (adam .01))`` say; the first state is 0.
    """
    chosen = _procedure(f, device)
    if not isinstance(rule, Procedure):
        raise TypeError(f"update: the rule is a procedure of the program, such as (define rule (adam .01)), not {kind_of(rule)}")
    if chosen.machine is not rule.machine:
        rule = _procedure(rule, device)
    return _made("update", chosen, _how(checkpoint, memory), rule, explain=explain)
