"""Cairn in Python: programs whose procedures are functions of numbers and arrays, with exact derivatives of runs of any length.

    >>> import cairn
    >>> m = cairn.compile("(define (f x) (* x x))")
    >>> m.f(3.0)
    9.0
    >>> cairn.grad(m.f)(3.0)
    6.0

docs/python.md leads through all of it. ``cairn.torch`` and ``cairn.jax`` make layers of procedures; they import these libraries.
"""
from __future__ import annotations

import threading as _threading
from typing import Any

import numpy as _numpy

from . import _cairn
from ._cairn import Array, Procedure
from ._derivatives import Explained, grad, hvp, jacobian, jvp, update, value_and_grad, vjp
from ._errors import (BudgetError, CancelledError, CapsuleError, CompileError, Error, FileError, ModuleError, ProgramError, failure as _failure,
                      refusal as _refusal)
from ._explanation import Explanation
from ._kinds import Character, Pair, Symbol
from ._programs import Host, Module, Program, compile, host, reduced as _reduced
from ._runs import Progress, Run, kept_run as _kept_run, start

__version__ = f"{_cairn.version // 1000000}.{_cairn.version // 1000 % 1000}.{_cairn.version % 1000}"
__all__ = ["Array", "BudgetError", "CancelledError", "CapsuleError", "Character", "CompileError", "Error", "Explained", "Explanation", "FileError",
           "Host", "Module", "ModuleError", "Pair", "Procedure", "Program", "ProgramError", "Progress", "Run", "Symbol", "compile", "grad", "host",
           "hvp", "jacobian", "jvp", "start", "update", "value_and_grad", "vjp"]


def _contiguous(array: Any) -> Any:
    found = _numpy.asarray(array)
    return _numpy.require(found, found.dtype.newbyteorder("="), ["C", "ALIGNED"]).reshape(found.shape)


def _jacobian(rows: Any, results: int, arguments: int) -> Any:
    found = _numpy.asarray(rows)
    if found.dtype == object:  # of which NumPy would make NaN
        raise TypeError(f"a derivative rule gives rows of numbers, this one gave {rows!r}")
    return _numpy.ascontiguousarray(found.astype(_numpy.float64).reshape(results, arguments))


_cairn.set_up(pair=Pair, symbol=Symbol, character=Character, failure=_failure, refusal=_refusal, kept_run=_kept_run, start=start, reduced=_reduced,
              asarray=_numpy.asarray, scalar=_numpy.generic, masked=_numpy.ma.MaskedArray, contiguous=_contiguous, jacobian=_jacobian,
              main_thread=_threading.main_thread().ident)


def __getattr__(name: str) -> Any:
    if name in ("torch", "jax"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
