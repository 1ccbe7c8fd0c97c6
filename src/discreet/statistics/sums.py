"""Exact sums over rows: numbers on a lattice, at most k rows per unit, and one row of aggregates back."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.families.dirichlet_multinomial import DirichletMultinomial
from discreet.families.family import Integers
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.records import LARGEST, Lattice, ScalarFamily, refuse_overflow
from discreet.statistics.bounded_statistic import MOST_RECORDS, PrivateValue
from discreet.tables.encode import double, quantised
from discreet.tables.engine import batches, prepared
from discreet.tables.rows import ROUNDS, UNIT, clean_rows, how_often, sampled, split_by_code
from discreet.tables.schema import Binary, Bounded, Categorical, Count, Kind
from discreet.tables.table import Table

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
    instead = ""
    if isinstance(kind, Categorical):
        one = repr(kind.levels[-1])
        instead = f": declare it Binary(true={one}), or derive a column that is == {one}, to count that level"
    raise TypeError(f"this model needs a column declared {wanted}, got {type(kind).__name__}{instead}")


# ── At most k rows per unit where the engine is embedded: (unit, value) is sorted here, not in the engine.
# The same rows as tables.units.sampled, a quarter of the time and of the memory.
BATCH = 2**16  # rows that the engine hands over at once
WIDEST = 2**31  # values of one column: with fewer than 2^32 rows, keys fit 63 bits


def sortable(table: Table, lattice: Lattice) -> bool:
    """Whether a unit and its value fit one integer."""
    if table.unit is None or not table.source.embedded or lattice.high - lattice.low >= WIDEST:
        return False
    return bool(table.source.relation[table.unit].type().is_signed_integer())


def kept_values(rows: ir.Table, lattice: Lattice, k: int) -> Callable[[], Integers]:
    """Return a reader of the values q of the rows that count; `rows` has columns UNIT and q."""
    import discreet.statistics.kernel  # noqa: F401, PLC0415 - fails before the charge, if at all

    stream = batches(rows.select(UNIT, "q"), BATCH)
    low, width = lattice.low, lattice.high - lattice.low + 1

    def read() -> Integers:
        units, values = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        for batch in stream():
            unit, q = (column.to_numpy() for column in batch.columns)
            units.append(unit.astype(np.int64))
            values.append((q - low).astype(np.int32))
        return _kept(np.concatenate(units), np.concatenate(values), width, k) + low

    return read


def _kept(units: Integers, values: Integers, width: int, k: int) -> Integers:
    from discreet.statistics.kernel import taken  # noqa: PLC0415 - numba is heavy

    keys, names = _keys(units, values, width)
    keys.sort()
    count = taken(keys, width, names, k, np.array(ROUNDS))
    return keys[:count]


def _keys(units: Integers, values: Integers, width: int) -> tuple[Integers, Integers]:
    """id·width + value, and the units that the ids name: the first alone where the others follow it."""
    first, last = (int(units.min()), int(units.max())) if units.size else (0, 0)
    if (last - first + 1) * width < 2**63:
        names = np.array([first])
        units -= first
    else:
        names, units = np.unique(units, return_inverse=True)
    units *= width
    units += values
    return units, names


# ── One bounded number a record, or several counts: their sums, as integers.
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
    own = {f"x{i}": name for i, name in enumerate(names)}
    rows = clean_rows(table, own)
    shares = item_shares(table, rows, own, model, n)
    rows = at_most(table, rows.mutate(**shares).drop(*own), tuple(shares))
    get = one_row(rows.aggregate(n=rows.count(), **{c: exact_sum(rows[c], model.trials, n) for c in shares}))

    def read() -> PrivateValue:
        got = get()
        return PrivateValue(np.array([got[c] for c in shares], dtype=np.int64), got["n"])

    return read


def item_shares(
    table: Table, rows: ir.Table, own: dict[str, str], model: DirichletMultinomial, n: int | None
) -> dict[str, ir.Value]:
    """Return the d counts of clean rows, as c0, c1, …; refuse columns that no record could fill."""
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
    numbers = [as_number(rows[x], table.schema[name])[0] for x, name in own.items()]
    whole, none = double(model.trials), double(0)
    right = sum(numbers[1:], numbers[0]) == whole
    return {f"c{i}": right.ifelse(x, whole if i == len(names) - 1 else none) for i, x in enumerate(numbers)}
