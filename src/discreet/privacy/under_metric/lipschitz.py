"""Assumption 1 of [D14]: |ln p_θ(x) − ln p_θ(y)| ≤ L ρ(x, y) for every θ in a bounded set, with L proved.

What cancels from the posterior, such as a binomial coefficient, is left out: it tells nothing of θ.
Constants are of one record; of n they hold for the sum of the distances [D14, Lemma 1, without its factor n].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, settle
from discreet.privacy.guarantee import positive
from discreet.privacy.under_metric.distances import (
    AbsoluteDifference,
    Hamming,
    Metric,
    NormalDifference,
    Weighted,
    distance,
)
from discreet.privacy.under_metric.promise import MetricDP


@final
@dataclass(frozen=True)
class Lipschitz:
    """L under a metric, rounded up, and what it rests on.

    `spread` is how far apart ln p_θ(x)/p_θ(y) may lie for two θ, per unit of distance: at most 2L. The ratio
    of posteriors is p_θ(x)/p_θ(y) over its average, so one draw is (spread, 0)-private; [D14] has 2L.
    """

    constant: float
    metric: Metric
    words: str
    spread: float

    @property
    def one_draw(self) -> MetricDP:
        """(2L, 0) under the metric [D14, Theorem 2(i)], or less where the spread is less."""
        return MetricDP(self.spread, metric=self.metric)

    def tempered(self, temperature: Exact) -> Lipschitz:
        """Return the same for likelihood^(1/T)."""
        t = Fraction(positive("temperature", temperature))
        of_one, both = (_up(Fraction(x) / t) for x in (self.constant, self.spread))
        return Lipschitz(of_one, self.metric, f"{self.words}, to the power 1/{float(t):.6g}", both)

    def kl(self, far: Exact) -> float:
        """KL of two posteriors at a distance: at most 2Lρ [D14, Theorem 1(i)], here spread·ρ."""
        return _up(Fraction(self.spread) * distance(far))

    def check(
        self,
        log_likelihood: Callable[[np.ndarray, float], float],
        data_sets: Iterable[ArrayLike],
        thetas: Sequence[float],
    ) -> float:
        """Return the largest |ln p_θ(x)/p_θ(y)| − Lρ on samples: above 0 the declaration is wrong."""
        held = [np.asarray(x) for x in data_sets]
        found = [
            abs(log_likelihood(x, theta) - log_likelihood(y, theta))
            - self.constant * self.metric.between(x, y)
            for theta in thetas
            for i, x in enumerate(held)
            for y in held[:i]
        ]
        return max(found, default=0.0)


def _up(value: Fraction) -> float:
    return ceiling(settle(lambda: ball(value))) if value else 0.0


def _of(
    constant: Callable[[], arb], metric: Metric, words: str, spread: Callable[[], arb] | None = None
) -> Lipschitz:
    both = spread or (lambda: 2 * constant())
    return Lipschitz(ceiling(settle(constant)), metric, words, ceiling(settle(both)))


def bernoulli(lower: Exact, metric: Metric | None = None) -> Lipschitz:
    """L = ln((1 − a)/a) on θ ∈ [a, 1 − a]: |x − y| |logit θ|."""
    a = _share("lower", lower, 2)
    return _of(
        lambda: ball((1 - a) / a).log(),
        metric or Hamming(),
        f"Bernoulli, θ in [{float(a):g}, 1 − {float(a):g}]",
    )


def categorical(lower: Exact, levels: int) -> Lipschitz:
    """L = ln((1 − (d − 1)a)/a) on θ_i ≥ a."""
    a = _share("lower", lower, levels)
    return _of(
        lambda: ball((1 - (levels - 1) * a) / a).log(),
        Hamming(),
        f"{levels} categories, each of probability {float(a):g} or more",
    )


def network(lower: Exact, sizes: Mapping[str, int], parents: Mapping[str, Sequence[str]]) -> Lipschitz:
    """L = max_v ln((1 − (k_v − 1)a)/a) under Σ v_k 1{x_k ≠ y_k}, v_k = 1 + children [D14, Lemma 7's proof].

    A column that changes moves the factor of its own node and those of its children, each by L at most. With
    v = 1, as the lemma prints, it is false: see the errata. [D14] has ln(1/a), which is never less.
    """
    most = max(sizes.values())
    a = _share("lower", lower, most)
    least = min((k for k in sizes.values() if k > 1), default=2)
    return _of(
        lambda: ball((1 - (least - 1) * a) / a).log(),
        Weighted.of_network(parents),
        f"a Bayesian network on {len(sizes)} columns, every entry {float(a):g} or more",
    )


def exponential(largest_rate: Exact, metric: Metric | None = None) -> Lipschitz:
    """L = M on θ ∈ (0, M]: θ|x − y|, whose spread over θ is M too [D14, Lemma 3]."""
    m = Fraction(positive("the largest rate", largest_rate))
    words = f"exponential, rate at most {float(m):g}"
    return _of(lambda: ball(m), metric or AbsoluteDifference(), words, lambda: ball(m))


def laplace(least_scale: Exact, metric: Metric | None = None, *, known_location: bool = False) -> Lipschitz:
    """L = 1/s₀ on s ≥ s₀, any location: ||x − μ| − |y − μ||/s ≤ |x − y|/s [D14, Lemma 4, which prints s ≥ L].

    With a known location the ratio keeps its sign for all s, so that its spread is L and not 2L.
    """
    s = Fraction(positive("the least scale", least_scale))
    spread = (lambda: 1 / ball(s)) if known_location else None
    return _of(
        lambda: 1 / ball(s), metric or AbsoluteDifference(), f"Laplace, scale at least {float(s):g}", spread
    )


def normal(least_variance: Exact, largest_mean: Exact) -> Lipschitz:
    """L = max(1, m)/(2σ₀²) on σ² ≥ σ₀², |μ| ≤ m: |x² − y² − 2μ(x − y)|/(2σ²) [D14, Lemma 6]."""
    v = Fraction(positive("the least variance", least_variance))
    m = max(Fraction(1), distance(largest_mean))
    return _of(
        lambda: ball(m) / (2 * ball(v)),
        NormalDifference(),
        f"normal, variance at least {float(v):g}, mean within ±{float(largest_mean):g}",
    )


def declared(constant: Exact, metric: Metric, words: str) -> Lipschitz:
    """Take a user's own constant; nothing proves it, and `check` looks for a counterexample on samples."""
    value = Fraction(positive("the constant", constant))
    return _of(lambda: ball(value), metric, f"{words}, as declared")


def _share(name: str, value: Exact, levels: int) -> Fraction:
    found = Fraction(positive(name, value))
    if not found * levels < 1:
        raise ValueError(f"{name} must be below 1/{levels}, so that {levels} probabilities can exceed it")
    return found
