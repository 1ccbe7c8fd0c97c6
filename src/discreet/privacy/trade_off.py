"""What a promise leaves to an attacker's test: how often it can be right, given how often it may be wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from discreet.privacy.accounting.conversions import above
from discreet.privacy.arithmetic.ball import Exact, ball
from discreet.privacy.guarantee import Guarantee

Point = tuple[float, float]  # (ε, δ): the promise holds with both
LOSSES = (0.0, *(2.0 ** (i / 2) for i in range(-12, 9)))  # at which δ is asked


def known_points(*guarantees: Guarantee, more: Iterable[Point] = ()) -> list[Point]:
    """(ε, δ) that hold, since each guarantee does; `more` are known already."""
    return [*more, *((loss, min(g.delta(loss) for g in guarantees)) for loss in LOSSES)]


def power_at_most(points: Sequence[Point], level: Exact) -> float:
    """Certified bound of the true-positive rate, at false-positive rate α, of any test between neighbours.

    min over (ε, δ) of δ + e^ε α and 1 − e^{−ε}(1 − δ − α)
    [Wasserman, Zhou 2010; Dong, Roth, Su 2022 Prop. 2.5].
    """
    alpha = Fraction(level)
    if not 0 <= alpha <= 1:
        raise ValueError(f"a false-positive rate must lie in [0, 1], got {level}")
    return min((_at(alpha, *point) for point in points), default=1.0)


def _at(alpha: Fraction, loss: float, delta: float) -> float:
    if not loss < math.inf:
        return 1.0
    direct = above(lambda: ball(delta) + ball(loss).exp() * ball(alpha))
    turned = above(lambda: 1 - (1 - ball(delta) - ball(alpha)) / ball(loss).exp())
    return max(float(alpha), min(direct, turned, 1.0))


def advantage_at_most(points: Sequence[Point]) -> float:
    """Certified bound of true-positive minus false-positive rate, at any rate: the total variation.

    min over (ε, δ) of (e^ε − 1 + 2δ)/(e^ε + 1) [Kairouz, Oh, Viswanath 2015]; at ε = 0 it is δ itself.
    """
    found = (
        above(lambda e=loss, d=delta: (ball(e).exp() - 1 + 2 * ball(d)) / (ball(e).exp() + 1))  # type: ignore[misc]
        for loss, delta in points
        if loss < math.inf
    )
    return min((max(0.0, one) for one in found), default=1.0)
