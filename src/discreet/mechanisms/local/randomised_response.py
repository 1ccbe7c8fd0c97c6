"""Randomised response: every record answers for itself, with a known chance of lying [N19 §3.1]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import bits, fixed_size, least_noise, probability, whole
from discreet.mechanisms.noise.base import BasicMechanism, finite_divergence
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import PureDP
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source

MOST_FLIPS = math.nextafter(0.5, 0)  # at ½ nothing is told
BITS = 512  # the drawn probabilities carry 256 bits: one ulp below ε must be seen to be below


def log_ratio(*ratios: Fraction) -> float:
    """Return ln max, rounded up."""
    with precision(BITS):
        return ceiling(ball(max(ratios)).log())


@final
@dataclass(frozen=True)
class RandomizedResponse(BasicMechanism):
    """0 ↦ 1 with probability p, 1 ↦ 0 with q: ε = ln max{(1−p)/q, (1−q)/p, p/(1−q), q/(1−p)} [N19 §4.1]."""

    p: Exact
    q: Exact
    name: ClassVar[str] = "randomized_response"
    theorem: ClassVar[str] = "Warner 1965; N19 §4.1 (the logarithm of the printed maximum)"

    def __post_init__(self) -> None:
        fixed_size(self.relation, "randomised response")
        probability(self.p, "p, the chance that a 0 is reported as 1,")
        probability(self.q, "q, the chance that a 1 is reported as 0,")
        if Fraction(self.p) + Fraction(self.q) == 1:
            raise ValueError(
                f"p + q = 1: the answers would not depend on the data, got p = {self.p!r}, q = {self.q!r}"
            )

    @classmethod
    def calibrate(cls, *, target: Guarantee) -> Self:
        """Flip with p = q = 1/(1+e^ε), the least of any symmetric pair with this ε, rounded up."""
        relation = target.relation
        flip = least_noise(lambda p: cls(p, p, relation=relation).guarantee, target, widest=MOST_FLIPS)
        return cls(flip, flip, relation=relation)

    @property
    def guarantee(self) -> PureDP:
        p, q = Fraction(self.p), Fraction(self.q)
        ratios = ((1 - p) / q, (1 - q) / p, p / (1 - q), q / (1 - p))
        return PureDP(log_ratio(*ratios), relation=self.relation)

    def release(self, value: ArrayLike, source: Source | None = None) -> Any:  # noqa: ANN401 - array or scalar
        """Flip every bit independently; one record owns one bit."""
        answers = bits(value, "the answers")
        flat = answers.reshape(-1)
        # both coins are drawn for every record, so that the time tells nothing of the answers
        zero = exact.bernoulli(source or SYSTEM, self.p, flat.size)
        one = exact.bernoulli(source or SYSTEM, self.q, flat.size)
        lies = np.where(flat, one, zero)
        return (flat ^ lies).astype(np.int64).reshape(answers.shape)[()]

    def releases(self, value: int, size: int, source: Source | None = None) -> NDArray[np.int64]:
        return np.asarray(self.release(np.full(size, value), source))

    def law(self, value: int) -> tuple[Fraction, Fraction]:
        """P(0), P(1) of the answer to one bit, exactly."""
        one = 1 - Fraction(self.q) if bits(value, "the answer") else Fraction(self.p)
        return 1 - one, one

    def hockey_stick(self, value: int, neighbour: int, epsilon: Exact) -> float:
        left, right = self.law(value), self.law(neighbour)
        return finite_divergence(lambda: [ball(x) for x in left], lambda: [ball(x) for x in right], epsilon)

    def flips_bound(self, answers: int, flips: int) -> float:
        """P(j flips of k) ≤ C(k,j) max(p,q)^j max(1−p,1−q)^{k−j} [N19 Prop. 3.3]; above 1 it says nothing."""
        k, j = whole(answers, "the number of answers"), whole(flips, "the number of flips", least=0)
        p, q = Fraction(self.p), Fraction(self.q)
        with precision(BITS):
            return (
                ceiling(ball(comb(k, j) * max(p, q) ** j * max(1 - p, 1 - q) ** (k - j))) if j <= k else 0.0
            )

    def flips_probability(self, zeros: int, ones: int, flips: int) -> float:
        """P(j flips) = Σ_i Bin(k₀, p)(i) Bin(k₁, q)(j−i), to the nearest double"""
        p, q = Fraction(self.p), Fraction(self.q)
        return float(sum(binomial(zeros, p, i) * binomial(ones, q, flips - i) for i in range(flips + 1)))

    def estimate(self, answers: ArrayLike) -> float:
        """Unbiased share of ones behind released answers: (mean − p)/(1 − p − q); post-processing."""
        mean = float(np.mean(bits(answers, "the released answers")))
        return (mean - float(self.p)) / (1 - float(self.p) - float(self.q))


def binomial(k: int, p: Fraction, j: int) -> Fraction:
    return comb(k, j) * p**j * (1 - p) ** (k - j) if j <= k else Fraction(0)
