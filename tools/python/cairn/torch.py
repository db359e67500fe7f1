"""Procedures of Cairn's as functions of PyTorch's: ``layer = cairn.torch.function(m.f)``."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from torch.autograd import forward_ad
from torch.utils.dlpack import from_dlpack

from . import _cairn
from ._cairn import Array, Procedure
from ._derivatives import Checkpoint, Differentiable, Size, _how, _made, _procedure
from ._errors import BudgetError, ProgramError
from ._kinds import kind_of

__all__ = ["Function", "function"]

_transforms_active: Callable[[], bool] = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)  # those of torch.func
# What may be tracing, each asked for in a tenth of a microsecond.
_modes: Callable[[], int] = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)
_jit_state: Callable[[], Any] = torch._C._get_tracing_state
_includes: Callable[[Any], bool] = torch._C._dispatch_tls_is_dispatch_key_included
_PRE_DISPATCH: Any = getattr(torch._C.DispatchKey, "PreDispatch", torch._C.DispatchKey.Python)


def function(procedure: Differentiable, *, checkpoint: Checkpoint = True, memory: Size = None) -> "Function":
    """A function of tensors and numbers, for programs of PyTorch: the procedure gets its arguments without copies, and gives tensors. Gradients come
    from Cairn, of all orders (``create_graph=True``), under a schedule and within the memory that are given, as for :func:`cairn.grad`; forward mode
    too, and what ``torch.func`` makes of it. ``vmap`` calls the procedure for one element after the other.

    Tensors are of the processor. The value of the procedure is a tensor or a number, or a list or tuple of such, which gives a tuple.
    """
    return Function(_procedure(procedure, None), _how(checkpoint, memory))


class Function:
    """A procedure as a function that PyTorch differentiates: call it with tensors and numbers. Copies (``copy.deepcopy``) share the procedure."""

    def __init__(self, procedure: Procedure, how: Union[bool, str]) -> None:
        self.procedure = procedure
        self._how = how
        self._lending = procedure.machine.call_lending
        self._value_and_grad: Dict[Tuple[int, ...], Any] = {}
        self._wanted: Dict[Tuple[bool, ...], Tuple[int, ...]] = {}
        self._tensor_pullbacks: Dict[Tuple[Tuple[int, ...], bool], Procedure] = {}
        self._pullback: Optional["Function"] = None
        self._pushforward: Optional["Function"] = None
        self._scalar = False  # the value was one number the last time: then it is computed with its gradient at once

    def __call__(self, *arguments: Any) -> Any:
        """What the procedure gives for tensors, numbers and other values: a tensor, or a tuple of tensors where it gives a list or a vector."""
        return self._from(None, arguments)

    def _from(self, draws: Optional[int], arguments: Sequence[Any]) -> Any:
        """The value, with the random numbers of an earlier call."""
        if _modes() or _jit_state() is not None or _includes(_PRE_DISPATCH):
            _refuse_traces()
        if _transforms_active():
            return _Transformed.apply(self, _Call(draws), *arguments)
        graph = torch.is_grad_enabled()
        if graph:
            for argument in arguments:
                if isinstance(argument, torch.Tensor) and argument.requires_grad:
                    return _applied((self, draws, True), *arguments)
        if forward_ad._current_level >= 0:
            return _applied((self, draws, graph), *arguments)
        return self._lending(draws, self.procedure, *arguments)[0]

    def __repr__(self) -> str:
        return f"cairn.torch.function({self.procedure!r})"

    def __reduce__(self) -> Any:
        return (Function, (self.procedure, self._how))

    def _places(self, needed: Tuple[bool, ...]) -> Tuple[int, ...]:
        """Of arguments whose gradients are wanted, by what PyTorch says of all that it was given."""
        places = self._wanted.get(needed)
        if places is None:
            places = self._wanted[needed] = tuple(i - _BEFORE for i, n in enumerate(needed) if n)
        return places

    def value_and_gradient(self, draws: Optional[int], arguments: Sequence[Any], wanted: Tuple[int, ...]) -> Optional[Tuple[Any, Any, Any, Any]]:
        """What a call gives, and the gradients of those arguments; nothing where the value has turned out to be no number."""
        procedure = self._value_and_grad.get(wanted)
        if procedure is None:
            procedure = self._value_and_grad[wanted] = _made("value-and-grad-list", self.procedure, self._how, list(wanted))
        try:
            (value, *gradient), (number, *_), draws = self._lending(draws, procedure, *arguments)
        except BudgetError:
            raise
        except ProgramError as error:
            if error.file != _cairn.HELPERS:
                raise
            return None  # the operator's own error: a value that is no number has no gradient
        return value, number, draws, gradient

    def tensor_pullback(self, wanted: Tuple[int, ...], count: int) -> Procedure:
        """For a value that is one tensor: the map from its cotangent, and that many arguments behind it, to the cotangents of those that are wanted."""
        key = wanted, len(wanted) == count
        procedure = self._tensor_pullbacks.get(key)
        if procedure is None:
            procedure = self._tensor_pullbacks[key] = _made("pull-back-at", self.procedure, self._how, True if key[1] else list(wanted))
        return procedure

    def pullback(self) -> "Function":
        """The map from a cotangent to those of the arguments, itself a function that PyTorch differentiates."""
        if self._pullback is None:
            self._pullback = Function(_made("pull-back", self.procedure, self._how), self._how)
        return self._pullback

    def pushforward(self) -> "Function":
        """The map from tangents of the arguments to that of the value, itself a function that PyTorch differentiates."""
        if self._pushforward is None:
            self._pushforward = Function(_made("push-forward", self.procedure), self._how)
        return self._pushforward


class _Call:
    """Of a call under transforms, what is known beside its tensors."""

    __slots__ = ("kinds", "draws")

    def __init__(self, draws: Any) -> None:
        self.draws = draws  # with what random numbers it began, if it draws any; derivatives, which run it again, draw the same
        self.kinds: Any = False  # for each part of the value, whether it is a number; a list, a tuple, or one truth


_MANY = object()  # draws of calls for several elements


def _drawn(draws: Any) -> Optional[int]:
    if draws is _MANY:
        raise ValueError("derivatives under vmap of a procedure that draws random numbers: call it for one element after the other, or hand the "
                         "random numbers to it")
    drawn: Optional[int] = draws
    return drawn


def _lent(argument: Any) -> Any:
    """A tensor of PyTorch's as Cairn takes it, without a copy."""
    if not isinstance(argument, torch.Tensor):
        if isinstance(argument, (list, tuple, dict)):
            _refuse_nested(argument.values() if isinstance(argument, dict) else argument)
        return argument
    try:
        if argument.requires_grad or argument.is_neg():
            argument = argument.detach().resolve_neg()
        return argument.numpy() if argument.dtype is not torch.bfloat16 else argument
    except (RuntimeError, TypeError) as error:
        if not argument.is_cpu:
            raise ValueError(f"a tensor on {argument.device}; procedures of Cairn's take tensors of the processor: .cpu()") from None
        if isinstance(error, TypeError):
            raise
        if _is_fake(argument):
            raise ValueError("a tensor without elements (FakeTensor): a procedure of Cairn's runs, it cannot be traced") from None
        raise ValueError("a tensor that has no memory of its own, as with is_grads_batched= and vectorize=True: torch.func.vmap, jacrev and jacfwd "
                         "know what to do with procedures") from error


