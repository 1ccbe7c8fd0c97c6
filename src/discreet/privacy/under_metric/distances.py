"""Privacy under a metric [D14, Definition 2]: distances between data sets, as values with an identity."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation, exact, positive

Records = NDArray[Any]  # (records,), or (records, columns)
SLACK = 1e-9  # relative, of doubles, in the check of the axioms


@dataclass(frozen=True)
class Metric(ABC):
    """A pseudo-metric on data sets of the same n records; `said` is its identity."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def words(self) -> str:
        """The formula, as people read it."""

    @abstractmethod
    def between(self, x: ArrayLike, y: ArrayLike) -> float:
        """ρ(x, y); records in the same order."""

    @property
    def said(self) -> Mapping[str, object]:
        """What the metric is, as plain JSON: its identity."""
        return {}

    @property
    def relation(self) -> Relation:
        """The metric as that of which a promise speaks."""
        text = json.dumps({"metric": self.kind, **self.said}, sort_keys=True, ensure_ascii=True)
        return Relation("metric", hashlib.sha256(text.encode()).hexdigest(), self.words)


def pair(x: ArrayLike, y: ArrayLike) -> tuple[Records, Records]:
    """Return both data sets as arrays, or refuse two of different shape, which have no distance."""
    first, second = np.asarray(x), np.asarray(y)
    if first.ndim == 0 or first.shape != second.shape:
        raise ValueError(
            f"a distance is between data sets of the same number of records, got shapes {first.shape} and "
            f"{second.shape}"
        )
    return first, second


def exact_grid(grid: Exact | None) -> Fraction | None:
    """Return a grid exactly."""
    return None if grid is None else Fraction(positive("grid", grid))


def rounded(grid: Exact | None) -> str:
    return "" if grid is None else f" of records rounded to multiples of {float(grid):.6g}"


def on_grid(records: Records, grid: Exact | None) -> NDArray[np.float64]:
    """Return the records as doubles, rounded to the nearest multiple of the grid if there is one."""
    values = records.astype(np.float64)
    return values if grid is None else np.floor(values / float(grid) + 0.5) * float(grid)


@final
@dataclass(frozen=True)
class Hamming(Metric):
    """Σ_i 1{x_i ≠ y_i}: at distance 1 one record is replaced, as under SUBSTITUTE [D14, Remark 1]."""

    kind: ClassVar[str] = "hamming"

    @property
    def words(self) -> str:
        return "number of records that differ"

    def between(self, x: ArrayLike, y: ArrayLike) -> float:
        first, second = pair(x, y)
        return float((first != second).reshape(len(first), -1).any(axis=1).sum())


@final
@dataclass(frozen=True)
class AbsoluteDifference(Metric):
    """Σ_i |x_i − y_i|, over columns too: of exponential and Laplace likelihoods [D14, Lemmas 1, 3 and 4].

    With a grid it is the distance of the records rounded to it, which is what models on a grid read.
    """

    kind: ClassVar[str] = "absolute_difference"

    grid: Exact | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", exact_grid(self.grid))

    @property
    def words(self) -> str:
        return f"Σ |x_i − y_i|{rounded(self.grid)}"

    @property
    def said(self) -> Mapping[str, object]:
        return {} if self.grid is None else {"grid": str(self.grid)}

    def between(self, x: ArrayLike, y: ArrayLike) -> float:
        first, second = (on_grid(part, self.grid) for part in pair(x, y))
        return float(np.abs(first - second).sum())


@final
@dataclass(frozen=True)
class TotalDifference(Metric):
    """|Σ x_i − Σ y_i|: of likelihoods that read the sum alone; at most the sum of the differences."""

    kind: ClassVar[str] = "total_difference"

    grid: Exact | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", exact_grid(self.grid))

    @property
    def words(self) -> str:
        return f"|Σ x_i − Σ y_i|{rounded(self.grid)}"

    @property
    def said(self) -> Mapping[str, object]:
        return {} if self.grid is None else {"grid": str(self.grid)}

    def between(self, x: ArrayLike, y: ArrayLike) -> float:
        first, second = (on_grid(part, self.grid) for part in pair(x, y))
        return abs(float(first.sum()) - float(second.sum()))


