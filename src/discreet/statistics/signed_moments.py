"""Σr and Σrrᵀ of rows r = y(q, a), clipped to the ball before y multiplies: what models.signed_moments gives.

Batches into BLAS on the embedded engine, else fixed point in SQL, in one pass; the same integers everywhere.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.families.records import refuse_overflow
from discreet.models.signed_moments import constant_steps, length_square, moment_ball
from discreet.statistics.counted import MOST_RECORDS, Counted
from discreet.statistics.moments import ANY, BLOCK, clipped_block, clipped_rows, refuse_width, within
from discreet.statistics.sums import as_number, at_most, exact_sum, one_row, selected

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.families.family import Floats
    from discreet.models.generalized_linear import GeneralizedLinear
    from discreet.tables.table import Table

    Query = Callable[[], Counted]

SIGN = "y"


def signed(table: Table, model: GeneralizedLinear, n: int | None) -> Query:
    """Return a reader of the moments; the table's columns are the encoded features, then the answer."""
    from discreet.tables.rows import clean_rows  # noqa: PLC0415 - Ibis is heavy

    width = len(model.design)
    names = selected(table, width + 1)
    refuse_overflow(n or MOST_RECORDS, length_square(model))
    rows = clean_rows(table, names)
    columns = [within(*as_number(rows[x], table.schema[x])) for x in names]
    numbers = {f"x{i}": column for i, column in enumerate(columns[:-1])} | {SIGN: _sign(columns[-1])}
    rows = at_most(table, rows.mutate(**numbers), tuple(numbers)).select(*numbers)
    return _streamed(rows, model) if table.source.embedded else _in_sql(table, rows, model, n)


def _sign(y: Any) -> Any:  # noqa: ANN401 - an Ibis value
    from discreet.tables.numbers import double  # noqa: PLC0415 - Ibis is heavy

    zero = double(0)
    return (y > zero).ifelse(double(1), (y < zero).ifelse(double(-1), zero))


# --- embedded: batches into BLAS ------------
def _streamed(rows: Any, model: GeneralizedLinear) -> Query:  # noqa: ANN401
    import discreet.statistics.compiled  # noqa: F401, PLC0415 - fails before the charge, if at all
    from discreet.tables.engine import batches  # noqa: PLC0415

    stream, d = batches(rows, BLOCK), model.dimension

    def read() -> Counted:
        first, second, count = np.zeros(d, np.int64), np.zeros((d, d), np.int64), 0
        for batch in stream():
            columns = [c.to_numpy(zero_copy_only=False) for c in batch.columns]
            for start in range(0, batch.num_rows, BLOCK):
                r = signed_block([c[start : start + BLOCK] for c in columns], model)
                first += r.sum(axis=1).astype(np.int64)
                second += (r @ r.T).astype(np.int64)  # exact: 2^14 products of at most 2^31 each
            count += batch.num_rows
        return Counted(np.concatenate([first, second[np.triu_indices(d)]]), count)

    return read


def signed_block(columns: list[Floats], model: GeneralizedLinear) -> Floats:
    """Bring rows to the ball, append the constant, multiply by the sign; records side by side."""
    *features, sign = columns
    r = np.empty((model.dimension, len(sign)))
    r[: len(features)] = clipped_block(features, [ANY] * len(features), moment_ball(model))
    r[len(features) :] = float(constant_steps(model))
    r *= sign
    return r


# --- remote: fixed point in SQL ------------
def _in_sql(table: Table, rows: Any, model: GeneralizedLinear, n: int | None) -> Query:  # noqa: ANN401
    from discreet.tables.numbers import double  # noqa: PLC0415

    ball, width, d = moment_ball(model), len(model.design), model.dimension
    refuse_width(d, ball)
    q = clipped_rows(table, rows, ball, width, (SIGN,))
    own = {f"q{i}": q[f"q{i}"] * q[SIGN] for i in range(width)}
    constant = {f"q{width}": q[SIGN] * double(constant_steps(model))} if model.intercept else {}
    r, largest = q.select(**own, **constant), ball.largest
    pairs = list(combinations_with_replacement(range(d), 2))
    firsts = {f"s{i}": exact_sum(r[f"q{i}"], largest, n) for i in range(d)}
    seconds = {f"m{i}_{j}": exact_sum(r[f"q{i}"] * r[f"q{j}"], largest**2, n) for i, j in pairs}
    get = one_row(r.aggregate(n=r.count(), **firsts, **seconds))

    def read() -> Counted:
        got = get()
        return Counted(np.array([got[name] for name in (*firsts, *seconds)], dtype=np.int64), got["n"])

    return read
