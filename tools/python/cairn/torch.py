"""Procedures of Cairn's as functions of PyTorch's: ``layer = cairn.torch.function(m.f)``."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np
import torch

from ._cairn import Array, Procedure
from ._derivatives import Checkpoint, _how, _made, _procedure

__all__ = ["function"]


def function(procedure: Any, *, checkpoint: Checkpoint = True, memory: Union[int, str, None] = None) -> "Function":
    """A function of tensors and numbers, for programs of PyTorch: the procedure gets its arguments without copies, and gives tensors. Gradients come
    from Cairn, of all orders (``create_graph=True``), under a schedule and within the memory that are given, as for :func:`cairn.grad`.

    Tensors are of the processor. The value of the procedure is a tensor or a number, or a list or tuple of such, which gives a tuple.
    """
    return Function(_procedure(procedure, None), _how(checkpoint, memory))


class Function:
    """A procedure as a function that PyTorch differentiates: call it with tensors and numbers."""

    def __init__(self, procedure: Procedure, how: Union[bool, str]) -> None:
        self.procedure = procedure
        self._how = how
        self._value_and_grad: Any = None
        self._pullback: Optional["Function"] = None
        self._scalar = False  # the value was one number the last time: then it is computed with its gradient at once

    def __call__(self, *arguments: Any) -> Any:
        given = _Call()
        outputs = _Apply.apply(self, given, *arguments)
        return outputs if given.several else outputs[0] if isinstance(outputs, tuple) else outputs

    def __repr__(self) -> str:
        return f"cairn.torch.function({self.procedure!r})"

    # The value, and the gradients of those arguments that want one, or None where it is to be had by the pullback.
    def _computed(self, arguments: Sequence[Any], wanted: Sequence[int]) -> Tuple[Any, Any]:
        if not self._scalar or not wanted:
            return self.procedure(*arguments), None
        if self._value_and_grad is None:
            self._value_and_grad = {}
        key = tuple(wanted)
        procedure = self._value_and_grad.get(key)
        if procedure is None:
            procedure = self._value_and_grad[key] = _made("value-and-grad", self.procedure, self._how, list(key))
        value, gradient = procedure(*arguments)
        return value, gradient

    def pullback(self) -> "Function":
        """The map from a cotangent to those of the arguments, itself a function that PyTorch differentiates."""
        if self._pullback is None:
            self._pullback = Function(_made("pull-back", self.procedure, self._how), self._how)
        return self._pullback


class _Call:
    """What is known of one call beside its tensors."""

    __slots__ = ("several", "kinds")

    def __init__(self) -> None:
        self.several = False
        self.kinds: Any = False  # for each part of the value, whether it is a number; a list, a tuple, or one truth


def _lent(argument: Any) -> Any:
    """A tensor of PyTorch's as Cairn takes it, without a copy."""
    if not isinstance(argument, torch.Tensor):
        return argument
    if not argument.is_cpu:
        raise ValueError(f"a tensor on {argument.device}; procedures of Cairn's take tensors of the processor: .cpu()")
    if argument.requires_grad:
        argument = argument.detach()
    return argument if argument.dtype is torch.bfloat16 else argument.numpy()


def _given(value: Any) -> torch.Tensor:
    """A value of Cairn's as a tensor."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, Array):
        return torch.from_dlpack(value)
    if isinstance(value, (float, int)):
        return torch.tensor(value, dtype=torch.float64)
    raise TypeError(f"a value of the procedure is a {type(value).__name__}, no tensor and no number")


_SAVED = object()  # stands for a tensor that PyTorch keeps


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Function, call: _Call, *arguments: Any) -> Any:
        wanted = [i for i, needed in enumerate(ctx.needs_input_grad[2:]) if needed] if any(ctx.needs_input_grad) else ()
        value, gradient = function._computed([_lent(a) for a in arguments], wanted)
        ctx.function, ctx.wanted, ctx.call = function, wanted, call
        call.several = isinstance(value, (list, tuple))
        if call.several:
            call.kinds = type(value)(isinstance(v, (float, int)) for v in value)
            outputs = tuple(_given(v) for v in value)
        else:
            call.kinds = isinstance(value, (float, int))
            outputs = (_given(value),)
        if wanted:
            function._scalar = not call.several and outputs[0].numel() == 1
            ctx.others = [_SAVED if isinstance(a, torch.Tensor) else a for a in arguments]
            ctx.gradient = gradient
            ctx.save_for_backward(*(a for a in arguments if isinstance(a, torch.Tensor)))
            whole = [o for o in outputs if not o.is_floating_point()]
            if whole:
                ctx.mark_non_differentiable(*whole)
            ctx.set_materialize_grads(False)
        return outputs if call.several else outputs[0]

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        saved = iter(ctx.saved_tensors)
        arguments = [next(saved) if other is _SAVED else other for other in ctx.others]
        parts: List[Any] = [None] * len(arguments)
        if any(c is not None for c in cotangents):
            if ctx.gradient is not None and not torch.is_grad_enabled():
                for i, part in zip(ctx.wanted, ctx.gradient):
                    parts[i] = _like(part, arguments[i]) * cotangents[0].to(arguments[i].dtype)
            else:
                given = [0 if c is None else c for c in cotangents]
                pullback = ctx.function.pullback()
                if torch.is_grad_enabled():
                    found = pullback(ctx.wanted, len(arguments), ctx.call.kinds, *arguments, *given)
                    for i, part in zip(ctx.wanted, found):
                        parts[i] = _fitted(part, arguments[i])
                else:
                    lent = [_lent(a) for a in (*arguments, *given)]
                    for i, part in zip(ctx.wanted, pullback.procedure(ctx.wanted, len(arguments), ctx.call.kinds, *lent)):
                        parts[i] = _like(part, arguments[i])
        return (None, None, *parts)


def _like(part: Any, argument: torch.Tensor) -> torch.Tensor:
    """A cotangent of Cairn's as one of PyTorch's; 0 stands for zeros."""
    if isinstance(part, (float, int)):
        return torch.full(argument.shape, float(part), dtype=argument.dtype)
    made = _given(part)
    if made.dtype is not argument.dtype:
        made = made.to(argument.dtype)
    return made if made.shape == argument.shape else made.reshape(argument.shape)


def _fitted(part: torch.Tensor, argument: torch.Tensor) -> torch.Tensor:
    """In type and shape of the argument, by operations that PyTorch differentiates."""
    if part.shape == argument.shape and part.dtype == argument.dtype:
        return part
    return part.to(argument.dtype).expand(argument.shape) if part.numel() == 1 else part.to(argument.dtype).reshape(argument.shape)
