"""Noise-aware Dirichlet posteriors: chains over counts, θ integrated out; then θ | S ~ Dirichlet(α + S)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy.special import gammaln

from discreet.families.family import credible
from discreet.inference.noise_aware import Diagnostics, NoiseAware, public_source
from discreet.inference.noise_aware_noise import NoiseLaw
from discreet.sampling.agreement import effective_size as ess
from discreet.sampling.agreement import r_hat

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.families.dirichlet_law import DirichletLaw
    from discreet.families.family import Floats, Integers
    from discreet.mechanisms.noisy_release import NoisyRelease
    from discreet.sampling.source import Source

CHAINS, BURN, THIN = 4, 120, 5
FEWEST, MOST, ENTRIES = 60, 1000, 2**18  # draws kept of a chain: entries / cells, within these
MANY, SWEEPS = 256, 1  # cells from which on counts are drawn independently, then exchanged so often
METROPOLIS = "Metropolis over counts, θ integrated out"
INDEPENDENT = "independent counts, total imposed, θ integrated out"
WATCHED = 64  # cells whose chains are diagnosed: the largest, and others spread over the rest
NEWTON, BOLD, CLOSE = 25, 1.0, 0.02  # steps for the tilt, how long each may be, and when it is found
GROUPS, PROFILE, NEGLIGIBLE = 8, 80, 11.0  # tilts in use, totals looked at, nats below the best
CELLS = 4096  # whose intervals are found at once
REPEATS = 2**22  # draws of θ behind all intervals together
Setting = tuple["Floats", "Floats", float, bool, float]  # α, ŝ, the noise's scale and kind, its reach


@final
@dataclass(frozen=True, eq=False, repr=False)
class CountChains(NoiseAware):
    """An even mixture of Dirichlet(α + S_k), S_k the counts that chains visited, or that were drawn apart."""

    prior: DirichletLaw
    counts: NDArray[np.int32]  # (chains, draws, cells); one “chain” holds independent draws
    seed: int
    method: str

    @cached_property
    def diagnostics(self) -> Diagnostics:
        chains, draws, cells = self.counts.shape
        if self.method == INDEPENDENT:
            return Diagnostics(self.method, draws=draws, ess=float(draws))
        mean = self.counts.mean(axis=(0, 1))
        largest = np.argsort(-mean, kind="stable")[: WATCHED // 2]
        watched = np.union1d(largest, np.linspace(0, cells - 1, WATCHED // 2).astype(np.int64))
        totals = self.counts.sum(axis=2, dtype=np.int64)[:, :, None]
        seen = np.concatenate([self.counts[:, :, watched], totals], axis=2).astype(np.float64)
        moving = np.ptp(seen, axis=(0, 1)) > 0
        if not moving.any():
            return Diagnostics(self.method, chains, draws)
        kept = seen[:, :, moving]
        worst, least = float(r_hat(kept).max()), float(ess(kept).min())
        return Diagnostics(self.method, chains, draws, worst, least)

    @property
    def _flat(self) -> NDArray[np.int32]:
        return self.counts.reshape(-1, self.counts.shape[2])

    @cached_property
    def _totals(self) -> Floats:
        """Σα + ΣS_k."""
        whole: Floats = self._flat.sum(axis=1, dtype=np.float64) + self.prior.natural.sum()
        return whole

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """E and Var over the mixture, draw by draw: E Var + Var E."""
        first, second, inner = (np.zeros(self.prior.dimension) for _ in range(3))
        for row, total in zip(self._flat, self._totals.tolist(), strict=True):
            share = (self.prior.natural + row) / total
            first += share
            second += share**2
            inner += share * (1 - share) / (total + 1)
        size = len(self._totals)
        mean = first / size
        return mean, inner / size + np.maximum(second / size - mean**2, 0.0)

    def mean(self) -> Floats:
        return self._moments[0]

    def variance(self) -> Floats:
        return self._moments[1]

    def interval(self, level: float) -> Floats:
        """Quantiles of draws θ_j | S_k ~ Beta(α_j + s_kj, rest), the same draws at every call."""
        tails, rng = credible(level), np.random.default_rng(self.seed)
        repeats = int(np.clip(REPEATS // self._flat.size, 1, 16))
        ends = [
            self._quantiles(slice(i, i + CELLS), tails, repeats, rng)
            for i in range(0, self.prior.dimension, CELLS)
        ]
        return np.concatenate(ends)

    def _quantiles(self, cells: slice, tails: Floats, repeats: int, rng: np.random.Generator) -> Floats:
        a = self.prior.natural[cells] + self._flat[:, cells]
        b = self._totals[:, None] - a
        draws = rng.beta(a, b, size=(repeats, *a.shape)).reshape(-1, a.shape[1])
        return np.asarray(np.quantile(draws, tails, axis=0).T)

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        """θ | S_k for counts S_k chosen at random: free, since the release is public already."""
        from discreet.sampling.source import SYSTEM  # noqa: PLC0415

        rng = np.random.default_rng((source or SYSTEM).words(4).tolist())
        chosen = rng.integers(len(self._totals), size=size)
        weights = rng.standard_gamma(self.prior.natural + self._flat[chosen])
        whole = weights.sum(axis=1, keepdims=True)
        return np.asarray(weights / np.where(whole > 0, whole, 1.0))

    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log of the average over S_k of the family's own predictive."""
        each = [
            self.prior._with(alpha=self.prior.natural + row).log_predictive(x)  # noqa: SLF001 - same family
            for row in self._flat
        ]
        return np.asarray(np.logaddexp.reduce(each, axis=0) - np.log(len(each)))

    def log_density(self, theta: ArrayLike) -> Floats:
        """Log of the average over S_k of Dirichlet densities."""
        each = [self.prior._with(alpha=self.prior.natural + row).log_density(theta) for row in self._flat]  # noqa: SLF001
        return np.asarray(np.logaddexp.reduce(each, axis=0) - np.log(len(each)))


