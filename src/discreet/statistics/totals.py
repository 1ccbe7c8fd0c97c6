"""One bounded number a record, or several counts: their sums, as integers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.families.dirichlet_multinomial import DirichletMultinomial
from discreet.families.family import Integers
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.records import Lattice, refuse_overflow
from discreet.families.scalar import ScalarFamily
from discreet.statistics.exact_value import MOST_RECORDS, PrivateValue
from discreet.statistics.sorted_units import kept_values, sortable
from discreet.statistics.sums import (
    FEW,
    as_number,
    at_most,
    exact_sum,
    on_lattice,
    one_row,
    selected,
    summed_codes,
)
from discreet.tables.codes import how_often
from discreet.tables.numbers import double
from discreet.tables.rows import clean_rows
from discreet.tables.schema import Binary, Count
from discreet.tables.table import Table
from discreet.tables.units import split_by_code

if TYPE_CHECKING:
    from ibis.expr import types as ir

Query = Callable[[], PrivateValue]


def total(table: Table, model: ScalarFamily, n: int | None) -> Query:
    """S = Σq, q = ⌊x/g + ½⌋ within the lattice."""
    lattice: Lattice = model.lattice
    few = lattice.high - lattice.low < FEW
    if table.unit is not None and few:
        return _total_by_code(table, lattice)
    if isinstance(table.schema[selected(table, 1)[0]], Binary) and (lattice.low, lattice.high) == (0, 1):
        return _truths(table)
    refuse_overflow(n or MOST_RECORDS, lattice.largest)
    if sortable(table, lattice):
        return _of_kept(table, lattice, lambda q: [q.sum()])
    rows = _lattice_rows(table, lattice)
    get = one_row(rows.aggregate(n=rows.count(), first=exact_sum(rows.q, lattice.largest, n)))

    def read() -> PrivateValue:
        got = get()
        return PrivateValue(np.array([got["first"]], dtype=np.int64), got["n"])

    return read


def _truths(table: Table) -> Query:
    """S = #{records where it holds}."""
    (name,) = table.columns
    rows = clean_rows(table, {"x": name})
    get = one_row(rows.aggregate(n=rows.count(), first=how_often(rows.x)))

    def read() -> PrivateValue:
        got = get()
        return PrivateValue(np.array([got["first"]], dtype=np.int64), got["n"])

    return read


def _total_by_code(table: Table, lattice: Lattice) -> Query:
    """Few values of q and rows bounded for each unit: Σ_q q·(how often q counts)."""
    size = lattice.high - lattice.low + 1
    rows = _lattice_rows(table, lattice, bound=False)
    rows = rows.mutate(q=(rows.q - lattice.low).cast("int64"))
    counts = summed_codes(split_by_code(rows, "q", range(size), size, table.rows_per_unit or 1), size)

    def read() -> PrivateValue:
        each = counts()
        value = sum((lattice.low + code) * count for code, count in enumerate(each))
        return PrivateValue(np.array([value], dtype=np.int64), sum(each))

    return read


def two_totals(table: Table, model: NormalInverseGamma, n: int | None) -> Query:
    """S = (KΣq, Σq²), q counted from the middle."""
    refuse_overflow(n or MOST_RECORDS, model.count_unit)
    balance = int(model.grid / Fraction(float(model.units[0])))
    if sortable(table, model.lattice):
        middle = model.middle
        return _of_kept(
            table, model.lattice, lambda q: [balance * (q - middle).sum(), ((q - middle) ** 2).sum()]
        )
    rows = _lattice_rows(table, model.lattice)
    q = rows.q - model.middle
    first = exact_sum(q, model.lattice.largest + abs(model.middle), n)
    get = one_row(rows.aggregate(n=rows.count(), first=first, second=exact_sum(q * q, model.count_unit, n)))

    def read() -> PrivateValue:
        got = get()
        return PrivateValue(np.array([balance * got["first"], got["second"]], dtype=np.int64), got["n"])

    return read


def _of_kept(table: Table, lattice: Lattice, sums: Callable[[Integers], list[Any]]) -> Query:
    """Add up the rows that count, sorted here."""
    kept = kept_values(_lattice_rows(table, lattice, bound=False), lattice, table.rows_per_unit or 1)

    def read() -> PrivateValue:
        q = kept()
        return PrivateValue(np.array(sums(q), dtype=np.int64), q.size)

    return read


def _lattice_rows(table: Table, lattice: Lattice, *, bound: bool = True) -> ir.Table:
    """One column q (a double that is whole), at most k rows per unit."""
    (name,) = selected(table, 1)
    rows = clean_rows(table, {"x": name})
    rows = rows.mutate(q=on_lattice(rows.x, table.schema[name], lattice)).drop("x")
    return at_most(table, rows, ("q",)) if bound else rows


def item_counts(table: Table, model: DirichletMultinomial, n: int | None) -> Query:
    """S = Σx over records of d counts; one that does not add up to the trials is all of the last column."""
    names = selected(table, model.dimension)
    wrong = [name for name in names if not isinstance(table.schema[name], Count | Binary)]
    if wrong:
        raise TypeError(f"this model needs columns declared Count or Binary; {', '.join(wrong)} are not")
    refuse_overflow(n or MOST_RECORDS, model.trials)
    most = [getattr(table.schema[name], "max", 1) for name in names]
    if sum(most) < model.trials:
        raise ValueError(
            f"the columns are declared to add up to at most {sum(most)}, and the model counts {model.trials} "
            "trials per record: no record could; give the columns their maxima, or the model its trials"
        )
    own = {f"x{i}": name for i, name in enumerate(names)}
    rows = clean_rows(table, own)
    numbers = [as_number(rows[x], table.schema[name])[0] for x, name in own.items()]
    whole, none = double(model.trials), double(0)
    right = sum(numbers[1:], numbers[0]) == whole
    shares = {f"c{i}": right.ifelse(x, whole if i == len(names) - 1 else none) for i, x in enumerate(numbers)}
    rows = at_most(table, rows.mutate(**shares).drop(*own), tuple(shares))
    get = one_row(rows.aggregate(n=rows.count(), **{c: exact_sum(rows[c], model.trials, n) for c in shares}))

    def read() -> PrivateValue:
        got = get()
        return PrivateValue(np.array([got[c] for c in shares], dtype=np.int64), got["n"])

    return read
