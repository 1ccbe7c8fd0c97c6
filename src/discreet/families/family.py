"""What a Family is: a bounded likelihood with its conjugate prior. No noise, no SQL, no budget."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.exact_fields import exactly, rational, show
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.privacy.worst_pairs.pairs import WorstCase
from discreet.sampling.source import Source

__all__ = ["Family", "Floats", "Integers", "Sensitivity", "rational"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Sensitivity:
    """How far one record moves the integer statistic: exact suprema or proved upper bounds, in its units."""

    l1: float
    l2: float
    linf: float

    @classmethod
    def of(cls, l1: int, l2_squared: int, linf: int) -> Sensitivity:
        """Doubles at or above the integers l1 and linf and the root of l2_squared."""
        return cls(double_above(Fraction(l1)), root_above(Fraction(l2_squared)), double_above(Fraction(linf)))

    def beside(self, count: int) -> Sensitivity:
        """Return the joint sensitivity when one more coordinate moves by `count` at the same time."""
        l2_squared = Fraction(self.l2) ** 2 + count**2
        l1 = double_above(Fraction(self.l1) + count)
        return Sensitivity(l1, root_above(l2_squared), max(self.linf, double_above(Fraction(count))))


def double_above(x: Fraction) -> float:
    """Return the least double at or above x."""
    guess = float(x)
    return guess if Fraction(guess) >= x else math.nextafter(guess, math.inf)


def root_above(x: Fraction) -> float:
    """Return a double at or above √x, the least one up to the rounding of the first guess."""
    guess = math.sqrt(x)
    while Fraction(guess) ** 2 < x:
        guess = math.nextafter(guess, math.inf)
    return guess


@dataclass(frozen=True, repr=False)
class Family(ABC):
    """p(x|θ) = h(x) exp(S(x)·θ − A(θ)), prior exp(T(θ)·η − C(η)), posterior η + Σ(S(x), 1) [G20 §3.3].

    An instance is a member of the conjugate family: the prior before an update, the posterior after it.
    Hyper-parameters are exact rationals (int, float or Fraction), so that α₀ + r·count carries no rounding.
    The repr shows them: an instance updated with private records is as private as they are.
    """

    name: ClassVar[str]
    spelled: ClassVar[dict[str, str]] = {}  # field → constructor argument, where a method has taken the name

    def _arguments(self) -> dict[str, Any]:
        return {self.spelled.get(f.name, f.name): getattr(self, f.name) for f in fields(self)}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={show(value)}" for name, value in self._arguments().items())
        return f"{type(self).__name__}({inside})"

    def _with(self, **changes: object) -> Self:
        """Return the same member but for these constructor arguments."""
        return type(self)(**{**self._arguments(), **changes})

    # --- data side: bounded, exact, integer ------------
    @abstractmethod
    def statistic(self, data: ArrayLike) -> Integers:
        """ΣS(x) as exact integers in `units`, each record clipped to the public bounds at the door."""

    def each(self, data: ArrayLike) -> Integers:
        """S(x) of every record: (records, len(S))."""
        rows = np.asarray(data)
        return np.array([self.statistic(rows[i : i + 1]) for i in range(len(rows))])

    @property
    def limits(self) -> tuple[Fraction, Fraction] | None:
        """Where every number of a record lies, the others being cut to it; None where records are codes."""
        return None

    @property
    @abstractmethod
    def units(self) -> Floats:
        """What one integer step of each coordinate of the statistic is worth (dyadic, public)."""

    @abstractmethod
    def sensitivity(self, relation: Relation) -> Sensitivity:
        """How far one record moves `statistic`, in integer units, under the relation."""

    @property
    def noise_shares(self) -> Floats:
        """Say by coordinate which share of σ² Gaussian noise needs; `sensitivity` is of S over its root."""
        return np.ones(self.units.size)

    @abstractmethod
    def check(self, statistic: ArrayLike, n: int) -> Integers:
        """Return the statistic as integers, or refuse (showing no value) what no n records can sum to."""

    @abstractmethod
    def project(self, statistic: ArrayLike, n: float) -> Floats:
        """Project a noisy statistic (in integer units) onto the hull of possible ones for n records."""

    def usual_noise(self, target: Guarantee) -> str:
        """Name the noise of a noisy statistic that suits the target, unless one is asked for."""
        del target
        return "discrete_laplace"

    # --- what a release must carry when n is private (ADD_REMOVE) ------------
    @abstractmethod
    def joint(self, statistic: ArrayLike, n: int) -> Integers:
        """(S, n) as one integer vector, encoded so that one record moves all of it as little as possible."""

    @abstractmethod
    def joint_sensitivity(self) -> Sensitivity:
        """How far one record added or removed moves `joint`, in integer units."""

    @abstractmethod
    def split(self, joint: ArrayLike) -> tuple[Floats, float]:
        """Invert `joint`, also on noisy values: (S, n). A negative n is the caller's to clip."""

    # --- prior and posterior ------------
    @abstractmethod
    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        """η + weight·(S, n): the posterior, exactly when the statistic is integer; `weight` is Diffused's r.

        Also how public records fold into the prior: prior.update(prior.statistic(public), len(public)).
        """

    @abstractmethod
    def scale_prior(self, factor: Exact) -> Self:
        """Multiply the prior's natural parameters by the factor: 1/m gives Concentrated's η₀/m."""

    @abstractmethod
    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:
        """Return the exact worst neighbouring pair of one draw, records weighted by `step` [theory §2].

        n is None only under ADD_REMOVE. Raises NotProved, naming a covered mechanism, where none is proved.
        """

    # --- exponential-family calculus (laws are tested on these) ------------
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
        """T(θ) of an array of parameters, shape (..., len(natural))."""

    @abstractmethod
    def log_base(self, theta: ArrayLike) -> Floats:
        """Log of the base measure's density in θ's usual coordinates; free of the hyper-parameters."""

    @abstractmethod
    def mean_sufficient(self) -> Floats:
        """∇C(η), in closed form."""

    @abstractmethod
    def covariance_sufficient(self) -> Floats:
        """∇²C(η), in closed form."""

    # --- the law of θ ------------
    def log_density(self, theta: ArrayLike) -> Floats:
        """Log density of θ in its usual coordinates: T(θ)·η − C(η) + log_base(θ)."""
        return self.sufficient(theta) @ self.natural - self.log_partition() + self.log_base(theta)

    @abstractmethod
    def mean(self) -> Any:  # noqa: ANN401 - a number, a vector or a matrix
        """E θ, in the parameter's usual shape."""

    @abstractmethod
    def variance(self) -> Any:  # noqa: ANN401
        """Var θ, coordinatewise."""

    @abstractmethod
    def interval(self, level: float) -> Floats:
        """Equal-tailed credible intervals; the last axis holds both ends."""

    def in_units(self) -> Self:
        """Return the same law of θ in the units that people are shown."""
        return self

    @abstractmethod
    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        """`size` exact draws of θ rounded to a public grid (sampling.exact); the system source by default."""

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats | None:
        """Draw one record (a row) of the unclipped likelihood per row of θ; None where θ is not enough."""
        del theta, rng
        return None

    @abstractmethod
    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        """Log mass or density of single observations given θ, of the unclipped likelihood."""

    @abstractmethod
    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log posterior-predictive mass or density of single observations, of the unclipped likelihood."""


# --- what every family validates the same way; no message shows a statistic ------------
def records(n: int | None) -> int:
    """Return n as a positive integer: the public number of records under SUBSTITUTE."""
    if n is None:
        raise ValueError("n is public under SUBSTITUTE: give the number of records, or ask for ADD_REMOVE")
    if isinstance(n, bool) or not (n == n // 1 and n >= 1):
        raise ValueError(f"n must be a positive integer, got {n!r}")
    return int(n)


def public_size(relation: Relation, n: int | None) -> int | None:
    """Return n where the relation makes it public, None where it makes it private."""
    if relation.replaces:
        return records(n)
    if n is not None:
        raise ValueError("under ADD_REMOVE the number of records is private: leave n out, or use SUBSTITUTE")
    return None


def table_size(n: int) -> int:
    """Return n as an integer ≥ 0: an empty table is a neighbour of a table with one record."""
    if not (n == n // 1 and n >= 0):
        raise ValueError("n must be a whole number of records, at least 0")  # may be private: not shown
    return int(n)


def count_and_weight(n: Exact, weight: Exact) -> tuple[Fraction, Fraction]:
    try:
        count = exactly(n)
    except (OverflowError, ValueError):
        count = Fraction(-1)
    if not count >= 0:
        raise ValueError("the number of records n must be finite and at least 0")
    return count, rational(weight, what="weight")


def entries(statistic: ArrayLike, size: int) -> list[Fraction]:
    """Return the statistic's coordinates as exact rationals, refused without being shown."""
    try:
        exact = [exactly(s) for s in np.atleast_1d(np.asarray(statistic)).tolist()]
    except (TypeError, OverflowError, ValueError):
        raise ValueError("the statistic must be a vector of finite numbers (not NaN, not infinite)") from None
    if len(exact) != size:
        raise ValueError(f"the statistic of this family has {size} coordinates, got {len(exact)}")
    return exact


def integers(statistic: ArrayLike, size: int) -> list[int]:
    exact = entries(statistic, size)
    if any(s.denominator != 1 for s in exact):
        raise ValueError(
            "the statistic must be whole numbers, in units of the grid, as `statistic` returns it"
        )
    return [s.numerator for s in exact]


def one_vector(values: ArrayLike, size: int) -> Floats:
    """Return a statistic, noisy or not, as doubles; refused without being shown."""
    try:
        flat = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, OverflowError, ValueError):
        flat = np.array([np.nan])
    if flat.shape != (size,) or not np.all(np.isfinite(flat)):
        raise ValueError(f"the statistic must be {size} finite numbers (not NaN, not infinite)")
    return flat


def to_project(n: Exact) -> Fraction:
    """Return n ≥ 0 exactly; a noisy n may be neither whole nor positive, and must be clipped first."""
    if not 0 <= n < math.inf:
        raise ValueError("a statistic can be projected only for n ≥ 0 records; clip a noisy n first")
    return exactly(n)


def credible(level: float) -> Floats:
    """Return the two tail probabilities of an equal-tailed interval."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level!r}")
    return np.array([(1 - level) / 2, (1 + level) / 2])
