"""Bayesian linear regression: normal–inverse-gamma weights and noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.exact_fields import Grid, Rational, exactly
from discreet.families.family import (
    Floats,
    Integers,
    Sensitivity,
    integers,
    one_vector,
    table_size,
    to_project,
)
from discreet.families.laws.linear_regression import RegressionLaw
from discreet.families.laws.matrices import floats, nearest_semidefinite, pack, squares, unpack, unpack_exact
from discreet.families.vector import InBall
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation


@final
@dataclass(frozen=True, repr=False, init=False)
class BayesianLinearRegression(InBall, RegressionLaw):
    """σ² ~ IG(a, b), w|σ² ~ N(m, σ²P⁻¹), y|x ~ N(xᵀw, σ²); a record is z = (x, y), ‖z‖ ≤ radius; θ = (w, σ²).

    S = Σqqᵀ packed holds XᵀX, Xᵀy and yᵀy. Likelihood and predictive (Student t of y given x) are those of
    unclipped rows; an intercept is a column of ones.
    """

    name: ClassVar[str] = "bayesian_linear_regression"
    radius: Rational = Rational()  # noqa: RUF009 - a descriptor
    grid: Grid = Grid(lambda model: (-model.radius, model.radius))  # noqa: RUF009

    def __init__(  # noqa: PLR0917 - as a dataclass would; a field cannot share its name with the method `mean`
        self,
        mean: Sequence[Exact],
        precision: Sequence[Sequence[Exact]],
        shape: Exact,
        scale: Exact,
        radius: Exact,
        grid: Exact | None = None,
    ) -> None:
        given = {"location": mean, "precision": precision, "shape": shape, "scale": scale, "radius": radius}
        for field, value in {**given, "grid": grid}.items():
            object.__setattr__(self, field, value)
        if len(self.precision) != self.dimension:
            raise ValueError(
                f"mean has {self.dimension} coordinates, precision has {len(self.precision)} rows"
            )
        _ = self.ball

    # --- data side ------------
    def statistic(self, data: ArrayLike) -> Integers:
        """Sum over rows z = (x₁, …, x_d, y)."""
        return self.ball.second_moments(self.ball.integers(data, self.dimension + 1))

    def each(self, data: ArrayLike) -> Integers:
        return squares(self.ball.integers(data, self.dimension + 1))

    @property
    def units(self) -> Floats:
        D = self.dimension + 1
        return np.full(D * (D + 1) // 2, float(self.grid**2))

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """One record: L2 ≤ ‖qqᵀ‖_F = R², L∞ = R², exact; L1 ≤ ½(s²+R²), s = ⌊√(d+1)·R⌋.

        Two: ‖qqᵀ−q'q'ᵀ‖_F² = a²+b²−2(q·q')² ≤ 2R⁴, exact (orthogonal records); L1 twice the above, L∞ = R².
        """
        R = self.ball.largest
        l1 = (math.isqrt((self.dimension + 1) * R**2) ** 2 + R**2) // 2
        if relation.replaces:
            return Sensitivity.of(2 * l1, 2 * R**4, R**2)
        return Sensitivity.of(l1, R**4, R**2)

    def check(self, statistic: ArrayLike, n: int) -> Integers:
        whole = integers(statistic, self.units.size)
        moments, most = floats(unpack_exact(whole)), table_size(n) * self.count_unit
        if moments.trace() > most or np.linalg.eigvalsh(moments)[0] < -1e-9 * most:
            raise ValueError(
                "no n rows within the radius have these moments; project a noisy statistic first"
            )
        return np.array(whole, dtype=np.int64)

    def project(self, statistic: ArrayLike, n: float) -> Floats:
        """Nearest semidefinite matrix, its trace at most nR²."""
        moments = unpack(one_vector(statistic, self.units.size))
        return pack(nearest_semidefinite(moments, float(to_project(n) * self.count_unit)))

    # --- prior and posterior ------------
    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        moments, count = self._weighted(statistic, n, weight)
        prior = self._exact_natural()
        added = zip(prior, unpack_exact(moments), strict=True)
        eta = tuple(tuple(a + b for a, b in zip(p, q, strict=True)) for p, q in added)
        return self._from_exact(eta, 2 * exactly(self.shape) + count)
