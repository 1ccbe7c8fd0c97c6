"""Neighbours: which pairs of data sets must look alike. Of one relation nothing follows for another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, final

KINDS = ("substitute", "add_remove", "profile")
LONGEST = 200  # characters of a description
_held: dict[str, Relation] = {}  # the two relations that need no graph


class MixedRelations(ValueError):  # noqa: N818 - a fact about the promises, said in the user's words
    """Promises speak of different neighbours; the message names them and says how to bring them together."""


@final
@dataclass(frozen=True, repr=False)
class Relation:
    """SUBSTITUTE, ADD_REMOVE, or the edges of one public graph of profiles, known by its digest.

    Two graphs are one relation if and only if their digests are equal; the description is for people. A
    profile relation without a digest comes from files that did not keep it: which graph it speaks of is not
    known, so that it mixes with nothing, not even with itself. Of SUBSTITUTE and ADD_REMOVE there is one
    object each, also after a copy or a pickle, so that `is` may be asked.
    """

    value: str  # one of KINDS
    graph: str | None = None  # SHA-256 of the profiles and edges; see ProfileGraph.relation
    about: str = field(default="", compare=False)

    def __new__(cls, value: str, graph: str | None = None, about: str = "") -> Self:
        if value not in KINDS:
            raise ValueError(f"neighbours are {', '.join(KINDS)}, got {value!r}")
        if value != "profile" and (graph is not None or about):
            raise ValueError(f"{value} speaks of no graph; a graph belongs to a profile relation")
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
    def known(self) -> bool:
        """Whether it is said which data sets are neighbours; False for a profile relation without a graph."""
        return self.value != "profile" or self.graph is not None

    @property
    def name(self) -> str:
        """Name the neighbours for people: SUBSTITUTE, ADD_REMOVE, or the graph by its first digits."""
        if self.value != "profile":
            return self.value.upper()
        if self.graph is None:
            return "PROFILE of an unknown graph"
        return f"PROFILE of graph {self.graph[:12]}" + (f" ({self.about})" if self.about else "")

    @property
    def replaces(self) -> bool:
        """Whether one record is replaced (else added or removed); neighbours along a graph are refused."""
        if self.value == "profile":
            raise ValueError(
                f"records of a table are neighbours under SUBSTITUTE or ADD_REMOVE, got {self.name}; "
                "profiles are for profile mechanisms and for `discreet local`"
            )
        return self.value == "substitute"

    def to_json(self) -> str | dict[str, str]:
        """Write a word or, of a graph, its digest and description; from_json gives an equal one back."""
        return self.value if self.graph is None else {"graph": self.graph, "about": self.about}

    @classmethod
    def from_json(cls, data: object) -> Relation:
        """Read what to_json wrote; the bare word "profile" is of an unknown graph."""
        if isinstance(data, str):
            return Relation(data)
        if not isinstance(data, Mapping) or set(data) != {"graph", "about"} or data["graph"] is None:
            raise ValueError(f'neighbours are {", ".join(KINDS)}, or {{"graph": SHA-256, "about": text}}')
        return Relation("profile", data["graph"], data["about"])

    def __repr__(self) -> str:
        if self.value != "profile":
            return self.name
        return f"Relation({', '.join(map(repr, (self.value, self.graph, self.about)))})"


SUBSTITUTE = _held.setdefault("substitute", Relation("substitute"))  # one record replaced; n is public
ADD_REMOVE = _held.setdefault("add_remove", Relation("add_remove"))  # one record more or less; n is private


def checked_relation(relation: Relation) -> Relation:
    """Refuse a word where a relation is meant: it would pass for a relation that it is not."""
    if not isinstance(relation, Relation):
        raise TypeError(f"relation must be SUBSTITUTE, ADD_REMOVE or a graph's relation, got {relation!r}")
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
    return (
        "nothing about one graph follows for records or for another graph: use one graph for all of them, or "
        "keep a scope and an account for each"
    )
