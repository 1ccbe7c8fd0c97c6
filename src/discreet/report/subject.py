"""What θ is, in the words of the question: its coordinates by name, and how their numbers are shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.catalogue import ROWS, expect
from discreet.families.family import Family, Floats
from discreet.posteriors.read import DrawnPosterior

if TYPE_CHECKING:
    from discreet.release.release import Release


@final
@dataclass(frozen=True)
class Group:
    """Coordinates of θ that share an axis."""

    phrase: str  # of one coordinate, as the start of a sentence; the label is put behind it
    axis: str
    labels: tuple[str, ...]
    first: int = 0  # where they start in θ
    percent: bool = False
    ranked: bool = False  # show the largest first
    per: tuple[float, ...] = ()  # of weights: how much of each column the picture shows; 0 leaves it out
    answer: str = ""  # of weights: what they predict

    @property
    def stop(self) -> int:
        return self.first + len(self.labels)

    @property
    def pictured(self) -> list[int]:
        return [i for i in range(len(self.labels)) if not self.per or self.per[i]]

    def named(self, index: int) -> str:
        """Name a coordinate, as the start of a sentence."""
        return self.phrase if len(self.labels) == 1 else f"{self.phrase} {quoted(self.labels[index])}"


@final
@dataclass(frozen=True)
class Subject:
    """The question that a release answers."""

    title: str
    groups: tuple[Group, ...]


def subject(release: Release) -> Subject:
    """Say what was asked, as the catalogue has it; a family without a row gets its θ by number."""
    row = ROWS.get(release.model.name)
    said: Subject = (unnamed if row is None else row.load("report", "subject"))(release)
    return said


def quoted(name: str) -> str:
    return f"“{name}”"


# --- one number ------------
def _one(title: str, phrase: str, axis: str, *, percent: bool = False) -> Callable[[Release], Subject]:
    """Words in which {} stands for the columns."""

    def say(release: Release) -> Subject:
        name = _columns(release)
        group = Group(phrase.replace("{}", name), axis.replace("{}", name), ("",), percent=percent)
        return Subject(title.replace("{}", name), (group,))

    return say


def bernoulli(release: Release) -> Subject:
    whole = getattr(release.model, "grid", 1) == 1
    return (share if whole else average)(release)


share = _one(
    "How often is {} true?",
    "The share of records where {} is true",
    "share of records where {} is true",
    percent=True,
)
average = _one("What is the average of {}?", "The average of {}", "average of {}")
binomial = _one(
    "How often does a trial of {} succeed?", "The chance of success in {}", "chance of success", percent=True
)
geometric = _one(
    "How soon does {} end in success?",
    "The chance of success at each trial of {}",
    "chance of success",
    percent=True,
)
poisson = _one("How large is {} on average?", "The average of {}", "average of {}")
exponential = _one("What is the rate of {}?", "The rate of {}, one over its average,", "rate of {}")


# --- several numbers ------------
def categories(release: Release) -> Subject:
    name = _columns(release)
    labels = release.labels.axis(_dimension(release), "category")
    group = Group(
        f"Among the values of {name}, the share of", f"share of {name}", labels, percent=True, ranked=True
    )
    return Subject(f"How are the values of {name} distributed?", (group,))


def items(release: Release) -> Subject:
    d = _dimension(release)
    labels = release.columns if len(release.columns) == d else _numbered("category", d)
    group = Group("Of all items, the share of", "share of all items", labels, percent=True, ranked=True)
    return Subject("How are items spread over the categories?", (group,))


def mean_and_variance(release: Release) -> Subject:
    name = _columns(release)
    groups = (
        Group(f"The average of {name}", f"average of {name}", ("average",)),
        Group(f"The variance of {name}", f"variance of {name}", ("variance",), first=1),
    )
    return Subject(f"What are the average and the variance of {name}?", groups)


def means_and_covariances(release: Release) -> Subject:
    d = _dimension(release)
    names = release.columns if len(release.columns) == d else _numbered("column", d)
    pairs = [(names[i], names[j]) for i, j in zip(*np.triu_indices(d), strict=True)]
    cells = tuple(f"variance of {a}" if a == b else f"covariance of {a} and {b}" for a, b in pairs)
    groups = (
        Group("The average of", "average", tuple(names)),
        Group("The", "variance or covariance", cells, first=d),
    )
    return Subject(f"What are the averages of {_columns(release)}, and how do they vary together?", groups)


def weights(release: Release) -> Subject:
    d = _dimension(release)
    names = _weights_of(release, d)
    response = quoted(release.columns[-1]) if release.columns else "the response"
    columns = getattr(release.model, "named", None)
    per = (1.0,) * d if columns is None else (*(feature.half for feature in columns.design), 0.0)
    groups = (
        Group(
            f"In predicting {response}, the weight of",
            f"weight in predicting {response}",
            tuple(names),
            per=per[:d],
            answer=response,
        ),
        Group(f"The residual variance of {response}", "residual variance", ("residual variance",), first=d),
    )
    return Subject(f"How does {response} depend on the other columns?", groups)


def _weights_of(release: Release, d: int) -> tuple[str, ...]:
    columns = getattr(release.model, "named", None)
    if columns is not None:
        return tuple(columns.names)
    return release.columns[:-1] if len(release.columns) == d + 1 else _numbered("feature", d)


def unnamed(release: Release) -> Subject:
    count = np.size(expect(Family, release.model).mean())
    labels = ("θ",) if count == 1 else _numbered("θ", count)
    return Subject(f"What was learned about {_columns(release)}?", (Group("The parameter", "θ", labels),))


# --- names ------------
def _columns(release: Release) -> str:
    names = [quoted(name) for name in release.columns] or ["the table"]
    few = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
    return few[0] if len(few) == 1 else f"{', '.join(few[:-1])} and {few[-1]}"


def _dimension(release: Release) -> int:
    model: Any = release.model
    return int(model.dimension)


def _numbered(what: str, count: int) -> tuple[str, ...]:
    return tuple(f"{what} {i + 1}" for i in range(count))


# ── The numbers of a posterior, coordinate by coordinate: what tables and pictures are made of.
LEVEL = 0.9
DRAWN = "draws"  # the reading of a release that holds draws and nothing else
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


class Law(Protocol):
    """A family, or what was read."""

    def mean(self) -> ArrayLike: ...
    def variance(self) -> ArrayLike: ...
    def interval(self, level: float) -> ArrayLike: ...


@final
@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation and 90 % interval of each coordinate of θ."""

    mean: Floats
    deviation: Floats
    interval: Floats  # shape (coordinates, 2)

    @classmethod
    def of(cls, member: Law) -> Summary:
        ends = np.asarray(member.interval(LEVEL), dtype=np.float64).reshape(-1, 2)
        return cls(_flat(member.mean()), np.sqrt(_flat(member.variance())), ends)

    def within(self, group: Group) -> Summary:
        part = slice(group.first, group.stop)
        return Summary(self.mean[part], self.deviation[part], self.interval[part])

    def pictured(self, group: Group) -> Summary:
        """Return what the picture of a group shows: each weight for as much of its column as is compared."""
        kept = group.pictured
        per = np.array(group.per or (1.0,) * len(group.labels))[kept]
        return Summary(self.mean[kept] * per, self.deviation[kept] * per, self.interval[kept] * per[:, None])

    @property
    def widths(self) -> Floats:
        return np.asarray(self.interval[:, 1] - self.interval[:, 0])


def _flat(values: ArrayLike) -> Floats:
    return np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()


def released_draws(release: Release) -> Floats | None:
    """Return θ₁, …, θ_q as rows, where draws are all that was released."""
    if release.reading != DRAWN:
        return None
    return expect(DrawnPosterior, release.posterior).held


def shown_first(group: Group, sizes: Floats, most: int) -> list[int]:
    """Coordinates to show, by size where the group is ranked, and no more than `most`."""
    order = np.argsort(-sizes, kind="stable") if group.ranked else np.arange(sizes.size)
    return [int(i) for i in order[:most]]


def noise_deviation(release: Release) -> float:
    """Give the standard deviation of the noise on each released number, in the units of the column.

    Laplace √2·b; its discrete kin √(2q)/(1 − q), q = e^{−1/b}; Gaussian σ; its discrete kin at most σ.
    """
    value: Any = release.value
    scale = float(value.scale)
    q = math.exp(-1 / scale)
    spread = {"laplace": math.sqrt(2) * scale, "discrete_laplace": math.sqrt(2 * q) / -math.expm1(-1 / scale)}
    return spread.get(value.noise, scale) * float(getattr(release.model, "grid", 1))
