"""The median with noise scaled to its smooth sensitivity [NRS07], Laplace noise accounted more sharply."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import epsilon_point, positive, probability, whole
from discreet.mechanisms.noise.base import (
    BITS,
    BasicMechanism,
    at_least,
    laplace_below,
    laplace_crossings,
    line_divergence,
)
from discreet.mechanisms.noise.laplace import laplace_cells
from discreet.mechanisms.sensitivity.median import OnInterval, SortedSample
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, decide, floor, largest, precision
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Unreachable
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import SYSTEM, Source

UNIT = 2**62  # weights of the envelope are integers over this


def published_gaussian(epsilon: Exact, delta: Exact, dimension: int = 1) -> tuple[float, float]:
    """α = ε/(5√(2 ln(2/δ))), β = ε/(4(d + ln(2/δ))) for Gaussian noise [NRS07 §2.2]; for comparison only."""
    e, d = positive(epsilon, "epsilon"), probability(delta, "delta")
    with precision(BITS):
        log = ball(2 / d).log()
        alpha = ball(e) / (5 * (2 * log).sqrt())
        return floor(alpha), floor(ball(e) / (4 * (whole(dimension, "the dimension") + log)))


def published_laplace(epsilon: Exact, delta: Exact) -> tuple[float, float]:
    """α = ε/2, β = ε/(2 ln(2/δ)) for Laplace noise in one dimension [NRS07 §2.2]; for comparison only."""
    e, d = positive(epsilon, "epsilon"), probability(delta, "delta")
    with precision(BITS):
        return floor(ball(e / 2)), floor(ball(e) / (2 * ball(2 / d).log()))


def dilation_delta(epsilon: Fraction, smoothness: float) -> arb:
    """δ of Laplace(b) against Laplace(e^{−β}b): e^{−x₀}(1 − e^{−β}), x₀ = (ε+β)/(e^β − 1); rises with β."""
    beta = ball(smoothness)
    return (-(ball(epsilon) + beta) / beta.expm1()).exp() * -(-beta).expm1()


@final
@dataclass(frozen=True)
class SmoothSensitivityMedian(OnInterval, BasicMechanism):
    """round_g(median + (S/α)·Laplace(1)), clamped, S = max_k w_k A_k: (ε, δ)-DP for α + β ≤ ε.

    Proof. The weights fall by at most e^{−β} a step and A_k(x) ≤ A_{k+1}(x'), so S(x) ≤ e^β S(x') [NRS07
    Lemma 2.3], and |f(x) − f(x')| ≤ min(S(x), S(x')). Go from Laplace(f, b) to Laplace(f, b'), then to
    Laplace(f', b'). The second step costs α and no δ; the first, at ε − α ≥ β, no δ when b' > b and
    dilation_delta when b' < b. P(E) ≤ e^{ε−α}R(E) + δ and R(E) ≤ e^α Q(E) give P(E) ≤ e^ε Q(E) + δ with δ
    = dilation_delta(ε − α, β).
    """

    lower: Exact
    upper: Exact
    epsilon: Exact
    delta: Exact
    grid: Exact | None = None  # public; None: (upper − lower)/2^20
    name: ClassVar[str] = "smooth_sensitivity_median"
    theorem: ClassVar[str] = "NRS07 Lemma 2.3, Claim 3.3; δ by the sliding-and-dilation argument in the class"

    def __post_init__(self) -> None:
        _ = self.interval
        positive(self.epsilon, "epsilon")
        probability(self.delta, "delta")
        if self.relation is not SUBSTITUTE:
            raise ValueError("the median's smooth sensitivity is stated for SUBSTITUTE (n public)")
        if not self.beta > 0:
            raise Unreachable(f"no smoothness meets {ApproxDP(self.epsilon, self.delta)}")

    @classmethod
    def calibrate(cls, *, target: Guarantee, lower: Exact, upper: Exact, grid: Exact | None = None) -> Self:
        """Meet an (ε, δ) target as it stands."""
        if not isinstance(target, ApproxDP) or not target.slack > 0:
            raise Unreachable(
                f"smooth sensitivity meets (ε, δ) with δ > 0, not {target}; for pure DP take "
                "ContinuousExponential's quantile"
            )
        mechanism = cls(lower, upper, target.loss, target.slack, grid, relation=target.relation)
        if not mechanism.guarantee <= target:
            raise Unreachable(f"rounding does not allow {target}")
        return mechanism

    @property
    def alpha(self) -> Fraction:
        """ε/2 pays for sliding."""
        return Fraction(self.epsilon) / 2

    @cached_property
    def beta(self) -> float:
        """Largest smoothness β ≤ ε − α with δ(ε) ≤ δ, to one double."""
        rest = Fraction(self.epsilon) - self.alpha
        with precision(BITS):
            upper = min(floor(ball(rest)), 64.0)
        return largest(
            lambda b: b > 0 and decide(lambda: dilation_delta(rest, b), Fraction(self.delta)), upper
        )

    @property
    def guarantee(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta, relation=self.relation)

    @cached_property
    def ratio(self) -> Fraction:
        """ρ ≥ e^{−β}: each weight w_{k+1} = ⌈ρ w_k⌉ (over 2^62) falls by at most e^{−β}."""
        with precision(BITS):
            return Fraction(min(ceiling((-ball(self.beta)).exp()), 1.0))

    @property
    def least_weight(self) -> int:
        """⌈1/(1−ρ)⌉, where rounding up stops the fall: from here on the whole range stands for every A_k."""
        return UNIT if self.ratio == 1 else min(UNIT, (1 / (1 - self.ratio)).__ceil__())

    def sensitivity(self, data: ArrayLike) -> float:
        """S in the units of the data. PRIVATE: never release it; it is here to be studied."""
        return float(self._smooth(SortedSample.of(self.interval, data)) * self.interval.step)

    def _smooth(self, sample: SortedSample) -> Fraction:
        """max_k w_k A_k in cells, exactly, and at least a public constant"""
        best, weight = self.least_weight * sample.top, UNIT
        for k in range(sample.size + 1):
            if weight * sample.top <= best:
                break
            best = max(best, weight * sample.reach(k))
            weight = (weight * self.ratio).__ceil__()
        return Fraction(best, UNIT)

    def _law(self, data: ArrayLike) -> tuple[Fraction, Fraction]:
        """Center and scale of the ideal noise, in cells."""
        sample = SortedSample.of(self.interval, data)
        return Fraction(sample.median), self._smooth(sample) / self.alpha

    def release(self, value: ArrayLike, source: Source | None = None) -> float:
        """Release the noisy median on the public grid, within the bounds."""
        return float(self.releases(value, 1, source)[0])

    def releases(self, value: ArrayLike, size: int, source: Source | None = None) -> NDArray[np.float64]:
        center, scale = self._law(value)
        return self.interval.values(laplace_cells(source or SYSTEM, [center] * size, scale))

    def hockey_stick(self, value: ArrayLike, neighbour: ArrayLike, epsilon: Exact) -> float:
        """Of the ideal draws, which bounds that of the rounded and clamped ones."""
        left, right = self._law(value), self._law(neighbour)
        cuts = laplace_crossings(left, right, float(epsilon_point(epsilon)))
        with precision(BITS):
            return at_least(line_divergence(laplace_below(*left), laplace_below(*right), cuts, epsilon))

    def tail_bound(self, probability_above: Exact, smooth_sensitivity: Exact) -> float:
        """P(|release − median| ≥ (S/α) ln(1/t) + g/2) ≤ t for data whose smooth sensitivity is at most S"""
        t, s = (
            probability(probability_above, "the tail probability"),
            positive(smooth_sensitivity, "the sensitivity"),
        )
        with precision(BITS):
            return ceiling(ball(s / self.alpha) * ball(1 / t).log() + ball(self.interval.step / 2))
