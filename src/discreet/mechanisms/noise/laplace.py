"""Laplace noise: on reals, the ideal draw rounded to a public grid; on integers, the discrete law."""

from __future__ import annotations

from collections.abc import Sequence
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
    tail_of,
    whole,
)
from discreet.mechanisms.noise.base import (
    BITS,
    IntegerNoise,
    RealNoise,
    at_least,
    finite_divergence,
    laplace_below,
    laplace_crossings,
    line_divergence,
)
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import PureDP
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source

# ── Ideal Laplace draws rounded to integers, exactly: binary digits of an exponential are independent.
FIRST_DIGITS = 20  # how much finer than a cell the first look is: 1 draw in 2^20 is refined


def laplace_cells(source: Source, centers: Sequence[Fraction], scale: Fraction) -> list[int]:
    """⌊c_i + b·L_i + ½⌋ for independent standard Laplace L_i; scale and centers in units of the grid.

    L lies in (k, k+1)/t with probability ∝ exp(−m/t), m the lesser of |k|, |k+1|. Where that interval
    straddles a cell edge, further digits of L are drawn until it does not; nothing is ever redrawn.
    """
    t = 2 ** min(max(_log2_above(scale) + FIRST_DIGITS, 0), 39)
    width = scale / t
    cells = []
    for center, k in zip(centers, _intervals(source, t, len(centers)).tolist(), strict=True):
        # in plain integers, for this is the inner loop: low = center + ½ + k·width over one denominator
        unit = 2 * center.denominator * width.denominator
        size = 2 * center.denominator * width.numerator
        low = (2 * center.numerator + center.denominator) * width.denominator + k * size
        cell = low // unit
        inside = low + size <= (cell + 1) * unit
        cells.append(cell if inside else _refine(source, Fraction(low, unit), width, t, positive=k >= 0))
    return cells


def _log2_above(x: Fraction) -> int:
    return x.numerator.bit_length() - x.denominator.bit_length() + 1


def _intervals(source: Source, t: int, size: int) -> NDArray[np.int64]:
    """Signed index k of the interval (k, k+1)/t: m ≥ 0 for positive L, −m−1 for negative, P ∝ exp(−m/t).

    From the discrete Laplace law, whose 0 must count twice: all else is kept with probability ½.
    """
    kept: list[NDArray[np.int64]] = []
    while (missing := size - sum(part.size for part in kept)) > 0:
        draws = exact.discrete_laplace(source, t, 2 * missing + 16)
        coins = exact.uniform_integers(source, 2, draws.size)
        signed = np.where(draws < 0, draws - 1, np.where(draws == 0, -coins, draws))
        kept.append(signed[(draws == 0) | (coins == 1)][:missing])
    return np.concatenate([np.empty(0, dtype=np.int64), *kept])


def _refine(source: Source, low: Fraction, width: Fraction, t: int, *, positive: bool) -> int:
    """Halve by digits of |L|·t, P(digit_j = 1) = 1/(1 + exp(2^-j/t)), until all of it has one floor."""
    decay = Fraction(1, t)
    while (cell := low.__floor__()) + 1 < low + width:
        width, decay = width / 2, decay / 2
        if _far_half(source, decay) == positive:
            low += width
    return cell


def _far_half(source: Source, decay: Fraction) -> bool:
    """P = e^{−γ}/(1 + e^{−γ}): heads of a fair coin must be confirmed with probability e^{−γ}, else again."""
    while exact.uniform_integers(source, 2, 1)[0]:
        if exact.bernoulli_exp(source, decay, 1)[0]:
            return True
    return False


# ── laplace
FINENESS = 20  # the default grid is 2^-20 of the noise scale


def default_grid(scale: Fraction) -> Fraction:
    """Largest power of two at or below scale·2^-20: public, as the scale is."""
    power = Fraction(1 << scale.numerator.bit_length(), 1 << scale.denominator.bit_length())
    return (power if power <= scale else power / 2) * Fraction(1, 1 << FINENESS)


def pure(sensitivity: Exact, scale: Exact) -> float:
    """Δ/b, rounded up"""
    with precision(128):
        return ceiling(ball(Fraction(sensitivity) / Fraction(scale)))


