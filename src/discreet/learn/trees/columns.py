"""What is public of the columns: the bounds of numbers, and which columns hold codes of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.models.margin_losses import Floats

Bounds: TypeAlias = tuple[ArrayLike, ArrayLike]
Codes: TypeAlias = NDArray[np.int64]
MOST_LEVELS = 1024  # codes of one column; more would be numbers


@final
@dataclass(frozen=True)
class Columns:
    """Lower and upper end of each column; a column of codes holds the whole numbers between them."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    categorical: tuple[bool, ...]

    @classmethod
    def of(
        cls, bounds: Bounds | None, categorical: Sequence[int | str] | None, names: Sequence[str]
    ) -> Columns:
        if bounds is None:
            raise ValueError(
                "bounds must be declared, (lower, upper) of the columns: they must be public knowledge, "
                "not read from the data, e.g. bounds=([0, 0], [100, 1]); records beyond them are clipped"
            )
        lower, upper = _ends(bounds, len(names))
        coded = np.zeros(len(names), dtype=bool)
        for column in categorical or ():
            coded[_place(column, names)] = True
        for name, low, high in zip(
            np.array(names)[coded], lower[coded].tolist(), upper[coded].tolist(), strict=True
        ):
            if not (low == int(low) and high == int(high) and high - low < MOST_LEVELS):
                raise ValueError(
                    f"the column {name!r} holds codes, whose bounds must be whole numbers less than "
                    f"{MOST_LEVELS} apart, got [{low:g}, {high:g}]"
                )
        return cls(tuple(lower.tolist()), tuple(upper.tolist()), tuple(coded.tolist()))

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def levels(self) -> NDArray[np.int64]:
        """How many codes each column has; 0 for a column of numbers."""
        spread = np.array(self.upper) - np.array(self.lower)
        return np.where(self.categorical, np.rint(spread) + 1, 0).astype(np.int64)

    def __call__(self, x: Floats) -> Floats:
        """Clip to the bounds; a missing number counts as the middle. Codes start at 0."""
        lower, upper = np.array(self.lower), np.array(self.upper)
        middle = lower + (upper - lower) / 2
        kept = np.clip(np.where(np.isnan(x), middle, x), lower, upper)
        coded = np.array(self.categorical)
        kept[:, coded] = np.rint(kept[:, coded] - lower[coded])
        return np.asarray(kept)

    def bins(self, x: Floats, most: int) -> Codes:
        """Cut every column of numbers into `most` intervals of one length; codes stay as they are."""
        kept, lower, upper = self(x), np.array(self.lower), np.array(self.upper)
        cut = np.minimum(np.floor((kept - lower) / (upper - lower) * most), most - 1)
        return np.where(self.categorical, kept, cut).astype(np.int64)

    def sizes(self, most: int) -> tuple[int, ...]:
        """How many bins each column has."""
        return tuple(np.where(self.categorical, self.levels, most).tolist())

    def edges(self, column: int, most: int) -> Floats:
        """Where the bins of a column of numbers begin and end."""
        return np.linspace(self.lower[column], self.upper[column], most + 1)


def _ends(bounds: Bounds, columns: int) -> tuple[Floats, Floats]:
    try:
        lower, upper = (np.broadcast_to(np.asarray(end, np.float64), (columns,)) for end in bounds)
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds must be (lower, upper), each one number or {columns} numbers, one per column; "
            "they must be public knowledge, not read from the data"
        ) from None
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(upper - lower).all()
    if not (finite and (lower < upper).all()):
        raise ValueError(
            f"bounds need finite lower < upper in every column, got {bounds!r}; they must be public "
            "knowledge, not read from the data"
        )
    return lower, upper


def _place(column: int | str, names: Sequence[str]) -> int:
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"categorical_features names {column!r}, and no column is called so")
        return list(names).index(column)
    if not 0 <= int(column) < len(names):
        raise ValueError(f"categorical_features counts columns from 0 to {len(names) - 1}, got {column!r}")
    return int(column)
