"""(Table, model) → the model's exact integer statistic and its sensitivity.

Here and in the builders (totals, counts, cells, moments) Ibis aggregates are made, and nowhere else.
Values are quantised to a public grid and summed as integers: order-independent, and the same on every engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

from discreet.catalogue import row_of
from discreet.families.family import Sensitivity
from discreet.models.model import Model
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.statistics.exact_value import PrivateValue, checked, of_rows
from discreet.statistics.ranges import refuse_narrow
from discreet.tables.errors import blindly
from discreet.tables.table import Table

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
    n = table.size() if relation is SUBSTITUTE else None
    query = builder(table, model, n)
    if not clip:
        refuse_narrow(table, model)
    return BoundedStatistic(table, model, relation, n, query)


def bind(model: Model, table: Table) -> tuple[Table, Model]:
    """Return the table with the columns that the model reads, and the model knowing their sizes."""
    bind: Callable[[Table, Model], tuple[Table, Model]] | None = row_of(model).load("binder")
    return (table, model) if bind is None else bind(table, model)


__all__ = ["BoundedStatistic", "PrivateValue", "bounded"]
