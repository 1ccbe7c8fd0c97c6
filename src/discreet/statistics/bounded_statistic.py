"""(Table, model) → the model's exact integer statistic and its sensitivity.

Here and in the builders (totals, counts, cells, moments) Ibis aggregates are made, and nowhere else.
Values are quantised to a public grid and summed as integers: order-independent, and the same on every engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn, final

from discreet.catalogue import row_of
from discreet.families.family import Family, Sensitivity, double_above
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.grouped import Grouped
from discreet.models.model import Model
from discreet.models.plain import PlainNumbers
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.tables.derived.demands import range_of
from discreet.tables.schema import Binary, Bounded, Count, Kind
from discreet.tables.table import Table, TableError, blindly

# ── What a mechanism is given: exact integers, or clipped rows, and how many records they are of.
MOST_RECORDS = 2**32  # what a private number of records is taken to be below, where overflow is ruled out


@final
@dataclass(frozen=True)
class PrivateValue:
    """Exact and private: what a mechanism is given, and nobody else."""

    values: Any = field(repr=False)  # integers; Records of a regression
    n: int = field(repr=False)

    def __reduce__(self) -> NoReturn:
        raise TypeError("exact private counts are not copied or pickled; release them through a mechanism")


def checked(counted: PrivateValue, n: int | None) -> PrivateValue:
    if n is not None and counted.n != n:  # n is public, and so is that it differs
        raise TableError(
            "the table does not hold the public number of records: it changed, or n is misdeclared"
        )
    return counted


def of_rows(one: Sensitivity, k: int) -> Sensitivity:
    """K rows move the statistic at most k times as far, in every norm: the triangle inequality."""
    return Sensitivity(*(double_above(Fraction(x) * k) for x in (one.l1, one.l2, one.linf)))


# ── Whether a model takes all that its columns may hold: known from declarations alone, before any charge.
Limits = tuple[Fraction, Fraction] | None


ROUNDING = 2.0**-40  # of the range: the bounds of a scaled column are rounded outward


def refuse_narrow(table: Table, model: Model) -> None:
    """Refuse a model that takes less than its columns are declared to hold: it would cut them in silence."""
    if isinstance(model, Grouped):
        refuse_narrow(table[model.of], model.model)
        return
    if isinstance(model, PlainNumbers):
        return  # their bounds are the columns'
    who, limits, names = _taken(model, table.columns)
    if limits is None:
        return
    low, high = map(float, limits)
    slack = (high - low) * ROUNDING
    for name in names:
        kind = table.schema[name]
        ends = _ends(kind)
        if ends and not (low - slack <= ends[0] and ends[1] <= high + slack):
            raise ValueError(
                f"column {name!r} is declared in {_shown(ends)}, and {who} takes {_shown((low, high))}: "
                f"all beyond would be cut off silently. {_scaling(name, kind, ends, (low, high))} "
                "the model a range that holds the column's, or declare narrower bounds, if public"
            )


def _taken(
    model: Family | CountModel | GeneralizedLinear, columns: tuple[str, ...]
) -> tuple[str, Limits, tuple[str, ...]]:
    """Say who takes numbers, within which limits, of which columns."""
    if isinstance(model, GeneralizedLinear):  # features are scaled by their bounds
        return f"the {model.loss.name} loss", model.loss.limits, (model.target,)
    scaled = isinstance(model, BayesianLinearRegression) and model.named is not None
    return type(model).__name__, None if scaled or isinstance(model, CountModel) else model.limits, columns


def _ends(kind: Kind) -> tuple[float, float] | None:
    if isinstance(kind, Binary):
        return 0.0, 1.0
    if not isinstance(kind, Bounded | Count):
        return None  # no number, and the model's own reader says what it needs
    low, high = range_of(kind)
    return float(low), float(high)


def _scaling(name: str, kind: Kind, ends: tuple[float, float], limits: tuple[float, float]) -> str:
    """Say how to map the column into the range; counts stay counts, and radii keep their zero."""
    if not isinstance(kind, Bounded):
        return "Give"
    (least, most), (low, high) = ends, limits
    if low == -high:
        text = f"dc.col({name!r}) / {_short(max(-least, most) / high)}"
    else:
        moved = f"(dc.col({name!r}){_added(-least)})" if least else f"dc.col({name!r})"
        text = f"{moved} / {_short((most - least) / (high - low))}{_added(low)}"
    return f"Scale it, table.derive(scaled={text}), and read 'scaled'; or give"


def _added(x: float) -> str:
    return f" {'+' if x > 0 else '-'} {_short(abs(x))}" if x else ""


def _shown(ends: tuple[float, float]) -> str:
    return f"[{_short(ends[0])}, {_short(ends[1])}]"


def _short(x: float) -> str:
    return repr(int(x) if x == int(x) and abs(x) < 2**53 else x)


# ── bounded statistic
Query = Callable[[], PrivateValue]


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

    def read(self) -> PrivateValue:
        """Return the exact integers. The one call that touches private values."""
        return checked(blindly("reading the statistic", self.query), self.n)


def bounded(
    table: Table,
    model: Model,
    relation: Relation = SUBSTITUTE,
    *,
    reads: str = "statistic",
    clip: bool = False,
) -> BoundedStatistic:
    """Prepare model.statistic of the table's selected columns, under a relation that the table supports.

    `reads` is what a mechanism says it reads; some read another thing than the model's own statistic.
    A model that takes less than its columns may hold is refused, unless `clip` asks for the cut.
    """
    table.relation_for(relation)
    row = row_of(model)
    table, model = bind(model, table)
    builder: Callable[[Table, Any, int | None], Query] | None = row.load("statistic", reads)
    if builder is None:
        raise TypeError(f"{type(model).__name__} has no {reads}; it has {', '.join(row.statistic)}")
    n = table.size() if relation.replaces else None
    query = builder(table, model, n)
    if not clip:
        refuse_narrow(table, model)
    return BoundedStatistic(table, model, relation, n, query)


def bind(model: Model, table: Table) -> tuple[Table, Model]:
    """Return the table with the columns that the model reads, and the model knowing their sizes."""
    bind: Callable[[Table, Model], tuple[Table, Model]] | None = row_of(model).load("binder")
    return (table, model) if bind is None else bind(table, model)


__all__ = ["BoundedStatistic", "PrivateValue", "bounded"]
