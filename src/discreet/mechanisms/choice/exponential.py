"""The exponential mechanism on a finite range, and on a public grid with a piecewise-constant score."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import largest_budget, positive, probability, vector, whole
from discreet.mechanisms.noise.base import BITS, BasicMechanism, finite_divergence
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import BoundedRange
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source


def score_spread(sensitivity: Exact, spread: Exact | None) -> Fraction:
    """How far apart one record can drive the changes of two scores: 2Δ, or less where that is known."""
    widest = 2 * positive(sensitivity, "the sensitivity of the scores")
    if spread is None:
        return widest
    if not positive(spread, "the spread") <= widest:
        raise ValueError(f"the spread is at most twice the sensitivity, got {spread!r} for {sensitivity!r}")
    return Fraction(spread)


def utility_threshold(rate: Fraction, ratio: Fraction, probability_above: Exact) -> float:
    """(ln ratio + ln(1/t))/rate, at least 0, rounded up"""
    t = probability(probability_above, "the tail probability")
    with precision(BITS):
        return max(0.0, ceiling(ball(ratio / t).log() / ball(rate)))


def softmax(log_weights: Sequence[Fraction]) -> list[arb]:
    """e^{w_y}/Σ e^{w_z} at the working precision"""
    top = max(log_weights)
    weights = [ball(w - top).exp() for w in log_weights]
    total = sum(weights[1:], weights[0])
    return [w / total for w in weights]


class Rated:
    """What the scores of a mechanism are multiplied by."""

    sensitivity: Exact
    epsilon: Exact
    spread: Exact | None

    @property
    def rate(self) -> Fraction:
        """ε/(2Δ), or ε over the declared spread"""
        return Fraction(self.epsilon) / score_spread(self.sensitivity, self.spread)

    @property
    def loss(self) -> float:
        """ε, rounded up"""
        with precision(BITS):
            return ceiling(ball(Fraction(self.epsilon)))


class Choice(BasicMechanism):
    """A mechanism that chooses one of finitely many candidates by the score of each."""

    @abstractmethod
    def _law(self, value: ArrayLike) -> list[arb]:
        """P(y) for every candidate, at the working precision"""

    def release(self, value: ArrayLike, source: Source | None = None) -> int:
        """Index of the chosen candidate, given the score of each."""
        return int(self.releases(value, 1, source)[0])

    def law(self, value: ArrayLike) -> NDArray[np.float64]:
        """P(y) for every candidate, to the nearest doubles"""
        with precision(BITS):
            return np.array([float(p) for p in self._law(value)])

    def hockey_stick(self, value: ArrayLike, neighbour: ArrayLike, epsilon: Exact) -> float:
        return finite_divergence(lambda: self._law(value), lambda: self._law(neighbour), epsilon)


@final
@dataclass(frozen=True)
class Exponential(Rated, Choice):
    """P(y) ∝ m(y) exp(ε s(X,y)/(2Δ)): ε-bounded range, hence ε-DP [McSherry, Talwar 2007; DDR20 Lemma 3.2].

    One record changes ln P(y) by rate·(s−s')(y) plus a constant, and s−s' varies by at most `spread` over y:
    2Δ in general; Δ when one record moves all scores the same way (monotone), which halves the price.
    """

    sensitivity: Exact
    epsilon: Exact
    spread: Exact | None = None  # None: 2Δ
    log_base: tuple[Exact, ...] | None = None  # ln m(y), public; None: uniform
    name: ClassVar[str] = "exponential"
    theorem: ClassVar[str] = "McSherry, Talwar 2007, Thm 6; DDR20 Lemma 3.2; Gumbel noisy max is the same law"

    def __post_init__(self) -> None:
        score_spread(self.sensitivity, self.spread)
        positive(self.epsilon, "epsilon")
        if self.log_base is not None:
            vector(np.asarray(self.log_base, dtype=object), "the log base measure")

    @classmethod
    def calibrate(
        cls,
        *,
        target: Guarantee,
        sensitivity: Exact,
        spread: Exact | None = None,
        log_base: tuple[Exact, ...] | None = None,
    ) -> Self:
        relation = target.relation
        budget = largest_budget(lambda e: BoundedRange(e, relation=relation), target)
        return cls(sensitivity, budget, spread, log_base, relation=relation)

    @property
    def guarantee(self) -> BoundedRange:
        return BoundedRange(self.loss, relation=self.relation)

    def releases(self, value: ArrayLike, size: int, source: Source | None = None) -> NDArray[np.int64]:
        return exact.categorical(source or SYSTEM, self._log_weights(value), size)

    def _log_weights(self, value: ArrayLike) -> list[Fraction]:
        scores = vector(value, "the scores")
        base = self.log_base or (0,) * len(scores)
        if len(base) != len(scores):
            raise ValueError(f"the base measure has {len(base)} candidates, the scores {len(scores)}")
        return [self.rate * s + Fraction(b) for s, b in zip(scores, base, strict=True)]

    def _law(self, value: ArrayLike) -> list[arb]:
        return softmax(self._log_weights(value))

    def tail_bound(self, probability_above: Exact, candidates: int, best: int = 1) -> float:
        """P(max s − s(y) ≥ (2Δ/ε)(ln(|Y|/|Y_best|) + ln(1/t))) ≤ t, uniform base [N19 Prop. 3.12]"""
        if self.log_base is not None:
            raise ValueError("the utility bound is stated for the uniform base measure")
        ratio = Fraction(
            whole(candidates, "the number of candidates"), whole(best, "the number of best ones")
        )
        return utility_threshold(self.rate, ratio, probability_above)
