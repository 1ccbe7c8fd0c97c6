"""(Table, regression) → rows and answers in memory, clipped to the ball: for mechanisms that look at each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.models.regression_records import Records
from discreet.statistics.design import compact
from discreet.statistics.exact_value import PrivateValue
from discreet.statistics.sums import as_number, at_most
from discreet.tables.engine import batches, prepared
from discreet.tables.rows import clean_rows
from discreet.tables.schema import Categorical, Kind
from discreet.tables.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir


BATCH = 2**15


def records(table: Table, model: GeneralizedLinear, n: int | None) -> Callable[[], PrivateValue]:
    """Prepare the rows; a remote engine sends them into this process."""
    del n  # every row is read, and `checked` counts them
    columns = compact(table, model)
    stream, kinds = _batches(columns), [columns.schema[name] for name in columns.columns]

    def read() -> PrivateValue:
        parts = [Records.of(model, *_encoded(kinds, batch)) for batch in stream()]
        rows = np.concatenate([part.rows for part in parts] or [np.zeros((0, model.dimension))])
        answers = np.concatenate([part.answers for part in parts] or [np.zeros(0)])
        return PrivateValue(Records(rows, answers), len(rows))

    return read


def _batches(table: Table) -> Callable[[], Iterator[Any]]:
    """Clean numbers and codes, the answer last, at most k rows per unit: compiled before the charge."""
    own = {f"x{i}": name for i, name in enumerate(table.columns)}
    rows = clean_rows(table, own)
    numbers = {x: _number(table.schema[name], rows[x]) for x, name in own.items()}
    rows = at_most(table, rows.mutate(**numbers), tuple(numbers)).select(*numbers)
    if table.source.embedded:
        return batches(rows, BATCH)
    fetch = prepared(rows)
    return lambda: iter(fetch().to_batches())


@singledispatch
def _number(kind: Kind, value: ir.Value) -> ir.Value:
    return as_number(value, kind)[0]


@_number.register(Categorical)
def _number_categorical(kind: Categorical, value: ir.Value) -> ir.Value:
    del kind
    return value


def _encoded(kinds: list[Kind], batch: pa.RecordBatch) -> tuple[Floats, Floats]:
    """Numbers as they are, and one column for each level of a code; then the answers."""
    *columns, answers = (np.asarray(column.to_numpy(zero_copy_only=False)) for column in batch.columns)
    widths = [kind.size if isinstance(kind, Categorical) else 1 for kind in kinds[:-1]]
    x, start = np.zeros((sum(widths), len(answers))), 0
    for column, kind, width in zip(columns, kinds, widths, strict=False):
        x[start : start + width] = (
            column == np.arange(width)[:, None] if isinstance(kind, Categorical) else column
        )
        start += width
    return x.T, answers
