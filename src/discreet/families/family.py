"""What a Family is: a bounded likelihood with its conjugate prior. No noise, no SQL, no budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.privacy.certified import Exact
    from discreet.privacy.guarantee import Relation
    from discreet.privacy.pairs import WorstCase
    from discreet.sampling.source import Source

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Sensitivity:
    """How far one record moves the integer statistic: exact suprema (or proved upper bounds), in integer units."""

    l1: float
    l2: float
    linf: float


@dataclass(frozen=True)
class Family(ABC):
    """p(x|θ) = h(x) exp(S(x)·θ − A(θ)), prior p(θ|η) = exp(T(θ)·η − C(η)), posterior η + Σ(S(x), 1) [G20 §3.3].

    An instance is a member of the conjugate family: the prior before an update, the posterior after it.
    Hyper-parameters are exact rationals (int, float or Fraction), so that α₀ + r·count carries no rounding.
    """

    name: ClassVar[str]

    # --- data side: bounded, exact, integer -------------------------------------------------------------
    @abstractmethod
    def statistic(self, data: ArrayLike) -> Integers:
        """ΣS(x) as exact integers in `units`, each record clipped to the public bounds at the door."""

    @property
    @abstractmethod
    def units(self) -> Floats:
        """What one integer step of each coordinate of the statistic is worth (dyadic, public)."""

    @abstractmethod
    def sensitivity(self, relation: Relation) -> Sensitivity:
        """How far one record moves `statistic`, in integer units, under the relation."""

    @abstractmethod
    def project(self, statistic: ArrayLike, n: float) -> Floats:
        """Project a noisy statistic (in integer units) onto the hull of possible ones for n records."""

    # --- prior and posterior -------------------------------------------------------------------------------
    @abstractmethod
    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        """η + weight·(S, n): the posterior, exactly when the statistic is integer; `weight` is Diffused's r."""

    @abstractmethod
    def scale_prior(self, factor: Exact) -> Self:
        """Multiply the prior's natural parameters: Concentrated's η₀/m is scale_prior(1/m)."""

    @abstractmethod
    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:
        """The exact worst neighbouring pair of one posterior draw with records weighted by `step` (SPEC §3).

        n is None only under ADD_REMOVE. Raises NotProved, naming a covered mechanism, where none is proved.
        """

    # --- exponential-family calculus (laws are tested on these) ------------------------------------------------
    @property
    @abstractmethod
    def natural(self) -> Floats:
        """η as a flat vector."""

    @abstractmethod
    def from_natural(self, eta: ArrayLike) -> Self:
        """Build the member with natural parameters η and this instance's public bounds."""

    @abstractmethod
    def log_partition(self) -> float:
        """C(η)."""

    @abstractmethod
    def sufficient(self, theta: ArrayLike) -> Floats:
        """T(θ) for an array of parameters, shape (..., len(natural)); log density = T(θ)·η − C(η) + base."""

    @abstractmethod
    def mean_sufficient(self) -> Floats:
        """∇C(η), in closed form."""

    @abstractmethod
    def covariance_sufficient(self) -> Floats:
        """∇²C(η), in closed form."""

    # --- the law of θ ----------------------------------------------------------------------------------------
    @abstractmethod
    def log_density(self, theta: ArrayLike) -> Floats:
        """Log density of θ in its usual coordinates."""

    @abstractmethod
    def mean(self) -> Any:
        """E θ, in the parameter's usual shape."""

    @abstractmethod
    def variance(self) -> Any:
        """Var θ, coordinatewise."""

    @abstractmethod
    def interval(self, level: float) -> Floats:
        """Equal-tailed credible interval(s), shape (..., 2)."""

    @abstractmethod
    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        """`size` exact draws of θ rounded to a public grid (sampling.exact); the system source by default."""

    @abstractmethod
    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log posterior-predictive mass or density of single observations."""


def rational(x: Exact, *, what: str, positive: bool = True) -> Fraction:
    """Validate one hyper-parameter and return it exactly; NaN-proof."""
    from fractions import Fraction  # noqa: PLC0415

    value = float(x)
    if not (abs(value) < float("inf")) or (positive and not value > 0):
        need = "a finite number above 0" if positive else "a finite number"
        raise ValueError(f"{what} must be {need}, got {x!r}; the prior must be normalizable and public")
    return Fraction(x)
