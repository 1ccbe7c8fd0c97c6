"""Joint counts of the values of columns, as cheap as the engine has them; margins are taken on the result."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any, final

import ibis
import numpy as np

from discreet.families.family import Integers
from discreet.tables.engine import batches, prepared
from discreet.tables.rows import UNIT, WEIGHT, Coded, clean_code, clean_rows, coded, mapped, sizes, weighted
from discreet.tables.table import Table, TableError

if TYPE_CHECKING:
    from ibis.expr import types as ir


PACKED = 2**16  # cells of one packed group-by: with more, a second pass over the rows is faster
EMBEDDED = 2**20  # the same on DuckDB, which then counts without hashing
BITS = 20
BATCH = 2**14  # keys that the engine hands over at once


def size_of(table: Table, name: str) -> int:
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
    """Count the joint cells of each group of features, in one statement; then the margins."""
    if table.source.dictionaries and table.unit is None:
        joint = [prod(size_of(table, name) + 1 for name in (*by, *group)) for group in groups]
        if max(joint) <= EMBEDDED:
            return _tallied(table, by, groups)
    return _grouped_by(table, by, groups)


def _tallied(
    table: Table, by: tuple[str, ...], groups: Sequence[tuple[str, ...]]
) -> Callable[[], dict[str, Integers]]:
    """Have each group packed into one integer, in one pass; counting those here takes half as long."""
    from discreet.statistics.kernel import tally  # noqa: PLC0415 - heavy, and fails before the charge, if at all

    rows, labels = keyed(table, by, groups)
    widths = [[len(each) for each in group] for group in labels]
    stream = batches(rows, BATCH)

    def read() -> dict[str, Integers]:
        cells = _counted(stream(), [prod(each) for each in widths], tally)
        margins: dict[str, Integers] = {}
        for group, label, width, count in zip(groups, labels, widths, cells, strict=True):
            key = np.flatnonzero(count)
            values = np.unravel_index(key, width, order="F")
            margins |= _margins(table, by, group, label, values, count[key])
        return margins

    return read


def _counted(
    stream: Iterator[Any], sizes: Sequence[int], tally: Callable[[Integers, Integers], bool]
) -> list[Integers]:
    cells = [np.zeros(size, dtype=np.int64) for size in sizes]
    for batch in stream:
        for column, count in zip(batch.columns, cells, strict=True):
            if not tally(column.to_numpy(), count):
                raise TableError("the engine gave a code that it was not asked for")
    return cells


def _grouped_by(
    table: Table, by: tuple[str, ...], groups: Sequence[tuple[str, ...]]
) -> Callable[[], dict[str, Integers]]:
    """One packed group-by for each group of features, in one statement; the result is small."""
    packs = [packed(table, (*by, *group)) for group in groups]
    parts = [cells.mutate(g=ibis.literal(i, type="int32")) for i, (cells, _) in enumerate(packs)]
    fetch = prepared(parts[0] if len(parts) == 1 else ibis.union(*parts, distinct=False))

    def read() -> dict[str, Integers]:
        found = fetch()
        which, key, count = (found[c].to_numpy() for c in ("g", "key", "count"))
        margins: dict[str, Integers] = {}
        for i, (group, (_, labels)) in enumerate(zip(groups, packs, strict=True)):
            mine = which == i
            values = np.unravel_index(key[mine].astype(np.int64), [len(each) for each in labels])
            margins |= _margins(table, by, group, labels, values, count[mine].astype(np.int64))
        return margins

    return read


def _margins(  # noqa: PLR0917 - the parts of one group
    table: Table,
    by: tuple[str, ...],
    group: tuple[str, ...],
    labels: Sequence[tuple[int, ...]],
    values: Sequence[Integers],
    count: Integers,
) -> dict[str, Integers]:
    codes = [np.array(each)[v] for each, v in zip(labels, values, strict=True)]
    margins = {}
    for code, feature in zip(codes[len(by) :], group, strict=True):
        shape = tuple(size_of(table, name) for name in (*by, feature))
        cell = np.ravel_multi_index((*codes[: len(by)], code), shape)
        margins[feature] = _added(cell, count, shape)
    return margins


def _added(cell: Integers, count: Integers, shape: tuple[int, ...]) -> Integers:
    flat = np.zeros(prod(shape), dtype=np.int64)
    np.add.at(flat, cell, count)
    return flat.reshape(shape)


@final
@dataclass(frozen=True, eq=False)
class Term:
    """What one column adds to a packed key: its value times a stride."""

    name: str
    stride: int
    coded: Coded | None  # the engine's own labelling, strides included; None: the clean code
    labels: tuple[int, ...]  # the declared code that each value stands for

    @property
    def key(self) -> tuple[str, int]:
        """Tell terms apart that need a column of their own."""
        return self.name, 0 if self.coded is None else self.stride

    def value(self, column: ir.Value, table: Table) -> ir.Value:
        if self.coded is not None:
            return column
        return clean_code(table.schema[self.name], column).cast("int32") * self.stride


def _terms(table: Table, names: tuple[str, ...]) -> list[Term]:
    """Mixed radix, the first value fastest, so that the keys of all groups begin alike."""
    terms: list[Term] = []
    for name in names:
        stride = prod(len(term.labels) for term in terms)
        coded = mapped(table, name, stride)
        labels = tuple(range(size_of(table, name))) if coded is None else coded.labels
        terms.append(Term(name, stride, coded, labels))
    return terms


def keyed(
    table: Table, by: tuple[str, ...], groups: Sequence[tuple[str, ...]]
) -> tuple[Any, list[list[tuple[int, ...]]]]:
    """Columns k0, k1, …: Σ value·stride, a key for each group; and what the values stand for."""
    packs = [_terms(table, (*by, *group)) for group in groups]
    terms = {term.key: term for pack in packs for term in pack}
    columns = {key: f"t{i}" for i, key in enumerate(terms)}
    own = {columns[key]: term.coded.value for key, term in terms.items() if term.coded is not None}
    clean = {columns[key]: term.name for key, term in terms.items() if term.coded is None}
    rows = clean_rows(table, clean, own)
    sums = [[term.value(rows[columns[term.key]], table) for term in pack] for pack in packs]
    keys = [reduce(operator.add, each).cast("int32") for each in sums]
    return rows.select(**{f"k{i}": key for i, key in enumerate(keys)}), [[t.labels for t in p] for p in packs]


def packed(table: Table, names: tuple[str, ...]) -> tuple[Any, list[tuple[int, ...]]]:
    """Group by Σ value·stride, one integer; return (key, count) and what the columns' values stand for."""
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
    ordered = table.unit is not None and len(names) > 1
    own = {f"v{i}": None if ordered else coded(table, x) for i, x in enumerate(names)}
    rest = {f"v{i}": x for i, x in enumerate(names) if own[f"v{i}"] is None}
    rows = clean_rows(table, rest, {v: c.value for v, c in own.items() if c is not None})
    labels = [
        c.labels if c is not None else tuple(range(size_of(table, x)))
        for c, x in zip(own.values(), names, strict=True)
    ]
    wide = {v: "int16" if size_of(table, x) < 2**15 else "int64" for v, x in rest.items()}
    clean = {v: clean_code(table.schema[x], rows[v]).cast(wide[v]) for v, x in rest.items()}
    kept = [UNIT] if table.unit is not None else []
    return rows.select(*kept, **{v: clean[v] if v in clean else rows[v] for v in own}), labels


def _key(rows: ir.Table, widths: Sequence[int]) -> ir.Value:
    whole = "int32" if prod(widths) < 2**31 else "int64"
    key = rows.v0.cast(whole)  # narrower, products would overflow
    for i, width in enumerate(widths[1:], start=1):
        key = key * width + rows[f"v{i}"]
    return key.cast(whole)
