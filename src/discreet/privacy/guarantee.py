"""What a Guarantee is: the promise, its neighbour relation, and the questions every promise answers."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Self

from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.relation import (
    ADD_REMOVE,
    SUBSTITUTE,
    MixedRelations,
    Relation,
    checked_relation,
    one_relation,
)

__all__ = [
    "ADD_REMOVE",
    "SUBSTITUTE",
    "Guarantee",
    "MixedRelations",
    "NotProved",
    "Relation",
    "Unreachable",
    "exact",
    "group_size",
    "nonnegative",
    "positive",
    "probability",
    "renyi_order",
    "same_relation",
]


class Unreachable(ValueError):  # noqa: N818 - a fact about the target, said in the user's words
    """No setting of the knob meets the target; the message says what would."""


class NotProved(ValueError):  # noqa: N818
    """No theorem covers what was asked; the message says which mechanism is covered."""


@dataclass(frozen=True, repr=False)
class Guarantee(ABC):
    """What is promised about every pair of neighbouring data sets; numbers rounded to the private side."""

    relation: Relation = field(default=SUBSTITUTE, kw_only=True)

    def __post_init__(self) -> None:
        checked_relation(self.relation)

    @abstractmethod
    def epsilon(self, delta: Exact) -> float:
        """Least certified ε with (ε, δ)-DP; ∞ when there is none; δ = 0 asks for pure DP."""

    @abstractmethod
    def delta(self, epsilon: Exact) -> float:
        """Least certified δ with (ε, δ)-DP, in [0, 1]."""

    @abstractmethod
    def renyi(self, order: Exact) -> float:
        """Certified upper bound on the Rényi divergence of order > 1, both directions; ∞ where unbounded."""

    @property
    @abstractmethod
    def order_limit(self) -> float:
        """α*: the Rényi curve is finite below it (∞ when everywhere; 1 when nowhere)."""

    @abstractmethod
    def group(self, k: int) -> Guarantee:
        """Promise for k records changed at once."""

    @abstractmethod
    def implied_by(self, other: Guarantee) -> bool:
        """Whether `other` (same relation) is proved to promise at least this; False when it is not known."""

    @property
    def zcdp_bound(self) -> float:
        """Certified ρ with D_α ≤ ρα for every α > 1; ∞ when none is known."""
        return math.inf

    @property
    def gdp_bound(self) -> float:
        """Certified μ with μ-GDP; ∞ when none is known."""
        return math.inf

    @property
    def range_bound(self) -> float:
        """Certified length of an interval that holds the privacy loss; ∞ when none is known."""
        return math.inf

    def finite_renyi(self, order: Exact) -> float:
        """Ask for a Rényi divergence that must be bounded; beyond the limit an error that says the limit."""
        value = self.renyi(order)
        if value == math.inf:
            limit = self.order_limit
            way = "ask for (ε, δ) instead" if limit <= 1 else f"ask for an order below {limit!r}"
            raise ValueError(
                f"the Rényi divergence of order {order} is unbounded: the order limit is {limit!r}; {way}"
            )
        return value

    def as_substitute(self) -> Guarantee:
        """Relabel group(2) of an ADD_REMOVE promise: a substitution is one removal and one addition.

        Of a graph nothing follows for records: a record may be any value, and profiles differ in few ways.
        """
        if self.relation is SUBSTITUTE:
            return self
        _refuse_graph(self.relation)
        return self.group(2).substituted()

    def substituted(self) -> Self:
        """Give the same numbers about one record replaced; only of a group of 2 is that right."""
        _refuse_graph(self.relation)
        twin = copy.copy(self)
        object.__setattr__(twin, "relation", SUBSTITUTE)
        return twin

    def disclosure(self) -> tuple[Exact, Guarantee]:
        """Probability of the event where everything may leak, and the promise outside of it."""
        return 0, self

    def folded(self, times: int, onto: Guarantee | None) -> Guarantee | None:  # noqa: ARG002
        """Compose `times` copies with `onto`, of the same kind, where the kind is closed; else None."""
        return None

    def described(self) -> tuple[object, ...]:
        """Return the arguments that a reader would write to build this promise."""
        return tuple(
            v for v in (getattr(self, f.name) for f in fields(self) if f.name != "relation") if v is not None
        )

    def __repr__(self) -> str:
        shown = [repr(value) for value in self.described()]
        if self.relation is not SUBSTITUTE:
            shown.append(f"relation={self.relation!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __str__(self) -> str:
        from discreet.privacy.words import in_words  # noqa: PLC0415 - words stand on guarantees

        return in_words(self)  # for people and messages: no fraction of many digits; repr has every one

    def __add__(self, other: Guarantee) -> Guarantee:
        from discreet.privacy.accounting.composition import compose  # noqa: PLC0415 - composition stands on guarantees

        return compose(self, other)

    def __le__(self, other: Guarantee) -> bool:
        """Whether self implies other: at least as strong a promise, proved."""
        same_relation(self, other)
        return self == other or other.implied_by(self)

    def __ge__(self, other: Guarantee) -> bool:
        return other <= self

    def __lt__(self, other: Guarantee) -> bool:
        return self <= other and not other <= self

    def __gt__(self, other: Guarantee) -> bool:
        return other < self


def _refuse_graph(relation: Relation) -> None:
    if relation.value == "profile":
        raise NotProved(
            f"a promise about {relation.name} says nothing of a record replaced: only an ADD_REMOVE promise "
            "becomes one under SUBSTITUTE; for records use a mechanism of records"
        )


def same_relation(*guarantees: Guarantee) -> Relation:
    """Return the common neighbour relation, or refuse and name the way out."""
    return one_relation(g.relation for g in guarantees)


def exact(name: str, value: Exact) -> Exact:
    """Return a finite rational in canonical form: a float where a double holds it exactly, else Fraction."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool) or not isinstance(plain, int | float | Fraction):
        raise TypeError(f"{name} must be an int, a float or a Fraction, got {type(value).__name__}")
    if isinstance(plain, float) and not math.isfinite(plain):
        raise ValueError(f"{name} must be finite, got {plain}")
    try:
        near = float(plain)
    except OverflowError:
        return Fraction(plain)
    return near if Fraction(near) == plain else Fraction(plain)


def positive(name: str, value: Exact) -> Exact:
    """Refuse zero too: only a release that ignores the data costs nothing, and it needs no guarantee."""
    number = exact(name, value)
    if not number > 0:
        raise ValueError(
            f"{name} must be positive, got {value}; {name} = 0 promises that the data are ignored: "
            "leave such a release out, or choose a small positive value"
        )
    return number


def nonnegative(name: str, value: Exact) -> Exact:
    number = exact(name, value)
    if not number >= 0:
        raise ValueError(f"{name} must be at least 0, got {value}")
    return number


def probability(name: str, value: Exact) -> Exact:
    number = exact(name, value)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must lie in [0, 1), got {value}; at 1 nothing is promised")
    return number


def renyi_order(value: Exact) -> Exact:
    if value == math.inf:
        return math.inf
    number = exact("the Rényi order", value)
    if not number > 1:
        raise ValueError(
            f"the Rényi order must exceed 1, got {value}; order 1 is the KL limit, ask just above it"
        )
    return number


def group_size(k: int) -> int:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ValueError(f"a group needs a whole number of records, at least 1, got {k}")
    return k
