"""One posterior draw as a release: what Direct, Diffused and Concentrated share, and how knobs are found."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, singledispatch, wraps
from typing import Any, ClassVar, TypeVar, cast, final

from numpy.typing import ArrayLike, NDArray

from discreet.catalogue import ROWS
from discreet.families.family import Family, public_size, table_size
from discreet.mechanisms.mechanism import Mechanism, ModelMechanism
from discreet.mechanisms.registry import MECHANISMS
from discreet.numerics.search import bisect, bracket, integers
from discreet.privacy.accounting.composition import compose
from discreet.privacy.arithmetic.ball import Exact, PrecisionError
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation, Unreachable
from discreet.privacy.kinds import ApproxDP
from discreet.privacy.worst_pairs.guarantee_of_pair import guarantee_of
from discreet.privacy.worst_pairs.pairs import WorstCase
from discreet.sampling.source import Source

# ── One name for a posterior draw of a family and of a regression, as `privatise` has it.
C = TypeVar("C", bound="Callable[..., Any]")


def namesake(model: object, kind: Any) -> Any:  # noqa: ANN401 - classes of MECHANISMS
    """Return the mechanism that is called as `kind` is, for models such as this."""
    if isinstance(model, Family):
        return kind
    row = ROWS.get(getattr(model, "name", ""))
    known = row.mechanisms if row is not None else {}
    if kind.name not in known:
        raise TypeError(
            f"{kind.__name__} draws from the posterior of a family or of a regression, got "
            f"{type(model).__name__}; privatise(table, model, …) chooses a mechanism for it"
        )
    return MECHANISMS[known[kind.name]]


def by_model(calibrate: C) -> C:
    """Hand a model of another kind to the namesake's calibrate, whose own options it then takes."""

    @wraps(calibrate)
    def dispatched(cls: object, model: object, **given: Any) -> Any:  # noqa: ANN401
        kind = namesake(model, cls)
        return calibrate(cls, model, **given) if kind is cls else kind.calibrate(model, **given)

    return cast("C", dispatched)


def refuse_namesakes(model: object, kind: type) -> None:
    """Refuse to build `kind` for a model whose draws are another class, and say which."""
    own = namesake(model, kind)
    if own is not kind:
        raise TypeError(
            f"{kind.__name__} is for families, and {type(model).__name__} is a regression: build "
            f"{own.__name__}, or let {kind.__name__}.calibrate(model, n=, target=) find its knob"
        )


# ── draw
M = TypeVar("M", bound=Mechanism)

KNOB_BITS = 24  # significant bits of r and m, so that α₀ + r·count stays a short rational
LEAST_EXPONENT = -900  # knobs below 2^-900 use nothing of the data: the target cannot be met

DOMINANCE = (
    "worst neighbours by data processing: an independent Gamma added to either component carries both laws "
    "to larger parameters, so every f-divergence and Rényi divergence falls in each"
)


@dataclass(frozen=True)
class PosteriorDraw(ModelMechanism):
    """ONE draw from prior + weight·Σ(S, 1); each further draw is a further release and costs as much."""

    repeats: ClassVar[bool] = True

    model: Family
    n: int | None = field(default=None, kw_only=True)
    relation: Relation = field(default=SUBSTITUTE, kw_only=True)

    def __post_init__(self) -> None:
        refuse_namesakes(self.model, type(self))
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        _ = self.worst  # a family without a proved pair is refused here, not at the release

    @property
    def prior(self) -> Family:
        """The prior that the draw starts from."""
        return self.model

    @property
    @abstractmethod
    def weight(self) -> Fraction:
        """What one record counts."""

    @property
    def knob(self) -> tuple[str, float]:
        return "r", float(self.weight)

    @cached_property
    def worst(self) -> WorstCase:
        """The worst neighbouring pair of one draw."""
        return self.prior.worst_case(self.n, step=self.weight, relation=self.relation)

    @property
    def guarantee(self) -> Guarantee:
        """What ONE draw promises; q draws promise `.draws(q).guarantee`."""
        return guarantee_of(self.worst, self.relation)

    def release(self, value: ArrayLike, source: Source | None = None, *, count: int | None = None) -> Any:  # noqa: ANN401 - a family's θ
        """Draw once, exactly, from the posterior of the family's integer statistic.

        `count` is the private number of records, needed (and allowed) only under ADD_REMOVE.
        """
        return self._private_posterior(value, count).sample(1, source)[0]

    def draws(self, q: int) -> PosteriorDraws:
        """Return the mechanism that releases q draws and pays for all of them."""
        return PosteriorDraws(self, q)

    def _private_posterior(self, statistic: ArrayLike, count: int | None = None) -> Family:
        """Return the law that is drawn from. It is PRIVATE: never release it, its moments or its density."""
        if (count is None) == (self.relation is ADD_REMOVE):
            raise ValueError("give count, the private number of records, under ADD_REMOVE and only there")
        n = table_size(self.n or count or 0)  # the count is private, and an empty table is a neighbour
        return self.prior.update(self.prior.check(statistic, n), n, weight=self.weight)


