"""Columns of a table as numbers of a row x: centred and scaled by public bounds, or one indicator a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Feature:
    """(value − centre)/half of a number, in [−1, 1], or the indicator of `level`; all of it public."""

    column: str
    centre: float = 0.0
    half: float = 1.0
    level: str | int | float | bool | None = None

    @property
    def name(self) -> str:
        return self.column if self.level is None else f"{self.column}={self.level}"