def read(
    release: NoisyRelease,
    prior: DirichletLaw,
    *,
    chains: int = CHAINS,
    draws: int | None = None,
    size_prior: Callable[[Integers], ArrayLike] | None = None,
) -> CountChains:
    """Run the chains from seeds that the release itself gives: reading it twice gives the same numbers.

    `draws` are kept of each chain; from MANY cells on there is none, and chains · draws counts are drawn
    independently. `size_prior` is log π(n) of an integer array where n is private, flat on
    0, 1, 2, … unless given.
    """
    if not (chains == chains // 1 and chains >= 2):
        raise ValueError(f"chains must be a whole number of at least 2, to be compared; got {chains!r}")
    kept = int(np.clip(ENTRIES // prior.dimension, FEWEST, MOST)) if draws is None else draws
    if not (kept == kept // 1 and kept >= 8):
        raise ValueError(f"draws must be a whole number of at least 8 a chain, got {draws!r}")
    noisy = np.asarray(release.noisy, dtype=np.float64)
    words = public_source(release, prior).words(chains + 1) >> np.uint64(33)
    run = Run.of(release, prior, size_prior)
    if prior.dimension >= MANY:
        apart = run.independent(noisy, int(words[0]), chains * int(kept))
        return CountChains(prior, apart[None], int(words[-1]), INDEPENDENT)
    counts = np.stack([run.chain(noisy, int(seed), int(kept)) for seed in words[:-1]])
    return CountChains(prior, counts, int(words[-1]), METROPOLIS)


@final
@dataclass(frozen=True, eq=False)
class Run:
    """What all chains of one design share."""

    prior: DirichletLaw
    n: int | None
    noise: NoiseLaw
    size_prior: Callable[[Integers], ArrayLike] | None = None

    @classmethod
    def of(
        cls,
        release: NoisyRelease,
        prior: DirichletLaw,
        size_prior: Callable[[Integers], ArrayLike] | None = None,
    ) -> Run:
        return cls(prior, release.n, NoiseLaw.of(release), size_prior)

    def chain(
        self, noisy: Floats, seed: int, keep: int, *, burn: int = BURN, thin: int = THIN
    ) -> NDArray[np.int32]:
        from discreet.inference.noise_aware_dirichlet_kernel import chain  # noqa: PLC0415 - loads numba

        start = self._start(noisy, np.random.default_rng(seed))
        reach = float(np.log(max(2.0, 3 * self.noise.variance**0.5)))
        kept: NDArray[np.int32] = chain(
            start,
            noisy,
            self.prior.natural,
            self.noise.scale,
            self.noise.laplacian,
            reach,
            self.prior.total_per_record,
            self._sizes(noisy),
            burn,
            keep,
            thin,
            seed,
        )
        return kept

    def independent(self, noisy: Floats, seed: int, keep: int) -> NDArray[np.int32]:
        """Draw counts of very many cells independently, given a tilt; see noise_aware_dirichlet_many."""
        from discreet.inference.noise_aware_dirichlet_many import draw  # noqa: PLC0415 - loads numba

        setting = self.prior.natural, noisy, self.noise.scale, self.noise.laplacian, self.noise.reach(26.0)
        rng = np.random.default_rng(seed)
        groups = [
            draw(*setting, tilt, totals, SWEEPS, int(rng.integers(2**31)))
            for tilt, totals in self._tilted(setting, self._sizes(noisy), keep, rng)
        ]
        return rng.permutation(np.concatenate(groups))

    def _tilted(
        self, setting: Setting, sizes: Floats, keep: int, rng: np.random.Generator
    ) -> list[tuple[float, Integers]]:
        """Totals, in groups that share a tilt ln u with E T near them: n·m, or drawn where n is private."""
        each = self.prior.total_per_record
        if self.n is not None:
            return [(_solved(setting, self.n * each), np.full(keep, self.n * each))]
        t, tilt, log = (np.array(column) for column in zip(*self._profile(setting, sizes), strict=True))
        whole = each * np.arange(max(0, int(t[0] / each)), min(sizes.size, int(t[-1] / each) + 2))
        mass = np.exp(np.interp(whole, t, log) - log.max())
        totals = np.sort(rng.choice(whole, size=keep, p=mass / mass.sum()))
        parts = np.array_split(totals, min(GROUPS, keep))
        return [(float(np.interp(part.mean(), t, tilt)), part) for part in parts]

    def _profile(self, setting: Setting, sizes: Floats) -> list[tuple[float, float, float]]:
        """(T, ln u, ln p(T | Ŝ)) by the saddlepoint K − T ln u − ½ln K'', outwards from the best tilt."""
        whole, each = float(self.prior.natural.sum()), self.prior.total_per_record
        from discreet.inference.noise_aware_dirichlet_many import moments  # noqa: PLC0415 - loads numba

        def at(tilt: float) -> tuple[float, float, float, float]:
            log, t, variance = moments(*setting, tilt)
            weight = sizes[int(np.clip(t / each, 0, sizes.size - 1))] + gammaln(t + 1) - gammaln(t + whole)
            return t, tilt, log - tilt * t - 0.5 * np.log(variance) + weight, variance

        start = _solved(setting, max(float(setting[1].sum()), 0.5 * each))
        found = [at(start)]
        for sign in (-1, 1):
            step, here, best = sign / found[0][3] ** 0.5, found[0], found[0][2]
            while (
                here[2] > best - NEGLIGIBLE
                and each / 4 < here[0] < each * sizes.size
                and len(found) < PROFILE
            ):
                here = at(here[1] + step)
                best, step = max(best, here[2]), step * 1.15
                found.append(here)
        return sorted(row[:3] for row in found)

    def _start(self, noisy: Floats, rng: np.random.Generator) -> Integers:
        """Ŝ blurred once more by its noise, so that chains start apart; then made whole counts of some n."""
        each = self.prior.total_per_record
        blurred = noisy + rng.laplace(scale=(self.noise.variance / 2) ** 0.5, size=noisy.size)
        n = self.n if self.n is not None else max(0, round(float(blurred.sum()) / each))
        exact = self.prior.project(blurred, n)
        start = np.floor(exact).astype(np.int64)
        missing = n * each - int(start.sum())
        np.add.at(start, np.argsort(start - exact, kind="stable")[np.arange(missing) % start.size], 1)
        return start

    def _sizes(self, noisy: Floats) -> Floats:
        """Log π(n) for n = 0, 1, … as far as noise can reach; empty where n is public."""
        if self.n is not None:
            return np.empty(0)
        spread = (noisy.size * self.noise.variance) ** 0.5
        most = (max(0.0, float(noisy.sum())) + 60 * spread) / self.prior.total_per_record
        n = np.arange(int(most) + 2)
        flat = np.zeros(n.size)
        return flat if self.size_prior is None else flat + np.asarray(self.size_prior(n), dtype=np.float64)


def _solved(setting: Setting, total: float) -> float:
    """Return ln u with E T = total, by Newton's rule on the convex K."""
    from discreet.inference.noise_aware_dirichlet_many import moments  # noqa: PLC0415 - loads numba

    tilt = 0.0
    for _ in range(NEWTON):
        _, mean, variance = moments(*setting, tilt)
        step = float(np.clip((total - mean) / variance, -BOLD, BOLD))
        if abs(step) * variance**0.5 < CLOSE:
            break
        tilt += step
    return tilt
