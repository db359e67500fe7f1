"""Exceptions. ``str(error)`` is Cairn's located message, with the line of the program, a caret, and the chain of calls."""
from __future__ import annotations

import re
from typing import Any, List, Optional, Tuple

from . import _cairn

# Cures that the library knows for its own program and its build, in words of this package's.
_CURES = (
    (re.compile(r"vmrun grants the current folder, and others with --(\w+)=PATH \(a host: cairn_vm_grant\)"), r"compile(\1=[...]) grants files and folders"),
    (re.compile(r"(the CUDA module is not installed: .*)"), r"\1; pip install . --config-settings=cmake.define.CAIRN_CUDA=ON builds it"),
)


def _cured(text: str) -> str:
    for theirs, ours in _CURES:
        text = theirs.sub(ours, text)
    return text


class Error(Exception):
    """Whatever Cairn refuses. ``status`` is the number of the C interface, ``run`` what was stopped, where it can go on."""

    status: int = _cairn.STATUS_INTERNAL
    run: Any = None


class CompileError(Error):
    """The source text does not compile. ``file``, ``line`` and ``column`` say where, ``message`` what is wrong."""

    status = _cairn.STATUS_BAD_SOURCE

    def __init__(self, text: str) -> None:
        super().__init__(text)
        found = re.match(r"(.*?):(\d+):(\d+): error: (.*)", text)
        self.file: str = found.group(1) if found else ""
        self.line: int = int(found.group(2)) if found else 0
        self.column: int = int(found.group(3)) if found else 0
        self.message: str = found.group(4) if found else text


class ProgramError(Error):
    """The program did something wrong. ``file``, ``line``, ``column`` and ``message`` are of the place, ``calls`` are the calls that led there,
    innermost first, as pairs of procedure and place. What a function of Python's raised is the ``__cause__``."""

    status = _cairn.STATUS_PROGRAM_ERROR

    def __init__(self, text: str, message: str = "", file: str = "", line: int = 0, column: int = 0,
                 calls: Optional[List[Tuple[str, str]]] = None) -> None:
        super().__init__(text)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.calls: List[Tuple[str, str]] = calls or []


class BudgetError(ProgramError, MemoryError):
    """A budget, of memory or output, does not hold what the program wants."""

    status = _cairn.STATUS_OVER_BUDGET


class CancelledError(Error):
    """``cancel()`` stopped it; ``run`` holds it."""

    status = _cairn.STATUS_CANCELLED


class CapsuleError(Error, ValueError):
    """Bytes that are no capsule of this version, or not of this program."""

    status = _cairn.STATUS_BAD_CAPSULE


class ModuleError(Error, ValueError):
    """Bytes that are no module of this version, or one that needs a procedure of the host that is not there."""

    status = _cairn.STATUS_BAD_MODULE


class FileError(Error, OSError):
    """A file cannot be read or written."""

    status = _cairn.STATUS_NO_FILE


def failure(status: int, text: str, message: str, file: str, line: int, column: int, calls: Any) -> Error:
    """The exception of a run that cannot go on."""
    kind = BudgetError if status == BudgetError.status else ProgramError
    made = kind(_cured((text or message or f"status {status}").rstrip("\n")), _cured(message), file, line, column, list(calls or []))
    made.status = status
    return made


def refusal(status: int, text: str) -> BaseException:
    """The exception of another call."""
    words = _cured(text.rstrip("\n"))
    if status == _cairn.STATUS_OUT_OF_MEMORY:
        return MemoryError(words)
    if status == _cairn.STATUS_PROGRAM_ERROR:
        return ProgramError(words, words)
    kinds = {kind.status: kind for kind in (CompileError, BudgetError, CancelledError, CapsuleError, ModuleError, FileError)}
    made: Error = kinds.get(status, Error)(words)
    made.status = status
    return made
