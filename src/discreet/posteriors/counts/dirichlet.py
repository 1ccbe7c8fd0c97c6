"""Noise-aware Dirichlet posteriors: counts drawn exactly, θ integrated out; then θ | S ~ Dirichlet(α + S)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import Floats, Integers, credible
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.posteriors.counts.nested_counts import NestedProblem, NoisyTable
from discreet.posteriors.counts.nested_counts import draw as drawn
from discreet.posteriors.noise_law import NoiseLaw
from discreet.posteriors.posterior import Diagnostics, NoiseAware, generator, public_source
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic


# ── Draws from Dirichlet laws whose parameters may be tiny: through logarithms, for a gamma would underflow.
def log_gammas(shapes: Floats, rng: np.random.Generator) -> Floats:
    """Ln G, G ~ Gamma(shape): below 1 as G' U^{1/shape}, G' ~ Gamma(shape + 1)."""
    small = shapes < 1
    logs = np.log(rng.standard_gamma(np.where(small, shapes + 1, shapes)))
    logs[small] += np.log1p(-rng.random(int(small.sum()))) / shapes[small]
    return np.asarray(logs)


def dirichlet_draws(shapes: Floats, rng: np.random.Generator) -> Floats:
    """One draw for each simplex, the last axis."""
    logs = log_gammas(shapes, rng)
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


# ── dirichlet
FEWEST, MOST, ENTRIES = 240, 4000, 2**20  # draws of the counts: entries / cells, within these
METHOD = "independent draws of the counts, θ integrated out"
CELLS = 4096  # whose intervals are found at once
REPEATS = 2**22  # draws of θ behind all intervals together


@final
@dataclass(frozen=True, eq=False, repr=False)
class CountDraws(NoiseAware):
    """An even mixture of Dirichlet(α + S_k), S_k independent draws of the counts behind the noise."""

    prior: DirichletLaw
    counts: NDArray[np.int32]  # (draws, cells)
    seed: int

    @property
    def diagnostics(self) -> Diagnostics:
        size = len(self.counts)
        return Diagnostics(METHOD, draws=size, ess=float(size))

    @cached_property
    def _totals(self) -> Floats:
        """Σα + ΣS_k."""
        whole: Floats = self.counts.sum(axis=1, dtype=np.float64) + self.prior.natural.sum()
        return whole

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """E and Var over the mixture, some draws at a time: E Var + Var E."""
        first, second, inner = (np.zeros(self.prior.dimension) for _ in range(3))
        size, prior = len(self._totals), self.prior.natural
        some = max(1, ENTRIES // self.prior.dimension)
        for i in range(0, size, some):
            total = self._totals[i : i + some, None]
            share = (prior + self.counts[i : i + some]) / total
            first += share.sum(axis=0)
            second += (share**2).sum(axis=0)
            inner += (share * (1 - share) / (total + 1)).sum(axis=0)
        mean = first / size
        return mean, inner / size + np.maximum(second / size - mean**2, 0.0)

    def flat_mean(self) -> Floats:
        return self._moments[0]

    def flat_variance(self) -> Floats:
        return self._moments[1]

    def flat_interval(self, level: float) -> Floats:
        """Quantiles of draws θ_j | S_k ~ Beta(α_j + s_kj, rest), the same draws at every call."""
        tails, rng = credible(level), np.random.default_rng(self.seed)
        repeats = int(np.clip(REPEATS // self.counts.size, 1, 16))
        ends = [
            self._quantiles(slice(i, i + CELLS), tails, repeats, rng)
            for i in range(0, self.prior.dimension, CELLS)
        ]
        return np.concatenate(ends)

    def _quantiles(self, cells: slice, tails: Floats, repeats: int, rng: np.random.Generator) -> Floats:
        a = self.prior.natural[cells] + self.counts[:, cells]
        b = self._totals[:, None] - a
        draws = rng.beta(a, b, size=(repeats, *a.shape)).reshape(-1, a.shape[1])
        return np.asarray(np.quantile(draws, tails, axis=0).T)

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        """θ | S_k for counts S_k chosen at random."""
        rng = generator(source)
        chosen = rng.integers(len(self._totals), size=size)
        return dirichlet_draws(self.prior.natural + self.counts[chosen], rng)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log of the average over S_k of the family's own predictive."""
        each = [
            self.prior._with(alpha=self.prior.natural + row).log_predictive(x)  # noqa: SLF001 - same family
            for row in self.counts
        ]
        return np.asarray(np.logaddexp.reduce(each, axis=0) - np.log(len(each)))

    def log_density(self, theta: ArrayLike) -> Floats:
        """Log of the average over S_k of Dirichlet densities."""
        each = [self.prior._with(alpha=self.prior.natural + row).log_density(theta) for row in self.counts]  # noqa: SLF001
        return np.asarray(np.logaddexp.reduce(each, axis=0) - np.log(len(each)))


def read(
    release: NoisyStatistic,
    prior: DirichletLaw,
    *,
    draws: int | None = None,
    size_prior: Callable[[Integers], ArrayLike] | None = None,
) -> CountDraws:
    """Draw the counts from a seed that the release itself gives: reading it twice gives the same numbers.

    `size_prior` is log π(n) of an integer array where n is private, flat on 0, 1, 2, … unless given.
    """
    many = int(np.clip(ENTRIES // prior.dimension, FEWEST, MOST)) if draws is None else draws
    if not (many == many // 1 and many >= 8):
        raise ValueError(f"draws must be a whole number of at least 8, got {draws!r}")
    words = public_source(release, prior).words(2) >> np.uint64(33)
    noisy, rng = np.asarray(release.noisy, dtype=np.float64), np.random.default_rng(int(words[0]))
    counts = counts_behind(noisy, prior, release.n, NoiseLaw.of(release), int(many), rng, size_prior)
    return CountDraws(prior, counts, int(words[1]))


def counts_behind(  # noqa: PLR0917 - what a release says, one by one
    noisy: Floats,
    prior: DirichletLaw,
    n: int | None,
    law: NoiseLaw,
    draws: int,
    rng: np.random.Generator,
    size_prior: Callable[[Integers], ArrayLike] | None = None,
) -> NDArray[np.int32]:
    """S | Ŝ, independent draws: one table of one row (nested_counts)."""
    table = NoisyTable(noisy[None], law, np.asarray(prior.natural, dtype=np.float64))
    whole = float(prior.natural.sum())
    problem = NestedProblem((table,), whole, n, each=prior.total_per_record, size_prior=size_prior)
    _, (counts,) = drawn(problem, draws, rng)
    return np.asarray(counts[:, 0], dtype=np.int32)
