"""Plain numbers behind noise: estimates within what is possible, and intervals that allow for the noise.

An interval of a count is Ŝ ± t with P(|Z| ≤ t) ≥ level for the noise Z, cut to what a count can be: it covers
the true count at least that often, whatever the records are, since cutting to possible values loses none of
them. Mean and variance are read off Ŝ − Z for fresh draws of Z, which for numbers linear in S is the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, singledispatch
from itertools import product
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import stats

from discreet.families.family import Floats, credible
from discreet.mechanisms.statistics.noisy_plain import NoisyPlain
from discreet.models.plain import Histogram, MeanAndVariance, PlainNumbers, RecordCount
from discreet.posteriors.labels import Labels
from discreet.posteriors.noise_law import NoiseLaw
from discreet.posteriors.posterior import Diagnostics, Posterior, generator
from discreet.posteriors.variables import Variable, in_a_row
from discreet.sampling.source import SeededSource, Source

if TYPE_CHECKING:
    import xarray as xr

DRAWS = 20_000  # of the noise, for numbers that are not linear in what was noised


def reach(law: NoiseLaw, level: float) -> float:
    """Return the least t, up to rounding, with P(|Z| ≤ t) ≥ level."""
    scale, tail = law.scale, 1 - level
    if law.kind == "laplace":
        return float(-scale * np.log(tail))
    if law.kind == "gaussian":
        return float(scale * stats.norm.isf(tail / 2))
    if law.kind == "discrete_laplace":  # P(|Z| > t) = 2q^{t+1}/(1 + q)
        q = np.exp(-1 / scale)
        return float(max(0, np.ceil(scale * -np.log(tail * (1 + q) / 2) - 1 - 1e-9)))
    if scale > 1e4:  # its tail is that of the Gaussian with a step more
        return float(np.ceil(scale * stats.norm.isf(tail / 2)) + 1)
    k = np.arange(0, int(law.reach()) + 2)
    mass = np.exp(law.log_density(k)) * np.where(k > 0, 2, 1)
    return float(k[int(np.searchsorted(np.cumsum(mass), level - 1e-12))])


def noise_draws(law: NoiseLaw, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw noise of this law, for reading what is public."""
    if law.kind == "laplace":
        return rng.laplace(0, law.scale, shape)
    if law.kind == "discrete_laplace":
        p = -np.expm1(-1 / law.scale)
        return np.asarray(rng.geometric(p, shape) - rng.geometric(p, shape), dtype=np.float64)
    drawn = rng.normal(0, law.scale, shape)
    return drawn if law.kind == "gaussian" else np.rint(drawn)


