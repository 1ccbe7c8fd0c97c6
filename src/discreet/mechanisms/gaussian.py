"""Gaussian noise: on reals, the ideal draw rounded to a public grid; on integers, the discrete law."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np
from flint import arb

from discreet.mechanisms.basic import BasicMechanism
from discreet.mechanisms.calibration import least_noise
from discreet.mechanisms.checks import epsilon_point, positive, probability, reals, whole
from discreet.mechanisms.laplace import default_grid
from discreet.mechanisms.laws import BITS, line_divergence
from discreet.privacy.certified import Exact, ball, ceiling, floor, precision
from discreet.privacy.guarantees import GaussianDP
from discreet.sampling import exact
from discreet.sampling.parameters import dyadic_grid
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.privacy.guarantee import Guarantee
    from discreet.sampling.source import Source


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
class Gaussian(BasicMechanism):
    """round_g(x + N(0, σ²I)): μ-GDP, μ = Δ₂/σ [DRS22 Thm 2.7]; its (ε, δ) is the analytic [BW18 Thm 8]."""

    sensitivity: Exact  # L2, over all coordinates
    sigma: Exact
    grid: Exact | None = None  # public power of two; None takes the one near σ·2^-20
    name: ClassVar[str] = "gaussian"
    theorem: ClassVar[str] = "DRS22 Thm 2.7; BW18 Thm 8; post-processing"

    def __post_init__(self) -> None:
        positive(self.sensitivity, "the L2 sensitivity")
        positive(self.sigma, "sigma")
        dyadic_grid(self.step)

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

    def release(self, value: ArrayLike, source: Source | None = None) -> Any:  # noqa: ANN401 - array or scalar
        """Independent noise on every coordinate; multiples of the grid."""
        flat, shape = reals(value, "the value")
        draws = (
            [self._draw(x, 1, source)[0] for x in flat]
            if len(set(flat)) > 1
            else self._draw(flat[0], len(flat), source)
        )
        return np.asarray(draws, dtype=np.float64).reshape(shape)[()]

    def releases(self, value: Exact, size: int, source: Source | None = None) -> NDArray[np.float64]:
        (center,), _ = reals(np.asarray(value, dtype=object), "the value")
        return self._draw(center, size, source)

    def _draw(self, center: Fraction, size: int, source: Source | None) -> NDArray[np.float64]:
        return exact.normal(source or SYSTEM, center, Fraction(self.sigma) ** 2, size, self.step)

    def log_density(self, value: float, released: ArrayLike) -> NDArray[np.float64]:
        """−(y−x)²/(2σ²) − ln(σ√(2π)), of the ideal draw"""
        z = (np.asarray(released, dtype=np.float64) - value) / float(self.sigma)
        return np.asarray(-z * z / 2 - np.log(float(self.sigma) * np.sqrt(2 * np.pi)))

    def hockey_stick(self, value: Exact, neighbour: Exact, epsilon: Exact) -> float:
        """Of the ideal draws: split where the likelihood ratio is e^ε, at (x+x')/2 + εσ²/(x−x')"""
        x, y, s = Fraction(value), Fraction(neighbour), Fraction(self.sigma)
        cuts = [(x + y) / 2 + epsilon_point(epsilon) * s * s / (x - y)] if x != y else []
        with precision(BITS):
            return floor(line_divergence(_normal_below(x, s), _normal_below(y, s), cuts, epsilon))

    def tail_probability(self, threshold: Exact, coordinates: int = 1) -> float:
        """P(‖noise‖_∞ ≥ x) = 1 − erf(x/(σ√2))^k for the ideal draw, rounded up"""
        with precision(BITS):
            z = ball(positive(threshold, "the threshold") / Fraction(self.sigma)) / arb(2).sqrt()
            return ceiling(1 - (1 - z.erfc()) ** whole(coordinates, "the number of coordinates"))

    def tail_bound(self, probability_above: Exact, coordinates: int = 1) -> float:
        """P(‖release − x‖_∞ ≥ σ√(2 ln(k/t)) + g/2) ≤ t, as 2Q(x) ≤ e^{−x²/2} [N19 Prop. 3.16, filled in]."""
        t, k = (
            probability(probability_above, "the tail probability"),
            whole(coordinates, "the number of coordinates"),
        )
        with precision(BITS):
            return ceiling(ball(Fraction(self.sigma)) * (2 * ball(k / t).log()).sqrt() + ball(self.step / 2))


def _normal_below(center: Fraction, sigma: Fraction) -> Callable[[Fraction], arb]:
    """Φ((x−c)/σ)"""
    return lambda x: (ball((center - x) / sigma) / arb(2).sqrt()).erfc() / 2
