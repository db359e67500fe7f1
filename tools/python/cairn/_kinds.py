"""Values of Cairn's language that Python has no type for."""
from __future__ import annotations

from typing import Any, NamedTuple


def kind_of(value: object) -> str:
    """For messages: "an int"."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


class Symbol(str):
    """A symbol of a program, such as ``'adam``: a string to Python, another kind than strings to Cairn."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Symbol({str.__repr__(self)})"


class Character(str):
    """A character of a program, such as ``#\\a``: one code point."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Character({str.__repr__(self)})"


class Pair(NamedTuple):
    """A pair whose second part is no list: ``(cons 1 2)`` is ``Pair(1, 2)``, while ``(list 1 2)`` is ``[1, 2]``."""

    car: Any
    cdr: Any
