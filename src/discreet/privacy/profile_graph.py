"""Profile-based local privacy: a public graph of known profiles, whose edges must not be told apart [GC19].

A mechanism has ε-profile privacy on a graph when, for every edge, what is released of an observation from P_i
and of one from P_j have laws within e^±ε of each other. ε-local DP implies it on any graph.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.amplification.mixing import FiniteKernel, Row
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import Relation, exact

if TYPE_CHECKING:
    import networkx as nx

Edge = tuple[int, int]
Profiles: TypeAlias = Sequence[Sequence[Exact]] | Sequence[Exact] | Mapping[str, Any]


TINY = 1e-290  # below this doubles lose digits
CLOSE_CALL = 1e-12  # ratios of doubles this close to the largest are compared exactly


@final
@dataclass(frozen=True)
class ProfileGraph:
    """Known laws over d values, one per profile, and which pairs are sensitive. All of it is public."""

    profiles: tuple[Row, ...]
    edges: tuple[Edge, ...]
    names: tuple[str, ...]
    weights: tuple[Fraction, ...]  # how common each profile is, for costs; they sum to 1
    labels: tuple[str, ...]  # what the values are called in data; the first also stands for what is missing

    @classmethod
    def of(
        cls,
        profiles: Profiles,
        edges: Iterable[tuple[Any, Any]],
        *,
        weights: Sequence[Exact] | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Profiles as laws, or as single numbers P(1); edges by place or name; weights equal by default."""
        pairs = profiles.items() if isinstance(profiles, Mapping) else enumerate(profiles)
        named = {str(name): profile for name, profile in pairs}
        if not named:
            raise ValueError("a graph needs at least one profile")
        names = tuple(named)
        rows = FiniteKernel.of([_law(p) for p in named.values()]).rows
        called = tuple(str(y) for y in (range(len(rows[0])) if labels is None else labels))
        if len(called) != len(rows[0]) or len(set(called)) != len(called):
            raise ValueError(f"labels must be {len(rows[0])} different names, one for each value")
        return cls(rows, _edges(edges, names), names, _weights(weights, len(rows)), called)

    @classmethod
    def chain(cls, profiles: Profiles, *, weights: Sequence[Exact] | None = None) -> Self:
        """Each profile is sensitive against the next."""
        return cls.of(profiles, itertools.pairwise(range(len(profiles))), weights=weights)

    @classmethod
    def complete(cls, profiles: Profiles, *, weights: Sequence[Exact] | None = None) -> Self:
        """Every pair is sensitive."""
        return cls.of(profiles, itertools.combinations(range(len(profiles)), 2), weights=weights)

    @classmethod
    def from_counts(cls, counts: Mapping[str, Sequence[int]], edges: Iterable[tuple[str, str]]) -> Self:
        """Profiles as frequencies of PUBLIC counts for each role, weighted by how many there are."""
        totals = {role: sum(row) for role, row in counts.items()}
        if not all(total > 0 for total in totals.values()):
            raise ValueError("every role needs at least one count; leave a role without any out")
        laws = {role: [Fraction(c, totals[role]) for c in row] for role, row in counts.items()}
        return cls.of(laws, edges, weights=list(totals.values()))

    @classmethod
    def from_networkx(cls, graph: nx.Graph, *, labels: Sequence[str] | None = None) -> Self:
        """Read an undirected graph whose nodes carry `law` and, if wanted, `weight`."""
        missing = [str(node) for node, facts in graph.nodes(data=True) if "law" not in facts]
        if missing:
            raise ValueError(f"every node needs an attribute law, its profile; missing at {missing[0]!r}")
        laws = {str(node): facts["law"] for node, facts in graph.nodes(data=True)}
        weights = [facts.get("weight", 1) for _, facts in graph.nodes(data=True)]
        edges = [(str(a), str(b)) for a, b in graph.edges]
        return cls.of(laws, edges, weights=weights, labels=labels)

    def to_networkx(self) -> nx.Graph:
        """Return the graph with `law` and `weight` at its nodes, for drawing and for graph algorithms."""
        try:
            import networkx as nx  # noqa: PLC0415 - an extra
        except ImportError as absent:
            raise ImportError("graphs need networkx: pip install 'discreet[models]'") from absent
        made = nx.Graph()
        for name, law, weight in zip(self.names, self.profiles, self.weights, strict=True):
            made.add_node(name, law=law, weight=weight)
        made.add_edges_from((self.names[i], self.names[j]) for i, j in self.edges)
        return made

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read TOML or JSON: `profiles` (name → law), `edges` (pairs), and if wanted `weights`, `labels`."""
        text = Path(path).read_text(encoding="utf-8")
        found = json.loads(text) if str(path).endswith(".json") else tomllib.loads(text)
        missing = {"profiles", "edges"} - found.keys()
        if missing:
            raise ValueError(
                f"{path} lacks {', '.join(sorted(missing))}; see docs/profiles.md for the format"
            )
        edges = [tuple(e) for e in found["edges"]]
        return cls.of(found["profiles"], edges, weights=found.get("weights"), labels=found.get("labels"))

    @cached_property
    def relation(self) -> Relation:
        """Who must look alike: an observation of one profile, and of the other end of an edge.

        Known by the SHA-256 of the profiles (their names, and the exact probability of each label) and the
        edges, in whatever order they were given; weights only steer costs and do not count.
        """
        laws = {
            name: dict(zip(self.labels, map(str, law), strict=True))
            for name, law in zip(self.names, self.profiles, strict=True)
        }
        edges = sorted(sorted((self.names[i], self.names[j])) for i, j in self.edges)
        text = json.dumps({"profiles": laws, "edges": edges}, sort_keys=True)
        about = ", ".join(
            f"{n} {what}{'' if n == 1 else 's'}"
            for n, what in ((len(laws), "profile"), (self.values, "value"), (len(edges), "edge"))
        )
        return Relation("profile", hashlib.sha256(text.encode()).hexdigest(), about)

    @property
    def values(self) -> int:
        """d: how many values an observation can take."""
        return len(self.profiles[0])

    @property
    def is_complete(self) -> bool:
        k = len(self.profiles)
        return len(self.edges) == k * (k - 1) // 2

    @property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """The connected parts; one cannot be told from outside which privacy another part has."""
        home = list(range(len(self.profiles)))
        for i, j in self.edges:
            a, b = home[i], home[j]
            home = [a if h == b else h for h in home]
        return tuple(tuple(i for i, h in enumerate(home) if h == part) for part in sorted(set(home)))

    def place(self, name: str | int) -> int:
        """Find a profile by its name, or check its place."""
        if isinstance(name, int) and 0 <= name < len(self.names):
            return name
        if name not in self.names:
            raise ValueError(f"no profile is called {name!r}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def loss(self, outputs: Sequence[Row]) -> float:
        """Least ε that these laws of what is released keep on every edge: exact, its logarithm rounded up."""
        ratio = worst_ratio(outputs, self.edges, complete=self.is_complete)
        if ratio is None:
            return math.inf
        with precision(256):
            return ceiling(ball(ratio).log()) if ratio > 1 else 0.0


def worst_ratio(outputs: Sequence[Row], edges: Sequence[Edge], *, complete: bool = False) -> Fraction | None:
    """Largest q_i(y)/q_j(y) over edges, both ways, exactly; None when a zero stands beside a non-zero.

    Doubles find the candidates: their quotients are right up to 3·2^-53, so the maximum is among those near;
    where doubles are too coarse every pair is one.
    """
    rough = np.array([[float(q) for q in law] for law in outputs])
    pairs = np.array(edges, dtype=int).reshape(-1, 2)
    some = np.array([[q > 0 for q in law] for law in outputs])
    lonely = some.any(axis=0) & ~some.all(axis=0) if complete else some[pairs[:, 0]] != some[pairs[:, 1]]
    if lonely.any():
        return None
    near = _extremes(rough) if complete else _along(rough, pairs)
    near += _tiny(outputs, some & (rough < TINY), pairs)
    return max((outputs[i][y] / outputs[j][y] for i, j, y in near), default=Fraction(1))


def _tiny(
    outputs: Sequence[Row], tiny: NDArray[np.bool_], edges: NDArray[np.int64]
) -> list[tuple[int, int, int]]:
    """Every pair with an end that doubles hold badly or not at all, the larger first."""
    rows, values = np.nonzero(tiny[edges[:, 0]] | tiny[edges[:, 1]])
    pairs = [(*edges[r].tolist(), int(y)) for r, y in zip(rows, values, strict=True)]
    return [(i, j, y) if outputs[i][y] > outputs[j][y] else (j, i, y) for i, j, y in pairs]


def _extremes(rough: NDArray[np.float64]) -> list[tuple[int, int, int]]:
    """Candidates of a complete graph: the near-largest over the near-smallest of each value."""
    top, low = rough.max(axis=0), rough.min(axis=0)
    highs = [np.flatnonzero(c >= t * (1 - CLOSE_CALL)) for c, t in zip(rough.T, top, strict=True)]
    lows = [np.flatnonzero(c <= t * (1 + CLOSE_CALL)) for c, t in zip(rough.T, low, strict=True)]
    return [
        (int(i), int(j), y)
        for y, (high, least) in enumerate(zip(highs, lows, strict=True))
        for i in high
        for j in least
        if rough[j, y] > 0
    ]


def _along(rough: NDArray[np.float64], edges: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    both = np.concatenate([edges, edges[:, ::-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(rough[both[:, 0]] / rough[both[:, 1]], nan=0.0, posinf=np.inf)
    if not ratios.size:
        return []
    rows, values = np.nonzero(ratios >= ratios.max() * (1 - CLOSE_CALL))
    return [
        (int(both[r, 0]), int(both[r, 1]), int(y))
        for r, y in zip(rows, values, strict=True)
        if rough[both[r], y].all()
    ]


def _law(profile: Any) -> list[Exact]:  # noqa: ANN401 - a number, a list, a tuple or an array
    plain = profile.tolist() if hasattr(profile, "tolist") else profile
    if not isinstance(plain, int | float | Fraction):
        return list(plain)
    one = Fraction(exact("a profile", plain))
    if not 0 <= one <= 1:
        raise ValueError(f"a profile of bits is a probability, got {plain}")
    return [1 - one, one]


def _edges(edges: Iterable[tuple[Any, Any]], names: tuple[str, ...]) -> tuple[Edge, ...]:
    found = set()
    for pair in edges:
        ends = tuple(names.index(e) if isinstance(e, str) and e in names else e for e in pair)
        if len(ends) != 2 or not all(isinstance(e, int) and 0 <= e < len(names) for e in ends):
            raise ValueError(f"an edge joins two profiles by name or place, got {pair!r}")
        if ends[0] == ends[1]:
            raise ValueError(f"an edge joins two different profiles, got {pair!r}")
        found.add((min(ends), max(ends)))
    return tuple(sorted(found))


def _weights(weights: Sequence[Exact] | None, k: int) -> tuple[Fraction, ...]:
    given = [Fraction(1)] * k if weights is None else [Fraction(exact("a weight", w)) for w in weights]
    if len(given) != k or not all(w >= 0 for w in given) or not sum(given) > 0:
        raise ValueError(f"weights must be {k} numbers ≥ 0, not all zero")
    total = sum(given, Fraction(0))
    return tuple(w / total for w in given)
