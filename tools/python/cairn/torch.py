"""Procedures of Cairn's as functions of PyTorch's: ``layer = cairn.torch.function(m.f)``."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from torch.autograd import forward_ad

from ._cairn import Array, Procedure
from ._derivatives import Checkpoint, Differentiable, Size, _how, _made, _procedure
from ._errors import ProgramError
from ._kinds import Pair

__all__ = ["Function", "function"]

_transforms_active: Callable[[], bool] = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)  # those of torch.func


def function(procedure: Differentiable, *, checkpoint: Checkpoint = True, memory: Size = None) -> "Function":
    """A function of tensors and numbers, for programs of PyTorch: the procedure gets its arguments without copies, and gives tensors. Gradients come
    from Cairn, of all orders (``create_graph=True``), under a schedule and within the memory that are given, as for :func:`cairn.grad`; forward mode
    too, and what ``torch.func`` makes of it. ``vmap`` calls the procedure for one element after the other.

    Tensors are of the processor. The value of the procedure is a tensor or a number, or a list or tuple of such, which gives a tuple.
    """
    return Function(_procedure(procedure, None), _how(checkpoint, memory))


class Function:
    """A procedure as a function that PyTorch differentiates: call it with tensors and numbers."""

    def __init__(self, procedure: Procedure, how: Union[bool, str]) -> None:
        self.procedure = procedure
        self._how = how
        self._value_and_grad: Dict[Tuple[int, ...], Any] = {}
        self._pullback: Optional["Function"] = None
        self._pushforward: Optional["Function"] = None
        self._scalar = False  # the value was one number the last time: then it is computed with its gradient at once

    def __call__(self, *arguments: Any) -> Any:
        return self._applied(None, arguments)

    def _applied(self, draws: Any, arguments: Sequence[Any]) -> Any:
        given = _Call(draws)
        outputs = (_Transformed if _transforms_active() else _Apply).apply(self, given, *arguments)
        return outputs if given.several else outputs[0] if isinstance(outputs, tuple) else outputs

    def __repr__(self) -> str:
        return f"cairn.torch.function({self.procedure!r})"

    # The value, and the gradients of those arguments that want one, or None where it is to be had by the pullback.
    def _computed(self, call: "_Call", arguments: Sequence[Any], wanted: Sequence[int]) -> Tuple[Any, Any]:
        if not self._scalar or not wanted:
            return call.value_of(self.procedure, arguments), None
        key = tuple(wanted)
        procedure = self._value_and_grad.get(key)
        if procedure is None:
            procedure = self._value_and_grad[key] = _made("value-and-grad", self.procedure, self._how, list(key))
        try:
            value, gradient = call.value_of(procedure, arguments)
        except ProgramError:
            self._scalar = False  # the value may have another form this time; what else is wrong is told as without derivatives
            return call.value_of(self.procedure, arguments), None
        return value, gradient

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
    """What is known of one call beside its tensors."""

    __slots__ = ("several", "kinds", "draws", "graph")

    def __init__(self, draws: Any) -> None:
        self.several = False
        self.graph = torch.is_grad_enabled()  # which it never is in the passes themselves
        self.draws = draws  # with what random numbers it began, if it draws any; derivatives, which run it again, draw the same
        self.kinds: Any = False  # for each part of the value, whether it is a number; a list, a tuple, or one truth


    def value_of(self, procedure: Procedure, arguments: Sequence[Any]) -> Any:
        if self.draws is _MANY:
            raise ValueError("derivatives under vmap of a procedure that draws random numbers: call it for one element after the other, or hand the "
                             "random numbers to it")
        value, self.draws = procedure.machine.call(self.draws, procedure, *arguments)
        return value


_MANY = object()  # draws of calls for several elements


def _lent(argument: Any) -> Any:
    """A tensor of PyTorch's as Cairn takes it, without a copy."""
    if not isinstance(argument, torch.Tensor):
        if isinstance(argument, (list, tuple, dict)):
            _refuse_nested(argument.values() if isinstance(argument, dict) else argument)
        return argument
    try:
        if argument.requires_grad:
            argument = argument.detach()
        return argument.numpy() if argument.dtype is not torch.bfloat16 else argument
    except (RuntimeError, TypeError) as error:
        if not argument.is_cpu:
            raise ValueError(f"a tensor on {argument.device}; procedures of Cairn's take tensors of the processor: .cpu()") from None
        if isinstance(error, TypeError):
            raise
        raise ValueError("a tensor that has no memory of its own, as with is_grads_batched= and vectorize=True: torch.func.vmap, jacrev and jacfwd "
                         "know what to do with procedures") from error


