"""What a Mechanism is, how its knob is found, and how its inputs are checked. No budget, no data access."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.records import doubles as as_doubles
from discreet.numerics.search import bisect, bracket, doubles, ratios
from discreet.privacy.accounting.composition import repeat
from discreet.privacy.arithmetic.ball import Exact, PrecisionError, largest
from discreet.privacy.group_privacy import per_draw
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, NotProved, Relation, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP
from discreet.sampling import checked_arguments as parameters
from discreet.sampling.discrete import LARGEST_SCALE
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from discreet.models.model import Model


# ── What a Mechanism is: a calibrated randomised map with its guarantee. No data access, no budget.
# What `privatise`, plans and the command hand on to a mechanism's own calibration: noise=, truncation=, …
Option: TypeAlias = Exact | str | Enum | Sequence[Exact] | None


@dataclass(frozen=True)
class Mechanism(ABC):
    """value ↦ release. The guarantee holds for every pair of neighbouring inputs of the declared kind."""

    name: ClassVar[str]
    theorem: ClassVar[str]  # what proves the guarantee, cited

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What ONE call of release promises; q calls cost q-fold composition."""

    @property
    def knob(self) -> tuple[str, float]:
        """The letter of what calibration turns and its setting; weight 1 where there is nothing to turn."""
        return "r", 1.0

    @abstractmethod
    def release(self, value: Any, source: Source | None = None) -> Any:  # noqa: ANN401 - each mechanism's own
        """Draw one release; the system source by default."""


class ModelMechanism(Mechanism):
    """A mechanism for the statistic of a model: what `privatise` and the estimators may be asked for."""

    reads: ClassVar[str] = "statistic"  # the model's own; "records" or "moments" of a regression
    knows_units: ClassVar[bool] = False  # calibrate takes rows_per_unit, and does better than the group rule
    repeats: ClassVar[bool] = False  # one charge may buy several draws
    calibrate: ClassVar[Callable[..., ModelMechanism]]  # (model, *, target, n=None, further options)

    if TYPE_CHECKING:  # fields of every kind

        @property
        def model(self) -> Model: ...

        @property
        def n(self) -> int | None:
            """The public number of records; None where it is private."""

        @property
        def relation(self) -> Relation: ...

    @property
    def single(self) -> ModelMechanism:
        """The mechanism of one draw: this one, unless it makes several."""
        return self

    @property
    def draw_count(self) -> int:
        return 1

    def draws(self, q: int) -> ModelMechanism:
        """Return the mechanism that releases q draws and pays for all of them."""
        raise NotImplementedError(f"{self.name} makes one release, not {q}: it is read freely")

    @abstractmethod
    def release(self, value: Any, source: Source | None = None, *, count: int | None = None) -> Any:  # noqa: ANN401
        """Draw one release; `count` is the private number of records, given where that is private."""


# ── Find the knob: the least noise, or the largest budget, whose own certified guarantee meets the target.
WIDEST = 2.0**400  # noise beyond this is no release
HAIR = 2.0**-10  # of the noise, that ε at δ = 0 is worth
SHARES = 2.0**-12  # how near to the largest share of ε a draw's is sought
WIDEST_DISCRETE = float(LARGEST_SCALE)  # integer noise must fit 64 bits


def least_noise(
    guarantee: Callable[[float], Guarantee], target: Guarantee, *, widest: float = WIDEST
) -> float:
    """Least double s ≤ widest with guarantee(s) ≤ target, for guarantees that strengthen as s grows."""

    def meets(s: float) -> bool:
        return guarantee(s) <= target

    found = bracket(meets, 0.0, min(1.0, widest), lambda s: min(s * s * 4, widest), lambda s: s >= widest)
    if found is None:
        raise Unreachable(
            f"no noise up to scale {widest:g} meets {target}; a target with δ > 0, another noise, or a "
            "coarser grid of the statistic would"
        )
    met = found[1]
    while met > 2.0**-400 and meets(met / 2):
        met /= 2
    return _without_delta(guarantee, target, bisect(meets, met / 2, met, doubles), widest)


