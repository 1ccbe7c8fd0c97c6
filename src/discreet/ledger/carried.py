"""Sums carried over to another budget of a scope, when it is lowered or raised.

What was spent is written in units of the budget. Under another budget of the same kind and rule each meter
keeps its sum s, which is s·C/C' of the new units for capacities C and C'. Totals round up, and what a later
refund gives back rounds down. A meter whose sum is beyond its capacity, or that the old budget did not have,
stays beyond it, whatever else is given back: some of what was spent was never measured there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.ledger.amounts import FULL, NEVER, Tariff
from discreet.privacy.accounting.filters import OrderMeter
from discreet.release.receipt import WIDEST

Move: TypeAlias = tuple[int, Fraction]  # a lane of before, and C/C'


def moves_between(before: Tariff, after: Tariff) -> list[Move | None]:
    """Say for each lane of the new budget which lane it continues; None where there was no such meter."""
    old = {name: (lane, capacity) for lane, (name, capacity) in enumerate(capacities(before))}
    return [
        None if name not in old else (old[name][0], old[name][1] / capacity if capacity else Fraction(1))
        for name, capacity in capacities(after)
    ]


def capacities(tariff: Tariff) -> list[tuple[tuple[str, float], Fraction]]:
    """Return the capacity of every lane, under a name of what is added up there."""
    meters = [((type(m).__name__, _order(m)), m.capacity) for m in tariff.filter.meters]
    return [(("δ", 0.0), tariff.filter.slack), *meters]


def _order(meter: object) -> float:
    return meter.order if isinstance(meter, OrderMeter) else 0.0


def carried_sums(sums: Sequence[Fraction], moves: Sequence[Move | None]) -> list[Fraction]:
    """Carry over what a scope spent, rounded up."""
    return [_carried_sum(sums, move) for move in moves]


def _carried_sum(sums: Sequence[Fraction], move: Move | None) -> Fraction:
    if move is None:
        return Fraction(NEVER if any(sums) else 0)
    lane, ratio = move
    before = sums[lane] if lane < len(sums) else Fraction(0)
    now = _rounded(before * ratio, math.ceil)
    return max(now, NEVER + _rounded((before - NEVER) * ratio, math.ceil)) if before > FULL else now


def carried_price(price: Sequence[Fraction], moves: Sequence[Move | None]) -> list[Fraction]:
    """Carry over what one charge cost, as a refund would give it back: rounded down."""
    return [_carried_cost(price, move) for move in moves]


def _carried_cost(price: Sequence[Fraction], move: Move | None) -> Fraction:
    if move is None or move[0] >= len(price) or price[move[0]] > FULL:
        return Fraction(0)
    return _rounded(price[move[0]] * move[1], math.floor)


def _rounded(value: Fraction, whole: Callable[[Fraction], int]) -> Fraction:
    return value if value.denominator.bit_length() <= WIDEST else Fraction(whole(value))


def moves_to_json(moves: Sequence[Move | None]) -> list[list[int | str] | None]:
    return [None if move is None else [move[0], str(move[1])] for move in moves]


def moves_of(content: Mapping[str, Any]) -> list[Move | None]:
    """Read the moves of an entry."""
    return [None if move is None else (int(move[0]), Fraction(move[1])) for move in content["moves"]]