@final
@dataclass(frozen=True)
class NormalDifference(Metric):
    """Σ_i |x_i² − y_i²| + 2|x_i − y_i|: of normal likelihoods [D14, Lemma 6]."""

    kind: ClassVar[str] = "normal_difference"

    @property
    def words(self) -> str:
        return "Σ |x_i² − y_i²| + 2 |x_i − y_i|"

    def between(self, x: ArrayLike, y: ArrayLike) -> float:
        first, second = (part.astype(np.float64) for part in pair(x, y))
        return float((np.abs(first**2 - second**2) + 2 * np.abs(first - second)).sum())


@final
@dataclass(frozen=True)
class Weighted(Metric):
    """Σ_i Σ_k v_k 1{x_ik ≠ y_ik}, columns in their order: of Bayesian networks [D14, Lemma 7, its proof].

    The lemma prints v_k = 1, with which it is false; see ERRATA of the documentation, and `of_network`.
    """

    kind: ClassVar[str] = "weighted"

    weights: Mapping[str, Exact]

    def __post_init__(self) -> None:
        held = {name: positive(f"the weight of {name!r}", weight) for name, weight in self.weights.items()}
        if not held:
            raise ValueError("a weighted distance needs the weight of at least one column")
        object.__setattr__(self, "weights", held)

    def __hash__(self) -> int:
        return hash(frozenset(self.weights.items()))

    @classmethod
    def of_network(cls, parents: Mapping[str, Sequence[str]]) -> Weighted:
        """Return v_k = 1 + the number of children of k, of {column: its parents}: the tables that read k.

        The proof's 1 + degree counts parents too, which is never less: a smaller metric promises more.
        """
        children = {name: sum(name in above for above in parents.values()) for name in parents}
        return cls({name: 1 + count for name, count in children.items()})

    @property
    def words(self) -> str:
        listed = ", ".join(f"{name}: {weight}" for name, weight in sorted(self.weights.items()))
        short = listed if len(listed) < 120 else f"{len(self.weights)} columns"
        return f"weighted number of entries that differ ({short})"

    @property
    def said(self) -> Mapping[str, object]:
        return {"weights": {name: str(Fraction(weight)) for name, weight in self.weights.items()}}

    def between(self, x: ArrayLike, y: ArrayLike) -> float:
        first, second = (part.reshape(len(part), -1) for part in pair(x, y))
        if first.shape[1] != len(self.weights):
            raise ValueError(f"this distance is of {len(self.weights)} columns, got {first.shape[1]}")
        differ = (first != second).sum(axis=0).tolist()
        return float(sum(Fraction(w) * d for w, d in zip(self.weights.values(), differ, strict=True)))


