"""(Table, model of counts) → the counts of all of its tables: one record adds 1 to one cell of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any, final

import ibis
import numpy as np
from numpy.typing import ArrayLike

from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.family import Integers, Sensitivity
from discreet.models.count_model import Cells, CountModel
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.statistics.bounded_statistic import PrivateValue, checked, of_rows
from discreet.statistics.joint import grouped, joint_counts, packed, size_of, valued
from discreet.statistics.sums import FEW, selected, summed_codes
from discreet.tables.derived.joint import Joint
from discreet.tables.engine import prepared
from discreet.tables.rows import split_by_code
from discreet.tables.table import Table, blindly


# ── Counts of many features at once, within groups: for naive Bayes, networks and hidden Markov models.
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
        moved = len(self.features) * (2 if self.relation.replaces else 1)
        return Sensitivity.of(moved, moved, 1)

    @property
    def unit_sensitivity(self) -> Sensitivity:
        return of_rows(self.sensitivity, self.rows_per_unit)

    def read(self) -> PrivateValue:
        """Return all cells, flat, feature after feature. The one call that touches private values."""
        return checked(blindly("reading the counts", self._query), self.n)

    def _query(self) -> PrivateValue:
        margins = self.margins()
        flat = np.concatenate([margins[f].reshape(-1) for f in self.features])
        return PrivateValue(flat, int(margins[self.features[0]].sum()))

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
    n = table.size() if relation.replaces else None
    margins = joint_counts(table, tuple(by), grouped(table, tuple(features), tuple(by)))
    return BoundedCounts(table, tuple(features), tuple(by), relation, n, shapes, margins)


def counts_by_code(table: Table, name: str) -> Callable[[], Integers]:
    """Return a reader of the counts of one column's codes."""
    size = size_of(table, name)
    if table.unit is None or size > FEW:
        get = joint_counts(table, (), [(name,)])
        return lambda: get()[name]
    rows, (labels,) = valued(table, (name,))
    units = split_by_code(rows, "v0", labels, size, table.rows_per_unit or 1)
    each = summed_codes(units, size)
    return lambda: np.array(each(), dtype=np.int64)


def bind_codes(table: Table, model: DirichletCategorical) -> tuple[Table, DirichletCategorical]:
    """Take several columns of categories as one, whose levels are their joint values: a contingency table."""
    if len(table.columns) == 1:
        return table, model
    joint = Joint(table.columns)
    name = " × ".join(table.columns)
    return table.derive(**{name: joint})[name], model


def code_counts(table: Table, model: DirichletCategorical, n: int | None) -> Callable[[], PrivateValue]:  # noqa: ARG001 - DirichletCategorical
    """S_c = #{records of code c}."""
    (name,) = selected(table, 1)
    size = size_of(table, name)
    if size != model.dimension:
        raise ValueError(
            f"the model has {model.dimension} categories, but column {name!r} has {size}: its levels, and "
            'one more where unknown = "(unknown)" adds it'
        )
    found = counts_by_code(table, name)

    def read() -> PrivateValue:
        values = found()
        return PrivateValue(values, int(values.sum()))

    return read


# ── cells
Reader = Callable[[], list[Integers]]


def bind_cells(table: Table, model: CountModel) -> tuple[Table, CountModel]:
    """Select the model's columns and tell it how many codes each has. Reads no value."""
    chosen = table[model.columns]
    return chosen, model.bind({name: size_of(chosen, name) for name in model.columns})


def cells(table: Table, model: CountModel, n: int | None = None) -> Callable[[], PrivateValue]:
    """Prepare the counts, flat, table after table."""
    del n  # counts say it themselves
    each = _within_groups(table, model.cells) if _one_group(model.cells) else _apart(table, model.cells)

    def read() -> PrivateValue:
        tables = each()
        return PrivateValue(np.concatenate([t.reshape(-1) for t in tables]), int(tables[0].sum()))

    return read


def _one_group(tables: Sequence[Cells]) -> bool:
    """Whether every table is (by…, feature) with the same `by`, as in naive Bayes and along chains."""
    features = {t.columns[-1] for t in tables}
    return len({t.columns[:-1] for t in tables}) == 1 and len(features) == len(tables)


def _within_groups(table: Table, tables: Sequence[Cells]) -> Reader:
    by, features = tables[0].columns[:-1], tuple(t.columns[-1] for t in tables)
    margins = joint_counts(table, by, grouped(table, features, by))

    def read() -> list[Integers]:
        found = margins()
        return [found[feature] for feature in features]

    return read


def _apart(table: Table, tables: Sequence[Cells]) -> Reader:
    """One packed group-by for each table, or one for all where units bound which rows count."""
    everything = table.unit is not None
    groups = [table.columns] if everything else [t.columns for t in tables]
    packs = [packed(table, names) for names in groups]
    parts = [query.mutate(g=ibis.literal(i, type="int32")) for i, (query, _) in enumerate(packs)]
    fetch = prepared(parts[0] if len(parts) == 1 else ibis.union(*parts, distinct=False))

    def read() -> list[Integers]:
        found = fetch()
        which, key, count = (found[c].to_numpy().astype(np.int64) for c in ("g", "key", "count"))
        sources = [0] * len(tables) if everything else range(len(tables))
        return [
            _margin(each, groups[i], packs[i][1], key[which == i], count[which == i])
            for each, i in zip(tables, sources, strict=True)
        ]

    return read


def _margin(
    wanted: Cells, names: tuple[str, ...], labels: Sequence[tuple[int, ...]], key: Integers, count: Integers
) -> Integers:
    """Add up the packed counts over the columns that the table does not have."""
    values = dict(zip(names, np.unravel_index(key, [len(each) for each in labels]), strict=True))
    meant = dict(zip(names, labels, strict=True))
    codes = tuple(np.array(meant[name])[values[name]] for name in wanted.columns)
    flat = np.zeros(wanted.size, dtype=np.int64)
    np.add.at(flat, np.ravel_multi_index(codes, wanted.shape), count)
    return flat.reshape(wanted.shape)


__all__ = [
    "BoundedCounts",
    "code_counts",
    "counts",
    "counts_by_code",
    "grouped",
    "joint_counts",
    "packed",
    "size_of",
]
