"""What NoisyStatistics releases, and how it may be read. All of this is post-processing: it costs nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.catalogue import ROWS, resolve
from discreet.families.family import Family, Floats
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.families.records import ScalarFamily
from discreet.mechanisms.released import ReleasedArrays
from discreet.models.count_model import CountModel
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, NotProved

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from discreet.sampling.source import Source


T = TypeVar("T")
DEFAULT_READING = "noise_aware"
IF_SET = {"json": "where it is set"}  # files of before there was such a field are written back as they were


class Readable(Protocol):
    """A posterior, as far as this layer knows it: posteriors.Posterior has the words to every part."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def reading(self) -> str: ...
    @property
    def cautions(self) -> tuple[str, ...]: ...
    def mean(self) -> xr.DataArray: ...
    def sd(self) -> xr.DataArray: ...
    def interval(self, level: float = 0.9) -> xr.DataArray: ...
    def sample(self, size: int, source: Source | None = None) -> xr.DataArray: ...
    def summary(self, level: float = 0.9) -> pd.DataFrame: ...


@final
@dataclass(frozen=True)
class NoisyStatistic:
    """Ŝ = S + noise in the family's integer units, with the noise law: enough to read it any honest way."""

    kind: ClassVar[str] = "noisy_statistics"  # what files and the catalogue call it

    model: Family
    noisy: tuple[float, ...]  # integers when the noise is
    n: int | None  # public; None when it is part of what was noised
    joint: bool  # `noisy` encodes (S, n) as model.joint does
    noise: str
    scale: Exact  # of the noise, in integer units
    guarantee: Guarantee
    seeded: bool  # drawn from a public seed, hence not private
    halved: bool = field(default=False, metadata=IF_SET)  # half the variance off a matrix's diagonal

    @property
    def shares(self) -> Floats:
        """Of each coordinate of S, the variance of its noise as a share of σ²."""
        return self.model.noise_shares if self.halved else np.ones(self.model.units.size)

    @cached_property
    def posterior(self) -> Readable:
        """The posterior given Ŝ and the law of its noise: the default of `read`, computed once."""
        return self.read()

    def read(
        self,
        *,
        model: Family | None = None,
        reading: str = DEFAULT_READING,
        **options: object,  # the reading's own, which it checks
    ) -> Readable:
        """Read the release, as often as you like, under any prior (`model`) of the same family and bounds.

        `naive` takes Ŝ for S (its option: project); `noise_aware` is the posterior given Ŝ and the law of its
        noise.
        """
        prior = self.model if model is None else model
        if prior is not self.model and _encoding(prior) != _encoding(self.model):
            raise ValueError(
                f"the release holds a statistic of {type(self.model).__name__}: read it under a prior of "
                "that family with the same bounds and grid"
            )
        if reading not in READINGS:
            raise ValueError(f"unknown reading {reading!r}; known: {', '.join(READINGS)}")
        return READINGS[reading](self, prior, **options)


def _encoding(model: Family) -> tuple[object, ...]:
    """Return what two priors must share for one noisy statistic to mean the same to both."""
    return type(model), tuple(model.units.tolist()), model.sensitivity(SUBSTITUTE), model.joint_sensitivity()


Reading = Callable[..., Readable]  # (release, prior, **options) → posterior


def naive_law(release: NoisyStatistic, prior: Family, *, project: bool = True) -> Family:
    """prior.update(proj(Ŝ), n): Ŝ read as if it were S [F16 §3.2]; asymptotically efficient [F16 Thm 4].

    The projection is onto the statistics' hull, and without it an Ŝ outside has no posterior and is refused.
    Intervals of this reading under-cover at small n.
    """
    statistic, n = _decoded(release, prior, project=project)
    return prior.update(prior.project(statistic, n) if project else statistic, n)


def _decoded(release: NoisyStatistic, prior: Family, *, project: bool) -> tuple[NDArray[Any], float]:
    """(Ŝ, n): n as it is public, or as it was noised along."""
    noisy = np.asarray(release.noisy)
    if release.n is not None and not release.joint:
        return noisy, release.n
    statistic, n = prior.split(joint_hull(prior, noisy) if project else noisy)
    return statistic, max(n, 0.0) if project else n


@singledispatch
def joint_hull(_model: Family, noisy: Floats) -> Floats:
    """Project a noisy (S, n) onto an orthant that holds every `model.joint`; the whole space unless known."""
    return noisy


@joint_hull.register(ScalarFamily)
@joint_hull.register(DirichletLaw)
def _joint_hull_scalar_family_or_dirichlet_law(_model: Family, noisy: Floats) -> Floats:
    return np.maximum(noisy, 0)


def noise_aware(release: NoisyStatistic, prior: Family, **options: object) -> Readable:
    """Read with the noise accounted for, as the catalogue says; the same numbers every time."""
    row = ROWS.get(prior.name)
    read: Reading | None = None if row is None else row.load("reader", release.kind)
    if read is None:
        raise NotProved(
            f"no noise-aware reading is known for {type(prior).__name__}; reading='naive' takes the noisy "
            "statistic as if it were exact"
        )
    return read(release, prior, **known(options, read))


def naive(release: NoisyStatistic, prior: Family, **options: object) -> Readable:
    """Read with the noise left out: `naive_law`, as a posterior."""
    read: Reading = resolve("posteriors.conjugate:naive")
    return read(release, prior, **known(options, read))


def known(options: Mapping[str, T], read: Callable[..., object]) -> Mapping[str, T]:
    """Return the options of a reading, or refuse those that it does not take."""
    parameters = inspect.signature(read).parameters.values()
    takes = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    strange = sorted(set(options) - set(takes))
    if strange:
        there_are = f"the options {', '.join(takes)}" if takes else "no options"
        raise ValueError(f"this reading takes {there_are}; got {', '.join(strange)}")
    return options


# The seam for readings of one release: name → Reading.
READINGS: dict[str, Reading] = {
    "noise_aware": noise_aware,
    "naive": naive,
}


# ── What NoisyCounts releases. Reading it is post-processing: it costs nothing.
@final
@dataclass(frozen=True, eq=False)
class NoisyCells(ReleasedArrays):
    """Ĉ = C + noise for every table, with the noise law: enough to read it any honest way."""

    kind: ClassVar[str] = "noisy_counts"  # what files and the catalogue call it

    model: CountModel  # bound
    noisy: NDArray[Any]  # flat, read-only; integers when the noise is; may be negative
    n: int | None  # public; None when it is private
    noise: str
    scales: tuple[Exact, ...]  # one for each table; σ for the Gaussian kinds
    guarantee: Guarantee  # of one row
    seeded: bool  # drawn from a public seed, hence not private

    def __post_init__(self) -> None:
        self._hold("noisy", self.noisy)
        _ = self.model.split(self.noisy)

    def tables(self) -> dict[str, NDArray[Any]]:
        """Noisy counts by the table's name, in its shape."""
        return self.model.split(self.noisy)

    def scale_of(self) -> dict[str, float]:
        """Table → noise scale."""
        return {cells.name: float(scale) for cells, scale in zip(self.model.cells, self.scales, strict=True)}