@final
@dataclass(frozen=True)
class Steps(Metric):
    """Σ_i ⌈|x_i − y_i|/Δ⌉: at distance 1 one record has moved by Δ at most [GSC17 A.6.2, first way].

    ⌈a + b⌉ ≤ ⌈a⌉ + ⌈b⌉ makes it a metric. A mechanism that is ε-DP for neighbours within Δ alone is
    (ε, 0)-private under it, and the other way round, where every value between two others is allowed.
    """

    kind: ClassVar[str] = "steps"

    within: Exact

    def __post_init__(self) -> None:
        object.__setattr__(self, "within", Fraction(positive("within", self.within)))

    @property
    def words(self) -> str:
        return f"steps of at most {self.within} of one record each"

    @classmethod
    def of(cls, relation: Relation) -> Fraction | None:
        """Return Δ where the relation is that of such steps; the digest confirms what the words say."""
        found = re.fullmatch(r"steps of at most ([\d./e+-]+) of one record each", relation.about)
        within = None if found is None else Fraction(found[1])
        return within if within and cls(within).relation == relation else None

    @property
    def said(self) -> Mapping[str, object]:
        return {"within": str(Fraction(self.within))}

    def between(self, x: ArrayLike, y: ArrayLike) -> float:
        first, second = (part.reshape(-1).tolist() for part in pair(x, y))
        width = Fraction(self.within)
        return float(
            sum(-(-abs(Fraction(a) - Fraction(b)) // width) for a, b in zip(first, second, strict=True))
        )


@final
@dataclass(frozen=True)
class DeclaredMetric(Metric):
    """A distance of the user's own. Its identity is what can be told: name, words and parameters.

    No program can tell whether two functions are the same distance, so that the code is no part of it.
    Whoever declares answers for it, and names every number that the distance depends on in `parameters`; two
    that differ there never mix.
    """

    kind: ClassVar[str] = "declared"

    name: str
    distance: Callable[[Records, Records], float] = field(compare=False, repr=False)
    about: str = ""
    parameters: Mapping[str, Exact | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        held = {key: v if isinstance(v, str) else exact(key, v) for key, v in self.parameters.items()}
        object.__setattr__(self, "parameters", held)
        if not self.name or not (self.name + self.about).isprintable() or len(self.name + self.about) > 150:
            raise ValueError("a declared distance needs a name, and name and words of at most 150 characters")

    @property
    def words(self) -> str:
        told = ", ".join(f"{key} = {value}" for key, value in sorted(self.parameters.items()))
        shown = told if len(told) < 80 else f"{len(self.parameters)} parameters"
        words = f"{self.name}, as declared" + (f": {self.about}" if self.about else "")
        return words + (f" ({shown})" if told else "")

    @property
    def said(self) -> Mapping[str, object]:
        told = {key: str(value) for key, value in self.parameters.items()}
        return {"name": self.name, "about": self.about, **({"parameters": told} if told else {})}

    def __hash__(self) -> int:
        return hash((self.name, self.about, frozenset(self.parameters.items())))

    def between(self, x: ArrayLike, y: ArrayLike) -> float:
        found = float(self.distance(*pair(x, y)))
        if not found >= 0:
            raise ValueError(
                f"the declared distance {self.name!r} gave {found} where a number ≥ 0 was expected"
            )
        return found


@final
@dataclass(frozen=True)
class BrokenAxiom:
    """Which axiom failed, and at which samples (their places)."""

    axiom: str
    samples: tuple[int, ...]
    words: str


def check_axioms(metric: Metric, samples: Iterable[ArrayLike]) -> tuple[BrokenAxiom, ...]:
    """Return where ρ(x, x) = 0, ρ(x, y) = ρ(y, x) ≥ 0 or ρ(x, z) ≤ ρ(x, y) + ρ(y, z) fails, on all triples.

    An empty answer proves nothing beyond the samples; the promise rests on the declaration.
    """
    held = [np.asarray(sample) for sample in samples]
    far = np.array([[metric.between(x, y) for y in held] for x in held])
    slack = SLACK * max(1.0, float(far.max(initial=0.0)))
    return (*_alone(far, slack), *_triangles(far, slack))


def _alone(far: NDArray[np.float64], slack: float) -> list[BrokenAxiom]:
    found = [
        BrokenAxiom("identity", (i,), f"ρ(x, x) = {far[i, i]:g}, not 0")
        for i in range(len(far))
        if abs(far[i, i]) > slack
    ]
    for i, j in product(range(len(far)), repeat=2):
        if i < j and abs(far[i, j] - far[j, i]) > slack:
            found.append(BrokenAxiom("symmetry", (i, j), f"ρ(x, y) = {far[i, j]:g}, ρ(y, x) = {far[j, i]:g}"))
    return found


def _triangles(far: NDArray[np.float64], slack: float) -> list[BrokenAxiom]:
    over = far[:, None, :] - far[:, :, None] - far[None, :, :] > slack  # x, y, z
    return [
        BrokenAxiom(
            "triangle",
            (x, y, z),
            f"ρ(x, z) = {far[x, z]:g} > {far[x, y]:g} + {far[y, z]:g}",
        )
        for x, y, z in np.argwhere(over).tolist()
    ]


def distance(value: Exact) -> Fraction:
    """Return a distance as an exact number, or refuse it."""
    number = exact("a distance", value)
    if not number >= 0:
        raise ValueError(f"a distance is at least 0, got {value}")
    return Fraction(number)