def _without_delta(
    guarantee: Callable[[float], Guarantee], target: Guarantee, least: float, widest: float
) -> float:
    """Spend no δ where it buys next to nothing: keep the target's ε itself if that takes a hair more noise.

    A pure promise of 0.25000018 meets (0.25, 1e-7) too, and would not fit a quarter of an ε of 1.
    """
    if not isinstance(target, ApproxDP):
        return least
    pure, most = target.pure_part, min(least * (1 + HAIR), widest)

    def keeps(s: float) -> bool:
        return guarantee(s) <= pure

    if keeps(least) or not keeps(most):
        return least
    return bisect(keeps, least, most, doubles)


def largest_budget(
    guarantee: Callable[[float], Guarantee], target: Guarantee, *, upper: float = 1024.0
) -> float:
    """Largest double ε ≤ upper with guarantee(ε) ≤ target, for guarantees that weaken as ε grows."""
    budget = largest(lambda e: e > 0 and guarantee(e) <= target, upper)
    if not budget > 0:
        raise Unreachable(f"no ε above 0 meets {target}")
    return budget


# ── several releases ────────────────────────────────────────────────────────────────────────────────


def gaussian_share(target: ApproxDP, q: int) -> GaussianDP:
    """μ/√q for the largest μ, to one double, with μ-GDP ≤ target [DRS22 Cor. 3.3]; verified."""
    whole = largest_budget(lambda mu: GaussianDP(mu, relation=target.relation), target)
    share = per_draw(GaussianDP(whole, relation=target.relation), q)
    if not isinstance(share, GaussianDP) or not repeat(share, q) <= target:
        raise Unreachable(f"the promise for one of {q} releases could not be proved to give {target}")
    return share


def shared(
    calibrate: Callable[[Guarantee], ModelMechanism], target: Guarantee, q: int, rows_per_unit: int
) -> ModelMechanism:
    """Return q draws that meet a unit's target, by the rule that leaves each draw the most.

    `calibrate` finds the knob of one draw from what a unit is promised of it. μ/√q each where one draw is
    Gaussian DP; else the largest knob at which the composition of q draws, as tight as is proved, meets an
    (ε, δ) target, or a q-th of the target each.
    """
    if not isinstance(target, ApproxDP):
        return calibrate(per_draw(target, q)).draws(q)
    with suppress(Unreachable, NotProved, PrecisionError):
        one = calibrate(gaussian_share(target, q))
        if isinstance(one.guarantee, GaussianDP):
            return one.draws(q)
    found = _composed(calibrate, target, q, rows_per_unit)
    try:
        even = calibrate(per_draw(target, q))
    except (Unreachable, NotProved, PrecisionError):
        if found is None:
            raise
        return found.draws(q)
    return (even if found is None or _weaker(found, even, target) else found).draws(q)


def _composed(
    calibrate: Callable[[Guarantee], ModelMechanism], target: ApproxDP, q: int, rows_per_unit: int
) -> ModelMechanism | None:
    """Search the ε of one draw, at δ, whose knob q draws can afford; None if none down to ε/(8q) can."""

    @cache
    def one(share: float) -> ModelMechanism | None:
        with suppress(Unreachable, NotProved, PrecisionError):
            made = calibrate(
                ApproxDP(Fraction(share) * Fraction(target.loss), target.slack, relation=target.relation)
            )
            return made if repeat(made.guarantee.group(rows_per_unit), q) <= target else None
        return None

    def holds(share: float) -> bool:
        return one(share) is not None

    found = bracket(holds, 1.0, 0.5, lambda x: x / 2, lambda x: x < 1 / (8 * q))
    return None if found is None else one(bisect(holds, *found, ratios(1 + SHARES)))


def _weaker(one: ModelMechanism, other: ModelMechanism, target: ApproxDP) -> bool:
    """Whether `one` gives away less, and so says less, than `other`."""
    return one.guarantee.delta(target.loss / 2) < other.guarantee.delta(target.loss / 2)


# ── Inputs of mechanisms, validated at the door. What is released may be private: errors never show it.
LARGEST = 2**62  # value plus noise stays within 64 bits


def exact(x: Exact, what: str) -> Fraction:
    """Return the rational that a number is; refuses NaN, infinities, and text that looks like a number."""
    if not isinstance(x, Real):
        raise ValueError(f"{what} must be a finite number: an int, a float or a Fraction")  # noqa: TRY004 - as NaN
    return parameters.exact(x, what)


def positive(x: Exact, what: str) -> Fraction:
    """Return a public parameter exactly; refuses 0, negative, infinite and NaN."""
    value = exact(x, what)
    if not value > 0:
        raise ValueError(f"{what} must be greater than 0, got {x!r}")
    return value