@final
@dataclass(frozen=True)
class Laplace(RealNoise):
    """round_g(x + Laplace(b)): ε = Δ₁/b for every real x, because rounding the ideal draw is post-processing.

    The sum is rounded and not the summands: rounding x first would add a grid step to its sensitivity.
    """

    sensitivity: Exact  # L1, over all coordinates
    scale: Exact
    grid: Exact | None = None  # public; None takes the power of two near scale·2^-20
    name: ClassVar[str] = "laplace"
    theorem: ClassVar[str] = "Dwork, McSherry, Nissim, Smith 2006, Prop. 1; N19 Prop. 3.6; post-processing"

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

    def _noisy(self, centers: list[Fraction], source: Source | None) -> NDArray[np.float64]:
        g = self.step
        cells = laplace_cells(source or SYSTEM, [x / g for x in centers], Fraction(self.scale) / g)
        return np.array([k * g.numerator / g.denominator for k in cells])  # int/int rounds once, to nearest

    def log_density(self, value: float, released: ArrayLike) -> NDArray[np.float64]:
        """−|y−x|/b − ln 2b, of the ideal draw"""
        b = float(self.scale)
        return np.asarray(-np.abs(np.asarray(released, dtype=np.float64) - value) / b - np.log(2 * b))

    def hockey_stick(self, value: Exact, neighbour: Exact, epsilon: Exact) -> float:
        """Of the ideal draws, which bounds that of the rounded ones; 1 − e^{(ε−d/b)/2} at distance d."""
        b = Fraction(self.scale)
        left, right = Fraction(value), Fraction(neighbour)
        cuts = laplace_crossings((left, b), (right, b), float(epsilon_point(epsilon)))
        with precision(BITS):
            return at_least(line_divergence(laplace_below(left, b), laplace_below(right, b), cuts, epsilon))

    def tail_probability(self, threshold: Exact, coordinates: int = 1) -> float:
        """P(‖noise‖_∞ ≥ x) = 1 − (1 − e^{−x/b})^k for the ideal draw, rounded up"""
        with precision(BITS):
            one = ball(-positive(threshold, "the threshold") / Fraction(self.scale)).exp()
            return ceiling(1 - (1 - one) ** whole(coordinates, "the number of coordinates"))

    def tail_bound(self, probability_above: Exact, coordinates: int = 1) -> float:
        """P(‖release − x‖_∞ ≥ b ln(k/t) + g/2) ≤ t [N19 Prop. 3.7, and half a grid cell of rounding]."""
        t, k = tail_of(probability_above, coordinates)
        with precision(BITS):
            return ceiling(ball(Fraction(self.scale)) * ball(k / t).log() + ball(self.step / 2))


@final
@dataclass(frozen=True)
class DiscreteLaplace(IntegerNoise):
    """x + Z, P(Z = z) = tanh(1/(2b)) e^{−|z|/b} on the integers: ε = Δ₁/b [Ghosh et al. 2012]."""

    sensitivity: int  # L1, over all coordinates
    scale: Exact
    name: ClassVar[str] = "discrete_laplace"
    theorem: ClassVar[str] = "Ghosh, Roughgarden, Sundararajan 2012, Thm 3.1"

    def __post_init__(self) -> None:
        whole(self.sensitivity, "the L1 sensitivity of integers")
        integer_noise(positive(self.scale, "the noise scale") ** 2)

    @classmethod
    def calibrate(cls, *, target: Guarantee, sensitivity: int) -> Self:
        relation = target.relation
        whole(sensitivity, "the L1 sensitivity of integers")

        def promised(scale: float) -> PureDP:
            return PureDP(pure(sensitivity, scale), relation=relation)

        scale = least_noise(promised, target, widest=WIDEST_DISCRETE)
        return cls(sensitivity, scale, relation=relation)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(pure(self.sensitivity, self.scale), relation=self.relation)

    def _noise(self, source: Source, size: int) -> NDArray[np.int64]:
        return exact.discrete_laplace(source, self.scale, size)

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
        t, k = tail_of(probability_above, coordinates)
        with precision(BITS):
            log = (ball(2 * k / t) / (1 + ball(-1 / Fraction(self.scale)).exp())).log()
            return max(1, int((ball(Fraction(self.scale)) * log).ceil().upper().unique_fmpz()))
