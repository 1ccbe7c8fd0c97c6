"""Counts of many features at once, within groups: for naive Bayes, networks and hidden Markov models."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.families.family import Integers, Sensitivity
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.statistics.aggregates import FEW, Counted, checked, of_rows, summed_codes
from discreet.tables.errors import guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from discreet.tables.table import Table

PACKED = 2**16  # cells of one packed group-by: with more, a second pass over the rows is faster
EMBEDDED = 2**20  # the same on DuckDB, which then counts without hashing
BITS = 20


@final
@dataclass(frozen=True, eq=False)
class BoundedCounts:
    """The counts of (by…, feature) for each feature, unread: one record adds 1 to one cell of each."""

    table: Table
    features: tuple[str, ...]
    by: tuple[str, ...]
    relation: Relation
    n: int | None
    shapes: tuple[tuple[int, ...], ...]  # one for each feature
    margins: Callable[[], dict[str, Integers]] = field(repr=False)

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
        margins = self.margins()
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
    sizes = {name: size_of(table, name) for name in names}
    shapes = tuple((*(sizes[b] for b in by), sizes[f]) for f in features)
    table.relation_for(relation)
    n = table.size() if relation is SUBSTITUTE else None
    margins = joint_counts(table, tuple(by), grouped(table, tuple(features), tuple(by)))
    return BoundedCounts(table, tuple(features), tuple(by), relation, n, shapes, margins)


def size_of(table: Table, name: str) -> int:
    from discreet.tables.codes import sizes  # noqa: PLC0415 - Ibis is heavy

    return sizes(table.schema[name], name)


def grouped(table: Table, features: tuple[str, ...], by: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Pack features together while their joint cells are few: fewer passes over the rows."""
    if table.unit is not None:  # which rows count must not depend on the feature: all cells at once
        return [features]
    base, most = prod(size_of(table, b) + 2 for b in by), EMBEDDED if table.source.embedded else PACKED
    groups: list[list[str]] = []
    for feature in features:
        joint = base * prod(size_of(table, f) + 2 for f in (*(groups[-1] if groups else ()), feature))
        if groups and joint <= most:
            groups[-1].append(feature)
        else:
            groups.append([feature])
    return [tuple(g) for g in groups]


def joint_counts(
    table: Table, by: tuple[str, ...], groups: Sequence[tuple[str, ...]]
) -> Callable[[], dict[str, Integers]]:
    """One packed group-by for each group of features, in one statement; then the margins of its result."""
    import ibis  # noqa: PLC0415 - heavy

    from discreet.tables.engine import prepared  # noqa: PLC0415

    packs = [packed(table, (*by, *group)) for group in groups]
    parts = [cells.mutate(g=ibis.literal(i, type="int32")) for i, (cells, _) in enumerate(packs)]
    fetch = prepared(parts[0] if len(parts) == 1 else ibis.union(*parts, distinct=False))

    def read() -> dict[str, Integers]:
        found = fetch()
        which, key, count = (found[c].to_numpy() for c in ("g", "key", "count"))
        margins: dict[str, Integers] = {}
        for i, (group, (_, labels)) in enumerate(zip(groups, packs, strict=True)):
            mine = which == i
            margins |= _margins(table, by, group, labels, key[mine].astype(np.int64), count[mine])
        return margins

    return read


def _margins(  # noqa: PLR0917 - the parts of one packed group-by
    table: Table,
    by: tuple[str, ...],
    group: tuple[str, ...],
    labels: Sequence[tuple[int, ...]],
    key: Integers,
    count: Integers,
) -> dict[str, Integers]:
    values = np.unravel_index(key, [len(each) for each in labels])
    codes = [np.array(each)[v] for each, v in zip(labels, values, strict=True)]
    margins = {}
    for code, feature in zip(codes[len(by) :], group, strict=True):
        shape = tuple(size_of(table, name) for name in (*by, feature))
        cell = np.ravel_multi_index((*codes[: len(by)], code), shape)
        margins[feature] = _added(cell, count.astype(np.int64), shape)
    return margins


def _added(cell: Integers, count: Integers, shape: tuple[int, ...]) -> Integers:
    flat = np.zeros(prod(shape), dtype=np.int64)
    np.add.at(flat, cell, count)
    return flat.reshape(shape)


def packed(table: Table, names: tuple[str, ...]) -> tuple[Any, list[tuple[int, ...]]]:
    """Group by Σ value·stride, one integer; return (key, count) and what the columns' values stand for."""
    from discreet.tables.units import WEIGHT, weighted  # noqa: PLC0415 - Ibis is heavy

    rows, labels = valued(table, names)
    widths = [len(each) for each in labels]
    if not prod(widths) < 2**62:
        raise ValueError("these columns have more than 2^62 joint cells; count fewer at once")
    if table.unit is not None:
        rows = rows.mutate(key=_key(rows, widths))
        cells = weighted(rows, ("key",), table.rows_per_unit or 1)
        return cells.group_by("key").aggregate(count=cells[WEIGHT].sum().cast("int64")), labels
    if sum((width + 1).bit_length() for width in widths) <= BITS and table.source.embedded:
        cells = rows.group_by([f"v{i}" for i in range(len(names))]).aggregate(count=rows.count())
        return cells.select(key=_key(cells, widths), count=cells["count"]), labels
    rows = rows.select(key=_key(rows, widths))
    return rows.group_by("key").aggregate(count=rows.count()), labels


def valued(table: Table, names: tuple[str, ...]) -> tuple[Any, list[tuple[int, ...]]]:
    """Columns v0, v1, … (and UNIT), as the engine codes them cheapest where no order matters."""
    from discreet.tables.codes import coded, plain  # noqa: PLC0415
    from discreet.tables.rows import UNIT, clean_rows  # noqa: PLC0415

    ordered = table.unit is not None and len(names) > 1
    own = {f"v{i}": None if ordered else coded(table, x) for i, x in enumerate(names)}
    rest = {f"v{i}": x for i, x in enumerate(names) if own[f"v{i}"] is None}
    rows = clean_rows(table, tuple(rest.values()), {v: c.value for v, c in own.items() if c is not None})
    labels = [
        c.labels if c is not None else tuple(range(size_of(table, x)))
        for c, x in zip(own.values(), names, strict=True)
    ]
    wide = {v: "int16" if size_of(table, x) < 2**15 else "int64" for v, x in rest.items()}
    clean = {v: plain(table.schema[x], rows[x]).cast(wide[v]) for v, x in rest.items()}
    kept = [UNIT] if table.unit is not None else []
    return rows.select(*kept, **{v: clean[v] if v in clean else rows[v] for v in own}), labels


def _key(rows: Any, widths: Sequence[int]) -> Any:  # noqa: ANN401
    whole = "int32" if prod(widths) < 2**31 else "int64"
    key = rows.v0.cast(whole)  # narrower, products would overflow
    for i, width in enumerate(widths[1:], start=1):
        key = key * width + rows[f"v{i}"]
    return key.cast(whole)


def counts_by_code(table: Table, name: str) -> Callable[[], Integers]:
    """Return a reader of the counts of one column's codes."""
    from discreet.tables.units import split_by_code  # noqa: PLC0415 - Ibis is heavy

    size = size_of(table, name)
    if table.unit is None or size > FEW:
        get = joint_counts(table, (), [(name,)])
        return lambda: get()[name]
    rows, (labels,) = valued(table, (name,))
    units = split_by_code(rows, "v0", labels, size, table.rows_per_unit or 1)
    each = summed_codes(units, size)
    return lambda: np.array(each(), dtype=np.int64)
