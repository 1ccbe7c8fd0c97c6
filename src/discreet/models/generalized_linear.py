"""Generalised linear models: what a row is, how long it may be, what the weights are. No noise, no SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

from discreet.families.exact_fields import Rational, power_of_two_above, show
from discreet.families.family import Sensitivity, root_above
from discreet.families.named_columns import Feature, Units, encoded, references
from discreet.families.records import Ball
from discreet.models.margin_losses import Logistic, MarginLoss
from discreet.privacy.guarantee import Relation

# ── Columns of a table as numbers of a row x: centred and scaled by public bounds, or one indicator a level.


# ── generalized linear
ROW_BITS = 20  # a row is on a grid of norm/2^20
CONSTANT = Fraction(1, 2)  # the intercept's column, relative to norm
NORM = (
    "it bounds how far one row can move the weights, so it must be public knowledge and never read from the "
    "data; with k features scaled to [−1, 1], norm=√k leaves every row as it is, and less means less noise"
)


@dataclass(frozen=True, repr=False)
class GeneralizedLinear:
    """p(w | D) ∝ e^{−Σφ(x_i·w, y_i)} N(w; 0, (radius²/d)I); rows longer than `norm` are scaled down to it.

    `norm` (c) and `radius` (R, a guess of ‖w‖) must be public. With an intercept every row ends in norm/2, so
    that ‖x‖² ≤ norm²·5/4 =: bound_square.
    """

    name: ClassVar[str] = "generalized_linear"

    target: str
    features: tuple[str, ...]
    norm: Rational = Rational(needed=NORM)  # noqa: RUF009 - a descriptor
    radius: Rational = Rational(default=10)  # noqa: RUF009
    intercept: bool = True
    loss: MarginLoss = field(default_factory=Logistic)
    design: tuple[Feature, ...] = field(default=(), kw_only=True)  # from the schema; empty until bound

    def __post_init__(self) -> None:
        given = self.features
        features = (given,) if isinstance(given, str) else tuple(given)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "design", tuple(self.design))
        if not features or len(set(features)) != len(features):
            raise ValueError(f"features must be at least one column, each once, got {list(features)}")
        if self.target in features:
            raise ValueError(f"the target {self.target!r} is among the features: it cannot predict itself")

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{f.name}={show(getattr(self, f.name))}" for f in fields(self) if f.name != "design"
        )
        return f"{type(self).__name__}({inside})"

    # --- what a row is ------------
    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read: the features, then the target."""
        return (*self.features, self.target)

    def bind(self, design: Sequence[Feature]) -> Self:
        """Return the same model knowing the columns of its rows."""
        return replace(self, design=tuple(design))

    @property
    def names(self) -> tuple[str, ...]:
        """Name each weight; the intercept last."""
        if not self.design:
            raise ValueError(
                f"{type(self).__name__} does not know the columns of its rows yet: fit it to a table, or "
                "bind((Feature('age'), …))"
            )
        return (*(feature.name for feature in self.design), *(("(intercept)",) if self.intercept else ()))

    @property
    def dimension(self) -> int:
        return len(self.names)

    @cached_property
    def ball(self) -> Ball:
        """Where the features of a row lie, on a public grid."""
        return Ball(self.norm, power_of_two_above(self.norm) / 2**ROW_BITS)

    @property
    def constant(self) -> Fraction:
        """The last entry of every row, on the grid; 0 without an intercept."""
        grid = self.ball.grid
        return (self.norm * CONSTANT / grid).__floor__() * grid if self.intercept else Fraction(0)

    # --- what privacy rests on ------------
    @property
    def bound_square(self) -> Fraction:
        """c² with ‖x‖ ≤ c for every row, its constant included."""
        return self.norm**2 + self.constant**2

    def gradient_square(self, relation: Relation) -> Fraction:
        """Δ², Δ = sup‖∇ℓ(w; z) − ∇ℓ(w; z')‖ = Lc for one record more, 2Lc for one in another's place."""
        moved = 2 if relation.replaces else 1
        return moved**2 * self.loss.lipschitz**2 * self.bound_square

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """Of the gradient, in L2; the other norms by d."""
        square = self.gradient_square(relation)
        l1, l2 = (root_above(part) for part in (square * self.dimension, square))
        return Sensitivity(l1, l2, l2)

    def smoothness(self, n: int) -> Fraction:
        """Bound of the curvature of Σℓ over n records."""
        return n * self.loss.curvature * self.bound_square

    @property
    def strength(self) -> Fraction:
        """m₀ = d/R²: the prior's, N(0, (R²/d)I)."""
        return Fraction(self.dimension) / self.radius**2


@final
@dataclass(frozen=True, repr=False)
class BayesianLogisticRegression(GeneralizedLinear):
    """y = labels[1] with probability σ(x·w). Labels are declared: a row with any other counts for nothing."""

    name: ClassVar[str] = "bayesian_logistic_regression"
    labels: tuple[Any, ...] = (False, True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "labels", tuple(self.labels))
        if len(set(self.labels)) != 2 or len(self.labels) != 2:
            raise ValueError(
                f"labels must be two public values, the one to predict last, got {list(self.labels)}; for "
                "more classes fit one against the rest for each (learn.LogisticRegression does)"
            )
        if not isinstance(self.loss, Logistic):
            raise TypeError(f"logistic regression has the logistic loss, got {self.loss.name}")


__all__ = ["Feature", "Units", "encoded", "references"]
