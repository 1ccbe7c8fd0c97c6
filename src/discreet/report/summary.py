"""The numbers of a posterior, coordinate by coordinate: what tables and pictures are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.families.dirichlet_law import DirichletLaw
from discreet.families.family import Family, Floats
from discreet.families.scalar import ScalarFamily

if TYPE_CHECKING:
    from discreet.release import Release
    from discreet.report.subject import Group

LEVEL = 0.9
MOST_MOVES = 100  # noisy numbers whose effect is followed one by one
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


@final
@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation and 90 % interval of each coordinate of θ."""

    mean: Floats
    deviation: Floats
    interval: Floats  # shape (coordinates, 2)

    @classmethod
    def of(cls, member: Family) -> Summary:
        ends = np.asarray(member.interval(LEVEL), dtype=np.float64).reshape(-1, 2)
        return cls(_flat(member.mean()), np.sqrt(_flat(member.variance())), ends)

    def within(self, group: Group) -> Summary:
        part = slice(group.first, group.stop)
        return Summary(self.mean[part], self.deviation[part], self.interval[part])

    @property
    def widths(self) -> Floats:
        return np.asarray(self.interval[:, 1] - self.interval[:, 0])


def _flat(values: Any) -> Floats:  # noqa: ANN401 - a number or a vector
    return np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()


def released_draws(release: Release) -> Floats | None:
    """Return θ₁, …, θ_q as rows, where draws are all that was released."""
    posterior = release.posterior
    if isinstance(posterior, Family):
        return None
    drawn = np.asarray(posterior.sample(), dtype=np.float64)
    return drawn.reshape(drawn.shape[0], -1)


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


def moved_by_noise(release: Release) -> Floats | None:
    """How far noise of one standard deviation moves each posterior mean: √Σ of squares over its inputs."""
    value: Any = release.value
    if len(value.noisy) > MOST_MOVES:
        return None
    deviation, noisy = noise_deviation(release), _possible(release, value)
    here = _mean_at(value, noisy, 0, 0.0)
    squares = np.zeros_like(here)
    with np.errstate(invalid="ignore"):  # a mean that does not exist is moved by NaN
        for i in range(len(noisy)):
            both = [np.abs(_mean_at(value, noisy, i, sign * deviation) - here) for sign in (-1, 1)]
            squares += np.maximum(*both) ** 2
    return np.sqrt(squares)


def _possible(release: Release, value: Any) -> tuple[float, ...]:  # noqa: ANN401
    """Start from a possible statistic: beyond its hull, projection would hide that noise moves anything."""
    noisy = np.asarray(value.noisy, dtype=np.float64)
    if not value.joint:
        noisy = release.model.project(noisy, value.n)
    elif isinstance(release.model, ScalarFamily | DirichletLaw):
        noisy = np.maximum(noisy, 0)
    return tuple(noisy.tolist())


def _mean_at(value: Any, noisy: tuple[float, ...], i: int, shift: float) -> Floats:  # noqa: ANN401
    moved = (*noisy[:i], noisy[i] + shift, *noisy[i + 1 :])
    return _flat(replace(value, noisy=moved).posterior().mean())
