"""Σr and Σrrᵀ of rows r = y(q, a), clipped to the ball before y multiplies: what models.signed_moments gives.

Batches into BLAS on the embedded engine, else fixed point in SQL, in one pass; the same integers everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.families.family import Floats
from discreet.families.records import refuse_overflow
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.regression_records import constant_steps, length_square, moment_ball
from discreet.statistics.bounded_statistic import MOST_RECORDS, PrivateValue
from discreet.statistics.moments import BLOCK, clipped_rows, refuse_width, scale_settings, stored
from discreet.statistics.records import ANSWER, designed
from discreet.statistics.sums import as_number, at_most, exact_sum, one_row
from discreet.tables.encode import double
from discreet.tables.engine import batches
from discreet.tables.rows import clean_rows
from discreet.tables.schema import Bounded
from discreet.tables.table import Table

if TYPE_CHECKING:
    from ibis.expr import types as ir

Query = Callable[[], PrivateValue]


SIGN = "y"


def signed(table: Table, model: GeneralizedLinear, n: int | None) -> Query:
    """Return a reader of the moments of the model's columns of this table, which may be encoded already."""
    encoded = table if ANSWER in table.columns else designed(table, model)[0]
    refuse_overflow(n or MOST_RECORDS, length_square(model))
    if table.source.embedded and table.unit is None:
        return _streamed(*_as_stored(table, encoded, model), model)
    names = (*(f"x{i}" for i in range(len(model.design))), SIGN)
    rows = at_most(table, _numbers(encoded, names), names).select(*names)
    if table.source.embedded:
        return _streamed(rows, [None] * len(model.design), model)
    return _in_sql(table, rows, model, n)


def _numbers(encoded: Table, names: tuple[str, ...]) -> ir.Table:
    """Return x0, x1, … and the sign, clean doubles, beside what tells the units apart."""
    own = dict(zip(names, encoded.columns, strict=True))
    rows = clean_rows(encoded, own)
    numbers = {x: as_number(rows[x], encoded.schema[name])[0] for x, name in own.items()}
    return rows.mutate(**numbers | {SIGN: _sign(numbers[SIGN])})


def _sign(y: ir.Value) -> ir.Value:
    zero = double(0)
    return (y > zero).ifelse(double(1), (y < zero).ifelse(double(-1), zero))


# --- embedded: batches into BLAS ------------
def _as_stored(table: Table, encoded: Table, model: GeneralizedLinear) -> tuple[Any, list[Floats | None]]:
    """Take bounded numbers as they are: they are clipped and scaled here, which takes half as long."""
    names = dict(zip((f"x{i}" for i in range(len(model.design))), encoded.columns, strict=False))
    raw = {
        x: None if feature.level is not None else stored(table, feature.column)
        for x, feature in zip(names, model.design, strict=True)
    }
    rest = {x: name for x, name in names.items() if raw[x] is None} | {SIGN: ANSWER}
    rows = clean_rows(encoded, rest, {x: c for x, c in raw.items() if c is not None})
    clean = {
        x: rows[x] if raw[x] is not None else as_number(rows[x], encoded.schema[name])[0]
        for x, name in names.items()
    }
    scaled = [
        None
        if raw[x] is None
        else scale_settings(cast("Bounded", table.schema[feature.column]), encoded, name)
        for (x, name), feature in zip(names.items(), model.design, strict=True)
    ]
    return rows.select(**clean, **{SIGN: _sign(rows[SIGN])}), scaled


def _streamed(rows: ir.Table, scaled: list[Floats | None], model: GeneralizedLinear) -> Query:
    import discreet.statistics.kernel  # noqa: F401, PLC0415 - fails before the charge, if at all

    stream, d = batches(rows, BLOCK), model.dimension

    def read() -> PrivateValue:
        first, second, count = np.zeros(d, np.int64), np.zeros((d, d), np.int64), 0
        for batch in stream():
            columns = [c.to_numpy(zero_copy_only=False) for c in batch.columns]
            for start in range(0, batch.num_rows, BLOCK):
                r = signed_block([c[start : start + BLOCK] for c in columns], scaled, model)
                first += r.sum(axis=1).astype(np.int64)
                second += (r @ r.T).astype(np.int64)  # exact: 2^14 products of at most 2^31 each
            count += batch.num_rows
        return PrivateValue(np.concatenate([first, second[np.triu_indices(d)]]), count)

    return read


def signed_block(columns: list[Floats], scaled: Sequence[Floats | None], model: GeneralizedLinear) -> Floats:
    """Scale, bring rows to the ball, append the constant, multiply by the sign; records side by side."""
    from discreet.statistics.kernel import scale, to_ball  # noqa: PLC0415 - numba is heavy

    *features, sign = columns
    ball, width = moment_ball(model), len(features)
    r = np.empty((model.dimension, len(sign)))
    for column, how, out in zip(features, scaled, r[:width], strict=True):
        if how is None:
            out[:] = column
        else:
            scale(column, how, out)
    to_ball(r[:width], ball.settings(width))
    r[width:] = float(constant_steps(model))
    r *= sign
    return r


# --- remote: fixed point in SQL ------------
def _in_sql(table: Table, rows: ir.Table, model: GeneralizedLinear, n: int | None) -> Query:
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

    def read() -> PrivateValue:
        got = get()
        return PrivateValue(np.array([got[name] for name in (*firsts, *seconds)], dtype=np.int64), got["n"])

    return read
