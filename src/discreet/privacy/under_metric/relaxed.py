"""The relaxed theorems of [D14], 1(ii) and 2(ii), in the forms that are true. NOT GUARANTEES of a mechanism.

As printed (KL ≤ κρ/c, |ξ(B|x) − ξ(B|y)| ≤ √(κρ/2c) whenever the prior has mass e^{−cL} at most outside Θ_L)
both are false: the proof averages over the prior where KL averages over the posterior. With n = 1000 waits of
0, prior Exp(1) and one wait changed by 0.1, KL is 4.69 against a printed 0.49. Here are the constants, what
holds of one observation, what holds of two given data sets, and the exact numbers for exponential waits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

from flint import arb
from scipy.special import gammainc

from discreet.privacy.arithmetic.ball import ceiling, precision

LABEL = "about two given data sets; not a guarantee of differential privacy"


def _omega() -> arb:
    """ω > 0 with e^ω = 2ω + 1, by interval bisection."""
    low, high = arb(1), arb(2)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle.exp() < 2 * middle + 1 else (low, middle)
    return low.union(high)


with precision(160):
    _ROOT = _omega()
    OMEGA = ceiling(_ROOT)
    KAPPA = ceiling(
        2 * _ROOT / (1 - (-_ROOT).exp()) ** 2
    )  # 2ω/(1 − e^{−ω})² = min over α of 2α/(1 − e^{−α})²


@final
@dataclass(frozen=True)
class GammaPair:
    """Posteriors Gamma(n + 1, λ + Σx), Gamma(n + 1, λ + Σy) of exponential waits under prior Exp(λ)."""

    label: ClassVar[str] = LABEL

    n: int
    prior_rate: float
    total: float
    other: float

    def __post_init__(self) -> None:
        if not (self.n >= 0 and self.prior_rate > 0 and min(self.total, self.other) >= 0):
            raise ValueError("waits need n ≥ 0, a prior rate above 0, and totals of at least 0")

    @property
    def distance(self) -> float:
        return abs(self.total - self.other)

    @property
    def kl(self) -> float:
        """D(ξ(·|x) ‖ ξ(·|y)) = (n + 1)(r − 1 − ln r), r = (λ + Σy)/(λ + Σx)."""
        r = (self.prior_rate + self.other) / (self.prior_rate + self.total)
        return (self.n + 1) * (r - 1 - math.log(r))

    @property
    def backwards(self) -> GammaPair:
        return GammaPair(self.n, self.prior_rate, self.other, self.total)

    @property
    def total_variation(self) -> float:
        """Of one draw."""
        return self.total_variation_of(1)

    def total_variation_of(self, draws: int) -> float:
        """|F_x − F_y| where the densities of Σθ ~ Gamma(q(n + 1), ·) cross: Σθ is sufficient for q draws."""
        b, c = self.prior_rate + self.total, self.prior_rate + self.other
        if b == c:
            return 0.0
        shape = draws * (self.n + 1)
        cross = shape * math.log(c / b) / (c - b)
        return abs(float(gammainc(shape, b * cross) - gammainc(shape, c * cross)))

    @property
    def bound(self) -> float:
        """ρ(E_x ℓ + E_y ℓ), ℓ(θ) = θ: what `jeffreys_bound` says of this pair."""
        shape = self.n + 1
        means = shape / (self.prior_rate + self.total), shape / (self.prior_rate + self.other)
        return jeffreys_bound(*means, self.distance)


def jeffreys_bound(mean_x: float, mean_y: float, distance: float) -> float:
    """KL(x‖y) + KL(y‖x) ≤ ρ(x, y)(E_x ℓ + E_y ℓ), ℓ(θ) the Lipschitz constant at θ. TRUE for every n.

    The sum of both is E_x ln(p(x)/p(y)) + E_y ln(p(y)/p(x)): the normalisers cancel, and each logarithm is at
    most ℓ(θ)ρ. Averages are over the two posteriors, which are private, so that this is about two given data
    sets and promises nothing.
    """
    return distance * (mean_x + mean_y)


def one_wait(prior_rate: float, distance: float) -> float:
    """Return the largest KL for ONE exponential wait and prior Exp(λ): 2(ρ/λ − ln(1 + ρ/λ)), below κρ/λ.

    Attained at x = 0, y = ρ. So Theorem 1(ii) does hold here, with c = λ, and Theorem 2(ii) by Pinsker.
    """
    return worst_waits(1, prior_rate, distance)


def worst_waits(n: int, prior_rate: float, distance: float) -> float:
    """(n + 1)(ρ/λ − ln(1 + ρ/λ)): the largest KL of n waits at |Σx − Σy| ≤ ρ, exact; it grows with n.

    KL is (n + 1)(r − 1 − ln r) with r = (λ + Σy)/(λ + Σx), which is farthest from 1 above where Σx = 0; below
    1 the same distance gives less.
    """
    return GammaPair(n, prior_rate, 0.0, distance).kl
