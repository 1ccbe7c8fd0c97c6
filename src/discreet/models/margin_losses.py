"""Losses of a generalised linear model: convex in the margin s = x·w, with constants for all answers.

ℓ(w; x, y) = φ(x·w, y). |φ'| ≤ lipschitz and 0 ≤ φ'' ≤ curvature hold for every s and every admissible y, so
that ‖∇ℓ‖ ≤ lipschitz·‖x‖ and ∇²ℓ ≼ curvature·xxᵀ: privacy rests on these two numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.families.exact_fields import Rational

Floats = NDArray[np.float64]
CONSTANT = "privacy rests on it, so it is declared publicly, and holds for every margin and admissible answer"
UPPER = "counts are clipped to it and privacy rests on it, so it must be public knowledge"
Margin = Callable[[Floats, Floats], Floats]  # (s, y) ↦ one number per record


@dataclass(frozen=True)
class MarginLoss(ABC):
    """φ(s, y), convex in s; all arrays have one entry a record."""

    name: ClassVar[str]
    self_concordant: ClassVar[bool] = False  # |φ'''| ≤ φ''

    @property
    @abstractmethod
    def lipschitz(self) -> Fraction:
        """Bound of |φ'|, the slope in s."""

    @property
    @abstractmethod
    def curvature(self) -> Fraction:
        """Bound of φ''."""

    @property
    def limits(self) -> tuple[Fraction, Fraction] | None:
        """Where answers lie, the others being cut to it; None where they are labels."""
        return None

    @abstractmethod
    def admissible(self, y: Floats) -> Floats:
        """Return the answers as the loss takes them; NaN-safe. How many were changed is private."""

    @abstractmethod
    def value(self, s: Floats, y: Floats) -> Floats:
        """φ"""

    @abstractmethod
    def slope(self, s: Floats, y: Floats) -> Floats:
        """φ'"""

    @abstractmethod
    def bend(self, s: Floats, y: Floats) -> Floats:
        """φ''"""

    @abstractmethod
    def expected(self, s: Floats) -> Floats:
        """E[y | s], for predictions: a probability of the second label, or a rate."""


@final
@dataclass(frozen=True)
class Logistic(MarginLoss):
    """ln(1 + e^{−ys}), y = ±1: slope −yq, q = σ(−ys), bend q(1−q) ≤ ¼. An answer of 0 is an unknown label."""

    name: ClassVar[str] = "logistic"
    self_concordant: ClassVar[bool] = True

    @property
    def lipschitz(self) -> Fraction:
        return Fraction(1)

    @property
    def curvature(self) -> Fraction:
        return Fraction(1, 4)

    def admissible(self, y: Floats) -> Floats:
        return np.sign(np.nan_to_num(y))

    def value(self, s: Floats, y: Floats) -> Floats:
        return np.logaddexp(0.0, -y * s)

    def slope(self, s: Floats, y: Floats) -> Floats:
        return np.asarray(-y * expit(-y * s))

    def bend(self, s: Floats, y: Floats) -> Floats:
        q = expit(-y * s)
        return np.asarray(q * (1 - q) * (y != 0))

    def expected(self, s: Floats) -> Floats:
        return np.asarray(expit(s))


@final
@dataclass(frozen=True)
class ClippedPoisson(MarginLoss):
    """e^s − ys for counts 0 ≤ y ≤ upper, continued as a line above s = ln(upper).

    Poisson itself is neither Lipschitz nor smooth. Counts are clipped to `upper`, and rates above it are
    charged linearly: slope in [−upper, upper], bend ≤ upper.
    """

    name: ClassVar[str] = "clipped_poisson"
    upper: Rational = Rational(needed=UPPER)  # noqa: RUF009 - a descriptor

    @property
    def lipschitz(self) -> Fraction:
        return self.upper

    @property
    def curvature(self) -> Fraction:
        return self.upper

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), self.upper

    def admissible(self, y: Floats) -> Floats:
        return np.floor(np.clip(np.nan_to_num(y), 0, float(self.upper)))  # in this order, once is enough

    def value(self, s: Floats, y: Floats) -> Floats:
        most, knee = float(self.upper), float(np.log(float(self.upper)))
        return np.asarray(np.exp(np.minimum(s, knee)) + most * np.maximum(s - knee, 0) - y * s)

    def slope(self, s: Floats, y: Floats) -> Floats:
        return np.asarray(np.exp(np.minimum(s, np.log(float(self.upper)))) - y)

    def bend(self, s: Floats, y: Floats) -> Floats:
        knee = np.log(float(self.upper))
        return np.asarray(np.where(s < knee, np.exp(np.minimum(s, knee)), 0.0) + 0 * y)

    def expected(self, s: Floats) -> Floats:
        return np.asarray(np.exp(np.minimum(s, np.log(float(self.upper)))))


def _forgotten(s: Floats, y: Floats) -> Floats:
    del s, y
    raise ValueError("a declared loss is code, which a saved release does not hold: declare it again")


@final
@dataclass(frozen=True)
class DeclaredLoss(MarginLoss):
    """Any convex φ with derivatives given, and constants that whoever declares them vouches for, publicly.

    Derivatives must be right to 2^-45 of their bounds, for any margin; what is not a number counts as 0.
    """

    name: ClassVar[str] = "declared"
    phi: Margin = field(default=_forgotten, compare=False)
    first: Margin = field(default=_forgotten, compare=False)
    second: Margin = field(default=_forgotten, compare=False)
    bound_of_slope: Rational = Rational(needed=CONSTANT)  # noqa: RUF009
    bound_of_bend: Rational = Rational(needed=CONSTANT)  # noqa: RUF009
    lower: float = -1.0
    upper: float = 1.0

    @property
    def lipschitz(self) -> Fraction:
        return self.bound_of_slope

    @property
    def curvature(self) -> Fraction:
        return self.bound_of_bend

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.lower), Fraction(self.upper)

    def admissible(self, y: Floats) -> Floats:
        return np.clip(np.nan_to_num(y), self.lower, self.upper)

    def value(self, s: Floats, y: Floats) -> Floats:
        with np.errstate(all="ignore"):  # a warning would tell of a record
            return self.phi(s, y)

    def slope(self, s: Floats, y: Floats) -> Floats:
        """φ', clipped to the declared bound; convexity and the bound of the bend are vouched for."""
        most = float(self.bound_of_slope)
        with np.errstate(all="ignore"):
            return np.clip(np.nan_to_num(self.first(s, y)), -most, most)

    def bend(self, s: Floats, y: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.clip(np.nan_to_num(self.second(s, y)), 0.0, float(self.bound_of_bend))

    def expected(self, s: Floats) -> Floats:
        return s


LOSSES: dict[str, type[MarginLoss]] = {loss.name: loss for loss in (Logistic, ClippedPoisson, DeclaredLoss)}


def named_loss(loss: str, **constants: Any) -> MarginLoss:  # noqa: ANN401
    """Return the loss of that name with its public constants."""
    return LOSSES[loss](**constants)
