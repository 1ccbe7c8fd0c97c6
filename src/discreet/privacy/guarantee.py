"""What a Guarantee is: the promise, its neighbour relation, and the questions every promise answers."""

from __future__ import annotations

import copy
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Self, final

from discreet.privacy.arithmetic.ball import Exact

# ── Neighbours: which pairs of data sets must look alike. Of one relation nothing follows for another.
KINDS = ("substitute", "add_remove", "profile", "metric")
NAMED = ("profile", "metric")  # kinds of which there are many, each known by its digest
LONGEST = 200  # characters of a description
_held: dict[str, Relation] = {}  # the two relations that need no graph


class MixedRelations(ValueError):  # noqa: N818 - a fact about the promises, said in the user's words
    """Promises speak of different neighbours; the message names them and says how to bring them together."""


@final
@dataclass(frozen=True, repr=False)
class Relation:
    """SUBSTITUTE, ADD_REMOVE, the edges of one graph of profiles, or one distance; these known by a digest.

    Two graphs are one relation if and only if their digests are equal; the description is for people. A
    profile relation without a digest comes from files that did not keep it: which graph it speaks of is not
    known, so that it mixes with nothing, not even with itself. Of a distance every pair of data sets is
    promised something, by MetricDP alone; see Metric.relation. Of SUBSTITUTE and ADD_REMOVE there is one
    object each, also after a copy or a pickle, so that `is` may be asked.
    """

    value: str  # one of KINDS
    graph: str | None = None  # SHA-256 of the profiles and edges, or of the distance
    about: str = field(default="", compare=False)

    def __new__(cls, value: str, graph: str | None = None, about: str = "") -> Self:
        if value not in KINDS:
            raise ValueError(f"neighbours are {', '.join(KINDS)}, got {value!r}")
        if value not in NAMED and (graph is not None or about):
            raise ValueError(f"{value} speaks of no graph; a graph belongs to a profile relation")
        if value == "metric" and graph is None:
            raise ValueError(
                "a distance is known by its digest: use Metric.relation, e.g. Hamming().relation"
            )
        if graph is not None and not (isinstance(graph, str) and re.fullmatch("[0-9a-f]{64}", graph)):
            raise ValueError(
                "a graph is known by its SHA-256, 64 hexadecimal digits: use ProfileGraph.relation"
            )
        if not isinstance(about, str) or len(about) > LONGEST or not about.isprintable():
            raise ValueError(f"a graph is described by at most {LONGEST} printable characters")
        return _held.get(value) or super().__new__(cls)

    def __reduce__(self) -> tuple[type[Relation], tuple[str, str | None, str]]:
        return Relation, (self.value, self.graph, self.about)

    @property
    def is_distance(self) -> bool:
        """Whether promises speak of a distance between any data sets, instead of neighbours."""
        return self.value == "metric"

    @property
    def known(self) -> bool:
        """Whether it is said which data sets are neighbours; False for a profile relation without a graph."""
        return self.value != "profile" or self.graph is not None

    @property
    def name(self) -> str:
        """Name the neighbours for people: SUBSTITUTE, ADD_REMOVE, or the graph by its first digits."""
        if self.value not in NAMED:
            return self.value.upper()
        if self.graph is None:
            return "PROFILE of an unknown graph"
        if self.is_distance:
            return f"METRIC {self.about}" if self.about else f"METRIC {self.graph[:12]}"
        return f"PROFILE of graph {self.graph[:12]}" + (f" ({self.about})" if self.about else "")

    @property
    def replaces(self) -> bool:
        """Whether records are replaced (else added or removed), so that n is public; graphs are refused."""
        if self.value == "profile":
            raise ValueError(
                f"records of a table are neighbours under SUBSTITUTE or ADD_REMOVE, got {self.name}; "
                "profiles are for profile mechanisms and for `discreet local`"
            )
        return self.value != "add_remove"

    def to_json(self) -> str | dict[str, str]:
        """Write a word or a digest and its description; from_json gives an equal one back."""
        key = "metric" if self.is_distance else "graph"
        return self.value if self.graph is None else {key: self.graph, "about": self.about}

    @classmethod
    def from_json(cls, data: object) -> Relation:
        """Read what to_json wrote; the bare word "profile" is of an unknown graph."""
        if isinstance(data, str):
            return Relation(data)
        keys = {"graph": "profile", "metric": "metric"}
        key = next((key for key in keys if isinstance(data, Mapping) and set(data) == {key, "about"}), "")
        if not isinstance(data, Mapping) or not key or data[key] is None:
            raise ValueError(
                f'neighbours are {", ".join(KINDS[:3])}, or {{"graph": SHA-256, "about": text}}, or '
                '{"metric": SHA-256, "about": text}'
            )
        return Relation(keys[key], data[key], data["about"])

    def __repr__(self) -> str:
        if self.value not in NAMED:
            return self.name
        return f"Relation({', '.join(map(repr, (self.value, self.graph, self.about)))})"


