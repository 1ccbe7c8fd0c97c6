"""Noisy counts of a Bayesian network → its posterior: naive, or with the noise accounted for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from discreet.families.family import Floats, credible
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.count_model import CountModel
from discreet.posteriors.counts.dirichlet import dirichlet_draws
from discreet.posteriors.counts.nested_counts import NestedProblem, NoisyTable, draw
from discreet.posteriors.network.chain import (
    WARMING,
    NetworkChain,
    NetworkProblem,
    allotted,
    check_length,
    jittered,
    layout_of,
    moves,
    noise_of,
    size_of,
)
from discreet.posteriors.network.posterior import (
    AT_ONCE,
    NetworkDirichlet,
    NetworkDraws,
    NetworkPosterior,
    OneNetwork,
    Records,
    cells_of,
    tables,
)
from discreet.posteriors.noise_law import MIXED, NoiseLaw, cautions, rows_near_empty, strayed
from discreet.posteriors.posterior import Diagnostics, generator
from discreet.posteriors.read import Draws, known_reading, refitted
from discreet.sampling.agreement import effective_size as ess
from discreet.sampling.agreement import r_hat
from discreet.sampling.source import SeededSource, Source
from discreet.shown import steps

# ── The noise-aware reading of a network table by table: counts drawn exactly, no chain, whatever the graph.
DRAWS = 500
DENSE = 4000  # draws of θ that intervals are read from


@final
@dataclass(frozen=True, eq=False, repr=False)
class NetworkCounts(NetworkPosterior):
    """Mixture over draws of the counts: given them, every row of every table is Dirichlet, independently."""

    model: BayesianNetwork
    counts: NDArray[np.float32]  # (draws, cells)
    notes: tuple[str, ...] = ()
    reading: str = "noise_aware"

    @property
    def cautions(self) -> tuple[str, ...]:
        return self.notes

    @property
    def diagnostics(self) -> Diagnostics:
        size = len(self.counts)
        return Diagnostics("independent draws of the counts, table by table", draws=size, ess=float(size))

    @cached_property
    def _shapes(self) -> Floats:
        return float(self.model.prior) + self.counts.astype(np.float64)

    def _rows(self, flat: Floats) -> Floats:
        """Add up every row, and say it at each of its cells."""
        each = (
            np.broadcast_to(t.sum(axis=-1, keepdims=True), t.shape) for t in tables(self.model, flat).values()
        )
        return np.concatenate([t.reshape(len(flat), -1) for t in each], axis=1)

    @cached_property
    def _means(self) -> Floats:
        """E(θ | counts) for each draw of them."""
        return np.asarray(self._shapes / self._rows(self._shapes))

    def flat_mean(self) -> Floats:
        return np.asarray(self._means.mean(axis=0))

    def flat_variance(self) -> Floats:
        """Return the mean of the variances and the variance of the means."""
        m = self._means
        within = m * (1 - m) / (self._rows(self._shapes) + 1)
        return np.asarray(within.mean(axis=0) + m.var(axis=0))

    def flat_interval(self, level: float) -> Floats:
        return np.quantile(self._dense, credible(level), axis=0).T.astype(np.float64)

    @cached_property
    def _dense(self) -> NDArray[np.float32]:
        """As many draws of θ as intervals need; the same each time."""
        rng = np.random.default_rng(len(self.counts))
        times = max(1, DENSE // len(self.counts))
        parts = [self._drawn(self._shapes, rng).astype(np.float32) for _ in range(times)]
        return np.concatenate(parts)

    def _drawn(self, shapes: Floats, rng: np.random.Generator) -> Floats:
        each = (
            dirichlet_draws(t, rng).reshape(len(shapes), int(np.prod(t.shape[1:])))
            for t in tables(self.model, shapes).values()
        )
        return np.concatenate(list(each), axis=1)

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        rng = generator(source)
        return self._drawn(self._shapes[rng.integers(len(self.counts), size=size)], rng)

    def log_of_codes(self, records: Records) -> Floats:
        """Take the mean over draws of ∏E(θ | counts): a record reads one row of each node."""
        logs, cells = np.log(self._means), cells_of(self.model, records)
        step = max(1, AT_ONCE // len(logs))
        parts = [
            logsumexp(sum(logs[:, cell] for cell in cells[i : i + step].T), axis=0)
            for i in range(0, max(1, len(cells)), step)
        ]
        return np.asarray(np.concatenate(parts) - np.log(len(logs)))

    def thetas(self) -> Floats:
        """Return E(θ | counts) for each draw of them: rows are independent given the counts."""
        return self._means


def by_table(
    cells: NoisyCells, model: BayesianNetwork, rng: np.random.Generator, draws: int = DRAWS
) -> NDArray[np.float32]:
    """Draw the counts of each table given its own noisy ones, all cells alike a priori: rows sum to n."""
    parts, alpha = [], float(model.prior)
    for table, scale in zip(cells.tables().values(), cells.scales, strict=True):
        law = NoiseLaw(cells.noise, float(scale))
        one = NoisyTable(table.reshape(1, -1).astype(np.float64), law, alpha)
        _, (counts,) = draw(NestedProblem((one,), table.size * alpha, cells.n), draws, rng)
        parts.append(counts.reshape(draws, -1).astype(np.float32))
    return np.concatenate(parts, axis=1)


# ── read
WATCHED = 256  # entries of θ whose R-hat and ESS are computed, spread evenly over all of them
MOVES = 10_000_000  # records times sweeps in a chain, which bounds its time; and within it
FEWEST, MOST = 400, 2000  # sweeps to keep
BY_TABLE = "table by table (`noise_aware`) the release can be read without chains"


def read(cells: NoisyCells, model: BayesianNetwork, reading: str) -> NetworkPosterior:
    """Read noisy counts by the name of the reading; `fit` reads all tables together instead."""
    return naive(cells, model) if known_reading(reading) == "naive" else noise_aware(cells, model)


def exact(counts: ArrayLike, model: BayesianNetwork) -> NetworkDirichlet:
    """Dirichlet(prior + counts) in every row: the posterior when the counts are known [Heckerman 1995]."""
    return NetworkDirichlet(model, float(model.prior) + np.asarray(counts, dtype=np.float64), "exact")


def naive(cells: NoisyCells, model: BayesianNetwork) -> NetworkDirichlet:
    """Take max(Ĉ, 0) as if it were C; intervals of this reading under-cover."""
    bound, counts = refitted(model, cells), np.maximum(cells.noisy, 0.0)
    return NetworkDirichlet(bound, float(bound.prior) + counts, "naive")


def noise_aware(
    cells: NoisyCells, model: BayesianNetwork, *, draws: int = DRAWS, source: Source | None = None
) -> NetworkCounts:
    """p(θ_v | Ĉ_v) for each node by itself: exact draws, and no trust in the graph beyond each table.

    Rows are Dirichlet as in the model; which row a record is in is free, all cells of a table alike.
    """
    bound = refitted(model, cells)
    rng = generator(source or public_source(cells, bound))
    return NetworkCounts(bound, by_table(cells, bound, rng, draws), rows_near_empty(cells))


def drawn(draws: Draws, model: BayesianNetwork) -> OneNetwork:
    """Read the network that was released as one draw."""
    del model
    return OneNetwork(draws)


def fit(
    cells: NoisyCells,
    model: BayesianNetwork,
    *,
    chains: int = 4,
    sweeps: int | None = None,
    burn: int | None = None,
    keep: int = 500,
    source: Source | None = None,
) -> NetworkDraws:
    """p(θ | Ĉ) of all tables together: Gibbs over θ and the records behind the counts.

    Uses what tables say about each other, through the independences of the graph: more than table by table
    where noise is heavy and the graph is right, and worse where it is not. The same without a source.
    n private: flat prior on it, up to 12 standard deviations above the noisy totals. Chains that have not
    met say so in `cautions`.
    """
    check_length(chains, sweeps, keep)
    model = refitted(model, cells)
    problem, n = posed(cells, model)
    total = sweeps or int(np.clip(MOVES // max(n, 1), FEWEST, MOST))
    kept = min(keep, total)
    burnt, thin = total // 2 if burn is None else burn, max(total // kept, 1)
    draws = np.empty((chains, kept, model.size), np.float32)
    sizes, strains = np.empty((chains, kept), np.int64), np.empty((chains, kept))
    seeds = [int(seed) for seed in (source or public_source(cells, model)).words(chains)]
    starts = (NetworkChain.begin(problem, started(problem, cells, n, seed), seed) for seed in seeds)
    work, pieces = moves(starts, burnt, thin, kept), chains * (WARMING + kept)
    for i, s, chain, many in steps(work, "records behind the counts", pieces):
        chain.advance(many)
        if s >= 0:
            draws[i, s], sizes[i, s], strains[i, s] = chain.theta, chain.n, chain.strain()
    found = diagnosed(draws, np.stack([sizes, strains], axis=-1), "Gibbs over θ and the records")
    apart = strayed(strains, model.size, 2.0 if problem.noise.squared else 1.0)
    said = cautions(found, apart=apart, more=(BY_TABLE if found.r_hat > MIXED else None,))
    return NetworkDraws(model, draws, "noise_aware", found, sizes, (*rows_near_empty(cells), *said))


def started(problem: NetworkProblem, cells: NoisyCells, n: int, seed: int) -> NDArray[np.int32]:
    """Return records like those that the noisy counts speak of, others for each seed."""
    rng, tables = np.random.default_rng(seed), zip(cells.model.cells, cells.scales, strict=True)
    scale = np.concatenate([np.full(table.size, float(s)) for table, s in tables])
    return allotted(problem.layout, problem.prior + jittered(problem.noisy, scale, rng), n, rng)


def posed(cells: NoisyCells, model: BayesianNetwork) -> tuple[NetworkProblem, int]:
    """Return what a chain conditions on, and n to start from."""
    n, most = size_of(cells)
    prior, noisy = np.full(model.size, float(model.prior)), cells.noisy.astype(np.float64)
    return NetworkProblem(layout_of(model), noise_of(cells, most), noisy, prior, most, cells.n is not None), n


def diagnosed(draws: NDArray[Any], more: NDArray[np.float64], method: str) -> Diagnostics:
    """Worst R-hat and least ESS of θ, of n and of the noise that is left."""
    chains, keep, size = draws.shape
    some = draws[..., np.unique(np.linspace(0, size - 1, WATCHED).astype(int))].astype(np.float64)
    watched = np.concatenate([some, more], axis=-1)
    return Diagnostics(method, chains, keep, float(r_hat(watched).max()), float(ess(watched).min()))


def public_source(cells: NoisyCells, model: CountModel) -> SeededSource:
    """Bits fixed by what is public anyway: reading one release twice gives the same numbers."""
    text = repr((cells.noisy.tolist(), cells.n, cells.noise, cells.scales, model)).encode()
    return SeededSource(int.from_bytes(hashlib.sha256(text).digest()[:8], "big"))
