"""AdaSSP: ridge regression from noisy moments, the ridge chosen privately. A point, for comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import log, sqrt
from statistics import NormalDist
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import public_size, root_above
from discreet.families.laws.matrices import unpack
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.mechanisms.mechanism import Mechanism, integers, least_noise, positive
from discreet.mechanisms.noise.gaussian import FINEST, Gaussian
from discreet.mechanisms.noise.laplace import default_grid
from discreet.numerics.search import greatest_near
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation
from discreet.privacy.kinds import GaussianDP
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True, eq=False)
class RidgeFit:
    """w = (XᵀX + N + λI)⁻¹(Xᵀy + n) and λ, in the units of the family's rows."""

    weights: NDArray[np.float64]
    ridge: float
    guarantee: Guarantee
    seeded: bool


@final
@dataclass(frozen=True, kw_only=True)
class AdaSSP(Mechanism):
    """λ_min(XᵀX), XᵀX and Xᵀy with Gaussian noise; λ = max(0, σ₂√(d ln(2d²/ρ)) − λ̃) [Wang 2018, Alg. 2].

    Rows z = (x, y), ‖z‖ ≤ R: λ_min moves by at most R² (Weyl), XᵀX by √2R² in Frobenius norm (R² for one
    record more), Xᵀy by R² (R²/2), since ‖x‖|y| ≤ R²/2. No record moves all of them that far: `cost` is what
    one moves at most of the three together. λ_min is rounded down to a whole unit, exactly, and so moves no
    further than R² either.
    """

    name: ClassVar[str] = "adassp"
    theorem: ClassVar[str] = "Wang 2018 Alg. 2; DRS22 Thm 2.7 for each Gaussian release, Cor. 3.3 for all"

    model: BayesianLinearRegression = field(kw_only=False)
    n: int | None = None
    scales: tuple[
        Exact, Exact, Exact
    ]  # σ of λ_min, of XᵀX (√½ of it off the diagonal), of Xᵀy; integer units
    failure: float = 0.05  # ρ, of the bound behind λ
    relation: Relation = SUBSTITUTE

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        object.__setattr__(self, "scales", tuple(self.scales))
        if len(self.scales) != 3:
            raise ValueError(f"three moments are noised, got {len(self.scales)} scales")
        for scale in self.scales:
            positive(scale, "every scale")
        if not 0 < self.failure < 0.5:
            raise ValueError(f"failure must be a probability below 1/2, got {self.failure!r}")

    @classmethod
    def calibrate(
        cls,
        model: BayesianLinearRegression,
        *,
        n: int | None = None,
        target: Guarantee,
        failure: float = 0.05,
    ) -> Self:
        """Return the least noise that meets the target, Δ²/σ² alike for each release."""
        squares = moves(model, target.relation)

        def at(noise: float) -> Self:
            scales = tuple(Fraction(root_above(square)) * Fraction(noise) for square in squares)
            return cls(model, n=n, scales=scales, failure=failure, relation=target.relation)  # type: ignore[arg-type]

        return at(least_noise(lambda noise: at(noise).guarantee, target))

    @property
    def knob(self) -> tuple[str, float]:
        return "scale", float(self.scales[1])

    @property
    def guarantee(self) -> GaussianDP:
        """μ² = sup ΣΔ²/σ² over one record"""
        fourth = Fraction(self.model.ball.largest) ** 4
        least, second, mixed = (1 / Fraction(scale) ** 2 for scale in self.scales)
        return GaussianDP.from_square(
            fourth * cost(least, second, mixed, self.relation), relation=self.relation
        )

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> RidgeFit:
        """Fit the family's statistic Σzzᵀ; n is not needed."""
        del count
        bits, d = source or SYSTEM, self.model.dimension
        exact = _square(integers(value, "the moments"), d + 1)
        least, second, mixed = (Fraction(scale) for scale in self.scales)
        smallest = float(_noisy([least_eigenvalue(exact[:d, :d])], least**2, bits)[0])
        rows, columns = np.triu_indices(d)
        packed, diagonal = np.empty(rows.size), rows == columns
        packed[diagonal] = _noisy(exact.diagonal()[:d].tolist(), second**2, bits)
        if d > 1:
            upper = exact[rows[~diagonal], columns[~diagonal]].tolist()
            packed[~diagonal] = _noisy(upper, second**2 / 2, bits)
        right = _noisy(exact[:d, d].tolist(), mixed**2, bits)
        ridge = self.ridge(smallest)
        weights = np.linalg.solve(unpack(packed) + ridge * np.eye(d), right)
        return RidgeFit(
            np.asarray(weights, dtype=np.float64),
            ridge * float(self.model.grid) ** 2,
            self.guarantee,
            bits.seeded,
        )

    def ridge(self, smallest: float) -> float:
        """λ, from the noisy λ_min less its noise's quantile."""
        d = self.model.dimension
        sure = max(0.0, smallest - float(self.scales[0]) * NormalDist().inv_cdf(1 - self.failure))
        return max(0.0, float(self.scales[1]) * sqrt(d * log(2 * d**2 / self.failure)) - sure)


