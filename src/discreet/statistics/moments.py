"""Σq and Σqqᵀ of rows clipped to a ball: batches into BLAS on the embedded engine, else fixed point in SQL.

Both give what the family's own Ball gives, bit for bit: the same operations in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, combinations_with_replacement
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.families.family import Floats, Integers
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.families.records import KEPT, LARGEST, Ball, refuse_overflow, tight
from discreet.statistics.bounded_statistic import MOST_RECORDS, PrivateValue
from discreet.statistics.records import lined
from discreet.statistics.sums import as_number, at_most, exact_sum, one_row, selected
from discreet.tables.derived.columns import Affine, Column
from discreet.tables.encode import double, floor, truncated
from discreet.tables.engine import batches
from discreet.tables.rows import clean_rows
from discreet.tables.schema import Bounded
from discreet.tables.table import Table

if TYPE_CHECKING:
    from ibis.expr import types as ir

Query = Callable[[], PrivateValue]


BLOCK = 2**14  # rows of which some columns stay in the cache; BLAS takes so few in one thread
WIDEST = 55  # columns of a remote engine: PostgreSQL returns at most 1664 sums


def first_and_second(table: Table, model: NormalInverseWishart, n: int | None) -> Query:
    """S = (KΣq, Σqqᵀ packed)."""
    balance = int(model.grid / Fraction(float(model.units[0])))
    read = _sums(table, model.ball, model.dimension, n)

    def query() -> PrivateValue:
        first, second, count = read()
        return PrivateValue(np.concatenate([balance * first, second]), count)

    return query


def second(table: Table, model: BayesianLinearRegression, n: int | None) -> Query:
    """S = Σqqᵀ packed, of rows (x, y)."""
    read = _sums(lined(table, model), model.ball, model.dimension + 1, n)

    def query() -> PrivateValue:
        _, packed, count = read()
        return PrivateValue(packed, count)

    return query


def _sums(
    table: Table, ball: Ball, width: int, n: int | None
) -> Callable[[], tuple[Integers, Integers, int]]:
    names = selected(table, width)
    refuse_overflow(n or MOST_RECORDS, ball.largest**2)
    if table.source.embedded and table.unit is None:
        return _streamed(*_asstored(table, names, ball), ball)
    own = {f"x{i}": name for i, name in enumerate(names)}
    rows = clean_rows(table, own)
    numbers = {x: within(ball.reach, *as_number(rows[x], table.schema[name])) for x, name in own.items()}
    rows = at_most(table, rows.mutate(**numbers), tuple(numbers)).select(*numbers)
    if table.source.embedded:
        return _streamed(rows, [anywhere(ball)] * width, ball)
    return _in_sql(table, rows, ball, width, n)


# --- embedded: batches into BLAS ------------
Clip = tuple[float, float, float]


def _asstored(table: Table, names: tuple[str, ...], ball: Ball) -> tuple[Any, list[Clip | Floats]]:
    """Take columns as they are where a clip to (lower, upper, missing) makes them clean: it is done here.

    So is the scaling of a derived column slope·x + shift of such a column.
    """
    inner = [scaled_column(table, name) or name for name in names]
    raw = {f"x{i}": stored(table, name) for i, name in enumerate(inner)}
    rest = {x: name for x, name in zip(raw, names, strict=True) if raw[x] is None}
    rows = clean_rows(table, rest, {x: column for x, column in raw.items() if column is not None})
    clean = {x: as_number(rows[x], table.schema[name])[0] for x, name in rest.items()}
    clips = [
        anywhere(ball) if x in rest else _how(table, name, own, ball)
        for x, name, own in zip(raw, names, inner, strict=True)
    ]
    return rows.select(**{x: clean[x] if x in clean else rows[x] for x in raw}), clips


def _how(table: Table, name: str, inner: str, ball: Ball) -> Clip | Floats:
    kind = cast("Bounded", table.schema[inner])
    return clip_of(kind, ball.reach) if name == inner else scale_settings(kind, table, name)


def scaled_column(table: Table, name: str) -> str | None:
    """Name the column of the source that a derived one is slope·x + shift of, where it is."""
    found = table.derived.get(name)
    if not isinstance(found, Affine) or not isinstance(found.inner, Column):
        return None
    return found.inner.name if stored(table, found.inner.name) is not None else None


def scale_settings(kind: Bounded, table: Table, name: str) -> Floats:
    """Say how a stored number becomes the derived one: kernel.scale's settings."""
    column, ends = cast("Affine", table.derived[name]), cast("Bounded", table.schema[name])
    affine = column.slope, column.shift, float(ends.lower), float(ends.upper), column.tiny
    return np.array([*clip_of(kind, np.inf), *affine])


