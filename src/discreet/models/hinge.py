"""The hinge with its corner rounded, as support vector machines need it: of bounded slope and bend."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from discreet.families.exact_fields import Rational
from discreet.models.margin_losses import Floats, MarginLoss

NARROWEST = Fraction(1, 64)  # slopes in doubles are right to 2^-46 of their bound down to here


@final
@dataclass(frozen=True)
class HuberHinge(MarginLoss):
    """0 for z > 1 + h, 1 − z for z < 1 − h, (1 + h − z)²/(4h) in between; z = ys, y = ±1 [CMS11 §3.4.2].

    |φ'| ≤ 1 and φ'' ≤ 1/(2h). An answer of 0 is an unknown label, and counts for nothing.
    """

    name: ClassVar[str] = "huber_hinge"
    width: Rational = Rational(default=1)  # noqa: RUF009 - a descriptor

    def __post_init__(self) -> None:
        if not NARROWEST <= self.width <= 1:
            raise ValueError(f"the width of the rounded corner must lie in [1/64, 1], got {self.width}")

    @property
    def lipschitz(self) -> Fraction:
        return Fraction(1)

    @property
    def curvature(self) -> Fraction:
        return 1 / (2 * self.width)

    def admissible(self, y: Floats) -> Floats:
        return np.sign(np.nan_to_num(y))

    def value(self, s: Floats, y: Floats) -> Floats:
        z, h = y * s, float(self.width)
        rounded = np.square(np.clip(1 + h - z, 0, 2 * h)) / (4 * h)
        return np.asarray((rounded + np.maximum(1 - h - z, 0)) * (y != 0))

    def slope(self, s: Floats, y: Floats) -> Floats:
        h = float(self.width)
        return np.asarray(-y * np.clip((1 + h - y * s) / (2 * h), 0, 1))

    def bend(self, s: Floats, y: Floats) -> Floats:
        h = float(self.width)
        return np.asarray((np.abs(1 - y * s) <= h) * (y != 0) / (2 * h))

    def expected(self, s: Floats) -> Floats:
        """Return the label: a support vector machine has no probability."""
        return np.asarray((s > 0).astype(np.float64))
