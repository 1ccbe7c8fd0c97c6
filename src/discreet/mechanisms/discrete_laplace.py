"""Discrete Laplace noise on integers: the default for counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np
from flint import arb

from discreet.mechanisms.basic import BasicMechanism
from discreet.mechanisms.calibration import least_noise
from discreet.mechanisms.checks import integers, positive, probability, whole
from discreet.mechanisms.laplace import pure
from discreet.mechanisms.laws import BITS, finite_divergence
from discreet.privacy.certified import Exact, ball, ceiling, precision
from discreet.privacy.guarantees import PureDP
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.privacy.guarantee import Guarantee
    from discreet.sampling.source import Source


@final
@dataclass(frozen=True)
class DiscreteLaplace(BasicMechanism):
    """x + Z, P(Z = z) = tanh(1/(2b)) e^{−|z|/b} on the integers: ε = Δ₁/b [Ghosh et al. 2012]."""

    sensitivity: int  # L1, over all coordinates
    scale: Exact
    name: ClassVar[str] = "discrete_laplace"
    theorem: ClassVar[str] = "Ghosh, Roughgarden, Sundararajan 2012, Thm 3.1"

    def __post_init__(self) -> None:
        whole(self.sensitivity, "the L1 sensitivity of integers")
        positive(self.scale, "the noise scale")

    @classmethod
    def calibrate(cls, *, target: Guarantee, sensitivity: int) -> Self:
        relation = target.relation
        whole(sensitivity, "the L1 sensitivity of integers")
        scale = least_noise(lambda b: PureDP(pure(sensitivity, b), relation=relation), target)
        return cls(sensitivity, scale, relation=relation)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(pure(self.sensitivity, self.scale), relation=self.relation)

    def release(self, value: ArrayLike, source: Source | None = None) -> Any:  # noqa: ANN401 - array or scalar
        """Independent noise on every coordinate."""
        counts = integers(value, "the counts")
        noise = exact.discrete_laplace(source or SYSTEM, self.scale, counts.size)
        return (counts + noise.reshape(counts.shape))[()]

    def releases(self, value: int, size: int, source: Source | None = None) -> NDArray[np.int64]:
        return np.asarray(self.release(np.full(size, value), source))

    def log_pmf(self, value: int, released: ArrayLike) -> NDArray[np.float64]:
        """Log mass: ln tanh(1/(2b)) − |y−x|/b"""
        b = float(self.scale)
        return np.asarray(
            np.log(np.tanh(0.5 / b)) - np.abs(np.asarray(released, dtype=np.float64) - value) / b
        )

    def hockey_stick(self, value: int, neighbour: int, epsilon: Exact) -> float:
        """Σ over the d−1 points between, and the two half-lines beyond, of (P − e^ε Q)₊"""
        d = abs(whole(value, "the value", least=-(2**62)) - whole(neighbour, "the neighbour", least=-(2**62)))
        return finite_divergence(lambda: self._split(d), lambda: self._split(d)[::-1], epsilon)

    def _split(self, d: int) -> list[arb]:
        """P(Z ≤ 0), P(Z = 1), …, P(Z = d−1), P(Z ≥ d), at the working precision"""
        return [self.above(0), *(self.mass(i) for i in range(1, d)), self.above(d)] if d else [ball(1)]

    def mass(self, z: int) -> arb:
        """P(Z = z) at the working precision"""
        inverse = 1 / ball(Fraction(self.scale))
        return (inverse / 2).tanh() * (-abs(z) * inverse).exp()

    def above(self, z: int) -> arb:
        """P(Z ≥ z) = e^{−z/b}/(1 + e^{−1/b}) for z ≥ 0, at the working precision"""
        inverse = 1 / ball(Fraction(self.scale))
        return (-z * inverse).exp() / (1 + (-inverse).exp())

    def tail_probability(self, threshold: int, coordinates: int = 1) -> float:
        """P(‖noise‖_∞ ≥ m) = 1 − (1 − 2P(Z ≥ m))^k for m ≥ 1, rounded up"""
        m = whole(threshold, "the threshold")
        with precision(BITS):
            return ceiling(1 - (1 - 2 * self.above(m)) ** whole(coordinates, "the number of coordinates"))

    def tail_bound(self, probability_above: Exact, coordinates: int = 1) -> int:
        """P(‖noise‖_∞ ≥ m) ≤ t for the least m ≥ 1 with 2k·P(Z ≥ m) ≤ t: m = ⌈b ln(2k/(t(1+e^{−1/b})))⌉"""
        t, k = (
            probability(probability_above, "the tail probability"),
            whole(coordinates, "the number of coordinates"),
        )
        with precision(BITS):
            log = (ball(2 * k / t) / (1 + ball(-1 / Fraction(self.scale)).exp())).log()
            return max(1, int((ball(Fraction(self.scale)) * log).ceil().upper().unique_fmpz()))
