"""Doubles on every engine exactly as NumPy has them: literals, floors, whole quotients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis

if TYPE_CHECKING:
    from ibis.expr import types as ir


@ibis.udf.scalar.builtin(name="floor")  # type: ignore[untyped-decorator]
def _floor(x: float) -> float:  # type: ignore[empty-body]
    """Ibis' own floor casts to an integer, which takes thrice as long."""


def double(x: float) -> ir.Value:
    """Return a literal, as text: DuckDB reads bare digits as a decimal, and rounds twice to a double."""
    return ibis.literal(repr(float(x))).cast("float64")


def floor(x: ir.Value) -> ir.Value:
    """⌊x⌋ as a double, for |x| < 2^53."""
    return x.floor().cast("float64") if x.get_backend().name == "polars" else _floor(x)


def quantised(x: ir.Value, grid: float) -> ir.Value:
    """⌊x/g + ½⌋ as a double; for g > 1 as ⌊(x + g/2)/g⌋, the same number without an underflow."""
    return floor(
        x * double(1 / grid) + double(0.5) if grid <= 1 else (x + double(grid / 2)) * double(1 / grid)
    )


def truncated(x: ir.Value) -> ir.Value:
    """Return x without its fraction, as a double."""
    return (x >= double(0)).ifelse(floor(x), -floor(-x))
