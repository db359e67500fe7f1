"""Procedures of Cairn's as functions of JAX's: ``f = cairn.jax.function(m.f)``."""
from __future__ import annotations

import functools
from typing import Any, Dict, List, Optional, Sequence, Union

import jax
import jax.numpy as jnp
import numpy as np

from ._cairn import Procedure
from ._derivatives import Checkpoint, Differentiable, Size, _how, _made, _procedure
from ._kinds import kind_of

__all__ = ["Function", "function"]

_MODES = ("reverse", "forward")
_STRUCT: Any = jax.ShapeDtypeStruct  # which has no type hints


def function(procedure: Differentiable, *, mode: str = "reverse", result: Any = None, checkpoint: Checkpoint = True,
             memory: Size = None) -> "Function":
    """A function of arrays, and of lists, tuples and dicts of such, for programs of JAX, also under ``jit``, which calls back
    (``jax.pure_callback``). Arrays without axes are numbers to Cairn.

    mode: a function of JAX's has rules for reverse mode or for forward mode, not for both: ``"reverse"`` (``custom_vjp``) or ``"forward"``
    (``custom_jvp``). Derivatives of derivatives are taken in the same mode; ``"forward-over-reverse"``, which hessians are best taken by, has the
    rule of the gradient in forward mode.
    result: what the value looks like, as ``jax.ShapeDtypeStruct``; if nothing is said the procedure is called once to find out, with ones where
    JAX traces it.
    checkpoint, memory: how reverse mode runs, as for :func:`cairn.grad`.
    """
    modes = list(reversed(mode.split("-over-")))
    if not modes or any(m not in _MODES for m in modes):
        raise ValueError(f"mode: {mode!r}; \"reverse\", \"forward\", and several of these with -over- between them")
    return Function(_procedure(procedure, None), _how(checkpoint, memory), modes, result)


class Function:
    """A procedure as a function that JAX differentiates."""

    def __init__(self, procedure: Procedure, how: Union[bool, str], modes: Sequence[str], result: Any = None,
                 derivative: bool = False) -> None:
        self.procedure = procedure
        self._how = how
        self._modes = list(modes)
        self._result = result
        self._derivative = derivative  # of another one: where a part does not matter it gives 0
        self._results: Dict[Any, Any] = {}
        self._rules: Dict[Any, "Function"] = {}
        self._apply = self._with_vjp() if self._modes[0] == "reverse" else self._with_jvp()

    def __call__(self, *arguments: Any) -> Any:
        """What the procedure gives for arrays, numbers and nested lists, tuples and dicts of such: a value of the structure that ``result`` says."""
        return self._apply(*jax.tree.map(jnp.asarray, arguments))

    def __repr__(self) -> str:
        return f"cairn.jax.function({self.procedure!r})"

    def _called(self, *arguments: Any) -> Any:
        like = self._like(arguments)
        return jax.pure_callback(functools.partial(self._on_host, like), like, *arguments, vmap_method="sequential")

    def _on_host(self, like: Any, *arguments: Any) -> Any:
        return _fitted(self._computed([_lent(a) for a in arguments]), like, self._derivative)

    def _computed(self, arguments: Sequence[Any]) -> Any:
        value, draws = self.procedure.machine.call(None, self.procedure, *arguments)
        if draws is not None:
            raise ValueError("the procedure draws random numbers; functions of JAX's are functions of their arguments alone, and derivatives run them "
                             "again: hand the random numbers to it as an argument, from jax.random")
        return value

    def _like(self, arguments: Any) -> Any:
        """Sizes and types of the value."""
        if self._result is not None:
            return self._result
        leaves, tree = jax.tree.flatten(arguments)
        key = (tree, tuple((leaf.shape, jnp.result_type(leaf)) for leaf in leaves))
        if key not in self._results:
            if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
                leaves = [np.ones(leaf.shape, jnp.result_type(leaf)) for leaf in leaves]
            given = [_lent(a) for a in jax.tree.unflatten(tree, leaves)]
            self._results[key] = jax.tree.map(_described, self._computed(given))
        return self._results[key]

    def _rule(self, kind: str, places: Sequence[int], result: Any) -> "Function":
        """A derivative of this one, as a function with the modes that are left."""
        leaves, tree = jax.tree.flatten(result)
        key = (kind, tuple(places), tree, tuple((leaf.shape, leaf.dtype) for leaf in leaves))
        if key not in self._rules:
            settings: List[Any] = [self._how, list(places)] if kind == "pull-back-at" else [list(places)]
            self._rules[key] = Function(_made(kind, self.procedure, *settings), self._how, self._modes[1:] or self._modes, result, True)
        return self._rules[key]

    @functools.cached_property
    def _again(self) -> "Function":
        """The same function as derivatives of derivatives see it."""
        return self if len(self._modes) == 1 else Function(self.procedure, self._how, self._modes[1:], self._result, self._derivative)

    def _with_vjp(self) -> Any:
        apply: Any = jax.custom_vjp(self._called)

        def forward(*arguments: Any) -> Any:
            return self._again._apply(*arguments), arguments

        def backward(arguments: Any, cotangent: Any) -> Any:
            places = _places(arguments)
            wanted = [jax.tree.map(lambda x: _STRUCT(x.shape, x.dtype), arguments[i]) for i in places]
            parts = self._rule("pull-back-at", places, wanted)._apply(cotangent, *arguments) if places else []
            found = dict(zip(places, parts))
            return tuple(jax.tree.map(_floating_part, a, found[i]) if i in found else jax.tree.map(_no_part, a) for i, a in enumerate(arguments))

        apply.defvjp(forward, backward)
        return apply

    def _with_jvp(self) -> Any:
        apply: Any = jax.custom_jvp(self._called)

        def rule(primals: Any, tangents: Any) -> Any:
            value = self._again._apply(*primals)
            places = _places(primals)
            like = self._like(primals)
            given = [jax.tree.map(_tangent, primals[i], tangents[i]) for i in places]
            found = self._rule("push-forward-at", places, like)._apply(given, *primals) if places else jax.tree.map(jnp.zeros_like, value)
            return value, jax.tree.map(_floating_part, value, found)

        apply.defjvp(rule)
        return apply