SUBSTITUTE = _held.setdefault("substitute", Relation("substitute"))  # one record replaced; n is public
ADD_REMOVE = _held.setdefault("add_remove", Relation("add_remove"))  # one record more or less; n is private


def checked_relation(relation: Relation) -> Relation:
    """Refuse a word where a relation is meant: it would pass for a relation that it is not."""
    if not isinstance(relation, Relation):
        raise TypeError(f"relation must be SUBSTITUTE, ADD_REMOVE or a graph's relation, got {relation!r}")
    return relation


def of_neighbours(relation: Relation) -> Relation:
    """Refuse a distance where a promise speaks of neighbours: of other pairs it would say nothing."""
    if checked_relation(relation).is_distance:
        raise MixedRelations(
            f"this promise speaks of neighbours, and {relation.name} is a distance between any data sets: "
            "promise MetricDP(ε, δ, metric), and use a mechanism that is proved for it (one_posterior_sample "
            "or one_network_sample)"
        )
    return relation


def one_relation(relations: Iterable[Relation]) -> Relation:
    """Return the relation that all of them are, or refuse, name those at hand, and the way out."""
    given = [checked_relation(relation) for relation in relations]
    if not given:
        raise ValueError("no guarantee was given; give at least one")
    if len(set(given)) == 1 and (given[0].known or len(given) == 1):
        return given[0]
    names = " and ".join(dict.fromkeys(relation.name for relation in given))
    raise MixedRelations(
        f"these guarantees speak of different neighbours ({names}) and are never mixed silently; "
        f"{_way_out(set(given))}"
    )


def _way_out(given: set[Relation]) -> str:
    if not all(relation.known for relation in given):
        return (
            "a promise of an unknown graph was written before graphs were kept and holds alone: open a new "
            "scope with the graph's own relation (ProfileGraph.relation, `discreet ledger init --graph FILE`)"
        )
    if given == {SUBSTITUTE, ADD_REMOVE}:
        return (
            "call .as_substitute() on each ADD_REMOVE one: a substitution is one removal and one "
            "addition, so its .group(2) holds under SUBSTITUTE"
        )
    if any(relation.is_distance for relation in given):
        return (
            "nothing about one distance follows for records or for another distance: use one metric for all "
            "of them, or keep a scope and an account for each"
        )
    return (
        "nothing about one graph follows for records or for another graph: use one graph for all of them, or "
        "keep a scope and an account for each"
    )


# ── guarantee
class Unreachable(ValueError):  # noqa: N818 - a fact about the target, said in the user's words
    """No setting of the knob meets the target; the message says what would."""


class NotProved(ValueError):  # noqa: N818
    """No theorem covers what was asked; the message says which mechanism is covered."""


@dataclass(frozen=True, repr=False)
class Guarantee(ABC):
    """What is promised about every pair of neighbouring data sets; numbers rounded to the private side."""

    relation: Relation = field(default=SUBSTITUTE, kw_only=True)

    def __post_init__(self) -> None:
        of_neighbours(self.relation)

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

    @property
    def profile_to_convolve(self) -> Callable[[float], float] | None:
        """δ(ε) where that says more of several uses than sums do: certified, of both directions."""
        return None

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
    if relation.value in NAMED:
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
