"""Rényi curves and profiles as frozen callables, and the proof that one curve lies below another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, final

from flint import arb

from discreet.privacy.accounting.conversions import chance_above, group_delta
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import Guarantee, group_size


class Curve(Protocol):
    """Order ↦ certified upper bound on the Rényi divergence, nondecreasing; ∞ where unbounded."""

    def __call__(self, order: float, /) -> float: ...


class Profile(Protocol):
    """ε ↦ certified upper bound on δ(ε), nonincreasing."""

    def __call__(self, epsilon: float, /) -> float: ...


def upward(x: Exact) -> float:
    """Least double at or above x."""
    if x == math.inf:
        return math.inf
    with precision(128):
        return ceiling(ball(x))


def downward(x: Exact) -> float:
    """Greatest double at or below x."""
    return -upward(-x)


@final
@dataclass(frozen=True)
class Points:
    """Facts D_{α_i} ≤ ε_i: (α−1)D_α is convex, and 0 at α = 1 [van Erven, Harremoës 2014 Cor. 2].

    Hence it lies below every chord between facts, the origin among them; ∞ beyond the last order.
    """

    known: tuple[tuple[float, float], ...]  # vertices of the lower convex hull, orders ascending

    def __post_init__(self) -> None:
        refuse_false(self.known)

    @classmethod
    def of(cls, facts: Mapping[float, float]) -> Self:
        """Lower convex hull of (1, 0) and (α_i, (α_i − 1)ε_i), in exact arithmetic."""
        refuse_false(sorted(facts.items()))
        hull: list[tuple[Fraction, Fraction]] = [(Fraction(1), Fraction(0))]
        for order in sorted(facts):
            new = Fraction(order), (Fraction(order) - 1) * Fraction(facts[order])
            while len(hull) > 1 and _above_chord(hull[-2], hull[-1], new):
                hull.pop()
            hull.append(new)
        return cls(tuple((float(a), facts[float(a)]) for a, _ in hull[1:]))

    def __call__(self, order: float) -> float:
        left = (1.0, 0.0)
        for right in self.known:
            if order <= right[0]:
                return right[1] if order == right[0] else on_chord(left, right, order)
            left = right
        return math.inf


def refuse_false(points: Iterable[tuple[float, float]]) -> None:
    """Refuse bounds that no pair of laws has: D_α is at least 0 and grows with α [EH14 Thm 3]."""
    before = (1.0, 0.0)
    for order, bound in points:
        if not (isinstance(order, int | float) and before[0] < order < math.inf):
            raise ValueError(f"Rényi orders are finite, above 1 and ascend, got {order!r} after {before[0]}")
        if not (isinstance(bound, int | float) and 0 <= bound < math.inf):
            raise ValueError(f"a Rényi divergence is at least 0 and finite, got {bound!r} at order {order}")
        if bound < before[1]:
            raise ValueError(
                f"Rényi divergences grow with their order, got {before[1]} at {before[0]}, {bound} at {order}"
                f"; what holds at an order holds at all below it: give {bound} there too"
            )
        before = order, bound


def lowered(facts: Mapping[float, float]) -> dict[float, float]:
    """Lower each bound to the least one at its order or beyond: D_α grows with α, so that one holds."""
    least, found = math.inf, {}
    for order in sorted(facts, reverse=True):
        least = found[order] = min(least, facts[order])
    return found


def _above_chord(
    left: tuple[Fraction, Fraction], middle: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction]
) -> bool:
    return (middle[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (middle[0] - left[0])


def on_chord(left: tuple[float, float], right: tuple[float, float], order: float) -> float:
    (a, b), x = (Fraction(left[0]), Fraction(right[0])), Fraction(order)
    low, high = (a - 1) * Fraction(left[1]), (b - 1) * Fraction(right[1])
    return upward((low + (high - low) * (x - a) / (b - a)) / (x - 1))


@final
@dataclass(frozen=True)
class Unbounded:
    """∞ at every order: nothing is known of the divergence, only of the profile."""

    def __call__(self, order: float) -> float:  # noqa: ARG002
        return math.inf


@final
@dataclass(frozen=True)
class GroupCurve:
    """D_α over k records ≤ Σ_{j=1}^{k} [kα/(kα−j+1)] R(kα−j+1).

    The weak triangle inequality D_α(P‖Q) ≤ (α−1/p)/(α−1)·D_{pα}(P‖S) + D_{q(α−1/p)}(S‖Q), 1/p + 1/q = 1
    [M17 Prop. 11], k − 1 times, with p − 1 = (j−1)(α_j−1)/α_j at α_j = kα/j, j = k, …, 2: the best orders for
    a linear R, where the sum is k²ρα.
    """

    curve: Curve
    k: int

    def __post_init__(self) -> None:
        group_size(self.k)

    def __call__(self, order: float) -> float:
        top = self.k * Fraction(order)
        orders = [top - j + 1 for j in range(1, self.k + 1)]
        bounds = [self.curve(upward(a)) for a in orders]
        if not max(bounds) < math.inf:
            return math.inf
        return upward(sum(top / a * Fraction(b) for a, b in zip(orders, bounds, strict=True)))


@final
@dataclass(frozen=True)
class GroupProfile:
    """δ_k(ε) = δ(ε/k)·(e^{ε} − 1)/(e^{ε/k} − 1) [Vadhan 2017 Lemma 2.2]."""

    profile: Profile
    k: int

    def __post_init__(self) -> None:
        group_size(self.k)

    def __call__(self, epsilon: float) -> float:
        share = downward(Fraction(epsilon) / self.k)
        delta = self.profile(share)
        return chance_above(lambda: group_delta(arb(share), arb(delta), self.k))


def below(
    stronger: Guarantee, curve: Callable[[float], float], limit: float, *, evaluations: int = 1024
) -> bool:
    """Prove R(α) ≤ curve(α) on all of (1, limit); False when `evaluations` do not suffice.

    R is nondecreasing, so R(b) ≤ curve(a) settles every order in [a, b]; intervals that fail are halved.
    Beyond the largest order of an unlimited curve the pure bound, if any, settles the rest.
    """
    first = math.nextafter(1.0, 2.0)
    last = limit if curve(limit) < math.inf else math.nextafter(limit, 1.0)  # nothing is promised at a pole
    if limit == math.inf:
        last = 2.0**60
        if not stronger.epsilon(0) <= curve(last):
            return False
    pending = [(first, last)]
    for _ in range(evaluations):
        if not pending:
            return True
        a, b = pending.pop()
        if stronger.renyi(b) <= curve(a):
            continue
        middle = 1 + math.sqrt(a - 1) * math.sqrt(b - 1)
        if not a < middle < b or stronger.renyi(middle) > curve(middle):
            return False
        pending += [(middle, b), (a, middle)]
    return False
