"""Bayesian linear regression: normal–inverse-gamma weights and noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.exact_fields import Grid, Rational, exactly, rational, show
from discreet.families.family import (
    Floats,
    Integers,
    Sensitivity,
    integers,
    one_vector,
    root_above,
    table_size,
    to_project,
)
from discreet.families.laws.linear_regression import RegressionLaw
from discreet.families.laws.matrices import (
    floats,
    nearest_semidefinite,
    pack,
    squares,
    twice_off_diagonal,
    unpack,
    unpack_exact,
)
from discreet.families.named_columns import Feature, NamedColumns
from discreet.families.vector import InBall
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.privacy.kinds import PureDP

SHAPE, SCALE = Fraction(2), Fraction(1, 20)  # σ² ~ IG, of mean 1/20 for answers in [−1, 1]
SPREAD = Fraction(2)  # prior deviation of a weight: a feature's half range may move y by twice its own
NEEDED = (
    "give target= and features=, which take columns of a table by name, or mean, precision, shape, scale and "
    "radius of rows (x, y) as they are"
)


@final
@dataclass(frozen=True, repr=False, init=False)
class BayesianLinearRegression(InBall, RegressionLaw):
    """σ² ~ IG(a, b), w|σ² ~ N(m, σ²P⁻¹), y|x ~ N(xᵀw, σ²); a record is z = (x, y), ‖z‖ ≤ radius; θ = (w, σ²).

    Given `target` and `features` it reads columns of a table by name: numbers scaled to [−1, 1] by their
    public bounds, every level but the first as an indicator, and a constant of ½. Its posterior is in the
    units of the columns. m is 0, `spread` the prior deviation of a weight (at the mean of σ²), and longer
    rows than `radius` are scaled down to it, y with x.

    Otherwise rows are taken as they are, and an intercept is a column of ones. S = Σqqᵀ packed holds XᵀX, Xᵀy
    and yᵀy. Likelihood and predictive (Student t of y given x) are those of unclipped rows.
    """

    name: ClassVar[str] = "bayesian_linear_regression"
    radius: Rational = Rational()  # noqa: RUF009 - a descriptor
    grid: Grid = Grid(lambda model: (-model.radius, model.radius))  # noqa: RUF009
    named: NamedColumns | None = field(default=None, metadata={"json": "where there is one"})

    def __init__(  # noqa: PLR0917 - as a dataclass would; a field cannot share its name with the method `mean`
        self,
        mean: Sequence[Exact] | None = None,
        precision: Sequence[Sequence[Exact]] | None = None,
        shape: Exact | None = None,
        scale: Exact | None = None,
        radius: Exact | None = None,
        grid: Exact | None = None,
        *,
        target: str | None = None,
        features: Sequence[str] = (),
        intercept: bool = True,
        spread: Exact = SPREAD,
        named: NamedColumns | None = None,
    ) -> None:
        given = {"location": mean, "precision": precision, "shape": shape, "scale": scale, "radius": radius}
        if target is not None or features:
            columns = _columns(target, features, spread, radius, intercept=intercept)
            given, named = _by_rule(columns, given), columns
        if any(value is None for value in given.values()):
            missing = [self.spelled.get(name, name) for name, value in given.items() if value is None]
            raise TypeError(f"missing {', '.join(missing)}: {NEEDED}")
        for name, value in {**given, "grid": grid, "named": named}.items():
            object.__setattr__(self, name, value)
        if len(self.precision) != self.dimension:
            raise ValueError(
                f"mean has {self.dimension} coordinates, precision has {len(self.precision)} rows"
            )
        _ = self.ball

    def __repr__(self) -> str:
        if self.named is None:
            return super().__repr__()
        said = {name: getattr(self.named, name) for name in ("target", "features", "intercept", "spread")}
        said |= {name: getattr(self, name) for name in ("shape", "scale", "radius")}
        return f"{type(self).__name__}({', '.join(f'{name}={show(x)}' for name, x in said.items())})"

    def _arguments(self) -> dict[str, Any]:
        found = super()._arguments()
        return found if self.named is not None else {k: v for k, v in found.items() if k != "named"}

    def bind(self, design: Sequence[Feature], answer: Feature) -> Self:
        """Return the same model, its prior and its rule for what the schema makes of the columns."""
        if self.named is None:
            return self
        columns = replace(self.named, design=tuple(design), answer=answer)
        given = {"shape": self.shape, "scale": self.scale, "radius": columns.norm}
        prior = {self.spelled.get(k, k): v for k, v in _by_rule(columns, given).items()}
        return type(self)(**prior, named=columns)

    def like(self, other: Self) -> Self:
        """Return the model as bound to the columns that another one was bound to, where it names the same."""
        if self.named is None or other.named is None or self.named.columns != other.named.columns:
            return self
        bound = self.bind(other.named.design, other.named.answer)
        return bound if self.named.norm is not None else bound._with(radius=other.radius, grid=other.grid)  # noqa: SLF001

    def in_units(self) -> Self:
        """Return the law of (β, variance) per unit of the columns; only for reading: it has other records."""
        if self.named is None:
            return self
        units, scale = self.named.units, self.named.answer.half**2
        back = np.linalg.inv(units.turn)
        precision = scale * back.T @ self._parameters[1] @ back
        location = units.weights(np.array([float(x) for x in self.location]))
        return type(self)(
            location.tolist(),
            ((precision + precision.T) / 2).tolist(),
            self.shape,
            self.scale * Fraction(scale),
            self.radius,
        )

    def usual_noise(self, target: Guarantee) -> str:
        """Name the noise that suits many moments: Gaussian, unless a pure ε is asked for."""
        return super().usual_noise(target) if isinstance(target, PureDP) else "gaussian"

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

    @property
    def noise_shares(self) -> Floats:
        return 1 / twice_off_diagonal(self.dimension + 1)

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


# --- by name ------------
def _columns(
    target: str | None, features: Sequence[str], spread: Exact, norm: Exact | None, *, intercept: bool
) -> NamedColumns:
    if target is None:
        raise ValueError(f"features were given and no target: {NEEDED}")
    why = "it must be public"
    return NamedColumns(
        str(target),
        cast("tuple[str, ...]", features),
        bool(intercept),
        rational(spread, what="spread", why=why),
        None if norm is None else rational(norm, what="radius", why=why),
    )


def _by_rule(columns: NamedColumns, given: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in what was not given: m = 0, P so that every weight has the prior deviation `spread` at E σ²."""
    if given.get("location") is not None or given.get("precision") is not None:
        raise ValueError("target= and features= have their own prior: give spread=, not mean and precision")
    shape = SHAPE if given["shape"] is None else rational(given["shape"], what="shape")
    scale = SCALE if given["scale"] is None else rational(given["scale"], what="scale")
    each = (scale / (shape - 1) if shape > 1 else scale) / columns.spread**2
    weights = [each] * len(columns.design) + [each * columns.constant**2] * columns.intercept
    d = len(weights)
    return {
        "location": [0] * d,
        "precision": [[weights[i] if i == j else 0 for j in range(d)] for i in range(d)],
        "shape": shape,
        "scale": scale,
        "radius": root_above(columns.usual) if columns.norm is None else columns.norm,
    }
