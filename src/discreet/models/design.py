"""Columns of a table as numbers of a row x: centred and scaled by public bounds, or one indicator a level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.models.margin_losses import Floats


@final
@dataclass(frozen=True)
class Feature:
    """(value − centre)/half of a number, in [−1, 1], or the indicator of `level`; all of it public."""

    column: str
    centre: float = 0.0
    half: float = 1.0
    level: str | int | float | bool | None = None
    elsewhere: float = 0.0  # what a missing or undeclared value is encoded as

    @property
    def name(self) -> str:
        """The column, with its level; a truth is named like its column."""
        return self.column if self.level is None or self.level is True else f"{self.column}={self.level}"


def encoded(design: Sequence[Feature], columns: Mapping[str, ArrayLike]) -> Floats:
    """Encode public values by column, such as people to predict for, as private rows are encoded."""
    missing = [f.column for f in design if f.column not in columns]
    if missing:
        raise ValueError(f"the model reads {', '.join(dict.fromkeys(missing))}, which was not given")
    levels = {f.column: [g.level for g in design if g.column == f.column] for f in design}
    return np.column_stack([_encoded(f, columns[f.column], levels[f.column]) for f in design])


def _encoded(feature: Feature, values: ArrayLike, levels: Sequence[Any]) -> Floats:
    if feature.level is None:
        x = (np.asarray(values, dtype=np.float64) - feature.centre) / feature.half
        return np.clip(np.where(np.isnan(x), feature.elsewhere, x), -1.0, 1.0)
    given: NDArray[Any] = np.asarray(values, dtype=object)
    declared = np.logical_or.reduce([given == level for level in levels])
    return np.where(declared, given == feature.level, feature.elsewhere).astype(np.float64)
