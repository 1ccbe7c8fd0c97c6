"""(Table, model) → the model's exact integer statistic and its sensitivity.

The only builder of Ibis aggregates, with counts (many features) and moments (vectors).
Values are quantised to a public grid and summed as integers: order-independent, and the same on every engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.dirichlet_multinomial import DirichletMultinomial
from discreet.families.family import Family, Integers, Sensitivity, double_above
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.families.normal_mean import NormalMean
from discreet.families.records import LARGEST, Lattice, refuse_overflow
from discreet.models.count_model import CountModel
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.tables.errors import TableError, guarded
from discreet.tables.schema import Binary, Bounded, Categorical, Count, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.tables.table import Table

    Query = Callable[[], "Counted"]
    Builder = Callable[[Table, Any, int | None], Query]
    Model = Family | CountModel

MOST_RECORDS = 2**32  # what a private number of records is taken to be below, where overflow is ruled out
FEW = 24  # codes that are counted side by side for each unit


@final
@dataclass(frozen=True)
class Counted:
    """Exact and private: what a mechanism is given, and nobody else."""

    values: Integers = field(repr=False)
    n: int = field(repr=False)

    def __reduce__(self) -> NoReturn:
        raise TypeError("exact private counts are not copied or pickled; release them through a mechanism")


@final
@dataclass(frozen=True, eq=False)
class BoundedStatistic:
    """A statistic, unread. Only `read` touches values, and it is called after the charge."""

    table: Table
    model: Model
    relation: Relation
    n: int | None  # public, or None
    query: Query = field(repr=False)

    @property
    def rows_per_unit(self) -> int:
        return self.table.rows_per_unit or 1

    @property
    def sensitivity(self) -> Sensitivity:
        """Of one row; a unit has at most `rows_per_unit` of them."""
        return self.model.sensitivity(self.relation)

    @property
    def unit_sensitivity(self) -> Sensitivity:
        return of_rows(self.sensitivity, self.rows_per_unit)

    def read(self) -> Counted:
        """Return the exact integers. The one call that touches private values."""
        return checked(guarded("reading the statistic", self.query), self.n)


def bounded(table: Table, model: Model, relation: Relation = SUBSTITUTE) -> BoundedStatistic:
    """Prepare model.statistic of the table's selected columns, under a relation that the table supports."""
    table.relation_for(relation)
    table, model = fitted(model, table)
    builder = next((BUILDERS[kind] for kind in type(model).__mro__ if kind in BUILDERS), None)
    if builder is None:
        known = ", ".join(family.__name__ for family in BUILDERS)
        raise TypeError(f"no statistic is registered for {type(model).__name__}; known: {known}")
    n = table.size() if relation is SUBSTITUTE else None
    return BoundedStatistic(table, model, relation, n, builder(table, model, n))


@singledispatch
def fitted(model: Any, table: Table) -> tuple[Table, Any]:  # noqa: ANN401 - a Family as it is
    """Return the table with the columns that the model reads, and the model knowing their sizes."""
    return table, model


@fitted.register(CountModel)
def _(model: CountModel, table: Table) -> tuple[Table, CountModel]:
    from discreet.statistics.cells import bound  # noqa: PLC0415 - loads on first use

    return bound(table, model)


def of_rows(one: Sensitivity, k: int) -> Sensitivity:
    """K rows move the statistic at most k times as far, in every norm: the triangle inequality."""
    return Sensitivity(*(double_above(Fraction(x) * k) for x in (one.l1, one.l2, one.linf)))


def checked(counted: Counted, n: int | None) -> Counted:
    if n is not None and counted.n != n:  # n is public, and so is that it differs
        raise TableError(
            "the table does not hold the public number of records: it changed, or n is misdeclared"
        )
    return counted


# --- one bounded number a record ------------
def _total(table: Table, model: Any, n: int | None) -> Query:  # noqa: ANN401 - a ScalarFamily
    """S = Σq, q = ⌊x/g + ½⌋ within the lattice."""
    lattice: Lattice = model.lattice
    few = lattice.high - lattice.low < FEW
    if table.unit is not None and few:
        return _total_by_code(table, lattice)
    if isinstance(table.schema[selected(table, 1)[0]], Binary) and (lattice.low, lattice.high) == (0, 1):
        return _truths(table)
    refuse_overflow(n or MOST_RECORDS, lattice.largest)
    rows = _lattice_rows(table, lattice)
    get = one_row(rows.aggregate(n=rows.count(), first=exact_sum(rows.q, lattice.largest, n)))

    def read() -> Counted:
        got = get()
        return Counted(np.array([got["first"]], dtype=np.int64), got["n"])

    return read


