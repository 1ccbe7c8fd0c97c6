"""The numbers of a posterior, coordinate by coordinate: what tables and pictures are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.catalogue import expect
from discreet.families.family import Floats
from discreet.posteriors.drawn import DrawnPosterior
from discreet.report.subject import Group

if TYPE_CHECKING:
    from discreet.release.release import Release


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
    """Give the standard deviation of the noise on each released number, in the units of the statistic.

    Laplace √2·b; its discrete kin √(2q)/(1 − q), q = e^{−1/b}; Gaussian σ; its discrete kin at most σ.
    """
    value: Any = release.value
    scale = float(value.scale)
    q = math.exp(-1 / scale)
    spread = {"laplace": math.sqrt(2) * scale, "discrete_laplace": math.sqrt(2 * q) / -math.expm1(-1 / scale)}
    return spread.get(value.noise, scale)
