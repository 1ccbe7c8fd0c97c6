"""Laplace noise: on reals, the ideal draw rounded to a public grid; on integers, the discrete law."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from discreet.mechanisms.basic import BasicMechanism
from discreet.mechanisms.calibration import least_noise
from discreet.mechanisms.checks import positive, probability, reals, whole
from discreet.mechanisms.laplace_cells import laplace_cells
from discreet.mechanisms.laws import (
    BITS,
    laplace_below,
    laplace_crossings,
    line_divergence,
)
from discreet.privacy.certified import Exact, ball, ceiling, floor, precision
from discreet.privacy.guarantees import PureDP
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.privacy.guarantee import Guarantee
    from discreet.sampling.source import Source

FINENESS = 20  # the default grid is 2^-20 of the noise scale


def default_grid(scale: Fraction) -> Fraction:
    """Largest power of two at or below scale·2^-20: public, as the scale is."""
    power = Fraction(2 ** scale.numerator.bit_length(), 2 ** scale.denominator.bit_length())
    return (power if power <= scale else power / 2) / 2**FINENESS


def pure(sensitivity: Exact, scale: Exact) -> float:
    """Δ/b, rounded up"""
    with precision(128):
        return ceiling(ball(Fraction(sensitivity) / Fraction(scale)))


@final
@dataclass(frozen=True)
class Laplace(BasicMechanism):
    """round_g(x + Laplace(b)): ε = Δ₁/b for every real x, because rounding the ideal draw is post-processing.

    The sum is rounded and not the summands: rounding x first would add a grid step to its sensitivity.
    """

    sensitivity: Exact  # L1, over all coordinates
    scale: Exact
    grid: Exact | None = None  # public; None takes the power of two near scale·2^-20
    name: ClassVar[str] = "laplace"
    theorem: ClassVar[str] = "Dwork, McSherry, Nissim, Smith 2006, Prop. 1; N19 Prop. 3.5; post-processing"

    def __post_init__(self) -> None:
        positive(self.sensitivity, "the L1 sensitivity")
        positive(self.scale, "the noise scale")
        positive(self.step, "the grid")

    @classmethod
    def calibrate(cls, *, target: Guarantee, sensitivity: Exact, grid: Exact | None = None) -> Self:
        relation = target.relation
        positive(sensitivity, "the L1 sensitivity")
        scale = least_noise(lambda b: PureDP(pure(sensitivity, b), relation=relation), target)
        return cls(sensitivity, scale, grid, relation=relation)

    @property
    def step(self) -> Fraction:
        """The grid in use."""
        return default_grid(Fraction(self.scale)) if self.grid is None else Fraction(self.grid)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(pure(self.sensitivity, self.scale), relation=self.relation)

    def release(self, value: ArrayLike, source: Source | None = None) -> Any:  # noqa: ANN401 - array or scalar
        """Independent noise on every coordinate; multiples of the grid, as the nearest doubles."""
        flat, shape = reals(value, "the value")
        return self._noisy(flat, source).reshape(shape)[()]

    def releases(self, value: Exact, size: int, source: Source | None = None) -> NDArray[np.float64]:
        (center,), _ = reals(np.asarray(value, dtype=object), "the value")
        return self._noisy([center] * size, source)

    def _noisy(self, centers: list[Fraction], source: Source | None) -> NDArray[np.float64]:
        g = self.step
        cells = laplace_cells(source or SYSTEM, [x / g for x in centers], Fraction(self.scale) / g)
        return np.array([float(k * g) for k in cells])

    def log_density(self, value: float, released: ArrayLike) -> NDArray[np.float64]:
        """−|y−x|/b − ln 2b, of the ideal draw"""
        b = float(self.scale)
        return np.asarray(-np.abs(np.asarray(released, dtype=np.float64) - value) / b - np.log(2 * b))

    def hockey_stick(self, value: Exact, neighbour: Exact, epsilon: Exact) -> float:
        """Of the ideal draws, which bounds that of the rounded ones; 1 − e^{(ε−d/b)/2} at distance d."""
        b = Fraction(self.scale)
        left, right = Fraction(value), Fraction(neighbour)
        cuts = laplace_crossings((left, b), (right, b), float(epsilon))
        with precision(BITS):
            return floor(line_divergence(laplace_below(left, b), laplace_below(right, b), cuts, epsilon))

    def tail_probability(self, threshold: Exact, coordinates: int = 1) -> float:
        """P(‖noise‖_∞ ≥ x) = 1 − (1 − e^{−x/b})^k for the ideal draw, rounded up"""
        with precision(BITS):
            one = ball(-positive(threshold, "the threshold") / Fraction(self.scale)).exp()
            return ceiling(1 - (1 - one) ** whole(coordinates, "the number of coordinates"))

    def tail_bound(self, probability_above: Exact, coordinates: int = 1) -> float:
        """P(‖release − x‖_∞ ≥ b ln(k/t) + g/2) ≤ t [N19 Prop. 3.7, and half a grid cell of rounding]."""
        t, k = (
            probability(probability_above, "the tail probability"),
            whole(coordinates, "the number of coordinates"),
        )
        with precision(BITS):
            return ceiling(ball(Fraction(self.scale)) * ball(k / t).log() + ball(self.step / 2))
