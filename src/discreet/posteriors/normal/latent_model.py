"""The latent normal model that normal families and regression share, and what a release says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import Family, Floats
from discreet.families.laws.matrices import pack
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.posteriors.labels import Labels
from discreet.posteriors.posterior import Diagnostics, NoiseAware, Sampled

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
    from discreet.posteriors.normal.algebra_kernel import Layout, Prior
    from discreet.posteriors.normal.augment_kernel import Seen


FEW = 200
TAIL = 40.0  # n is uniform up to where the noise would have to exceed 40 of its scales


@final
@dataclass(frozen=True)
class LatentNormal:
    """Rows z = μ + Lu at the door: q = ⌊(z − middle)/g⌉ clipped, S = Σ(Kq, qqᵀ packed)."""

    layout: Layout
    prior: Prior
    grid: Floats  # middle, 1/g
    door: Floats  # low, high, R
    balance: float  # K, or 0 where first moments are not released
    theta: Callable[[Floats], Floats]  # φ → the family's θ
    base: Prior | None = None  # where starts are drawn from; the prior itself may be too vague for it

    @property
    def columns(self) -> int:
        return sum(self.layout)

    @property
    def size(self) -> int:
        """Length of φ."""
        f, p, r = self.layout
        return p + p * (p + 1) // 2 + r * (f + p + 1)


@final
@dataclass(frozen=True)
class Observed:
    """Ŝ in integer units with the law of its noise; n, or n̂ where n is private."""

    noisy: Floats
    shares: Floats  # of every coordinate, its noise's variance over the widest one's
    rate: float  # 1/b, or 1/2σ², of the widest noise, which n has, too
    power: float  # 1 for the Laplace kinds, 2 for the Gaussian ones
    n: int | None
    count: float  # U·n̂
    count_unit: float  # U; 0 where n is public
    largest: float = 1.0  # U again: the most that one record moves a coordinate

    @classmethod
    def of(cls, release: NoisyStatistic, family: Family) -> Observed:
        scale, power = float(release.scale), 1.0 if "laplace" in release.noise else 2.0
        flat, largest = np.asarray(release.noisy, dtype=np.float64), float(family.count_unit)  # type: ignore[attr-defined]
        count = 0.0
        if release.joint:
            flat, count = flat[:-1], float(flat[-1])
        rate = 1 / scale if power == 1 else 0.5 / scale**2
        unit = 0.0 if release.n is not None else largest
        return cls(flat, release.shares, rate, power, release.n, count, unit, largest)

    @property
    def variance(self) -> float:
        """Of the widest noise: 2b² or σ²."""
        return 2 / self.rate**2 if self.power == 1 else 0.5 / self.rate

    @property
    def about(self) -> int:
        """n, or the whole number nearest to n̂, at least 0: where a chain starts."""
        return self.n if self.n is not None else max(0, round(self.count / self.count_unit))

    @property
    def few(self) -> bool:
        """Whether the skewness of a sum of n records may show through the noise: no limit law then.

        Noise of at least U√n/10 hides it from FEW records on; narrower noise, from five times as many.
        """
        wide = self.variance >= self.about * (self.largest / 10) ** 2
        return self.about < (FEW if wide else 5 * FEW)

    @property
    def most(self) -> int:
        """Largest n that is considered."""
        if self.n is not None:
            return self.n
        return max(16, int((self.count + TAIL * self.variance**0.5) / self.count_unit) + 1)

    def seen(self, model: LatentNormal) -> Seen:
        rates = self.rate / np.append(self.shares, 1.0)
        return self.noisy, rates, self.power, model.balance, model.door, self.count, self.count_unit

    @property
    def variances(self) -> Floats:
        """Of the noise of every coordinate."""
        return self.variance * self.shares


NO_REGRESSION = (np.zeros(0), np.zeros((0, 0)), 1.0, 1.0)


@singledispatch
def latent(family: Family) -> LatentNormal:
    raise TypeError(f"{type(family).__name__} has no latent normal model")


@latent.register(NormalInverseGamma)
def _latent_normal_inverse_gamma(family: NormalInverseGamma) -> LatentNormal:
    """σ² ~ IG(a, b) is IW(2a, 2b) in one dimension."""
    m, k, a, b = family._parameters  # noqa: SLF001 - doubles of the public fields
    g, (low, high) = float(family.grid), family._ends  # noqa: SLF001
    return LatentNormal(
        layout=(0, 1, 0),
        prior=(np.array([m]), k, 2 * a, np.array([[np.sqrt(2 * b)]]), *NO_REGRESSION),
        grid=np.array([family.middle * g, 1 / g]),
        door=np.array([low, high, 0.0]),
        balance=float(family._balance),  # noqa: SLF001
        theta=_mean_and_variance,
    )


@latent.register(NormalInverseWishart)
def _latent_normal_inverse_wishart(family: NormalInverseWishart) -> LatentNormal:
    m, k, nu, scale = family._parameters  # noqa: SLF001
    return LatentNormal(
        layout=(0, m.size, 0),
        prior=(m, k, nu, np.asarray(np.linalg.cholesky(scale), dtype=np.float64), *NO_REGRESSION),
        grid=np.array([0.0, 1 / float(family.grid)]),
        door=np.array([0.0, 0.0, float(family.ball.largest)]),
        balance=float(family._balance),  # noqa: SLF001
        theta=lambda phi: _mean_and_covariance(phi, m.size),
    )


def _mean_and_variance(phi: Floats) -> Floats:
    return np.stack([phi[..., 0], np.exp(2 * phi[..., 1])], axis=-1)


def _mean_and_covariance(phi: Floats, p: int) -> Floats:
    root = np.zeros((*phi.shape[:-1], p, p))
    rows, columns = np.tril_indices(p, -1)
    root[..., rows, columns] = phi[..., 2 * p : 2 * p + rows.size]
    root[..., range(p), range(p)] = 1.0
    root *= np.exp(phi[..., None, p : 2 * p])
    return np.concatenate([phi[..., :p], pack(root @ np.swapaxes(root, -1, -2))], axis=-1)


# ── A noise-aware posterior that is held as draws.
@singledispatch
def declared(prior: Family, labels: Labels) -> tuple[str, ...]:
    """Say what the declared columns alone give reason for."""
    del prior, labels
    return ()


@declared.register(BayesianLinearRegression)
def _declared_linear_regression(prior: BayesianLinearRegression, labels: Labels) -> tuple[str, ...]:
    """Look for a line through 0, and for rows beyond the radius, of columns that are read as they are."""
    ends = [labels.range_of(name) for name in labels.columns]
    if prior.named is not None or not ends or None in ends:
        return ()
    known = [end for end in ends if end is not None]
    said = [] if any(map(labels.constant, labels.columns[:-1])) else [THROUGH_0]
    longest, radius = float(np.sqrt(sum(max(low**2, high**2) for low, high in known))), float(prior.radius)
    if longest > radius * (1 + 1e-9):
        said.append(BEYOND.format(longest=longest, radius=radius))
    return tuple(said)


THROUGH_0 = (
    "no column is constant, so the line goes through 0: give the model target= and features=, which add an "
    "intercept, or derive a constant column"
)
BEYOND = (
    "the public bounds allow rows as long as {longest:.3g}, and the radius is {radius:.3g}: longer rows are "
    "scaled down to it, and count for less; target= and features= scale columns to [−1, 1] and choose a "
    "radius"
)
LINES = 2**20  # observations × draws of a predictive that are in memory at once


@final
@dataclass(frozen=True, eq=False, repr=False)
class SampledPosterior(Sampled, NoiseAware):
    """Draws (chains, draws, θ) of θ | Ŝ, n along with them where it is private."""

    prior: Family
    draws: Floats
    size: NDArray[Any] | None  # draws of n, (chains, draws); None where n is public
    computed: Diagnostics
    said: tuple[str, ...] = ()  # its cautions

    @property
    def diagnostics(self) -> Diagnostics:
        return self.computed

    @property
    def cautions(self) -> tuple[str, ...]:
        return (*self.said, *declared(self.prior, self.labels)) or super().cautions

    def chains(self) -> Floats:
        return self.draws

    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log of the average of p(x|θ) over the draws."""
        observed = np.asarray(x, dtype=np.float64)
        held = self._all()
        row = np.shape(self.prior.log_likelihood(observed, held[0]))
        cells = observed.reshape(int(np.prod(row)), *observed.shape[len(row) :])
        parts = np.array_split(cells, max(1, len(cells) * len(held) // LINES))
        done = [
            np.logaddexp.reduce(self.prior.log_likelihood(part[None], held[:, None]), axis=0)
            for part in parts
        ]
        return np.asarray(np.concatenate(done).reshape(row) - np.log(len(held)))