@final
@dataclass(frozen=True, eq=False, repr=False)
class PlainReading(Posterior):
    """What the noisy numbers say of the exact ones."""

    value: NoisyPlain
    how: str = "noise_aware"

    @property
    def model(self) -> PlainNumbers:
        return self.value.model

    @property
    def reading(self) -> str:
        return self.how

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics("the law of the noise")

    @cached_property
    def law(self) -> NoiseLaw:
        return NoiseLaw(self.value.noise, float(self.value.scale))

    @cached_property
    def _drawn(self) -> Floats:
        """Numbers that fit the release: (draws, numbers)."""
        text = repr((self.value.noisy.tolist(), self.value.n, self.law, self.model))
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        return self._fitting(DRAWS, SeededSource(seed))

    def _fitting(self, size: int, source: Source | None) -> Floats:
        noise = noise_draws(self.law, (size, self.value.noisy.size), generator(source))
        return numbers_of(self.model, self.value, self.value.noisy - noise)

    def own_names(self) -> tuple[str, ...]:
        return names_of(self.model, self.labels)

    def arrangement(self) -> tuple[Variable, ...]:
        return arranged(self.model, self.labels)

    def flat_mean(self) -> Floats:
        """Return the noisy numbers, at the nearest possible ones; `release.value.noisy` has them as drawn."""
        found: Floats = numbers_of(self.model, self.value, self.value.noisy[None].astype(np.float64))[0]
        return found

    def flat_variance(self) -> Floats:
        if self.how == "naive":
            return np.zeros(len(self.names))
        return np.asarray(self._drawn.var(axis=0))

    def flat_interval(self, level: float) -> Floats:
        ends = credible(level)
        point = self.flat_mean()
        if self.how == "naive":
            return np.stack([point, point], axis=1)
        if isinstance(self.model, MeanAndVariance):
            return np.asarray(np.quantile(self._drawn, ends, axis=0).T)
        t = reach(self.law, level)
        around = np.stack([self.value.noisy - t, self.value.noisy + t]).astype(np.float64)
        return numbers_of(self.model, self.value, around).T

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        """Draw numbers that fit the release: Ŝ − Z, at the nearest of what is possible."""
        if self.how == "naive":
            return np.tile(self.flat_mean(), (size, 1))
        return self._fitting(size, source)

    def table(self, of: xr.DataArray | None = None) -> xr.DataArray:
        """Return the counts of a histogram, or any labelled answer of this reading, with an axis a column."""
        from xarray import DataArray  # noqa: PLC0415 - heavy

        if not isinstance(self.model, Histogram):
            raise TypeError(f"{type(self.model).__name__} has no table; read mean() and interval()")
        given = self.mean() if of is None else of
        place = given.dims.index("parameter")
        before, after = given.dims[:place], given.dims[place + 1 :]
        axes = dict(_axes(self.model, self.labels))
        shape = (*given.shape[:place], *self.model.sizes, *given.shape[place + 1 :])
        rest = {name: given[name] for name in (*before, *after) if name in given.coords}
        coords = {**rest, **{name: list(levels) for name, levels in axes.items()}}
        return DataArray(given.values.reshape(shape), dims=(*before, *axes, *after), coords=coords)


def read(value: NoisyPlain, model: PlainNumbers, reading: str) -> PlainReading:
    """Read plain numbers; they have no prior, and `naive` leaves the noise out of the intervals."""
    if model != value.model or reading not in {"noise_aware", "naive"}:
        raise ValueError("plain numbers have no prior and two readings: noise_aware, or naive")
    return PlainReading(value, reading)


# ── numbers of noisy sums (draws, sums), at the nearest of what is possible
@singledispatch
def numbers_of(model: PlainNumbers, value: NoisyPlain, sums: Floats) -> Floats:
    """Take counts as not below 0, nor above a public n."""
    del model
    return np.clip(sums, 0, np.inf if value.n is None else value.n)


@numbers_of.register
def _moments(model: MeanAndVariance, value: NoisyPlain, sums: Floats) -> Floats:
    """Mean and variance within the bounds; of a private n as it was noised along, at least 1."""
    family = model.moments
    first, second = sums[:, 0] * family.units[0], sums[:, 1] * family.units[1]
    n = (
        np.full(len(sums), float(value.n))
        if value.n is not None
        else np.maximum(1, sums[:, 2] / family.count_unit)
    )
    low, high = float(family.lower), float(family.upper)
    shift = family.middle * float(family.grid)
    mean = first / n
    variance = np.clip(second / n - mean**2, 0, (high - low) ** 2 / 4)
    return np.stack([np.clip(mean + shift, low, high), variance], axis=1)


# ── what they are called
@singledispatch
def names_of(model: PlainNumbers, labels: Labels) -> tuple[str, ...]:
    del labels
    return {RecordCount: ("records",), MeanAndVariance: ("mean", "variance")}[type(model)]


@names_of.register
def _cell_names(model: Histogram, labels: Labels) -> tuple[str, ...]:
    axes = _axes(model, labels)
    spoken = [[f"{name} = {level}" for level in levels] for name, levels in axes]
    return tuple(", ".join(cell) for cell in product(*spoken))


def _axes(model: Histogram, labels: Labels) -> list[tuple[str, tuple[str, ...]]]:
    return [(name, labels.levels(name, size)) for name, size in zip(model.columns, model.sizes, strict=True)]


def arranged(model: PlainNumbers, labels: Labels) -> tuple[Variable, ...]:
    """Give a histogram an axis for each column; other numbers stand alone."""
    if isinstance(model, Histogram):
        return (Variable("count", tuple(_axes(model, labels)), np.arange(model.size).reshape(model.sizes)),)
    return in_a_row("number", ("which", names_of(model, labels)))
