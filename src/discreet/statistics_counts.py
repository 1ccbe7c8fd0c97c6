"""Counts of many features at once, within groups: what naive Bayes, networks and hidden Markov models read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.families.family import Integers, Sensitivity
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.statistics import FEW, Counted, checked, of_rows, one_row
from discreet.tables.errors import guarded
from discreet.tables.schema import Binary, Categorical, Count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from discreet.tables.table import Table

PACKED = 2**16  # cells of one packed group-by: more are slower than one group-by more


@final
@dataclass(frozen=True, eq=False)
class BoundedCounts:
    """For each feature the counts of (by…, feature), unread: one record adds 1 to one cell of each feature."""

    table: Table
    features: tuple[str, ...]
    by: tuple[str, ...]
    relation: Relation
    n: int | None
    shapes: tuple[tuple[int, ...], ...]  # one for each feature

    @property
    def rows_per_unit(self) -> int:
        return self.table.rows_per_unit or 1

    @property
    def sensitivity(self) -> Sensitivity:
        """F features: L1 = F, L2 = √F for one record; twice F and √(2F) for a substitution; L∞ = 1. Exact."""
        moved = len(self.features) * (2 if self.relation is SUBSTITUTE else 1)
        return Sensitivity.of(moved, moved, 1)

    @property
    def unit_sensitivity(self) -> Sensitivity:
        return of_rows(self.sensitivity, self.rows_per_unit)

    def read(self) -> Counted:
        """Return all cells, flat, feature after feature. The one call that touches private values."""
        return checked(guarded("reading the counts", self._query), self.n)

    def _query(self) -> Counted:
        groups = grouped(self.table, self.features, self.by)
        margins = joint_counts(self.table, self.by, groups)
        flat = np.concatenate([margins[f].reshape(-1) for f in self.features])
        return Counted(flat, int(margins[self.features[0]].sum()))

    def split(self, values: ArrayLike) -> dict[str, Any]:
        """Return one array of shape (by…, levels) for each feature, of exact or noisy values."""
        flat = np.asarray(values)
        ends = np.cumsum([0, *(prod(shape) for shape in self.shapes)])
        if flat.shape != (ends[-1],):
            raise ValueError(f"expected {ends[-1]} cells, got shape {flat.shape}")
        cells = zip(self.features, self.shapes, pairwise(ends.tolist()), strict=True)
        return {feature: flat[a:b].reshape(shape) for feature, shape, (a, b) in cells}


def counts(
    table: Table, features: Sequence[str], by: Sequence[str] = (), relation: Relation = SUBSTITUTE
) -> BoundedCounts:
    """Prepare the counts of every feature within every combination of the `by` columns."""
    names = (*by, *features)
    if not features or len(set(names)) != len(names):
        raise ValueError("counts needs at least one feature, and each column once")
    sizes = {name: code_of(table, name)[1] for name in names}
    shapes = tuple((*(sizes[b] for b in by), sizes[f]) for f in features)
    table.relation_for(relation)
    n = table.size() if relation is SUBSTITUTE else None
    return BoundedCounts(table, tuple(features), tuple(by), relation, n, shapes)


def code_of(table: Table, name: str) -> tuple[Callable[[Any], Any], int]:
    """How a clean column becomes a code, and how many codes there are."""
    kind = table.schema[name]
    if isinstance(kind, Categorical):
        return (lambda x: x), kind.size
    if isinstance(kind, Binary):
        return (lambda x: x.ifelse(1, 0)), 2
    if isinstance(kind, Count):
        return (lambda x: x), kind.max + 1
    raise TypeError(f"column {name!r} is {kind.kind}; counting needs categories: derive one with cut(edges)")


def grouped(table: Table, features: tuple[str, ...], by: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Pack features together while their joint cells are few: fewer passes over the rows."""
    base = prod(code_of(table, b)[1] for b in by)
    if table.unit is not None:  # which rows count must not depend on the feature: all cells at once
        return [features]
    groups: list[list[str]] = []
    for feature in features:
        size = code_of(table, feature)[1]
        if groups and base * size * prod(code_of(table, f)[1] for f in groups[-1]) <= PACKED:
            groups[-1].append(feature)
        else:
            groups.append([feature])
    return [tuple(g) for g in groups]