def whole(x: Exact, what: str, *, least: int = 1) -> int:
    """Return a public integer parameter."""
    value = exact(x, what)
    if isinstance(x, bool) or value.denominator != 1 or not value >= least:
        raise ValueError(f"{what} must be an integer of at least {least}, got {x!r}")
    return int(value)


def tail_of(probability_above: Exact, coordinates: int) -> tuple[Fraction, int]:
    """Return what a tail bound is asked for: its probability, and over how many coordinates."""
    return probability(probability_above, "the tail probability"), whole(
        coordinates, "the number of coordinates"
    )


def integer_noise(scale_squared: Fraction) -> None:
    """Refuse noise too wide for 64-bit integers before anything is charged for it."""
    if scale_squared > Fraction(WIDEST_DISCRETE) ** 2:
        raise ValueError(f"integer noise needs a scale of at most {WIDEST_DISCRETE:g}: coarsen the grid")


def probability(x: Exact, what: str) -> Fraction:
    """Return a public probability in the open interval (0, 1)."""
    value = exact(x, what)
    if not 0 < value < 1:
        raise ValueError(f"{what} must lie strictly between 0 and 1, got {x!r}")
    return value


def non_empty(array: NDArray[Any], what: str) -> NDArray[Any]:
    if array.size == 0:
        raise ValueError(f"{what} must not be empty")
    return array


def integers(value: ArrayLike, what: str) -> NDArray[np.int64]:
    """Return private integers as int64; floats are refused even when whole: their sum may not have been."""
    array = non_empty(np.asarray(value), what)
    if array.dtype.kind not in "iu" or not ((array > -LARGEST) & (array < LARGEST)).all():
        raise ValueError(f"{what} must be integers within 62 bits; quantise to a public grid first")
    return array.astype(np.int64)


def bits(value: ArrayLike, what: str) -> NDArray[np.bool_]:
    """Return private bits."""
    array = non_empty(np.asarray(value), what)
    if array.dtype.kind not in "biu" or not ((array == 0) | (array == 1)).all():
        raise ValueError(f"{what} must be 0 or 1 (integers or booleans)")
    return array.astype(np.bool_)


def reals(value: ArrayLike, what: str) -> tuple[list[Fraction], tuple[int, ...]]:
    """Return private reals exactly, flat, with their shape."""
    array = non_empty(np.asarray(value), what)
    return [exact(x, f"every entry of {what}") for x in array.reshape(-1).tolist()], array.shape


def vector(value: ArrayLike, what: str) -> list[Fraction]:
    """Return a private one-dimensional array of reals exactly."""
    flat, shape = reals(value, what)
    if len(shape) != 1:
        raise ValueError(f"{what} must be one-dimensional, got {len(shape)} dimensions")
    return flat


def finite(value: ArrayLike, what: str, *, missing: float) -> NDArray[np.float64]:
    """Return private one-dimensional data as doubles, NaN put at the public `missing`: no error may tell."""
    try:
        array = as_doubles(value)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be an array of numbers") from None
    if array.ndim != 1:
        raise ValueError(f"{what} must be a one-dimensional array of numbers")
    return np.where(np.isnan(array), missing, array)


def fixed_size(relation: Relation, what: str) -> None:
    """Refuse ADD_REMOVE where the release has an entry per record, so that its length is n."""
    if relation is not SUBSTITUTE:
        raise ValueError(f"{what} has one entry per record and so shows n: only SUBSTITUTE (n public) holds")


def epsilon_point(epsilon: Exact) -> Fraction:
    """Return the point of a privacy profile that is asked for."""
    value = exact(epsilon, "epsilon")
    if not value >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon!r}")
    return value


# ── What happens to a guarantee when data are transformed before the mechanism sees them.
def preprocess(guarantee: Guarantee, kappa: Exact) -> Guarantee:
    """M∘T for T with d(Tx, Tx') ≤ κ d(x, x') in records: the guarantee for groups of ⌊κ⌋ [theory §3].

    ε becomes κε, and δ follows group privacy. Distances count records, so κ is as good as its floor; below 1,
    T would be constant, and no more is claimed than the guarantee itself. Post-processing is free.
    """
    return guarantee.group(max(1, positive(kappa, "the Lipschitz constant").__floor__()))
