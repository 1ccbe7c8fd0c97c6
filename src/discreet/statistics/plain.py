"""(Table, plain numbers) → their exact integers, unread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch

import numpy as np

from discreet.models.plain import Histogram, MeanAndVariance, PlainNumbers, RecordCount
from discreet.statistics.bounded_statistic import PrivateValue
from discreet.statistics.joint import grouped, joint_counts, size_of
from discreet.statistics.sums import at_most, one_row, selected, two_totals
from discreet.tables.derived.columns import col
from discreet.tables.derived.demands import range_of
from discreet.tables.rows import clean_rows
from discreet.tables.schema import Binary, Bounded, Count
from discreet.tables.table import Table


def bind_plain(table: Table, model: PlainNumbers) -> tuple[Table, PlainNumbers]:
    """Select the columns and tell the numbers what the schema says of them. Reads no value."""
    return _bound(model, table)


@singledispatch
def _bound(model: PlainNumbers, table: Table) -> tuple[Table, PlainNumbers]:
    return table, model


@_bound.register
def _bound_histogram(model: Histogram, table: Table) -> tuple[Table, PlainNumbers]:
    cuts = {model.cut_name(name): col(name).cut(edges) for name, edges in model.edges}
    chosen = table.derive(**cuts)[model.columns]
    return chosen, model.bind([size_of(chosen, name) for name in model.columns])


@_bound.register
def _bound_mean(model: MeanAndVariance, table: Table) -> tuple[Table, PlainNumbers]:
    (name,) = selected(table, 1) if model.of is None else (model.of,)
    kind = table.schema[name]
    if not isinstance(kind, Binary | Bounded | Count):
        raise TypeError(
            f"column {name!r} is {kind.kind}, which has no mean: declare it Bounded, Count or Binary"
        )
    low, high = (0, 1) if isinstance(kind, Binary) else range_of(kind)
    return table[name], replace(model, of=name, lower=low, upper=high)


def numbers(table: Table, model: PlainNumbers, n: int | None) -> Callable[[], PrivateValue]:
    """Prepare the sums."""
    return _summed(model, table, n)


@singledispatch
def _summed(model: PlainNumbers, table: Table, n: int | None) -> Callable[[], PrivateValue]:
    raise TypeError(f"no sums are known for {type(model).__name__}: {table!r}, {n}")


@_summed.register
def _summed_records(model: RecordCount, table: Table, n: int | None) -> Callable[[], PrivateValue]:
    del model, n
    rows = at_most(table, clean_rows(table, {"x": table.columns[0]}), ("x",))
    get = one_row(rows.aggregate(n=rows.count()))

    def read() -> PrivateValue:
        count = get()["n"]
        return PrivateValue(np.array([count], dtype=np.int64), count)

    return read


@_summed.register
def _summed_cells(model: Histogram, table: Table, n: int | None) -> Callable[[], PrivateValue]:
    del n
    *by, last = model.columns
    get = joint_counts(table, tuple(by), grouped(table, (last,), tuple(by)))

    def read() -> PrivateValue:
        counts = get()[last].reshape(-1)
        return PrivateValue(counts, int(counts.sum()))

    return read


@_summed.register
def _summed_moments(model: MeanAndVariance, table: Table, n: int | None) -> Callable[[], PrivateValue]:
    return two_totals(table, model.moments, n)