def stored(table: Table, name: str) -> ir.Value | None:
    """Return the source's own column as doubles, where a clip is all that cleans it; else None."""
    kind = table.declared.get(name)
    if not isinstance(kind, Bounded) or kind.grid is not None or table.source.text:
        return None
    column = table.source.relation[name]
    return None if column.type().is_decimal() else column.cast("float64")


def clip_of(kind: Bounded, reach: float) -> Clip:
    """(lower, upper, missing), none of them beyond ±reach."""
    lower, upper, missing = np.clip([float(kind.lower), float(kind.upper), kind.elsewhere], -reach, reach)
    return lower, upper, missing


def anywhere(ball: Ball) -> Clip:
    """Return the clip that only keeps norms finite."""
    return -ball.reach, ball.reach, 0.0


def _streamed(
    rows: ir.Table,
    clips: Sequence[Clip | Floats],
    ball: Ball,
) -> Callable[[], tuple[Integers, Integers, int]]:
    import discreet.statistics.kernel  # noqa: F401, PLC0415 - fails before the charge, if at all

    stream, width = batches(rows, BLOCK), len(clips)

    def read() -> tuple[Integers, Integers, int]:
        first, second, count = np.zeros(width, np.int64), np.zeros((width, width), np.int64), 0
        for batch in stream():
            columns = [c.to_numpy(zero_copy_only=False) for c in batch.columns]  # NULL is NaN
            for start in range(0, batch.num_rows, BLOCK):
                q = clipped_block([c[start : start + BLOCK] for c in columns], clips, ball)
                first += q.sum(axis=1).astype(np.int64)
                second += _products(q, ball)
            count += batch.num_rows
        return first, second[np.triu_indices(width)], count

    return read


def clipped_block(columns: Sequence[Floats], clips: Sequence[Clip | Floats], ball: Ball) -> Floats:
    """Clip or scale, and bring to the ball, within the cache; records side by side."""
    from discreet.statistics.kernel import clip, scale, to_ball  # noqa: PLC0415 - numba is heavy

    q = np.empty((len(columns), len(columns[0])))
    for column, how, out in zip(columns, clips, q, strict=True):
        if isinstance(how, tuple):
            clip(column, *how, out)
        else:
            scale(column, how, out)
    to_ball(q, ball.settings(len(columns)))
    return q


def _products(q: Floats, ball: Ball) -> Integers:
    """Return Σqqᵀ: BLAS is exact while every partial sum is below 2^53."""
    exact = q.shape[1] * ball.largest**2 < LARGEST
    product: Integers = (q @ q.T).astype(np.int64) if exact else q.astype(np.int64) @ q.T.astype(np.int64)
    return product


# --- remote: fixed point in SQL ------------
def _in_sql(
    table: Table,
    rows: ir.Table,
    ball: Ball,
    width: int,
    n: int | None,
) -> Callable[[], tuple[Integers, Integers, int]]:
    refuse_width(width, ball)
    q = clipped_rows(table, rows, ball, width)
    pairs = list(combinations_with_replacement(range(width), 2))
    firsts = {f"s{i}": exact_sum(q[f"q{i}"], ball.largest, n) for i in range(width)}
    seconds = {f"m{i}_{j}": exact_sum(q[f"q{i}"] * q[f"q{j}"], ball.largest**2, n) for i, j in pairs}
    get = one_row(q.aggregate(n=q.count(), **firsts, **seconds))

    def read() -> tuple[Integers, Integers, int]:
        got = get()
        first = np.array([got[name] for name in firsts], dtype=np.int64)
        return first, np.array([got[name] for name in seconds], dtype=np.int64), got["n"]

    return read