@dataclass(frozen=True)
class SeveralDraws(ModelMechanism):
    """q independent draws of one mechanism, paid for together."""

    one: ModelMechanism
    q: int

    def __post_init__(self) -> None:
        if isinstance(self.q, bool) or not (isinstance(self.q, int) and self.q >= 1):
            raise ValueError(f"the number of draws must be a positive integer, got {self.q!r}")

    @property
    def guarantee(self) -> Guarantee:
        return compose(*[self.one.guarantee] * self.q)

    @property
    def single(self) -> ModelMechanism:
        return self.one

    @property
    def draw_count(self) -> int:
        return self.q


@final
@dataclass(frozen=True)
class PosteriorDraws(SeveralDraws):
    """q independent draws of one posterior mechanism: q-fold composition of its guarantee."""

    name: ClassVar[str] = "posterior_draws"
    theorem: ClassVar[str] = "sequential composition of q releases [M17 Prop. 1]"

    one: PosteriorDraw

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> NDArray[Any]:
        return self.one._private_posterior(value, count).sample(self.q, source)  # noqa: SLF001


def simulate(
    mechanism: PosteriorDraw, statistic: ArrayLike, size: int, source: Source, *, count: int | None = None
) -> NDArray[Any]:
    """`size` independent outputs, for audits on simulated data. NOT a release: nothing pays for it."""
    return mechanism._private_posterior(statistic, count).sample(size, source)  # noqa: SLF001


# ── calibration ─────────────────────────────────────────────────────────────────────────────────────


def largest_knob(
    worst_at: Callable[[float], WorstCase], target: Guarantee, *, knob: str, bits: int = KNOB_BITS
) -> float:
    """Largest double of `bits` significant bits in (0, 1] whose exact worst case meets the target, proved.

    The worst case falls with the knob (data processing), so bisection is right; every answer is a proof.
    """
    refuse_hopeless(worst_at(1.0), target)

    def holds(value: float) -> bool:
        return meets(target, worst_at(value))

    if holds(1.0):
        return 1.0
    exponent = _exponent(holds, target, knob)
    unit = exponent + 1 - bits
    found = bisect(lambda k: holds(math.ldexp(k, unit)), 2**bits, 2 ** (bits - 1), integers)
    return math.ldexp(found, unit)


@singledispatch
def meets(target: Guarantee, worst: WorstCase) -> bool:
    """Whether the worst case is proved to meet the target."""
    return guarantee_of(worst, target.relation) <= target


@meets.register
def _meets_approx_dp(target: ApproxDP, worst: WorstCase) -> bool:
    # the exact profile alone: no conversion can be below it, and it is far quicker
    return worst.delta_at_most(target.loss, target.slack)


def _exponent(holds: Callable[[float], bool], target: Guarantee, knob: str) -> int:
    """Largest k < 0 whose 2^k meets the target: gallop down, then bisect."""

    def at(k: int) -> bool:
        return holds(math.ldexp(1.0, k))

    found = bracket(at, 0, -1, lambda k: max(2 * k, LEAST_EXPONENT), lambda k: k == LEAST_EXPONENT)
    if found is None:
        raise Unreachable(f"{knob} underflows to 0 before one draw meets {target}; ask for a weaker target")
    return bisect(at, *found, integers)


def refuse_hopeless(worst: WorstCase, target: Guarantee) -> None:
    """Refuse targets that no weight of the data meets, with the reason and the way out."""
    way = "use OnePosteriorSample or NoisyStatistics for it, or an ApproxDP or RenyiDP.at target here"
    if target.epsilon(0) < math.inf:
        raise Unreachable(f"one posterior draw is never pure DP (its privacy loss is unbounded): {way}")
    if target.order_limit == math.inf > worst.order_limit:
        raise Unreachable(
            f"one draw has a finite Rényi divergence only below α* = {worst.order_limit!r} at full weight, "
            f"and below a finite α* at any weight, but {target} promises every order: {way}"
        )


def verified(mechanism: M, target: Guarantee) -> M:
    """Return the mechanism if its own guarantee proves the target."""
    if not mechanism.guarantee <= target:
        raise PrecisionError(f"the calibrated guarantee could not be proved to meet {target}")
    return mechanism


def fraction_of_one(x: Exact, what: str) -> Exact:
    """Validate a knob in (0, 1] and keep it as the exact number it is."""
    plain = x.item() if hasattr(x, "item") else x
    if not 0 < plain <= 1:
        raise ValueError(f"{what} must lie in (0, 1], got {x!r}; calibrate() finds the largest for a target")
    return plain
