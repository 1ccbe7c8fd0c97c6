"""A secret, uniformly chosen place in a run: the average of Gaussian guarantees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from flint import arb

from discreet.privacy.accounting.conversions import gaussian_delta
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import group_size, nonnegative

Parts = tuple[tuple[int, Exact], ...]  # (how many places, μ²)


BITS = 128


def refuse_parts(parts: Parts) -> None:
    """Refuse what is no average of Gaussian promises, from JSON too."""
    if not parts:
        raise ValueError("an average needs at least one part")
    for count, square in parts:
        group_size(count)
        nonnegative("mu_squared", square)


def _average(parts: Parts, each: dict[int, arb]) -> arb:
    total = sum(count for count, _ in parts)
    return sum((count * each[k] for k, (count, _) in enumerate(parts)), ball(0)) / total


@final
@dataclass(frozen=True)
class GaussianMixtureCurve:
    """D_α ≤ ln(mean of e^{(α−1)αμ²/2})/(α−1): e^{(α−1)D_α} is jointly convex [EH14 Thm 13]."""

    parts: Parts

    def __post_init__(self) -> None:
        refuse_parts(self.parts)

    def __call__(self, order: float) -> float:
        with precision(BITS):
            a = ball(order)
            each = {k: ((a - 1) * a * ball(square) / 2).exp() for k, (_, square) in enumerate(self.parts)}
            return ceiling(_average(self.parts, each).log() / (a - 1))


@final
@dataclass(frozen=True)
class GaussianMixtureProfile:
    """δ(ε) ≤ mean of δ_μ(ε): the hockey-stick divergence is jointly convex [BBG18 §2]."""

    parts: Parts

    def __post_init__(self) -> None:
        refuse_parts(self.parts)

    def __call__(self, epsilon: float) -> float:
        with precision(BITS):
            each = {
                k: gaussian_delta(ball(square).sqrt(), ball(epsilon)) if square else ball(0)
                for k, (_, square) in enumerate(self.parts)
            }
            return min(1.0, ceiling(_average(self.parts, each)))
