"""Gaussian noise: on reals, the ideal draw rounded to a public grid; on integers, the discrete law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import (
    WIDEST_DISCRETE,
    epsilon_point,
    integer_noise,
    least_noise,
    positive,
    probability,
    tail_of,
    whole,
)
from discreet.mechanisms.noise.base import BITS, IntegerNoise, RealNoise, at_least, line_divergence
from discreet.mechanisms.noise.laplace import default_grid
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import DiscreteGaussianDP, GaussianDP, ZeroCDP
from discreet.sampling import exact
from discreet.sampling.checked_arguments import dyadic_grid
from discreet.sampling.source import SYSTEM, Source

SINGLE_STEPS = 4  # the least square of an integer step above 1
FINEST = 40  # noise beyond 2^53 cells would be rounded apart from the value: 8192σ, never in any universe


def classic_sigma(epsilon: Exact, delta: Exact, sensitivity: Exact = 1) -> float:
    """Δ₂√(2 ln(1.25/δ))/ε, rounded up: for comparison only, proved for ε ≤ 1 [Dwork, Roth 2014, Thm A.1]."""
    e, d = positive(epsilon, "epsilon"), probability(delta, "delta")
    if e > 1:
        raise ValueError(
            f"the classic σ is proved for ε ≤ 1 only, got {epsilon!r}: it under-noises for large ε "
            "(at δ = 1e-5 beyond ε = 8.42); Gaussian.calibrate gives the least σ for every ε"
        )
    with precision(BITS):
        return ceiling(
            ball(positive(sensitivity, "the L2 sensitivity") / e)
            * (2 * ball(Fraction(5, 4) / d).log()).sqrt()
        )


@final
@dataclass(frozen=True)
class Gaussian(RealNoise):
    """round_g(x + N(0, σ²I)): μ-GDP, μ = Δ₂/σ [DRS22 Thm 2.7]; its (ε, δ) is the analytic [BW18 Thm 8]."""

    sensitivity: Exact  # L2, over all coordinates
    sigma: Exact
    grid: Exact | None = None  # public power of two; None takes the one near σ·2^-20
    name: ClassVar[str] = "gaussian"
    theorem: ClassVar[str] = "DRS22 Thm 2.7; BW18 Thm 8; post-processing"

    def __post_init__(self) -> None:
        positive(self.sensitivity, "the L2 sensitivity")
        positive(self.sigma, "sigma")
        if not dyadic_grid(self.step) * 2**FINEST >= Fraction(self.sigma):
            raise ValueError(
                f"the grid must be at least σ·2^-{FINEST}, got {self.grid!r}: finer gains nothing"
            )

    @classmethod
    def calibrate(cls, *, target: Guarantee, sensitivity: Exact, grid: Exact | None = None) -> Self:
        """Return the least σ, to one double, whose certified profile meets the target."""
        relation = target.relation
        positive(sensitivity, "the L2 sensitivity")
        sigma = least_noise(lambda s: cls(sensitivity, s, relation=relation).guarantee, target)
        return cls(sensitivity, sigma, grid, relation=relation)

    @property
    def step(self) -> Fraction:
        """The grid in use."""
        return default_grid(Fraction(self.sigma)) if self.grid is None else Fraction(self.grid)

    @property
    def guarantee(self) -> GaussianDP:
        with precision(BITS):
            mu = ceiling(ball(Fraction(self.sensitivity) / Fraction(self.sigma)))
        return GaussianDP(mu, relation=self.relation)

    def release(self, value: ArrayLike, source: Source | None = None) -> NDArray[np.float64] | np.float64:
        """Independent noise on every coordinate; multiples of the grid."""
        array = np.asarray(value)
        if array.ndim and array.size and array.dtype == np.int64 and self.step <= 1:
            return self._on_integers(array, source)
        return super().release(array, source)

    def _on_integers(self, value: NDArray[np.int64], source: Source | None) -> NDArray[np.float64]:
        """Do as `_noisy` does where every value lies on the grid."""
        unit, square = float(self.step), Fraction(self.sigma) ** 2
        noise = exact.normal(source or SYSTEM, 0, square, value.size, self.step).reshape(value.shape) / unit
        steps = value.astype(object) * int(1 / self.step) + noise.astype(np.int64).astype(object)
        return np.asarray(unit * steps.astype(np.float64))  # rounded once: the grid is a power of two

    def _noisy(self, centers: list[Fraction], source: Source | None) -> NDArray[np.float64]:
        """round_g(c + z) = g⌊c/g⌋ + round_g(c mod g + z), so centers with one remainder share a call."""
        g, square = self.step, Fraction(self.sigma) ** 2
        unit = float(g)
        parts = [divmod(c, g) for c in centers]
        rows: dict[Fraction, list[int]] = {}
        for i, (_, rest) in enumerate(parts):
            rows.setdefault(rest, []).append(i)
        released = np.empty(len(centers))
        for rest, here in rows.items():
            draws = exact.normal(source or SYSTEM, rest, square, len(here), g).tolist()
            steps = (parts[i][0] + int(z / unit) for i, z in zip(here, draws, strict=True))
            released[here] = [unit * float(k) for k in steps]  # rounded once: g is a power of two
        return released

    def log_density(self, value: float, released: ArrayLike) -> NDArray[np.float64]:
        """−(y−x)²/(2σ²) − ln(σ√(2π)), of the ideal draw"""
        z = (np.asarray(released, dtype=np.float64) - value) / float(self.sigma)
        return np.asarray(-z * z / 2 - np.log(float(self.sigma) * np.sqrt(2 * np.pi)))

    def hockey_stick(self, value: Exact, neighbour: Exact, epsilon: Exact) -> float:
        """Of the ideal draws: split where the likelihood ratio is e^ε, at (x+x')/2 + εσ²/(x−x')"""
        x, y, s = Fraction(value), Fraction(neighbour), Fraction(self.sigma)
        cuts = [(x + y) / 2 + epsilon_point(epsilon) * s * s / (x - y)] if x != y else []
        with precision(BITS):
            return at_least(line_divergence(_normal_below(x, s), _normal_below(y, s), cuts, epsilon))

    def tail_probability(self, threshold: Exact, coordinates: int = 1) -> float:
        """P(‖noise‖_∞ ≥ x) = 1 − erf(x/(σ√2))^k for the ideal draw, rounded up"""
        with precision(BITS):
            z = ball(positive(threshold, "the threshold") / Fraction(self.sigma)) / arb(2).sqrt()
            return ceiling(1 - (1 - z.erfc()) ** whole(coordinates, "the number of coordinates"))

    def tail_bound(self, probability_above: Exact, coordinates: int = 1) -> float:
        """P(‖release − x‖_∞ ≥ σ√(2 ln(k/t)) + g/2) ≤ t, as 2Q(x) ≤ e^{−x²/2} [N19 Prop. 3.16, filled in]."""
        t, k = tail_of(probability_above, coordinates)
        with precision(BITS):
            return ceiling(ball(Fraction(self.sigma)) * (2 * ball(k / t).log()).sqrt() + ball(self.step / 2))


def _normal_below(center: Fraction, sigma: Fraction) -> Callable[[Fraction], arb]:
    """Φ((x−c)/σ)"""
    return lambda x: (ball((center - x) / sigma) / arb(2).sqrt()).erfc() / 2


@final
@dataclass(frozen=True)
class DiscreteGaussian(IntegerNoise):
    """x + Z, P(Z = z) ∝ e^{−z²/(2σ²)} on the integers: Δ₂²/(2σ²)-zCDP [CKS20 Thm 4, and 14 for vectors].

    Up to Δ₂² = 3 integers can only move by 1, Δ₂² of them at most: then the profile is exact [CKS20 Thm 7].
    """

    sensitivity: Exact  # L2, over all coordinates
    variance: Exact  # the parameter σ²; the variance of Z is at most this [CKS20 Cor. 9]
    name: ClassVar[str] = "discrete_gaussian"
    theorem: ClassVar[str] = "CKS20 Thm 4 and 14"

    def __post_init__(self) -> None:
        positive(self.sensitivity, "the L2 sensitivity")
        integer_noise(positive(self.variance, "the variance"))

    @classmethod
    def calibrate(cls, *, target: Guarantee, sensitivity: Exact) -> Self:
        relation = target.relation
        positive(sensitivity, "the L2 sensitivity")
        variance = least_noise(
            lambda v: cls(sensitivity, v, relation=relation).guarantee, target, widest=WIDEST_DISCRETE**2
        )
        return cls(sensitivity, variance, relation=relation)

    @property
    def guarantee(self) -> Guarantee:
        square = Fraction(self.sensitivity) ** 2
        if 1 <= square < SINGLE_STEPS:
            return DiscreteGaussianDP(
                ((1, Fraction(self.variance), square.__floor__()),), relation=self.relation
            )
        with precision(BITS):
            rho = ceiling(ball(square / (2 * Fraction(self.variance))))
        return ZeroCDP(rho, relation=self.relation)

    def _noise(self, source: Source, size: int) -> NDArray[np.int64]:
        return exact.discrete_gaussian(source, self.variance, size)

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
            return at_least(sum(terms, arb(0)) / self._total())

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
        t, k = tail_of(probability_above, coordinates)
        with precision(BITS):
            return ceiling((2 * ball(Fraction(self.variance)) * ball(2 * k / t).log()).sqrt())
