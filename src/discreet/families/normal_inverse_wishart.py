"""Normal–inverse-Wishart: mean and covariance of several bounded columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.exact_fields import Grid, Rational, exactly, power_of_two_above
from discreet.families.family import (
    Floats,
    Integers,
    Sensitivity,
    integers,
    one_vector,
    table_size,
    to_project,
)
from discreet.families.laws.matrices import (
    floats,
    nearest_semidefinite,
    pack,
    squares,
    twice_off_diagonal,
    unpack,
    unpack_exact,
)
from discreet.families.laws.normal_inverse_wishart import NormalInverseWishartLaw
from discreet.families.vector import InBall
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation


@final
@dataclass(frozen=True, repr=False, init=False)
class NormalInverseWishart(InBall, NormalInverseWishartLaw):
    """Σ ~ IW(ν, Ψ), μ|Σ ~ N(m, Σ/κ), rows x ~ N(μ, Σ) clipped to ‖x‖ ≤ radius; θ = (μ, Σ packed), flat.

    S = (KΣq, Σqqᵀ packed), K a power of two near R/2, so that noise of one scale suits both orders.
    Likelihood and predictive (multivariate t) are those of unclipped rows.
    """

    name: ClassVar[str] = "normal_inverse_wishart"
    radius: Rational = Rational()  # noqa: RUF009 - a descriptor
    grid: Grid = Grid(lambda model: (-model.radius, model.radius))  # noqa: RUF009

    def __init__(  # noqa: PLR0917 - as a dataclass would; a field cannot share its name with the method `mean`
        self,
        mean: Sequence[Exact],
        strength: Exact,
        degrees: Exact,
        scale: Sequence[Sequence[Exact]],
        radius: Exact,
        grid: Exact | None = None,
    ) -> None:
        given = {"location": mean, "strength": strength, "degrees": degrees, "scale": scale, "radius": radius}
        for field, value in {**given, "grid": grid}.items():
            object.__setattr__(self, field, value)
        if len(self.scale) != self.dimension:
            raise ValueError(f"mean has {self.dimension} coordinates but scale has {len(self.scale)} rows")
        if not self.degrees > self.dimension - 1:
            raise ValueError(
                f"degrees must be above d − 1 = {self.dimension - 1}: the prior must be normalizable"
            )
        _ = self.ball

    # --- data side ------------
    def statistic(self, data: ArrayLike) -> Integers:
        q = self.ball.integers(data, self.dimension)
        return np.concatenate([self._balance * q.sum(axis=0), self.ball.second_moments(q)])

    def each(self, data: ArrayLike) -> Integers:
        q = self.ball.integers(data, self.dimension)
        return np.concatenate([self._balance * q, squares(q)], axis=1)

    @cached_property
    def _balance(self) -> int:
        """K ∈ [R/2, R)."""
        return max(1, int(power_of_two_above(Fraction(self.ball.largest, 2))))

    @property
    def units(self) -> Floats:
        g, d = float(self.grid), self.dimension
        return np.repeat([g / self._balance, g**2], [d, d * (d + 1) // 2])

    @property
    def noise_shares(self) -> Floats:
        return np.concatenate([np.ones(self.dimension), 1 / twice_off_diagonal(self.dimension)])

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """One record: L2² ≤ K²‖q‖² + ‖qqᵀ‖_F² ≤ K²R² + R⁴, L∞ = R², exact; L1 ≤ Ks + ½(s²+R²).

        s = ⌊√d·R⌋ bounds ‖q‖₁. Two: K²‖q−q'‖² + ‖qqᵀ−q'q'ᵀ‖_F² = a² + b² + K²(a+b) − 2c(c+K²), c = q·q', a
        and b ≤ R² the squared norms, hence L2² ≤ 2R⁴ + 2K²R² + ½K⁴; L1 ≤ twice the above; L∞ = max(2KR, R²).
        """
        R, d = self.ball.largest, self.dimension
        K, s = self._balance, math.isqrt(d * R**2)
        l1 = K * s + (s**2 + R**2) // 2
        if relation.replaces:
            return Sensitivity.of(2 * l1, 2 * R**4 + 2 * (K * R) ** 2 + K**4 // 2, max(2 * K * R, R**2))
        return Sensitivity.of(l1, R**4 + (K * R) ** 2, max(K * R, R**2))

    def check(self, statistic: ArrayLike, n: int) -> Integers:
        whole, d, K = integers(statistic, self.units.size), self.dimension, self._balance
        count, second = table_size(n), floats(unpack_exact(whole[d:]))
        first = np.array([x / K for x in whole[:d]])
        scatter = np.linalg.eigvalsh(second - np.outer(first, first) / max(count, 1))
        most = count * self.count_unit
        if any(x % K for x in whole[:d]) or second.trace() > most or scatter[0] < -1e-9 * most:
            raise ValueError(
                "no n rows within the radius have these moments; project a noisy statistic first"
            )
        return np.array(whole, dtype=np.int64)

    def project(self, statistic: ArrayLike, n: float) -> Floats:
        """‖Σq‖ ≤ nR; then Σqqᵀ − ΣqΣqᵀ/n to the nearest semidefinite matrix, trace at most nR² − ‖Σq‖²/n."""
        flat, d, K = one_vector(statistic, self.units.size), self.dimension, self._balance
        if to_project(n) == 0:
            return np.zeros(flat.size)
        longest = n * self.ball.largest
        first = flat[:d] / K * (longest / max(float(np.linalg.norm(flat[:d])) / K, longest))
        between = np.outer(first, first) / n
        scatter = nearest_semidefinite(unpack(flat[d:]) - between, n * self.count_unit - between.trace())
        return np.concatenate([K * first, pack(scatter + between)])

    # --- prior and posterior ------------
    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        moments, count = self._weighted(statistic, n, weight)
        first, second = self._exact_natural()
        added = unpack_exact(moments[self.dimension :])
        return self._from_exact(
            tuple(a + b for a, b in zip(first, moments, strict=False)),
            tuple(
                tuple(a + b for a, b in zip(p, q, strict=True)) for p, q in zip(second, added, strict=True)
            ),
            exactly(self.strength) + count,
            exactly(self.degrees) + count,
        )