def _truths(table: Table) -> Query:
    """S = #{records where it holds}."""
    from discreet.tables.codes import how_often  # noqa: PLC0415 - Ibis is heavy
    from discreet.tables.rows import clean_rows  # noqa: PLC0415

    (name,) = table.columns
    rows = clean_rows(table, (name,))
    get = one_row(rows.aggregate(n=rows.count(), first=how_often(rows[name])))

    def read() -> Counted:
        got = get()
        return Counted(np.array([got["first"]], dtype=np.int64), got["n"])

    return read


def _total_by_code(table: Table, lattice: Lattice) -> Query:
    """Few values of q and rows bounded for each unit: Σ_q q·(how often q counts)."""
    from discreet.tables.units import split_by_code  # noqa: PLC0415 - Ibis is heavy

    size = lattice.high - lattice.low + 1
    rows = _lattice_rows(table, lattice, bound=False)
    rows = rows.mutate(q=(rows.q - lattice.low).cast("int64"))
    counts = summed_codes(split_by_code(rows, "q", range(size), size, table.rows_per_unit or 1), size)

    def read() -> Counted:
        each = counts()
        value = sum((lattice.low + code) * count for code, count in enumerate(each))
        return Counted(np.array([value], dtype=np.int64), sum(each))

    return read


def _two_totals(table: Table, model: Any, n: int | None) -> Query:  # noqa: ANN401 - NormalInverseGamma
    """S = (KΣq, Σq²), q counted from the middle."""
    refuse_overflow(n or MOST_RECORDS, model.count_unit)
    rows = _lattice_rows(table, model.lattice)
    q = rows.q - model.middle
    first = exact_sum(q, model.lattice.largest + abs(model.middle), n)
    get = one_row(rows.aggregate(n=rows.count(), first=first, second=exact_sum(q * q, model.count_unit, n)))
    balance = int(model.grid / Fraction(float(model.units[0])))

    def read() -> Counted:
        got = get()
        return Counted(np.array([balance * got["first"], got["second"]], dtype=np.int64), got["n"])

    return read


def _lattice_rows(table: Table, lattice: Lattice, *, bound: bool = True) -> Any:  # noqa: ANN401 - an Ibis table
    """One column q (a double that is whole), at most k rows a unit."""
    from discreet.tables.rows import clean_rows  # noqa: PLC0415 - Ibis is heavy

    (name,) = selected(table, 1)
    kind = table.schema[name]
    rows = clean_rows(table, (name,))
    rows = rows.mutate(q=on_lattice(rows[name], kind, lattice)).drop(*({name} - {"q"}))
    return at_most(table, rows, ("q",)) if bound else rows


def on_lattice(x: Any, kind: Kind, lattice: Lattice) -> Any:  # noqa: ANN401
    """Quantise a clean number; the second clip is left out where the schema's bounds imply it."""
    from discreet.tables.numbers import double, quantised  # noqa: PLC0415

    number, low, high = as_number(x, kind, integral=lattice.integral)
    q = number if lattice.integral else quantised(number, float(lattice.grid))
    ends = np.floor(np.array([low, high]) / float(lattice.grid) + 0.5)
    q = q if ends[0] >= lattice.low else (q < double(lattice.low)).ifelse(double(lattice.low), q)
    return q if ends[1] <= lattice.high else (q > double(lattice.high)).ifelse(double(lattice.high), q)


def as_number(x: Any, kind: Kind, *, integral: bool = False) -> tuple[Any, float, float]:  # noqa: ANN401
    """Return a clean column as a double, and its bounds."""
    from discreet.tables.numbers import double  # noqa: PLC0415 - Ibis is heavy

    if isinstance(kind, Binary):
        return x.ifelse(double(1), double(0)), 0.0, 1.0
    if isinstance(kind, Count):
        return x.cast("float64"), 0.0, float(kind.max)
    if isinstance(kind, Bounded) and not integral:
        return x, float(kind.lower), float(kind.upper)
    wanted = "Count or Binary" if integral else "Bounded, Count or Binary"
    raise TypeError(f"this model needs a column declared {wanted}, got {type(kind).__name__}")


# --- categories ------------
def _code_counts(table: Table, model: Any, n: int | None) -> Query:  # noqa: ANN401, ARG001 - DirichletCategorical
    """S_c = #{records of code c}."""
    from discreet.statistics.counts import counts_by_code, size_of  # noqa: PLC0415 - loads on first use

    (name,) = selected(table, 1)
    size = size_of(table, name)
    if size != model.dimension:
        raise ValueError(
            f"the model has {model.dimension} categories, but column {name!r} has {size}: its levels, and a "
            "place for the unknown unless unknown= names a level"
        )
    counts = counts_by_code(table, name)

    def read() -> Counted:
        values = counts()
        return Counted(values, int(values.sum()))

    return read