def _is_fake(tensor: torch.Tensor) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor

    return isinstance(tensor, FakeTensor)


def _refuse_traces() -> None:
    """A trace sees operations of PyTorch's alone: what a procedure gives would be a constant in it, and derivatives of it wrong."""
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    if _jit_state() is not None or get_proxy_mode() is not None:
        raise RuntimeError("a procedure of Cairn's cannot be traced, as by torch.func.linearize, make_fx, torch.export and torch.jit.trace: its value would "
                           "be a constant of the trace. torch.func.jvp and vjp give its derivatives, and torch.compile compiles what is around it")


def _refuse_nested(items: Any) -> None:
    for item in items:
        if isinstance(item, torch.Tensor) and item.requires_grad:
            raise ValueError("a tensor inside of a list, tuple or dict has no derivatives in PyTorch: hand it over as an argument of its own, or .detach() it")
        if isinstance(item, (list, tuple, dict)):
            _refuse_nested(item.values() if isinstance(item, dict) else item)


def _keeper(tensor: torch.Tensor) -> Any:
    """What keeps the elements of a tensor whatever becomes of that: ``tensor.data = other`` lets them go, ``resize_`` of their storage moves them."""
    alias = tensor.detach()
    return alias.numpy() if alias.dtype is not torch.bfloat16 else alias


