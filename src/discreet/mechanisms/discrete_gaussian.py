"""Discrete Gaussian noise on integers [CKS20]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np
from flint import arb

from discreet.mechanisms.basic import BasicMechanism
from discreet.mechanisms.calibration import least_noise
from discreet.mechanisms.checks import epsilon_point, integers, positive, probability, whole
from discreet.mechanisms.laws import BITS
from discreet.privacy.certified import Exact, ball, ceiling, floor, precision
from discreet.privacy.guarantees import ZeroCDP
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.privacy.guarantee import Guarantee
    from discreet.sampling.source import Source


@final
@dataclass(frozen=True)
class DiscreteGaussian(BasicMechanism):
    """x + Z, P(Z = z) ∝ e^{−z²/(2σ²)} on the integers: Δ₂²/(2σ²)-zCDP [CKS20 Thm 4, and 14 for vectors]."""

    sensitivity: Exact  # L2, over all coordinates
    variance: Exact  # the parameter σ²; the variance of Z is at most this [CKS20 Cor. 9]
    name: ClassVar[str] = "discrete_gaussian"
    theorem: ClassVar[str] = "CKS20 Thm 4 and 14"

    def __post_init__(self) -> None:
        positive(self.sensitivity, "the L2 sensitivity")
        positive(self.variance, "the variance")

    @classmethod
    def calibrate(cls, *, target: Guarantee, sensitivity: Exact) -> Self:
        relation = target.relation
        positive(sensitivity, "the L2 sensitivity")
        variance = least_noise(lambda v: cls(sensitivity, v, relation=relation).guarantee, target)
        return cls(sensitivity, variance, relation=relation)

    @property
    def guarantee(self) -> ZeroCDP:
        with precision(BITS):
            rho = ceiling(ball(Fraction(self.sensitivity) ** 2 / (2 * Fraction(self.variance))))
        return ZeroCDP(rho, relation=self.relation)

    def release(self, value: ArrayLike, source: Source | None = None) -> Any:  # noqa: ANN401 - array or scalar
        """Independent noise on every coordinate."""
        counts = integers(value, "the counts")
        noise = exact.discrete_gaussian(source or SYSTEM, self.variance, counts.size)
        return (counts + noise.reshape(counts.shape))[()]

    def releases(self, value: int, size: int, source: Source | None = None) -> NDArray[np.int64]:
        return np.asarray(self.release(np.full(size, value), source))

    def log_pmf(self, value: int, released: ArrayLike) -> NDArray[np.float64]:
        """−(y−x)²/(2σ²) − ln Σ_z e^{−z²/(2σ²)}"""
        y = np.asarray(released, dtype=np.float64) - value
        with precision(BITS):
            log_total = float(self._total().log())
        return np.asarray(-y * y / (2 * float(self.variance)) - log_total)

    def hockey_stick(self, value: int, neighbour: int, epsilon: Exact) -> float:
        """P[Z > εσ²/d − d/2] − e^ε P[Z > εσ²/d + d/2] [CKS20 Thm 7], both sums cut off far in the tail."""
        d = abs(whole(value, "the value", least=-(2**62)) - whole(neighbour, "the neighbour", least=-(2**62)))
        if d == 0:
            return 0.0
        first = (epsilon_point(epsilon) * Fraction(self.variance) / d - Fraction(d, 2)).__floor__() + 1
        with precision(BITS):
            factor = ball(epsilon_point(epsilon)).exp()
            terms = (
                self._weight(z) - factor * self._weight(z + d)
                for z in range(first, max(first, 0) + self._reach())
            )
            return max(0.0, floor(sum(terms, arb(0)) / self._total()))

    def _weight(self, z: int) -> arb:
        return ball(-Fraction(z * z) / (2 * Fraction(self.variance))).exp()

    def _reach(self) -> int:
        """Beyond 16σ a weight is below e^{−128}."""
        return int(16 * float(self.variance) ** 0.5) + 2

    def _total(self) -> arb:
        """Σ_z e^{−z²/(2σ²)}, the tail beyond R enclosed by 2e^{−R²/(2σ²)}/(1 − e^{−R/σ²})"""
        reach = self._reach()
        body = 1 + 2 * sum((self._weight(z) for z in range(1, reach)), arb(0))
        tail = 2 * self._weight(reach) / (1 - ball(-reach / Fraction(self.variance)).exp())
        return body + tail * arb(0.5, 0.5)

    def tail_bound(self, probability_above: Exact, coordinates: int = 1) -> float:
        """P(‖noise‖_∞ ≥ σ√(2 ln(2k/t))) ≤ t, for Z is σ²-subgaussian [CKS20 Cor. 17]"""
        t, k = (
            probability(probability_above, "the tail probability"),
            whole(coordinates, "the number of coordinates"),
        )
        with precision(BITS):
            return ceiling((2 * ball(Fraction(self.variance)) * ball(2 * k / t).log()).sqrt())
