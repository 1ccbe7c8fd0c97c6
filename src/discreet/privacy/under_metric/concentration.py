"""Assumption 2 of [D14] as a computation: Θ_L, ξ(Θ_L) and the largest c with ξ(Θ_L) ≥ 1 − e^{−cL} for all L.

Numbers in doubles, about priors, which are public. They calibrate nothing: see `relaxed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import betainc, betaln, digamma, gammainc, gammaincc, gammaincinv, gammaln

from discreet.numerics.search import bisect

SMALLEST, LARGEST, STEPS = 2.0**-30, 2.0**12, 4000
FLOOR = 1e-290  # a tail below it is not compared: its logarithm is not known


@final
@dataclass(frozen=True)
class Concentration:
    """A prior seen through L: `inside` is ξ(Θ_L), `outside` the rest, `region` Θ_L itself.

    `limits` are −ln ξ(Θ_L^c)/L as L tends to 0 and to ∞, in closed form.
    """

    words: str
    inside: Callable[[float], float]
    outside: Callable[[float], float]
    region: Callable[[float], tuple[float, float] | None]
    limits: tuple[float, float]

    @property
    def c(self) -> float:
        """Return inf over L of −ln ξ(Θ_L^c)/L; 0 where Assumption 2 holds for no c > 0."""
        each = (self.rate(float(x)) for x in np.geomspace(SMALLEST, LARGEST, STEPS))
        return min(*self.limits, *(rate for rate in each if rate is not None))

    def rate(self, constant: float) -> float | None:
        """−ln ξ(Θ_L^c)/L at one L; None where the tail is too light for doubles."""
        out = self.outside(constant)
        if out < FLOOR:
            return None
        lost = -math.log1p(-self.inside(constant)) if out > 0.5 else -math.log(out)
        return lost / constant

    def lipschitz_at(self, lost: float) -> float:
        """L at which a share `lost` of the prior lies outside of Θ_L: what truncating to Θ_L costs."""
        if not 0 < lost < 1:
            raise ValueError(f"a share of the prior lies between 0 and 1, got {lost}")
        return bisect(lambda x: self.outside(x) <= lost, 2.0**-40, LARGEST, _between, turns=100)


def _between(a: float, b: float) -> float:
    return math.sqrt(a * b)


def waits(
    shape: float, rate: float, *, words: str = "exponential, rate ~ Gamma", per: float = 1.0
) -> Concentration:
    """θ ~ Gamma(shape, rate), Θ_L = {θ ≤ L}: c = rate for shape 1 [D14, Lemma 3], 0 for any shape above.

    `per` is what θ counts for in L: Θ_L = {per·θ ≤ L}.
    """
    pace = rate / per
    near = math.inf if shape < 1 else (pace if shape == 1 else 0.0)
    return Concentration(
        f"{words}({shape:g}, {rate:g})",
        lambda x: float(gammainc(shape, pace * x)),
        lambda x: float(gammaincc(shape, pace * x)),
        lambda x: (0.0, x / per),
        (near, pace),
    )


def laplace(shape: float, rate: float) -> Concentration:
    """1/s ~ Gamma(shape, rate), any prior on the location: Θ_L = {s ≥ 1/L} [D14, Lemma 4; prints s ≥ L]."""
    return waits(shape, rate, words="Laplace, 1/scale ~ Gamma")


def normal(shape: float, rate: float, largest_mean: float) -> Concentration:
    """1/σ² ~ Gamma(shape, rate), |μ| ≤ m: c = 2 rate/max(1, m) for shape 1.

    [D14, Lemma 6] has the exponential prior on σ², for which no c > 0 exists: ξ(σ² < 1/(2L)) falls like 1/L.
    """
    return waits(shape, rate, words="normal, 1/variance ~ Gamma", per=max(1.0, largest_mean) / 2)


def bernoulli(alpha: float, beta: float) -> Concentration:
    """θ ~ Beta(α, β), Θ_L = {|logit θ| ≤ L}: c = 2^{1−2α}/B(α, α) ~ √(α/π) for α = β ≥ 1.

    [D14, Lemma 5]
    prints O(α).
    """

    def edge(x: float) -> float:
        return 1 / (1 + math.exp(min(x, 700.0)))

    def outside(x: float) -> float:
        return float(betainc(alpha, beta, edge(x)) + betainc(beta, alpha, edge(x)))

    density = math.exp((2 - alpha - beta) * math.log(2) - float(betaln(alpha, beta)))

    def inside(x: float) -> float:
        return density / 2 * x if x < 1e-5 else 1 - outside(x)

    return Concentration(
        f"Bernoulli, θ ~ Beta({alpha:g}, {beta:g})",
        inside,
        outside,
        lambda x: (edge(x), 1 - edge(x)),
        (density / 2, min(alpha, beta)),
    )


def binomial(trials: int, alpha: float, beta: float) -> Concentration:
    """θ ~ Beta(α, β) of n trials under |k − l|: Θ_L is empty for L < ln n, so that no c > 0 exists for n ≥ 2.

    The binomial coefficients, which [D14, Lemma 5] counts in, move p_θ(k)/p_θ(k + 1) by up to ln n.
    """
    if trials == 1:
        return bernoulli(alpha, beta)
    one, gap = bernoulli(alpha, beta), math.log(trials)

    def at(value: Callable[[float], float], empty: float) -> Callable[[float], float]:
        return lambda x: value(x - gap) if x > gap else empty

    return Concentration(
        f"binomial of {trials} trials, θ ~ Beta({alpha:g}, {beta:g})",
        at(one.inside, 0.0),
        at(one.outside, 1.0),
        lambda x: one.region(x - gap) if x > gap else None,
        (0.0, min(alpha, beta)),
    )


# ── Privacy against learning, which [D14, §6] leaves open: a larger c protects more, and teaches less.
@final
@dataclass(frozen=True)
class PrivacyAndLearning:
    """One prior: its c, the largest KL of two posteriors, and the error of the posterior mean."""

    c: float
    kl: float
    rmse: float


def waits_curve(
    rates: Sequence[float], *, n: int, truth: float, distance: float = 1.0
) -> list[PrivacyAndLearning]:
    """Priors Exp(λ): c = λ, KL = (n + 1)(ρ/λ − ln(1 + ρ/λ)), and the error of (n + 1)/(λ + Σx)."""
    grid = gammaincinv(n, (np.arange(4000) + 0.5) / 4000) / truth
    return [
        PrivacyAndLearning(
            rate,
            (n + 1) * (distance / rate - math.log1p(distance / rate)),
            float(np.sqrt(np.mean(((n + 1) / (rate + grid) - truth) ** 2))),
        )
        for rate in rates
    ]


def bernoulli_curve(alphas: Sequence[float], *, n: int, truth: float) -> list[PrivacyAndLearning]:
    """Priors Beta(α, α): the worst KL of neighbouring posteriors, and the error of their mean, exact."""
    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    chances = np.exp(ways + k * math.log(truth) + (n - k) * math.log1p(-truth))
    found = []
    for alpha in alphas:
        means = (alpha + k) / (2 * alpha + n)
        error = float(np.sqrt(chances @ (means - truth) ** 2))
        worst = max(
            kl_of_betas(alpha + i, alpha + n - i, alpha + i + step, alpha + n - i - step)
            for i in k.tolist()
            for step in (-1, 1)
            if 0 <= i + step <= n
        )
        found.append(PrivacyAndLearning(bernoulli(alpha, alpha).c, worst, error))
    return found


def kl_of_betas(a: float, b: float, c: float, d: float) -> float:
    """KL(Beta(a, b) ‖ Beta(c, d))."""
    total = (c - a + d - b) * digamma(a + b)
    return float(betaln(c, d) - betaln(a, b) + (a - c) * digamma(a) + (b - d) * digamma(b) + total)