def _given(value: Any) -> torch.Tensor:
    """A value of Cairn's as a tensor."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, Array):
        return from_dlpack(value)
    if isinstance(value, (float, int)):
        return torch.tensor(value, dtype=torch.float64)
    raise TypeError(f"a value of the procedure is {kind_of(value)}, no tensor and no number")


# Of a call: its function, whether the parts of its value were numbers, with what random numbers it began, the places of the arguments whose gradients
# are wanted, and these where the value was computed with them.
_Known = Tuple[Function, Any, Any, Tuple[int, ...], Optional[Sequence[Any]]]
_SAVED = object()  # stands for a tensor that PyTorch keeps


def _keep(ctx: Any, call: "_Known", arguments: Sequence[Any], outputs: Any) -> None:
    """What derivatives need of a call."""
    ctx.call, ctx.others = call, None
    tensors: Sequence[Any] = arguments
    for a in arguments:
        if not isinstance(a, torch.Tensor):
            tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
            ctx.others = [_SAVED if isinstance(a, torch.Tensor) else a for a in arguments]
            break
    ctx.save_for_backward(*tensors)
    if forward_ad._current_level >= 0:
        ctx.save_for_forward(*tensors)
        ctx.results = [(o.shape, o.dtype) for o in _several(outputs)]
    if isinstance(outputs, tuple) or not outputs.is_floating_point():
        ctx.mark_non_differentiable(*(o for o in _several(outputs) if not o.is_floating_point()))
    ctx.set_materialize_grads(False)


def _several(outputs: Any) -> Tuple[torch.Tensor, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _none(cotangents: Sequence[Any]) -> bool:
    for c in cotangents:
        if c is not None:
            return False
    return True


def _arguments(ctx: Any) -> Sequence[Any]:
    saved: Sequence[Any] = ctx.saved_tensors
    if ctx.others is None:
        return saved
    following = iter(saved)
    return [next(following) if other is _SAVED else other for other in ctx.others]


_BEFORE = 1  # what _Apply is given before the arguments


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: Tuple[Function, Optional[int], bool], *arguments: Any) -> Any:
        function, draws, graph = call  # one argument: PyTorch looks at each
        wanted = function._places(ctx.needs_input_grad) if graph else ()
        made = function.value_and_gradient(draws, arguments, wanted) if wanted and function._scalar else None
        outputs, kinds, draws, gradient = made or (*function._lending(draws, function.procedure, *arguments), None)
        function._scalar = kinds is True or (kinds is False and outputs.numel() == 1)
        _keep(ctx, (function, kinds, draws, wanted, gradient), arguments, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        function, kinds, draws, wanted, gradient = ctx.call
        arguments = _arguments(ctx)
        parts: List[Any] = [None] * (_BEFORE + len(arguments))
        if _none(cotangents):
            return tuple(parts)
        if torch.is_grad_enabled() or _transforms_active():  # which asks about traces itself
            return (None, *_pulled(ctx, arguments, cotangents))
        if _modes() or _jit_state() is not None or _includes(_PRE_DISPATCH):
            _refuse_traces()
        if gradient is not None:
            for i, part in zip(wanted, gradient):
                parts[_BEFORE + i] = _like(part, arguments[i]) * cotangents[0].to(arguments[i].dtype)
        else:
            if kinds is False:  # of one tensor
                pulled, _, _ = function._lending(draws, function.tensor_pullback(wanted, len(arguments)), cotangents[0], *arguments)
            else:
                pullback = function.pullback()
                given = [0 if c is None else c for c in cotangents]
                pulled, _, _ = pullback._lending(draws, pullback.procedure, list(wanted), len(arguments), kinds, *arguments, *given)
            for i, part in zip(wanted, pulled):
                parts[_BEFORE + i] = _like(part, arguments[i])
        return tuple(parts)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return _pushed(ctx, tangents[_BEFORE:])


_applied: Callable[..., Any] = super(torch.autograd.Function, _Apply).apply  # without what that does for transforms, of which there are none


class _Transformed(torch.autograd.Function):
    """The same for the transforms of ``torch.func``, which want a forward pass that keeps nothing, and have levels of tensors that are no memory."""

    @staticmethod
    def forward(function: Function, call: _Call, *arguments: Any) -> Any:
        outputs, call.kinds, call.draws = function._lending(_drawn(call.draws), function.procedure, *arguments)
        return outputs

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        function, call, *arguments = inputs
        wanted = tuple(i - 2 for i, needed in enumerate(ctx.needs_input_grad) if needed)
        _keep(ctx, (function, call.kinds, call.draws, wanted, None), arguments, output)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        arguments = _arguments(ctx)
        if _none(cotangents):
            return (None, None, *(None for _ in arguments))
        return (None, None, *_pulled(ctx, arguments, cotangents))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return _pushed(ctx, tangents[2:])

    @staticmethod
    def vmap(info: Any, in_dims: Any, function: Function, call: _Call, *arguments: Any) -> Any:
        if info.batch_size == 0:
            raise ValueError("vmap over nothing: what the value of a procedure looks like is known when it has been called")
        given = [a.unbind(d) if isinstance(d, int) else [a] * info.batch_size for a, d in zip(arguments, in_dims[2:])]
        values: List[Any] = []
        drawn = False
        for element in zip(*given):
            one = _Call(call.draws)
            values.append(_Transformed.apply(function, one, *element))
            drawn = drawn or one.draws is not None
        if drawn and call.draws is None:
            call.draws = _MANY
        call.kinds = one.kinds
        if isinstance(values[0], tuple):
            return tuple(torch.stack(part) for part in zip(*values)), (0,) * len(values[0])
        return torch.stack(values), 0


def _pulled(ctx: Any, arguments: Sequence[Any], cotangents: Sequence[Any]) -> List[Any]:
    """Cotangents of the arguments, by operations that PyTorch differentiates."""
    function, kinds, draws, wanted, _ = ctx.call
    parts: List[Any] = [None] * len(arguments)
    given = [0 if c is None else c for c in cotangents]
    found = function.pullback()._from(_drawn(draws), [list(wanted), len(arguments), kinds, *arguments, *given])
    for i, part in zip(wanted, found):
        parts[i] = _fitted(part, arguments[i].shape, arguments[i].dtype)
    return parts


def _pushed(ctx: Any, tangents: Sequence[Any]) -> Any:
    """Tangents of the value, likewise."""
    function, kinds, draws, _, _ = ctx.call
    arguments = _arguments(ctx)
    several = isinstance(kinds, (list, tuple))
    places = [i for i, t in enumerate(tangents) if t is not None]
    if not places:
        return None if not several else (None,) * len(ctx.results)
    found = function.pushforward()._from(_drawn(draws), [places, len(arguments), *arguments, *(tangents[i] for i in places)])
    parts = found if isinstance(found, tuple) else (found,) * len(ctx.results)
    fitted = [_fitted(part, *result) if result[1].is_floating_point else None for part, result in zip(parts, ctx.results)]
    return tuple(fitted) if several else fitted[0]


def _like(part: torch.Tensor, argument: torch.Tensor) -> torch.Tensor:
    """A cotangent of Cairn's as one of PyTorch's; a number stands for an array of it."""
    if part.dtype is not argument.dtype:
        part = part.to(argument.dtype)
    if part.shape == argument.shape:
        return part
    return part.expand(argument.shape).clone() if part.numel() == 1 else part.reshape(argument.shape)


def _fitted(part: torch.Tensor, shape: Any, dtype: torch.dtype) -> torch.Tensor:
    """In a type and a shape, by operations that PyTorch differentiates."""
    if part.dtype != dtype:
        part = part.to(dtype)
    return part if part.shape == shape else part.expand(shape) if part.numel() == 1 else part.reshape(shape)


_cairn.know_torch(tensor=torch.Tensor, parameter=torch.nn.Parameter, negative=torch.Tensor.is_neg, lent=_lent, kept=_keeper, given=_given)
