"""Several columns of codes as one: a contingency table's cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, final

from discreet.tables.derived.columns import Cells, Column, Expression
from discreet.tables.derived.written import written
from discreet.tables.schema import Binary, Categorical, Categories, Kind, Schema

if TYPE_CHECKING:
    from ibis.expr import types as ir

MOST_CELLS = 4096  # beyond, hardly any cell would see a record, and a schema would be a book


@final
@dataclass(frozen=True, eq=False, repr=False)
class Joint(Expression):
    """The cell of a table of several columns, the last fastest."""

    columns: tuple[str, ...]

    def names(self) -> frozenset[str]:
        return frozenset(self.columns)

    def kind(self, schema: Schema) -> Kind:
        """Categories of every combination of the columns' labels, of which one always holds."""
        each = [labels_of(schema[name], name) for name in self.columns]
        levels = [", ".join(cell) for cell in product(*each)]
        if len(set(levels)) < len(levels):  # "A, B" and C, or A and "B, C"
            levels = [", ".join(repr(x) if ", " in x else x for x in cell) for cell in product(*each)]
        if len(levels) > MOST_CELLS:
            raise ValueError(
                f"{', '.join(self.columns)} have {len(levels)} joint values, more than {MOST_CELLS}: hardly "
                "a cell would see a record; take fewer or coarser columns"
            )
        return Categories(tuple(levels), unknown=levels[0])

    def value(self, cells: Cells, schema: Schema) -> ir.Value:
        codes = [
            (_code(schema[name], cells[name]), len(labels_of(schema[name], name))) for name in self.columns
        ]
        return reduce(lambda whole, part: (whole[0] * part[1] + part[0], 0), codes)[0].cast("int32")


def labels_of(kind: Kind, name: str) -> tuple[str, ...]:
    """Name the codes of a column."""
    if isinstance(kind, Binary):
        return f"not {name}", name
    if isinstance(kind, Categorical):
        return tuple(map(str, kind.labels))
    raise TypeError(
        f"column {name!r} is {kind.kind}; a table of counts needs categories: derive one with cut"
    )


def _code(kind: Kind, value: ir.Value) -> ir.Value:
    return value.ifelse(1, 0) if isinstance(kind, Binary) else value


@written.register
def _written_joint(expression: Joint) -> str:
    return f"joint({', '.join(written(Column(name)) for name in expression.columns)})"