def _item_counts(table: Table, model: Any, n: int | None) -> Query:  # noqa: ANN401 - DirichletMultinomial
    """S = Σx over records of d counts; one that does not add up to the trials is all of the last column."""
    from discreet.tables.numbers import double  # noqa: PLC0415 - Ibis is heavy
    from discreet.tables.rows import clean_rows  # noqa: PLC0415

    names = selected(table, model.dimension)
    wrong = [name for name in names if not isinstance(table.schema[name], Count | Binary)]
    if wrong:
        raise TypeError(f"this model needs columns declared Count or Binary; {', '.join(wrong)} are not")
    refuse_overflow(n or MOST_RECORDS, model.trials)
    rows = clean_rows(table, names)
    numbers = [as_number(rows[name], table.schema[name])[0] for name in names]
    whole, none = double(model.trials), double(0)
    right = sum(numbers[1:], numbers[0]) == whole
    shares = {f"c{i}": right.ifelse(x, whole if i == len(names) - 1 else none) for i, x in enumerate(numbers)}
    rows = at_most(table, rows.mutate(**shares).drop(*names), tuple(shares))
    get = one_row(rows.aggregate(n=rows.count(), **{c: exact_sum(rows[c], model.trials, n) for c in shares}))

    def read() -> Counted:
        got = get()
        return Counted(np.array([got[c] for c in shares], dtype=np.int64), got["n"])

    return read


def _first_and_second(table: Table, model: Any, n: int | None) -> Query:  # noqa: ANN401 - NormalInverseWishart
    from discreet.statistics.moments import first_and_second  # noqa: PLC0415 - loads on first use

    return first_and_second(table, model, n)


def _second(table: Table, model: Any, n: int | None) -> Query:  # noqa: ANN401 - BayesianLinearRegression
    from discreet.statistics.moments import second  # noqa: PLC0415

    return second(table, model, n)


def _cells(table: Table, model: Any, n: int | None) -> Query:  # noqa: ANN401, ARG001 - a CountModel
    from discreet.statistics.cells import cells  # noqa: PLC0415

    return cells(table, model)


# --- what the shapes share ------------
def selected(table: Table, count: int) -> tuple[str, ...]:
    if len(table.columns) != count:
        raise ValueError(
            f"this model reads {count} column{'s' if count > 1 else ''}, the table has {len(table.columns)} "
            "selected; select them in order, e.g. table['a', 'b']"
        )
    return table.columns


def at_most(table: Table, rows: Any, names: tuple[str, ...]) -> Any:  # noqa: ANN401 - Ibis tables
    """Keep at most k rows a unit."""
    if table.unit is None:
        return rows
    from discreet.tables.units import sampled  # noqa: PLC0415

    return sampled(rows, names, table.rows_per_unit or 1)


def exact_sum(whole: Any, largest: int, n: int | None) -> Any:  # noqa: ANN401
    """Σ of whole doubles: as doubles, which is thrice as fast, while partial sums stay below 2^53."""
    if (n or MOST_RECORDS) * max(1, largest) < LARGEST:
        return whole.sum()
    return whole.cast("int64").sum()


def one_row(query: Any) -> Callable[[], dict[str, int]]:  # noqa: ANN401
    """Return a reader of an aggregate; a sum over no rows is NULL, and is 0."""
    from discreet.tables.engine import prepared  # noqa: PLC0415 - Ibis is heavy

    fetch = prepared(query)

    def read() -> dict[str, int]:
        (row,) = fetch().to_pylist()
        return {name: int(value or 0) for name, value in row.items()}

    return read


def summed_codes(units: Any, size: int) -> Callable[[], list[int]]:  # noqa: ANN401
    get = one_row(units.aggregate(**{f"c{code}": units[f"c{code}"].sum() for code in range(size)}))
    return lambda: list(get().values())


BUILDERS: dict[type[Model], Builder] = {
    BetaBernoulli: _total,
    BetaBinomial: _total,
    BetaGeometric: _total,
    GammaPoisson: _total,
    GammaExponential: _total,
    NormalMean: _total,
    NormalInverseGamma: _two_totals,
    DirichletCategorical: _code_counts,
    DirichletMultinomial: _item_counts,
    NormalInverseWishart: _first_and_second,
    BayesianLinearRegression: _second,
    CountModel: _cells,
}
__all__ = ["BoundedStatistic", "Categorical", "Counted", "bounded"]
