"""(Table, model of counts) → the counts of all of its tables: one record adds 1 to one cell of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ibis
import numpy as np

from discreet.families.family import Integers
from discreet.models.count_model import Cells, CountModel
from discreet.statistics.bounded_statistic import PrivateValue
from discreet.statistics.counts import grouped, joint_counts, packed, size_of
from discreet.tables.engine import prepared
from discreet.tables.table import Table

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