def joint_counts(table: Table, by: tuple[str, ...], groups: Sequence[tuple[str, ...]]) -> dict[str, Integers]:
    """One packed group-by for each group of features, one statement; the margins are taken on its small result."""
    import ibis  # noqa: PLC0415 - heavy

    from discreet.tables.engine import fetch  # noqa: PLC0415

    packs = [
        packed(table, (*by, *group)).mutate(g=ibis.literal(i, type="int32")) for i, group in enumerate(groups)
    ]
    found = fetch(packs[0] if len(packs) == 1 else ibis.union(*packs, distinct=False))
    which, key, count = (found[c].to_numpy() for c in ("g", "key", "count"))
    margins: dict[str, Integers] = {}
    for i, group in enumerate(groups):
        names = (*by, *group)
        shape = tuple(code_of(table, name)[1] for name in names)
        mine = which == i
        codes = np.unravel_index(key[mine].astype(np.int64), shape)
        for j, feature in enumerate(group):
            take = (*range(len(by)), len(by) + j)
            part = tuple(shape[t] for t in take)
            cell = np.ravel_multi_index([codes[t] for t in take], part)
            flat = np.zeros(prod(part), dtype=np.int64)
            np.add.at(flat, cell, count[mine].astype(np.int64))
            margins[feature] = flat.reshape(part)
    return margins


def packed(table: Table, names: tuple[str, ...]) -> Any:  # noqa: ANN401 - an Ibis table (key, count)
    """Group by Σ code·stride, one integer; rows bounded for each unit are weighed."""
    rows = keyed(table, names)
    if table.unit is None:
        return rows.group_by("key").aggregate(count=rows.count())
    from discreet.tables.units import WEIGHT, weighted  # noqa: PLC0415

    cells = weighted(rows, ("key",), table.rows_per_unit or 1)
    return cells.group_by("key").aggregate(count=cells[WEIGHT].sum().cast("int64"))


def keyed(table: Table, names: tuple[str, ...]) -> Any:  # noqa: ANN401 - an Ibis table (key, UNIT)
    from discreet.tables.rows import UNIT, clean_rows  # noqa: PLC0415

    rows = clean_rows(table, names)
    key: Any = None
    total = prod(code_of(table, name)[1] for name in names)
    if not total < 2**62:
        raise ValueError("these columns have more than 2^62 joint cells; count fewer at once")
    whole = "int32" if total < 2**31 else "int64"
    for name in names:
        coder, size = code_of(table, name)
        code = coder(rows[name]).cast(whole)
        key = code if key is None else key * size + code
    kept = [UNIT] if table.unit is not None else []
    return rows.select(*kept, key=key)


def counts_by_code(table: Table, names: tuple[str, ...]) -> Callable[[], Integers]:
    """Counts of the joint codes of these columns, as one flat vector."""
    size = prod(code_of(table, name)[1] for name in names)
    if table.unit is not None and size <= FEW:
        from discreet.tables.units import split_by_code  # noqa: PLC0415

        units = split_by_code(keyed(table, names), "key", size, table.rows_per_unit or 1)
        query = units.aggregate(**{f"c{code}": units[f"c{code}"].sum() for code in range(size)})
        return lambda: np.array(list(one_row(query).values()), dtype=np.int64)
    cells = packed(table, names)

    def read() -> Integers:
        from discreet.tables.engine import fetch  # noqa: PLC0415

        found = fetch(cells)
        flat = np.zeros(size, dtype=np.int64)
        flat[found["key"].to_numpy().astype(np.int64)] = found["count"].to_numpy().astype(np.int64)
        return flat

    return read
