"""What an expression asks of its columns: numbers with known bounds, truths, and public constants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.tables.schema import Binary, Bounded, Count, Kind

if TYPE_CHECKING:
    from ibis.expr import types as ir


def range_of(kind: Kind) -> tuple[float, float]:
    if isinstance(kind, Bounded):
        return kind.lower, kind.upper
    if isinstance(kind, Count):
        return 0, kind.max
    raise TypeError(f"arithmetic needs numbers; this column is {kind.kind}")


def clips_of(kind: Kind) -> bool:
    """Whether values beyond the bounds may be there, and are clipped."""
    return bool(isinstance(kind, Bounded | Count) and kind.clips)


def refuse_no_number(kind: Kind, what: str) -> None:
    if not isinstance(kind, Bounded | Count):
        raise TypeError(f"{what} needs numbers; this column is {kind.kind}")


def refuse_no_truth(kind: Kind) -> None:
    if not isinstance(kind, Binary):
        raise TypeError(f"&, | and ~ combine predicates and binary columns; this one is {kind.kind}")


def finite(number: object) -> float:
    if isinstance(number, bool | str) or not isinstance(number, int | float) or not math.isfinite(number):
        raise ValueError(f"a public, finite number is needed here, got {number!r}")
    return number


def literal(x: float) -> ir.Value:
    from discreet.tables.encode import double  # noqa: PLC0415 - Ibis is heavy

    return double(x)