def refuse_width(width: int, ball: Ball) -> None:
    """Refuse what SQL cannot do, before anything is charged."""
    if not (width <= WIDEST and 2.0**-200 <= ball.radius <= 2.0**200):
        raise ValueError(f"a remote engine takes at most {WIDEST} columns and a radius within 2^±200")


def clipped_rows(
    table: Table, rows: ir.Table, ball: Ball, width: int, beside: tuple[str, ...] = ()
) -> ir.Table:
    """Ball.integers in SQL, the same operations in the same order; columns `beside` come along."""

    def fence(stage: ir.Table) -> ir.Table:
        # PostgreSQL pulls nested selects up and computes a stage again for each use: 0.4 s became minutes
        return stage.limit(2**62) if table.source.engine == "postgres" else stage

    limit, xs, rs = double(ball.largest), *([f"{name}{i}" for i in range(width)] for name in "xr")
    steps = {x: _not_near(rows[x], ball.near) / double(float(ball.grid)) for x in xs}
    stage = fence(rows.select(*beside, **steps))
    stage = fence(stage.mutate(square=_sum_in_order([stage[x] * stage[x] for x in xs])))
    norm = stage.square.sqrt()
    stage = fence(stage.mutate(shrink=limit / (norm > limit).ifelse(norm, limit)))
    stage = fence(stage.select(*beside, "square", **{x: stage[x] * stage.shrink for x in xs}))
    stage = fence(stage.mutate(**{r: floor(stage[x] + double(0.5)) for r, x in zip(rs, xs, strict=True)}))
    stage = fence(stage.mutate(length=sum((stage[r] * stage[r] for r in rs[1:]), stage.r0 * stage.r0)))
    kept, inner, one = stage.square * double(KEPT), double(ball.inner), double(0.5)
    least = (kept > inner).ifelse(inner, kept)
    stage = fence(stage.mutate(least=(least < one).ifelse(one, least)))
    others = {f"o{i}": _other(stage, i, ball, tight(width)) for i in range(width)}
    stage = fence(stage.select(*beside, *rs, "length", "least", **others))
    changes = (stage[o] * stage[o] - stage[r] * stage[r] for o, r in zip(others, rs, strict=True))
    lengths = list(accumulate(changes, initial=stage.length))
    most = double(ball.largest**2)
    inside = {  # `now` counts every change before, made or not, and so may pass the other end as well
        f"q{i}": (stage.length > most).ifelse(now > most, now < stage.least).ifelse(stage[f"o{i}"], stage[r])
        for i, (r, now) in enumerate(zip(rs, lengths, strict=False))
    }
    return fence(stage.select(*beside, **inside))


def _other(stage: ir.Table, i: int, ball: Ball, near_one: float) -> ir.Value:
    """Entry i of a row that is too long truncated, of one too short rounded away from 0, else as it is."""
    x, zero = stage[f"x{i}"], double(0)
    away = (x > zero).ifelse(-floor(-x), floor(x))
    kept = (stage.length < stage.least).ifelse(away, stage[f"r{i}"])
    return (stage.length > double(ball.largest**2)).ifelse(truncated(x * double(near_one)), kept)


def within(reach: float, x: ir.Value, lower: float, upper: float) -> ir.Value:
    """Clip to ±reach, where the schema's bounds do not, so that norms stay finite."""
    if lower >= -reach and upper <= reach:
        return x
    far = double(reach)
    return (x > far).ifelse(far, (x < -far).ifelse(-far, x))


def _not_near(x: ir.Value, near: float) -> ir.Value:
    """Put what is shorter, and not 0, at ±near: some engines refuse a square that vanishes."""
    zero, least = double(0), double(near)
    shorter = (x > zero) & (x < least)
    return shorter.ifelse(least, ((x < zero) & (x > -least)).ifelse(-least, x))


def _sum_in_order(terms: Sequence[Any]) -> ir.Value:
    """Add in the order of records.Ball: one by one below 8 terms, else eight partial sums in a tree."""
    if len(terms) < 8:
        return sum(terms[1:], terms[0])
    r, whole = list(terms[:8]), len(terms) - len(terms) % 8
    for start in range(8, whole, 8):
        r = [a + b for a, b in zip(r, terms[start : start + 8], strict=True)]
    tree = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
    return sum(terms[whole:], tree)
