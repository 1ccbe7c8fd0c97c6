"""Report noisy max on integer scores with discrete Laplace noise; ties go to the first in public order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.choice.exponential import Choice, score_spread
from discreet.mechanisms.mechanism import integers, least_noise, positive, whole
from discreet.mechanisms.noise.laplace import DiscreteLaplace, pure
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import PureDP
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True)
class ReportNoisyMax(Choice):
    """argmax_y s_y + Z_y, Z_y discrete Laplace(b), ties to the lowest index: ε = spread/b, spread = 2Δ.

    Proof (after Dwork, Roth 2014, Claim 3.9). Fix the others' noise: y wins iff Z_y ≥ z*, the least
    integer that beats every earlier candidate and ties or beats every later one. One record moves each
    s_y − s_x by at most the spread, so z* moves by at most that, and P(Z ≥ z + d) ≥ e^{−d/b} P(Z ≥ z) for
    integers d ≥ 0. A fixed public order of ties keeps the event a half-line. With Gumbel noise the law is
    the exponential mechanism's, with exponential noise permute-and-flip's [Ding et al. 2021]: use those
    for real scores.
    """

    sensitivity: int
    scale: Exact
    spread: int | None = None  # None: 2Δ; Δ for monotone scores
    name: ClassVar[str] = "report_noisy_max"
    theorem: ClassVar[str] = (
        "Dwork, Roth 2014, Claim 3.9, for integers with ties in a public order (proof in the class)"
    )

    def __post_init__(self) -> None:
        whole(self.sensitivity, "the sensitivity of integer scores")
        whole(score_spread(self.sensitivity, self.spread), "the spread of integer scores")
        positive(self.scale, "the noise scale")

    @classmethod
    def calibrate(cls, *, target: Guarantee, sensitivity: int, spread: int | None = None) -> Self:
        relation = target.relation
        width = score_spread(sensitivity, spread)
        scale = least_noise(lambda b: PureDP(pure(width, b), relation=relation), target)
        return cls(sensitivity, scale, spread, relation=relation)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(pure(score_spread(self.sensitivity, self.spread), self.scale), relation=self.relation)

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of each Z_y."""
        return DiscreteLaplace(self.sensitivity, self.scale, relation=self.relation)

    def releases(self, value: ArrayLike, size: int, source: Source | None = None) -> NDArray[np.int64]:
        scores = self._scores(value)
        noise = exact.discrete_laplace(source or SYSTEM, self.scale, size * scores.size)
        noisy = scores + noise.reshape(size, scores.size)
        return np.asarray(np.argmax(noisy, axis=1), dtype=np.int64)  # the first of the ties

    @staticmethod
    def _scores(value: ArrayLike) -> NDArray[np.int64]:
        scores = integers(value, "the scores")
        if scores.ndim != 1:
            raise ValueError(f"the scores must be one-dimensional, got {scores.ndim} dimensions")
        return scores

    def _law(self, value: ArrayLike) -> list[arb]:
        """P(y) = Σ_z P(Z_y = z) Π_{x<y} P(Z_x < s_y+z−s_x) Π_{x>y} P(Z_x ≤ s_y+z−s_x), the tail enclosed"""
        scores = [int(s) for s in self._scores(value)]
        reach = int(100 * Fraction(self.scale)) + 1
        tail = 2 * self.noise.above(reach + 1) * arb(0.5, 0.5)
        return [self._wins(scores, y, reach) + tail for y in range(len(scores))]

    def _wins(self, scores: list[int], y: int, reach: int) -> arb:
        total = arb(0)
        for z in range(-reach, reach + 1):
            term = self.noise.mass(z)
            for x, s in enumerate(scores):
                term = term * self._at_most(scores[y] + z - s - (x < y)) if x != y else term
            total += term
        return total

    def _at_most(self, z: int) -> arb:
        """P(Z ≤ z)"""
        return 1 - self.noise.above(z + 1) if z >= 0 else self.noise.above(-z)

    def tail_bound(self, probability_above: Exact, candidates: int) -> int:
        """P(max s − s(y) ≥ 2m) ≤ t for m with P(‖Z‖_∞ ≥ m) ≤ t: an error of 2m needs a noise of m"""
        return 2 * self.noise.tail_bound(probability_above, candidates)