def moves(model: BayesianLinearRegression, relation: Relation) -> tuple[Fraction, Fraction, Fraction]:
    """Δ² of λ_min, of XᵀX in Frobenius norm, of Xᵀy; in integer units, attained but for rounding."""
    fourth = Fraction(model.ball.largest) ** 4
    return (fourth, 2 * fourth, fourth) if relation is SUBSTITUTE else (fourth, fourth, fourth / 4)


def cost(least: Fraction, second: Fraction, mixed: Fraction, relation: Relation) -> Fraction:
    """Bound w₀Δλ² + w₂‖ΔXᵀX‖² + w₁‖ΔXᵀy‖² over one record in the unit ball, w = σ⁻² [theory §9].

    One more, ‖x‖² = t: attained by t = 1, or where (w₀ + w₂)t² + w₁t(1 − t) has its top. One in another's
    place: w₀ + 2·max(w₂, w₁/2), as ‖Δzzᵀ‖² = ‖ΔXᵀX‖² + 2‖ΔXᵀy‖² + (Δyᵀy)² ≤ 2.
    """
    if relation is SUBSTITUTE:
        return least + max(2 * second, mixed)
    whole = least + second
    return whole if mixed <= 2 * whole else mixed**2 / (4 * (mixed - whole))


def _square(packed: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    if packed.shape != (side * (side + 1) // 2,):
        raise ValueError(f"the moments of {side} columns are {side * (side + 1) // 2} integers")
    square = np.zeros((side, side), np.int64)
    rows, columns = np.triu_indices(side)
    square[rows, columns] = square[columns, rows] = packed
    return square


def least_eigenvalue(matrix: NDArray[np.int64]) -> int:
    """Return the largest integer below λ_min, at least 0, proved by exact elimination, not by doubles."""
    exact: list[list[int]] = matrix.tolist()
    guess = int(np.linalg.eigvalsh(matrix.astype(np.float64))[0])
    return greatest_near(lambda shift: _definite(exact, shift), guess, 0, None)


def _definite(matrix: list[list[int]], shift: int) -> bool:
    """Whether matrix − shift·I is positive definite: its leading minors, by Bareiss' integer elimination."""
    a: list[list[Any]] = [[x - shift * (i == j) for j, x in enumerate(row)] for i, row in enumerate(matrix)]
    before = 1
    for k, pivot in enumerate(a):
        if pivot[k] <= 0:
            return False
        for row in a[k + 1 :]:
            for j in range(len(a) - 1, k - 1, -1):
                row[j] = (row[j] * pivot[k] - row[k] * pivot[j]) // before
        before = pivot[k]
    return True


def _noisy(values: list[int], variance: Fraction, source: Source) -> NDArray[np.float64]:
    sigma = Fraction(root_above(variance))
    usual = default_grid(sigma)
    noiser = Gaussian(1, sigma, min(usual, Fraction(1)) if sigma <= 2**FINEST else usual)
    return np.asarray(noiser.release(np.array(values, dtype=np.int64), source), dtype=np.float64)
