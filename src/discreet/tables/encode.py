"""Raw column → clean value: never NULL, never NaN, always in the schema. The same integers on every engine.

Engines disagree on NaN (greatest, or unordered), on rounding and on casts; each form here avoids them.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import ibis

from discreet.tables.schema import Binary, Bounded, Categorical, Count, Kind

INFINITY = ibis.literal(math.inf, type="float64")
SMALLEST_DECIMAL = 1e-60  # smaller decimals are 0: a cast that underflows is an error on PostgreSQL


@singledispatch
def clean(kind: Kind, raw: Any, *, text: bool) -> Any:  # noqa: ANN401, ARG001 - Ibis values, untyped
    """Return the column as the schema declares it."""
    raise TypeError(f"no reading is registered for {type(kind).__name__}")


@clean.register
def _(kind: Binary, raw: Any, *, text: bool) -> Any:  # noqa: ANN401
    value = _comparable(raw, kind.true, text=text)
    hit = (value == _like(value, kind.true)).fill_null(kind.missing)
    return hit | _not_a_number(value) if kind.missing else hit


@clean.register
def _(kind: Categorical, raw: Any, *, text: bool) -> Any:  # noqa: ANN401
    value = _comparable(raw, kind.levels[0], text=text)
    last = len(kind.levels) - 1
    if value.type().is_integer() and kind.levels == tuple(range(last + 1)):
        return value.between(0, last).ifelse(value, kind.elsewhere).cast("int32")
    pairs = [(value == _like(value, level), code) for code, level in enumerate(kind.levels)]
    return ibis.cases(*pairs, else_=kind.elsewhere).cast("int32")


@clean.register
def _(kind: Bounded, raw: Any, *, text: bool) -> Any:  # noqa: ANN401
    lower, upper, g = float(kind.lower), float(kind.upper), kind.grid
    x = _clipped(raw.try_cast("float64") if text else raw, lower, upper, kind.elsewhere)
    return x if g is None else _clipped(quantised(x, float(g)) * float(g), lower, upper, lower)


@clean.register
def _(kind: Count, raw: Any, *, text: bool) -> Any:  # noqa: ANN401
    value = raw.try_cast("float64") if text else raw
    if value.type().is_integer():
        within = value.between(0, kind.max)
        return ibis.cases((within, value), (value > kind.max, kind.max), (value < 0, 0), else_=kind.missing).cast("int64")
    return quantised(_clipped(value, 0.0, float(kind.max), float(kind.missing)), 1.0).cast("int64")


def quantised(x: Any, grid: float) -> Any:  # noqa: ANN401
    """⌊x/g + ½⌋ as a double; for g > 1 as ⌊(x + g/2)/g⌋, the same number without an underflow."""
    return (x * (1 / grid) + 0.5).floor() if grid <= 1 else ((x + grid / 2) * (1 / grid)).floor()


def _clipped(raw: Any, lower: float, upper: float, missing: float) -> Any:  # noqa: ANN401
    """x ≤ ∞ is false for NaN in both orders that engines use; so is lower ≤ x ≤ upper."""
    if raw.type().is_decimal():
        small = raw.between(-SMALLEST_DECIMAL, SMALLEST_DECIMAL)
        inside = small.ifelse(0.0, raw.cast("float64"))
        above = raw > upper
        if raw.type().scale is None:  # PostgreSQL's unbounded numeric has a NaN, above all numbers
            above &= raw.cast("string") != "NaN"
    else:
        raw = raw.cast("float64")
        inside, above = raw, (raw > upper) & (raw <= INFINITY)
    branches = [(raw.between(lower, upper), inside), (above, upper), (raw < lower, lower)]
    if missing == lower:
        branches.pop()
    return ibis.cases(*branches, else_=missing)


def _comparable(raw: Any, level: object, *, text: bool) -> Any:  # noqa: ANN401
    """Text columns of a CSV are read as the type of the declared level."""
    if not text or isinstance(level, str):
        return raw
    return raw.try_cast("boolean") if isinstance(level, bool) else raw.try_cast("float64")


def _like(value: Any, level: Any) -> Any:  # noqa: ANN401
    """True is 1 on a column of numbers."""
    if value.type().is_boolean():
        return bool(level)
    return int(level) if isinstance(level, bool) else level


def _not_a_number(value: Any) -> Any:  # noqa: ANN401
    return value.isnan().fill_null(True) if value.type().is_floating() else value.isnull()  # noqa: FBT003


# --- is the column's type one that the kind can read? Decided from metadata ------------
def refuse_type(name: str, kind: Kind, raw: Any, *, text: bool) -> None:  # noqa: ANN401
    dtype = raw.type()
    if text or accepts(kind, dtype):
        return
    raise TypeError(f"column {name!r} has type {dtype}, which {type(kind).__name__} cannot read; {ADVICE[kind.kind]}")


@singledispatch
def accepts(kind: Kind, dtype: Any) -> bool:  # noqa: ANN401, ARG001
    return bool(dtype.is_numeric())


@accepts.register
def _(kind: Binary, dtype: Any) -> bool:  # noqa: ANN401
    return _same_sort(kind.true, dtype) or (kind.true in {0, 1} and not isinstance(kind.true, str) and dtype.is_boolean())


@accepts.register
def _(kind: Categorical, dtype: Any) -> bool:  # noqa: ANN401
    return all(_same_sort(level, dtype) for level in kind.levels)


def _same_sort(level: object, dtype: Any) -> bool:  # noqa: ANN401
    if isinstance(level, str):
        return bool(dtype.is_string())
    if isinstance(level, bool):
        return bool(dtype.is_boolean() or dtype.is_numeric())
    return bool(dtype.is_numeric() and not dtype.is_boolean())


ADVICE = {
    "binary": "declare true= as a value of that type, e.g. Binary(true='yes')",
    "categories": "declare levels of that type",
    "label": "declare levels of that type",
    "bounded": "it reads numbers; for texts use Categories, for truths Binary",
    "count": "it reads numbers; for texts use Categories, for truths Binary",
}
