"""PASS: a regression on signs through the two moments that a quadratic approximation of its loss needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import double_above, public_size, root_above
from discreet.families.laws.matrices import unpack
from discreet.mechanisms.mechanism import (
    WIDEST,
    WIDEST_DISCRETE,
    ModelMechanism,
    integers,
    least_noise,
    positive,
)
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.noise.gaussian import FINEST, DiscreteGaussian, Gaussian
from discreet.mechanisms.noise.laplace import default_grid
from discreet.mechanisms.regression.noisy_moments import NoisyMoments
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Logistic
from discreet.models.regression_records import grid, length_square
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation
from discreet.privacy.kinds import GaussianDP, ZeroCDP
from discreet.sampling.source import SYSTEM, Source

KINDS = ("gaussian", "discrete_gaussian")


@final
@dataclass(frozen=True, kw_only=True)
class PolynomialStatistics(ModelMechanism):
    """Σr + N(0, σ₁²I) and Σrrᵀ + GOE(σ₂²), r = yx, ‖r‖ ≤ C [Huggins, Adams, Broderick 2017].

    Off the diagonal the noise has σ₂²/2, since ‖rrᵀ‖_F counts those entries twice. μ² is the supremum of
    ‖Δ₁‖²/σ₁² + ‖Δ₂‖_F²/σ₂² over one record (`cost`). Discrete noise is promised as zCDP, ρ = μ²/2.
    """

    name: ClassVar[str] = "polynomial_statistics"
    theorem: ClassVar[str] = "DRS22 Thm 2.7 (CKS20 Thm 14 if discrete); post-processing"
    reads: ClassVar[str] = "moments"

    model: GeneralizedLinear = field(kw_only=False)
    n: int | None = None
    first_scale: Exact  # σ₁, in units of x
    second_scale: Exact  # σ₂, in units of x²
    noise: str = "gaussian"
    quadratic: tuple[float, float] | None = None  # of a declared loss: φ(s, y) ≈ slope·ys + bend·s²/2
    relation: Relation = SUBSTITUTE

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        _refuse_loss(self.model, self.quadratic)
        if self.noise not in KINDS:
            raise ValueError(f"unknown noise {self.noise!r}; known: {', '.join(KINDS)}")
        _ = self.noisers

    @classmethod
    def calibrate(
        cls,
        model: GeneralizedLinear,
        *,
        n: int | None = None,
        target: Guarantee,
        noise: str = "gaussian",
        balance: Exact | None = None,
        quadratic: tuple[float, float] | None = None,
    ) -> Self:
        """Least noise whose certified guarantee meets the target; k = `balance` = σ₂²/(2C²σ₁²) by a rule."""
        k = usual_balance(model, target.relation) if balance is None else float(positive(balance, "balance"))
        ratio = 1 / sqrt(2 * k * float(length_square(model) * grid(model) ** 2))

        def at(scale: float) -> Self:
            return cls(
                model,
                n=n,
                first_scale=scale * ratio,
                second_scale=scale,
                noise=noise,
                quadratic=quadratic,
                relation=target.relation,
            )

        unit = float(grid(model)) ** 2  # the search is in integer units, near 2^30
        widest = WIDEST if noise == "gaussian" else WIDEST_DISCRETE / max(1.0, ratio * sqrt(unit))
        return at(least_noise(lambda s: at(s * unit).guarantee, target, widest=widest) * unit)

    @property
    def steps(self) -> tuple[Fraction, Fraction]:
        """σ₁ and σ₂ in units of the integers that are noised."""
        g = grid(self.model)
        return (
            positive(self.first_scale, "first_scale") / g,
            positive(self.second_scale, "second_scale") / g**2,
        )

    @property
    def guarantee(self) -> Guarantee:
        """What the release promises for one row; every reading of it, however often, is free."""
        square = cost(length_square(self.model), *self.steps, self.relation)
        if self.noise == "gaussian":
            return GaussianDP.from_square(square, relation=self.relation)
        return ZeroCDP(double_above(square / 2), relation=self.relation)

    @property
    def noisers(self) -> tuple[BasicMechanism, ...]:
        """The noise of Σr, of the diagonal of Σrrᵀ, and off it."""
        first, second = self.steps
        return tuple(_noiser(self.noise, square) for square in (first**2, second**2, second**2 / 2))

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> NoisyMoments:
        """Noise (Σr, Σrrᵀ packed) once, as models.signed_moments has them; n is not needed."""
        del count
        bits, d = source or SYSTEM, self.model.dimension
        exact = integers(value, "the moments")
        if exact.shape != (d + d * (d + 1) // 2,):
            raise ValueError(f"the moments of {d} columns are {d + d * (d + 1) // 2} integers")
        noisy = self._noisy(exact, bits)
        g, second = grid(self.model), float(self.second_scale)
        return NoisyMoments(
            model=self.model,
            first=noisy[:d] * float(g),
            second=unpack(noisy[d:]) * float(g**2),
            first_noise=float(self.first_scale),
            second_noise=second,
            n=self.n,
            guarantee=self.guarantee,
            seeded=bits.seeded,
            quadratic=self.quadratic,
        )

    def _noisy(self, exact: NDArray[np.int64], source: Source) -> NDArray[np.float64]:
        d = self.model.dimension
        rows, columns = np.triu_indices(d)
        parts = np.concatenate([np.zeros(d, np.int64), np.where(rows == columns, 1, 2)])
        noisy = np.empty(exact.size)
        for part, noiser in enumerate(self.noisers):
            if (parts == part).any():  # one column has nothing off the diagonal
                noisy[parts == part] = noiser.release(exact[parts == part], source)
        return noisy


def _noiser(noise: str, variance: Fraction) -> BasicMechanism:
    """Gaussian noise on integers; the guarantee is that of the whole, hence a sensitivity of 1 stands here.

    A grid of whole steps, where noise is narrow enough for one, lets all entries share a call.
    """
    if noise == "discrete_gaussian":
        return DiscreteGaussian(1, variance)
    sigma = Fraction(root_above(variance))
    usual = default_grid(sigma)
    return Gaussian(1, sigma, min(usual, Fraction(1)) if sigma <= 2**FINEST else usual)


def cost(square: int, first: Fraction, second: Fraction, relation: Relation) -> Fraction:
    """μ² = sup ‖Δ₁‖²w + ‖Δ₂‖_F²v, w = σ₁⁻², v = σ₂⁻², over records of ‖r‖² ≤ C² = `square`; attained.

    One more: C²w + C⁴v. One in another's place: with t = r·r' it is 2(C² − t)w + 2(C⁴ − t²)v, largest where
    t = −min(w/2v, C²): 2C⁴v(1 + k)², k = w/(2vC²), if k ≤ 1, and 4C²w else.
    """
    w, v = 1 / first**2, 1 / second**2
    if relation is not SUBSTITUTE:
        return square * w + square**2 * v
    k = w / (2 * v * square)
    return 2 * square**2 * v * (1 + k) ** 2 if k <= 1 else 4 * square * w


BEND = 0.15  # b of the quadratic that stands for the logistic loss where margins are about 2


def usual_balance(model: GeneralizedLinear, relation: Relation) -> float:
    """Return k that minimises the noise of the gradient at ‖w‖ = R/2, σ₁²/4 + (b‖w‖)²σ₂²/2, given μ.

    With q = 2(bRC)²: k = 1/√q for one record more, and the root of qk² + k = 1 for one in another's place.
    """
    q = 2 * (BEND * float(model.radius)) ** 2 * float(length_square(model) * grid(model) ** 2)
    return 1 / sqrt(q) if relation is not SUBSTITUTE else 2 / (1 + sqrt(1 + 4 * q))


def _refuse_loss(model: GeneralizedLinear, quadratic: tuple[float, float] | None) -> None:
    if isinstance(model.loss, Logistic) and quadratic is None:
        return
    if quadratic is not None and model.loss.name == "declared":
        slope, bend = quadratic
        if np.isfinite(slope) and 0 < bend < np.inf:
            return
        raise ValueError(f"quadratic is (slope, bend) with a finite slope and bend > 0, got {quadratic}")
    raise ValueError(
        f"polynomial statistics know the logistic loss; for another of answers ±1, here {model.loss.name!r}, "
        "declare it as a DeclaredLoss and give quadratic=(slope, bend), φ(s, y) ≈ slope·ys + bend·s²/2, or "
        "choose objective_perturbation"
    )
