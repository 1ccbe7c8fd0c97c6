"""What a model of counts is: which cells are counted, and how far one record moves them. No noise, no SQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import prod
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.exact_fields import show
from discreet.families.family import Integers, Sensitivity
from discreet.privacy.guarantee import Relation


@final
@dataclass(frozen=True)
class Cells:
    """One table of counts over the joint values of `columns`, the last fastest."""

    name: str
    columns: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, repr=False)
class CountModel(ABC):
    """S = the counts of F tables; every record adds 1 to one cell of each.

    A subclass says `layout`, and what the counts mean is said in inference. `sizes` is public, comes from the
    schema through `bind`, and may be left out until then.
    """

    name: ClassVar[str]

    sizes: tuple[int, ...] = field(default=(), kw_only=True)  # codes of each of `columns`; empty until bound

    def __post_init__(self) -> None:
        """Refuse sizes that are no sizes; a subclass with checks of its own calls this last."""
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        if self.sizes and (len(self.sizes) != len(self.columns) or min(self.sizes) < 1):
            raise ValueError(
                f"sizes must be one positive number of codes for each of {', '.join(self.columns)}; "
                f"got {self.sizes}"
            )

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{f.name}={show(getattr(self, f.name))}" for f in fields(self) if f.name != "sizes"
        )
        return f"{type(self).__name__}({inside})"

    # --- what is counted ------------
    @property
    @abstractmethod
    def layout(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """(name, columns) of each table of counts, in order; one of them may need only one column."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        return tuple(dict.fromkeys(column for _, columns in self.layout for column in columns))

    def bind(self, sizes: Mapping[str, int]) -> Self:
        """Return the same model knowing how many codes each column has."""
        missing = [column for column in self.columns if column not in sizes]
        if missing:
            raise ValueError(f"the model reads {', '.join(missing)}, which has no known number of codes")
        return replace(self, sizes=tuple(sizes[column] for column in self.columns))

    @property
    def size_of(self) -> dict[str, int]:
        """Column → number of codes."""
        if not self.sizes:
            raise ValueError(
                f"{type(self).__name__} does not know its columns' numbers of codes yet: fit it to a table, "
                "or bind({'column': codes, …})"
            )
        return dict(zip(self.columns, self.sizes, strict=True))

    @property
    def cells(self) -> tuple[Cells, ...]:
        """Every table with its shape, in the order of the flat vector."""
        size_of = self.size_of
        return tuple(
            Cells(name, columns, tuple(size_of[column] for column in columns))
            for name, columns in self.layout
        )

    @property
    def size(self) -> int:
        """Return the number of cells of all tables."""
        return sum(cells.size for cells in self.cells)

    def split(self, values: ArrayLike) -> dict[str, NDArray[Any]]:
        """Flat values, exact or noisy, as one array a table."""
        flat, tables = np.asarray(values), self.cells
        if flat.shape != (self.size,):
            raise ValueError(f"the model has {self.size} cells, got an array of shape {flat.shape}")
        parts = np.split(flat, np.cumsum([cells.size for cells in tables])[:-1])
        return {cells.name: part.reshape(cells.shape) for cells, part in zip(tables, parts, strict=True)}

    # --- how far one record moves it ------------
    def sensitivity(self, relation: Relation) -> Sensitivity:
        """L1 = L2² = F for one record, 2F for a substitution; L∞ = 1. Attained."""
        moved = len(self.layout) * (2 if relation.replaces else 1)
        return Sensitivity.of(moved, moved, 1)

    def table_sensitivity(self, relation: Relation) -> Sensitivity:
        """Of one table alone: the same with F = 1."""
        moved = 2 if relation.replaces else 1
        return Sensitivity.of(moved, moved, 1)

    def check(self, values: ArrayLike, n: int) -> Integers:
        """Return the counts as integers, or refuse (showing none) what no n records can be counted as."""
        flat = np.asarray(values)
        if flat.shape != (self.size,) or flat.dtype.kind not in "iu":
            raise ValueError(f"the counts must be {self.size} integers")
        counts: Integers = flat.astype(np.int64)
        totals = np.add.reduceat(counts, np.cumsum([0, *(cells.size for cells in self.cells[:-1])]))
        if counts.min() < 0 or not (totals == n).all():
            raise ValueError(
                "the counts must not be negative, and every table must add up to the number of records"
            )
        return counts