def _floating(x: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(x), jnp.inexact))


def _places(arguments: Sequence[Any]) -> List[int]:
    """Of arguments that have derivatives."""
    return [i for i, a in enumerate(arguments) if any(_floating(leaf) for leaf in jax.tree.leaves(a))]


def _no_part(x: Any) -> Any:
    return jnp.zeros(x.shape, x.dtype) if _floating(x) else np.zeros(x.shape, jax.dtypes.float0)


def _floating_part(x: Any, part: Any) -> Any:
    return part if _floating(x) else np.zeros(x.shape, jax.dtypes.float0)


def _tangent(x: Any, tangent: Any) -> Any:
    return tangent if _floating(x) else jnp.zeros(x.shape, x.dtype)


def _sequence(kind: Any, parts: List[Any]) -> Any:
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)  # named tuples, such as cairn.Pair, take their parts one by one


def _lent(argument: Any) -> Any:
    """Arrays of JAX's as Cairn takes them: without a copy, and numbers where they have no axes."""
    if isinstance(argument, (list, tuple)):
        return _sequence(type(argument), [_lent(a) for a in argument])
    if isinstance(argument, dict):
        return {key: _lent(a) for key, a in argument.items()}
    array = np.asarray(argument)
    if array.dtype.name == "bfloat16":
        raise TypeError("arrays of bfloat16 do not pass between JAX and Cairn: .astype(jnp.float32)")
    return array.item() if array.ndim == 0 else array


def _described(value: Any) -> Any:
    return _STRUCT(np.shape(value), jax.dtypes.canonicalize_dtype(np.asarray(value).dtype))


def _fitted(value: Any, like: Any, derivative: bool) -> Any:
    """A value of Cairn's in the sizes and types that JAX was told; a 0 of a derivative stands for zeros of any structure."""
    if isinstance(like, _STRUCT):
        array = np.asarray(value)
        if derivative and isinstance(value, (int, float)) and value == 0:
            return np.zeros(like.shape, like.dtype)  # a part that does not matter
        if array.shape != like.shape:
            raise ValueError(f"the value has the shape {array.shape}, that of an earlier call had {like.shape}: {_ONE_FORM}")
        if not np.can_cast(array.dtype, like.dtype, "same_kind"):
            raise ValueError(f"the value has the type {array.dtype}, that of an earlier call had {like.dtype}: say result=, or let the procedure give "
                             "the same type for all numbers")
        return array.astype(like.dtype, copy=False)
    if derivative and isinstance(value, (int, float)):  # of a structure none of whose parts matters
        return jax.tree.map(lambda part: _fitted(0, part, True), like)
    if isinstance(like, dict):
        if not isinstance(value, dict) or value.keys() != like.keys():
            raise ValueError(f"the value is {_told(value)}, that of an earlier call was a dict of {sorted(like)}: {_ONE_FORM}")
        return {key: _fitted(value[key], part, derivative) for key, part in like.items()}
    if not isinstance(value, (list, tuple)) or len(value) != len(like):
        raise ValueError(f"the value is {_told(value)}, that of an earlier call had {len(like)} parts: {_ONE_FORM}")
    return _sequence(type(like), [_fitted(v, part, derivative) for v, part in zip(value, like)])


_ONE_FORM = "a function of JAX's has one form for arguments of the same shapes, which result= may say"


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return f"a dict of {sorted(value)}"
    return f"{kind_of(value)} of {len(value)} parts" if isinstance(value, (list, tuple)) else f"one {type(value).__name__}"
