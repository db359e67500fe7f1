"""What a gradient did, as an object that shows itself."""
from __future__ import annotations

import html as _html
import json
import re
from typing import Any, Dict, List

from . import _cairn

_OURS = re.compile(re.escape(_cairn.HELPERS) + r":\d+:\d+")


class Explanation:
    """What the gradients of a call did: with what schedule, how often steps were run, what memory it took and who held that. ``data`` has the
    numbers (docs/tools.md explains the keys), ``html`` a table with drawings, which a notebook shows by itself."""

    def __init__(self, data: str, html: str, operator: str) -> None:
        """``operator`` stands for places in the package's own definitions."""
        self.data: Dict[str, Any] = json.loads(_OURS.sub(lambda _: json.dumps(operator)[1:-1], data))
        self.html = _OURS.sub(lambda _: _html.escape(operator), html)

    @property
    def gradients(self) -> List[Dict[str, Any]]:
        """One object for each gradient."""
        found: List[Dict[str, Any]] = self.data["gradients"]
        return found

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        rows = [("place", "schedule", "steps", "executed", "replay", "peak", "seconds")]
        for g in self.gradients:
            rows.append((g["place"], g["schedule"], f"{g['steps']:,}", f"{g['executed']:,}", f"{g['replay']['measured']:.2f}",
                         f"{g['peak']['measured']:,}", f"{g['seconds']['measured']:.3f}"))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join(lines + [g["summary"] for g in self.gradients])

    def __repr__(self) -> str:
        return f"<Explanation of {len(self.gradients)} gradient{'' if len(self.gradients) == 1 else 's'}>"
