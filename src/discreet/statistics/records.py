"""(Table, regression) → rows and answers in memory, clipped to the ball: for mechanisms that look at each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.models.regression_records import Records
from discreet.statistics.counted import Counted
from discreet.statistics.design import designed
from discreet.statistics.sums import as_number, at_most

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.models.generalized_linear import GeneralizedLinear
    from discreet.tables.table import Table

BATCH = 2**16


def records(table: Table, model: GeneralizedLinear, n: int | None) -> Callable[[], Counted]:
    """Prepare the rows; a remote engine sends them into this process."""
    del n  # every row is read, and `checked` counts them
    stream, d = numeric_rows(designed(table, model)[0]), len(model.design)

    def read() -> Counted:
        parts = [
            Records.of(model, batch[:, :d], batch[:, d])
            for batch in (_matrix(columns, d + 1) for columns in stream())
        ]
        rows = np.concatenate([part.rows for part in parts] or [np.zeros((0, model.dimension))])
        answers = np.concatenate([part.answers for part in parts] or [np.zeros(0)])
        return Counted(Records(rows, answers), len(rows))

    return read


def numeric_rows(table: Table) -> Callable[[], Iterator[Any]]:
    """Clean doubles, the answer last, at most k rows a unit: Arrow batches, compiled before the charge."""
    from discreet.tables.engine import batches, prepared  # noqa: PLC0415 - Ibis is heavy
    from discreet.tables.rows import clean_rows  # noqa: PLC0415

    names = table.columns
    rows = clean_rows(table, names)
    numbers = {f"x{i}": as_number(rows[x], table.schema[x])[0] for i, x in enumerate(names)}
    rows = at_most(table, rows.mutate(**numbers), tuple(numbers)).select(*numbers)
    if table.source.embedded:
        return batches(rows, BATCH)
    fetch = prepared(rows)
    return lambda: iter(fetch().to_batches())


def _matrix(batch: Any, width: int) -> Any:  # noqa: ANN401 - n × width doubles
    columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
    return np.column_stack(columns) if len(columns[0]) else np.zeros((0, width))