def _refuse_nested(items: Any) -> None:
    for item in items:
        if isinstance(item, torch.Tensor) and item.requires_grad:
            raise ValueError("a tensor inside of a list, tuple or dict has no derivatives in PyTorch: hand it over as an argument of its own, or .detach() it")
        if isinstance(item, (list, tuple, dict)):
            _refuse_nested(item.values() if isinstance(item, dict) else item)


def _given(value: Any) -> torch.Tensor:
    """A value of Cairn's as a tensor."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, Array):
        return torch.from_dlpack(value)
    if isinstance(value, (float, int)):
        return torch.tensor(value, dtype=torch.float64)
    raise TypeError(f"a value of the procedure is a {type(value).__name__}, no tensor and no number")


def _outputs(call: _Call, value: Any) -> Tuple[torch.Tensor, ...]:
    """The parts of a value as tensors; the call learns what they were."""
    if isinstance(value, Pair):
        raise TypeError("the value of the procedure is a pair whose second part is no list: let it give a list or a vector of its parts")
    call.several = isinstance(value, (list, tuple))
    if call.several:
        call.kinds = type(value)(isinstance(v, (float, int)) for v in value)
        return tuple(_given(v) for v in value)
    call.kinds = isinstance(value, (float, int))
    return (_given(value),)


_SAVED = object()  # stands for a tensor that PyTorch keeps


def _kept(ctx: Any, function: Function, call: _Call, arguments: Sequence[Any], outputs: Sequence[torch.Tensor]) -> None:
    """What derivatives need of a call."""
    ctx.function, ctx.call, ctx.others = function, call, None
    tensors: Sequence[Any] = arguments
    for a in arguments:
        if not isinstance(a, torch.Tensor):
            tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
            ctx.others = [_SAVED if isinstance(a, torch.Tensor) else a for a in arguments]
            break
    ctx.save_for_backward(*tensors)
    if forward_ad._current_level >= 0:
        ctx.save_for_forward(*tensors)
        ctx.results = [(o.shape, o.dtype) for o in outputs]
    for o in outputs:
        if not o.is_floating_point():
            ctx.mark_non_differentiable(*(o for o in outputs if not o.is_floating_point()))
            break
    ctx.set_materialize_grads(False)


def _arguments(ctx: Any) -> Sequence[Any]:
    saved: Sequence[Any] = ctx.saved_tensors
    if ctx.others is None:
        return saved
    following = iter(saved)
    return [next(following) if other is _SAVED else other for other in ctx.others]


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Function, call: _Call, *arguments: Any) -> Any:
        needed = ctx.needs_input_grad
        wanted = [i - 2 for i, n in enumerate(needed) if n] if call.graph and True in needed else ()
        value, gradient = function._computed(call, [_lent(a) for a in arguments], wanted)
        outputs = _outputs(call, value)
        if wanted or forward_ad._current_level >= 0:
            function._scalar = not call.several and outputs[0].numel() == 1
            ctx.wanted, ctx.gradient = wanted, gradient
            _kept(ctx, function, call, arguments, outputs)
        return outputs if call.several else outputs[0]

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        arguments = _arguments(ctx)
        parts: List[Any] = [None] * len(arguments)
        if all(c is None for c in cotangents):
            return (None, None, *parts)
        if torch.is_grad_enabled() or _transforms_active():
            return (None, None, *_pulled(ctx, ctx.wanted, arguments, cotangents))
        if ctx.gradient is not None:
            for i, part in zip(ctx.wanted, ctx.gradient):
                parts[i] = _like(part, arguments[i]) * cotangents[0].to(arguments[i].dtype)
        else:
            lent = [_lent(a) for a in arguments]
            lent += [0 if c is None else _lent(c) for c in cotangents]
            pulled = _Call(ctx.call.draws).value_of(ctx.function.pullback().procedure, [ctx.wanted, len(arguments), ctx.call.kinds, *lent])
            for i, part in zip(ctx.wanted, pulled):
                parts[i] = _like(part, arguments[i])
        return (None, None, *parts)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return _pushed(ctx, tangents[2:])


class _Transformed(torch.autograd.Function):
    """The same for the transforms of ``torch.func``, which want a forward pass that keeps nothing, and have levels of tensors that are no memory."""

    @staticmethod
    def forward(function: Function, call: _Call, *arguments: Any) -> Any:
        outputs = _outputs(call, call.value_of(function.procedure, [_lent(a) for a in arguments]))
        return outputs if call.several else outputs[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        function, call, *arguments = inputs
        ctx.wanted = [i - 2 for i, needed in enumerate(ctx.needs_input_grad) if needed]
        _kept(ctx, function, call, arguments, output if call.several else (output,))

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        arguments = _arguments(ctx)
        if all(c is None for c in cotangents):
            return (None, None, *(None for _ in arguments))
        return (None, None, *_pulled(ctx, ctx.wanted, arguments, cotangents))

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
            values.append((_Transformed if _transforms_active() else _Apply).apply(function, one, *element))
            drawn = drawn or one.draws is not None
        if drawn and call.draws is None:
            call.draws = _MANY
        call.several, call.kinds = one.several, one.kinds
        if call.several:
            return tuple(torch.stack(part) for part in zip(*values)), (0,) * len(values[0])
        return torch.stack(values), 0


def _pulled(ctx: Any, wanted: Sequence[int], arguments: Sequence[Any], cotangents: Sequence[Any]) -> List[Any]:
    """Cotangents of the arguments, by operations that PyTorch differentiates."""
    parts: List[Any] = [None] * len(arguments)
    given = [0 if c is None else c for c in cotangents]
    found = ctx.function.pullback()._applied(ctx.call.draws, [list(wanted), len(arguments), ctx.call.kinds, *arguments, *given])
    for i, part in zip(wanted, found):
        parts[i] = _fitted(part, arguments[i].shape, arguments[i].dtype)
    return parts


def _pushed(ctx: Any, tangents: Sequence[Any]) -> Any:
    """Tangents of the value, likewise."""
    arguments = _arguments(ctx)
    places = [i for i, t in enumerate(tangents) if t is not None]
    if not places:
        return None if not ctx.call.several else (None,) * len(ctx.results)
    found = ctx.function.pushforward()._applied(ctx.call.draws, [places, len(arguments), *arguments, *(tangents[i] for i in places)])
    parts = found if isinstance(found, tuple) else (found,) * len(ctx.results)
    fitted = [_fitted(part, *result) if result[1].is_floating_point else None for part, result in zip(parts, ctx.results)]
    return tuple(fitted) if ctx.call.several else fitted[0]


def _like(part: Any, argument: torch.Tensor) -> torch.Tensor:
    """A cotangent of Cairn's as one of PyTorch's; 0 stands for zeros."""
    if isinstance(part, (float, int)):
        return torch.full(argument.shape, float(part), dtype=argument.dtype)
    made = _given(part)
    if made.dtype is not argument.dtype:
        made = made.to(argument.dtype)
    return made if made.shape == argument.shape else made.reshape(argument.shape)


def _fitted(part: torch.Tensor, shape: Any, dtype: torch.dtype) -> torch.Tensor:
    """In a type and a shape, by operations that PyTorch differentiates."""
    if part.dtype != dtype:
        part = part.to(dtype)
    return part if part.shape == shape else part.expand(shape) if part.numel() == 1 else part.reshape(shape)
