"""Exact sums over rows: numbers on a lattice, at most k rows per unit, and one row of aggregates back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.families.records import LARGEST, Lattice
from discreet.statistics.exact_value import MOST_RECORDS
from discreet.tables.engine import prepared
from discreet.tables.numbers import double, quantised
from discreet.tables.schema import Binary, Bounded, Count, Kind
from discreet.tables.table import Table
from discreet.tables.units import sampled

if TYPE_CHECKING:
    from ibis.expr import types as ir


FEW = 24  # codes that are counted side by side for each unit


def selected(table: Table, count: int) -> tuple[str, ...]:
    if len(table.columns) != count:
        raise ValueError(
            f"this model reads {count} column{'s' if count > 1 else ''}, the table has {len(table.columns)} "
            "selected; select them in order, e.g. table['a', 'b']"
        )
    return table.columns


def at_most(table: Table, rows: ir.Table, names: tuple[str, ...]) -> ir.Table:
    """Keep at most k rows per unit."""
    if table.unit is None:
        return rows
    return sampled(rows, names, table.rows_per_unit or 1)


def exact_sum(whole: ir.Value, largest: int, n: int | None) -> ir.Value:
    """Σ of whole doubles: as doubles, which is thrice as fast, while partial sums stay below 2^53."""
    if (n or MOST_RECORDS) * max(1, largest) < LARGEST:
        return whole.sum()
    return whole.cast("int64").sum()


def one_row(query: ir.Table) -> Callable[[], dict[str, int]]:
    """Return a reader of an aggregate; a sum over no rows is NULL, and is 0."""
    fetch = prepared(query)

    def read() -> dict[str, int]:
        (row,) = fetch().to_pylist()
        return {name: int(value or 0) for name, value in row.items()}

    return read


def summed_codes(units: ir.Table, size: int) -> Callable[[], list[int]]:
    get = one_row(units.aggregate(**{f"c{code}": units[f"c{code}"].sum() for code in range(size)}))
    return lambda: list(get().values())


def on_lattice(x: ir.Value, kind: Kind, lattice: Lattice) -> ir.Value:
    """Quantise a clean number; the second clip is left out where the schema's bounds imply it."""
    number, low, high = as_number(x, kind, integral=lattice.integral)
    q = number if lattice.integral else quantised(number, float(lattice.grid))
    ends = np.floor(np.array([low, high]) / float(lattice.grid) + 0.5)
    q = q if ends[0] >= lattice.low else (q < double(lattice.low)).ifelse(double(lattice.low), q)
    return q if ends[1] <= lattice.high else (q > double(lattice.high)).ifelse(double(lattice.high), q)


def as_number(x: ir.Value, kind: Kind, *, integral: bool = False) -> tuple[Any, float, float]:
    """Return a clean column as a double, and its bounds."""
    if isinstance(kind, Binary):
        return x.ifelse(double(1), double(0)), 0.0, 1.0
    if isinstance(kind, Count):
        return x.cast("float64"), 0.0, float(kind.max)
    if isinstance(kind, Bounded) and not integral:
        return x, float(kind.lower), float(kind.upper)
    wanted = "Count or Binary" if integral else "Bounded, Count or Binary"
    raise TypeError(f"this model needs a column declared {wanted}, got {type(kind).__name__}")
