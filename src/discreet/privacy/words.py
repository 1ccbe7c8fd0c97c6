"""Promised numbers for people: never rounded down."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal


def upward(value: float, digits: int = 6) -> str:
    """Write the least decimal of so many digits at or above the value."""
    if not math.isfinite(value):
        return "unbounded"
    near = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))
    return f"{near.normalize():g}" if near else "0"
