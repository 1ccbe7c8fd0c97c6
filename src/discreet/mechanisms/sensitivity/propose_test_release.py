"""Propose a bound on local sensitivity, test privately that it holds around, release [Dwork, Lei 2009]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import epsilon_point, positive, probability
from discreet.mechanisms.noise.base import (
    BITS,
    BasicMechanism,
    at_least,
    laplace_below,
    laplace_crossings,
    line_divergence,
    positive_parts,
)
from discreet.mechanisms.noise.laplace import DiscreteLaplace, laplace_cells
from discreet.mechanisms.sensitivity.median import OnInterval, SortedSample
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, floor, precision
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Unreachable
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True)
class ProposeTestRelease(OnInterval, BasicMechanism):
    """Release round_g(median + Laplace(b/ε₂)) if D + DiscreteLaplace(1/ε₁) > τ, else refuse: (ε₁+ε₂, δ)-DP.

    D is how many records must change before the local sensitivity exceeds the proposal b; it has
    sensitivity 1, and P(noise > τ) ≤ δ. Proof [Dwork, Lei 2009]: if D ≥ 1 on either of two neighbours,
    their medians differ by at most b and both steps compose to ε₁+ε₂; if D = 0 on both, releasing has
    probability ≤ δ, refusing costs ε₁.
    """

    lower: Exact
    upper: Exact
    proposal: Exact  # b: a public guess of how far one record moves the median
    test_epsilon: Exact
    release_epsilon: Exact
    delta: Exact
    grid: Exact | None = None  # public; None: (upper − lower)/2^20
    name: ClassVar[str] = "propose_test_release"
    theorem: ClassVar[str] = "Dwork, Lei 2009, §3 (proof in the class); NRS07 Claim 3.3 for the distance"

    def __post_init__(self) -> None:
        _ = self.interval
        positive(self.test_epsilon, "the epsilon of the test")
        positive(self.release_epsilon, "the epsilon of the release")
        probability(self.delta, "delta")
        if not positive(self.proposal, "the proposed bound") >= self.interval.step:
            raise ValueError(f"the proposed bound must be at least one grid step, got {self.proposal!r}")
        if self.relation is not SUBSTITUTE:
            raise ValueError("the median's local sensitivity is stated for SUBSTITUTE (n public)")

    @classmethod
    def calibrate(
        cls, *, target: Guarantee, lower: Exact, upper: Exact, proposal: Exact, grid: Exact | None = None
    ) -> Self:
        """Half of ε for the test, half for the release."""
        if not isinstance(target, ApproxDP) or not target.slack > 0:
            raise Unreachable(f"propose-test-release meets (ε, δ) with δ > 0, not {target}")
        half = Fraction(target.loss) / 2
        mechanism = cls(lower, upper, proposal, half, half, target.slack, grid, relation=target.relation)
        if not mechanism.guarantee <= target:
            raise Unreachable(f"rounding does not allow {target}")
        return mechanism

    @property
    def guarantee(self) -> ApproxDP:
        total = Fraction(self.test_epsilon) + Fraction(self.release_epsilon)
        with precision(BITS):
            return ApproxDP(ceiling(ball(total)), self.delta, relation=self.relation)

    @property
    def test_noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(1, 1 / Fraction(self.test_epsilon))

    @property
    def threshold(self) -> int:
        """Least τ ≥ 0 with P(noise > τ) = e^{−ε₁(τ+1)}/(1 + e^{−ε₁}) ≤ δ"""
        with precision(BITS):
            e = ball(Fraction(self.test_epsilon))
            least = -(ball(Fraction(self.delta)) * (1 + (-e).exp())).log() / e - 1
            return max(0, int(least.upper().ceil().unique_fmpz()))

    @property
    def cells(self) -> int:
        """The proposal in whole grid cells, rounded down."""
        return (Fraction(self.proposal) / self.interval.step).__floor__()

    @property
    def scale(self) -> Fraction:
        """b/ε₂ in cells"""
        return self.cells / Fraction(self.release_epsilon)

    def release(self, value: ArrayLike, source: Source | None = None) -> float | None:
        """Release the noisy median on the public grid, within the bounds, or None.

        A refusal is an answer and costs the same.
        """
        answer = float(self.releases(value, 1, source)[0])
        return None if np.isnan(answer) else answer

    def releases(self, value: ArrayLike, size: int, source: Source | None = None) -> NDArray[np.float64]:
        """`size` independent releases, NaN for a refusal."""
        sample = SortedSample.of(self.interval, value)
        distance = sample.distance_to_reach(self.cells)
        # both draws are made always, so that the time does not tell how near the threshold was
        passed = np.asarray(self.test_noise.releases(distance, size, source)) > self.threshold
        noisy = laplace_cells(source or SYSTEM, [Fraction(sample.median)] * size, self.scale)
        return np.where(passed, self.interval.values(noisy), np.nan)

    def pass_probability(self, distance: int) -> float:
        """P(release) for data D records away from breaking the proposal, rounded down"""
        with precision(BITS):
            return floor(self._pass(distance))

    def _pass(self, distance: int) -> arb:
        needed = self.threshold + 1 - distance
        return self.test_noise.above(needed) if needed >= 0 else 1 - self.test_noise.above(1 - needed)

    def hockey_stick(self, value: ArrayLike, neighbour: ArrayLike, epsilon: Exact) -> float:
        """Of refusing, and of the ideal draws where released."""
        samples = [SortedSample.of(self.interval, data) for data in (value, neighbour)]
        centers = [Fraction(s.median) for s in samples]
        with precision(BITS):
            p, q = (self._pass(s.distance_to_reach(self.cells)) for s in samples)
            level = float(epsilon_point(epsilon)) + float((q / p).log())
            cuts = laplace_crossings((centers[0], self.scale), (centers[1], self.scale), level)
            left, right = (laplace_below(c, self.scale) for c in centers)
            released = line_divergence(lambda x: p * left(x), lambda x: q * right(x), cuts, epsilon)
            return at_least(released + positive_parts([(1 - p, 1 - q)], epsilon))

    def tail_bound(self, probability_above: Exact) -> float:
        """P(|release − median| ≥ (b/ε₂) ln(1/t) + g/2 | released) ≤ t"""
        t = probability(probability_above, "the tail probability")
        with precision(BITS):
            return ceiling(
                (ball(self.scale) * ball(1 / t).log() + ball(Fraction(1, 2))) * ball(self.interval.step)
            )
