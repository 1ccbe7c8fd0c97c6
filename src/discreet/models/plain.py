"""Plain numbers of a table, without a model behind them: how many records, in which cells, mean and variance.

What they are of is the records at hand. For what the records say of a population, use a family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Integers, Sensitivity, table_size
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, Relation

Edges = tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class PlainNumbers(ABC):
    """Integers that are sums over records; `columns` may be left to what the table has selected."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, in order."""

    @abstractmethod
    def sensitivity(self, relation: Relation) -> Sensitivity:
        """How far one record moves `vector`."""

    @abstractmethod
    def vector(self, values: ArrayLike, n: int, relation: Relation) -> Integers:
        """Return what is noised: the sums, with a private number of records where they need it."""


@final
@dataclass(frozen=True)
class RecordCount(PlainNumbers):
    """How many records there are, after `where`; of units with k rows, the rows that count."""

    name: ClassVar[str] = "record_count"

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """One record is one: N19 Example 5.1."""
        if relation.replaces:
            raise ValueError(
                f"the number of records is public under {relation.name}: ask for a target with "
                f"relation={ADD_REMOVE.name}, or count how many records have a level with Histogram"
            )
        return Sensitivity.of(1, 1, 1)

    def vector(self, values: ArrayLike, n: int, relation: Relation) -> Integers:
        del values, relation
        return np.array([table_size(n)], dtype=np.int64)


@final
@dataclass(frozen=True, init=False)
class Histogram(PlainNumbers):
    """How many records are in each cell of one column or several: a histogram, or a contingency table.

    `edges` cuts columns of numbers, Histogram("age", edges=[18, 65]) or {"age": [18, 65]}: below the first,
    between, from the last. They are public and not read off the data, as levels are.
    """

    name: ClassVar[str] = "histogram"

    of: tuple[str, ...]
    edges: Edges = ()
    sizes: tuple[int, ...] = field(default=(), kw_only=True)  # cells of each column; from the schema

    def __init__(
        self,
        of: str | Sequence[str],
        edges: Mapping[str, Sequence[float]] | Sequence[float] | Edges = (),
        *,
        sizes: Sequence[int] = (),
    ) -> None:
        names = (of,) if isinstance(of, str) else tuple(of)
        if not names or len(set(names)) != len(names):
            raise ValueError("a histogram needs at least one column, each once")
        object.__setattr__(self, "of", names)
        object.__setattr__(self, "edges", _edges(names, edges))
        object.__setattr__(self, "sizes", tuple(int(size) for size in sizes))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are counted: those that are cut bear the name of the cut one."""
        return tuple(self.cut_name(name) for name in self.of)

    def cut_name(self, name: str) -> str:
        return f"{name} cut" if name in dict(self.edges) else name

    def bind(self, sizes: Sequence[int]) -> Self:
        return replace(self, sizes=tuple(sizes))

    @property
    def size(self) -> int:
        """Return the number of cells."""
        if not self.sizes:
            raise ValueError("the histogram does not know its cells yet: fit it to a table, or bind(sizes)")
        return prod(self.sizes)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """One record is in one cell: L1 = L2² = 1, and 2 where it is replaced [N19 Example 2.13]."""
        moved = 2 if relation.replaces else 1
        return Sensitivity.of(moved, moved, 1)

    def vector(self, values: ArrayLike, n: int, relation: Relation) -> Integers:
        del relation
        counts = np.asarray(values)
        if counts.shape != (self.size,) or counts.dtype.kind not in "iu" or int(counts.sum()) != n:
            raise ValueError(f"the counts must be {self.size} integers that add up to the number of records")
        return counts.astype(np.int64)


def _plain(edge: float) -> float:
    """Return a whole number as an int, which reads better in the name of a cell."""
    return int(edge) if float(edge).is_integer() else float(edge)


def _edges(names: tuple[str, ...], given: Mapping[str, Sequence[float]] | Sequence[object]) -> Edges:
    """Take edges by column; alone, they are of the only column."""
    if isinstance(given, Mapping):
        by_name = dict(given)
    elif given and all(isinstance(edge, int | float | Fraction) for edge in given):
        if len(names) != 1:
            raise ValueError("say by name which columns edges cut: edges={'age': [18, 65]}")
        by_name = {names[0]: given}  # type: ignore[dict-item]
    else:
        by_name = dict(given)  # type: ignore[arg-type]
    strange = [name for name in by_name if name not in names]
    if strange:
        raise ValueError(f"edges cut {', '.join(strange)}, which the histogram does not count")
    found = tuple((name, tuple(_plain(edge) for edge in edges)) for name, edges in by_name.items())
    for name, edges in found:
        if not edges or not all(a < b for a, b in pairwise((-np.inf, *edges, np.inf))):
            raise ValueError(f"edges of {name!r} must be finite numbers in rising order, got {list(edges)}")
    return found


@final
@dataclass(frozen=True)
class MeanAndVariance(PlainNumbers):
    """Mean and variance of a column's records, each within the column's declared bounds."""

    name: ClassVar[str] = "mean_and_variance"

    of: str | None = None  # the only column that the table has selected, unless given
    lower: Exact | None = field(default=None, kw_only=True)  # from the schema
    upper: Exact | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else Fraction(given))

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.of is None else (self.of,)

    @cached_property
    def moments(self) -> NormalInverseGamma:
        """Return the family whose statistic this is, (KΣq, Σq²); its prior is not used."""
        if self.lower is None or self.upper is None:
            raise ValueError("mean and variance need the column's bounds: fit them to a table with a schema")
        middle = (Fraction(self.lower) + Fraction(self.upper)) / 2
        return NormalInverseGamma(middle, 1, shape=2, scale=1, lower=self.lower, upper=self.upper)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """Return that of the moments; where n is private it is noised along."""
        if relation.replaces:
            return self.moments.sensitivity(relation)
        return self.moments.joint_sensitivity()

    def vector(self, values: ArrayLike, n: int, relation: Relation) -> Integers:
        encode = self.moments.check if relation.replaces else self.moments.joint
        return encode(values, n)
