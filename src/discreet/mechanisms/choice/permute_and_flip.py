"""Permute-and-flip: never worse than the exponential mechanism at the same ε."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.choice.exponential import Choice, Rated, score_spread, utility_threshold
from discreet.mechanisms.mechanism import largest_budget, positive, vector, whole
from discreet.privacy.arithmetic.ball import Exact, ball
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import PureDP
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True)
class PermuteAndFlip(Rated, Choice):
    """In random order accept y with p_y = exp(−ε(max s − s_y)/(2Δ)): ε-DP [McKenna, Sheldon 2020, Thm 1].

    The first acceptance in random order is uniform among all acceptances, so every coin is tossed and one
    head is picked: the same law in a time that tells less. It is also noisy max with exponential noise
    [Ding et al. 2021], whose proof (see ReportNoisyMax) needs only the spread of s − s'.
    """

    sensitivity: Exact
    epsilon: Exact
    spread: Exact | None = None  # None: 2Δ; Δ for monotone scores
    name: ClassVar[str] = "permute_and_flip"
    theorem: ClassVar[str] = "McKenna, Sheldon 2020, Thm 1; Ding et al. 2021 (equal to exponential noisy max)"

    def __post_init__(self) -> None:
        score_spread(self.sensitivity, self.spread)
        positive(self.epsilon, "epsilon")

    @classmethod
    def calibrate(cls, *, target: Guarantee, sensitivity: Exact, spread: Exact | None = None) -> Self:
        relation = target.relation
        budget = largest_budget(lambda e: PureDP(e, relation=relation), target)
        return cls(sensitivity, budget, spread, relation=relation)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(self.loss, relation=self.relation)

    def releases(self, value: ArrayLike, size: int, source: Source | None = None) -> NDArray[np.int64]:
        used = source or SYSTEM
        heads = np.stack([exact.bernoulli_exp(used, gamma, size) for gamma in self._costs(value)], axis=1)
        count = heads.sum(axis=1)
        pick = np.empty(size, dtype=np.int64)
        for h in np.unique(count):
            rows = np.flatnonzero(count == h)
            pick[rows] = exact.uniform_integers(used, int(h), rows.size)
        return np.asarray(np.argmax(np.cumsum(heads, axis=1) > pick[:, None], axis=1), dtype=np.int64)

    def _costs(self, value: ArrayLike) -> list[Fraction]:
        scores = vector(value, "the scores")
        best = max(scores)
        return [self.rate * (best - s) for s in scores]

    def _law(self, value: ArrayLike) -> list[arb]:
        """P(y) = p_y ∫₀¹ Π_{z≠y} (1 − p_z t) dt: a coin's place in the order is a uniform time"""
        coins = [ball(-gamma).exp() for gamma in self._costs(value)]
        return [p * _integral(coins[:y] + coins[y + 1 :]) for y, p in enumerate(coins)]

    def tail_bound(self, probability_above: Exact, candidates: int, best: int = 1) -> float:
        """P(max s − s(y) ≥ (2Δ/ε)(ln(|Y|/(B+1)) + ln(1/t))) ≤ t, as P(y) ≤ p_y ∫(1−t)^B dt off the B best"""
        ratio = Fraction(
            whole(candidates, "the number of candidates"), whole(best, "the number of best ones") + 1
        )
        return max(utility_threshold(self.rate, ratio, probability_above), float(np.nextafter(0, 1)))


def _integral(coins: list[arb]) -> arb:
    """∫₀¹ Π (1 − p_z t) dt through the coefficients of the product"""
    polynomial = [arb(1)]
    for p in coins:
        shifted = [arb(0), *(-p * c for c in polynomial)]
        polynomial = [c + s for c, s in zip([*polynomial, arb(0)], shifted, strict=True)]
    return sum((c / (k + 1) for k, c in enumerate(polynomial)), arb(0))
